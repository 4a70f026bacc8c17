"""G2: the points of order r of the twist y^2 = x^3 + 4 (1 + u) over Fp2."""

from __future__ import annotations

from cuzk.curve.group import group
from cuzk.curve.weierstrass import formulas, multiplication
from cuzk.field import fp2
from cuzk.field.limbs import U64, fp_mont
from cuzk.field.params import B_G2, G2_X, G2_Y, P, X
from cuzk.jit import shared

CURVE = formulas(fp2, fp2.constant(B_G2))
GENERATOR: U64 = fp_mont([*G2_X, *G2_Y]).reshape(-1)

# psi = twist o Frobenius o untwist: (x, y) -> (x^p / (1 + u)^((p-1)/3), y^p / (1 + u)^((p-1)/2)); it multiplies points of order
# r by p = X mod r. 1/(1 + u)^e = conjugate of (1 + u)^e over its norm 2^e.
_times_x = multiplication(CURVE, abs(X))  # 63 doublings, 5 additions
_neg, _from_affine, _is_same = CURVE.neg, CURVE.from_affine, CURVE.is_same


def _inverse_power(e: int) -> tuple[int, int]:
    """(1 + u)^-e in plain integers."""
    c0, c1 = fp2.nonresidue_power(e)
    norm = pow(2, -e, P)
    return c0 * norm % P, -c1 * norm % P


PSI_X, PSI_Y = _inverse_power((P - 1) // 3), _inverse_power((P - 1) // 2)
_PSI_X, _PSI_Y = fp2.constant(PSI_X), fp2.constant(PSI_Y)


@shared
def is_in_subgroup(x, y):
    """Whether a point of the twist has order r (or is infinity): psi(P) = X P.

    Source  Scott, "A note on group membership tests for G1, G2 and GT on BLS pairing-friendly curves" (2021), section 4
    Spec    multiplication by r
    """
    p = _neg(_times_x(_from_affine(x, y)))
    return _is_same(p, fp2.mul(fp2.conjugate(x), _PSI_X), fp2.mul(fp2.conjugate(y), _PSI_Y))


GROUP = group("g2", CURVE, is_in_subgroup)


def g2_add(a_mont: U64, b_mont: U64) -> U64:
    """P + Q; affine uint64[..., 24] in Montgomery form, infinity all zeros."""
    return GROUP.add(a_mont, b_mont)


def g2_neg(a_mont: U64) -> U64:
    """-P; affine uint64[..., 24] in Montgomery form."""
    return GROUP.neg(a_mont)


def g2_mul(point_mont: U64, scalar: int) -> U64:
    """k P for one affine point uint64[24], 0 <= k < 2^256."""
    return GROUP.mul(point_mont, scalar)
