"""The last steps of a sum on the CPU: a few hundred points, times powers of two."""

from __future__ import annotations

from typing import Any

from cuzk.curve import g1, g2
from cuzk.curve.weierstrass import Formulas
from cuzk.jit import kernel


def _combine(name: str, curve: Formulas) -> Any:
    field = curve.field
    infinity, double, add, to_affine = curve.infinity, curve.double, curve.add, curve.to_affine

    @kernel(variant=name)
    def combine(out, points, exponents):
        """Out = the affine sum of 2^e P over the points P and their exponents e, which must not rise; at least one point.

        Shape   out uint64[12 or 24] flat; points uint64[4 coordinates a point] flat: x, y, zz, zzz with x/zz, y/zzz, zz = 0 at
                infinity; exponents int64[n]
        Domain  Montgomery, reduced
        Cost    a doubling for each unit of the largest exponent, 16 M + 5 S a point, 1 I
        """
        total = infinity
        at = exponents[0]
        for i in range(len(exponents)):
            while at > exponents[i]:
                total = double(total)
                at -= 1
            x, y = field.load(points, 4 * i), field.load(points, 4 * i + 1)
            zz, zzz = field.load(points, 4 * i + 2), field.load(points, 4 * i + 3)
            # Jacobian with z = zz zzz: x z^2 = X zz zzz^2, y z^3 = Y zz^3 zzz^2.
            z = field.mul(zz, zzz)
            p = field.mul(field.mul(x, zzz), z), field.mul(field.mul(y, zz), field.sqr(z)), z
            total = add(total, p)
        for _ in range(at):
            total = double(total)
        x, y = to_affine(total)
        field.store(out, 0, x)
        field.store(out, 1, y)

    return combine


combine: dict[str, Any] = {"g1": _combine("g1", g1.CURVE), "g2": _combine("g2", g2.CURVE)}


def _horner(name: str, curve: Formulas) -> Any:
    field = curve.field
    infinity, double, add_affine, to_affine = curve.infinity, curve.double, curve.add_affine, curve.to_affine

    @kernel(variant=name)
    def horner(out, points):
        """Out = the affine sum of 2^k P_k.

        Shape   out uint64[12 or 24] flat; points the same n times: affine, infinity all zeros
        Domain  Montgomery, reduced
        Cost    10 M + 8 S a point, 1 I
        """
        total = infinity
        for k in range(len(points) // len(out) - 1, -1, -1):
            total = add_affine(double(total), field.load(points, 2 * k), field.load(points, 2 * k + 1))
        x, y = to_affine(total)
        field.store(out, 0, x)
        field.store(out, 1, y)

    return horner


horner: dict[str, Any] = {"g1": _horner("g1", g1.CURVE), "g2": _horner("g2", g2.CURVE)}
