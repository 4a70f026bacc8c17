"""Synthesis on a simulated card: every operation at random, in prologue and stamps, against the CPU."""

from __future__ import annotations

import pytest

from cuzk import device
from tests.circuits.naive import random_shape
from tests.conftest import Draw
from tests.cuda import synthesis


@pytest.mark.parametrize("seed", [0, 5])
def test_random_shapes(seed: int, draw: Draw) -> None:
    shape = random_shape(seed)
    synthesis.check(device.card(0), shape, *synthesis.random_hints(shape, draw))
