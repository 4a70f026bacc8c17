"""Loops that do one thing, as fast as this path can: products on operands in cache, and bare traffic with memory.

They are what other loops are measured against.
"""

from __future__ import annotations

from typing import Any

from cuzk.field import lanes
from cuzk.field.emit import I64, Emitter
from cuzk.field.limbs import FR_LIMBS
from cuzk.jit import kernel

LANES = lanes.LANES
VECTORS = 16  # operand vectors, chains side by side: two arrays of them fit the first-level cache
WORDS = FR_LIMBS * LANES


def _mul(e: Emitter, p: list[Any]) -> None:
    e.store(p[0], e.mul(e.load(p[1]), e.load(p[2])))


def _sqr(e: Emitter, p: list[Any]) -> None:
    e.store(p[0], e.sqr(e.load(p[1])))


def _exchange(e: Emitter, p: list[Any]) -> None:
    """Two times FR_LIMBS vectors change places."""
    b = e.b
    x, y = ([b.load(b.gep(q, [I64(j)]), align=8) for j in range(FR_LIMBS)] for q in p)
    e.store(p[0], y)
    e.store(p[1], x)


def _products(field: str) -> tuple[Any, Any]:
    """Kernels (mul, sqr) of one field: a[v] := a[v] b[v], a[v] := a[v]^2 for VECTORS vectors, `rounds` times in place.

    Shape   uint64[VECTORS limbs LANES] each, limb j of lane l of a vector at word j LANES + l
    Range   as the emitter gives products
    """
    size = lanes.limb_count(field) * LANES
    mul_op = lanes.operation("rate_mul", field, 3, _mul, inline=True)
    sqr_op = lanes.operation("rate_sqr", field, 2, _sqr, inline=True)

    @kernel(variant=field)
    def mul(a, b, rounds):
        for _ in range(rounds):
            for v in range(VECTORS):
                mul_op(a, v * size, a, v * size, b, v * size)

    @kernel(variant=field)
    def sqr(a, b, rounds):
        for _ in range(rounds):
            for v in range(VECTORS):
                sqr_op(a, v * size, a, v * size)

    return mul, sqr


PRODUCTS = {field: _products(field) for field in lanes.MODULI}
_exchange_op = lanes.operation("rate_exchange", "fr", 2, _exchange, inline=True)


@kernel
def exchange(x, y, start, stop):
    """x and y change places, elements start to stop: a load and a store of both, nothing else. Shape uint64[4 n], n in lanes."""
    for i in range(start * FR_LIMBS, stop * FR_LIMBS, WORDS):
        _exchange_op(x, i, y, i)
