"""Doublings on Python integers against the specification."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuzk.curve.integers import doublings
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


def test_doublings(curve: str, draw: Draw) -> None:
    twin = TWINS[curve][0]
    point = twin.mul(twin.generator, draw.random.randrange(1, R))
    got = doublings(container(curve, point), 20)
    assert (got == np.stack([container(curve, twin.mul(point, 1 << k)) for k in range(20)])).all()
    assert (doublings(container(curve, point), 1) == container(curve, point)).all()
    assert not doublings(container(curve, None), 5).any()
