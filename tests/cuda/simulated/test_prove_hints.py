"""Proofs of a circuit that the card synthesizes from hints: the CPU's bytes, and what crosses the bus."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuzk import device, ntt_cuda
from cuzk.circuits import boolean, num, synthesis_cuda, witness
from cuzk.circuits.stages import Library, from_prologue
from cuzk.circuits.synthesis_cuda import Tables, hint_bytes
from cuzk.circuits.template import Shape
from cuzk.circuits.witness import Hints
from cuzk.commands.cards import Cards, Work
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_LIMBS, fr_ints, to_limbs
from cuzk.field.params import R
from cuzk.formats import vk
from cuzk.groth16 import key_cuda, prove
from cuzk.groth16.key_cuda import load_from
from cuzk.groth16.needs_cuda import positions
from cuzk.groth16.setup import Setup, ToxicWaste
from cuzk.progress import Progress
from cuzk.r1cs.levelling import level
from cuzk.timing import Timer
from tests.conftest import Draw
from tests.cuda.simulated.test_prove import Msm, Selection

QUIET = Progress(quiet=True)


def small_circuit() -> Shape:
    """A secret and its square in front; in each stamp two bits and a product with the secret, all of them public."""
    library = Library()
    prologue, stamp = library.stage(), library.stage()
    with prologue.namespace("secret"):
        secret = num.alloc(prologue)
        num.inputize(prologue, num.mul(prologue, secret, secret))
    with stamp.namespace("stamp"):
        x, a, b = num.alloc(stamp), boolean.alloc(stamp), boolean.alloc(stamp)
        boolean.xor(stamp, a, b)
        num.inputize(stamp, num.mul(stamp, x, from_prologue([secret])[0]))
    return library.shape("small", prologue, stamp, 2, {"kind": "test"})


def some_hints(draw: Draw) -> tuple[Hints, Hints]:
    secret, elems = to_limbs(draw.many(R, 1), FR_LIMBS), to_limbs(draw.many(R, 2), FR_LIMBS)
    bits = np.array([[draw.random.randrange(2) for _ in range(2)] for _ in range(2)], np.uint8)
    return Hints(np.zeros(0, np.uint8), secret), Hints(bits, elems.reshape(2, 1, FR_LIMBS))


class Key(SimpleNamespace):
    """Parameters in memory."""

    def __init__(self, shape: Shape) -> None:
        reference = Setup(shape, ToxicWaste(3, 4, 5, 6, 7))
        vectors = {f"{name}_be": np.concatenate(list(reference.blocks(name))) for name in ("h", "l", "a", "b_g1", "b_g2")}
        super().__init__(vk=vk.parse(reference.vk_be()).key, **vectors)


@pytest.mark.parametrize("fault", [False, True])
def test_partitions_from_hints(fault: bool, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_cuda, "Msm", Msm)
    monkeypatch.setattr(key_cuda, "Selection", Selection)
    shape = small_circuit()
    key, where, levelled = Key(shape), prove.queries(shape), level(shape)
    assert levelled is not None
    hints = {k: some_hints(draw) for k in range(2)}
    scalars = {k: (draw.below(R), draw.below(R)) for k in hints}
    witnesses = {k: witness.fill(shape, *hints[k]) for k in hints}
    wanted = [prove.prove(shape, w, key, where, *scalars[k], Timer(), QUIET).encode() for k, w in witnesses.items()]
    card, tables, timer = device.card(0), Tables(shape, levelled), Timer()
    for inverse in (False, True):
        ntt_cuda._inner(card, inverse)  # kept for good
    before = card.used
    opened = Cards.open(
        [card], shape, key.vk, positions(shape, where), load_from(key), partitions=2, tables=tables, timer=timer, progress=QUIET
    )
    rows = synthesis_cuda.Synthesizer.rows
    failures = [1] if fault else []

    def faulty(self: Any, to: Any, stream: Any) -> None:
        rows(self, to, stream)
        if failures:
            failures.pop()
            to.rows[2].fill(1, 32)

    monkeypatch.setattr(synthesis_cuda.Synthesizer, "rows", faulty)

    def no_host(*_: Any) -> Any:
        raise InternalError("the host was to do nothing")

    work = Work(shape, key.vk, no_host, lambda k: fr_ints(witnesses[k].inputs_mont)[1:], scalars, hints.__getitem__)
    assert opened.synthesize and opened.prove(work, timer, QUIET) == b"".join(wanted)
    (facts,) = opened.facts["cards"]
    assert opened.facts["retries"] == int(fault) and facts["taken"] <= facts["predicted"]
    assert (2 + fault) * sum(hint_bytes(shape)) <= facts["bytes_in"] < facts["bytes_out"] + 4096
    assert {"witness", "eval_abc"} <= {span.name for span in timer.spans if span.track == "cuda:0 ahead"}
    opened.free()
    assert card.used == before
