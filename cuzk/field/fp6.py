"""Fp6 = Fp2[v]/(v^3 - (1 + u)). An element x0 + x1 v + x2 v^2 is the triple (x0, x1, x2) of Fp2 elements.

Costs count M, the multiplication in Fp2.
"""

from __future__ import annotations

from cuzk.field import fp2
from cuzk.jit import shared

ZERO = (fp2.ZERO, fp2.ZERO, fp2.ZERO)
ONE = (fp2.ONE, fp2.ZERO, fp2.ZERO)


@shared
def add(x, y):
    """x + y."""
    return fp2.add(x[0], y[0]), fp2.add(x[1], y[1]), fp2.add(x[2], y[2])


@shared
def sub(x, y):
    """x - y."""
    return fp2.sub(x[0], y[0]), fp2.sub(x[1], y[1]), fp2.sub(x[2], y[2])


@shared
def neg(x):
    """-x."""
    return fp2.neg(x[0]), fp2.neg(x[1]), fp2.neg(x[2])


@shared
def mul_by_v(x):
    """v x."""
    return fp2.mul_by_nonresidue(x[2]), x[0], x[1]


@shared
def mul(x, y):
    """x y. Cost 6 M.

    Source  Devegili, O hEigeartaigh, Scott, Dahab, "Multiplication and squaring on pairing-friendly fields" (2006), section 4:
            Karatsuba
    """
    v0, v1, v2 = fp2.mul(x[0], y[0]), fp2.mul(x[1], y[1]), fp2.mul(x[2], y[2])
    t12 = fp2.sub(fp2.mul(fp2.add(x[1], x[2]), fp2.add(y[1], y[2])), fp2.add(v1, v2))  # x1 y2 + x2 y1
    t01 = fp2.sub(fp2.mul(fp2.add(x[0], x[1]), fp2.add(y[0], y[1])), fp2.add(v0, v1))
    t02 = fp2.sub(fp2.mul(fp2.add(x[0], x[2]), fp2.add(y[0], y[2])), fp2.add(v0, v2))
    return fp2.add(v0, fp2.mul_by_nonresidue(t12)), fp2.add(t01, fp2.mul_by_nonresidue(v2)), fp2.add(t02, v1)


@shared
def mul_by_01(x, a, b):
    """x (a + b v) for a, b in Fp2. Cost 5 M."""
    v0, v1 = fp2.mul(x[0], a), fp2.mul(x[1], b)
    t12 = fp2.sub(fp2.mul(fp2.add(x[1], x[2]), b), v1)  # x2 b
    t01 = fp2.sub(fp2.mul(fp2.add(x[0], x[1]), fp2.add(a, b)), fp2.add(v0, v1))  # x0 b + x1 a
    t02 = fp2.sub(fp2.mul(fp2.add(x[0], x[2]), a), v0)  # x2 a
    return fp2.add(v0, fp2.mul_by_nonresidue(t12)), t01, fp2.add(t02, v1)


@shared
def mul_by_1(x, b):
    """x b v for b in Fp2. Cost 3 M."""
    return fp2.mul_by_nonresidue(fp2.mul(x[2], b)), fp2.mul(x[0], b), fp2.mul(x[1], b)


@shared
def inv(x):
    """1/x, or 0 for 0. Cost 9 M + 3 S + 1 inversion in Fp2.

    Source  Beuchat et al., "High-speed software implementation of the optimal ate pairing over Barreto-Naehrig curves" (2010),
            algorithm 17
    """
    c0 = fp2.sub(fp2.sqr(x[0]), fp2.mul_by_nonresidue(fp2.mul(x[1], x[2])))
    c1 = fp2.sub(fp2.mul_by_nonresidue(fp2.sqr(x[2])), fp2.mul(x[0], x[1]))
    c2 = fp2.sub(fp2.sqr(x[1]), fp2.mul(x[0], x[2]))
    t = fp2.mul_by_nonresidue(fp2.add(fp2.mul(x[2], c1), fp2.mul(x[1], c2)))
    t = fp2.inv(fp2.add(fp2.mul(x[0], c0), t))
    return fp2.mul(c0, t), fp2.mul(c1, t), fp2.mul(c2, t)
