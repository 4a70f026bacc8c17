"""The public side of a seal: ids, commitments, challenges, and the public inputs that a verifier recomputes.

Source  rust-fil-proofs at 87348a7: storage-proofs-porep/src/stacked/vanilla/params.rs, stacked/circuit/proof.rs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzk.errors import UsageError
from cuzk.seal import challenges as challenge_rules
from cuzk.seal import graph
from cuzk.seal.sector import Sector

U64 = npt.NDArray[np.uint64]

MAX_ID = (1 << 63) - 1  # actor ids; sector numbers are held to the same bound by Lotus


def prover_id(miner: int) -> bytes:
    """Payload of the miner's Filecoin ID address in 32 bytes: unsigned LEB128, left-aligned, zero-padded.

    Raises  UsageError if the id is negative or has more than 63 bits.
    """
    if not 0 <= miner <= MAX_ID:
        raise UsageError("no such miner id", where="--miner", expected=f"0 to {MAX_ID}", got=miner)
    out = bytearray()
    while miner > 0x7F:
        out.append(miner & 0x7F | 0x80)
        miner >>= 7
    out.append(miner)
    return bytes(out).ljust(32, b"\0")


def trim_to_fr(digest: bytes) -> bytes:
    """A 32-byte digest with its two most significant bits (little-endian) cleared, so that it lies below 2**254 < r."""
    return digest[:-1] + bytes([digest[-1] & 0x3F])


def replica_id(miner: int, sector_number: int, ticket: bytes, comm_d: bytes, porep_id: bytes) -> bytes:
    """SHA-256(prover_id, sector number big-endian, ticket, comm_d, porep_id) as a field element, little-endian.

    Raises  UsageError if an id is out of range.
    Source  params.rs 1265-1282
    """
    if not 0 <= sector_number < 1 << 64:
        raise UsageError("no such sector number", where="--sector", expected="0 to 2**64 - 1", got=sector_number)
    preimage = prover_id(miner) + sector_number.to_bytes(8, "big") + ticket + comm_d + porep_id
    return trim_to_fr(hashlib.sha256(preimage).digest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """What the chain knows of a sealed sector and its proof. Commitments and ids are 32 bytes as in the C1."""

    sector: Sector
    porep_id: bytes
    api_version: str  # one of graph.API_VERSIONS
    feature: str  # one of challenges.FEATURES
    replica_id: bytes
    comm_d: bytes
    comm_r: bytes
    seed: bytes
    ticket: bytes
    registered_proof: str | None = None
    miner: int | None = None
    sector_number: int | None = None
    ids_checked: bool = False  # replica_id was recomputed from miner and sector number

    @property
    def partitions(self) -> int:
        """Number of partitions of a whole proof."""
        return self.sector.partitions_of(self.feature)

    def challenges(self) -> U64:
        """The challenged nodes, uint64[partitions, challenges a partition]."""
        nodes, count = self.sector.nodes, self.partitions * self.sector.challenges
        if self.feature == "interactive":
            flat = challenge_rules.interactive(self.replica_id, self.seed, nodes, count)
        elif self.feature == "synthetic":
            flat = challenge_rules.synthetic(self.replica_id, self.comm_r, self.seed, nodes, count)
        else:
            flat = challenge_rules.non_interactive(self.replica_id, self.comm_r, nodes, count)
        return flat.reshape(self.partitions, self.sector.challenges)

    def parents(self, nodes: U64) -> U64:
        """The fourteen parents of nodes, uint64[..., 14]."""
        return graph.parents(nodes, self.sector.nodes, self.porep_id, self.api_version)

    def public_inputs(self, partition: int) -> list[int]:
        """Public inputs of one partition's proof, ONE left out, from public facts alone.

        replica_id, comm_d, comm_r; then for each challenge x: x (tree D), its fourteen parents, x (the challenge
        itself), x (tree R), x (tree C).

        Source  stacked/circuit/proof.rs 198-283
        """
        nodes = self.challenges()[partition]
        inputs = [int.from_bytes(b, "little") for b in (self.replica_id, self.comm_d, self.comm_r)]
        for x, its_parents in zip(nodes.tolist(), self.parents(nodes).tolist(), strict=True):
            inputs += [x, *its_parents, x, x, x]
        return inputs
