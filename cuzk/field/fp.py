"""Fp, the base field of BLS12-381, for compiled code. `FIELD` says what each operation does; constants are in Montgomery form."""

from __future__ import annotations

from cuzk.field.limbs import FP_LIMBS, FP_RADIX
from cuzk.field.params import P
from cuzk.field.power import power
from cuzk.field.prime import PrimeField
from cuzk.jit import shared

FIELD = PrimeField("fp", P, FP_LIMBS)
DEGREE = 1

add, sub, neg, mul, mul_add, mul_sub = FIELD.add, FIELD.sub, FIELD.neg, FIELD.mul, FIELD.mul_add, FIELD.mul_sub
is_zero, eq, less, is_reduced, select = FIELD.is_zero, FIELD.eq, FIELD.less, FIELD.is_reduced, FIELD.select
load, store, load_be, store_be, low, high = FIELD.load, FIELD.store, FIELD.load_be, FIELD.store_be, FIELD.low, FIELD.high

ZERO, ONE = FIELD.constant(0), FIELD.constant(1)
HALF = FIELD.constant(pow(2, -1, P))
_RAW_ONE = FIELD.raw(1)
_RAW_RADIX_SQUARED = FIELD.raw(FP_RADIX**2 % P)
_RAW_HALF = FIELD.raw((P - 1) // 2)


@shared
def sqr(x):
    """x^2. Cost 1 S."""
    return mul(x, x)


@shared
def double(x):
    """2 x. Cost 1 A."""
    return add(x, x)


@shared
def from_canon(x):
    """A stored integer below p to Montgomery form. Cost 1 M."""
    return mul(x, _RAW_RADIX_SQUARED)


@shared
def to_canon(x):
    """Montgomery form to the plain integer. Cost 1 M."""
    return mul(x, _RAW_ONE)


# 1/x = x^(p - 2), and 0 for 0. Cost 380 S + 228 M.
inv = power(mul, P - 2)
# For a square x: 1/sqrt(x) = x^((p - 3)/4), as p = 3 mod 4; for a non-square the square of the result times x is -1.
inverse_sqrt = power(mul, (P - 3) // 4)


@shared
def sqrt(x):
    """A square root of x if there is one; otherwise the result squared is -x. Cost 378 S + 228 M."""
    return mul(inverse_sqrt(x), x)


@shared
def is_larger(x_canon):
    """Whether the plain integer is above (p - 1)/2: x is lexicographically larger than -x."""
    return less(_RAW_HALF, x_canon)
