"""What every field operation on CUDA computes, stated on integers, with the ranges of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cuzk.cuda.inline import Block
from cuzk.field import ptx, ptx_quotient
from cuzk.field.params import P, R

FP, FR = 12, 8
RADIX_P, RADIX_R = 1 << 384, 1 << 256
ROOT = pow(7, (R - 1) >> 3, R)


@dataclass(frozen=True)
class Operation:
    """Bounds of the arguments, the value modulo `modulus` (0: exactly), a bound of the result."""

    block: Block
    bounds: tuple[int, ...]
    value: Callable[..., int]
    modulus: int
    bound: int


def over(radix: int, modulus: int) -> Callable[[int, int], int]:
    """The Montgomery product."""
    unradix = pow(radix, -1, modulus)
    return lambda a, b: a * b * unradix % modulus


mul_p, mul_r = over(RADIX_P, P), over(RADIX_R, R)

FP_OPERATIONS = {
    "mul": Operation(ptx.product(P, FP), (P, P), mul_p, 0, P),
    "sqr": Operation(ptx.square(P, FP), (P,), lambda a: mul_p(a, a), 0, P),
    "add": Operation(ptx.add(P, FP), (P, P), lambda a, b: (a + b) % P, 0, P),
    "sub": Operation(ptx.subtract(P, FP), (P, P), lambda a, b: (a - b) % P, 0, P),
    "mul_lazy": Operation(ptx.product(P, FP, lazy=True), (2 * P, 4 * P), mul_p, P, 2 * P),
    "sqr_lazy": Operation(ptx.square(P, FP, lazy=True), (3 * P,), lambda a: mul_p(a, a), P, 2 * P),
    "add_lazy": Operation(ptx.add(2 * P, FP), (2 * P, 2 * P), lambda a, b: (a + b) % (2 * P), 0, 2 * P),
    "sub_lazy": Operation(ptx.subtract(2 * P, FP), (2 * P, 2 * P), lambda a, b: (a - b) % (2 * P), 0, 2 * P),
    "neg_lazy": Operation(ptx.complement(2 * P, FP), (2 * P + 1,), lambda a: 2 * P - a, 0, 2 * P + 1),
    "sub_plus": Operation(ptx.subtract_plus(2 * P, FP), (2 * P, 2 * P), lambda a, b: a - b + 2 * P, 0, 4 * P),
    "add_plain": Operation(ptx.add_plain(FP), (4 * P, 4 * P), lambda a, b: a + b, 0, 8 * P),
    "reduce": Operation(ptx.reduce_by([2 * P, P], FP), (4 * P,), lambda a: a % P, 0, P),
}
FR_OPERATIONS = {
    "mul": Operation(ptx.product(R, FR), (R, R), mul_r, 0, R),
    "add": Operation(ptx.add(R, FR), (R, R), lambda a, b: (a + b) % R, 0, R),
    "sub": Operation(ptx.subtract(R, FR), (R, R), lambda a, b: (a - b) % R, 0, R),
    "mul_lazy": Operation(ptx.product(R, FR, lazy=True), (R, RADIX_R), mul_r, R, 2 * R),
    "add_lazy": Operation(ptx.add(2 * R, FR), (2 * R, 2 * R), lambda a, b: (a + b) % (2 * R), 0, 2 * R),
    "sub_lazy": Operation(ptx.subtract(2 * R, FR), (2 * R, 2 * R), lambda a, b: (a - b) % (2 * R), 0, 2 * R),
    "reduce": Operation(ptx.reduce_by([R], FR), (2 * R,), lambda a: a % R, 0, R),
}
MUL_BY_ROOT = Operation(ptx_quotient.product_by_quotient(R, FR, ROOT), (2 * R,), lambda a: a * ROOT % R, R, 2 * R)
# The third argument follows from the second.
MUL_QUOTIENT = Operation(ptx_quotient.product_by_quotient(R, FR), (2 * R, R), lambda a, w: a * w % R, R, 2 * R)
