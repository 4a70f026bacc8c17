"""Synthesis on a stand-in of a card against the CPU's, value by value; the CPU's has its own twin in plain integers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cuzk.circuits import witness as witnesses
from cuzk.circuits.stages import Library
from cuzk.circuits.synthesis_cuda import Synthesizer, Tables, hint_bytes, packed_bits
from cuzk.circuits.template import Shape, Stage
from cuzk.circuits.witness import Hints
from cuzk.field.limbs import FR_LIMBS, to_limbs
from cuzk.r1cs import evaluation
from cuzk.r1cs.levelling import level
from tests.circuits.naive import random_element
from tests.conftest import Draw


class Target:
    """Room for a partition, with what no result holds."""

    def __init__(self, card: Any, shape: Shape) -> None:
        self.bits = card.buffer(4 * -(-shape.num_bits // 32) or 1)
        self.values = card.buffer(32 * (shape.num_inputs + shape.num_elems))
        self.rows = [card.buffer(32 << shape.domain_log2) for _ in range(3)]
        for buffer in (self.bits, self.values, *self.rows):
            buffer.fill(0xFF)


def check(card: Any, shape: Shape, prologue: Hints, repeated: Hints, times: int = 1) -> None:
    """Witness and rows of a partition, and zeros behind them."""
    levelled = level(shape)
    assert levelled is not None
    synthesizer, to = Synthesizer(card, Tables(shape, levelled)), Target(card, shape)
    want = witnesses.fill(shape, prologue, repeated, 1)
    rows = evaluation.evaluate(shape, want, threads=1)
    for _ in range(times):
        before = card.bytes_in
        synthesizer.witness(prologue, repeated, to, card.stream())
        synthesizer.rows(to, card.stream())
        assert card.bytes_in - before == sum(hint_bytes(shape))
        bits = packed_bits(want.bits)
        assert np.array_equal(to.bits.read(bits.shape, np.uint32), bits)
        values = np.concatenate([want.inputs_mont, want.elems_mont])
        assert np.array_equal(to.values.read(values.shape, np.uint64), values)
        for buffer, wanted in zip(to.rows, rows, strict=True):
            got = buffer.read((1 << shape.domain_log2, 4), np.uint64)
            different = np.flatnonzero((got[: len(wanted)] != wanted).any(axis=1))
            assert not len(different), f"{len(different)} rows differ, first {evaluation.locate_row(shape, int(different[0]))}"
            assert not got[len(wanted) :].any()


def gadget_shape(gadget: Any, n_bits: int, n_elems: int, repeats: int = 0) -> Shape:
    """A shape that runs a gadget on hints, in its prologue or in every stamp."""
    from cuzk.circuits import boolean, num

    library = Library()
    prologue, stamp = library.stage(), library.stage()
    cs = stamp if repeats else prologue
    bits = []
    with cs.namespace("bits"):
        bits += [boolean.alloc(cs) for _ in range(n_bits)]
    with cs.namespace("elems"):
        elems = [num.alloc(cs) for _ in range(n_elems)]
    with cs.namespace("gadget"):
        gadget(cs, bits, elems)
    return library.shape("gadget", prologue, stamp, repeats)


def random_hints(shape: Shape, draw: Draw) -> tuple[Hints, Hints]:
    """Hints of both stages at random, nasty elements among them."""

    def some(stage: Stage, *stamps: int) -> Hints:
        bits = [draw.random.randrange(2) for _ in range(math.prod(stamps) * stage.hint_bits)]
        elems = [random_element(draw.random) for _ in range(math.prod(stamps) * stage.hint_elems)]
        return Hints(
            np.array(bits, np.uint8).reshape(*stamps, stage.hint_bits),
            to_limbs(elems, FR_LIMBS).reshape(*stamps, stage.hint_elems, FR_LIMBS),
        )

    return some(shape.prologue), some(shape.repeated, shape.repeats)
