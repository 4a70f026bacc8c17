"""SHA-256 against FIPS 180-4's examples and hashlib."""

from __future__ import annotations

import hashlib
import json

import pytest

from cuzk.spec.sha256 import IV, K, compress, pad, sha256
from tests.conftest import VECTORS

EXAMPLES = json.loads((VECTORS / "hash" / "sha256.json").read_text())


def test_constants_are_those_of_the_standard() -> None:
    """First and last of each table in FIPS 180-4, sections 4.2.2 and 5.3.3."""
    assert (K[0], K[1], K[62], K[63]) == (0x428A2F98, 0x71374491, 0xBEF9A3F7, 0xC67178F2)
    assert (IV[0], IV[7]) == (0x6A09E667, 0x5BE0CD19)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e["text"][:8] or "empty")
def test_examples(example: dict[str, str]) -> None:
    assert sha256(example["text"].encode()).hex() == example["digest"]


@pytest.mark.parametrize("length", [*range(50, 70), 111, 112, 119, 120, 127, 128, 129, 1000])
def test_lengths_around_the_padding(length: int, draw) -> None:
    message = draw.random.randbytes(length)
    assert sha256(message) == hashlib.sha256(message).digest(), draw
    assert len(pad(message)) % 64 == 0


def test_a_changed_bit_changes_the_chain() -> None:
    block = bytes(64)
    assert compress(IV, block) != compress(IV, b"\x01" + block[1:])
    assert compress(IV, block) != compress([IV[0] ^ 1, *IV[1:]], block)
    assert sha256(b"") != hashlib.sha256(b"\0").digest()
