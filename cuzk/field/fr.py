"""Fr, the scalar field of BLS12-381, for compiled code. `FIELD` says what each operation does; constants are Montgomery form."""

from __future__ import annotations

from cuzk.field.limbs import FR_LIMBS, FR_RADIX
from cuzk.field.params import R
from cuzk.field.power import power
from cuzk.field.prime import PrimeField
from cuzk.jit import shared

FIELD = PrimeField("fr", R, FR_LIMBS)

add, sub, neg, mul = FIELD.add, FIELD.sub, FIELD.neg, FIELD.mul
is_zero, eq, less, is_reduced, select = FIELD.is_zero, FIELD.eq, FIELD.less, FIELD.is_reduced, FIELD.select
load, store, load_be, store_be = FIELD.load, FIELD.store, FIELD.load_be, FIELD.store_be

ZERO, ONE = FIELD.constant(0), FIELD.constant(1)
_RAW_ONE = FIELD.raw(1)
_RAW_RADIX_SQUARED = FIELD.raw(FR_RADIX**2 % R)


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
    """A stored integer below r to Montgomery form. Cost 1 M."""
    return mul(x, _RAW_RADIX_SQUARED)


@shared
def to_canon(x):
    """Montgomery form to the plain integer. Cost 1 M."""
    return mul(x, _RAW_ONE)


# 1/x = x^(r - 2), and 0 for 0. Cost 254 S + 163 M.
inv = power(mul, R - 2)
