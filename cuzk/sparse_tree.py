"""A Merkle tree of which only some leaves exist; every subtree without such a leaf is one digest, given from outside.

So a tree over 2**31 leaves costs no more than the paths that are opened, and still has one root: where two paths meet, each
holds the other's computed nodes as siblings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzk.vanilla import MerklePaths

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]

Hash = Callable[[U8], U8]  # children uint8[n, arity, 32] to their parents uint8[n, 32]
Filler = Callable[[str, int], U8]  # a name and a count to that many digests uint8[count, 32]


@dataclass(frozen=True, slots=True)
class _Level:
    """The nodes above one level of existing nodes, with all their children."""

    positions: U64  # of the parents, ascending
    children: U8  # (parents, arity, 32)


class SparseTree:
    """The tree over `leaves` at ascending `positions`.

    Shape   positions (n,), leaves uint8[n, 32]; arities leaf-most first, their product the number of leaves
    Cost    at most n hashes a level, each level in one call of `hash_children`
    """

    def __init__(
        self, name: str, arities: tuple[int, ...], positions: U64, leaves: U8, hash_children: Hash, filler: Filler
    ) -> None:
        """`name` tells the filler of one tree from another's."""
        self.arities = arities
        self._levels: list[_Level] = []
        self._positions, self._leaves = positions, leaves
        for level, arity in enumerate(arities):
            above, row = np.unique(positions // np.uint64(arity), return_inverse=True)
            children = filler(f"{name} level {level}", len(above) * arity).reshape(-1, arity, 32)
            children[row, positions % np.uint64(arity)] = leaves
            self._levels.append(_Level(above, children))
            positions, leaves = above, hash_children(children)
        self.root = leaves[0]

    def open(self, positions: U64) -> MerklePaths:
        """Inclusion proofs of existing leaves. Shape positions (...)."""
        lead = positions.shape
        leaf = self._leaves[np.searchsorted(self._positions, positions)]
        siblings, index, at = [], [], positions
        for arity, level in zip(self.arities, self._levels, strict=True):
            at, child = at // np.uint64(arity), at % np.uint64(arity)
            children = level.children[np.searchsorted(level.positions, at)]
            others = child[..., None] != np.arange(arity, dtype=np.uint64)
            siblings.append(children[others].reshape(*lead, arity - 1, 32))
            index.append(child)
        return MerklePaths(
            arities=self.arities,
            leaf=leaf,
            root=np.broadcast_to(self.root, leaf.shape),
            siblings=np.concatenate(siblings, axis=-2),
            index=np.stack(index, axis=-1).astype(np.uint8),
        )
