"""Compiled PTX of synthesis on a card, run on the CPU: every operation at random, hashes, paths, many stamps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.circuits.naive import random_shape
from tests.conftest import Draw
from tests.cuda import synthesis
from tests.cuda.machine import Card

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.mark.parametrize("seed", [2, 3, pytest.param(0, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.slow)])
def test_random_shapes(seed: int, draw: Draw) -> None:
    shape = random_shape(seed)
    synthesis.check(Card(), shape, *synthesis.random_hints(shape, draw), times=1 + seed % 2)


def test_sha256(draw: Draw) -> None:
    from cuzk.circuits import sha256

    shape = synthesis.gadget_shape(lambda cs, bits, _: sha256.sha256_num(cs, bits), 16, 0)
    synthesis.check(Card(), shape, *synthesis.random_hints(shape, draw))


def test_poseidon_path(draw: Draw) -> None:
    from cuzk.circuits.merkle import enforce_inclusion, poseidon_node
    from cuzk.circuits.params import TreeShape

    def gadget(cs: Any, _: list[int], elems: list[int]) -> None:
        enforce_inclusion(cs, TreeShape(4, 2), elems[0], elems[1], poseidon_node)

    shape = synthesis.gadget_shape(gadget, 0, 2, repeats=1)
    synthesis.check(Card(), shape, *synthesis.random_hints(shape, draw))
