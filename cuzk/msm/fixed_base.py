"""Many multiples of one point, as a trusted setup needs: a table of odd multiples, then one short tree a scalar.

Scalars are cut into windows of c bits with odd digits, which are never 0, so that every multiple is a sum of exactly `windows`
table rows, ± (2 t + 1) 2^(c w) B.

Source  odd signed digits: Joye, Tunstall, Exponent recoding and regular exponentiation algorithms, AFRICACRYPT 2009.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk import config, pages, workers
from cuzk.curve.integers import doublings
from cuzk.errors import InternalError
from cuzk.field.lanes import LANES
from cuzk.field.limbs import FR_LIMBS, U8, U64
from cuzk.kernels import msm_cpu
from cuzk.kernels.tree_cpu import ENTRY_PADDING, row_words
from cuzk.msm.rows import point_bytes, point_limbs, rows_from_mont, rows_into_words
from cuzk.msm.sums import Summation

SCALAR_BITS = 255
_TABLE_BYTES = 150_000_000
_BLOCK = 8192  # multiples that a thread makes at a time
Progress = Callable[[float], object]


def window_bits(curve: str, count: int) -> int:
    """The window width with the fewest additions for `count` multiples, table included, within the memory for tables.

    Not above 16: rows of a larger table cost more to fetch than the addition that they save.
    """

    def windows(c: int) -> int:
        return -(-SCALAR_BITS // c)

    def cost(c: int) -> int:
        return windows(c) * (count + (1 << (c - 1)))

    fitting = [c for c in range(2, 17) if windows(c) * row_words(curve) * 8 << (c - 1) <= _TABLE_BYTES]
    return min(fitting, key=cost)


class FixedBase:
    """Multiples s B of one point B of order r."""

    def __init__(self, curve: str, base_mont: U64, expected_count: int, threads: int | None = None) -> None:
        """Make the table for about `expected_count` multiples.

        Shape   base_mont: uint64[12] ("g1") or uint64[24] ("g2"), affine, Montgomery, infinity all zeros
        Cost    255 / c * 2^(c − 1) additions and rows, at most 150 MB; c as `window_bits` says
        """
        if base_mont.shape != (point_limbs(curve),):
            raise InternalError("a point of a wrong shape", expected=point_limbs(curve), got=str(base_mont.shape))
        self.curve = curve
        self.threads = threads or config.thread_count()
        self.c = window_bits(curve, max(1, expected_count))
        self.windows = -(-SCALAR_BITS // self.c)
        self._infinite = not base_mont.any()
        self._scratch: queue.SimpleQueue[Summation] = queue.SimpleQueue()
        for _ in range(self.threads):
            self._scratch.put(Summation(curve))
        if not self._infinite:
            self._table = self._make_table(base_mont)

    def _make_table(self, base_mont: U64) -> U64:
        """Row w 2^(c − 1) + t: (2 t + 1) 2^(c w) B; then the doublings 2^e B."""
        half, end = 1 << (self.c - 1), self.windows << (self.c - 1)
        powers = rows_from_mont(self.curve, doublings(base_mont, self.c * self.windows), self.threads)
        table = pages.zeros((end + len(powers), row_words(self.curve)))
        table[end:] = powers.array
        starts = np.arange(self.windows, dtype=np.int64)
        table[starts * half] = powers.array[starts * self.c]

        def extend(w0: int, w1: int) -> None:
            # Rows m..2m of a window are rows 0..m plus 2 m 2^(c w) B.
            scratch = self._scratch.get()
            for j in range(self.c - 1):
                m = 1 << j
                row = (np.arange(w0, w1)[:, None] * half + np.arange(m)[None, :]).reshape(-1)
                step = np.repeat(end + np.arange(w0, w1) * self.c + j + 1, m)
                _add_pairs(scratch, table, row, step, row + m)
            self._scratch.put(scratch)

        workers.over_ranges(extend, self.windows, threads=self.threads)
        return table

    def multiples(self, scalars_canon: U64, progress: Progress | None = None) -> U64:
        """s_k B for each k.

        Shape   scalars_canon uint64[n, 4]; result uint64[n, 12] (G1) or uint64[n, 24] (G2), affine, infinity all zeros
        Domain  scalars canonical; result Montgomery
        Range   any scalar below 2^256, taken modulo r
        Cost    255 / c − 1 additions of 5 M + 1 S a multiple
        Spec    spec.curve.Curve.multiples
        """
        out = np.zeros((len(scalars_canon), point_limbs(self.curve)), np.uint64)
        self._fill(scalars_canon, out, False, progress)
        return out

    def multiples_be(self, scalars_canon: U64, out_bytes: U8, progress: Progress | None = None) -> None:
        """As `multiples`, in uncompressed big-endian bytes.

        Shape   out_bytes uint8[n, 96] (G1) or uint8[n, 192] (G2: c1 before c0), which may be a memory map; infinity: 0x40, zeros
        """
        if out_bytes.shape != (len(scalars_canon), point_bytes(self.curve)):
            expected = f"[{len(scalars_canon)}, {point_bytes(self.curve)}]"
            raise InternalError("output of a wrong shape", expected=expected, got=str(out_bytes.shape))
        self._fill(scalars_canon, out_bytes, True, progress)

    def _fill(self, scalars_canon: U64, out: npt.NDArray[Any], big_endian: bool, progress: Progress | None) -> None:
        n = len(scalars_canon)
        if scalars_canon.shape != (n, FR_LIMBS) or scalars_canon.dtype != np.uint64:
            raise InternalError("scalars of a wrong shape", expected=f"uint64[n, {FR_LIMBS}]", got=str(scalars_canon.shape))

        def block(start: int, stop: int) -> None:
            scratch = self._scratch.get()
            try:
                self._block(scratch, scalars_canon[start:stop], out[start:stop], big_endian)
            finally:
                self._scratch.put(scratch)

        bounds = workers.ranges(n, max(1, n // _BLOCK), LANES)
        for k, _ in enumerate(workers.run(block, bounds, self.threads)):
            if progress:
                progress((k + 1) / len(bounds))

    def _block(self, scratch: Summation, scalars_canon: U64, out: npt.NDArray[Any], big_endian: bool) -> None:
        wanted = np.flatnonzero(scalars_canon.any(axis=1))
        if self._infinite:
            wanted = wanted[:0]
        if len(wanted) < len(out):
            out[:] = 0
            if big_endian:
                out[:, 0] = 0x40
            if not len(wanted):
                return
            scalars_canon = scalars_canon[wanted]
        m = len(wanted)
        groups = -(-m // LANES)
        entries = scratch.array("entries", groups * LANES * self.windows + ENTRY_PADDING, np.uint32)
        msm_cpu.odd_digits(entries, np.require(scalars_canon, requirements=["C", "W"]), self.c, self.windows, 0, m)
        first = np.arange(groups, dtype=np.int64) * (LANES * self.windows)
        length = np.full(groups, self.windows, np.int64)
        dest = np.arange(groups * LANES, dtype=np.int64)
        rows = scratch.array("multiples", groups * LANES * scratch.words, np.uint64).reshape(-1, scratch.words)
        scratch.trees(rows.reshape(-1), dest, entries, first, length, self._table.reshape(-1), False)
        words = scratch.array("words", groups * LANES * point_limbs(self.curve), np.uint64).reshape(groups * LANES, -1)
        rows_into_words(self.curve, rows, words, big_endian)
        values = words[:m].view(out.dtype)
        if m == len(out):
            out[:] = values
        else:
            out[wanted] = values


def _add_pairs(scratch: Summation, table: U64, one: npt.NDArray[Any], two: npt.NDArray[Any], to: npt.NDArray[Any]) -> None:
    """table[to] = table[one] + table[two]."""
    groups = -(-len(to) // LANES)
    pad = groups * LANES - len(to)
    rows = np.stack([np.pad(x, (0, pad), mode="edge").reshape(groups, LANES) for x in (one, two)], axis=1)
    entries = scratch.array("entries", rows.size + ENTRY_PADDING, np.uint32)
    entries[: rows.size] = rows.reshape(-1) << 1
    dest = np.pad(to, (0, pad), constant_values=-1)
    first = np.arange(groups, dtype=np.int64) * (2 * LANES)
    scratch.trees(table.reshape(-1), dest, entries, first, np.full(groups, 2, np.int64), table.reshape(-1), False)
