"""Prime fields over plain integers, and the numbers of BLS12-381 from its seed.

An element of a prime field is an `int` in [0, modulus). A field object carries the modulus and gives the operations;
it has the same method names as the extension fields in `tower`, so that curves and polynomials are written once for
all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# The only number that has to be given: the seed of the curve. It is negative.
SEED = -0xD201000000010000
# BLS12 family. r = x^4 - x^2 + 1 is the order of the groups and the modulus of the scalars.
R = SEED**4 - SEED**2 + 1
# p = (x - 1)^2 r / 3 + x is the modulus of the coordinates.
P = (SEED - 1) ** 2 * R // 3 + SEED
# The curve has p + 1 - t points with trace t = x + 1; the cofactor is what remains after r.
G1_COFACTOR = (P + 1 - (SEED + 1)) // R
# The twist that we use has p^2 + 1 - (t2 + 3 f) / 2 points: t2 = t^2 - 2 p is the trace over Fp2 and 3 f^2 = 4 p^2 -
# t2^2. For the BLS12 family this works out as r times (x^8 - 4 x^7 + 5 x^6 - 4 x^4 + 6 x^3 - 4 x^2 - 4 x + 13) / 9.
G2_COFACTOR = (SEED**8 - 4 * SEED**7 + 5 * SEED**6 - 4 * SEED**4 + 6 * SEED**3 - 4 * SEED**2 - 4 * SEED + 13) // 9


@dataclass(frozen=True)
class PrimeField:
    """The integers modulo a prime.

    `generator` is a fixed element that is not a square, so that its powers give the roots of unity of two-power order;
    it is also the shift of the coset used by the NTT.
    """

    modulus: int
    generator: int

    zero = 0
    one = 1
    degree = 1

    def contains(self, a: int) -> bool:
        """Is `a` a canonical element?"""
        return 0 <= a < self.modulus

    def add(self, a: int, b: int) -> int:
        """a + b."""
        return (a + b) % self.modulus

    def sub(self, a: int, b: int) -> int:
        """a - b."""
        return (a - b) % self.modulus

    def neg(self, a: int) -> int:
        """-a."""
        return -a % self.modulus

    def mul(self, a: int, b: int) -> int:
        """a * b."""
        return a * b % self.modulus

    def sqr(self, a: int) -> int:
        """a^2."""
        return a * a % self.modulus

    def scale(self, a: int, k: int) -> int:
        """k * a for an integer k."""
        return a * k % self.modulus

    def inv(self, a: int) -> int:
        """1 / a. Raises ZeroDivisionError for 0."""
        if a % self.modulus == 0:
            raise ZeroDivisionError("zero has no inverse")
        return pow(a, -1, self.modulus)

    def pow(self, a: int, n: int) -> int:
        """a^n; n may be negative."""
        return pow(a, n, self.modulus)

    def batch_inv(self, values: Sequence[int]) -> list[int]:
        """1 / v for every v, with a single inversion (Montgomery's trick). Raises ZeroDivisionError for a 0."""
        running, before = 1, []
        for v in values:
            before.append(running)
            running = running * v % self.modulus
        running = self.inv(running)
        out = [0] * len(values)
        for i in range(len(values) - 1, -1, -1):
            out[i] = running * before[i] % self.modulus
            running = running * values[i] % self.modulus
        return out

    def is_square(self, a: int) -> bool:
        """Euler's criterion; 0 counts as a square."""
        return pow(a, (self.modulus - 1) // 2, self.modulus) in (0, 1)

    def sqrt(self, a: int) -> int | None:
        """A square root of `a`, or None. The modulus has to be 3 modulo 4: then a^((p+1)/4) is one if there is one."""
        if self.modulus % 4 != 3:
            raise ValueError("square roots are only needed in the coordinate field, whose modulus is 3 mod 4")
        root = pow(a, (self.modulus + 1) // 4, self.modulus)
        return root if root * root % self.modulus == a % self.modulus else None

    def is_larger_half(self, a: int) -> bool:
        """Is a > -a, as integers? This is the sign of a compressed point."""
        return a > (self.modulus - 1) // 2

    @property
    def two_adicity(self) -> int:
        """The largest s such that 2^s divides modulus - 1."""
        return ((self.modulus - 1) & -(self.modulus - 1)).bit_length() - 1

    def root_of_unity(self, log2_order: int) -> int:
        """The element of order 2^log2_order that all of Groth16 uses: generator^((modulus - 1) / 2^log2_order)."""
        if not 0 <= log2_order <= self.two_adicity:
            raise ValueError(f"no root of unity of order 2^{log2_order}: the 2-adicity is {self.two_adicity}")
        return pow(self.generator, (self.modulus - 1) >> log2_order, self.modulus)

    def to_le_bytes(self, a: int) -> bytes:
        """Little-endian bytes, 32 for Fr."""
        if not self.contains(a):
            raise ValueError("not a canonical element")
        return a.to_bytes((self.modulus.bit_length() + 7) // 8, "little")

    def from_le_bytes(self, data: bytes) -> int:
        """The element with these little-endian bytes. Raises ValueError unless canonical and of the right length."""
        width = (self.modulus.bit_length() + 7) // 8
        a = int.from_bytes(data, "little")
        if len(data) != width or a >= self.modulus:
            raise ValueError(f"not a canonical element of {width} bytes")
        return a


# Scalars. 7 is the smallest generator of the whole multiplicative group.
Fr = PrimeField(R, 7)
# Coordinates. 2 is not a square; nothing but the scalars uses its generator.
Fp = PrimeField(P, 2)
# The toy field: small enough to follow by hand, and with room for domains up to 2^10. 5 generates its multiplicative
# group.
Toy = PrimeField(64513, 5)
