"""Sums and doublings on Python integers against the specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuzk.curve.integers import doublings, horner
from cuzk.field.limbs import fp_mont
from cuzk.field.params import R
from cuzk.spec import curve as spec
from tests.conftest import Draw

TWINS = {"g1": (spec.G1, 12), "g2": (spec.G2, 24)}


def container(curve: str, point: Any) -> Any:
    if point is None:
        return np.zeros(TWINS[curve][1], np.uint64)
    x, y = point
    return fp_mont([x, y] if curve == "g1" else [*x, *y]).reshape(-1)


@pytest.fixture(params=TWINS)
def curve(request: pytest.FixtureRequest) -> str:
    return request.param


def test_horner(curve: str, draw: Draw) -> None:
    """Random points, with infinities, and cases in which the running sum meets its own value or its negative."""
    twin = TWINS[curve][0]
    g = twin.generator
    random = [None if draw.random.randrange(4) == 0 else twin.mul(g, draw.random.randrange(R)) for _ in range(9)]
    equal = [twin.double(g), g]  # 2 g + 2 g
    opposite = [twin.neg(twin.double(g)), g]  # 2 g − 2 g
    for points in (random, equal, opposite, [g], [None], [None, None, g], [g, None, None], [*opposite, None, g], [g, *equal]):
        expected = None
        for k, p in enumerate(points):
            expected = twin.add(expected, twin.mul(p, 1 << k))
        got = horner(np.stack([container(curve, p) for p in points]))
        assert (got == container(curve, expected)).all()


def test_doublings(curve: str, draw: Draw) -> None:
    twin = TWINS[curve][0]
    point = twin.mul(twin.generator, draw.random.randrange(1, R))
    got = doublings(container(curve, point), 20)
    assert (got == np.stack([container(curve, twin.mul(point, 1 << k)) for k in range(20)])).all()
    assert (doublings(container(curve, point), 1) == container(curve, point)).all()
    assert not doublings(container(curve, None), 5).any()
