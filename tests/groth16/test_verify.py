"""The verifier on proofs that others made: they hold; with any input or byte changed they do not."""

from __future__ import annotations

import pytest

from cuzk.curve import g1, g2
from cuzk.errors import MalformedInput
from cuzk.field.params import R
from cuzk.groth16 import verify as verifier
from cuzk.groth16.proof import Proof
from cuzk.groth16.verify import verify, verify_many
from tests.conftest import Draw
from tests.groth16.foreign import CHAIN, KINDS, cases_of, key_of


@pytest.mark.parametrize("kind", KINDS)
def test_foreign_proofs_hold(kind: str) -> None:
    proofs = [Proof.decode(data) for _, data in cases_of(kind)]
    for proof, (inputs, data) in zip(proofs, cases_of(kind), strict=True):
        assert proof.encode() == data
        assert verify(key_of(kind), proof, inputs)
    assert verify_many(key_of(kind), proofs, [inputs for inputs, _ in cases_of(kind)]) == [True] * len(proofs)


@pytest.mark.parametrize("kind", KINDS)
def test_any_changed_input_makes_them_false(kind: str) -> None:
    inputs, data = cases_of(kind)[0]
    proof = Proof.decode(data)
    for i in range(min(len(inputs), 40)):
        for value in ((inputs[i] + 1) % R, R - 1 - inputs[i]):
            assert not verify(key_of(kind), proof, [*inputs[:i], value, *inputs[i + 1 :]]), i
    if len(inputs) > 1 and inputs[0] != inputs[1]:
        assert not verify(key_of(kind), proof, [inputs[1], inputs[0], *inputs[2:]])


@pytest.mark.parametrize("kind", CHAIN)
def test_any_changed_byte_is_malformed_or_false(kind: str) -> None:
    """All 192 bytes of a proof from a chain, one bit each."""
    inputs, data = cases_of(kind)[0]
    refused = 0
    for k in range(len(data)):
        changed = data[:k] + bytes([data[k] ^ (1 << (k % 8))]) + data[k + 1 :]
        try:
            proof = Proof.decode(changed)
        except MalformedInput:
            refused += 1
            continue
        assert not verify(key_of(kind), proof, inputs), k
    assert refused > len(data) // 3  # about half of all x have no point, and most of the others are not of order r


@pytest.mark.parametrize("kind", ["cubic", "2kib-v1_1", "spend"])
def test_changed_elements_make_it_false(kind: str, draw: Draw) -> None:
    """Well-formed elements that are not the proof's: negated, doubled, exchanged, of other proofs, scaled so that A B stays."""
    inputs, data = cases_of(kind)[0]
    key, p = key_of(kind), Proof.decode(data)
    k = draw.below(R - 3) + 2  # neither 0 nor a square root of 1: with k = -1 both factors together change nothing
    inverse = pow(k, -1, R)
    assert verify(key, Proof(g1.g1_mul(p.a, k), g2.g2_mul(p.b, inverse), p.c), inputs), draw  # a true proof of the same statement
    assert verify(key, Proof(g1.g1_neg(p.a), g2.g2_neg(p.b), p.c), inputs)
    for wrong in (
        Proof(g1.g1_neg(p.a), p.b, p.c),
        Proof(p.a, g2.g2_neg(p.b), p.c),
        Proof(p.a, p.b, g1.g1_neg(p.c)),
        Proof(p.c, p.b, p.a),
        Proof(g1.g1_add(p.a, p.a), p.b, p.c),
        Proof(p.a, p.b, g1.g1_add(p.c, g1.GENERATOR)),
        Proof(g1.g1_mul(p.a, k), g2.g2_mul(p.b, k), p.c),
        Proof(g1.GENERATOR, g2.GENERATOR, g1.GENERATOR),
    ):
        assert not verify(key, wrong, inputs), draw


def test_a_proof_for_another_key_is_false() -> None:
    inputs, data = cases_of("2kib-v1_1")[0]
    others = cases_of("2kib-v1")[0]
    assert not verify(key_of("2kib-v1_1"), Proof.decode(others[1]), inputs)
    assert not verify(key_of("2kib-v1_1"), Proof.decode(data), others[0])
    inputs, data = cases_of("full-domain")[0]
    assert not verify(key_of("one-over"), Proof.decode(data), inputs)


@pytest.mark.parametrize("bad", [[0], [12], [3, 7], list(range(13))])
def test_the_bad_ones_of_many_are_named(bad: list[int]) -> None:
    cases = cases_of("2kib-non-interactive")
    proofs = [Proof.decode(data) for _, data in cases]
    lists = [list(inputs) for inputs, _ in cases]
    for k in bad:
        lists[k][3] += 1
    assert verify_many(key_of("2kib-v1_1"), proofs, lists) == [k not in bad for k in range(13)]


def test_errors_that_cancel_without_weights_do_not_pass() -> None:
    """C1 + D and C2 - D: the plain sum of the two equations holds; a batch with random weights refuses it."""
    (inputs1, data1), (inputs2, data2) = cases_of("spend")[:2]
    p1, p2 = Proof.decode(data1), Proof.decode(data2)
    d = g1.g1_mul(g1.GENERATOR, 5)
    forged = [Proof(p1.a, p1.b, g1.g1_add(p1.c, d)), Proof(p2.a, p2.b, g1.g1_add(p2.c, g1.g1_neg(d)))]
    assert verify_many(key_of("spend"), forged, [inputs1, inputs2]) == [False, False]


def test_weights_are_random_and_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all weights equal the forgery above passes the joint check: the weights are what stops it."""
    (inputs1, data1), (inputs2, data2) = cases_of("spend")[:2]
    p1, p2 = Proof.decode(data1), Proof.decode(data2)
    d = g1.g1_mul(g1.GENERATOR, 5)
    forged = [Proof(p1.a, p1.b, g1.g1_add(p1.c, d)), Proof(p2.a, p2.b, g1.g1_add(p2.c, g1.g1_neg(d)))]
    drawn = []

    def equal_weights(bits: int) -> int:
        drawn.append(bits)
        return 6

    monkeypatch.setattr(verifier.secrets, "randbits", equal_weights)
    assert verify_many(key_of("spend"), forged, [inputs1, inputs2]) == [True, True]
    assert drawn == [128, 128]


def test_none_and_one() -> None:
    inputs, data = cases_of("cubic")[0]
    assert verify_many(key_of("cubic"), [], []) == []
    assert verify_many(key_of("cubic"), [Proof.decode(data)], [inputs]) == [True]
    assert verify_many(key_of("cubic"), [Proof.decode(data)], [[inputs[0] + 1]]) == [False]


@pytest.mark.parametrize("value", [R, R + 1, 1 << 255, 1 << 256, -1])
def test_inputs_not_below_r_are_malformed(value: int) -> None:
    """x + r would be the same proof's input: a verifier that reduces accepts two encodings."""
    inputs, data = cases_of("spend")[0]
    proof = Proof.decode(data)
    for changed in ([value, *inputs[1:]], [inputs[0] + R, *inputs[1:]]):
        with pytest.raises(MalformedInput, match="≥ r") as caught:
            verify(key_of("spend"), proof, changed)
        assert caught.value.where == "public inputs[0]"
        with pytest.raises(MalformedInput, match="≥ r") as caught:
            verify_many(key_of("spend"), [proof, proof], [inputs, changed])
        assert caught.value.where == "proof 1: public inputs[0]"


def test_a_wrong_number_of_inputs_is_malformed() -> None:
    inputs, data = cases_of("spend")[0]
    proof = Proof.decode(data)
    for changed in (inputs[:-1], [*inputs, 0], [], [1, *inputs]):
        with pytest.raises(MalformedInput, match="number of public inputs") as caught:
            verify(key_of("spend"), proof, changed)
        assert caught.value.expected == "7 public inputs"
        assert caught.value.got == str(len(changed))
