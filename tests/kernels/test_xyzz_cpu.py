"""The last steps of a sum against the specification."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.field.params import R
from cuzk.kernels import xyzz_cpu
from tests.conftest import Draw
from tests.curve.test_integers import TWINS, container


@pytest.mark.parametrize("curve", TWINS)
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
        got = np.zeros(TWINS[curve][1], np.uint64)
        xyzz_cpu.horner[curve](got, np.concatenate([container(curve, p) for p in points]))
        assert (got == container(curve, expected)).all()
