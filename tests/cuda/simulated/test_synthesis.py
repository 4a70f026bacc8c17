"""Synthesis on a simulated card: every operation at random, in prologue and stamps, against the CPU."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from cuzk import device
from cuzk.circuits.synthesis_cuda import Synthesizer, Tables
from cuzk.cuda import simulated
from cuzk.r1cs.levelling import level
from tests.circuits.naive import random_shape
from tests.conftest import Draw
from tests.cuda import synthesis


@pytest.mark.parametrize("seed", [0, 5])
def test_random_shapes(seed: int, draw: Draw) -> None:
    shape = random_shape(seed)
    synthesis.check(device.card(0), shape, *synthesis.random_hints(shape, draw))


def test_hints_are_there_as_long_as_their_copy_may_take(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that is queued reads its source later: what is copied must not end with the call."""
    queued: list[weakref.ref[Any]] = []
    write = simulated.Buffer.write

    def queue(self: Any, array: Any, offset: int = 0, stream: Any = None) -> None:
        if stream is not None:
            queued.append(weakref.ref(array))
        write(self, array, offset, stream)

    monkeypatch.setattr(simulated.Buffer, "write", queue)
    card, shape = device.card(0), random_shape(0)
    levelled = level(shape)
    assert levelled is not None
    synthesizer, to = Synthesizer(card, Tables(shape, levelled)), synthesis.Target(card, shape)
    synthesizer.witness(*synthesis.random_hints(shape, draw), to, card.stream())
    gc.collect()
    assert len(queued) == 2 and all(array() is not None for array in queued)
    synthesizer.free()
