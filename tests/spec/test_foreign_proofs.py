"""Proofs that others made: the Rust stack's for a 2 KiB sector, and Zcash's from its chain."""

from __future__ import annotations

import json
from functools import cache

import pytest

from cuzk.spec import groth16, keys
from cuzk.spec.encoding import EncodingError, proof_from_bytes
from cuzk.spec.engine import BLS12_381
from cuzk.spec.field import Fr
from cuzk.spec.groth16 import Proof, VerifyingKey
from tests.conftest import VECTORS

KEY_FILES = {"porep": "groth16/porep-2kib.vk", "spend": "zcash/spend.vk", "output": "zcash/output.vk"}
KINDS = list(KEY_FILES)


@cache
def key_of(kind: str) -> VerifyingKey:
    vk, rest = keys.read_verifying_key((VECTORS / KEY_FILES[kind]).read_bytes())
    assert rest == b""
    return vk


@cache
def cases_of(kind: str) -> list[tuple[list[int], bytes]]:
    """(public inputs, proof)."""
    if kind == "porep":
        expected = json.loads((VECTORS / "c1/2kib-v1_1/expected.json").read_text())
        proof = json.loads((VECTORS / "groth16/porep-2kib-v1_1-proof.json").read_text())
        records = [{"public_inputs_le": expected["public_inputs_le"][0], "proof": proof["proof"]}]
    else:
        records = json.loads((VECTORS / f"zcash/{kind}.json").read_text())
    assert records
    return [([Fr.from_le_bytes(bytes.fromhex(v)) for v in r["public_inputs_le"]], bytes.fromhex(r["proof"])) for r in records]


def holds(kind: str, inputs: list[int], proof: bytes) -> bool:
    return groth16.verify(BLS12_381, key_of(kind), inputs, Proof(*proof_from_bytes(proof)))


@pytest.mark.parametrize("kind", KINDS)
def test_they_verify(kind: str) -> None:
    for inputs, proof in cases_of(kind):
        assert holds(kind, inputs, proof)


@pytest.mark.parametrize("kind", ["spend", "output"])
def test_they_verify_together(kind: str, draw) -> None:
    proofs = [(inputs, Proof(*proof_from_bytes(proof))) for inputs, proof in cases_of(kind)]
    weights = [draw.random.randrange(1, 1 << 128) for _ in proofs]
    assert groth16.verify_batch(BLS12_381, key_of(kind), proofs, weights), draw
    proofs[1] = (proofs[0][0], proofs[1][1])
    assert not groth16.verify_batch(BLS12_381, key_of(kind), proofs, weights), draw


@pytest.mark.parametrize("kind", KINDS)
def test_any_other_input_is_false(kind: str) -> None:
    inputs, proof = cases_of(kind)[0]
    for i in range(len(inputs)):
        changed = [*inputs]
        changed[i] = Fr.add(changed[i], 1)
        assert not holds(kind, changed, proof), i
    if inputs[0] != inputs[1]:
        assert not holds(kind, [inputs[1], inputs[0], *inputs[2:]], proof)


@pytest.mark.parametrize("kind", KINDS)
def test_any_other_byte_is_malformed_or_false(kind: str, draw) -> None:
    inputs, proof = cases_of(kind)[0]
    outcomes = {"malformed": 0, "false": 0}
    for i in range(192):
        changed = bytearray(proof)
        # The first byte of each point: turn the sign, so that another valid point comes out.
        changed[i] ^= 0x20 if i in (0, 48, 144) else 1 << draw.random.randrange(8)
        try:
            assert not holds(kind, inputs, bytes(changed)), (i, draw)
            outcomes["false"] += 1
        except EncodingError:
            outcomes["malformed"] += 1
    assert outcomes["false"] >= 3
    assert outcomes["malformed"] > 180


@pytest.mark.parametrize("kind", ["spend", "output"])
def test_the_proof_of_another_statement_is_false(kind: str) -> None:
    (inputs, _), (_, other_proof) = cases_of(kind)[:2]
    assert not holds(kind, inputs, other_proof)


def test_the_verifying_key_matters() -> None:
    inputs, proof = cases_of("output")[0]
    vk = key_of("output")
    parsed = Proof(*proof_from_bytes(proof))
    for field, value in [
        ("alpha_g1", vk.beta_g1),
        ("beta_g2", vk.gamma_g2),
        ("gamma_g2", vk.delta_g2),
        ("delta_g2", vk.beta_g2),
        ("ic", [*vk.ic[1:], vk.ic[0]]),
    ]:
        assert not groth16.verify(BLS12_381, VerifyingKey(**{**vk.__dict__, field: value}), inputs, parsed), field
