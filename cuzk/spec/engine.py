"""What Groth16 needs of its groups: a scalar field, G1 and G2 with generators, and a pairing product check.

Two engines: the real one, and a toy in which a group element *is* its discrete logarithm. In the toy, G1 = G2 =
Z/64513 under addition, the generator is 1, and the pairing is e(a, b) = a b with the target group written additively;
a proof over it can be followed with a pocket calculator, and hides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cuzk.spec import pairing
from cuzk.spec.curve import G1, G2
from cuzk.spec.field import Fr, PrimeField, Toy

Point = Any


@dataclass(frozen=True)
class AdditiveGroup:
    """The integers modulo a prime under addition, with the methods of `curve.Curve` that Groth16 uses."""

    modulus: int

    zero = 0
    generator = 1

    def add(self, p: int, q: int) -> int:
        """P + Q."""
        return (p + q) % self.modulus

    def neg(self, p: int) -> int:
        """-P."""
        return -p % self.modulus

    def mul(self, p: int, k: int) -> int:
        """k P."""
        return p * k % self.modulus

    def sum(self, points: Iterable[int]) -> int:
        """Sum of all points."""
        return sum(points) % self.modulus

    def multiexp(self, points: Sequence[int], scalars: Sequence[int]) -> int:
        """Sum of k_i P_i."""
        return sum(p * k for p, k in zip(points, scalars, strict=True)) % self.modulus

    def multiples(self, base: int, scalars: Sequence[int]) -> list[int]:
        """k_i B for many k_i."""
        return [base * k % self.modulus for k in scalars]


@dataclass(frozen=True)
class Engine:
    """Scalar field, both groups, and `product_is_one(pairs)`: is the product of e(P, Q) over the pairs the identity?"""

    field: PrimeField
    g1: Any
    g2: Any
    product_is_one: Callable[[list[tuple[Point, Point]]], bool]


def toy_product_is_one(pairs: list[tuple[int, int]]) -> bool:
    """Is the sum of a b zero? (Written additively, the identity of the target group is zero.)"""
    return sum(a * b for a, b in pairs) % Toy.modulus == 0


BLS12_381 = Engine(Fr, G1, G2, pairing.product_is_one)
TOY = Engine(Toy, AdditiveGroup(Toy.modulus), AdditiveGroup(Toy.modulus), toy_product_is_one)
