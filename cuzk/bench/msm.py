"""Sums of many points, dense random scalars, against arkworks in the same rounds."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from cuzk import config
from cuzk.bench import arkworks, field, measure
from cuzk.bench.machine import version_of
from cuzk.bench.measure import Request, Task, Times
from cuzk.curve import g1, g2
from cuzk.errors import InternalError
from cuzk.field import fr_vector
from cuzk.field.limbs import FR_LIMBS, FR_RADIX, U64, fp_ints
from cuzk.field.params import R
from cuzk.memory import refuse_over
from cuzk.msm import pippenger
from cuzk.msm.fixed_base import FixedBase
from cuzk.msm.rows import rows_from_mont
from cuzk.spec import curve as spec

SIZES = {"g1": (16, 18, 20, 22), "g2": (16,)}
PEER_SIZES = {"g1": (16, 18, 20), "g2": (16,)}
AGAINST = "(Σ k_i s_i) G by cuzk.spec.curve, where the points are k_i G and the products are those of cuzk.field.fr_vector; "
AGAINST += "every timed run"
# Bytes at the peak: of interpreter, code and the generator's table; of a point with its scalars and digits; of one in the peer.
_PROGRAM, _POINT, _PEER_POINT = 300 << 20, {"g1": 400, "g2": 700}, {"g1": 900, "g2": 1800}
_GENERATORS = {"g1": g1.GENERATOR, "g2": g2.GENERATOR}


def expected(curve: str, logarithms: U64, scalars: U64) -> list[int]:
    """Coordinates of Σ s_i k_i G, without the routines that are measured."""
    products = fr_vector.mul(logarithms, scalars)  # k s / 2^256
    total = measure.class_sums(products, 1)[0] * FR_RADIX % R
    point = (spec.G1 if curve == "g1" else spec.G2).mul((spec.G1 if curve == "g1" else spec.G2).generator, total)
    return [int(c) for v in point for c in (v if isinstance(v, tuple) else (v,))]


class Instance:
    """Points k_i G and scalars s_i of one size."""

    def __init__(self, curve: str, points: U64, logarithms: U64, scalars: U64) -> None:
        """The rows that the routine takes are made here, as the peer's inputs are."""
        self.curve, self.scalars, self.points = curve, scalars, points
        self.rows = rows_from_mont(curve, points)
        self.want = expected(curve, logarithms, scalars)
        self.result = np.zeros(0, np.uint64)

    def task(self) -> None:
        """What is timed."""
        self.result = pippenger.msm(self.rows, self.scalars)

    def forget(self) -> None:
        """No result of an earlier run can pass for that of the next."""
        self.result = np.zeros(0, np.uint64)

    def holds(self) -> bool:
        """Whether the last result is right."""
        return fp_ints(self.result.reshape(-1, 6)) == self.want

    def check(self, name: str) -> dict[str, Any]:
        """The digest of the last result."""
        return measure.result(self.result, AGAINST, self.holds(), name)

    def timed(self, name: str) -> Task:
        """The task with the look at each run."""
        return Task(self.task, 1, self.forget, lambda: measure.same_again(self.holds(), name))


def memory(curve: str, log2_size: int, peer: bool) -> int:
    """Bytes of memory at the peak of one size."""
    return _PROGRAM + ((_POINT[curve] + peer * _PEER_POINT[curve]) << log2_size)


def _peer_task(peer: arkworks.Sum, want: list[int], name: str) -> Task:
    """The peer on one CPU, in the rounds asked for."""

    def look() -> None:
        if peer.coordinates() != want:
            raise InternalError(f"{name}: the peer's result differs", phase="bench")

    return Task(peer.task(), 1, after=look, only_asked=True)


def against_peer(mine: Times, theirs: Times) -> dict[str, Any]:
    """The peer's times and how many times as long they are as ours, over the rounds that both ran in: the first ones."""
    both = len(theirs.wall)
    return {
        "name": arkworks.PACKAGE,
        "version": version_of(arkworks.PACKAGE),
        "call": "multiexp_unchecked",
        "threads": 1,
        **theirs.as_dict(),
        "rounds": both,
        "ratio": round(median(theirs.wall) / median(mine.wall[:both]), 3),
        "cpu_ratio": round(median(theirs.cpu) / median(mine.cpu[:both]), 3),
    }


def _measure(instance: Instance, name: str, request: Request, peer: arkworks.Sum | None) -> list[dict[str, Any]]:
    shown = []
    for threads in request.cpus():
        instance.forget()
        with measure.on_cpus(threads):
            instance.task()
        shown.append(instance.check(name))
    cpus = request.cpus()
    tasks = measure.on_each(instance.timed(name), cpus) + field.on_each(cpus)
    tasks += [_peer_task(peer, instance.want, name)] if peer is not None else []
    all_times = measure.in_rounds(tasks, request.runs)
    rows, n = [], len(instance.scalars)
    for threads, times, result in zip(request.cpus(), all_times, shown, strict=False):
        cut = pippenger.plan(n, threads)
        row = measure.row(name, times, threads, result=result)
        row["ns_per_point_and_window"] = round(row["seconds"]["median"] / n / cut.windows * 1e9, 2)
        row["window_bits"] = cut.c
        if peer is not None and threads == 1:
            row["peer"] = against_peer(times, all_times[-1])
        rows.append(row)
    return measure.with_speed_up(rows, all_times[len(cpus) : 2 * len(cpus)])


def run(request: Request) -> list[dict[str, Any]]:
    """G1 and G2, each size on one CPU, on all, and the peer on one, in the same rounds.

    Raises  ResourceError where memory is short
    """
    if request.peers:
        arkworks.module()
    rows = []
    for curve, usual in SIZES.items():
        largest = max(request.sizes or usual)
        need = memory(curve, largest, request.peers and bool(request.sizes))
        refuse_over(need, config.available_memory(), "available memory", f"msm {curve} 2^{largest}", measure.SMALLER)
    for curve, usual in SIZES.items():
        sizes = request.sizes or usual
        n = 1 << max(sizes)
        request.progress.line(f"msm {curve}: making 2^{max(sizes)} points")
        logarithms, scalars = measure.random_words((n, FR_LIMBS), 6), measure.random_words((n, FR_LIMBS), 7)
        points = FixedBase(curve, _GENERATORS[curve], n).multiples(logarithms)
        for log2_size in sizes:
            m, name = 1 << log2_size, f"msm {curve} 2^{log2_size}"
            instance = Instance(curve, points[:m], logarithms[:m], scalars[:m])
            compared = request.peers and 1 in request.cpus() and log2_size in (request.sizes or PEER_SIZES[curve])
            peer = arkworks.Sum(curve, instance.points, instance.scalars) if compared else None
            request.progress.line(f"{name}, {', '.join(map(str, request.cpus()))} thread(s)")
            rows += _measure(instance, name, request, peer)
    return rows
