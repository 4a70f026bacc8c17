"""Products and squares in Fp and Fr on operands in cache, in chains whose end shows how long they were: nanoseconds a lane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cuzk import workers
from cuzk.bench import measure
from cuzk.bench.measure import Request, Task
from cuzk.field import lanes
from cuzk.field.limbs import U64
from cuzk.kernels import rates_cpu

ROUNDS = 20_000
AGAINST = "the end of every chain of products, after every timed run, as a power in plain integers"
_COUNT = rates_cpu.VECTORS * lanes.LANES


def _pack(values: list[int], field: str) -> U64:
    """Integers below the modulus as vectors of lanes."""
    limbs, mask = lanes.limb_count(field), (1 << lanes.BITS) - 1
    words = [[v >> (lanes.BITS * j) & mask for j in range(limbs)] for v in values]
    return np.ascontiguousarray(np.array(words, np.uint64).reshape(-1, lanes.LANES, limbs).transpose(0, 2, 1)).reshape(-1)


def _unpack(words: U64, field: str) -> list[int]:
    by_lane = words.reshape(-1, lanes.limb_count(field), lanes.LANES).transpose(0, 2, 1).reshape(_COUNT, -1)
    return [sum(int(w) << (lanes.BITS * j) for j, w in enumerate(line)) for line in by_lane]


def _operands(field: str, seed: int) -> list[int]:
    """Random values below the modulus; 0, 1 and the largest among them."""
    modulus, size = lanes.MODULI[field], 8 * lanes.limb_count(field)
    data = np.random.Generator(np.random.SFC64(seed)).bytes(_COUNT * size)
    values = [int.from_bytes(data[i : i + size], "little") % modulus for i in range(0, len(data), size)]
    return [0, 1, modulus - 1, *values][:_COUNT]


class Products:
    """Chains a ← a b, or a ← a^2, in all lanes of as many vectors as hide the time of one product.

    A run of so many rounds leaves a b^rounds or a^(2^rounds), less a power of the radix: none can be left out unseen.
    """

    def __init__(self, field: str, name: str, rounds: int = ROUNDS) -> None:
        """Check one run. `name`: mul or sqr. Raises InternalError if its result is wrong."""
        self.label, self.rounds, self.count = f"{field} {name}", rounds, rounds * _COUNT
        x, y, modulus = _operands(field, 1), _operands(field, 2), lanes.MODULI[field]
        self._start, self._by = _pack(x, field), _pack(y, field)
        self._kernel, self._out = rates_cpu.PRODUCTS[field][0 if name == "mul" else 1], self._start.copy()
        self.run()
        back = pow(lanes.radix(field), -1, modulus)
        if name == "mul":
            want = [u * pow(v * back, rounds, modulus) % modulus for u, v in zip(x, y, strict=True)]
        else:  # exponents modulo the order of the group; with a square less, one radix less
            power = pow(2, rounds, modulus - 1)
            want = [pow(u * back, power, modulus) * lanes.radix(field) % modulus for u in x]
        got = [v % modulus for v in _unpack(self._out, field)]
        self.result = measure.result(b"".join(v.to_bytes(48, "little") for v in got), AGAINST, got == want, self.label)
        self._end = self._out.copy()

    def run(self) -> None:
        """All rounds, from where the last run ended."""
        self._kernel(self._out, self._by, self.rounds)

    def task(self) -> Task:
        """What is timed, each run from the same start to the same end."""
        return Task(self.run, 1, lambda: np.copyto(self._out, self._start), self._look)

    def _look(self) -> None:
        measure.same_again(np.array_equal(self._out, self._end), self.label)


def on_each(counts: Sequence[int]) -> list[Task]:
    """As many chains of Fp products as the largest of these numbers of CPUs, on each of them.

    Neither memory nor caches are shared there: what more CPUs bring to it is all that they can bring while it is measured. A
    cloud host may run two virtual CPUs on one core for a while, which no counter of this system shows.
    """
    chains = [Products("fp", "mul") for _ in range(max(counts))]
    jobs = [chain.task() for chain in chains]

    def everyone(what: Callable[[Task], object]) -> None:
        for job in jobs:
            what(job)

    task = Task(
        lambda: workers.run_all(Products.run, [(chain,) for chain in chains]),
        1,
        lambda: everyone(lambda job: job.before()),
        lambda: everyone(lambda job: job.after()),
    )
    return measure.on_each(task, counts)


def run(request: Request, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Fp and Fr, mul and sqr, one thread, all in the same rounds."""
    jobs, rows = [Products(field, name, rounds) for field in lanes.MODULI for name in ("mul", "sqr")], []
    for job, times in zip(jobs, measure.in_rounds([job.task() for job in jobs], request.runs), strict=True):
        row = measure.row(job.label, times, 1, result=job.result)
        rows.append(row | {"ns_per_lane": round(row["seconds"]["median"] / job.count * 1e9, 3), "lanes": lanes.LANES})
    return rows
