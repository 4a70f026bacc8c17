"""The PoRep circuit of every sector size against closed formulas and the Rust constraint system."""

from __future__ import annotations

import functools
import json
from collections import Counter

import numpy as np
import pytest

from cuzk.circuits.params import PorepShape, TreeShape, circuit_name, parse_size, porep_shape
from cuzk.circuits.porep import INPUTS_PER_CHALLENGE, hint_order, record, record_shape
from cuzk.errors import UsageError
from cuzk.r1cs.digest import counts, digest
from cuzk.seal.sector import BY_SIZE
from tests.conftest import VECTORS

ORACLE = {o["circuit"]: o for o in map(json.loads, (VECTORS / "r1cs" / "porep.jsonl").read_text().splitlines())}
SMALL = [size for size in BY_SIZE if size < 32 << 30]
recorded = functools.cache(record)


def closed_formulas(shape: PorepShape) -> tuple[int, int, int]:
    """(inputs, aux, rows) from the costs of the gadgets."""
    partial = {2: 55, 4: 56, 8: 57, 11: 57}

    def poseidon(n):
        return 3 * n + 28 * (n + 1) + 4 * partial[n] + 1

    def log2(n):
        return n.bit_length() - 1

    insertion = {2: 2, 4: 8, 8: 22}
    path = [arity for _, arity in shape.tree.path]
    inclusion_rows = 2 + sum(log2(n) + insertion[n] + poseidon(n) for n in path)
    inclusion_aux = sum(log2(n) + n - 1 + insertion[n] + poseidon(n) for n in path)
    column, layers, depth = poseidon(shape.layers), shape.layers, log2(shape.tree.leaves)
    rows = 2 + 45382 * depth + 14 * (column + inclusion_rows) + 65 + layers * (6 * 256 + 522269) + (layers - 1) * 8 * 256
    rows += 1 + inclusion_rows + column + inclusion_rows
    aux = 1 + 45335 * depth + 14 * (layers + column + inclusion_aux) + 64 + layers * (6 * 255 + 521749) + (layers - 1) * 8 * 255
    aux += 1 + inclusion_aux + column + inclusion_aux
    q = shape.challenges
    return 4 + 18 * q, 571 + q * aux, 571 + q * rows


# Published or counted by the Rust stack.
ROWS = {
    "2KiB": (40, 2685673, 2687921),
    "4KiB": (40, 2786423, 2788733),
    "16KiB": (40, 2974867, 2977173),
    "32KiB": (40, 3075617, 3077985),
    "8MiB": (40, 3842449, 3844929),
    "16MiB": (40, 3943199, 3945741),
    "512MiB": (40, 4420837, 4423433),
    "1GiB": (40, 4521587, 4524245),
    "32GiB": (328, 130169893, 130278541),
    "64GiB": (328, 131076643, 131185849),
}


@pytest.mark.parametrize("size", ROWS)
def test_counts(size):
    shape = recorded(parse_size(size))
    assert (shape.num_inputs, shape.num_aux, shape.num_rows) == ROWS[size] == closed_formulas(porep_shape(parse_size(size)))
    assert shape.groth16_rows == shape.num_rows + shape.num_inputs
    assert shape.domain_log2 == {2: 22, 3: 22, 4: 23}.get(shape.num_rows // 10**6, 27)
    assert shape.name == circuit_name(parse_size(size)) == f"porep-{size.lower()}"
    for stage in (shape.prologue, shape.repeated):
        assert stage.rows == sum(shape.templates[i].rows for i in stage.template)
        assert stage.aux_total == stage.bits + stage.elems == sum(shape.templates[i].aux for i in stage.template)
        assert len(stage.names) == len(stage.template)
        assert np.all(np.diff(stage.row.astype(np.int64)) >= 0)


# Rows, aux and terms of the templates, and how many of each a 32 GiB partition has (per challenge).
BLOCKS = {
    "two elements, initial chain": (25832, 25806, (59441, 25864, 56862), 30),
    "padding of 512 bits": (19034, 19014, (43455, 19034, 39494), 30),
    "head of a label": (25363, 25337, (58145, 25395, 55455), 11),
    "two elements": (26184, 26158, (60833, 26184, 57662), 198),
    "one element and padding": (25593, 25567, (59161, 25593, 55889), 11),
    "to_bits_le": (256, 255, (510, 255, 256), 206),
    "poseidon 8": (505, 505, (3598, 513, 624), 160),
    "poseidon 11": (598, 598, (4462, 609, 738), 15),
    "insertion 8": (25, 32, (49, 26, 42), 160),
    "insertion 2": (3, 4, (6, 3, 4), 30),
}


@pytest.mark.parametrize("block", BLOCKS)
def test_templates_at_32_gib(block):
    rows, aux, terms, instances = BLOCKS[block]
    shape = recorded(32 << 30)
    same = [
        i
        for i, t in enumerate(shape.templates)
        if (t.rows, t.aux, tuple(len(m.cols) for m in (t.a, t.b, t.c))) == (rows, aux, terms)
    ]
    assert len(same) == (11 if block == "head of a label" else 1)
    count = Counter(shape.repeated.template.tolist())
    assert sum(count[i] for i in same) == instances


def test_label_heads_differ_in_two_coefficients():
    """Rows 1,759 and 9,825, the coefficient of ONE; all else is the same and is held once."""
    shape = recorded(32 << 30)
    heads = [t for t in shape.templates if (t.rows, t.aux) == (25363, 25337)]
    assert len(heads) == 11
    for t in heads[1:]:
        assert t.a.cols is heads[0].a.cols
        assert t.b is not heads[0].b
        assert t.c.coeffs is heads[0].c.coeffs
        different = np.flatnonzero(t.a.coeffs != heads[0].a.coeffs)
        assert [int(np.searchsorted(t.a.indptr, e, side="right")) - 1 for e in different] == [1759, 9825]


def test_numbers_of_a_32_gib_partition():
    """Published by another prover, after the final input rows; distinct coefficients counted over the whole circuit."""
    shape = recorded(32 << 30)
    found = counts(shape)
    assert shape.groth16_rows == 130278869
    assert [found["nnz"][0] + shape.num_inputs, *found["nnz"][1:]] == [309405051, 130327340, 282656500]
    assert len(shape.coefficients) == 2466
    assert shape.num_elems == 1699102


@pytest.mark.parametrize("size", BY_SIZE)
def test_hint_order_covers_the_streams(size):
    order, shape = hint_order(porep_shape(size)), recorded(size)
    totals = [sum(n for _, n in part) for part in (order.prologue_elems, order.prologue_bits)]
    assert totals == [shape.prologue.hint_elems, shape.prologue.hint_bits]
    totals = [sum(n for _, n in part) for part in (order.challenge_elems, order.challenge_bits)]
    assert totals == [shape.repeated.hint_elems, shape.repeated.hint_bits]
    assert len(order.challenge_bits) == INPUTS_PER_CHALLENGE == shape.repeated.inputs


@pytest.mark.parametrize("circuit", [c for c in ORACLE if int(c.split()[1]) in SMALL])
def test_digest_equals_rust(circuit):
    seen = []
    got = digest(recorded(int(circuit.split()[1])), seen.append)
    assert got == ORACLE[circuit]
    assert sum(seen) == ORACLE[circuit]["constraints"]


@pytest.mark.slow
def test_digest_at_32_gib_equals_rust():
    assert digest(recorded(32 << 30)) == ORACLE["porep 34359738368"]


# Test shapes of the Rust stack (row counts asserted there), and one challenge of 32 GiB; digests of two slow builders.
SHAPES = {
    "2": (PorepShape(2, 1, TreeShape(8, 2)), 1206212, "e933e8bea2e68a3569205187f61c428770f083c7e7d2113babedb204b9429bc3"),
    "8": (PorepShape(2, 1, TreeShape(8, 8)), 1199620, "b9e22ee377bc73c4e08f679252c4f87948f5812be8c95358a6bf87a7279a785f"),
    "8-4": (PorepShape(2, 1, TreeShape(32, 8, 4)), 1296576, "2bb32fe1d16325b1afe3f67f42148047406233e23eae86605f53247273706615"),
    "8-4-2": (
        PorepShape(2, 1, TreeShape(64, 8, 4, 2)),
        *(1346982, "c9b69c85139ae04bac789fecb881052900c660c6337ab4b520eaa0c9f7293f75"),
    ),
}
ONE_CHALLENGE_AT_32_GIB = (
    PorepShape(11, 1, TreeShape(1 << 30, 8, 8)),
    *(7238236, "5d477993ad4d9f61d0bb3309e06fd6659635ddd6007f0b3fdf81feb9d4ed5ef6"),
)
SHAPES_BY_TIER = [*SHAPES, pytest.param("11 layers", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", SHAPES_BY_TIER)
def test_other_shapes(name):
    shape, rows, expected = SHAPES.get(name, ONE_CHALLENGE_AT_32_GIB)
    found = digest(record_shape(shape, name))
    assert (found["inputs"], found["constraints"], found["digest"]) == (22, rows, expected)


@pytest.mark.parametrize("size", [0, 1, 1024, 2047, 8 << 10, 64 << 30 | 1, 128 << 30])
def test_other_sizes_are_refused(size):
    with pytest.raises(UsageError, match="unknown sector size"):
        record(size)


def test_columns_have_two_or_eleven_layers():
    with pytest.raises(AssertionError):
        record_shape(PorepShape(3, 1, TreeShape(8, 8)), "three layers")
