"""Point formulas for y^2 = x^3 + b over any field, for compiled code.

A point is the Jacobian triple (X, Y, Z) with x = X/Z^2, y = Y/Z^3; Z = 0 is the point at infinity. Affine points are pairs
(x, y), where (0, 0), which is on no curve with b != 0, stands for infinity. All functions accept every point of the curve:
equal, opposite and infinite ones.

Source  Cohen, Miyaji, Ono, "Efficient elliptic curve exponentiation using mixed coordinates" (Jacobian coordinates); names of
        the steps as in the Explicit-Formulas Database, "dbl-2009-l", "add-2007-bl", "madd-2007-bl".
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from cuzk.jit import shared

Function = Any  # a compiled function


@dataclass(frozen=True, slots=True)
class Formulas:
    """The functions of one curve. `field` is the module of its coordinates, `b` the coefficient as a constant."""

    field: ModuleType
    b: Any
    infinity: Any  # the constant (1, 1, 0)
    is_on_curve: Function  # (x, y) -> bool; false for (0, 0)
    from_affine: Function  # (x, y) -> point
    to_affine: Function  # point -> (x, y)
    neg: Function  # point -> point
    double: Function  # point -> point
    add: Function  # point, point -> point
    add_affine: Function  # point, (x, y) -> point
    is_same: Function  # point, (x, y) -> bool


def formulas(field: Any, b: Any) -> Formulas:
    """Compile the formulas over `field` (a module: `field.fp` or `field.fp2`) for the coefficient `b`."""
    infinity = (field.ONE, field.ONE, field.ZERO)
    from_affine, to_affine, is_same = _conversions(field, infinity)
    double, add, add_affine = _additions(field, infinity)

    @shared
    def is_on_curve(x, y):
        return field.eq(field.sqr(y), field.add(field.mul(field.sqr(x), x), b))

    @shared
    def neg(p):
        return p[0], field.neg(p[1]), p[2]

    return Formulas(field, b, infinity, is_on_curve, from_affine, to_affine, neg, double, add, add_affine, is_same)


def _conversions(field: Any, infinity: Any) -> tuple[Function, Function, Function]:
    """`from_affine`, `to_affine`, `is_same`."""

    @shared
    def from_affine(x, y):
        if field.is_zero(x) and field.is_zero(y):
            return infinity
        return x, y, field.ONE

    @shared
    def to_affine(p):
        z = field.inv(p[2])  # 0 for 0, so that infinity becomes (0, 0)
        zz = field.sqr(z)
        return field.mul(p[0], zz), field.mul(p[1], field.mul(zz, z))

    @shared
    def is_same(p, x, y):
        if field.is_zero(p[2]):
            return field.is_zero(x) and field.is_zero(y)
        if field.is_zero(x) and field.is_zero(y):
            return False
        zz = field.sqr(p[2])
        return field.eq(field.mul(x, zz), p[0]) and field.eq(field.mul(y, field.mul(zz, p[2])), p[1])

    return from_affine, to_affine, is_same


def _additions(field: Any, infinity: Any) -> tuple[Function, Function, Function]:
    """`double` (2 M + 5 S), `add` (12 M + 4 S), `add_affine` (8 M + 3 S)."""

    @shared
    def double(p):
        # Z3 = 2 Y1 Z1 is zero for infinity and for points of order two, as it must be.
        x1, y1, z1 = p
        a = field.sqr(x1)
        b2 = field.sqr(y1)
        c = field.sqr(b2)
        d = field.double(field.sub(field.sub(field.sqr(field.add(x1, b2)), a), c))
        e = field.add(field.double(a), a)
        x3 = field.sub(field.sqr(e), field.double(d))
        eight_c = field.double(field.double(field.double(c)))
        y3 = field.sub(field.mul(e, field.sub(d, x3)), eight_c)
        return x3, y3, field.double(field.mul(y1, z1))

    @shared
    def finish(u1, s1, h, r, z1z2):
        # Common end of both additions: H = U2 - U1, r = S2 - S1, V = U1 H^2.
        hh = field.sqr(h)
        hhh = field.mul(h, hh)
        v = field.mul(u1, hh)
        x3 = field.sub(field.sub(field.sqr(r), hhh), field.double(v))
        y3 = field.sub(field.mul(r, field.sub(v, x3)), field.mul(s1, hhh))
        return x3, y3, field.mul(z1z2, h)

    @shared
    def add(p, q):
        if field.is_zero(p[2]):
            return q
        if field.is_zero(q[2]):
            return p
        z1z1 = field.sqr(p[2])
        z2z2 = field.sqr(q[2])
        u1 = field.mul(p[0], z2z2)
        s1 = field.mul(field.mul(p[1], q[2]), z2z2)
        h = field.sub(field.mul(q[0], z1z1), u1)
        r = field.sub(field.mul(field.mul(q[1], p[2]), z1z1), s1)
        if field.is_zero(h):
            return double(p) if field.is_zero(r) else infinity
        return finish(u1, s1, h, r, field.mul(p[2], q[2]))

    @shared
    def add_affine(p, x, y):
        if field.is_zero(x) and field.is_zero(y):
            return p
        if field.is_zero(p[2]):
            return x, y, field.ONE
        z1z1 = field.sqr(p[2])
        h = field.sub(field.mul(x, z1z1), p[0])
        r = field.sub(field.mul(field.mul(y, p[2]), z1z1), p[1])
        if field.is_zero(h):
            return double(p) if field.is_zero(r) else infinity
        return finish(p[0], p[1], h, r, p[2])

    return double, add, add_affine


def multiplication(curve: Formulas, k: int) -> Any:
    """Compiled point -> k point for a fixed 1 <= k < 2^64, by double and add: for k with few bits set."""
    double, add = curve.double, curve.add
    bits, word = k.bit_length(), np.uint64(k)

    @shared
    def times_k(p):
        q = p
        for i in range(bits - 2, -1, -1):
            q = double(q)
            if (word >> np.uint64(i)) & np.uint64(1):
                q = add(q, p)
        return q

    return times_k
