"""Sums of many points on a card: MSM, sums of selected points; the CPU twin is `pippenger`.

A sum is a few dozen kernels in one stream (`kernels.sort_cuda`, `tree_cuda`, `msm_cuda`), one wait in the middle, for how large
the largest bucket is, and some 250 points at the end that the CPU adds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.curve import g1, g2
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_LIMBS, U64
from cuzk.kernels import digits_cuda, msm_cuda, sort_cuda
from cuzk.kernels.tree_cuda import NONE
from cuzk.msm.cuda_plan import Plan, Windows, chunked, resized, tree_scratch
from cuzk.msm.cuda_scratch import _GATHERERS, DevicePoints, Scratch, Trees, combined, scan_blocks, scanned, upload, upload_be
from cuzk.msm.rows import point_limbs

__all__ = ["DevicePoints", "Msm", "Scratch", "Selection", "msm", "sum_selected", "upload", "upload_be"]

GROUPS = {"g1": g1.GROUP, "g2": g2.GROUP}
_LARGE = 1 << 16  # references of one bucket that several blocks list
Mark = Callable[[str], object]


def _nothing(_: str) -> None:
    pass


class Msm:
    """Sums of s_i P_i over up to plan.n points with one plan and the scratch of one stream."""

    def __init__(self, scratch: Scratch, cut: Plan) -> None:
        self.scratch, self.plan = scratch, cut
        self.trees = Trees(scratch, cut.curve)
        self.trees.prepare(cut.slots)
        bias = sum(digits_cuda.bias(run.first, run.c, run.count) for run in cut.runs)
        self._bias = np.frombuffer(bias.to_bytes(4 * digits_cuda.BIASED, "little"), np.uint32)
        self._hold()

    def _hold(self) -> None:
        """Take the buffers; another sum of the same scratch may have replaced them."""
        cut, hold = self.plan, self.scratch.buffer
        self.at = {name: int(hold(name, size).address) for name, size in cut.sizes().items() if name != "scratch"}
        self.bias = self.scratch.constant(f"bias {[(run.c, run.count) for run in cut.runs]}", self._bias)
        self.count, self.most = self.at["words"], self.at["words"] + 4

    def run(self, points: DevicePoints, scalars: int, index: int = 0, mark: Mark = _nothing) -> U64:
        """The sum, complete: equal, opposite and infinite points and all scalars are allowed.

        Shape   points [n]; scalars: address of uint32[n, 8]; index: 0, or the address of uint32[n], and scalar i belongs to
                point index[i]; result uint64[12 or 24], affine, infinity zeros
        Domain  scalars canonical; result Montgomery
        Range   any scalar below 2^256, taken modulo r: the points must be in the subgroup of order r
        Cost    n + 1.2 2^(c − 1) additions of 5 M + 1 S a window of c bits; plan.bytes of scratch
        Spec    spec.curve.Curve.multiexp
        """
        self.start(points, scalars, points.count, index, mark)
        return self.finish(mark)

    def start(self, points: DevicePoints, scalars: int, n: int, index: int = 0, mark: Mark = _nothing) -> None:
        """Everything that the card does for the first n points; `finish` gives the sum."""
        if points.curve != self.plan.curve or n > self.plan.n:
            raise InternalError("a sum that its plan is not for", expected=f"{self.plan.n} points", got=n)
        cut = resized(self.plan, n)
        self._hold()
        mark("begin")
        out = self.at["out"]
        for run in cut.runs:
            for w in range(0, run.count, run.group):
                some = replace(run, first=run.first + run.c * w, count=min(run.group, run.count - w))
                self._group(some, points, scalars, index, out, mark)
                out += some.count * some.sums * 2 * self.trees.size

    def finish(self, mark: Mark = _nothing) -> U64:
        """The sum of what `start` did; waits for the card."""
        exponents = [e for run in self.plan.runs for e in run.exponents()]
        sums = np.empty((len(exponents), 2 * point_limbs(self.plan.curve)), np.uint64)
        self.scratch.buffer("out", 0).read_into(sums, 0, self.scratch.stream)
        self.scratch.synchronize()
        mark("end")
        return combined(self.plan.curve, sums, exponents)

    def _group(self, cut: Windows, points: DevicePoints, scalars: int, index: int, out: int, mark: Mark) -> None:
        """All windows of `cut` together; their sums go to `out`."""
        buckets = cut.count << (cut.c - 1)
        most = self._sort(cut, scalars, index, buckets, mark)
        mark("sort")
        self._waves(cut, points, buckets, most, mark)
        self._rectangle(cut, buckets)
        mark("rows and columns")
        rows = cut.slots
        arguments = (rows, cut.column_bits - 1, cut.row_bits, rows + buckets // 2, cut.c - 2, cut.column_bits, out)
        self.scratch.launch(msm_cuda.bit_sums[cut.curve], (cut.sums, cut.count), self.at["slots"], 0, *arguments)
        mark("bits")

    def _sort(self, cut: Windows, scalars: int, index: int, buckets: int, mark: Mark) -> Callable[[], int]:
        """Fill the buckets; what is returned tells how many references the largest has."""
        s, at, n, low, apart = self.scratch, self.at, cut.n, cut.low, cut.partitions
        parts = cut.count * apart
        totals = at["partitions"]
        cursors, first_stripe = totals + 4 * parts, totals + 8 * parts
        counts, start = at["buckets"], at["buckets"] + 4 * buckets
        digits, entries = at["references"], at["slots"]
        s.buffer("partitions", 0).fill(0, 4 * parts, 0, s.stream)
        s.buffer("words", 0).fill(0, 8, 0, s.stream)
        # Windows whose partitions' counters fit a block together.
        together = min(cut.count, digits_cuda.COUNTERS // apart)
        for w in range(0, cut.count, together):
            m, first = min(together, cut.count - w), cut.first + cut.c * w
            blocks = min(-(-n // digits_cuda.THREADS), 4 * s.card.multiprocessors)
            where = digits + 4 * n * w, totals + 4 * apart * w
            s.launch(digits_cuda.signed_digits, blocks, scalars, n, cut.c, first, m, low, apart, self.bias, *where)
        mark("digits")
        s.launch(sort_cuda.cut_stripes, 1, totals, parts, cut.stripe, cursors, first_stripe, at["stripes"])
        tiles = -(-n // sort_cuda.TILE)
        s.launch(sort_cuda.partition, (tiles, cut.count), digits, n, low, apart, index, cursors, entries)
        mark("partition")
        total = first_stripe + 4 * parts
        s.launch(sort_cuda.count_buckets, cut.stripes, entries, at["stripes"], total, low, at["local"])
        mark("count")
        scans = scan_blocks(buckets)
        s.launch(sort_cuda.measure_buckets, scans, at["local"], first_stripe, buckets, low, counts, at["scans"], self.most)
        most = s.word_later(self.most)
        scanned(s, at["scans"], scans, self.count)
        references = at["references"]
        s.launch(sort_cuda.place_buckets, scans, counts, buckets, at["scans"], start, references)
        mark("buckets")
        stripes = at["stripes"], first_stripe, total
        s.launch(sort_cuda.fill_buckets, cut.stripes, entries, *stripes, low, at["local"], counts, start, references)
        return most

    def _waves(self, cut: Windows, points: DevicePoints, buckets: int, largest: Callable[[], int], mark: Mark) -> None:
        """Add up every bucket."""
        s, at, add, entries = self.scratch, self.at, self.trees.add, cut.n * cut.count
        slots, pairs = at["slots"], at["references"]
        counts, start = at["buckets"], at["buckets"] + 4 * buckets
        add(points.address, slots, pairs, (entries + buckets) // 2, count=self.count)
        mark("wave 1")
        # Asked for only now, so that the card is at work meanwhile.
        slots_of_largest = most = (largest() + 1) // 2
        scans, wave = scan_blocks(buckets), 2
        while most > 1:
            s.launch(msm_cuda.count_pairs, scans, counts, buckets, wave, at["scans"])
            scanned(s, at["scans"], scans, self.count)
            helpers = max(1, min(64, (slots_of_largest >> wave) // _LARGE))
            s.launch(msm_cuda.list_pairs, (scans, helpers), counts, start, buckets, wave, at["scans"], pairs)
            add(slots, slots, pairs, max(1, min(entries, cut.slots) >> wave), count=self.count, in_place=True)
            mark(f"wave {wave}" if wave < 4 else "later waves")
            most = (most + 1) // 2
            wave += 1

    def _rectangle(self, cut: Windows, buckets: int) -> None:
        """Sums of rows and of columns of each window's buckets."""
        s, at, add = self.scratch, self.at, self.trees.add
        slots, pairs = at["slots"], at["references"]
        counts, start = at["buckets"], at["buckets"] + 4 * buckets
        bits, low_bits, high_bits = cut.c - 1, cut.column_bits, cut.row_bits
        rows = cut.slots
        columns = rows + buckets // 2
        s.over(msm_cuda.list_rectangle, buckets, counts, start, buckets, bits, low_bits, pairs)
        add(slots, slots, pairs, buckets, base=rows)
        for level in range(1, max(low_bits, high_bits)):
            # Rows have 2^low_bits buckets, in place 2^(low_bits − 1) slots apart; columns 2^high_bits, side by side in a window.
            row_half, column_half = low_bits - 1 - level, bits - 1 - level
            row_pairs = cut.count << (high_bits + row_half) if row_half >= 0 else 0
            column_pairs = cut.count << column_half if level < high_bits else 0
            row = (rows, row_pairs, low_bits - 1, max(0, row_half))
            column = (columns, column_pairs, bits - 1, max(0, column_half))
            s.over(msm_cuda.list_halves, row_pairs + column_pairs, *row, *column, pairs)
            add(slots, slots, pairs, row_pairs + column_pairs, in_place=True)


class Selection:
    """Sums of the points that a packed bitmap selects."""

    def __init__(self, scratch: Scratch, curve: str) -> None:
        self.scratch, self.trees = scratch, Trees(scratch, curve)

    @staticmethod
    def bytes(curve: str, most: int) -> int:
        """Bytes of scratch for at most `most` selected points, without the prefix products."""
        size = 96 if curve == "g1" else 192
        return 4 * (most + 2) + size * (most // 2 + 1 + 2 * 128)

    @staticmethod
    def sizes(curve: str, most: int, multiprocessors: int) -> dict[str, int]:
        """Bytes of scratch by name for bitmaps of at most `most` points, however many are selected."""
        size, pairs = 8 * point_limbs(curve), -(-most // 2)
        return {
            "scans": 4 * scan_blocks(-(-most // 32)),
            "words": 256,
            "references": 4 * (most + 2),
            "slots": (pairs + 2 * 128) * size,
            "scratch": tree_scratch(curve, pairs, multiprocessors),
            "gathered": _GATHERERS * 2 * size,
        }

    def run(self, points: DevicePoints, bits: int, n: int, index: int = 0, mark: Mark = _nothing) -> U64:
        """The sum of the points whose bit is set, complete.

        Shape   bits: address of uint32[ceil(n/32)], bit i of word j for position 32 j + i, none set from n on; index: 0, or the
                address of uint32[n] naming each position's point; result uint64[12 or 24], affine, infinity zeros
        Cost    an addition of 5 M + 1 S and 52 bytes (G2: 100) of scratch a selected point
        """
        s, words = self.scratch, -(-n // 32)
        scans = scan_blocks(words)
        mark("begin")
        sums = s.buffer("scans", 4 * scans).address
        total = s.buffer("words", 256)
        s.launch(msm_cuda.count_bits, scans, bits, words, sums)
        scanned(s, sums, scans, total.address)
        m = s.word(total.address)
        if m == 0:
            return np.zeros(point_limbs(self.trees.curve), np.uint64)
        references = s.buffer("references", 4 * (m + 2))
        s.launch(msm_cuda.list_bits, scans, bits, words, sums, index, references.address)
        if m % 2:
            references.fill(0xFF, 4, 4 * m, s.stream)
        mark("list")
        return self.sum_references(points, references.address, m, mark)

    def sum_references(self, points: DevicePoints, references: int, m: int, mark: Mark = _nothing) -> U64:
        """The sum of m points by reference; an odd number is followed by `NONE`. The list is used up."""
        pairs = -(-m // 2)
        self.trees.prepare(pairs)
        slots = self.scratch.buffer("slots", (pairs + 2 * 128) * self.trees.size).address
        self.trees.add(points.address, slots, references, pairs)
        mark("wave 1")
        found = self.trees.gathered(slots, pairs, references)
        mark("end")
        return found


def sum_selected(points: DevicePoints, index: npt.NDArray[Any]) -> U64:
    """Sum of the points that `index`, from the host, names; complete. Shape: index uint32[m]; result as `Msm.run`."""
    m, scratch = len(index), Scratch(points.buffer.card)
    if not m:
        return np.zeros(point_limbs(points.curve), np.uint64)
    if int(np.max(index)) >= points.count:
        raise InternalError("a point that is not there", expected=f"below {points.count}", got=int(np.max(index)))
    references = np.full(m + m % 2, NONE, np.uint32)
    references[:m] = index
    try:
        with scratch.card.upload(references) as listed:
            return Selection(scratch, points.curve).sum_references(points, listed.address, m)
    finally:
        scratch.free()


def msm(points: DevicePoints, scalars_canon: U64, memory: int | None = None) -> U64:
    """Sum of s_i P_i with scalars from the host: `Msm` with a plan for the memory that is free, in pieces if it is little.

    Shape   scalars_canon uint64[n, 4]; result uint64[12] (G1) or uint64[24] (G2), affine, infinity zeros
    """
    n = points.count
    if scalars_canon.shape != (n, FR_LIMBS) or scalars_canon.dtype != np.uint64:
        raise InternalError("scalars of a wrong shape", expected=f"uint64[{n}, {FR_LIMBS}]", got=str(scalars_canon.shape))
    if not n:
        return np.zeros(point_limbs(points.curve), np.uint64)
    card = points.buffer.card
    memory = card.free_memory() if memory is None else memory
    cut = chunked(points.curve, n, memory, card.multiprocessors, per_point=32)
    scratch = Scratch(card)
    try:
        total = np.zeros(point_limbs(points.curve), np.uint64)
        job = Msm(scratch, cut)
        for first in range(0, n, cut.n):
            m = min(cut.n, n - first)
            scalars = scratch.buffer("scalars", 32 * cut.n)
            scalars.write(scalars_canon[first : first + m])
            part = job.run(points.part(first, m), scalars.address)
            total = GROUPS[points.curve].add(total, part)
        return total
    finally:
        scratch.free()
