"""The proof of a whole 2 KiB sector by plain integers: rows written out, the Rust stack's witness, the twin with toxic waste."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from cuzk.circuits import porep
from cuzk.spec import keys
from cuzk.spec.encoding import proof_to_bytes
from cuzk.spec.engine import BLS12_381
from cuzk.spec.field import Fr, R
from cuzk.spec.waste import proof_from_waste
from tests.conftest import VECTORS
from tests.spec.explicit_rows import explicit_rows
from tests.spec.test_groth16 import le, waste_of


def read_aux() -> list[int]:
    """All aux values in order, from packed bits and the elements between them."""
    stored = np.load(VECTORS / "witness" / "aux.npz")
    n = int(stored["n"])
    is_bit = np.unpackbits(stored["is_bit"], bitorder="little")[:n]
    values: list[int] = np.unpackbits(stored["bit"], bitorder="little")[:n].astype(object).tolist()
    for i, element in zip(np.flatnonzero(is_bit == 0).tolist(), stored["elements"], strict=True):
        values[i] = int.from_bytes(element.tobytes(), "little")
    return values


@pytest.mark.slow
def test_the_twin_makes_the_proof_of_the_rust_stack() -> None:
    expected = json.loads((VECTORS / "c1/2kib-v1_1/expected.json").read_text())
    record = json.loads((VECTORS / "groth16/porep-2kib-v1_1-proof.json").read_text())
    waste = waste_of(json.loads((VECTORS / "groth16/porep-2kib.json").read_text()))
    vk, _ = keys.read_verifying_key((VECTORS / "groth16/porep-2kib.vk").read_bytes())
    inputs = [1, *(Fr.from_le_bytes(bytes.fromhex(v)) for v in expected["public_inputs_le"][0])]
    aux = read_aux()

    def value(terms: Sequence[tuple[bool, int, int]]) -> int:
        return sum(k * (inputs[i] if is_input else aux[i]) for is_input, i, k in terms) % R

    az, bz, cz = [], [], []
    for a, b, c in explicit_rows(porep.record(2048)):
        az.append(value(a))
        bz.append(value(b))
        cz.append(value(c))
    r, s = (le(record["randomness"][0][name]) for name in "rs")
    proof = proof_from_waste(BLS12_381, waste, vk, az, bz, cz, inputs, r, s)
    assert proof_to_bytes(proof.a, proof.b, proof.c).hex() == record["proof"]
    az[1_000_000] += 1
    with pytest.raises(ValueError, match="row 1000000 does not hold"):
        proof_from_waste(BLS12_381, waste, vk, az, bz, cz, inputs, r, s)
