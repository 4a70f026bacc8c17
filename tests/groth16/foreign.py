"""Proofs that others made, with their keys and public inputs."""

from __future__ import annotations

import json
from functools import cache

from cuzk.formats import vk
from cuzk.groth16.keys import VerifyingKey
from cuzk.groth16.proof import PROOF_BYTES
from tests.conftest import VECTORS

SMALL = ("cubic", "mixed", "full-domain", "one-over")
C1_CASES = ("2kib-v1_1", "2kib-v1", "2kib-synthetic", "2kib-non-interactive")
OTHERS = ("winning", "window", "update")
CHAIN = ("spend", "output")
KINDS = (*SMALL, *C1_CASES, *OTHERS, *CHAIN)


def key_file(kind: str) -> str:
    """Path below the vectors of the verifying key of a kind of proof."""
    if kind in SMALL:
        return f"groth16/{kind}/{kind}.vk"
    if kind in C1_CASES:
        return "groth16/porep-2kib.vk"
    return f"proofs/{kind}.vk" if kind in OTHERS else f"zcash/{kind}.vk"


@cache
def key_of(kind: str) -> VerifyingKey:
    """The verifying key."""
    found = vk.read(VECTORS / key_file(kind))
    assert found.trailing_bytes == 0
    return found.key


def scalars(words: list[str]) -> list[int]:
    """Hex of little-endian integers."""
    return [int.from_bytes(bytes.fromhex(word), "little") for word in words]


@cache
def cases_of(kind: str) -> list[tuple[list[int], bytes]]:
    """(public inputs, 192 bytes) for every proof of a kind."""
    if kind in SMALL:
        circuit = json.loads((VECTORS / f"groth16/{kind}/circuit.json").read_text())
        inputs = [int(word, 16) for word in circuit["inputs"]][1:]
        return [(inputs, bytes.fromhex(p["proof"])) for p in circuit["proofs"]]
    if kind in CHAIN:
        records = json.loads((VECTORS / f"zcash/{kind}.json").read_text())
        return [(scalars(r["public_inputs_le"]), bytes.fromhex(r["proof"])) for r in records]
    if kind == "2kib-v1_1":
        data = bytes.fromhex(json.loads((VECTORS / "groth16/porep-2kib-v1_1-proof.json").read_text())["proof"])
    else:
        data = (VECTORS / f"proofs/{kind}.bin").read_bytes()
    place = f"c1/{kind}/expected.json" if kind in C1_CASES else f"proofs/{kind}.json"
    lists = json.loads((VECTORS / place).read_text())["public_inputs_le"]
    assert len(data) == PROOF_BYTES * len(lists)
    return [(scalars(words), data[i * PROOF_BYTES : (i + 1) * PROOF_BYTES]) for i, words in enumerate(lists)]
