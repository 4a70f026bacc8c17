"""Vanilla proofs to hint streams: what a PoRep witness takes from outside, in the order that `circuits.porep` documents."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from cuzk.circuits.template import U8, U64
from cuzk.circuits.witness import Hints
from cuzk.seal.sector import PARENTS
from cuzk.seal.vanilla import OWN, VanillaProofs

CHALLENGE_BITS = 64


class Sealed(Protocol):
    """What hints are made of: a C1."""

    @property
    def replica_id(self) -> bytes:
        """32 bytes, little-endian."""

    @property
    def comm_d(self) -> bytes:
        """Root of tree D."""

    @property
    def comm_r(self) -> bytes:
        """Poseidon of the roots of trees C and R."""

    @property
    def vanilla(self) -> VanillaProofs:
        """Challenge proofs of all partitions."""


def _bits(values: npt.NDArray[np.uint64], count: int) -> U8:
    """The low bits of each value, least first. Shape (...) to uint8[..., count]."""
    return (values[..., None] >> np.arange(count, dtype=np.uint64) & np.uint64(1)).astype(np.uint8)


def _elements(hashes: U8) -> U64:
    """32 little-endian bytes each as canonical limbs. Shape uint8[..., 32] to uint64[..., 4]."""
    return np.ascontiguousarray(hashes).view("<u8").astype(np.uint64)


def hints(sealed: Sealed, partition: int) -> tuple[Hints, Hints]:
    """Hint streams of the prologue and of the repeated stage (one row a challenge) for one partition.

    An index is taken from the Merkle paths, the challenge from the first labeling proof, as upstream's circuit does;
    where these contradict one another the witness has false rows.

    Shape   prologue: bits uint8[0], elems uint64[5, 4]; repeated: bits uint8[c, b], elems uint64[c, e, 4]
    Domain  canonical
    Cost    one copy of the partition's hashes
    Source  rust-fil-proofs storage-proofs-porep/src/stacked/circuit/{proof,params,column_proof}.rs
    """
    vanilla, k = sealed.vanilla, partition
    data, replica, tree_c = vanilla.comm_d_proofs, vanilla.comm_r_last_proof, vanilla.column_proof
    header = b"".join([sealed.replica_id, sealed.comm_d, sealed.comm_r])
    roots = [replica.root[k, 0], tree_c.root[k, 0, OWN]]
    prologue = np.concatenate([np.frombuffer(header, np.uint8).reshape(3, 32), *(root[None] for root in roots)])

    parents = slice(OWN + 1, OWN + 1 + PARENTS)
    columns = np.concatenate([vanilla.column_rows[k, :, parents], tree_c.siblings[k, :, parents]], axis=2)
    elems = np.concatenate(
        [
            data.leaf[k, :, None],
            data.siblings[k],
            columns.reshape(vanilla.challenges, -1, 32),
            replica.siblings[k],
            tree_c.siblings[k, :, OWN],
        ],
        axis=1,
    )
    index_bits = vanilla.sector.tree_d_levels  # of every tree: all have as many leaves
    in_tree_c = _bits(tree_c.node_index()[k], index_bits)
    bits = np.concatenate(
        [
            _bits(data.node_index()[k], index_bits),
            in_tree_c[:, parents].reshape(vanilla.challenges, -1),
            _bits(vanilla.label_node[k, :, 0], CHALLENGE_BITS),
            _bits(replica.node_index()[k], index_bits),
            in_tree_c[:, OWN],
        ],
        axis=1,
    )
    return Hints(np.empty(0, np.uint8), _elements(prologue)), Hints(np.ascontiguousarray(bits), _elements(elems))
