"""The optimal ate pairing e: G1 x G2 -> Fp12, as a product over several pairs with one final exponentiation.

e(P, Q) = f_{x, Q}(P)^((p^12 - 1)/r), x the seed. The twist goes into E(Fp12) by (x, y) -> (x/w^2, y/w^3), so that the line of
slope s through a twisted point (xT, yT) has at P the value (s xT - yT) - s xP w^2 + yP w^3, up to a power of w which the final
exponentiation removes, as it removes every factor from a proper subfield.

Source  Vercauteren, "Optimal pairings" (2010). Steps: Costello, Lange, Naehrig, "Faster pairing computations on curves with
        high-degree twists" (2010), and Aranha et al., "Faster explicit formulas for computing pairings over ordinary curves"
        (2011), section 4 of both. Hard part: Hayashida, Hayasaka, Teruya, "Efficient final exponentiation via cyclotomic
        structure for pairings over families of elliptic curves" (2020)
"""

from __future__ import annotations

import numpy as np

from cuzk.field import fp, fp2, fp12
from cuzk.field.limbs import FP_LIMBS, G1_LIMBS, G2_LIMBS, U64, fp_mont
from cuzk.field.params import B_G2, X
from cuzk.jit import kernel, shared

_THREE_B = fp2.constant((3 * B_G2[0], 3 * B_G2[1]))
_X = np.uint64(abs(X))
_X_BITS = abs(X).bit_length()
ONE_MONT: U64 = fp_mont([1] + [0] * 11)


@shared
def _double_step(t, xp, yp):
    """2 T, and the tangent at T as coefficients of 1, w^2, w^3 at P, for T = (X : Y : Z) with x = X/Z, y = Y/Z.

    Cost  3 M + 6 S in Fp2 and 4 M in Fp. The line is scaled by -2 Y Z; with X^3 = Z (Y^2 - b Z^2) its constant is 3 b Z^2 - Y^2.
    """
    x, y, z = t
    a = fp2.mul_fp(fp2.mul(x, y), fp.HALF)
    b = fp2.sqr(y)
    c = fp2.sqr(z)
    e = fp2.mul(c, _THREE_B)
    f = fp2.add(fp2.double(e), e)
    g = fp2.mul_fp(fp2.add(b, f), fp.HALF)
    h = fp2.sub(fp2.sqr(fp2.add(y, z)), fp2.add(b, c))  # 2 Y Z
    j = fp2.sqr(x)
    ee = fp2.sqr(e)
    y3 = fp2.sub(fp2.sqr(g), fp2.add(fp2.double(ee), ee))
    point = fp2.mul(a, fp2.sub(b, f)), y3, fp2.mul(b, h)
    line = fp2.sub(e, b), fp2.mul_fp(fp2.add(fp2.double(j), j), xp), fp2.neg(fp2.mul_fp(h, yp))
    return point, line


@shared
def _add_step(t, xq, yq, xp, yp):
    """T + Q for affine Q, and the line through both as coefficients of 1, w^2, w^3 at P, scaled by the slope's denominator.

    Cost  11 M + 2 S in Fp2 and 4 M in Fp
    """
    x, y, z = t
    theta = fp2.sub(y, fp2.mul(yq, z))
    lam = fp2.sub(x, fp2.mul(xq, z))  # the slope is theta/lam
    d = fp2.sqr(lam)
    e = fp2.mul(lam, d)
    g = fp2.mul(x, d)
    h = fp2.sub(fp2.add(e, fp2.mul(z, fp2.sqr(theta))), fp2.double(g))
    y3 = fp2.sub(fp2.mul(theta, fp2.sub(g, h)), fp2.mul(e, y))
    point = fp2.mul(lam, h), y3, fp2.mul(z, e)
    line = fp2.sub(fp2.mul(theta, xq), fp2.mul(lam, yq)), fp2.neg(fp2.mul_fp(theta, xp)), fp2.mul_fp(lam, yp)
    return point, line


@shared
def _power_by_x(f):
    """f^x for f of order dividing p^4 - p^2 + 1, x the negative seed. Cost 63 cyclotomic squarings, 5 products."""
    g = f
    for k in range(_X_BITS - 2, -1, -1):
        g = fp12.cyclotomic_sqr(g)
        if (_X >> np.uint64(k)) & np.uint64(1):
            g = fp12.mul(g, f)
    return fp12.conjugate(g)


@shared
def _final_exponentiation(f):
    """f^(3 (p^12 - 1)/r): the cube is one exactly when the pairing's value is, as 3 does not divide r.

    Easy part (p^6 - 1)(p^2 + 1), hard part 3 (p^4 - p^2 + 1)/r = (x - 1)^2 (x + p)(x^2 + p^2 - 1) + 3.
    """
    f = fp12.mul(fp12.conjugate(f), fp12.inv(f))
    f = fp12.mul(fp12.frobenius(fp12.frobenius(f)), f)
    g = fp12.mul(_power_by_x(f), fp12.conjugate(f))
    g = fp12.mul(_power_by_x(g), fp12.conjugate(g))
    g = fp12.mul(_power_by_x(g), fp12.frobenius(g))
    last = fp12.mul(fp12.frobenius(fp12.frobenius(g)), fp12.conjugate(g))
    g = fp12.mul(_power_by_x(_power_by_x(g)), last)
    return fp12.mul(g, fp12.mul(fp12.cyclotomic_sqr(f), f))


@kernel
def _pairing_product(out, g1_points, g2_points, t_points, n):
    """out = the cubed product of the n pairings; pairs with a point at infinity count as one. t_points is working space."""
    for i in range(n):
        fp2.store(t_points, 3 * i, fp2.load(g2_points, 2 * i))
        fp2.store(t_points, 3 * i + 1, fp2.load(g2_points, 2 * i + 1))
        fp2.store(t_points, 3 * i + 2, fp2.ONE)
    f = fp12.ONE
    for k in range(_X_BITS - 2, -1, -1):
        f = fp12.sqr(f)
        add_too = (_X >> np.uint64(k)) & np.uint64(1) != np.uint64(0)
        for i in range(n):
            xp, yp = fp.load(g1_points, 2 * i), fp.load(g1_points, 2 * i + 1)
            xq, yq = fp2.load(g2_points, 2 * i), fp2.load(g2_points, 2 * i + 1)
            if (fp.is_zero(xp) and fp.is_zero(yp)) or (fp2.is_zero(xq) and fp2.is_zero(yq)):
                continue
            t = fp2.load(t_points, 3 * i), fp2.load(t_points, 3 * i + 1), fp2.load(t_points, 3 * i + 2)
            t, line = _double_step(t, xp, yp)
            f = fp12.mul_by_line(f, line[0], line[1], line[2])
            if add_too:
                t, line = _add_step(t, xq, yq, xp, yp)
                f = fp12.mul_by_line(f, line[0], line[1], line[2])
            fp2.store(t_points, 3 * i, t[0])
            fp2.store(t_points, 3 * i + 1, t[1])
            fp2.store(t_points, 3 * i + 2, t[2])
    # f belongs to |x|. For the negative seed it is 1/f up to a vertical line, and after the easy part the conjugate is that.
    fp12.store(out, 0, _final_exponentiation(fp12.conjugate(f)))


def pairing_product_cubed(g1_mont: U64, g2_mont: U64) -> U64:
    """The product of e(P_i, Q_i)^3 as uint64[12, 6] in Montgomery form, in the order of the nested tower.

    Shape   g1_mont (n, 12), g2_mont (n, 24): affine points of order r, infinity all zeros
    Cost    about 63 (9 M + 6 S + 13 M) in Fp2 a pair, and 63 (12 M) + 315 (9 S) once
    Spec    cuzk.spec.pairing.final_exponentiation_cubed
    """
    n = len(g1_mont)
    assert g1_mont.shape == (n, G1_LIMBS) and g2_mont.shape == (n, G2_LIMBS)
    out = np.empty((12, FP_LIMBS), np.uint64)
    work = np.empty(6 * FP_LIMBS * max(n, 1), np.uint64)
    p, q = (np.require(a, np.uint64, ["C", "W"]).reshape(-1) for a in (g1_mont, g2_mont))
    _pairing_product(out.reshape(-1), p, q, work, n)
    return out


def pairing_product_is_one(g1_mont: U64, g2_mont: U64) -> bool:
    """Whether the product of e(P_i, Q_i) over all pairs is one; see `pairing_product_cubed`."""
    return bool((pairing_product_cubed(g1_mont, g2_mont) == ONE_MONT).all())
