"""Check and time sums of points on a card, in one run, and write what was found as JSON.

Usage: python scripts/device_check_msm.py OUT.json [--time 16,18,20,22,24,27] [--g2 16,20,22] [--bits 27] [--repeat 10]

Points are P_i = (i + 1) M for a multiple M of the generator, made on the card, so that the sum of a_i P_i is one multiple of M
whose factor the host adds up from the scalars: every check is exact at its full size and needs no second implementation. The
CPU's own sums are compared last, where time is left. Whatever is checked is made `--repeat` times, and compared each time; the
JSON says how often, and whether launches waited (CUDA_LAUNCH_BLOCKING=1).

Both ways: python scripts/device_check_msm.py $OUT/h200-msm.json && CUDA_LAUNCH_BLOCKING=1
           python scripts/device_check_msm.py $OUT/h200-msm-blocking.json --time 20,22,24,27 --g2 22 --bits 27 --pairs 0
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent.parent))

from cuzk import config, device
from cuzk.bench import cuda_measure
from cuzk.bench.cuda_points import GROUPS, known_points, multiple, random_bitmap, random_scalars, skewed_scalars
from cuzk.cuda import compiler, offline
from cuzk.field.coordinates_cuda import FIELDS
from cuzk.field.limbs import FR_LIMBS, U64, to_limbs
from cuzk.field.params import R
from cuzk.kernels import tree_cuda
from cuzk.msm import cuda, cuda_plan, cuda_stream, pippenger
from cuzk.msm.cuda_scratch import Trees, combined
from cuzk.msm.rows import point_limbs, rows_from_mont
from scripts.device_report import START, fail, recorded, say

U32 = npt.NDArray[np.uint32]


class Checks:
    """The run: one card, what is found."""

    def __init__(self, card: Any, options: argparse.Namespace) -> None:
        self.card, self.options = card, options
        self.scratch = cuda.Scratch(card)
        self.found: dict[str, Any] = {"checks": [], "times_ms": {}, "phases_ms": {}, "rates": {}, "memory": {}, "left_out": []}
        self.found["repeat"] = options.repeat
        self._points: dict[str, cuda.DevicePoints] = {}

    # Ground

    def passed(self, what: str, times: int = 1) -> None:
        """Note a check that holds."""
        self.found["checks"].append({"what": what, "times": times})
        say(f"ok: {what}" + (f", {times} times" if times > 1 else ""))

    def expect(self, curve: str, got: U64, factor: int, what: str) -> None:
        """End the run unless got = factor · M."""
        if not np.array_equal(got, multiple(curve, factor)):
            fail(what)

    def compile_all(self) -> None:
        """Every kernel of the sums compiled, assembled side by side, and loaded; registers and local memory by the driver."""
        begun = time.perf_counter()
        offline.declared()
        wanted = {k: v for k, v in sorted(compiler.kernels.items()) if any(x in k for x in ("msm_", "sort_", "tree_", "digits_"))}
        if not config.cuda_simulated():
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda kernel: kernel.compiled(self.card.capability), wanted.values()))
        self.found["kernels"] = {key: self.card.resources(kernel) for key, kernel in wanted.items()}
        for curve in GROUPS:  # compiled for the CPU
            combined(curve, np.zeros((1, 2 * point_limbs(curve)), np.uint64), [0])
            multiple(curve, 3)
        say(f"{len(wanted)} kernels in {time.perf_counter() - begun:.1f} s: {json.dumps(self.found['kernels'])}")

    def timed(self, name: str, work: Callable[[Any], Any], runs: int, after: Callable[[], Any] = lambda: None) -> float:
        """Median device time of work(mark), wall time of it and after(), noted, and the phases of one more run."""
        timing = cuda_measure.timed(self.card, self.scratch.stream, lambda: work(lambda _: None), runs, after)
        device_ms, wall_ms = ([1e3 * s for s in seconds] for seconds in timing)
        marks: list[tuple[str, Any]] = []
        work(lambda phase: marks.append((phase, self.card.event().record(self.scratch.stream))))
        after()
        phases: dict[str, float] = {}
        for (_, before), (phase, mark) in itertools.pairwise(marks):
            phases[phase] = round(phases.get(phase, 0.0) + mark.milliseconds_since(before), 3)
        self.found["phases_ms"][name] = phases
        ms = statistics.median(device_ms)
        self.found["times_ms"][name] = {
            "median": ms,
            "min": min(device_ms),
            "max": max(device_ms),
            "wall": statistics.median(wall_ms),
            "runs": runs,
        }
        say(f"{name}: {ms:.3f} ms ({min(device_ms):.3f}–{max(device_ms):.3f}), wall {statistics.median(wall_ms):.3f} | {phases}")
        return ms

    # Points

    def points(self, curve: str, n: int) -> cuda.DevicePoints:
        """P_i = (i + 1) M for i < n; kept for smaller n."""
        held = self._points.get(curve)
        if held is None or held.count < n:
            if held is not None:
                held.buffer.free()
            self._points[curve] = held = self.make(curve, n)
        return held.part(0, n)

    def make(self, curve: str, n: int) -> cuda.DevicePoints:
        """The points of `points`, by fixed-base multiples, timed."""
        begun = time.perf_counter()
        made = known_points(self.scratch, curve, n)
        ms = 1e3 * (time.perf_counter() - begun)
        self.found["rates"][f"{curve} multiples of one point, {n}"] = {"ms": ms, "ns each": 1e6 * ms / n}
        few = min(n, (1 << 16) + 3)  # an odd number of them again, every one compared
        want = made.part(0, few).read()
        for _ in range(self.options.repeat - 1):
            again = known_points(self.scratch, curve, few)
            if not np.array_equal(again.read(), want):
                fail(f"multiples of one point of {curve} are not the same every time")
            again.buffer.free()
        self.passed(f"{curve} multiples of one point, {n}: samples; {ms:.1f} ms with the table", 1)
        self.passed(f"{curve} multiples of one point, {few}: the same", self.options.repeat)
        return made

    def plan(self, curve: str, n: int, **more: Any) -> cuda_plan.Plan:
        """A plan for the memory that is free, a tenth left alone."""
        memory = (self.card.free_memory() + self.scratch.bytes) // 10 * 9
        return cuda_plan.plan(curve, n, memory, self.card.multiprocessors, **more)

    # Checks

    def small(self, curve: str, sizes: Sequence[int]) -> None:
        """Odd sizes; points with equal, opposite and infinite ones; skewed and extreme scalars; time after time the same."""
        draw = random.Random(3)
        most, bits = max(sizes), self.options.bit_length
        multiples = [draw.choice([0, 1, -1, 1, 2, draw.randrange(5), draw.randrange(-40, 40)]) for _ in range(most)]
        rows = np.stack([multiple(curve, m) for m in range(-40, 41)])
        points = cuda.upload(self.card, curve, np.ascontiguousarray(rows[np.array(multiples) + 40]))
        kinds: dict[str, Callable[[int], int]] = {
            "random": lambda k: draw.randrange(min(R, 1 << bits)),
            "0 and 1": lambda k: k % 2,
            "r − 1": lambda k: R - 1,
            "one value": lambda k: 3**20 % (1 << bits),
            "around r/2": lambda k: R // 2 - most // 2 + k if bits > 254 else k,
            "up to 2^256 − 1": lambda k: (1 << 256) - 1 - k if bits > 254 else k,
            "powers of two": lambda k: 1 << (k % bits),
        }
        for n in sizes:
            job = cuda.Msm(self.scratch, self.plan(curve, n, c=self.options.width or None))
            for kind, scalar in kinds.items():
                values = [scalar(k) for k in range(n)]
                factor = sum(v * m for v, m in zip(values, multiples, strict=False))
                with self.card.upload(to_limbs(values, FR_LIMBS)) as scalars:
                    for _ in range(self.options.repeat):
                        got = job.run(points.part(0, n), scalars.address)
                        self.expect(curve, got, factor, f"{curve} MSM of {n} points, scalars {kind}, c = {job.plan.c}")
        self.passed(
            f"{curve} MSM of {list(sizes)} points, equal, opposite and infinite among them, {len(kinds)} kinds of scalars",
            self.options.repeat,
        )
        self.scratch.free()

    def msm(self, curve: str, n: int, runs: int, **more: Any) -> float:
        """One size with random scalars: the result time after time, and the time."""
        points = self.points(curve, n)
        scalars_host, total = random_scalars(n, n, self.options.bit_length)
        scalars = self.card.upload(scalars_host)
        job = cuda.Msm(self.scratch, self.plan(curve, n, **more))
        cut = job.plan
        widths = " and ".join(f"{run.count} of {run.c}" for run in cut.runs)
        name = f"{curve} MSM {label(n)}, c = {cut.c}, windows: {widths} bits, {cut.group} at a time"
        for _ in range(self.options.repeat):
            self.expect(curve, job.run(points, scalars.address), total, name)
        self.passed(name, self.options.repeat)
        self.found["memory"][name] = {"plan": cut.bytes, "scratch": self.scratch.bytes, "free": self.card.free_memory()}
        ms = self.timed(name, lambda mark: job.start(points, scalars.address, n, mark=mark), runs, job.finish)
        scalars.free()
        return ms

    def skewed(self, n: int, usual: float) -> None:
        """Half 0 and half 1, one value often, one value everywhere: against random scalars of the same size."""
        points, bits = self.points("g1", n), self.options.bit_length
        job = cuda.Msm(self.scratch, self.plan("g1", n))
        for kind, (scalars_host, factor) in skewed_scalars(n, bits).items():
            with self.card.upload(np.ascontiguousarray(scalars_host)) as scalars:
                name = f"g1 MSM {label(n)}, {kind}"
                for _ in range(self.options.repeat):
                    self.expect("g1", job.run(points, scalars.address), factor, name)
                ms = self.timed(name, functools.partial(job.start, points, scalars.address, n, 0), 3, job.finish)
                self.passed(name + (f": {ms / usual:.2f} of random scalars" if usual else ""), self.options.repeat)
                if usual:
                    self.found["rates"][f"{name}, of random"] = round(ms / usual, 3)

    def selection(self, curve: str, n: int, runs: int) -> None:
        """The sum of the points that a random bitmap selects."""
        points = self.points(curve, n)
        words, chosen, factor = random_bitmap(n)
        job = cuda.Selection(self.scratch, curve)
        name = f"{curve} bit sum {label(n)}, {chosen} points"
        with self.card.upload(words) as bits:
            for _ in range(self.options.repeat):
                self.expect(curve, job.run(points, bits.address, n), factor, name)
            self.passed(name, self.options.repeat)
            ms = self.timed(name, lambda mark: job.run(points, bits.address, n, mark=mark), runs)
        self.found["rates"][f"{name}, G additions/s"] = round(chosen / max(ms, 1e-9) / 1e6, 3)

    def additions(self, curve: str, pairs: int, among: int) -> None:
        """Rate of the addition kernel alone: random pairs of points and neighbouring ones; longest chains of two lengths."""
        points = self.points(curve, among)
        slots = self.card.buffer(pairs * points.size)
        for kind in ("random", "neighbours"):
            if kind == "random":
                listed = np.random.Generator(np.random.SFC64(5)).integers(0, among, 2 * pairs, np.uint32)
            else:
                listed = np.arange(2 * pairs, dtype=np.uint32) % np.uint32(among)
            with self.card.upload(listed) as given:
                trees = Trees(self.scratch, curve)
                trees.prepare(pairs)
                for chain in sorted({trees.chain, max(1, trees.chain // 2)}):
                    trees.chain = chain
                    name = f"{curve} additions, {kind}, chains of {chain}"
                    ms = self.timed(name, functools.partial(self.add, trees, points, slots, given, pairs), 4)
                    self.found["rates"][f"{name}, G/s"] = rate = round(pairs / max(ms, 1e-9) / 1e6, 3)
                    say(f"{name}: {rate} G/s")
        # Short lists: what an inversion costs at least.
        with self.card.upload(np.arange(2 * 4096, dtype=np.uint32) % np.uint32(among)) as given:
            for few in (k for k in (256, 4096) if k <= pairs):
                self.timed(f"{curve} wave of {few}", functools.partial(self.add, trees, points, slots, given, few), 7)
        slots.free()

    def variants(self, pairs: int) -> None:
        """The addition kernels with fewer threads and more registers, on random pairs."""
        for curve, threads, ahead in (
            ("g1", 384, True),
            ("g1", 256, True),
            ("g1", 512, False),
            ("g2", 384, True),
            ("g2", 256, True),
        ):
            among, chain = 1 << 20, 256
            points = self.points(curve, among)
            fewer = pairs if curve == "g1" else pairs >> 2
            listed = np.random.Generator(np.random.SFC64(5)).integers(0, among, 2 * fewer, np.uint32)
            kernel = tree_cuda._pair_add(FIELDS[curve], threads, f"{curve}_{threads}{'_ahead' * ahead}", ahead)
            blocks = self.card.multiprocessors
            scratch = self.scratch.buffer("scratch", tree_cuda.HEAD + blocks * threads * chain * 48)
            scratch.fill(0, tree_cuda.HEAD)
            with self.card.buffer(fewer * points.size) as slots, self.card.upload(listed) as given:
                arguments = (points.address, slots.address, given.address, 0, fewer, scratch.address, 0, 0, chain)
                name = f"{curve} additions, random, {threads} threads" + ", loads ahead" * ahead
                ms = self.timed(name, lambda _, k=kernel, n=blocks, a=arguments: self.scratch.launch(k, n, *a), 4)
            rate = round(fewer / max(ms, 1e-9) / 1e6, 3)
            self.found["rates"][f"{name}, G/s"] = rate
            say(f"{name}: {rate} G/s, {self.card.resources(kernel)}")

    @staticmethod
    def add(trees: Trees, points: cuda.DevicePoints, slots: Any, pairs: Any, count: int, _mark: Any) -> None:
        """One list of additions."""
        trees.add(points.address, slots.address, pairs.address, count)

    def streamed(self, curve: str, n: int) -> None:
        """Points from host memory in pieces: the same sum; and an MSM in little memory."""
        points = self.points(curve, n)
        scalars_host, total = random_scalars(n, 11, self.options.bit_length)
        pinned = self.card.pinned((n, point_limbs(curve)), np.uint64)
        pinned[:] = points.read()
        with self.card.upload(scalars_host) as scalars:
            cut = self.plan(curve, n)
            little = (cut.bytes + 2 * n * points.size) // 3
            for _ in range(self.options.repeat):
                begun = time.perf_counter()
                got = cuda_stream.msm_streamed(self.scratch, curve, pinned, scalars.address, little)
                self.expect(curve, got, total, f"{curve} MSM streamed, {n}")
                ms = 1e3 * (time.perf_counter() - begun)
        for _ in range(self.options.repeat):
            got = cuda.msm(points, scalars_host, cut.bytes // 3 + 32 * n)
            self.expect(curve, got, total, f"{curve} MSM in a third of its memory, {n}")
        self.passed(
            f"{curve} MSM {label(n)} with points from host memory in {little} bytes: {ms:.1f} ms; and in a third of its memory",
            self.options.repeat,
        )
        self.scratch.free()

    def against_cpu(self, curve: str, sizes: Sequence[int]) -> None:
        """The CPU's own sums of the same points and scalars, where time is left."""
        for n in sizes:
            if time.perf_counter() - START > self.options.budget:
                self.found["left_out"].append(f"{curve} against the CPU, {n}")
                say(f"left out: {curve} against the CPU, {n}")
                continue
            points = self.points(curve, n)
            scalars_host, total = random_scalars(n, 13, self.options.bit_length)
            want = pippenger.msm(rows_from_mont(curve, points.read()), scalars_host)
            for _ in range(self.options.repeat):
                if not np.array_equal(cuda.msm(points, scalars_host), want):
                    fail(f"{curve} MSM of {n} differs from the CPU's")
            self.expect(curve, want, total, f"{curve} MSM of {n} on the CPU")
            self.passed(f"{curve} MSM of {n} points equals the CPU's", self.options.repeat)


def label(n: int) -> str:
    """2^k for powers of two."""
    return f"2^{n.bit_length() - 1}" if n & (n - 1) == 0 else str(n)


def numbers(text: str) -> list[int]:
    """Comma-separated numbers."""
    return [int(x) for x in text.split(",") if x]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--time", type=numbers, default=[16, 18, 20, 22, 24, 27], help="log2 of sizes of G1 sums")
    parser.add_argument("--g2", type=numbers, default=[16, 20, 22], help="log2 of sizes of G2 sums")
    parser.add_argument("--bits", type=numbers, default=[24, 27], help="log2 of sizes of bitmaps")
    parser.add_argument("--small", type=numbers, default=[1, 2, 3, 5, 31, 33, 127, 1000, 4097])
    parser.add_argument("--skew", type=numbers, default=[20, 22, 27], help="log2 of sizes with skewed scalars")
    parser.add_argument("--cpu", type=numbers, default=[1, 3, 1001, 65536, 262145, 1048576, 4194304], help="sizes for the CPU")
    parser.add_argument("--pairs", type=int, default=26, help="log2 of the additions whose rate is measured; 0: not")
    parser.add_argument("--stream", type=int, default=22, help="log2 of the points that come from the host; 0: none")
    parser.add_argument("--tune", action="store_true", help="other window widths and groups as well")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--budget", type=float, default=165.0, help="seconds after which comparisons with the CPU are left out")
    parser.add_argument("--bit-length", type=int, default=255, help="of scalars; toy runs take fewer")
    parser.add_argument("--width", type=int, default=0, help="window width of small sums; 0: as planned")
    return parser.parse_args()


# Window widths and windows at a time beside the planned ones, by log2 of the size.
OTHERS = {
    18: [{"c": 13}, {"c": 14}, {"c": 16}],
    20: [{"c": 15}, {"c": 16}],
    22: [{"c": 19}, {"c": 20}],
    24: [{"c": 19}, {"c": 22}],
    27: [{"c": 22}, {"group": 2}, {"group": 6}, {"group": 11}],
}


def everything(run: Checks) -> None:
    """All checks and times in turn; the most telling first."""
    options = run.options
    run.compile_all()
    for curve in GROUPS if options.small else ():
        run.small(curve, options.small if curve == "g1" else options.small[:6])
    run.points("g1", 1 << max([*options.time, *options.bits, 0]))
    if options.pairs:
        run.additions("g1", 1 << options.pairs, 1 << min(22, max(options.time)))
    usual: dict[int, float] = {}
    for log_size in options.time:
        usual[log_size] = run.msm("g1", 1 << log_size, 7 if log_size < 24 else 3)
        for other in OTHERS.get(log_size, []) if options.tune else []:
            run.msm("g1", 1 << log_size, 3, **other)
    for log_size in options.bits:
        run.selection("g1", 1 << log_size, 5)
    for log_size in options.skew:
        run.skewed(1 << log_size, usual.get(log_size, 0.0))
    run.selection("g1", (1 << min(options.bits)) - 5, 2)
    if options.g2:
        run.points("g2", 1 << max(options.g2))
        if options.pairs:
            run.additions("g2", 1 << (options.pairs - 2), 1 << max(options.g2))
    for log_size in options.g2:
        run.msm("g2", 1 << log_size, 5)
    if options.g2:
        run.selection("g2", 1 << max(options.g2), 3)
    if options.tune:
        run.variants(1 << options.pairs)
    if options.stream:
        run.streamed("g1", 1 << options.stream)
    run.against_cpu("g1", options.cpu)
    run.against_cpu("g2", options.cpu[:4])


def main() -> None:
    """Run everything; the JSON is written also when a check fails."""
    options = arguments()
    compiler.on_compile.append(lambda name, seconds: say(f"compiled {name} in {seconds:.1f} s"))
    run = Checks(device.cards(device.parse("cuda:0"))[0], options)
    with recorded(run.found, options.out):
        everything(run)


if __name__ == "__main__":
    main()
