"""A C1 made up without a sector: as true as a sealed one in everything that a proof states, at the cost of the opened nodes.

The data are zeros, the ids, the graph and the challenges real. Order of making, in which nothing is circular:

    comm_d (zeros) -> replica_id (ids, ticket, comm_d) -> challenges (replica_id, seed) -> parents -> columns -> trees -> comm_r

- A node has one column wherever it appears. Labels of challenged nodes are hashed from their parents' labels, layer by layer
  and in node order: DRG parents have smaller indices, expander parents are taken from the layer before. A node that is
  only a parent would need parents of its own and so on down to node 0; its labels are filler.
- Tree D is the tree of zeros. Trees C and R exist where there are columns, and are filler digests elsewhere; encoding zeros
  leaves the last label, so every leaf of tree R that exists is its node's last label.
- comm_r comes last, once the challenges are known. A chain draws the seed after comm_r is fixed, which is why nobody can seal
  this way.
- Filler is drawn from SHAKE-256 of `seed`, cut to 254 bits, so below r.

Source  rust-fil-proofs at 87348a7: storage-proofs-porep/src/stacked/vanilla/{proof,labeling_proof,encode}.rs (what must hold)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzk import replica
from cuzk.errors import UsageError
from cuzk.formats import registry
from cuzk.formats.c1 import C1
from cuzk.formats.registry import RegisteredProof
from cuzk.hashing import poseidon_bytes
from cuzk.replica import MAX_ID, Replica, trim_to_fr
from cuzk.sector import DRG_DEGREE, LABEL_PARENTS, NODE_BYTES, PARENTS, Sector
from cuzk.sparse_tree import SparseTree
from cuzk.vanilla import MerklePaths, VanillaProofs

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]

# The fixture's own ids (the miner is lotus-bench's default). Nothing that proves may assume them.
MINER, SECTOR_NUMBER, SEED = 1000, 1, 0
API_VERSION = "1.1.0"
MAX_SEED = (1 << 64) - 1
_TAG = b"cuzk fixture "


def registered_proof(sector: Sector) -> RegisteredProof | None:
    """The interactive registered proof of API version 1.1.0, where the size has one."""
    proofs = registry.of_size(sector)
    return next((p for p in proofs if p.api_version == API_VERSION), None)


def porep_id(sector: Sector) -> bytes:
    """That of the registered proof; sizes without one use that of 2 KiB."""
    proof = registered_proof(sector)
    return proof.porep_id if proof else registry.parse("StackedDrg2KiBV1_1").porep_id


def zero_digests(levels: int) -> list[bytes]:
    """Roots of SHA-256 trees over 2**0, 2**1, …, 2**levels zero nodes."""
    digests = [bytes(NODE_BYTES)]
    for _ in range(levels):
        digests.append(trim_to_fr(hashlib.sha256(2 * digests[-1]).digest()))
    return digests


class _Filler:
    """Field elements that stand for what is not there: a stream for each name, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._key = _TAG + b"filler" + seed.to_bytes(8, "little")

    def __call__(self, name: str, count: int) -> U8:
        """`count` elements below 2**254, uint8[count, 32]."""
        drawn = hashlib.shake_256(self._key + name.encode()).digest(count * NODE_BYTES)
        values = np.frombuffer(bytearray(drawn), np.uint8).reshape(count, NODE_BYTES)
        values[:, -1] &= 0x3F
        return values


def _public_facts(sector: Sector, miner: int, sector_number: int, seed: int) -> Replica:
    """Everything public but comm_r, which nothing here depends on. Raises UsageError."""
    for option, value, limit in (("--miner", miner, MAX_ID), ("--sector", sector_number, MAX_ID), ("--seed", seed, MAX_SEED)):
        if not 0 <= value <= limit:
            raise UsageError("out of range", where=option, expected=f"0 to {limit}", got=value)
    ticket, randomness = (
        trim_to_fr(hashlib.sha256(_TAG + name + seed.to_bytes(8, "little")).digest()) for name in (b"ticket", b"seed")
    )
    comm_d, its_porep_id = zero_digests(sector.tree_d_levels)[-1], porep_id(sector)
    proof = registered_proof(sector)
    return Replica(
        sector=sector,
        porep_id=its_porep_id,
        api_version=API_VERSION,
        feature="interactive",
        replica_id=replica.replica_id(miner, sector_number, ticket, comm_d, its_porep_id),
        comm_d=comm_d,
        comm_r=bytes(NODE_BYTES),
        seed=randomness,
        ticket=ticket,
        registered_proof=proof.name if proof else None,
        miner=miner,
        sector_number=sector_number,
        ids_checked=True,
    )


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of all challenged nodes and of their parents, and what the challenged nodes' labels were hashed from."""

    nodes: U64  # ascending
    rows: U8  # (nodes, L, 32)
    challenged: U64  # ascending, without repetition
    parents: U64  # (challenged, 14)
    label_parents: U8  # (challenged, L, 37, 32)


def _columns(facts: Replica, challenged: U64, filler: _Filler) -> _Columns:
    """Hash the labels of ascending `challenged` nodes; labels of nodes that are only parents are filler."""
    layers = facts.sector.layers
    parents = facts.parents(challenged)
    nodes = np.unique(np.concatenate([challenged, parents.ravel()]))
    rows = filler("labels", len(nodes) * layers).reshape(-1, layers, NODE_BYTES)
    own, of_parent = np.searchsorted(nodes, challenged), np.searchsorted(nodes, parents)
    label_parents = np.empty((len(challenged), layers, LABEL_PARENTS, NODE_BYTES), np.uint8)
    turn = np.arange(LABEL_PARENTS)
    for layer in range(layers):
        # Layer 1 has DRG parents only; later ones take expander parents from the layer before.
        slots = turn % (PARENTS if layer else DRG_DEGREE)
        in_layer = np.where(slots < DRG_DEGREE, layer, layer - 1)
        for k, node in enumerate(challenged.tolist()):
            labels = rows[of_parent[k, slots], in_layer]
            label_parents[k, layer] = labels
            head = facts.replica_id + (layer + 1).to_bytes(4, "big") + node.to_bytes(8, "big") + bytes(20)
            label = trim_to_fr(hashlib.sha256(head + labels.tobytes()).digest())
            rows[own[k], layer] = np.frombuffer(label, np.uint8)
    return _Columns(nodes, rows, challenged, parents, label_parents)


def _zero_paths(sector: Sector, positions: U64) -> MerklePaths:
    """Openings of the tree of zeros."""
    levels = sector.tree_d_levels
    digests = np.frombuffer(b"".join(zero_digests(levels)), np.uint8).reshape(-1, NODE_BYTES)
    shape = (*positions.shape, NODE_BYTES)
    return MerklePaths(
        arities=sector.tree_d_arities,
        leaf=np.broadcast_to(digests[0], shape),
        root=np.broadcast_to(digests[-1], shape),
        siblings=np.broadcast_to(digests[:-1], (*positions.shape, levels, NODE_BYTES)),
        index=(positions[..., None] >> np.arange(levels, dtype=np.uint64) & np.uint64(1)).astype(np.uint8),
    )


def _vanilla(sector: Sector, challenges: U64, columns: _Columns, tree_c: SparseTree, tree_r: SparseTree) -> VanillaProofs:
    """The challenge proofs of all partitions. Shape challenges (P, c)."""
    layers = sector.layers
    at = np.searchsorted(columns.challenged, challenges)
    fifteen = np.concatenate([challenges[..., None], columns.parents[at]], axis=-1)
    label_parents = columns.label_parents[at]
    each_layer = np.arange(1, layers + 1, dtype=np.uint32)
    return VanillaProofs(
        sector=sector,
        comm_d_proofs=_zero_paths(sector, challenges),
        comm_r_last_proof=tree_r.open(challenges),
        column_index=fifteen.astype(np.uint32),
        column_rows=columns.rows[np.searchsorted(columns.nodes, fifteen)],
        column_proof=tree_c.open(fifteen),
        label_parents=label_parents,
        label_layer=np.broadcast_to(each_layer, (*challenges.shape, layers)),
        label_node=np.repeat(challenges[..., None], layers, axis=-1),
        encoding_parents=label_parents[..., -1, :, :],
        encoding_layer=np.full(challenges.shape, layers, np.uint32),
        encoding_node=challenges,
    )


def fabricate(sector: Sector, miner: int = MINER, sector_number: int = SECTOR_NUMBER, seed: int = SEED) -> C1:
    """An interactive C1 of API version 1.1.0 that holds, in memory; the same for the same arguments.

    `seed` gives ticket, interactive randomness and filler. Without a registered proof (see `registered_proof`) the porep_id
    is `porep_id(sector)`.

    Cost    32 GiB: 1,980 SHA-256 of twenty blocks, 2,700 column hashes, 54,000 Poseidon hashes of a tree
    Raises  UsageError if an id or the seed is out of range
    """
    facts = _public_facts(sector, miner, sector_number, seed)
    filler = _Filler(seed)
    challenges = facts.challenges()
    columns = _columns(facts, np.unique(challenges), filler)
    arities, nodes = sector.tree_arities, columns.nodes
    tree_c = SparseTree("tree C", arities, nodes, poseidon_bytes(columns.rows), poseidon_bytes, filler)
    tree_r = SparseTree("tree R", arities, nodes, np.ascontiguousarray(columns.rows[:, -1]), poseidon_bytes, filler)
    comm_r = poseidon_bytes(np.stack([tree_c.root, tree_r.root])[None])[0].tobytes()
    return C1(
        file=None,
        form="memory",
        size=0,
        sector=sector,
        registered_proof=registered_proof(sector),
        sector_number=sector_number,
        comm_r=comm_r,
        comm_d=facts.comm_d,
        replica_id=facts.replica_id,
        seed=facts.seed,
        ticket=facts.ticket,
        vanilla=_vanilla(sector, challenges, columns, tree_c, tree_r),
    )
