"""CPU time of the parts of a sum of points: field products, tree kernels, a whole MSM.

python scripts/measure_trees.py [g1|g2] [log2 of the MSM size]; CUZK_CPU chooses the path. One thread, best of several runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk.curve import g1, g2
from cuzk.field import lanes
from cuzk.field.coordinates import coordinates
from cuzk.field.emit import Emitter
from cuzk.jit import kernel
from cuzk.kernels import tree_cpu
from cuzk.msm import pippenger
from cuzk.msm.fixed_base import FixedBase
from cuzk.msm.rows import rows_from_mont

LANES, COUNT = lanes.LANES, 1024 // lanes.LANES


def best(task: Callable[[], Any], runs: int = 9) -> float:
    """Seconds of this thread's CPU time."""
    times = []
    for _ in range(runs):
        start = time.thread_time()
        task()
        times.append(time.thread_time() - start)
    return min(times)


def kernels(curve: str) -> None:
    """ns a lane of the kernels, on operands in cache."""
    bodies, slot = tree_cpu._Bodies(curve), tree_cpu.row_words(curve) * LANES
    half, row = slot // 2, tree_cpu.row_words(curve)

    def product(e: Emitter, a: list[Any]) -> None:
        f = coordinates(curve, e)
        f.store(a[0], f.mul(f.load(a[1]), f.load(a[2])))

    def operation(name: str, pointers: int, body: Any = None) -> Any:
        return lanes.operation(f"measured_{name}", "fp", pointers, body or getattr(bodies, name))

    multiply, gather = operation("product", 3, product), operation("gather", 3)
    forward, backward = operation("forward", 6), operation("backward", 7)

    @kernel(variant=curve)
    def products(slots):
        for v in range(COUNT):
            multiply(slots, (v & 3) * half, slots, (v & 3) * half, slots, 4 * half)

    @kernel(variant=curve)
    def gathers(entries, rows, slots):
        for v in range(COUNT):
            gather(entries, v * LANES, rows, 0, slots, (v & 63) * slot)

    @kernel(variant=curve)
    def forwards(slots, constants, difference, prefix, small):
        for v in range(COUNT):
            e = v * half
            forward(slots, 2 * v * slot, slots, (2 * v + 1) * slot, constants, 0, difference, e, prefix, e, small, 0)

    @kernel(variant=curve)
    def backwards(slots, constants, difference, prefix, small):
        for v in range(COUNT):
            a, e = 2 * v * slot, v * half
            backward(slots, a, slots, a + slot, constants, 0, difference, e, prefix, e, small, 0, slots, a)

    random = np.random.default_rng(1)
    small_limbs = 1 << (lanes.BITS - 12)  # the values do not matter, as long as limbs are in range
    slots, rows, difference, prefix = (
        random.integers(0, small_limbs, n, np.uint64) for n in (2 * COUNT * slot, 4096 * row, COUNT * half, COUNT * half)
    )
    entries = random.integers(0, 8192, COUNT * LANES + 64, np.uint64).astype(np.uint32)
    constants, small = tree_cpu.level_constants(curve), difference[:half].copy()
    for name, task in (
        ("product", lambda: products(slots)),
        ("gather", lambda: gathers(entries, rows, slots)),
        ("forward", lambda: forwards(slots, constants, difference, prefix, small)),
        ("backward", lambda: backwards(slots, constants, difference, prefix, small)),
    ):
        task()
        print(f"{name:10} {best(task, 99) / COUNT / LANES * 1e9:7.2f} ns a lane")


def whole(curve: str, log2_size: int) -> None:
    """ns a point and window of an MSM, and a point of a sum; ns a fixed-base multiple."""
    n = 1 << log2_size
    random = np.random.default_rng(2)
    scalars = random.integers(0, 1 << 62, (2, n, 4), np.uint64)
    base = FixedBase(curve, (g1 if curve == "g1" else g2).GENERATOR, 10_000_000, threads=1)
    points = base.multiples(scalars[0])
    print(f"multiple   {best(lambda: base.multiples(scalars[0]), 3) / n * 1e9:7.0f} ns, windows of {base.c} bits")
    rows, cut = rows_from_mont(curve, points), pippenger.plan(n, 1)
    seconds = best(lambda: pippenger.msm(rows, scalars[1], threads=1), 4)
    print(
        f"msm 2^{log2_size}   {seconds / n / cut.windows * 1e9:7.1f} ns a point and window; c = {cut.c}, {seconds * 1e3:.0f} ms"
    )
    print(f"sum        {best(lambda: pippenger.sum_rows(rows, threads=1), 4) / n * 1e9:7.1f} ns a point")


if __name__ == "__main__":
    which = sys.argv[1] if len(sys.argv) > 1 else "g1"
    kernels(which)
    whole(which, int(sys.argv[2]) if len(sys.argv) > 2 else 18)
