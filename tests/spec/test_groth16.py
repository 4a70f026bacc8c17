"""Setup, prover, verifier and the twin with toxic waste against bellperson's files and proofs."""

from __future__ import annotations

from functools import cache

import pytest

from cuzk.spec import groth16, keys, r1cs
from cuzk.spec.encoding import EncodingError, proof_from_bytes, proof_to_bytes
from cuzk.spec.engine import BLS12_381
from cuzk.spec.field import Fr
from cuzk.spec.groth16 import Proof, ToxicWaste
from cuzk.spec.waste import proof_from_waste
from tests.conftest import VECTORS
from tests.spec.test_r1cs import CIRCUITS, load


def le(text: str) -> int:
    return int.from_bytes(bytes.fromhex(text), "little")


def waste_of(record: dict) -> ToxicWaste:
    return ToxicWaste(**{name: le(record[name]) for name in ("alpha", "beta", "gamma", "delta", "tau")})


def file_of(name: str, suffix: str) -> bytes:
    return (VECTORS / "groth16" / name / f"{name}.{suffix}").read_bytes()


@cache
def parameters_of(name: str) -> groth16.Parameters:
    return keys.read_parameters(file_of(name, "params"))[0]


@pytest.mark.parametrize("name", CIRCUITS)
def test_setup_writes_bellperson_s_files(name: str) -> None:
    circuit = load(name)
    system, _, _ = r1cs.from_explicit(circuit)
    parameters = groth16.setup(BLS12_381, system, waste_of(circuit["setup"]))
    assert keys.parameters_to_bytes(parameters) == file_of(name, "params")
    assert keys.verifying_key_to_bytes(parameters.vk) == file_of(name, "vk")


@pytest.mark.parametrize("name", CIRCUITS)
def test_proofs_equal_bellperson_s_and_verify(name: str) -> None:
    """Random r and s, r = s = 0, and r = -1, s = 1; by the prover and by the twin."""
    circuit = load(name)
    system, inputs, aux = r1cs.from_explicit(circuit)
    parameters = parameters_of(name)
    sums = groth16.sums(BLS12_381, parameters, system, inputs, aux)
    rows = r1cs.evaluate(system, system.rows, inputs, aux)
    waste = waste_of(circuit["setup"])
    assert len(circuit["proofs"]) == 3
    for record in circuit["proofs"]:
        r, s = le(record["r"]), le(record["s"])
        proof = groth16.assemble(BLS12_381, parameters.vk, sums, r, s)
        assert proof_to_bytes(proof.a, proof.b, proof.c).hex() == record["proof"]
        assert proof_from_waste(BLS12_381, waste, parameters.vk, *rows, inputs, r, s) == proof
        assert groth16.verify(BLS12_381, parameters.vk, inputs[1:], proof)


def test_cubic_by_the_one_call() -> None:
    circuit = load("cubic")
    system, inputs, aux = r1cs.from_explicit(circuit)
    record = circuit["proofs"][0]
    proof = groth16.prove(BLS12_381, parameters_of("cubic"), system, inputs, aux, le(record["r"]), le(record["s"]))
    assert proof_to_bytes(proof.a, proof.b, proof.c).hex() == record["proof"]


def test_batches() -> None:
    circuit = load("mixed")
    _, inputs, _ = r1cs.from_explicit(circuit)
    vk = parameters_of("mixed").vk
    proofs = [(inputs[1:], Proof(*proof_from_bytes(bytes.fromhex(p["proof"])))) for p in circuit["proofs"]]
    weights = [12345678901234567890, 1, (1 << 128) - 1]
    assert groth16.verify_batch(BLS12_381, vk, proofs, weights)
    assert groth16.verify_batch(BLS12_381, vk, [], [])
    swapped = Proof(proofs[0][1].a, proofs[0][1].b, proofs[1][1].c)
    assert not groth16.verify_batch(BLS12_381, vk, [proofs[0], (inputs[1:], swapped)], weights[:2])
    assert not groth16.verify_batch(BLS12_381, vk, [([*inputs[1:-1], 5], proofs[0][1]), proofs[1]], weights[:2])


def test_a_false_witness_gives_a_false_proof() -> None:
    system, inputs, aux = r1cs.from_explicit(load("cubic"))
    parameters = parameters_of("cubic")
    for wrong_inputs, wrong_aux in [
        (inputs, [4, *aux[1:]]),
        (inputs, [*aux[:2], Fr.add(aux[2], 1)]),
        ([1, 36], aux),
    ]:
        proof = groth16.prove(BLS12_381, parameters, system, wrong_inputs, wrong_aux, 3, 4)
        assert not groth16.verify(BLS12_381, parameters.vk, wrong_inputs[1:], proof)


def test_tampered_proofs_and_keys_do_not_verify() -> None:
    circuit = load("cubic")
    vk = parameters_of("cubic").vk
    a, b, c = proof_from_bytes(bytes.fromhex(circuit["proofs"][0]["proof"]))
    g1, g2 = BLS12_381.g1, BLS12_381.g2
    assert groth16.verify(BLS12_381, vk, [35], Proof(a, b, c))
    for false in [
        Proof(g1.neg(a), b, c),
        Proof(a, g2.neg(b), c),
        Proof(a, b, g1.neg(c)),
        Proof(c, b, a),
        Proof(g1.add(a, g1.generator), b, c),
        Proof(a, g2.add(b, g2.generator), c),
        Proof(a, b, g1.double(c)),
        Proof(None, None, None),
    ]:
        assert not groth16.verify(BLS12_381, vk, [35], false)
    # Both signs turned is the same proof in other clothes: Groth16 proofs are malleable.
    assert groth16.verify(BLS12_381, vk, [35], Proof(g1.neg(a), g2.neg(b), c))
    for other in CIRCUITS[1:]:
        other_vk = parameters_of(other).vk
        assert not groth16.verify(BLS12_381, other_vk, [35] * (len(other_vk.ic) - 1), Proof(a, b, c))


def test_what_is_refused() -> None:
    circuit = load("cubic")
    system, inputs, aux = r1cs.from_explicit(circuit)
    waste = waste_of(circuit["setup"])
    parameters = parameters_of("cubic")
    for wrong in ([], [35, 1]):
        with pytest.raises(ValueError, match="the verifying key is for 1"):
            groth16.verify(BLS12_381, parameters.vk, wrong, Proof(None, None, None))
    with pytest.raises(ValueError, match="points, the circuit needs"):
        groth16.prove(BLS12_381, parameters_of("mixed"), system, inputs, aux, 1, 1)
    unconstrained = r1cs.System(Fr, system.num_inputs, system.num_aux + 1, system.rows)
    with pytest.raises(ValueError, match="aux variable 3 is not constrained"):
        groth16.setup(BLS12_381, unconstrained, waste)
    rows = r1cs.evaluate(system, system.rows, inputs, [*aux[:2], 28])
    with pytest.raises(ValueError, match="row 1 does not hold"):
        proof_from_waste(BLS12_381, waste, parameters.vk, *rows, inputs, 0, 0)
    with pytest.raises(ValueError, match="2, 3 and 3 row values"):
        proof_from_waste(BLS12_381, waste, parameters.vk, [1, 1], [1] * 3, [1] * 3, inputs, 0, 0)


@pytest.mark.parametrize("cut", [0, 1, 95, 863, 864, 867, 1059, 1060, 1063, 3095])
def test_truncated_files_are_refused(cut: int) -> None:
    with pytest.raises(EncodingError, match="are left"):
        keys.read_parameters(file_of("cubic", "params")[:cut])


def test_damaged_files_are_refused_and_the_rest_is_returned() -> None:
    data = file_of("cubic", "params")
    parameters, rest = keys.read_parameters(data + b"ceremony", subgroup=True)
    assert (parameters, rest) == (parameters_of("cubic"), b"ceremony")
    vk, rest = keys.read_verifying_key(data)
    assert vk == parameters.vk
    assert rest == data[len(file_of("cubic", "vk")) :]
    for offset in (10, 200, 900, 1100, 1500, len(data) - 10):
        damaged = bytearray(data)
        damaged[offset] ^= 4
        with pytest.raises(EncodingError, match="offset"):
            keys.read_parameters(bytes(damaged))
    infinity = data[:1064] + b"\x40" + bytes(95) + data[1160:]
    with pytest.raises(EncodingError, match="offset 1064: G1: the point at infinity"):
        keys.read_parameters(infinity)
    infinite_ic = data[:868] + b"\x40" + bytes(95) + data[964:]
    with pytest.raises(EncodingError, match="offset 868: G1: the point at infinity"):
        keys.read_parameters(infinite_ic)
