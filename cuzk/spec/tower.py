"""Extension fields: Fp2 = Fp[u]/(u^2 + 1), Fp6 = Fp2[v]/(v^3 - (1 + u)), Fp12 = Fp6[w]/(w^2 - v).

An element is a tuple of elements of the field below, lowest power first: (a0, a1) is a0 + a1 u. Everything is
schoolbook.
"""

from __future__ import annotations

from typing import Any

from cuzk.spec.field import Fp, P, PrimeField

Element = Any  # nested tuples of integers


class Quadratic:
    """base[t] / (t^2 - non_residue)."""

    def __init__(self, base: Any, non_residue: Element) -> None:
        self.base = base
        self.non_residue = non_residue
        self.degree = 2 * base.degree
        self.zero = (base.zero, base.zero)
        self.one = (base.one, base.zero)

    def add(self, a: Element, b: Element) -> Element:
        """a + b."""
        return (self.base.add(a[0], b[0]), self.base.add(a[1], b[1]))

    def sub(self, a: Element, b: Element) -> Element:
        """a - b."""
        return (self.base.sub(a[0], b[0]), self.base.sub(a[1], b[1]))

    def neg(self, a: Element) -> Element:
        """-a."""
        return (self.base.neg(a[0]), self.base.neg(a[1]))

    def scale(self, a: Element, k: Any) -> Element:
        """k * a for an integer k."""
        return (self.base.scale(a[0], k), self.base.scale(a[1], k))

    def mul(self, a: Element, b: Element) -> Element:
        """(a0 + a1 t)(b0 + b1 t) with t^2 = non_residue."""
        f = self.base
        return (
            f.add(f.mul(a[0], b[0]), f.mul(self.non_residue, f.mul(a[1], b[1]))),
            f.add(f.mul(a[0], b[1]), f.mul(a[1], b[0])),
        )

    def sqr(self, a: Element) -> Element:
        """a^2."""
        return self.mul(a, a)

    def conjugate(self, a: Element) -> Element:
        """a0 - a1 t: the automorphism that fixes the base."""
        return (a[0], self.base.neg(a[1]))

    def inv(self, a: Element) -> Element:
        """Conjugate over norm: (a0 - a1 t) / (a0^2 - non_residue a1^2). Raises ZeroDivisionError for 0."""
        f = self.base
        norm = f.sub(f.sqr(a[0]), f.mul(self.non_residue, f.sqr(a[1])))
        norm_inv = f.inv(norm)
        return (f.mul(a[0], norm_inv), f.neg(f.mul(a[1], norm_inv)))

    def pow(self, a: Element, n: int) -> Element:
        """a^n by squaring, from the top bit; n may be negative."""
        return power(self, a, n)


class Fp2Field(Quadratic):
    """Fp[u]/(u^2 + 1), the field of the coordinates of G2, with square roots and a sign."""

    def __init__(self, base: PrimeField) -> None:
        super().__init__(base, base.neg(1))

    def mul(self, a: Element, b: Element) -> Element:
        """(a0 + a1 u)(b0 + b1 u) with u^2 = -1; written out, because everything else rests on it."""
        p = self.base.modulus
        return ((a[0] * b[0] - a[1] * b[1]) % p, (a[0] * b[1] + a[1] * b[0]) % p)

    def contains(self, a: Element) -> bool:
        """Is `a` a pair of canonical elements?"""
        return self.base.contains(a[0]) and self.base.contains(a[1])

    def sqrt(self, a: Element) -> Element | None:
        """A square root of `a`, or None.

        If (x + y u)^2 = a then x^2 - y^2 = a0, 2 x y = a1 and x^2 + y^2 = n with n^2 = a0^2 + a1^2, so x^2 = (a0 + n)
        / 2 for one of the two signs of n.
        """
        f = self.base
        if a[1] == 0:
            root = f.sqrt(a[0])
            if root is not None:
                return (root, 0)
            return (0, f.sqrt(f.neg(a[0])))  # -1 is not a square, so one of a0 and -a0 is
        n = f.sqrt(f.add(f.sqr(a[0]), f.sqr(a[1])))
        if n is None:
            return None
        half = f.inv(2)
        for sign in (n, f.neg(n)):
            x = f.sqrt(f.mul(f.add(a[0], sign), half))
            if x is not None:
                return (x, f.mul(a[1], f.inv(f.scale(x, 2))))
        return None

    def is_larger_half(self, a: Element) -> bool:
        """Is a > -a in lexicographic order, the u part first? This is the sign of a compressed point."""
        return self.base.is_larger_half(a[1] if a[1] != 0 else a[0])


class Cubic:
    """base[t] / (t^3 - non_residue)."""

    def __init__(self, base: Any, non_residue: Element) -> None:
        self.base = base
        self.non_residue = non_residue
        self.degree = 3 * base.degree
        self.zero = (base.zero, base.zero, base.zero)
        self.one = (base.one, base.zero, base.zero)

    def add(self, a: Element, b: Element) -> Element:
        """a + b."""
        f = self.base
        return (f.add(a[0], b[0]), f.add(a[1], b[1]), f.add(a[2], b[2]))

    def sub(self, a: Element, b: Element) -> Element:
        """a - b."""
        f = self.base
        return (f.sub(a[0], b[0]), f.sub(a[1], b[1]), f.sub(a[2], b[2]))

    def neg(self, a: Element) -> Element:
        """-a."""
        f = self.base
        return (f.neg(a[0]), f.neg(a[1]), f.neg(a[2]))

    def scale(self, a: Element, k: Any) -> Element:
        """k * a for an integer k."""
        f = self.base
        return (f.scale(a[0], k), f.scale(a[1], k), f.scale(a[2], k))

    def mul(self, a: Element, b: Element) -> Element:
        """Nine products; those of t^3 and t^4 come back with the non-residue."""
        f, m = self.base, self.base.mul
        t3 = f.add(m(a[1], b[2]), m(a[2], b[1]))
        t4 = m(a[2], b[2])
        return (
            f.add(m(a[0], b[0]), m(self.non_residue, t3)),
            f.add(f.add(m(a[0], b[1]), m(a[1], b[0])), m(self.non_residue, t4)),
            f.add(f.add(m(a[0], b[2]), m(a[1], b[1])), m(a[2], b[0])),
        )

    def sqr(self, a: Element) -> Element:
        """a^2."""
        return self.mul(a, a)

    def inv(self, a: Element) -> Element:
        """Product of the two conjugates over the norm. Raises ZeroDivisionError for 0.

        With n the non-residue: c0 = a0^2 - n a1 a2, c1 = n a2^2 - a0 a1, c2 = a1^2 - a0 a2 satisfy
        a (c0 + c1 t + c2 t^2) = a0 c0 + n (a1 c2 + a2 c1), which is in the base field.
        """
        f, m = self.base, self.base.mul
        n = self.non_residue
        c0 = f.sub(f.sqr(a[0]), m(n, m(a[1], a[2])))
        c1 = f.sub(m(n, f.sqr(a[2])), m(a[0], a[1]))
        c2 = f.sub(f.sqr(a[1]), m(a[0], a[2]))
        norm = f.add(m(a[0], c0), m(n, f.add(m(a[1], c2), m(a[2], c1))))
        norm_inv = f.inv(norm)
        return (m(c0, norm_inv), m(c1, norm_inv), m(c2, norm_inv))

    def pow(self, a: Element, n: int) -> Element:
        """a^n by squaring, from the top bit; n may be negative."""
        return power(self, a, n)


def power(field: Any, a: Element, n: int) -> Element:
    """a^n by squaring, from the top bit; n may be negative."""
    if n < 0:
        return power(field, field.inv(a), -n)
    out = field.one
    for bit in bin(n)[2:]:
        out = field.sqr(out)
        if bit == "1":
            out = field.mul(out, a)
    return out


Fp2 = Fp2Field(Fp)
# The non-residue of the upper floors: neither a square nor a cube in Fp2.
XI = (1, 1)
Fp6 = Cubic(Fp2, XI)
# w^2 = v.
Fp12 = Quadratic(Fp6, (Fp2.zero, Fp2.one, Fp2.zero))

# w^(p-1) = (w^6)^((p-1)/6) = (1 + u)^((p-1)/6), what the Frobenius map does to w.
GAMMA = Fp2.pow(XI, (P - 1) // 6)


def to_powers_of_w(a: Element) -> list[Element]:
    """The six coefficients in Fp2 of 1, w, w^2, .., w^5; v = w^2."""
    (a0, a2, a4), (a1, a3, a5) = a
    return [a0, a1, a2, a3, a4, a5]


def from_powers_of_w(coefficients: list[Element]) -> Element:
    """Inverse of `to_powers_of_w`."""
    a0, a1, a2, a3, a4, a5 = coefficients
    return ((a0, a2, a4), (a1, a3, a5))


def frobenius(a: Element) -> Element:
    """a^p in Fp12: conjugate each coefficient c_i of w^i, then multiply by w^(i (p - 1)) = GAMMA^i."""
    out, gamma_power = [], Fp2.one
    for c in to_powers_of_w(a):
        out.append(Fp2.mul(Fp2.conjugate(c), gamma_power))
        gamma_power = Fp2.mul(gamma_power, GAMMA)
    return from_powers_of_w(out)
