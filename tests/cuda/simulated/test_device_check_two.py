"""The script that proves on two cards runs to its end on a small circuit, and notices faults; partitions change cards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuzk.commands import cards as commands
from cuzk.curve import g1
from cuzk.groth16 import key_cuda, needs_cuda, prove_cuda, setup_cuda
from cuzk.parameters import resident
from scripts import device_check_two as script
from tests.conftest import VECTORS
from tests.cuda.simulated.test_prove import Msm, Selection
from tests.cuda.simulated.test_setup import FixedBase


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch, fresh_cache: Path) -> None:
    monkeypatch.setattr(key_cuda, "Msm", Msm)
    monkeypatch.setattr(key_cuda, "Selection", Selection)
    monkeypatch.setattr(setup_cuda, "FixedBase", FixedBase)
    monkeypatch.setattr(resident, "wanted", lambda located, shape: True)


def run(out: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    circuit = VECTORS / "groth16" / "cubic" / "circuit.json"
    monkeypatch.setattr("sys.argv", ["device_check_two.py", str(out), "--circuit", str(circuit), "--runs", "1", "--case", ""])
    try:
        script.main()
    finally:
        found = json.loads(out.read_text())
    return found


@pytest.mark.parametrize("streamed", [False, True], ids=["resident", "streamed"])
def test_all_of_it(streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if streamed:
        monkeypatch.setattr(needs_cuda, "PLANS", needs_cuda.PLANS[-1:])
    found = run(tmp_path / "out.json", monkeypatch)
    assert found["passed"] and len(found["checks"]) == 3, found
    assert [card["device"] for card in found["memory"]["cards"]] == ["cuda:0", "cuda:1"]
    assert all(bool(card["streamed"]) is streamed for card in found["memory"]["cards"])


def test_a_card_that_computes_wrong_proofs_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every proof is checked on the CPU, whichever card it is from."""
    assemble = prove_cuda.assemble
    monkeypatch.setattr(prove_cuda, "assemble", lambda vk, h, *others: assemble(vk, g1.g1_neg(h), *others))
    with pytest.raises(Exception, match="pairing"):
        run(tmp_path / "out.json", monkeypatch)


def test_a_lost_card_that_keeps_its_partitions_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands._Run, "_works", lambda self: True)  # nobody sees that it is gone
    with pytest.raises((SystemExit, Exception)):
        run(tmp_path / "out.json", monkeypatch)
    assert not json.loads((tmp_path / "out.json").read_text())["passed"]
