"""Points and proofs as bytes: 48 and 96 bytes compressed, 96 and 192 uncompressed, 192 for a proof.

Numbers are big-endian; an element a0 + a1 u of Fp2 is written a1 first. The three top bits of the first byte are flags:
0x80 compressed, 0x40 infinity (then every other bit is zero), 0x20 the y of a compressed point is the larger of the
two.

Source  zkcrypto/bls12_381 src/notes/serialization.rs; the strictness is that of supranational/blst src/e1.c and
        src/e2.c.
"""

from __future__ import annotations

from cuzk.spec.curve import G1, G2, Curve, Point
from cuzk.spec.tower import Fp2

FP_BYTES = 48
COMPRESSED, INFINITY, LARGER_Y = 0x80, 0x40, 0x20


class EncodingError(ValueError):
    """Bytes that are not the one encoding of a point, or of a point that is not allowed here."""


def coordinate_to_bytes(a: int | tuple[int, int]) -> bytes:
    """Big-endian; in Fp2 the u part first."""
    parts = [a] if isinstance(a, int) else [a[1], a[0]]
    return b"".join(part.to_bytes(FP_BYTES, "big") for part in parts)


def coordinate_from_bytes(curve: Curve, data: bytes) -> int | tuple[int, int]:
    """Inverse of `coordinate_to_bytes`. Raises EncodingError unless every part is below p."""
    parts = [int.from_bytes(data[i : i + FP_BYTES], "big") for i in range(0, len(data), FP_BYTES)]
    a = parts[0] if curve.field is not Fp2 else (parts[1], parts[0])
    if not curve.field.contains(a):
        raise EncodingError(f"{curve.name}: a coordinate is not below p")
    return a


def compress(curve: Curve, point: Point) -> bytes:
    """x with the flags; 48 bytes for G1, 96 for G2."""
    if point is None:
        return bytes([COMPRESSED | INFINITY]) + bytes(FP_BYTES * curve.field.degree - 1)
    x, y = point
    out = bytearray(coordinate_to_bytes(x))
    out[0] |= COMPRESSED | (LARGER_Y if curve.field.is_larger_half(y) else 0)
    return bytes(out)


def decompress(curve: Curve, data: bytes, subgroup: bool = True) -> Point:
    """The point of a compressed encoding. Infinity is accepted, whoever forbids it checks that.

    Raises EncodingError for a wrong length, a missing compression flag, stray bits beside infinity, x not below p, x
           not on the curve, x = 0 in G1 (a point of order three, which blst refuses early), and, with `subgroup`, a
           point outside the subgroup.
    """
    size = FP_BYTES * curve.field.degree
    if len(data) != size:
        raise EncodingError(f"{curve.name}: {len(data)} bytes instead of {size}")
    if not data[0] & COMPRESSED:
        raise EncodingError(f"{curve.name}: the compression flag is not set")
    body = bytes([data[0] & 0x1F]) + data[1:]
    if data[0] & INFINITY:
        if any(body) or data[0] & LARGER_Y:
            raise EncodingError(f"{curve.name}: stray bits beside the infinity flag")
        return None
    x = coordinate_from_bytes(curve, body)
    point = curve.lift_x(x, larger=bool(data[0] & LARGER_Y))
    if point is None or (curve is G1 and x == 0):
        raise EncodingError(f"{curve.name}: not on the curve")
    if subgroup and not curve.in_subgroup(point):
        raise EncodingError(f"{curve.name}: not in the subgroup of order r")
    return point


def to_uncompressed(curve: Curve, point: Point) -> bytes:
    """x then y; 96 bytes for G1, 192 for G2."""
    if point is None:
        return bytes([INFINITY]) + bytes(2 * FP_BYTES * curve.field.degree - 1)
    return coordinate_to_bytes(point[0]) + coordinate_to_bytes(point[1])


def from_uncompressed(curve: Curve, data: bytes, subgroup: bool = True) -> Point:
    """The point of an uncompressed encoding; on the curve always, in the subgroup only with `subgroup`.

    Raises EncodingError for a wrong length, any flag but a lone infinity, coordinates not below p, a point off the
           curve, x = 0 in G1, and, with `subgroup`, a point outside the subgroup.
    """
    half = FP_BYTES * curve.field.degree
    if len(data) != 2 * half:
        raise EncodingError(f"{curve.name}: {len(data)} bytes instead of {2 * half}")
    if data[0] & (COMPRESSED | LARGER_Y):
        raise EncodingError(f"{curve.name}: a flag of the compressed form is set")
    if data[0] & INFINITY:
        if data[0] != INFINITY or any(data[1:]):
            raise EncodingError(f"{curve.name}: stray bits beside the infinity flag")
        return None
    point = (coordinate_from_bytes(curve, data[:half]), coordinate_from_bytes(curve, data[half:]))
    if not curve.contains(point) or (curve is G1 and point[0] == 0):
        raise EncodingError(f"{curve.name}: not on the curve")
    if subgroup and not curve.in_subgroup(point):
        raise EncodingError(f"{curve.name}: not in the subgroup of order r")
    return point


def proof_to_bytes(a: Point, b: Point, c: Point) -> bytes:
    """A (G1), B (G2), C (G1), each compressed: 192 bytes."""
    return compress(G1, a) + compress(G2, b) + compress(G1, c)


def proof_from_bytes(data: bytes) -> tuple[Point, Point, Point]:
    """(A, B, C). Raises EncodingError as `decompress`, and for infinity in any of the three."""
    if len(data) != 192:
        raise EncodingError(f"proof: {len(data)} bytes instead of 192")
    points = (decompress(G1, data[:48]), decompress(G2, data[48:144]), decompress(G1, data[144:]))
    if None in points:
        raise EncodingError("proof: the point at infinity")
    return points
