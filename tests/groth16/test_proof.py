"""192 bytes: what is refused, with its name and place."""

from __future__ import annotations

import pytest

from cuzk.curve.encoding import Fault
from cuzk.errors import MalformedInput
from cuzk.field.params import P
from cuzk.groth16.proof import PROOF_BYTES, Proof, decode_proofs
from cuzk.spec import encoding as spec_encoding
from cuzk.spec.curve import G1, G2
from tests.curve.conftest import outside_subgroup
from tests.groth16.foreign import cases_of

PARTS = {"A": (0, 48, G1), "B": (48, 96, G2), "C": (144, 48, G1)}


def good() -> bytes:
    return cases_of("2kib-v1_1")[0][1]


def bad_parts(name: str) -> list[tuple[bytes, Fault]]:
    _, size, curve = PARTS[name]
    outside = outside_subgroup("g2" if size == 96 else "g1", 4)
    top = bytearray(P.to_bytes(48, "big"))
    top[0] |= 0x80
    off = next(x for x in range(1, 50) if curve.lift_x(x if size == 48 else (x, 0), False) is None)
    return [
        (bytes([0xC0]) + bytes(size - 1), Fault.INFINITY),
        (bytes([0x40]) + bytes(size - 1), Fault.FLAGS),
        (bytes(size), Fault.FLAGS),
        (bytes(top) + bytes(size - 48), Fault.NOT_REDUCED),
        (bytes([0x80]) + off.to_bytes(size - 1, "big"), Fault.NOT_ON_CURVE),
        (spec_encoding.compress(curve, outside), Fault.NOT_IN_SUBGROUP),
    ]


@pytest.mark.parametrize("name", PARTS)
def test_bad_elements_are_named_with_their_offset(name: str) -> None:
    offset, size, curve = PARTS[name]
    for part, fault in bad_parts(name):
        data = good()[:offset] + part + good()[offset + size :]
        with pytest.raises(MalformedInput) as caught:
            Proof.decode(data, file="proof.bin", offset=384)
        error = caught.value
        assert error.message == f"proof element {name}: {fault.text}"
        assert (error.file, error.where) == ("proof.bin", f"byte {384 + offset}")
        assert error.expected == f"a compressed point of {curve.name}"
        assert error.code == 3


@pytest.mark.parametrize("length", [0, 1, 48, 96, 191, 193, 384])
def test_wrong_lengths(length: int) -> None:
    data = (good() * 2)[:length]
    with pytest.raises(MalformedInput, match="wrong length") as caught:
        Proof.decode(data)
    assert caught.value.got == f"{length} bytes"
    with pytest.raises(MalformedInput, match="wrong length") as caught:
        decode_proofs(data, 1)
    assert caught.value.expected == "192 × 1 = 192 bytes"


def test_elements_in_another_order_are_refused() -> None:
    a, b, c = good()[:48], good()[48:144], good()[144:]
    for data in (b + a + c, a + c + b):
        with pytest.raises(MalformedInput):
            Proof.decode(data)


def test_many_proofs_in_one_file() -> None:
    data = b"".join(d for _, d in cases_of("2kib-non-interactive"))
    proofs = decode_proofs(data, 13, file="p")
    assert b"".join(p.encode() for p in proofs) == data
    for count in (12, 14, 0):
        with pytest.raises(MalformedInput, match="wrong length"):
            decode_proofs(data, count)
    spoilt = bytearray(data)
    spoilt[5 * PROOF_BYTES + 48] &= 0x7F
    with pytest.raises(MalformedInput, match="element B") as caught:
        decode_proofs(bytes(spoilt), 13, file="p")
    assert caught.value.where == f"byte {5 * PROOF_BYTES + 48}"


def test_encoding_agrees_with_the_specification() -> None:
    for kind in ("cubic", "spend"):
        for _, data in cases_of(kind):
            assert spec_encoding.proof_to_bytes(*spec_encoding.proof_from_bytes(data)) == data
            assert Proof.decode(data).encode() == data
