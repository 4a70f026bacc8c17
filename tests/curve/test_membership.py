"""Random buckets find what is outside the subgroup, whatever the set: one point, pairs that cancel, points of small order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuzk.curve import encoding, membership
from cuzk.curve.encoding import Fault
from cuzk.curve.membership import FEW, Membership
from cuzk.field.limbs import U64
from cuzk.field.params import H1, H2, R
from tests.conftest import Draw
from tests.curve.conftest import GROUPS, outside_subgroup, points_mont
from tests.curve.test_groups import part_of_order

BOTH = pytest.mark.parametrize("name", GROUPS)


def inside(name: str, n: int) -> U64:
    """n points of the subgroup, infinity among them."""
    module = GROUPS[name][0]
    few = module.GROUP.mul_each(np.repeat(module.GENERATOR.reshape(1, -1), 100, axis=0), range(100))
    return np.ascontiguousarray(np.resize(few, (n, few.shape[1])))


def small_order(name: str) -> Any:
    curve = GROUPS[name][1]
    cofactor = H1 if name == "g1" else H2
    d = next(d for d in range(2, 100) if cofactor % d == 0)
    return next(p for seed in range(1, 50) if (p := part_of_order(curve, outside_subgroup(name, seed), cofactor, d)))


@BOTH
@pytest.mark.parametrize("n", [0, 1, 2, FEW, FEW + 1, 5000])
def test_points_of_the_subgroup_pass(name: str, n: int) -> None:
    assert Membership(GROUPS[name][0].GROUP).first_outside(inside(name, n)) is None


@BOTH
@pytest.mark.parametrize("n", [3, 3000])
def test_every_kind_of_bad_set_is_found(name: str, n: int, draw: Draw) -> None:
    module, curve = GROUPS[name]
    stray, small = outside_subgroup(name, draw.random.randrange(1 << 30)), small_order(name)
    sets = {
        "one": [stray],
        "a pair that cancels": [stray, curve.neg(stray)],
        "small order": [small],
        "small order, a pair": [small, curve.neg(small)],
        "small order, thrice": [small, small, small],
        "a generator's multiple added": [curve.add(small, curve.generator)],
        "cofactor part only": [curve.mul(stray, R)],
    }
    test = Membership(module.GROUP)
    for what, bad in sets.items():
        points = inside(name, n)
        places = sorted(draw.random.sample(range(n), len(bad)))
        points[places] = points_mont(name, bad)
        assert test.first_outside(points) == places[0], (draw, what, places)
    assert test.first_outside(np.repeat(points_mont(name, [small]), n, axis=0)) is not None


def test_a_round_misses_a_cancelling_pair_as_often_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one round of B buckets, P and -P pass when they fall together: about once in B, and never if alone."""
    monkeypatch.setattr(membership, "SECURITY_BITS", 1)
    curve, test, n = GROUPS["g1"][1], Membership(GROUPS["g1"][0].GROUP), 3000
    buckets = 1 << ((n // 256).bit_length() - 1)
    small, points = small_order("g1"), inside("g1", n)
    points[[7, 2000]] = points_mont("g1", [small, curve.neg(small)])
    missed = sum(test.first_outside(points) is None for _ in range(400))
    assert buckets == 8
    assert 15 <= missed <= 95  # 50 expected; the odds of leaving this range are below 10^-7
    points[2000] = points[2001]
    assert all(test.first_outside(points) == 7 for _ in range(100))


@BOTH
def test_bulk_check_of_encoded_points(name: str) -> None:
    """More points than are tested one by one on each thread; a fault of encoding before or after one of order."""
    module, n = GROUPS[name][0], 8 * FEW
    data = np.repeat(encoding.encode(name, module.GENERATOR, compressed=False), n, axis=0)
    assert encoding.check_subgroup(name, data) is None
    stray = encoding.encode(name, points_mont(name, [outside_subgroup(name, 6)]), compressed=False)
    data[n - 3] = stray
    assert encoding.check_subgroup(name, data) == (n - 3, Fault.NOT_IN_SUBGROUP)
    assert encoding.check_points(name, data) is None
    data[n - 2, -1] ^= 1
    assert encoding.check_subgroup(name, data) == (n - 3, Fault.NOT_IN_SUBGROUP)
    data[n - 4, -1] ^= 1
    assert encoding.check_subgroup(name, data) == (n - 4, Fault.NOT_ON_CURVE)
    data[0] = 0
    data[0, 0] = 0x40
    assert encoding.check_subgroup(name, data) == (0, Fault.INFINITY)
