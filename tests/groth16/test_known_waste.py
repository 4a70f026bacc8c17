"""Proofs computed from toxic waste alone are the Rust stack's, byte for byte."""

from __future__ import annotations

import json

import pytest

from cuzk.circuits import synthesis
from cuzk.circuits.hints import hints
from cuzk.commands.choices import Ids
from cuzk.field.limbs import fr_ints, from_limbs
from cuzk.formats import c1, circuit, shapes, toxic_waste
from cuzk.groth16.logarithms import Logarithms, ToxicWaste, development_waste
from cuzk.r1cs import evaluation
from cuzk.timing import Timer
from cuzk.variants import Settings
from scripts import known_waste
from tests.conftest import VECTORS

Rows = tuple[known_waste.U64, known_waste.U64, known_waste.U64]


def proof(shape: circuit.Shape, waste: ToxicWaste, inputs: list[int], rows: Rows, r: str, s: str) -> str:
    weights = known_waste.weights_at(shape, waste.tau)
    a, b, c = (known_waste.dot(x[: shape.groth16_rows], weights) for x in rows)
    ic = from_limbs(Logarithms(shape, waste).scalars("ic", 0, shape.num_inputs))
    scalars = (int.from_bytes(bytes.fromhex(x.removeprefix("0x")), "little") for x in (r, s))
    return known_waste.proof_bytes(known_waste.logarithms(waste, (a, b, c), ic, inputs, *scalars)).hex()


@pytest.mark.parametrize("name", ["cubic", "mixed", "full-domain", "one-over"])
def test_small_circuits(name: str) -> None:
    path = VECTORS / "groth16" / name / "circuit.json"
    shape, witness = circuit.load(path)
    rows = evaluation.evaluate(shape, witness)
    for expected in json.loads(path.read_text())["proofs"]:
        got = proof(shape, toxic_waste.read(path), fr_ints(witness.inputs_mont), rows, expected["r"], expected["s"])
        assert got == expected["proof"]


def test_2kib() -> None:
    folder = VECTORS / "c1" / "2kib-v1_1"
    facts, expected = (json.loads((folder / name).read_text()) for name in ("expected.json", "proof.json"))
    content = c1.load(next(f for f in (folder / "c1.bincode", folder / "c1.json") if f.exists()))
    replica = Ids(miner=facts["miner_id"], sector=facts["sector_number"]).resolve(content)
    shape = shapes.load_or_record(2048)
    made = synthesis.synthesize(shape, *hints(content, 0), Settings(), Timer())
    (pair,) = expected["randomness"]
    got = proof(shape, development_waste("2KiB"), [1, *replica.public_inputs(0)], (made.a, made.b, made.c), pair["r"], pair["s"])
    assert got == expected["proof"]
