"""The groups G1 and G2: y^2 = x^3 + 4 over Fp, and its twist y^2 = x^3 + 4 (1 + u) over Fp2.

A point is None (infinity, the identity) or a pair (x, y) of field elements. Formulas are the textbook's: the chord
and the tangent for one addition, Jacobian coordinates (X, Y, Z) = (X/Z^2, Y/Z^3) inside a scalar multiplication to
save inversions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from cuzk.spec.field import G1_COFACTOR, G2_COFACTOR, Fp, R
from cuzk.spec.tower import XI, Fp2

Point = Any  # None or (x, y)
Jacobian = Any  # (X, Y, Z); Z = 0 is infinity


class Curve:
    """y^2 = x^3 + b over `field`, with the subgroup of prime order `order` that we work in."""

    zero: Point = None

    def __init__(self, name: str, field: Any, b: Any, order: int, cofactor: int) -> None:
        self.name = name
        self.field = field
        self.b = b
        self.order = order
        self.cofactor = cofactor

    @cached_property
    def generator(self) -> Point:
        """Smallest integer x that is on the curve, smaller y, times the cofactor."""
        x = 0
        while (point := self.lift_x(self.field.scale(self.field.one, x), larger=False)) is None or (
            self.mul(point, self.cofactor) is None
        ):
            x += 1
        return self.mul(point, self.cofactor)

    def lift_x(self, x: Any, larger: bool) -> Point:
        """The point with this x and the larger or smaller of its two y; None if x^3 + b is not a square."""
        f = self.field
        y = f.sqrt(f.add(f.mul(f.sqr(x), x), self.b))
        if y is None:
            return None
        return (x, y) if f.is_larger_half(y) == larger else (x, f.neg(y))

    def contains(self, point: Point) -> bool:
        """Are the coordinates canonical and on the curve? Infinity is."""
        if point is None:
            return True
        x, y = point
        f = self.field
        return f.contains(x) and f.contains(y) and f.sqr(y) == f.add(f.mul(f.sqr(x), x), self.b)

    def in_subgroup(self, point: Point) -> bool:
        """Does r times the point vanish?"""
        return self.mul(point, self.order) is None

    def neg(self, point: Point) -> Point:
        """-P: the same x, the other y."""
        return None if point is None else (point[0], self.field.neg(point[1]))

    def add(self, p: Point, q: Point) -> Point:
        """P + Q by the chord through both, or the tangent where they are equal."""
        f = self.field
        if p is None:
            return q
        if q is None:
            return p
        (x1, y1), (x2, y2) = p, q
        if x1 == x2 and y1 != y2:
            return None  # opposite points
        if x1 == x2:
            if y1 == f.zero:
                return None  # a point of order two
            slope = f.mul(f.scale(f.sqr(x1), 3), f.inv(f.scale(y1, 2)))
        else:
            slope = f.mul(f.sub(y2, y1), f.inv(f.sub(x2, x1)))
        x3 = f.sub(f.sub(f.sqr(slope), x1), x2)
        return (x3, f.sub(f.mul(slope, f.sub(x1, x3)), y1))

    def double(self, p: Point) -> Point:
        """P + P."""
        return self.add(p, p)

    def sum(self, points: Iterable[Point]) -> Point:
        """Sum of all points."""
        acc = self.to_jacobian(None)
        for p in points:
            acc = self.jacobian_add_affine(acc, p)
        return self.to_affine(acc)

    def mul(self, point: Point, k: int) -> Point:
        """k P by doubling and adding from the top bit; k is any integer and is not reduced."""
        if k < 0:
            return self.mul(self.neg(point), -k)
        acc = self.to_jacobian(None)
        for bit in bin(k)[2:]:
            acc = self.jacobian_double(acc)
            if bit == "1":
                acc = self.jacobian_add_affine(acc, point)
        return self.to_affine(acc)

    def multiexp(self, points: Sequence[Point], scalars: Sequence[int]) -> Point:
        """Sum of k_i P_i for k_i >= 0: all products share their doublings."""
        if len(points) != len(scalars):
            raise ValueError(f"{len(points)} points for {len(scalars)} scalars")
        acc = self.to_jacobian(None)
        for i in range(max((k.bit_length() for k in scalars), default=0) - 1, -1, -1):
            acc = self.jacobian_double(acc)
            for point, k in zip(points, scalars, strict=True):
                if k >> i & 1:
                    acc = self.jacobian_add_affine(acc, point)
        return self.to_affine(acc)

    def multiples(self, base: Point, scalars: Sequence[int]) -> list[Point]:
        """k_i B for many k_i >= 0 and one base: the doublings 2^j B are made once."""
        doublings = [base]
        for _ in range(max((k.bit_length() for k in scalars), default=0) - 1):
            doublings.append(self.double(doublings[-1]))
        return [self.sum(d for j, d in enumerate(doublings) if k >> j & 1) for k in scalars]

    def to_jacobian(self, point: Point) -> Jacobian:
        """(x, y) as (x, y, 1); infinity as (1, 1, 0)."""
        f = self.field
        return (f.one, f.one, f.zero) if point is None else (*point, f.one)

    def to_affine(self, point: Jacobian) -> Point:
        """(X / Z^2, Y / Z^3)."""
        f = self.field
        x, y, z = point
        if z == f.zero:
            return None
        z_inv = f.inv(z)
        z_inv2 = f.sqr(z_inv)
        return (f.mul(x, z_inv2), f.mul(y, f.mul(z_inv2, z_inv)))

    def jacobian_double(self, point: Jacobian) -> Jacobian:
        """2 P for a = 0: S = 4 X Y^2, M = 3 X^2; X' = M^2 - 2 S, Y' = M (S - X') - 8 Y^4, Z' = 2 Y Z."""
        f = self.field
        x, y, z = point
        yy = f.sqr(y)
        s = f.scale(f.mul(x, yy), 4)
        m = f.scale(f.sqr(x), 3)
        x3 = f.sub(f.sqr(m), f.scale(s, 2))
        return (x3, f.sub(f.mul(m, f.sub(s, x3)), f.scale(f.sqr(yy), 8)), f.scale(f.mul(y, z), 2))

    def jacobian_add_affine(self, p: Jacobian, q: Point) -> Jacobian:
        """P + Q with Q affine.

        U = x2 Z^2 and S = y2 Z^3 bring Q to P's denominators; H = U - X, D = S - Y;
        X' = D^2 - H^3 - 2 X H^2, Y' = D (X H^2 - X') - Y H^3, Z' = Z H.
        """
        f = self.field
        x, y, z = p
        if q is None:
            return p
        if z == f.zero:
            return self.to_jacobian(q)
        zz = f.sqr(z)
        h = f.sub(f.mul(q[0], zz), x)
        d = f.sub(f.mul(q[1], f.mul(zz, z)), y)
        if h == f.zero:
            return self.jacobian_double(p) if d == f.zero else self.to_jacobian(None)
        hh = f.sqr(h)
        hhh = f.mul(hh, h)
        v = f.mul(x, hh)
        x3 = f.sub(f.sub(f.sqr(d), hhh), f.scale(v, 2))
        return (x3, f.sub(f.mul(d, f.sub(v, x3)), f.mul(y, hhh)), f.mul(z, h))


G1 = Curve("G1", Fp, 4, R, G1_COFACTOR)
G2 = Curve("G2", Fp2, Fp2.scale(XI, 4), R, G2_COFACTOR)
