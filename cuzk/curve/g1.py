"""G1: the points of order r of y^2 = x^3 + 4 over Fp."""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.curve.group import group
from cuzk.curve.weierstrass import formulas, multiplication
from cuzk.field import fp
from cuzk.field.limbs import U64, fp_mont
from cuzk.field.params import B_G1, G1_X, G1_Y, P, X
from cuzk.jit import shared

CURVE = formulas(fp, fp.FIELD.constant(B_G1))
GENERATOR: U64 = fp_mont([G1_X, G1_Y]).reshape(-1)

# (x, y) -> (BETA x, y), BETA^3 = 1, multiplies points of order r by -X^2, a cube root of unity modulo r (X^4 - X^2 + 1 = r).
# 2 is no cube, so this is a primitive root; the other one belongs to the eigenvalue X^2 - 1.
BETA = pow(2, (P - 1) // 3, P)
_BETA = fp.FIELD.constant(BETA)
_times_x = multiplication(CURVE, abs(X))  # 63 doublings, 5 additions
_neg, _from_affine, _is_same = CURVE.neg, CURVE.from_affine, CURVE.is_same


@shared
def is_in_subgroup(x, y):
    """Whether a point of the curve has order r (or is infinity): phi(P) = -X^2 P.

    Source  Scott, "A note on group membership tests for G1, G2 and GT on BLS pairing-friendly curves" (2021), section 6
    Spec    multiplication by r
    """
    p = _neg(_times_x(_times_x(_from_affine(x, y))))
    return _is_same(p, fp.mul(x, _BETA), y)


GROUP = group("g1", CURVE, is_in_subgroup)


def g1_add(a_mont: U64, b_mont: U64) -> U64:
    """P + Q; affine uint64[..., 12] in Montgomery form, infinity all zeros."""
    return GROUP.add(a_mont, b_mont)


def g1_neg(a_mont: U64) -> U64:
    """-P; affine uint64[..., 12] in Montgomery form."""
    return GROUP.neg(a_mont)


def g1_mul(point_mont: U64, scalar: int) -> U64:
    """k P for one affine point uint64[12], 0 <= k < 2^256."""
    return GROUP.mul(point_mont, scalar)


def g1_combine(points_mont: U64, scalars: Sequence[int]) -> U64:
    """The sum of k_i P_i; points uint64[n, 12], 0 <= k < 2^256. One thread, for hundreds of points."""
    return GROUP.combine(points_mont, scalars)
