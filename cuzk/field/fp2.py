"""Fp2 = Fp[u]/(u^2 + 1). An element c0 + c1 u is the pair (c0, c1) of Fp elements; fully reduced, Montgomery form."""

from __future__ import annotations

from cuzk.field import fp
from cuzk.field.params import P
from cuzk.jit import shared

DEGREE = 2
ZERO = (fp.ZERO, fp.ZERO)
ONE = (fp.ONE, fp.ZERO)


def constant(x):
    """The pair of plain integers x as a constant of compiled code."""
    return fp.FIELD.constant(x[0]), fp.FIELD.constant(x[1])


def nonresidue_power(e: int) -> tuple[int, int]:
    """(1 + u)^e for e >= 0 in plain integers: what twists and Frobenius maps are made of."""
    r0, r1, b0, b1 = 1, 0, 1, 1
    while e:
        if e & 1:
            r0, r1 = (r0 * b0 - r1 * b1) % P, (r0 * b1 + r1 * b0) % P
        b0, b1 = (b0 * b0 - b1 * b1) % P, 2 * b0 * b1 % P
        e >>= 1
    return r0, r1


@shared
def load(a, i):
    """Element i of a C-contiguous uint64 array, 2 x 6 limbs each, c0 first."""
    return fp.load(a, 2 * i), fp.load(a, 2 * i + 1)


@shared
def store(a, i, x):
    """Set element i of a C-contiguous uint64 array, 2 x 6 limbs each, c0 first."""
    fp.store(a, 2 * i, x[0])
    fp.store(a, 2 * i + 1, x[1])


@shared
def add(x, y):
    """x + y. Cost 2 A."""
    return fp.add(x[0], y[0]), fp.add(x[1], y[1])


@shared
def sub(x, y):
    """x - y. Cost 2 A."""
    return fp.sub(x[0], y[0]), fp.sub(x[1], y[1])


@shared
def neg(x):
    """-x. Cost 2 A."""
    return fp.neg(x[0]), fp.neg(x[1])


@shared
def double(x):
    """2 x. Cost 2 A."""
    return fp.add(x[0], x[0]), fp.add(x[1], x[1])


@shared
def mul(x, y):
    """x y = (x0 y0 - x1 y1) + (x0 y1 + x1 y0) u. Cost 4 products, 2 reductions: less than Karatsuba with its additions."""
    return fp.mul_sub(x[0], y[0], x[1], y[1]), fp.mul_add(x[0], y[1], x[1], y[0])


@shared
def sqr(x):
    """x^2 = (x0 + x1)(x0 - x1) + 2 x0 x1 u. Cost 2 M."""
    return fp.mul(fp.add(x[0], x[1]), fp.sub(x[0], x[1])), fp.double(fp.mul(x[0], x[1]))


@shared
def mul_fp(x, k):
    """k x for k in Fp. Cost 2 M."""
    return fp.mul(x[0], k), fp.mul(x[1], k)


@shared
def mul_by_nonresidue(x):
    """(1 + u) x. Cost 2 A."""
    return fp.sub(x[0], x[1]), fp.add(x[0], x[1])


@shared
def conjugate(x):
    """x0 - x1 u, which is x^p. Cost 1 A."""
    return x[0], fp.neg(x[1])


@shared
def inv(x):
    """1/x, or 0 for 0: the conjugate over the norm x0^2 + x1^2. Cost 1 I + 4 M."""
    t = fp.inv(fp.mul_add(x[0], x[0], x[1], x[1]))
    return fp.mul(x[0], t), fp.neg(fp.mul(x[1], t))


@shared
def is_zero(x):
    """Whether x = 0."""
    return fp.is_zero(x[0]) and fp.is_zero(x[1])


@shared
def eq(x, y):
    """Whether x = y."""
    return fp.eq(x[0], y[0]) and fp.eq(x[1], y[1])


@shared
def select(condition, x, y):
    """x if the condition holds, else y."""
    return fp.select(condition, x[0], y[0]), fp.select(condition, x[1], y[1])


@shared
def sqrt(x):
    """A square root of x if there is one; otherwise anything: square the result to know. Cost 2 exponentiations.

    With s = sqrt(x0^2 + x1^2) and t = (x0 + s)/2, y = sqrt(t) + x1/(2 sqrt(t)) u has y^2 = x. One exponentiation gives
    e = 1/sqrt(t), hence both terms: e t and e x1/2. If t is a non-square, then e^2 t = -1 and (x0 - s)/2 = -(x1/2)^2/t is the
    square of e x1/2, and the roles change: y = e x1/2 - e t u. If t = 0, then x1 = 0 and (x0 - s)/2 = x0 serves.
    """
    s = fp.sqrt(fp.mul_add(x[0], x[0], x[1], x[1]))
    t = fp.mul(fp.add(x[0], s), fp.HALF)
    t = fp.select(fp.is_zero(t), x[0], t)
    e = fp.inverse_sqrt(t)
    et = fp.mul(e, t)
    half = fp.mul(e, fp.mul(x[1], fp.HALF))
    square = fp.eq(fp.mul(et, et), t)
    return fp.select(square, et, half), fp.select(square, half, fp.neg(et))


# Plain integers instead of Montgomery form, in the same pair.


@shared
def from_canon(x):
    """Pairs of plain integers below p to Montgomery form. Cost 2 M."""
    return fp.from_canon(x[0]), fp.from_canon(x[1])


@shared
def to_canon(x):
    """Montgomery form to pairs of plain integers. Cost 2 M."""
    return fp.to_canon(x[0]), fp.to_canon(x[1])


@shared
def is_reduced(x_canon):
    """Whether both integers are below p."""
    return fp.is_reduced(x_canon[0]) and fp.is_reduced(x_canon[1])


@shared
def is_larger(x_canon):
    """Whether x is lexicographically larger than -x, c1 before c0."""
    return fp.is_larger(x_canon[1]) or (fp.is_zero(x_canon[1]) and fp.is_larger(x_canon[0]))


@shared
def load_be(data, k):
    """96 big-endian bytes from byte k on as plain integers, c1 first."""
    return fp.load_be(data, k + 48), fp.load_be(data, k)


@shared
def store_be(data, k, x_canon):
    """Write plain integers as 96 big-endian bytes from byte k on, c1 first."""
    fp.store_be(data, k + 48, x_canon[0])
    fp.store_be(data, k, x_canon[1])


@shared
def high(x):
    """The three bits above the modulus in the first byte of the big-endian form."""
    return fp.high(x[1])


@shared
def low(x):
    """x without the bits that `high` gives."""
    return x[0], fp.low(x[1])
