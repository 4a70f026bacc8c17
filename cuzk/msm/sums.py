"""Sums of rows by key: sorted into runs, then summed by trees. Buckets, lines of buckets, bits of weights: all are this."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk import pages
from cuzk.field import lanes
from cuzk.field.coordinates import DEGREES
from cuzk.field.lanes import LANES
from cuzk.field.limbs import U64
from cuzk.kernels import msm_cpu
from cuzk.kernels.tree_cpu import ENTRY_PADDING, FP_WORDS, RUN, Workspace, level_constants, row_words, tree

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
EVERY_ROW = np.zeros(0, np.uint32)
_SHORTEST = 5  # its logarithm
_KEPT = 1 << 26


@functools.cache
def _one(curve: str) -> U64:
    """1 in every lane, in lane layout."""
    cls = lanes.emitter_class()
    one = lanes.radix("fp") % lanes.MODULI["fp"]
    limbs = [(one >> (cls.BITS * j)) & ((1 << cls.BITS) - 1) for j in range(FP_WORDS)] + [0] * (FP_WORDS * (DEGREES[curve] - 1))
    return np.repeat(np.array(limbs, np.uint64), LANES)


@functools.cache
def _constants(curve: str) -> U64:
    return level_constants(curve)


def _run(total: int) -> int:
    """The longest run in a sum of `total` entries by key; keys with more entries are cut.

    A group has runs of one length, so each of the lengths wastes half a group of lanes in the mean: 3.5 run² lanes in all.
    """
    return RUN if LANES == 1 else min(RUN, 1 << max(_SHORTEST, total.bit_length() // 2 - 3))


@dataclass(frozen=True)
class Keyed:
    """Entries to be summed: keyed entry k of a part (`key << 1 | sign`, key 0 for none) names row index[k], or base + k without
    index.

    Shape   keyed uint32[parts, m]; the keys of part p count from p * stride
    """

    keyed: U32
    stride: int = 0
    index: U32 = field(default_factory=lambda: EVERY_ROW)
    base: int = 0


_idle: dict[str, list[Summation]] = {}


@contextmanager
def summations(curve: str, count: int) -> Iterator[list[Summation]]:
    """Scratch for `count` threads, as it was left by an earlier sum where there is one: new pages cost time, most if two threads
    wait for them together. What grew beyond _KEPT bytes is given up.
    """
    idle = _idle.setdefault(curve, [])
    taken: list[Summation] = []
    while len(taken) < count:
        try:
            taken.append(idle.pop())  # one step for other threads
        except IndexError:
            taken.append(Summation(curve))
    yield taken
    idle += [scratch for scratch in taken if scratch.held_bytes <= _KEPT]


class Summation:
    """Scratch memory of one thread for the sums of one curve; results stay valid until the next sum."""

    def __init__(self, curve: str) -> None:
        self.curve = curve
        self.words = row_words(curve)
        self._work = Workspace(curve)
        self._held: dict[str, npt.NDArray[Any]] = {}

    @property
    def held_bytes(self) -> int:
        """Memory that named arrays take."""
        return sum(array.nbytes for array in self._held.values())

    def array(self, name: str, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Scratch of at least `size` items, kept under `name`; contents are left over from before."""
        held = self._held.get(name)
        if held is None or len(held) < size:
            held = self._held[name] = pages.zeros(size + size // 8, dtype)
        return held[:size]

    def trees(self, out: U64, dest: I64, entries: U32, first: I64, length: I64, rows: U64, infinite: bool) -> bool:
        """Run the tree kernel; whether a sum may be infinity."""
        constants, one = _constants(self.curve), _one(self.curve)
        flags = tree(self.curve)(out, dest, entries, first, length, rows, infinite, constants, one, self._work.arrays)
        return bool(flags & 1)

    def by_key(self, rows: U64, entries: Keyed, keys: int, infinite: bool, name: str) -> tuple[U64, npt.NDArray[np.int32], bool]:
        """out[key] = sum of ± rows over the entries of each key.

        Shape    rows: uint64[n, words]; keys: one more than the largest key of all parts
        Returns  out uint64[keys, words] (rows of unused keys are unspecified), how many entries each key had, and whether a
                 sum may be infinity
        Alias    out and counts are scratch kept under `name`
        """
        total = entries.keyed.size
        out = self.array(f"{name} rows", (keys + 9 * total // (4 * _run(total)) + 8) * self.words, np.uint64)
        counts = self.array(f"{name} counts", keys, np.int32)
        infinite = self._sum(out, 0, rows.reshape(-1), entries, counts, infinite)
        return out[: keys * self.words].reshape(keys, self.words), counts, infinite

    def all(self, rows: U64, index: U32, infinite: bool, last: bool = True) -> tuple[U64, bool]:
        """The sum of rows[index], which is not empty: uint64[1, words], and whether it may be infinity.

        Without `last` some rows, RUN times fewer than there were, that have the same sum.
        """
        flat, pieces = rows.reshape(-1), 0
        if not last:
            flat, infinite = self._pieces(flat, index, infinite, "pieces 0")
            return flat.reshape(-1, self.words), infinite
        while len(index) > RUN * LANES:
            out, infinite = self._pieces(flat, index, infinite, f"pieces {pieces % 2}")
            flat, index, pieces = out, np.arange(len(out) // self.words, dtype=np.uint32), pieces + 1
        keyed = Keyed(np.full((1, len(index)), 1 << 1, np.uint32), 0, index)
        sums, _, infinite = self.by_key(flat.reshape(-1, self.words), keyed, 2, infinite, "all")
        return sums[1:], infinite

    def _pieces(self, rows: U64, index: U32, infinite: bool, name: str) -> tuple[U64, bool]:
        """Sums of pieces of at most RUN rows each, in the order they come: no sorting, no unused lanes but in the last group."""
        full, rest = divmod(len(index), RUN * LANES)
        lengths = [RUN] * full + ([rest // LANES] if rest >= LANES else []) + ([1] if rest % LANES else [])
        length = np.array(lengths, np.int64)
        first = np.cumsum(length * LANES) - length * LANES
        entries = self.array("entries", int(length.sum()) * LANES + ENTRY_PADDING, np.uint32)
        np.left_shift(index, np.uint32(1), out=entries[: len(index)])
        entries[len(index) : len(entries) - ENTRY_PADDING] = entries[len(index) - 1]
        sums = len(length) * LANES - (-len(index)) % LANES
        dest = np.arange(len(length) * LANES, dtype=np.int64)
        dest[sums:] = -1
        out = self.array(name, sums * self.words, np.uint64)
        return out, self.trees(out, dest, entries, first, length, rows, infinite)

    def _sum(self, out: U64, spare: int, rows: U64, entries: Keyed, counts: npt.NDArray[np.int32], infinite: bool) -> bool:
        """Sum into out[key]; sums of pieces of long keys go to rows from `keys + spare` on, and are then summed themselves."""
        keys, keyed, stride = len(counts), entries.keyed, entries.stride
        histogram = np.empty(_run(keyed.size) + 1, np.int64)
        groups, size, long_keys, pieces = msm_cpu.measure(histogram, counts, keyed, stride)
        first, length = self.array("first", groups, np.int64), self.array("length", groups, np.int64)
        dest, position = self.array("dest", groups * LANES, np.int64), self.array("position", keys, np.int32)
        placed, piece_key = self.array("entries", size + ENTRY_PADDING, np.uint32), np.empty(pieces, np.int64)
        what = (counts, histogram, long_keys, spare, keyed, stride, entries.index, entries.base)
        msm_cpu.place(placed, first, length, dest, position, piece_key, *what)
        infinite = self.trees(out, dest, placed, first, length, rows, infinite)
        if pieces:
            index = np.arange(keys + spare, keys + spare + pieces, dtype=np.uint32)
            again = Keyed((piece_key << 1).astype(np.uint32).reshape(1, -1), 0, index)
            infinite |= self._sum(out, spare + pieces, out, again, np.empty(keys, np.int32), infinite)
        return infinite
