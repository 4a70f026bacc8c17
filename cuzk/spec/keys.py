"""Verifying keys and parameters as bytes: the `.vk` and `.params` files.

Points are uncompressed, counts are 32-bit big-endian, there is no magic number and no trailer. A verifying key is
alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, count, ic; parameters are a verifying key and then h, l, a,
b_g1, b_g2, each with its count in front.

Source  bellperson src/groth16/verifying_key.rs and params.rs at 0.27.0
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.spec.curve import G1, G2, Curve, Point
from cuzk.spec.encoding import EncodingError, from_uncompressed, to_uncompressed
from cuzk.spec.groth16 import Parameters, VerifyingKey


class Reader:
    """Takes points and counts from the front of a byte string."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0

    def take(self, size: int) -> bytes:
        """The next `size` bytes. Raises EncodingError if there are fewer."""
        if self.offset + size > len(self.data):
            raise EncodingError(f"{size} bytes wanted at offset {self.offset}, {len(self.data) - self.offset} are left")
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def point(self, curve: Curve, subgroup: bool, infinity: bool = True) -> Point:
        """The next point. Raises EncodingError with its offset."""
        start = self.offset
        try:
            point = from_uncompressed(curve, self.take(96 * curve.field.degree), subgroup)
        except EncodingError as e:
            raise EncodingError(f"offset {start}: {e}") from None
        if point is None and not infinity:
            raise EncodingError(f"offset {start}: {curve.name}: the point at infinity")
        return point

    def points(self, curve: Curve, subgroup: bool) -> list[Point]:
        """A count and so many points, none of them infinity."""
        count = int.from_bytes(self.take(4), "big")
        return [self.point(curve, subgroup, infinity=False) for _ in range(count)]

    def verifying_key(self) -> VerifyingKey:
        """A verifying key, all points checked fully."""
        alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2 = (
            self.point(curve, subgroup=True) for curve in (G1, G1, G2, G2, G1, G2)
        )
        return VerifyingKey(alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, self.points(G1, subgroup=True))


def read_verifying_key(data: bytes) -> tuple[VerifyingKey, bytes]:
    """(key, the bytes after it). Raises EncodingError."""
    reader = Reader(data)
    return reader.verifying_key(), data[reader.offset :]


def read_parameters(data: bytes, subgroup: bool = False) -> tuple[Parameters, bytes]:
    """(parameters, the bytes after them). Raises EncodingError.

    The points of the five vectors are always checked to be on the curve, for the subgroup only on demand.
    """
    reader = Reader(data)
    vk = reader.verifying_key()
    h, l, a, b_g1, b_g2 = (reader.points(curve, subgroup) for curve in (G1, G1, G1, G1, G2))
    return Parameters(vk, h, l, a, b_g1, b_g2), data[reader.offset :]


def points_to_bytes(curve: Curve, points: Sequence[Point]) -> bytes:
    """The count and the points."""
    return len(points).to_bytes(4, "big") + b"".join(to_uncompressed(curve, point) for point in points)


def verifying_key_to_bytes(vk: VerifyingKey) -> bytes:
    """A `.vk` file, which is also the head of a `.params` file."""
    fixed = (
        (G1, vk.alpha_g1),
        (G1, vk.beta_g1),
        (G2, vk.beta_g2),
        (G2, vk.gamma_g2),
        (G1, vk.delta_g1),
        (G2, vk.delta_g2),
    )
    return b"".join(to_uncompressed(curve, point) for curve, point in fixed) + points_to_bytes(G1, vk.ic)


def parameters_to_bytes(p: Parameters) -> bytes:
    """A `.params` file."""
    vectors = (G1, p.h), (G1, p.l), (G1, p.a), (G1, p.b_g1), (G2, p.b_g2)
    return verifying_key_to_bytes(p.vk) + b"".join(points_to_bytes(curve, points) for curve, points in vectors)
