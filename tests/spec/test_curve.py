"""Groups: published generators, group laws, and multiples and sums against py_arkworks_bls12381."""

from __future__ import annotations

from typing import Any

import py_arkworks_bls12381 as arkworks
import pytest

from cuzk.spec.curve import G1, G2, Curve
from cuzk.spec.encoding import compress
from cuzk.spec.field import P, R
from cuzk.spec.tower import Fp2

CURVES = {"G1": G1, "G2": G2}
OUTSIDE: dict[str, Any] = {"G1": arkworks.G1Point, "G2": arkworks.G2Point}

# draft-irtf-cfrg-pairing-friendly-curves-11, section 4.2.1; G2 as (u part, other part).
G1_PUBLISHED = (
    "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb",
    "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1",
)
G2_PUBLISHED = (
    "13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e",
    "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8",
    "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be",
    "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801",
)


def outside_multiple(name: str, k: int) -> Any:
    return OUTSIDE[name]() * arkworks.Scalar.from_le_bytes((k % R).to_bytes(32, "little"))


def off_subgroup(curve: Curve) -> Any:
    """A point on the curve whose order does not divide r."""
    x = 1
    while True:
        point = curve.lift_x(curve.field.scale(curve.field.one, x), larger=False)
        if point is not None and curve.mul(point, R) is not None:
            return point
        x += 1


def test_generators_are_the_published_ones() -> None:
    assert tuple(f"{c:096x}" for c in G1.generator) == G1_PUBLISHED
    (x0, x1), (y0, y1) = G2.generator
    assert tuple(f"{c:096x}" for c in (x1, x0, y1, y0)) == G2_PUBLISHED


def test_generators_come_from_the_smallest_x() -> None:
    """4 for G1, 2 for G2. (0, 2) is on the curve of G1, but the cofactor sends it to infinity."""
    assert G1.mul(G1.lift_x(4, larger=False), G1.cofactor) == G1.generator
    assert G2.mul(G2.lift_x((2, 0), larger=False), G2.cofactor) == G2.generator
    assert G1.mul((0, 2), 3) is None


@pytest.mark.parametrize("name", CURVES)
def test_generator_has_order_r(name: str) -> None:
    curve = CURVES[name]
    g = curve.generator
    assert curve.contains(g)
    assert curve.in_subgroup(g)
    assert curve.mul(g, R - 1) == curve.neg(g)
    assert curve.mul(g, R + 1) == g


@pytest.mark.parametrize("name", CURVES)
def test_multiples_equal_arkworks(name: str, draw) -> None:
    curve = CURVES[name]
    scalars = [2, 3, 4, R - 2, *draw.many(R, 12)]
    points = [curve.mul(curve.generator, k) for k in scalars]
    for k, point in zip(scalars, points, strict=True):
        assert compress(curve, point) == bytes(outside_multiple(name, k).to_compressed_bytes()), (draw, hex(k))
    assert curve.multiples(curve.generator, scalars) == points
    assert curve.multiples(curve.generator, []) == []


@pytest.mark.parametrize("name", CURVES)
def test_successive_multiples_equal_arkworks(name: str) -> None:
    curve, g = CURVES[name], OUTSIDE[name]()
    point, outside = None, OUTSIDE[name].identity()
    for _ in range(100):
        assert compress(curve, point) == bytes(outside.to_compressed_bytes())
        point, outside = curve.add(point, curve.generator), outside + g


@pytest.mark.parametrize("name", CURVES)
def test_group_laws_and_special_cases(name: str, draw) -> None:
    curve = CURVES[name]
    a, b, c = (curve.mul(curve.generator, draw.below(R)) for _ in range(3))
    assert curve.add(a, b) == curve.add(b, a)
    assert curve.add(curve.add(a, b), c) == curve.add(a, curve.add(b, c)), draw
    for point in (a, b, None):
        assert curve.contains(point)
        assert curve.add(point, None) == curve.add(None, point) == point
        assert curve.add(point, curve.neg(point)) is None
        assert curve.double(point) == curve.add(point, point) == curve.mul(point, 2)
        assert curve.mul(point, 0) is None
        assert curve.mul(point, 1) == point
        assert curve.mul(point, -3) == curve.neg(curve.mul(point, 3))
    assert curve.mul(None, 12345) is None
    # The Jacobian addition meets equal and opposite points and infinity.
    g = curve.generator
    two_g = curve.jacobian_double(curve.to_jacobian(g))
    assert curve.to_affine(curve.jacobian_add_affine(two_g, curve.double(g))) == curve.mul(g, 4)
    assert curve.to_affine(curve.jacobian_add_affine(two_g, curve.neg(curve.double(g)))) is None
    assert curve.to_affine(curve.jacobian_add_affine(two_g, None)) == curve.double(g)
    assert curve.sum([]) is None
    assert curve.sum([a, None, a, curve.neg(a)]) == a


@pytest.mark.parametrize("name", CURVES)
def test_multiexp_equals_arkworks(name: str, draw) -> None:
    curve = CURVES[name]
    logs = [1, 1, R - 1, 5, 5, *draw.many(R, 4)]  # equal, opposite and infinite points
    scalars = [7, 7, 7, 0, R - 1, *draw.many(R, 4)]
    points = curve.multiples(curve.generator, logs)
    expected = outside_multiple(name, sum(a * b for a, b in zip(logs, scalars, strict=True)))
    assert compress(curve, curve.multiexp(points, scalars)) == bytes(expected.to_compressed_bytes()), draw
    assert curve.multiexp([], []) is None
    assert curve.multiexp(points, [0] * len(points)) is None
    with pytest.raises(ValueError, match="9 points for 1 scalars"):
        curve.multiexp(points, [1])


@pytest.mark.parametrize("name", CURVES)
def test_subgroup_check_refuses_others(name: str) -> None:
    curve = CURVES[name]
    point = off_subgroup(curve)
    assert curve.contains(point)
    assert not curve.in_subgroup(point)
    assert not curve.in_subgroup(curve.add(point, curve.generator))
    cleared = curve.mul(point, curve.cofactor)
    assert cleared is not None
    assert curve.in_subgroup(cleared)


def test_what_is_not_on_the_curves() -> None:
    x, y = G1.generator
    for bad in [(x, y + 1), (x + 1, y), (x, y + P), (x + P, y), (0, 0), (-x, y), (y, x)]:
        assert not G1.contains(bad), bad
    x2, y2 = G2.generator
    for bad2 in [(x2, Fp2.add(y2, Fp2.one)), (Fp2.conjugate(x2), y2), ((x2[0] + P, x2[1]), y2), (Fp2.zero, Fp2.zero)]:
        assert not G2.contains(bad2)
