"""Fp12 = Fp6[w]/(w^2 - v). An element x0 + x1 w is the pair (x0, x1) of Fp6 elements.

As a polynomial in w over Fp2 (w^6 = 1 + u) its coefficients a0 ... a5 are x0 = (a0, a2, a4), x1 = (a1, a3, a5).
Costs count M and S, multiplication and squaring in Fp2.
"""

from __future__ import annotations

from cuzk.field import fp2, fp6
from cuzk.field.fp2 import constant, nonresidue_power
from cuzk.field.params import P
from cuzk.jit import shared

ZERO = (fp6.ZERO, fp6.ZERO)
ONE = (fp6.ONE, fp6.ZERO)

# w^p = GAMMA w.
_GAMMA_1, _GAMMA_2, _GAMMA_3, _GAMMA_4, _GAMMA_5 = (constant(nonresidue_power(i * (P - 1) // 6)) for i in range(1, 6))


@shared
def load(a, i):
    """Element i of a C-contiguous uint64 array, 12 x 6 limbs each, in the order of the nested pairs."""
    k = 6 * i
    x0 = fp2.load(a, k), fp2.load(a, k + 1), fp2.load(a, k + 2)
    return x0, (fp2.load(a, k + 3), fp2.load(a, k + 4), fp2.load(a, k + 5))


@shared
def store(a, i, x):
    """Set element i of a C-contiguous uint64 array, 12 x 6 limbs each, in the order of the nested pairs."""
    k = 6 * i
    fp2.store(a, k, x[0][0])
    fp2.store(a, k + 1, x[0][1])
    fp2.store(a, k + 2, x[0][2])
    fp2.store(a, k + 3, x[1][0])
    fp2.store(a, k + 4, x[1][1])
    fp2.store(a, k + 5, x[1][2])


@shared
def mul(x, y):
    """x y. Cost 18 M: Karatsuba."""
    v0, v1 = fp6.mul(x[0], y[0]), fp6.mul(x[1], y[1])
    cross = fp6.sub(fp6.mul(fp6.add(x[0], x[1]), fp6.add(y[0], y[1])), fp6.add(v0, v1))
    return fp6.add(v0, fp6.mul_by_v(v1)), cross


@shared
def sqr(x):
    """x^2. Cost 12 M: x0^2 + v x1^2 = (x0 + x1)(x0 + v x1) - (1 + v) x0 x1."""
    t = fp6.mul(x[0], x[1])
    c0 = fp6.mul(fp6.add(x[0], x[1]), fp6.add(x[0], fp6.mul_by_v(x[1])))
    return fp6.sub(fp6.sub(c0, t), fp6.mul_by_v(t)), fp6.add(t, t)


@shared
def mul_by_line(x, a, b, c):
    """x (a + b w^2 + c w^3) for a, b, c in Fp2: the shape of a line's value. Cost 13 M."""
    v0, v1 = fp6.mul_by_01(x[0], a, b), fp6.mul_by_1(x[1], c)
    cross = fp6.sub(fp6.mul_by_01(fp6.add(x[0], x[1]), a, fp2.add(b, c)), fp6.add(v0, v1))
    return fp6.add(v0, fp6.mul_by_v(v1)), cross


@shared
def conjugate(x):
    """x0 - x1 w, which is x^(p^6), and 1/x if x has norm one over Fp6."""
    return x[0], fp6.neg(x[1])


@shared
def inv(x):
    """1/x, or 0 for 0: the conjugate over the norm x0^2 - v x1^2."""
    norm = fp6.sub(fp6.mul(x[0], x[0]), fp6.mul_by_v(fp6.mul(x[1], x[1])))
    t = fp6.inv(norm)
    return fp6.mul(x[0], t), fp6.neg(fp6.mul(x[1], t))


@shared
def frobenius(x):
    """x^p: the coefficient a_i of w^i becomes conjugate(a_i) GAMMA^i. Cost 5 M."""
    x0, x1 = x
    c0 = fp2.conjugate(x0[0]), fp2.mul(fp2.conjugate(x0[1]), _GAMMA_2), fp2.mul(fp2.conjugate(x0[2]), _GAMMA_4)
    c1 = fp2.mul(fp2.conjugate(x1[0]), _GAMMA_1), fp2.mul(fp2.conjugate(x1[1]), _GAMMA_3), fp2.mul(fp2.conjugate(x1[2]), _GAMMA_5)
    return c0, c1


@shared
def _square_in_fp4(x, y):
    """(x + y s)^2 with s = w^3, s^2 = 1 + u. Cost 3 S."""
    xx, yy = fp2.sqr(x), fp2.sqr(y)
    return fp2.add(xx, fp2.mul_by_nonresidue(yy)), fp2.sub(fp2.sqr(fp2.add(x, y)), fp2.add(xx, yy))


@shared
def _three_plus_two(t, a):
    """3 t + 2 a."""
    return fp2.add(fp2.double(fp2.add(t, a)), t)


@shared
def _three_minus_two(t, a):
    """3 t - 2 a."""
    return fp2.add(fp2.double(fp2.sub(t, a)), t)


@shared
def cyclotomic_sqr(x):
    """x^2 for x of order dividing p^4 - p^2 + 1. Cost 9 S.

    With A = a0 + a3 s, B = a1 + a4 s, C = a2 + a5 s over Fp4 = Fp2(s), s = w^3, and the bar for s -> -s:
    x^2 = (3 A^2 - 2 A') + (3 s C^2 + 2 B') w + (3 B^2 - 2 C') w^2.

    Source  Granger, Scott, "Faster squaring in the cyclotomic subgroup of sixth degree extensions" (2010), section 3.2
    """
    (a0, a2, a4), (a1, a3, a5) = x
    aa0, aa1 = _square_in_fp4(a0, a3)
    bb0, bb1 = _square_in_fp4(a1, a4)
    cc0, cc1 = _square_in_fp4(a2, a5)
    c0 = _three_minus_two(aa0, a0), _three_minus_two(bb0, a2), _three_minus_two(cc0, a4)
    c1 = _three_plus_two(fp2.mul_by_nonresidue(cc1), a1), _three_plus_two(aa1, a3), _three_plus_two(bb1, a5)
    return c0, c1
