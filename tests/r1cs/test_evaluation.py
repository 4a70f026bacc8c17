"""Row values, false rows, columns and expansions against plain integers."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pytest

from cuzk.circuits.template import Shape, Witness
from cuzk.circuits.witness import fill
from cuzk.errors import InternalError
from cuzk.field.limbs import fr_ints, fr_mont, from_limbs
from cuzk.field.params import R
from cuzk.formats import circuit
from cuzk.r1cs import evaluation
from tests.circuits.naive import Twin, random_element, random_shape
from tests.circuits.test_witness import draw_hints
from tests.conftest import VECTORS

SEEDS = range(100, 108)


def any_witness(shape: Shape, seed: int) -> tuple[Witness, Twin]:
    """A witness of arbitrary values, most rows false, and the twin that holds the same."""
    rng = random.Random(seed)
    bits = [rng.randrange(2) for _ in range(shape.num_bits)]
    elems = [random_element(rng) for _ in range(shape.num_elems)]
    twin = Twin(shape)
    twin.inputs = [1] + [random_element(rng) for _ in range(shape.num_inputs - 1)]
    for place, v in zip(evaluation.bit_aux(shape).tolist() + evaluation.elem_aux(shape).tolist(), bits + elems, strict=True):
        twin.aux[place] = v
    return Witness(fr_mont(twin.inputs), np.array(bits, np.uint8), fr_mont(elems)), twin


@pytest.mark.parametrize("seed", SEEDS)
def test_row_values_equal_plain_integers(seed: int) -> None:
    shape = random_shape(seed)
    witness, twin = any_witness(shape, seed)
    a, b, c = (fr_ints(x) for x in evaluation.evaluate(shape, witness, threads=1 + seed % 2))
    rows = twin.rows()
    assert list(zip(a, b, c, strict=True))[: shape.num_rows] == rows
    assert a[shape.num_rows :] == twin.inputs
    assert set(b[shape.num_rows :]) == set(c[shape.num_rows :]) == {0}
    false = [i for i, (x, y, z) in enumerate(rows) if x * y % R != z]
    found = evaluation.first_false_row(shape, fr_mont(a), fr_mont(b), fr_mont(c))
    assert (found.row if found else None) == (false[0] if false else None)


@pytest.mark.parametrize("rows_per_block", [1, 50, 1 << 20])
def test_blocks_are_the_same_rows(rows_per_block: int) -> None:
    shape = random_shape(7)
    witness, _ = any_witness(shape, 7)
    whole = evaluation.evaluate(shape, witness)
    at = 0
    for first, *abc in evaluation.evaluate_blocks(shape, witness, rows_per_block, threads=2):
        assert first == at
        at += len(abc[0])
        assert all(np.array_equal(x[first:at], y) for x, y in zip(whole, abc, strict=True))
    assert at == shape.num_rows


def test_given_arrays_are_filled_and_their_rest_left_alone() -> None:
    shape = random_shape(8)
    witness, _ = any_witness(shape, 8)
    out = tuple(np.full((shape.groth16_rows + 3, 4), 7, np.uint64) for _ in range(3))
    seen: list[int] = []
    got = evaluation.evaluate(shape, witness, out, progress=seen.append)
    assert all(x is y for x, y in zip(got, out, strict=True))
    assert all(
        np.array_equal(x[:-3], y) and (x[-3:] == 7).all() for x, y in zip(out, evaluation.evaluate(shape, witness), strict=True)
    )
    assert sum(seen) == shape.num_rows


def test_a_witness_of_another_shape_is_refused() -> None:
    witness, _ = any_witness(random_shape(1), 1)
    with pytest.raises(InternalError, match="another shape"):
        evaluation.evaluate(random_shape(2), witness)


def test_false_rows_are_named_by_stamp_and_segment() -> None:
    shape = random_shape(3)
    n = shape.num_rows
    one = np.tile(fr_mont([1]), (n, 1))
    assert evaluation.first_false_row(shape, one, one, one) is None
    last = n - 1
    for value in (0, 2, R - 1):
        for k in range(3):
            abc = [one.copy(), one.copy(), one.copy()]
            abc[k][last] = fr_mont([value])[0]
            found = evaluation.first_false_row(shape, *abc)
            assert found is not None
            assert found.row == last
            assert found.segment.startswith(f"stamp_{shape.repeats - 1}/")
            t = shape.templates[shape.repeated.template[-1]]
            assert t.rows == 0 or found.row_in_segment == t.rows - 1
    assert evaluation.locate_row(shape, 0).segment in shape.prologue.names
    products = fr_mont([5, 7, 35, R - 5, 0])
    five, seven, right, wrong, zero = (np.tile(products[i], (n, 1)) for i in range(5))
    assert evaluation.first_false_row(shape, five, seven, right) is None
    assert evaluation.first_false_row(shape, five, zero, zero) is None
    for abc in ((five, seven, wrong), (five, zero, right), (zero, seven, right), (five, one, seven)):
        found = evaluation.first_false_row(shape, *abc)
        assert found is not None
        assert found.row == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_columns_equal_plain_integers(seed: int) -> None:
    shape, rng = random_shape(seed), random.Random(seed)
    weights = [random_element(rng) for _ in range(shape.groth16_rows + 2)]
    got = evaluation.columns_at(shape, fr_mont(weights), threads=1 + seed % 2)
    assert [fr_ints(x) for x in got] == Twin(shape).columns(weights)


def test_too_few_row_weights_are_refused() -> None:
    shape = random_shape(4)
    with pytest.raises(InternalError, match="too few row weights"):
        evaluation.columns_at(shape, fr_mont([1] * (shape.groth16_rows - 1)))


def test_columns_and_rows_give_the_same_inner_product() -> None:
    """Σ weight · (A·z) over the rows is Σ column · z over the variables."""
    shape, rng = random_shape(5), random.Random(5)
    witness, twin = any_witness(shape, 5)
    weights = [rng.randrange(R) for _ in range(shape.groth16_rows)]
    columns = evaluation.columns_at(shape, fr_mont(weights))
    z = twin.inputs + twin.aux
    for rows, column in zip(evaluation.evaluate(shape, witness), columns, strict=True):
        left = sum(x * w for x, w in zip(fr_ints(rows), weights, strict=True)) % R
        assert left == sum(x * v for x, v in zip(fr_ints(column), z, strict=True)) % R


@pytest.mark.parametrize("seed", SEEDS)
def test_aux_values_in_order_and_their_digests(seed: int) -> None:
    shape = random_shape(seed)
    witness, twin = any_witness(shape, seed)
    n, rng = shape.num_aux, random.Random(seed)
    assert from_limbs(evaluation.expand_aux(shape, witness, 0, n)) == twin.aux
    for _ in range(5):
        start, stop = sorted(rng.randrange(n + 1) for _ in range(2))
        assert from_limbs(evaluation.expand_aux(shape, witness, start, stop)) == twin.aux[start:stop]
    a, b, c = evaluation.evaluate(shape, witness)
    got = evaluation.digests(shape, witness, a, b, c)

    def digest(values: list[int]) -> str:
        return hashlib.blake2s(b"".join(v.to_bytes(32, "little") for v in values)).hexdigest()

    rows = twin.rows()
    assert got == {
        "aux_blake2s": digest(twin.aux),
        "inputs_blake2s": digest(twin.inputs),
        "az_blake2s": digest([x for x, _, _ in rows]),
        "bz_blake2s": digest([x for _, x, _ in rows]),
        "cz_blake2s": digest([x for _, _, x in rows]),
        "zeros": twin.aux.count(0),
        "ones": twin.aux.count(1),
        "aux": n,
        "inputs": shape.num_inputs,
        "rows": shape.num_rows,
    }


@pytest.mark.parametrize("name", ["cubic", "mixed", "full-domain", "one-over"])
def test_row_values_of_explicit_circuits(name: str) -> None:
    path = VECTORS / "r1cs" / f"{name}.json"
    shape, witness = circuit.load(path)
    document = json.loads(path.read_text())
    values = {k: [int(v, 16) for v in document[key]] for k, key in (("I", "inputs"), ("A", "aux"))}
    abc = evaluation.evaluate(shape, witness)
    for k, got in enumerate(abc):
        want = [sum(values[kind][i] * int(x, 16) for kind, i, x in row[k]) % R for row in document["rows"]]
        assert fr_ints(got[: shape.num_rows]) == want
    assert evaluation.first_false_row(shape, *abc) is None


def test_filled_witnesses_satisfy_the_rows_that_they_solve() -> None:
    """A SOLVE row of a random template holds at the witness that its program gives."""
    shape = random_shape(11)
    prologue, repeated, _ = draw_hints(shape, random.Random(11))
    witness = fill(shape, prologue, repeated)
    a, b, c = (fr_ints(x) for x in evaluation.evaluate(shape, witness))
    first = 0
    for _, _, _, t, _ in Twin(shape).segments:
        for op, at in zip(t.ops.tolist(), t.arg_ptr.tolist(), strict=False):
            if op >= 8:  # SOLVE, SOLVE_INPUT
                row = first + int(t.args[at])
                assert a[row] * b[row] % R == c[row]
        first += t.rows
