"""On a card: the proofs of the Rust stack, byte for byte, through the command line's own code."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk.errors import ResourceError
from tests.conftest import VECTORS
from tests.test_end_to_end import CASES, c1_of, proof_of, run

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("case", [*CASES, "2kib-non-interactive"])
def test_two_kib_proofs_are_the_rust_stacks(case: str, tmp_path: Path) -> None:
    out, randomness = tmp_path / "proof.bin", VECTORS / "c1" / case / "proof.json"
    command = ("prove", *c1_of(case), "-o", out, "--params", "dev", "--unsafe-randomness", randomness, "--device", "cuda:0")
    result = run(*command)
    assert out.read_bytes().hex() == proof_of(case)["proof"] == result["proof"]
    assert (result["device"], result["verified"], result["retries"]) == ("cuda:0", True, 0)
    (card,) = result["cards"]
    assert 0.9 < card["taken"] / card["predicted"] < 1.1


def test_too_little_device_memory(tmp_path: Path) -> None:
    out = tmp_path / "proof.bin"
    with pytest.raises(ResourceError) as caught:
        run("prove", *c1_of("2kib-v1"), "-o", out, "--params", "dev", "--device", "cuda:0", "--device-memory", "1G")
    assert caught.value.where == "--device-memory" and not out.exists()
