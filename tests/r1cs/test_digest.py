"""The digest notices every change and does not depend on how the stream is cut."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cuzk.circuits import boolean, encoding, num, pack
from cuzk.circuits.insertion import insert
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.stages import Library, from_prologue
from cuzk.circuits.template import Shape
from cuzk.r1cs import digest as digests
from cuzk.r1cs.density import densities, set_bits
from cuzk.r1cs.digest import digest
from tests.circuits.expansion import row_bytes, rows, summary


def two_stages(repeats: int = 3) -> Shape:
    """A shape with prologue ports, ports in both orders, inputs in both stages, and one stamp used twice."""
    library = Library()
    prologue, repeated = library.stage(), library.stage()
    with prologue.namespace("root"):
        x, y = num.alloc(prologue), num.alloc(prologue)
        num.inputize(prologue, x)
        bits = num.to_bits_le(prologue, y)
    with prologue.namespace("encoding"):
        encoding.encode(prologue, x, num.mul(prologue, x, y))
    x, y = from_prologue([x, y])
    with repeated.namespace("leaf"):
        z, b = num.alloc(repeated), boolean.alloc(repeated)
        h = poseidon_hash(repeated, insert(repeated, z, [b], [y]))
        for pair in ((h, z), (x, h), (h, x)):
            h = poseidon_hash(repeated, list(pair))
        pack.pack_into_inputs(repeated, [b, *from_prologue(bits[:70])])
        num.equal(repeated, h, x)
    return library.shape("two stages", prologue, repeated, repeats)


@pytest.fixture
def shape() -> Shape:
    return two_stages()


def test_equals_the_slow_twin(shape):
    got, slow = digest(shape), summary(shape)
    assert slow == {k: got[k] for k in slow}


@pytest.mark.parametrize("repeats", [0, 1, 2])
def test_repeats(repeats):
    shape = two_stages(repeats)
    got, slow = digest(shape), summary(shape)
    assert slow == {k: got[k] for k in slow}
    assert got["inputs"] == 2 + repeats
    assert [len(x) for x in densities(shape)] == [shape.num_aux, shape.num_inputs, shape.num_aux]
    assert set_bits(shape) == tuple(int(x.sum()) for x in densities(shape))


def test_small_buffers_and_checkpoints(shape, monkeypatch):
    whole = digest(shape, checkpoint_rows=100)
    longest = max(len(row_bytes(row)) for row in rows(shape))
    monkeypatch.setattr(digests, "BUFFER_BYTES", longest)
    assert digest(shape, checkpoint_rows=100) == whole
    header = b"".join(n.to_bytes(8, "big") for n in (whole["inputs"], whole["aux"], whole["constraints"]))
    state = digests.blake2s()
    state.update(header)
    wanted = []
    for i, row in enumerate(rows(shape), 1):
        state.update(row_bytes(row))
        if i % 100 == 0:
            wanted.append(state.copy().hexdigest()[:16])
    assert whole["checkpoints"] == wanted
    assert len(wanted) == shape.num_rows // 100


def changed(shape: Shape, number: int, matrix: str, part: str, at: int, value: int) -> Shape:
    t = shape.templates[number]
    m = getattr(t, matrix)
    array = getattr(m, part).copy()
    assert array[at] != value
    array[at] = value
    t = dataclasses.replace(t, **{matrix: dataclasses.replace(m, **{part: array})})
    return dataclasses.replace(shape, templates=(*shape.templates[:number], t, *shape.templates[number + 1 :]))


@pytest.mark.parametrize("matrix", "abc")
@pytest.mark.parametrize("at", [0, -1])
def test_a_changed_coefficient_changes_it(shape, matrix, at):
    number = max(range(len(shape.templates)), key=lambda i: shape.templates[i].rows)
    other = (int(getattr(shape.templates[number], matrix).coeffs[at]) + 1) % len(shape.coefficients)
    assert digest(changed(shape, number, matrix, "coeffs", at, other))["digest"] != digest(shape)["digest"]


@pytest.mark.parametrize("stage", ["prologue", "repeated"])
def test_a_changed_port_changes_it(shape, stage):
    held = getattr(shape, stage)
    ports = held.ports.copy()
    ports[:] = np.roll(ports, 1)
    assert not np.array_equal(ports, held.ports)
    other = dataclasses.replace(shape, **{stage: dataclasses.replace(held, ports=ports)})
    assert digest(other)["digest"] != digest(shape)["digest"]


def test_the_number_of_stamps_changes_it():
    assert len({digest(two_stages(n))["digest"] for n in range(4)}) == 4


def test_density_ignores_what_occurs_in_c_only(shape):
    found = densities(shape)
    in_a = {i for a, _, _ in rows(shape) for kind, i in a if kind == "A"}
    in_b = {i for _, b, _ in rows(shape) for kind, i in b if kind == "A"}
    assert set(np.flatnonzero(found.a_aux)) == in_a
    assert set(np.flatnonzero(found.b_aux)) == in_b
    assert np.flatnonzero(found.b_inputs).tolist() == [0]
