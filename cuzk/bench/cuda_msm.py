"""Sums of points on a card, data resident: dense and skewed scalars, bitmaps, and the addition that they are made of."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk.bench import cuda_measure, cuda_points, measure
from cuzk.bench.measure import Request
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_BYTES, U64
from cuzk.msm import cuda_plan, pippenger
from cuzk.msm.cuda import Msm, Selection
from cuzk.msm.cuda_scratch import DevicePoints, Scratch, Trees
from cuzk.msm.rows import point_limbs, rows_from_mont

KERNELS = ("digits_cuda", "sort_cuda", "tree_cuda", "msm_cuda")
SIZES = {"g1": (20, 22, 24, 27), "g2": (20, 22)}
BITS, SKEWED, PAIRS = (27,), (22,), 26  # log2: positions of bitmaps, points with skewed scalars, additions whose rate is measured
OF_CPU = 1 << 20  # points up to which the CPU adds them up as well
AGAINST = "(Σ (i + 1) a_i) M by one multiplication on the CPU, where the points are (i + 1) M"
CPU_AGAINST = AGAINST + ", and the same sum by cuzk.msm.pippenger"
ADDITIONS_AGAINST = "P_a + P_b = (a + b + 2) M, samples multiplied on the CPU; after every timed run all sums the same"
_SAMPLED = 16


class Bench:
    """A card with the points that its sums take."""

    def __init__(self, request: Request, bits: int = 255, width: int | None = None) -> None:
        """`bits` of a scalar and window `width`: smaller in toy runs."""
        self.request, self.bits, self.width = request, bits, width
        self.card = request.cards[0]
        self.scratch = Scratch(self.card)
        self._points: dict[str, DevicePoints] = {}

    def free(self) -> None:
        """Give all memory back."""
        self.scratch.free()
        while self._points:
            self._points.popitem()[1].buffer.free()

    def points(self, curve: str, n: int) -> DevicePoints:
        """P_i for i < n; kept for smaller n."""
        held = self._points.get(curve)
        if held is None or held.count < n:
            if held is not None:
                self._points.pop(curve).buffer.free()
            self.request.progress.line(f"{curve}: making {n} points on {self.card.name}")
            self._points[curve] = held = cuda_points.known_points(self.scratch, curve, n)
        return held.part(0, n)

    def plan(self, curve: str, n: int) -> cuda_plan.Plan:
        """The plan for the memory that is free, a tenth left alone."""
        memory = (self.card.free_memory() + self.scratch.bytes) // 10 * 9
        return cuda_plan.plan(curve, n, memory, self.card.multiprocessors, c=self.width)

    def timed(self, name: str, work: Callable[[], object], finish: Callable[[], U64], want: U64, against: str) -> dict[str, Any]:
        """A row: every run's sum is compared."""
        results: list[U64] = []

        def note() -> None:
            results.append(finish())

        work()
        note()
        timing = cuda_measure.timed(self.card, self.scratch.stream, work, self.request.runs, note)
        holds = all(np.array_equal(found, want) for found in results)
        return cuda_measure.row(self.card, name, timing, result=measure.result(results[0], against, holds, name))

    def msm(self, curve: str, n: int, scalars_canon: U64, total: int, name: str) -> dict[str, Any]:
        """A dense sum, its scalars on the card."""
        points, want, against = self.points(curve, n), cuda_points.multiple(curve, total), AGAINST
        if n <= OF_CPU:
            against = CPU_AGAINST
            if not np.array_equal(pippenger.msm(rows_from_mont(curve, points.read()), scalars_canon), want):
                raise InternalError(f"{name}: the CPU's sum differs", phase="bench")
        with self.card.upload(scalars_canon) as scalars:
            job = Msm(self.scratch, self.plan(curve, n))
            row = self.timed(name, lambda: job.start(points, scalars.address, n), job.finish, want, against)
        cut = job.plan
        return row | {"points": n, "window_bits": cut.c, "windows": cut.windows, "at_a_time": cut.group, "scratch": cut.bytes}

    def dense(self, curve: str, log2_size: int) -> dict[str, Any]:
        """Random scalars."""
        scalars, total = cuda_points.random_scalars(1 << log2_size, log2_size, self.bits)
        return self.msm(curve, 1 << log2_size, scalars, total, f"msm {curve} 2^{log2_size}")

    def skewed(self, log2_size: int) -> list[dict[str, Any]]:
        """Scalars that are much alike, against random ones of the same size."""
        n = 1 << log2_size
        usual = self.dense("g1", log2_size)["seconds"]["median"]
        rows = []
        for kind, (scalars, total) in cuda_points.skewed_scalars(n, self.bits).items():
            row = self.msm("g1", n, scalars, total, f"msm g1 2^{log2_size}, {kind}")
            rows.append(row | {"of_random": round(row["seconds"]["median"] / max(usual, 1e-12), 3)})
        return rows

    def selection(self, curve: str, log2_size: int) -> dict[str, Any]:
        """The points that a random bitmap selects."""
        n = 1 << log2_size
        points = self.points(curve, n)
        words, chosen, total = cuda_points.random_bitmap(n)
        job, name, found = Selection(self.scratch, curve), f"bit sum {curve}, {chosen} of 2^{log2_size}", []
        with self.card.upload(words) as bits:
            work = lambda: found.append(job.run(points, bits.address, n))  # noqa: E731
            row = self.timed(name, work, lambda: found[-1], cuda_points.multiple(curve, total), AGAINST)
        return row | {"per_ns": cuda_measure.per_ns(row, chosen)}

    def additions(self, pairs: int, among: int) -> list[dict[str, Any]]:
        """The addition kernel alone, on random pairs of points and on neighbours."""
        points, rows = self.points("g1", among), []
        trees = Trees(self.scratch, "g1")
        trees.prepare(pairs)
        random = np.random.Generator(np.random.SFC64(5)).integers(0, among, 2 * pairs, np.uint32)
        for kind, listed in (("random", random), ("neighbours", np.arange(2 * pairs, dtype=np.uint32) % np.uint32(among))):
            name = f"batch-affine addition g1, {kind}"
            with self.card.buffer(pairs * points.size) as slots, self.card.upload(listed) as given:
                work = lambda s=slots, g=given: trees.add(points.address, s.address, g.address, pairs)  # noqa: E731
                work()
                self.scratch.synchronize()
                stream, runs = self.scratch.stream, self.request.runs
                with cuda_measure.Kept(stream, (slots, pairs * points.size)) as made:
                    got, want = self._sums(slots, pairs, listed)  # reduces coordinates where they stand
                    shown = measure.result(got, ADDITIONS_AGAINST, np.array_equal(got, want), name)
                    look = functools.partial(made.look, name)
                    timing = cuda_measure.timed(self.card, stream, work, runs, before=made.spoil, look=look)
            row = cuda_measure.row(self.card, name, timing, result=shown)
            rows.append(row | {"per_ns": cuda_measure.per_ns(row, pairs)})
        return rows

    def _sums(self, slots: Any, pairs: int, listed: Any) -> tuple[U64, U64]:
        """Some of the sums on the card, and what they must be."""
        chosen = sorted({0, pairs - 1, *np.random.Generator(np.random.SFC64(6)).integers(0, pairs, _SAMPLED).tolist()})
        sums = DevicePoints("g1", slots, pairs)
        got = np.stack([sums.part(k, 1).read()[0] for k in chosen])
        factors = [int(listed[2 * k]) + int(listed[2 * k + 1]) + 2 for k in chosen]
        return got, np.stack([cuda_points.multiple("g1", factor) for factor in factors])


def memory(curve: str, n: int, multiprocessors: int) -> int:
    """The least device memory for a dense sum: points, scalars, one window at a time."""
    least = cuda_plan.plan(curve, n, 1 << 50, multiprocessors, group=1).bytes
    return n * (8 * point_limbs(curve) + FR_BYTES) + least


def _fitting(request: Request, curve: str) -> list[int]:
    """The sizes that the card has memory for."""
    card, fitting = request.cards[0], []
    for log2_size in request.sizes or SIZES[curve]:
        need = memory(curve, 1 << log2_size, card.multiprocessors) * 10 // 9
        if need <= card.free_memory():
            fitting.append(log2_size)
        else:
            request.progress.line(f"left out: msm {curve} 2^{log2_size} needs {need} bytes of device memory")
    return fitting


def run(request: Request, pairs: int = PAIRS, scalar_bits: int = 255, width: int | None = None) -> list[dict[str, Any]]:
    """The addition, sums in both groups, skewed scalars, bitmaps; sizes that the request's first card has memory for."""
    rows, bench = [], Bench(request, scalar_bits, width)
    try:
        for curve in SIZES:
            if not (fitting := _fitting(request, curve)):
                continue
            bench.points(curve, 1 << max(fitting))
            if curve == "g1" and pairs:
                fit = (bench.card.free_memory() // (2 * 8 * point_limbs(curve))).bit_length() - 1
                rows += bench.additions(1 << min(pairs, fit), 1 << min(22, max(fitting)))
            for log2_size in fitting:
                request.progress.line(f"msm {curve} 2^{log2_size} on {bench.card.name}")
                rows.append(bench.dense(curve, log2_size))
                if curve == "g1" and log2_size in (request.sizes or SKEWED):
                    rows += bench.skewed(log2_size)
                if curve == "g1" and log2_size in (request.sizes or BITS):
                    rows.append(bench.selection(curve, log2_size))
            bench.free()
    finally:
        bench.free()
    return rows
