"""Forward transforms in place, against what a butterfly costs at least: an Fr product, and both elements loaded and stored."""

from __future__ import annotations

from statistics import median
from typing import Any

from cuzk import workers
from cuzk.bench import field, measure
from cuzk.bench.measure import Request
from cuzk.field.limbs import FR_LIMBS, U64
from cuzk.field.params import R, omega
from cuzk.kernels import rates_cpu
from cuzk.ntt import Domain

SIZES = (20, 22)
CLASSES = 64
SMALLEST = CLASSES.bit_length() - 1
AGAINST = (
    "64 values as sums over all inputs, and 64 inputs as sums over all values, in plain integers: "
    "X at the multiples of m/64 depends on the sums of x over residues modulo 64 alone, and the other way round"
)


def _at_multiples(sums: list[int], inverse: bool) -> list[int]:
    """Σ_k x_k w^(±k j m/64) for j < 64, from the sums of x over residues of k modulo 64."""
    w = pow(omega(SMALLEST), -1 if inverse else 1, R)
    return [sum(s * pow(w, i * j, R) for i, s in enumerate(sums)) % R for j in range(CLASSES)]


def holds(before: U64, after: U64) -> bool:
    """Whether `after` can be the transform of `before`: `AGAINST`; a transform is linear, so the Montgomery factor drops out."""
    step, m = len(before) // CLASSES, len(before)

    def ints(array: U64) -> list[int]:
        return [sum(int(w) << (64 * i) for i, w in enumerate(line)) for line in array[::step]]

    forth = _at_multiples(measure.class_sums(before, CLASSES), False) == ints(after)
    back = _at_multiples(measure.class_sums(after, CLASSES), True)
    return forth and back == [m * x % R for x in ints(before)]


def ns_of_traffic(log2_size: int, runs: int) -> tuple[float, float]:
    """Nanoseconds to load and store two elements, over an array of 2^log2_size: by the clock, and by CPU time."""
    half = 1 << (log2_size - 1)
    x, y = measure.random_words((half, FR_LIMBS), 3).reshape(-1), measure.random_words((half, FR_LIMBS), 4).reshape(-1)

    def task() -> None:
        workers.over_ranges(lambda start, stop: rates_cpu.exchange(x, y, start, stop), half, multiple=rates_cpu.LANES)

    task()
    times = measure.times_of(task, runs)
    return median(times.wall) / half * 1e9, median(times.cpu) / half * 1e9


def _row(log2_size: int, threads: int, request: Request, product: tuple[float, float]) -> dict[str, Any]:
    name, domain = f"ntt 2^{log2_size}", Domain(log2_size)
    values = measure.random_words((domain.size, FR_LIMBS), 5)
    before = values.copy()
    domain.ntt(values)
    shown = measure.result(values, AGAINST, holds(before, values), name)
    del before
    row = measure.row(name, measure.times_of(lambda: domain.ntt(values), request.runs), threads, result=shown)
    butterflies = domain.size // 2 * log2_size
    row["ns_per_butterfly"] = round(row["seconds"]["median"] / butterflies * 1e9, 3)
    if threads == 1:
        traffic = ns_of_traffic(log2_size, request.runs)
        for prefix, key, one, other in zip(("", "cpu_"), ("seconds", "cpu_seconds"), product, traffic, strict=True):
            ns = row[key]["median"] / butterflies * 1e9
            row[f"{prefix}floor"] = {"fr_product_ns": round(one, 3), "load_store_both_ns": round(other, 3)}
            row[f"{prefix}against_floor"] = round(ns / (one + other), 3)
            row[f"{prefix}against_product_alone"] = round(ns / one, 3)
    return row


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on one CPU and on all, with the speed-up."""
    rows = []
    with measure.on_cpus(1):
        product = field.ns_of_product(request.runs)
    for log2_size in request.sizes or SIZES:
        mine = []
        for threads in request.cpus():
            request.progress.line(f"ntt 2^{log2_size}, {threads} thread(s)")
            with measure.on_cpus(threads):
                mine.append(_row(log2_size, threads, request, product))
        rows += measure.with_speed_up(mine)
    return rows
