"""Explicit constraint systems against the Rust stack's digests."""

from __future__ import annotations

import json

import pytest

from cuzk.spec import r1cs
from cuzk.spec.field import Fr
from tests.conftest import VECTORS

CIRCUITS = ["cubic", "mixed", "full-domain", "one-over"]


def load(name: str) -> dict:
    return json.loads((VECTORS / "groth16" / name / "circuit.json").read_text())


@pytest.mark.parametrize("name", CIRCUITS)
def test_digest_rows_and_densities(name: str) -> None:
    circuit = load(name)
    system, inputs, aux = r1cs.from_explicit(circuit)
    assert r1cs.digest(system) == circuit["digest"]
    assert r1cs.first_false_row(system, inputs, aux) is None
    a_aux, b_input, b_aux = r1cs.densities(system)
    assert len(inputs) + sum(a_aux) == int(circuit["setup"]["a"][0])
    assert sum(b_input) + sum(b_aux) == int(circuit["setup"]["b_g1"][0])
    az, bz, cz = r1cs.evaluate(system, r1cs.groth16_rows(system), inputs, aux)
    assert az[-len(inputs) :] == inputs
    assert bz[-len(inputs) :] == cz[-len(inputs) :] == [0] * len(inputs)


@pytest.mark.parametrize("name", CIRCUITS)
def test_a_wrong_wire_is_found(name: str) -> None:
    system, inputs, aux = r1cs.from_explicit(load(name))
    for j in range(0, len(aux), 1 + len(aux) // 20):
        wrong = [*aux]
        wrong[j] = Fr.add(wrong[j], 2)  # neither 0 nor 1, where the wire was a bit
        row = r1cs.first_false_row(system, inputs, wrong)
        assert row is not None, j
        assert any(("A", j) in lc for lc in system.rows[row]), j


def test_any_change_of_a_row_changes_the_digest() -> None:
    circuit = load("cubic")
    for matrix in range(3):
        for position, value in [(0, "I"), (1, 0), (2, "0x2")]:
            changed = load("cubic")
            term = changed["rows"][1][matrix][0]
            if term[position] == value:
                continue
            term[position] = value
            if changed["rows"] == circuit["rows"]:
                continue
            assert r1cs.digest(r1cs.from_explicit(changed)[0]) != circuit["digest"]
    changed = load("cubic")
    changed["rows"].reverse()
    assert r1cs.digest(r1cs.from_explicit(changed)[0]) != circuit["digest"]


def test_combinations_merge_sort_and_drop_zeros() -> None:
    terms = [("A", 3, 5), ("I", 1, 2), ("A", 0, 1), ("A", 3, Fr.modulus - 5), ("I", 0, 0), ("A", 0, 1)]
    assert list(r1cs.combination(Fr, terms).items()) == [(("I", 1), 2), (("A", 0), 2)]
    assert r1cs.combination(Fr, []) == {}
    assert r1cs.value(Fr, {("I", 1): 2, ("A", 0): 3}, [1, 10], [100]) == 320
