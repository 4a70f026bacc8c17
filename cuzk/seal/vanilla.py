"""Vanilla proofs as arrays: what a prover must know of the sector to make one Groth16 proof a partition.

One NumPy array a kind of value, over all partitions and challenges at once; no Python object for a hash. Every array starts
with the axes (partition, challenge). Hashes and field elements are `uint8[..., 32]`, little-endian, below r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzk.seal.sector import Sector

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

OWN = 0  # index of the challenged node's own column, which stands before those of its parents


@dataclass(frozen=True, slots=True)
class MerklePaths:
    """Inclusion proofs of one tree shape, `...` being any leading axes.

    A level of arity a has a - 1 siblings in increasing child position and an index below a, the position of the running
    value among its siblings.
    """

    arities: tuple[int, ...]  # of the levels, leaf-most first
    leaf: U8  # (..., 32)
    root: U8  # (..., 32)
    siblings: U8  # (..., sum of (arity - 1), 32), leaf-most level first
    index: U8  # (..., levels)

    def level_siblings(self, level: int) -> U8:
        """The siblings of one level, uint8[..., arity - 1, 32]."""
        start = sum(a - 1 for a in self.arities[:level])
        return self.siblings[..., start : start + self.arities[level] - 1, :]

    def node_index(self) -> U64:
        """Position of the leaf in the tree: the index digits, leaf-most least significant. Shape (...)."""
        position = np.zeros(self.index.shape[:-1], np.uint64)
        weight = 1
        for level, arity in enumerate(self.arities):
            position += self.index[..., level].astype(np.uint64) * np.uint64(weight)
            weight *= arity
        return position


@dataclass(frozen=True, slots=True)
class VanillaProofs:
    """All challenge proofs of a C1. P partitions, c challenges, L layers; 15 columns: the node's own, 6 DRG, 8 expander."""

    sector: Sector
    comm_d_proofs: MerklePaths  # (P, c)
    comm_r_last_proof: MerklePaths  # (P, c)
    column_index: U32  # (P, c, 15)
    column_rows: U8  # (P, c, 15, L, 32), layer 1 first
    column_proof: MerklePaths  # (P, c, 15) in tree C
    label_parents: U8  # (P, c, L, 37, 32)
    label_layer: U32  # (P, c, L)
    label_node: U64  # (P, c, L)
    encoding_parents: U8  # (P, c, 37, 32)
    encoding_layer: U32  # (P, c)
    encoding_node: U64  # (P, c)

    @property
    def partitions(self) -> int:
        """Number of partitions present."""
        return self.label_node.shape[0]

    @property
    def challenges(self) -> int:
        """Challenges a partition."""
        return self.label_node.shape[1]


def column_name(column: int) -> str:
    """The C1's name of one of the 15 columns."""
    if column == OWN:
        return "c_x"
    return f"drg_parents[{column - 1}]" if column <= 6 else f"exp_parents[{column - 7}]"
