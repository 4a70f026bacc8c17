"""Encodings against py_arkworks_bls12381, and everything that must be refused."""

from __future__ import annotations

from typing import Any

import py_arkworks_bls12381 as arkworks
import pytest

from cuzk.spec.curve import G1, G2, Curve
from cuzk.spec.encoding import (
    EncodingError,
    compress,
    decompress,
    from_uncompressed,
    proof_from_bytes,
    proof_to_bytes,
    to_uncompressed,
)
from cuzk.spec.field import P, R
from tests.spec.test_curve import CURVES, OUTSIDE, off_subgroup, outside_multiple


def be(*values: int) -> bytes:
    return b"".join(v.to_bytes(48, "big") for v in values)


@pytest.mark.parametrize("name", CURVES)
def test_both_ways_and_equal_to_arkworks(name: str, draw) -> None:
    curve = CURVES[name]
    for k in [0, 1, R - 1, *draw.many(R, 10)]:
        outside = outside_multiple(name, k)
        point = curve.mul(curve.generator, k)
        data = bytes(outside.to_compressed_bytes())
        assert compress(curve, point) == data, (draw, hex(k))
        assert decompress(curve, data) == point, (draw, hex(k))
        assert from_uncompressed(curve, to_uncompressed(curve, point)) == point
        # arkworks' plain coordinates have no flags; they agree for finite points, Fp2 with the other part first.
        if point is not None and name == "G1":
            assert to_uncompressed(curve, point) == bytes(outside.to_xy_bytes_be())


def test_infinity() -> None:
    assert compress(G1, None).hex() == "c0" + "00" * 47
    assert compress(G2, None).hex() == "c0" + "00" * 95
    assert to_uncompressed(G1, None).hex() == "40" + "00" * 95
    assert to_uncompressed(G2, None).hex() == "40" + "00" * 191
    assert bytes(arkworks.G1Point.identity().to_compressed_bytes()) == compress(G1, None)
    for curve in (G1, G2):
        assert decompress(curve, compress(curve, None)) is None
        assert from_uncompressed(curve, to_uncompressed(curve, None)) is None


def test_the_two_signs_are_two_encodings() -> None:
    for curve in (G1, G2):
        one, other = compress(curve, curve.generator), compress(curve, curve.neg(curve.generator))
        assert bytes(a ^ b for a, b in zip(one, other, strict=True)) == b"\x20" + bytes(len(one) - 1)


def x_off_curve(curve: Curve) -> Any:
    x = 1
    while curve.lift_x(curve.field.scale(curve.field.one, x), larger=False) is not None:
        x += 1
    return curve.field.scale(curve.field.one, x)


def flagged(data: bytes, flags: int) -> bytes:
    return bytes([data[0] | flags]) + data[1:]


BAD_COMPRESSED = {
    "short": (G1, lambda: compress(G1, G1.generator)[:-1], "47 bytes"),
    "long": (G2, lambda: compress(G2, G2.generator) + b"\0", "97 bytes"),
    "empty": (G1, lambda: b"", "0 bytes"),
    "no flag": (G1, lambda: be(G1.generator[0]), "compression flag"),
    "zeros": (G2, lambda: bytes(96), "compression flag"),
    "infinity with a bit": (G1, lambda: flagged(be(1), 0xC0), "stray"),
    "infinity with a first-byte bit": (G1, lambda: flagged(be(0), 0xC1), "stray"),
    "infinity with a sign": (G2, lambda: flagged(be(0, 0), 0xE0), "stray"),
    "x is p": (G1, lambda: flagged(be(P), 0x80), "below p"),
    "x is p + 4": (G1, lambda: flagged(be(P + 4), 0x80), "below p"),
    "c0 is p": (G2, lambda: flagged(be(0, P), 0x80), "below p"),
    "c1 is p": (G2, lambda: flagged(be(P, 2), 0x80), "below p"),
    "off the curve": (G1, lambda: flagged(be(x_off_curve(G1)), 0x80), "on the curve"),
    "off the twist": (G2, lambda: flagged(be(0, x_off_curve(G2)[0]), 0x80), "on the curve"),
    "x is 0": (G1, lambda: flagged(be(0), 0x80), "on the curve"),
    "outside the subgroup": (G1, lambda: compress(G1, off_subgroup(G1)), "subgroup"),
    "outside the subgroup of G2": (G2, lambda: compress(G2, off_subgroup(G2)), "subgroup"),
}


@pytest.mark.parametrize("case", BAD_COMPRESSED)
def test_bad_compressed(case: str) -> None:
    curve, data, message = BAD_COMPRESSED[case]
    with pytest.raises(EncodingError, match=message):
        decompress(curve, data())
    name = curve.name
    if "infinity" not in case:  # arkworks does not look at the other bits of infinity
        with pytest.raises(Exception):  # noqa: B017, PT011 (the outside library raises its own kinds)
            OUTSIDE[name].from_compressed_bytes(data())


G1_XY = be(*G1.generator)
BAD_UNCOMPRESSED = {
    "short": (G1, lambda: G1_XY[:-1], "95 bytes"),
    "compressed length": (G1, lambda: compress(G1, G1.generator), "48 bytes"),
    "compression flag": (G1, lambda: flagged(G1_XY, 0x80), "flag"),
    "sign flag": (G1, lambda: flagged(G1_XY, 0x20), "flag"),
    "infinity with coordinates": (G1, lambda: flagged(G1_XY, 0x40), "stray"),
    "infinity with a last bit": (G2, lambda: flagged(be(0, 0, 0, 1), 0x40), "stray"),
    "x is not canonical": (G1, lambda: be(P, 2), "below p"),
    "y is not canonical": (G1, lambda: be(G1.generator[0], P + 1), "below p"),
    "off the curve": (G1, lambda: be(G1.generator[0], G1.generator[1] + 1), "on the curve"),
    "zeros": (G1, lambda: bytes(96), "on the curve"),
    "zeros of G2": (G2, lambda: bytes(192), "on the curve"),
    "x is 0": (G1, lambda: be(0, 2), "on the curve"),
    "halves of G2 swapped": (G2, lambda: be(*G2.generator[0], *G2.generator[1]), "on the curve"),
    "outside the subgroup": (G1, lambda: to_uncompressed(G1, off_subgroup(G1)), "subgroup"),
    "outside the subgroup of G2": (G2, lambda: to_uncompressed(G2, off_subgroup(G2)), "subgroup"),
}


@pytest.mark.parametrize("case", BAD_UNCOMPRESSED)
def test_bad_uncompressed(case: str) -> None:
    curve, data, message = BAD_UNCOMPRESSED[case]
    with pytest.raises(EncodingError, match=message):
        from_uncompressed(curve, data())


def test_unchecked_reading_leaves_only_the_subgroup_out() -> None:
    for curve in (G1, G2):
        point = off_subgroup(curve)
        assert from_uncompressed(curve, to_uncompressed(curve, point), subgroup=False) == point
        assert decompress(curve, compress(curve, point), subgroup=False) == point


def test_proof_encoding() -> None:
    proof = (G1.generator, G2.generator, G1.double(G1.generator))
    data = proof_to_bytes(*proof)
    assert len(data) == 192
    assert proof_from_bytes(data) == proof
    for bad in [(None, *proof[1:]), (proof[0], None, proof[2]), (*proof[:2], None)]:
        with pytest.raises(EncodingError, match="infinity"):
            proof_from_bytes(proof_to_bytes(*bad))
    for wrong in (b"", data[:-1], data + b"\0", data * 2):
        with pytest.raises(EncodingError, match="instead of 192"):
            proof_from_bytes(wrong)
