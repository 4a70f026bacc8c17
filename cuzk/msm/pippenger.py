"""Multi-scalar multiplication: sum of s_i P_i over many points of G1 or G2 (Pippenger's buckets).

Scalars are cut into windows of c bits with signed digits. In each window, the points with the same |digit| are summed (a bucket);
the buckets stand in a rectangle, b = high 2^k + low + 1, whose lines and columns are summed; of those sums, the ones whose weight
(high, or low + 1) has bit j set are summed for each j. Every one of these steps is a sum of rows by key (`sums`). What is left is
a sum of 2^e T_e with some 260 points T_e, by doubling and adding.

Source  Pippenger, On the evaluation of powers and monomials, SIAM J. Comput. 9 (1980); signed digits: Booth.
"""

from __future__ import annotations

import functools
import math
import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cuzk import config, workers
from cuzk.errors import InternalError
from cuzk.field.lanes import LANES
from cuzk.field.limbs import FR_LIMBS, U8, U64, to_limbs
from cuzk.kernels import msm_cpu, xyzz_cpu
from cuzk.msm.rows import Reader, Rows, check_bytes, point_limbs, rows_to_mont
from cuzk.msm.sums import Keyed, Summation, summations

__all__ = ["msm", "sum_be", "sum_rows", "sum_selected"]

SCALAR_BITS = 255  # r and the sign of its smaller residue: a residue is below 2^254
U32 = npt.NDArray[np.uint32]
Progress = Callable[[float], object]
T = TypeVar("T")

_BATCH = 1 << 19  # entries that a task of several windows may have
_PIECE = 1 << 15  # entries that make a task worth its overhead
_READ = 1 << 14  # points that are read and summed at a time
_ALONE = 1 << 16  # scalars that are prepared sooner than a second thread wakes


@dataclass(frozen=True)
class Plan:
    """How an MSM is cut: windows of `c` bits, and tasks (first window, last, first point, last)."""

    c: int
    windows: int
    tasks: list[tuple[int, int, int, int]]


@functools.lru_cache(maxsize=64)
def plan(n: int, threads: int, window: int | None = None) -> Plan:
    """The window width and the cut with the least work for the busiest thread, by a count of additions; or that of `window`.

    A window costs one addition a point and, for buckets, lines and bits, some 2.2 a bucket.
    """
    best: tuple[float, Plan] | None = None
    for c in range(2, 20) if window is None else (window,):
        candidate = Plan(c, -(-SCALAR_BITS // c), _tasks(n, -(-SCALAR_BITS // c), threads))
        load = [0.0] * threads
        for w0, w1, k0, k1 in candidate.tasks:  # in order, each to the thread that is free first
            buckets = 1 << (c - 1)
            i = load.index(min(load))
            load[i] += (w1 - w0) * (
                (k1 - k0) * _entry_cost(buckets) + 2.2 * min(buckets, 4 * (k1 - k0)) + 0.1 * buckets + 40
            ) + 2000
        if best is None or max(load) < best[0]:
            best = max(load), candidate
    assert best is not None
    return best[1]


def _entry_cost(buckets: int) -> float:
    """An entry's cost in additions; sorting to many places misses the caches."""
    return 1 + 0.01 * max(0, buckets.bit_length() - 14)


def _tasks(n: int, windows: int, threads: int) -> list[tuple[int, int, int, int]]:
    """As many whole windows to each thread, several a task if n is small; windows that are left are cut by points.

    The last fifth comes in small tasks: CPUs are not equally fast, and the last ones end together.
    """
    share = windows // threads
    large, small = (share if threads == 1 else share * 4 // 5), max(1, _PIECE // n)
    at, left = 0, share
    tasks = []
    while left:
        size = min(left, max(1, _BATCH // n), max(small, large - (share - left)))
        for _ in range(threads):
            tasks.append((at, at + size, 0, n))
            at += size
        left -= size
    rest = windows - at
    pieces = max(1, min(threads // math.gcd(threads, rest), -(-2 * threads // max(1, rest)), n // _PIECE))
    return tasks + [(w, w + 1, k0, k1) for w in range(at, windows) for k0, k1 in workers.ranges(n, pieces, msm_cpu.STRIP)]


def _scalars(scalars_canon: U64, n: int) -> U64:
    if scalars_canon.shape != (n, FR_LIMBS) or scalars_canon.dtype != np.uint64:
        raise InternalError("scalars of a wrong shape", expected=f"uint64[{n}, {FR_LIMBS}]", got=str(scalars_canon.shape))
    return np.require(scalars_canon, requirements=["C", "W"])


def msm(
    rows: Rows,
    scalars_canon: U64,
    threads: int | None = None,
    progress: Progress | None = None,
    window: int | None = None,
    consume: bool = False,
) -> U64:
    """Sum of s_i P_i, complete: equal, opposite and infinite points and all scalars are allowed. `window`: see `plan`.

    Shape   scalars_canon uint64[n, 4]; result uint64[12] (G1) or uint64[24] (G2), affine, infinity all zeros
    Domain  scalars canonical; result Montgomery
    Range   any scalar below 2^256, taken modulo r: the points must be in the subgroup of order r
    Cost    about n * 255 / c additions of 5 M + 1 S; 32 bytes a scalar of scratch unless the scalars may be overwritten
            (`consume`), and 8 bytes a point and thread (4 MiB a thread where there are fewer points)
    Spec    spec.curve.Curve.multiexp
    """
    threads = threads or config.thread_count()
    scalars_canon = _scalars(scalars_canon, len(rows))
    if not len(rows):
        return np.zeros(point_limbs(rows.curve), np.uint64)
    cut = plan(len(rows), threads, window)
    with summations(rows.curve, min(threads, len(cut.tasks))) as held:
        scratch: queue.SimpleQueue[Summation] = queue.SimpleQueue()
        for one in held:
            scratch.put(one)
        prepared = scalars_canon.reshape(-1) if consume else held[0].array("scalars", scalars_canon.size, np.uint64)
        _prepare(prepared, scalars_canon, cut, threads)

        def task(*bounds: int) -> tuple[U64, U32, bool]:
            mine = scratch.get()
            try:
                return _window_sums(mine, rows, prepared, cut, *bounds)
            finally:
                scratch.put(mine)

        parts = _all_of(task, cut.tasks, threads, progress)
        return _combine(scratch.get(), parts)


def _all_of(task: Callable[..., T], calls: Sequence[tuple[int, ...]], threads: int, progress: Progress | None) -> list[T]:
    """What the calls return. Only for the sake of `progress` does the caller wake, and take a CPU from a worker, at each."""
    if progress is None:
        return workers.run_all(task, calls, threads)
    results = []
    for result in workers.run(task, calls, threads):
        results.append(result)
        progress(len(results) / len(calls))
    return results


def _prepare(prepared: U64, scalars_canon: U64, cut: Plan, threads: int) -> None:
    """Scalars in the form that digits are read from."""
    bias = to_limbs([sum(1 << (cut.c * w + cut.c - 1) for w in range(cut.windows - 1))], FR_LIMBS)[0]

    def prepare(start: int, stop: int) -> None:
        msm_cpu.prepare(prepared, scalars_canon, bias, start, stop)

    workers.over_ranges(prepare, len(scalars_canon), _ALONE, threads=threads)


def _window_sums(
    scratch: Summation, rows: Rows, prepared: U64, cut: Plan, w0: int, w1: int, k0: int, k1: int
) -> tuple[U64, U32, bool]:
    """Buckets, then lines and columns, then bits of weights of windows w0..w1 over points k0..k1.

    Returns rows, for each its exponent, and whether one may be infinite: the sum of 2^exponent row is the windows' share.
    """
    many, buckets = w1 - w0, 1 << (cut.c - 1)
    low_bits = (cut.c - 1) // 2
    high, low = buckets >> low_bits, 1 << low_bits
    keyed = scratch.array("digits", many * (k1 - k0), np.uint32).reshape(many, k1 - k0)
    msm_cpu.signed_digits(keyed, prepared, cut.c, cut.windows, w0, k0, k1)
    if len(rows.infinite):
        keyed[:, rows.infinite[(rows.infinite >= k0) & (rows.infinite < k1)] - np.uint32(k0)] = 0
    entries = Keyed(keyed, buckets + 1, base=k0)
    sums, counts, infinite = scratch.by_key(rows.array, entries, many * (buckets + 1), False, "buckets")
    used = min(len(counts), keyed.size)
    index, both = scratch.array("index", used, np.uint32), scratch.array("lines and columns", 2 * used, np.uint32)
    n = msm_cpu.lines(index, both, counts, many, buckets, low_bits)
    entries = Keyed(both[: 2 * n].reshape(2, n), 0, index[:n])
    sums, counts, infinite = scratch.by_key(sums, entries, many * (1 + high + low), infinite, "rectangle")
    most = len(counts) * max((high - 1).bit_length(), low_bits + 1)
    index, bits = scratch.array("index", most, np.uint32), scratch.array("weights", most, np.uint32)
    n = msm_cpu.weights(index, bits, counts, many, cut.c, buckets, low_bits)
    entries = Keyed(bits[:n].reshape(1, n), 0, index[:n])
    sums, counts, infinite = scratch.by_key(sums, entries, (many + 1) * cut.c + 1, infinite, "bits")
    found = np.flatnonzero(counts)
    return sums[found], (found - 1 + w0 * cut.c).astype(np.uint32), infinite


def _combine(scratch: Summation, parts: list[tuple[U64, U32, bool]]) -> U64:
    """The sum of 2^exponent row."""
    rows, exponents = (np.concatenate([p[k] for p in parts]) for k in range(2))
    keyed = ((exponents + np.uint32(1)) << np.uint32(1)).reshape(1, -1)
    entries = Keyed(keyed, 0, np.arange(len(rows), dtype=np.uint32))
    sums, counts, _ = scratch.by_key(rows, entries, 2 + int(exponents.max(initial=0)), any(p[2] for p in parts), "powers")
    sums[counts == 0] = 0
    return _horner(scratch.curve, sums[1:])


def _horner(curve: str, rows: U64) -> U64:
    """The point sum of 2^k P_k over rows."""
    out = np.zeros(point_limbs(curve), np.uint64)
    xyzz_cpu.horner[curve](out, rows_to_mont(curve, rows).reshape(-1))
    return out


def sum_rows(rows: Rows, threads: int | None = None, progress: Progress | None = None) -> U64:
    """Sum of all points; see `sum_selected`."""
    return sum_selected(rows, np.arange(len(rows), dtype=np.uint32), threads, progress)


def sum_selected(rows: Rows, index: npt.NDArray[Any], threads: int | None = None, progress: Progress | None = None) -> U64:
    """Sum of the points that `index` names, complete.

    Shape   index uint32[m] (others are converted); result uint64[12] (G1) or uint64[24] (G2), affine, infinity all zeros
    Cost    an addition of 5 M + 1 S a point
    """
    threads = threads or config.thread_count()
    index = np.ascontiguousarray(index, np.uint32)
    if len(rows.infinite):
        finite = np.ones(len(rows), np.bool_)
        finite[rows.infinite] = False
        index = index[finite[index]]
    if not len(index):
        return np.zeros(point_limbs(rows.curve), np.uint64)

    def piece(scratch: Summation, start: int, stop: int) -> tuple[U64, bool]:
        sums, infinite = scratch.all(rows.array, index[start:stop], False)
        return sums.copy(), infinite

    return _sum_pieces(rows.curve, piece, len(index), threads, progress)


def sum_be(
    curve: str,
    be_bytes: U8,
    index: npt.NDArray[Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> U64:
    """Sum of points in uncompressed big-endian bytes, all or those that `index` names, read block by block.

    Shape   as for `rows_from_be`; result uint64[12] (G1) or uint64[24] (G2), affine, infinity all zeros
    Cost    7 M + 1 S a point
    """
    check_bytes(curve, be_bytes)
    threads = threads or config.thread_count()
    n = len(be_bytes) if index is None else len(index)
    if not n:
        return np.zeros(point_limbs(curve), np.uint64)

    def piece(scratch: Summation, start: int, stop: int) -> tuple[U64, bool]:
        reader, parts, any_infinite = Reader(curve, be_bytes, index, True), [], False
        rows = scratch.array("read", _READ * scratch.words, np.uint64).reshape(_READ, scratch.words)
        for k in range(start, stop, _READ):
            infinite = reader.read(rows, k, min(stop, k + _READ))
            finite = np.delete(np.arange(min(stop - k, _READ), dtype=np.uint32), infinite)
            if len(finite):
                sums, may_be_infinite = scratch.all(rows, finite, False, last=False)
                parts.append(sums.copy())
                any_infinite |= may_be_infinite
        return np.concatenate(parts) if parts else np.zeros((1, scratch.words), np.uint64), any_infinite or not parts

    return _sum_pieces(curve, piece, n, threads, progress)


def _sum_pieces(
    curve: str, piece: Callable[[Summation, int, int], tuple[U64, bool]], n: int, threads: int, progress: Progress | None
) -> U64:
    """Sum of the rows that `piece(scratch, start, stop)` makes of range(n), with whether they may be infinite, on all threads."""
    with summations(curve, threads) as held:
        scratch: queue.SimpleQueue[Summation] = queue.SimpleQueue()
        for one in held:
            scratch.put(one)

        def task(start: int, stop: int) -> tuple[U64, bool]:
            mine = scratch.get()
            try:
                return piece(mine, start, stop)
            finally:
                scratch.put(mine)

        parts = _all_of(task, workers.ranges(n, max(1, min(4 * threads, n // 4096)), LANES), threads, progress)
        together = np.concatenate([p[0] for p in parts])
        sums, _ = scratch.get().all(together, np.arange(len(together), dtype=np.uint32), any(p[1] for p in parts))
        return _horner(curve, sums)
