"""The optimal ate pairing e: G1 x G2 -> Fp12, and the check that a product of pairings is one.

The twist is brought into E(Fp12) by (x, y) -> (x / w^2, y / w^3): from y^2 = x^3 + 4 (1 + u) and w^6 = 1 + u follows
(y / w^3)^2 = (x / w^2)^3 + 4.

Source  Vercauteren, Optimal pairings, IEEE Trans. Inf. Theory 56 (2010); Hayashida, Hayasaka, Teruya, Efficient final
        exponentiation via cyclotomic structure for pairings over families of elliptic curves, IACR 2020/875, for the
        hard part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cuzk.spec.curve import Point
from cuzk.spec.field import SEED, P, R
from cuzk.spec.tower import Fp2, Fp12, frobenius, from_powers_of_w

Element = Any


def line(slope: Any, t: Any, p: Any) -> Element:
    """Value at P of the line through the twisted point T, times w^3.

    `slope` is the slope s on the twist; after untwisting it is s / w, and the line's value at P = (xP, yP) is
    yP - yT / w^3 - (s / w)(xP - xT / w^2). Times w^3: (s xT - yT) - s xP w^2 + yP w^3. The factor w^3 lies in Fp4,
    and every element of a proper subfield becomes one in the final exponentiation.
    """
    (xt, yt), (xp, yp) = t, p
    constant = Fp2.sub(Fp2.mul(slope, xt), yt)
    return from_powers_of_w([constant, Fp2.zero, Fp2.neg(Fp2.scale(slope, xp)), (yp, 0), Fp2.zero, Fp2.zero])


def step(t: Any, q: Any, p: Any) -> tuple[Any, Element]:
    """T + Q on the twist, and the line through both (the tangent where T = Q) at P.

    T is a smaller multiple of a point of order r than would meet -Q, so the two never have equal x unless they are
    equal.
    """
    (x1, y1), (x2, y2) = t, q
    if t == q:
        slope = Fp2.mul(Fp2.scale(Fp2.sqr(x1), 3), Fp2.inv(Fp2.scale(y1, 2)))
    else:
        slope = Fp2.mul(Fp2.sub(y2, y1), Fp2.inv(Fp2.sub(x2, x1)))
    x3 = Fp2.sub(Fp2.sub(Fp2.sqr(slope), x1), x2)
    y3 = Fp2.sub(Fp2.mul(slope, Fp2.sub(x1, x3)), y1)
    return (x3, y3), line(slope, t, p)


def miller_loop(pairs: Iterable[tuple[Point, Point]]) -> Element:
    """Product over (P, Q) of f_{x, Q}(P), x the seed; pairs with an infinite member count as one.

    f_{|x|, Q} is built along the bits of |x|; the squarings are shared. The seed is negative: f_{-n} is 1 / f_n up to
    a vertical line, which the final exponentiation kills, and 1 / f has there the same value as the conjugate of f.
    """
    finite = [(p, q) for p, q in pairs if p is not None and q is not None]
    ts = [q for _, q in finite]
    f = Fp12.one
    for bit in bin(-SEED)[3:]:  # the bits below the top one
        f = Fp12.sqr(f)
        for i, (p, q) in enumerate(finite):
            ts[i], value = step(ts[i], ts[i], p)
            f = Fp12.mul(f, value)
            if bit == "1":
                ts[i], value = step(ts[i], q, p)
                f = Fp12.mul(f, value)
    return Fp12.conjugate(f)


def easy_part(f: Element) -> Element:
    """f^((p^6 - 1)(p^2 + 1)). The result has norm one over Fp6, so that its inverse is its conjugate."""
    f = Fp12.mul(Fp12.conjugate(f), Fp12.inv(f))
    return Fp12.mul(frobenius(frobenius(f)), f)


def final_exponentiation(f: Element) -> Element:
    """f^((p^12 - 1) / r), the definition: easy part, then the power (p^4 - p^2 + 1) / r."""
    return Fp12.pow(easy_part(f), (P**4 - P**2 + 1) // R)


def final_exponentiation_cubed(f: Element) -> Element:
    """The cube of `final_exponentiation`, with five short powers.

    3 (p^4 - p^2 + 1) / r = (x - 1)^2 (x + p)(x^2 + p^2 - 1) + 3. As 3 does not divide r, the cube is one exactly when
    the value is.
    """
    f = easy_part(f)
    g = power_by(power_by(f, SEED - 1), SEED - 1)
    g = Fp12.mul(power_by(g, SEED), frobenius(g))
    g = Fp12.mul(Fp12.mul(power_by(power_by(g, SEED), SEED), frobenius(frobenius(g))), Fp12.conjugate(g))
    return Fp12.mul(g, Fp12.mul(Fp12.sqr(f), f))


def power_by(f: Element, n: int) -> Element:
    """f^n for a negative n and an f of norm one, whose inverse is its conjugate."""
    return Fp12.pow(Fp12.conjugate(f), -n)


def pairing(p: Point, q: Point) -> Element:
    """e(P, Q) for P in G1 and Q in G2."""
    return final_exponentiation(miller_loop([(p, q)]))


def product_is_one(pairs: Iterable[tuple[Point, Point]]) -> bool:
    """Is the product of e(P, Q) over all pairs one?"""
    return final_exponentiation_cubed(miller_loop(pairs)) == Fp12.one
