"""Synthesis gives the same in every setting: what the plain integers of the twin give."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from cuzk.circuits import synthesis
from cuzk.circuits.synthesis import synthesize
from cuzk.field.limbs import fr_ints
from cuzk.r1cs import explicit
from cuzk.r1cs.digest import counts
from cuzk.timing import Timer
from cuzk.variants import Settings
from tests.circuits.naive import Twin, random_shape, witness_ints
from tests.circuits.test_witness import draw_hints

SETTINGS = [
    Settings(lc_layout=layout, stream_witness=stream) for layout, stream in itertools.product(("template", "csr"), (False, True))
]


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("settings", SETTINGS, ids=lambda s: f"{s.lc_layout}-{'stream' if s.stream_witness else 'whole'}")
@pytest.mark.parametrize("seed", range(300, 306))
def test_settings_equal_plain_integers(seed: int, settings: Settings, given: bool) -> None:
    shape, rng = random_shape(seed), random.Random(seed)
    prologue, repeated, lists = draw_hints(shape, rng)
    twin = Twin(shape)
    twin.fill(lambda stamp: tuple(iter(x) for x in lists[stamp]))
    into = None
    if given:
        into = synthesis.buffers(shape)
        into.overwrite()
    made = explicit.expand(shape) if settings.lc_layout == "csr" else None
    timer = Timer()
    found = synthesize(shape, prologue, repeated, settings, timer, made, into, threads=1 + seed % 2)
    assert witness_ints(found.witness, shape)[0] == twin.inputs
    a, b, c = (fr_ints(x) for x in (found.a, found.b, found.c))
    assert list(zip(a, b, c, strict=True))[: shape.num_rows] == twin.rows()
    assert a[shape.num_rows :] == twin.inputs and set(b[shape.num_rows :]) == set(c[shape.num_rows :]) == {0}
    names = [phase.name for phase in timer.root.children]
    assert names == (["stream_abc"] if settings.stream_witness else ["witness", "eval_abc"])


@pytest.mark.parametrize("seed", range(4))
def test_explicit_matrices_have_the_terms_and_size_they_should(seed: int) -> None:
    shape = random_shape(seed)
    made = explicit.expand(shape)
    matrices = (made.a, made.b, made.c)
    assert [len(m.cols) for m in matrices] == counts(shape)["nnz"]
    assert [int(m.indptr[-1]) for m in matrices] == counts(shape)["nnz"]
    held = sum(array.nbytes for m in matrices for array in m)
    assert held <= explicit.bytes_needed(shape) <= 3 * held + 4096


def test_buffers_hold_nothing_that_could_pass_for_a_result() -> None:
    shape = random_shape(3)
    into = synthesis.buffers(shape, 2 * shape.groth16_rows)
    assert len(into.out.a) == 2 * shape.groth16_rows
    assert into.nbytes == synthesis.bytes_of(shape, 2 * shape.groth16_rows)
    into.overwrite()
    assert (into.values.bits > 1).all()
    for array in (*into.out, into.values.elems_mont, into.values.inputs_mont):
        assert (array == np.uint64(2**64 - 1)).all()
