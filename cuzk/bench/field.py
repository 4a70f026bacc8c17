"""Products and squares in Fp and Fr on operands in cache: nanoseconds a lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk.bench import measure
from cuzk.bench.measure import Request
from cuzk.field import lanes
from cuzk.field.limbs import U64
from cuzk.kernels import rates_cpu

ROUNDS = 20_000
AGAINST = "every product in plain integers"
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


def _row(field: str, name: str, rounds: int, runs: int) -> dict[str, Any]:
    x, y = _operands(field, 1), _operands(field, 2)
    a, b, out = _pack(x, field), _pack(y, field), np.zeros(_COUNT * lanes.limb_count(field), np.uint64)
    mul, sqr = rates_cpu.PRODUCTS[field]
    task: Callable[[], None] = (lambda: mul(out, a, b, rounds)) if name == "mul" else (lambda: sqr(out, a, rounds))
    task()
    modulus, back = lanes.MODULI[field], pow(lanes.radix(field), -1, lanes.MODULI[field])
    want = [u * v * back % modulus for u, v in zip(x, y if name == "mul" else x, strict=True)]
    got = [v % modulus for v in _unpack(out, field)]
    label = f"{field} {name}"
    shown = measure.result(b"".join(v.to_bytes(48, "little") for v in got), AGAINST, got == want, label)
    times = measure.times_of(task, runs)
    row = measure.row(label, times, 1, result=shown)
    row["ns_per_lane"] = round(row["seconds"]["median"] / rounds / _COUNT * 1e9, 3)
    row["lanes"] = lanes.LANES
    return row


def ns_of_product(runs: int = measure.RUNS, rounds: int = ROUNDS) -> tuple[float, float]:
    """Nanoseconds of one Fr product by the clock and by CPU time, its result checked."""
    row = _row("fr", "mul", rounds, runs)
    return tuple(row[key]["median"] / rounds / _COUNT * 1e9 for key in ("seconds", "cpu_seconds"))


def run(request: Request, rounds: int = ROUNDS) -> list[dict[str, Any]]:
    """Fp and Fr, mul and sqr, one thread."""
    with measure.on_cpus(1):
        return [_row(field, name, rounds, request.runs) for field in lanes.MODULI for name in ("mul", "sqr")]
