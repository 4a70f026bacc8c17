"""The field of a curve's coordinates in lanes: Fp for G1, Fp2 = Fp[u]/(u² + 1) for G2, over one emitter.

Elements are flat lists of DEGREE * limbs vectors, c0 then c1. Range: as in `emit`; `BOUND` is the bound of a product on the
lazily reduced path, and the bound of an Fp2 element is that of its halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cuzk.field.emit import Element, Emitter


class Coordinates:
    """Fp. Also what both fields share."""

    DEGREE = 1
    BOUND = 2

    def __init__(self, emitter: Emitter) -> None:
        """Emit through `emitter`, whose modulus is p."""
        self.e = emitter
        self.limbs = emitter.limbs
        self.width = self.DEGREE * emitter.limbs

    def halves(self, x: Element) -> list[Element]:
        """c0, c1 (Fp: the element)."""
        return [x[i : i + self.limbs] for i in range(0, self.width, self.limbs)]

    def load(self, pointer: Any, first: int = 0) -> Element:
        """The element that starts `first` vectors after `pointer`."""
        return [v for h in range(self.DEGREE) for v in self.e.load(pointer, first + h * self.limbs)]

    def store(self, pointer: Any, x: Element, first: int = 0) -> None:
        """Store vectors from `first` on."""
        self.e.store(pointer, x, first)

    def load_rows(self, addresses: Element, word: int) -> Element:
        """The element at `word` of each of LANES rows."""
        return [v for h in range(self.DEGREE) for v in self.e.load_rows(addresses, word + h * self.limbs)]

    def store_rows(self, addresses: Element, word: int, x: Element) -> None:
        """Lane l of x to `word` of row l."""
        for h, half in enumerate(self.halves(x)):
            self.e.store_rows(addresses, word + h * self.limbs, half)

    def zero(self) -> Element:
        """0 in every lane."""
        return self.e.const(0) * self.DEGREE

    def one(self) -> Element:
        """1 in every lane, Montgomery."""
        return self.e.const(self.e.one) + self.e.const(0) * (self.DEGREE - 1)

    def mul(self, x: Element, y: Element) -> Element:
        """Montgomery product."""
        return self.e.mul(x, y)

    def sqr(self, x: Element, bound: int) -> Element:
        """Montgomery square of x, which is below bound * p."""
        return self.e.sqr(x)

    def scale(self, x: Element, factor: Element) -> Element:
        """Product with an element of Fp."""
        return [v for half in self.halves(x) for v in self.e.mul(half, factor)]

    def lin(self, plus: Sequence[Element], minus: Sequence[Element] = (), k: int | Element | None = None) -> Element:
        """sum(plus) − sum(minus) + k * p in each half; see `Emitter.lin`."""
        out: Element = []
        for i in range(0, self.width, self.limbs):
            out += self.e.lin([x[i : i + self.limbs] for x in plus], [x[i : i + self.limbs] for x in minus], k)
        return out

    def reduced(self, x: Element) -> Element:
        """The same value below 2p in each half, whatever bound x had (not negative): a product with 1."""
        return self.scale(x, self.e.const(self.e.one))

    def is_zero(self, x: Element) -> Any:
        """Lane mask: x is 0, for any bound."""
        mask = None
        for half in self.halves(self.reduced(x)):
            zero = self.e.zero_below(half, 2)
            mask = zero if mask is None else self.e.b.and_(mask, zero)
        return mask

    def select(self, mask: Any, x: Element, y: Element) -> Element:
        """Per lane: x where mask, else y."""
        return self.e.select(mask, x, y)

    def rotate(self, x: Element, s: int) -> Element:
        """Lane l takes the value of lane l + s."""
        return [v for half in self.halves(x) for v in self.e.rotate(half, s)]

    def norm(self, x: Element) -> Element:
        """The norm to Fp (Fp: the element) of a product."""
        return x

    def inverse_from_norm(self, x: Element, inverse: Element) -> Element:
        """1/x from 1/norm(x), x a product."""
        return inverse


class QuadraticCoordinates(Coordinates):
    """Fp2."""

    DEGREE = 2
    BOUND = 4

    def mul(self, x: Element, y: Element) -> Element:
        return self.e.mul2(x, y)

    def sqr(self, x: Element, bound: int) -> Element:
        # (x0 + x1)(x0 - x1) + 2 x0 x1 u
        e = self.e
        x0, x1 = self.halves(x)
        t = e.mul(x0, x1)
        return e.mul(e.lin([x0, x1]), e.lin([x0], [x1], bound)) + e.lin([t, t])

    def norm(self, x: Element) -> Element:
        x0, x1 = self.halves(x)
        return self.e.lin([self.e.sqr(x0), self.e.sqr(x1)])

    def inverse_from_norm(self, x: Element, inverse: Element) -> Element:
        x0, x1 = self.halves(x)
        return self.e.mul(x0, inverse) + self.e.mul(self.e.lin([], [x1], self.BOUND), inverse)


def coordinates(curve: str, emitter: Emitter) -> Coordinates:
    """The coordinate field of "g1" or "g2"."""
    return {"g1": Coordinates, "g2": QuadraticCoordinates}[curve](emitter)


DEGREES = {"g1": Coordinates.DEGREE, "g2": QuadraticCoordinates.DEGREE}
BOUNDS = {"g1": Coordinates.BOUND, "g2": QuadraticCoordinates.BOUND}
