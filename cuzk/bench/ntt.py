"""Forward transforms in place, against what a butterfly costs at least: an Fr product, and both elements loaded and stored."""

from __future__ import annotations

import hashlib
from statistics import median
from typing import Any

import numpy as np

from cuzk import config, workers
from cuzk.bench import field, measure
from cuzk.bench.measure import Request, Task, Times
from cuzk.field import fr_vector
from cuzk.field.limbs import FR_BYTES, FR_LIMBS, FR_RADIX, U64
from cuzk.field.params import R, omega
from cuzk.kernels import rates_cpu
from cuzk.memory import refuse_over
from cuzk.ntt import Domain

SIZES = (20, 22)
CLASSES = 64
SMALLEST = CLASSES.bit_length() - 1
LEAST_WITH_FLOOR = 16  # below, starting a pass over memory takes longer than the pass, and the floor says nothing
_PROGRAM, _VECTORS = 200 << 20, 6.5  # bytes of interpreter and code; vectors that are there at the peak, tables among them
AGAINST = (
    "Σ y^j X_j = (y^m - 1) Σ x_i / (y w^i - 1) at a point y that depends on all values X_j, products and inverses by "
    "cuzk.field.fr_vector; in plain integers, 64 values as sums over all inputs and 64 inputs as sums over all values; after "
    "each timed run, the same in every bit"
)


def _at_multiples(sums: list[int], inverse: bool) -> list[int]:
    """Σ_k x_k w^(±k j m/64) for j < 64, from the sums of x over residues of k modulo 64."""
    w = pow(omega(SMALLEST), -1 if inverse else 1, R)
    return [sum(s * pow(w, i * j, R) for i, s in enumerate(sums)) % R for j in range(CLASSES)]


def _at_a_point(before: U64, after: U64) -> bool:
    """Whether Σ y^j X_j is what the inputs x make it, at one y: a permutation or any other error passes once in r / m times."""
    m = len(before)
    y = int.from_bytes(hashlib.sha256(after.tobytes()).digest(), "little") % R
    got = measure.class_sums(fr_vector.mul(fr_vector.powers(y, m), after), 1)[0]
    # Containers of y w^i, not of y w^i S: less 1 they are those of (y w^i - 1) / S.
    less = fr_vector.powers(omega(m.bit_length() - 1), m, y * pow(FR_RADIX, -1, R) % R)
    borrow = np.ones(m, np.bool_)
    for j in range(FR_LIMBS):
        less[:, j] -= borrow
        borrow &= less[:, j] == np.uint64(2**64 - 1)
    total = measure.class_sums(fr_vector.mul(before, fr_vector.invert(less)), 1)[0]
    return (got - (pow(y, m, R) - 1) * total * pow(FR_RADIX, -1, R)) % R == 0


def _reduced(values: U64) -> bool:
    """Whether every element is below r."""
    top = np.uint64(R >> 192)
    near = values[values[:, -1] >= top]
    return all(sum(int(w) << (64 * i) for i, w in enumerate(line)) < R for line in near)


def holds(before: U64, after: U64) -> bool:
    """Whether `after` is the transform of `before`: `AGAINST`; a transform is linear, so the Montgomery factor drops out."""
    step, m = len(before) // CLASSES, len(before)

    def ints(array: U64) -> list[int]:
        return [sum(int(w) << (64 * i) for i, w in enumerate(line)) for line in array[::step]]

    forth = _at_multiples(measure.class_sums(before, CLASSES), False) == ints(after)
    back = _at_multiples(measure.class_sums(after, CLASSES), True)
    return _reduced(after) and forth and back == [m * x % R for x in ints(before)] and _at_a_point(before, after)


def memory(log2_size: int) -> int:
    """Bytes of memory at the peak of one size."""
    return _PROGRAM + int(_VECTORS * (FR_BYTES << log2_size))


def _traffic(log2_size: int) -> Task:
    """Load and store every element once, over an array of 2^log2_size."""
    half = 1 << (log2_size - 1)
    x, y = measure.random_words((half, FR_LIMBS), 3).reshape(-1), measure.random_words((half, FR_LIMBS), 4).reshape(-1)
    ends, exchanged = [x[:4].copy(), y[-4:].copy()], [0]

    def task() -> None:
        workers.over_ranges(lambda start, stop: rates_cpu.exchange(x, y, start, stop), half, multiple=rates_cpu.LANES)

    def after() -> None:
        exchanged[0] += 1
        first, last = (x, y)[exchanged[0] % 2], (y, x)[exchanged[0] % 2]
        measure.same_again(np.array_equal(first[:4], ends[0]) and np.array_equal(last[-4:], ends[1]), "load and store")

    return Task(task, 1, after=after)


def _rows(log2_size: int, request: Request) -> list[dict[str, Any]]:
    name, domain = f"ntt 2^{log2_size}", Domain(log2_size)
    before = measure.random_words((domain.size, FR_LIMBS), 5)
    values, results = before.copy(), []
    for threads in request.cpus():
        values[:] = before
        with measure.on_cpus(threads):
            domain.ntt(values)
        results.append(measure.result(values, AGAINST, holds(before, values), name))
    want, product = values.copy(), field.Products("fr", "mul")
    transform = Task(
        lambda: domain.ntt(values),
        1,
        lambda: np.copyto(values, before),
        lambda: measure.same_again(np.array_equal(values, want), name),
    )
    cpus = request.cpus()
    tasks = [*measure.on_each(transform, cpus), *measure.on_each(_traffic(log2_size), cpus), *field.on_each(cpus)]
    times = measure.in_rounds([*tasks, product.task()], request.runs)
    rows, all_traffic = [], times[len(cpus) : 2 * len(cpus)]
    for threads, its, traffic, shown in zip(cpus, times, all_traffic, results, strict=False):
        row = measure.row(name, its, threads, result=shown)
        butterflies = domain.size // 2 * log2_size
        row["ns_per_butterfly"] = round(row["seconds"]["median"] / butterflies * 1e9, 3)
        if threads == 1:
            load_store = [median(s) * 2e9 / domain.size for s in traffic[:2]]
            row |= _against_floor(row, butterflies, product, times[-1], load_store, log2_size >= LEAST_WITH_FLOOR)
        elif cpus[0] == 1:
            row["load_store_speed_up"] = round(median(all_traffic[0].wall) / median(traffic.wall), 3)
        rows.append(row)
    return measure.with_speed_up(rows, times[2 * len(cpus) : -1])


def _against_floor(
    row: dict[str, Any], butterflies: int, product: field.Products, times: Times, load_store: list[float], whole: bool
) -> dict[str, Any]:
    """What a butterfly is of a product; where `whole`, the floor with the traffic too, and what a butterfly is of that. By the
    clock and by CPU time.
    """
    found: dict[str, Any] = {}
    for prefix, key, seconds, other in zip(("", "cpu_"), ("seconds", "cpu_seconds"), times[:2], load_store, strict=True):
        ns, one = row[key]["median"] / butterflies * 1e9, median(seconds) / product.count * 1e9
        found[f"{prefix}against_product_alone"] = round(ns / one, 3)
        if whole:
            found[f"{prefix}floor"] = {"fr_product_ns": round(one, 3), "load_store_both_ns": round(other, 3)}
            found[f"{prefix}against_floor"] = round(ns / (one + other), 3)
    return found


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on one CPU and on all, with the speed-up; the parts of the floor in the same rounds.

    Raises  ResourceError where memory is short
    """
    rows, largest = [], max(request.sizes or SIZES)
    refuse_over(memory(largest), config.available_memory(), "available memory", f"ntt 2^{largest}", measure.SMALLER)
    for log2_size in request.sizes or SIZES:
        request.progress.line(f"ntt 2^{log2_size}, {', '.join(map(str, request.cpus()))} thread(s)")
        rows += _rows(log2_size, request)
    return rows
