"""Point arithmetic on arrays against the specification, equal, opposite and infinite points first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit

from cuzk.curve import g1, g2
from cuzk.curve.group import Group
from cuzk.field import fp, fp2
from cuzk.field.limbs import fp_mont
from cuzk.field.params import H1, H2, P, R, X
from cuzk.spec.curve import G1, G2, Curve
from tests.conftest import Draw
from tests.curve.conftest import GROUPS, outside_subgroup, points_mont, spec_points

BOTH = pytest.mark.parametrize("name", GROUPS)


def pair(name: str) -> tuple[Group, Curve]:
    return GROUPS[name][0].GROUP, GROUPS[name][1]


def part_of_order(curve: Curve, base: Any, cofactor: int, d: int) -> Any:
    """A multiple of `base` that has the prime order d, or None if there is none. The group is not cyclic."""
    while cofactor % d == 0:
        cofactor //= d
    point, last = curve.mul(base, R * cofactor), None
    while point is not None:
        point, last = curve.mul(point, d), point
    return last


@BOTH
def test_generators_are_the_specifications(name: str) -> None:
    module, curve = GROUPS[name]
    assert spec_points(name, module.GENERATOR) == [curve.generator]


@BOTH
def test_addition_with_nasty_pairs(name: str, draw: Draw) -> None:
    group, curve = pair(name)
    g = curve.generator
    nasty = [None, g, curve.neg(g), curve.mul(g, 2), curve.mul(g, R - 2), outside_subgroup(name, 3)]
    nasty += [curve.mul(g, draw.below(R)) for _ in range(3)]
    lefts, rights = [p for p in nasty for _ in nasty], nasty * len(nasty)
    got = spec_points(name, group.add(points_mont(name, lefts), points_mont(name, rights)))
    assert got == [curve.add(p, q) for p, q in zip(lefts, rights, strict=True)], draw


@BOTH
def test_points_of_small_order(name: str) -> None:
    """Doubling and adding meet infinity half-way: points of order 3 on G1's curve, and any small factor of the cofactor."""
    group, curve = pair(name)
    cofactor = H1 if name == "g1" else H2
    small = next(d for d in range(2, 100) if cofactor % d == 0)
    point = next(p for seed in range(1, 50) if (p := part_of_order(curve, outside_subgroup(name, seed), cofactor, small)))
    array = points_mont(name, [point])
    for k in range(2 * small + 2):
        assert spec_points(name, group.mul(array[0], k)) == [curve.mul(point, k)], k
        assert spec_points(name, group.combine(np.repeat(array, 3, axis=0), [k, 1, small])) == [curve.mul(point, k + 1)], k


@BOTH
def test_negation(name: str) -> None:
    group, curve = pair(name)
    points = [None, curve.generator, outside_subgroup(name, 9)]
    assert spec_points(name, group.neg(points_mont(name, points))) == [curve.neg(p) for p in points]


@BOTH
def test_multiplication(name: str, draw: Draw) -> None:
    group, curve = pair(name)
    g = curve.generator
    scalars = [0, 1, 2, 3, R - 1, R, R + 1, (1 << 256) - 1, 1 << 64, (1 << 64) - 1, 1 << 255, *(draw.below(R) for _ in range(5))]
    points = [g, None, outside_subgroup(name, 5), curve.mul(g, 77)]
    bases = [points[i % len(points)] for i in range(len(scalars))]
    want = [curve.mul(p, k) for p, k in zip(bases, scalars, strict=True)]
    assert spec_points(name, group.mul_each(points_mont(name, bases), scalars)) == want, draw
    assert spec_points(name, group.mul(points_mont(name, [g])[0], 12345)) == [curve.mul(g, 12345)]


@BOTH
@pytest.mark.parametrize("n", [0, 1, 2, 3, 20, 70])
def test_combination(name: str, n: int, draw: Draw) -> None:
    """Repeated points, repeated scalars, zeros, opposite terms, and every window size from one bit on."""
    group, curve = pair(name)
    g = curve.generator
    few = [None, g, curve.neg(g), curve.mul(g, 5), outside_subgroup(name, 2)]
    points = [few[draw.random.randrange(len(few))] for _ in range(n)]
    scalars = [draw.random.choice([0, 1, R - 1, 7, (1 << 256) - 1, draw.below(R)]) for _ in range(n)]
    got = spec_points(name, group.combine(points_mont(name, points), scalars))
    assert got == [curve.multiexp(points, scalars)], (draw, scalars)


@BOTH
def test_combination_that_cancels(name: str) -> None:
    group, curve = pair(name)
    g, big = curve.generator, R - 12345
    points = points_mont(name, [g, curve.neg(g), g, g])
    assert spec_points(name, group.combine(points, [big, big, 12345, big])) == [None]


def test_scalars_out_of_range_are_refused() -> None:
    for bad in (-1, 1 << 256):
        with pytest.raises(ValueError, match="scalars"):
            g1.g1_mul(g1.GENERATOR, bad)
        with pytest.raises(ValueError, match="scalars"):
            g2.GROUP.combine(g2.GENERATOR.reshape(1, -1), [bad])


@BOTH
def test_endomorphism_is_multiplication_by_its_eigenvalue(name: str) -> None:
    curve = GROUPS[name][1]
    x, y = curve.generator
    if name == "g1":
        assert (g1.BETA**2 + g1.BETA + 1) % P == 0
        assert curve.mul(curve.generator, -(X**2) % R) == (x * g1.BETA % P, y)
    else:
        f = G2.field
        image = (f.mul(f.conjugate(x), g2.PSI_X), f.mul(f.conjugate(y), g2.PSI_Y))
        assert curve.mul(curve.generator, X % R) == image


@njit(error_model="numpy")
def membership_g1(points, out):
    for i in range(len(out)):
        out[i] = g1.is_in_subgroup(fp.load(points, 2 * i), fp.load(points, 2 * i + 1))


@njit(error_model="numpy")
def membership_g2(points, out):
    for i in range(len(out)):
        out[i] = g2.is_in_subgroup(fp2.load(points, 2 * i), fp2.load(points, 2 * i + 1))


@BOTH
def test_subgroup_membership_against_multiplication_by_r(name: str, draw: Draw) -> None:
    """Points of every kind of order: r, a factor of the cofactor, r times one, infinity."""
    curve = GROUPS[name][1]
    cofactor = H1 if name == "g1" else H2
    factors = [d for d in range(2, 5000) if cofactor % d == 0 and all(d % e for e in range(2, d))]
    inside = [None, curve.generator, curve.mul(curve.generator, draw.below(R))]
    outside = []
    for seed in range(3):
        base = outside_subgroup(name, draw.random.randrange(1 << 40))
        outside += [base, curve.add(base, curve.generator), curve.mul(base, R)]
        for d in factors:
            part = part_of_order(curve, base, cofactor, d)
            outside += [] if part is None else [part, curve.add(part, curve.generator)]
        inside.append(curve.mul(base, cofactor))
        assert seed < 3
    points = inside + outside
    out = np.zeros(len(points), np.bool_)
    (membership_g1 if name == "g1" else membership_g2)(points_mont(name, points).reshape(-1), out)
    want = [curve.in_subgroup(p) for p in points]
    assert want == [True] * len(inside) + [False] * len(outside)
    assert out.tolist() == want, draw


def test_curve_equation() -> None:
    is_on_g1, is_on_g2 = g1.CURVE.is_on_curve, g2.CURVE.is_on_curve

    @njit(error_model="numpy")
    def run(a, b):
        return is_on_g1(fp.load(a, 0), fp.load(a, 1)), is_on_g2(fp2.load(b, 0), fp2.load(b, 1))

    a, b = G1.generator, G2.generator
    assert run(fp_mont(a), fp_mont([*b[0], *b[1]])) == (True, True)
    assert run(fp_mont([a[0], a[1] + 1]), fp_mont([*b[0], b[1][0], b[1][1] + 1])) == (False, False)
    assert run(fp_mont([0, 0]), fp_mont([0, 0, 0, 0])) == (False, False)
    assert run(fp_mont([0, 2]), fp_mont([b[0][1], b[0][0], *b[1]])) == (True, False)
