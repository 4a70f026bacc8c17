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


def _traffic(log2_size: int, request: Request) -> list[measure.Times]:
    """Times to load and store every element once, over an array of 2^log2_size, on each number of CPUs."""
    half = 1 << (log2_size - 1)
    x, y = measure.random_words((half, FR_LIMBS), 3).reshape(-1), measure.random_words((half, FR_LIMBS), 4).reshape(-1)

    def task() -> None:
        workers.over_ranges(lambda start, stop: rates_cpu.exchange(x, y, start, stop), half, multiple=rates_cpu.LANES)

    return measure.on_each(task, request.cpus(), request.runs)


def _rows(log2_size: int, request: Request, product: tuple[float, float]) -> list[dict[str, Any]]:
    name, domain, rows = f"ntt 2^{log2_size}", Domain(log2_size), []
    values, results = measure.random_words((domain.size, FR_LIMBS), 5), []
    for threads in request.cpus():
        before = values.copy()
        with measure.on_cpus(threads):
            domain.ntt(values)
        results.append(measure.result(values, AGAINST, holds(before, values), name))
        values, before = before, values
    del before
    all_times = measure.on_each(lambda: domain.ntt(values), request.cpus(), request.runs)
    all_traffic = _traffic(log2_size, request)
    for threads, times, traffic, shown in zip(request.cpus(), all_times, all_traffic, results, strict=True):
        row = measure.row(name, times, threads, result=shown)
        butterflies = domain.size // 2 * log2_size
        row["ns_per_butterfly"] = round(row["seconds"]["median"] / butterflies * 1e9, 3)
        if threads == 1:
            both = [median(seconds) / (domain.size // 2) * 1e9 for seconds in traffic]
            for prefix, key, one, other in zip(("", "cpu_"), ("seconds", "cpu_seconds"), product, both, strict=True):
                ns = row[key]["median"] / butterflies * 1e9
                row[f"{prefix}floor"] = {"fr_product_ns": round(one, 3), "load_store_both_ns": round(other, 3)}
                row[f"{prefix}against_floor"] = round(ns / (one + other), 3)
                row[f"{prefix}against_product_alone"] = round(ns / one, 3)
        elif request.cpus()[0] == 1:
            row["load_store_speed_up"] = round(median(all_traffic[0].wall) / median(traffic.wall), 3)
        rows.append(row)
    return measure.with_speed_up(rows)


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on one CPU and on all, with the speed-up."""
    rows = []
    with measure.on_cpus(1):
        product = field.ns_of_product(request.runs)
    for log2_size in request.sizes or SIZES:
        request.progress.line(f"ntt 2^{log2_size}, {', '.join(map(str, request.cpus()))} thread(s)")
        rows += _rows(log2_size, request, product)
    return rows
