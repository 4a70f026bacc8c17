"""The script that proves on a card runs to its end on a small circuit, and notices a wrong proof."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuzk.curve import g1
from cuzk.groth16 import key_cuda, prove_cuda
from scripts import device_check_prove as script
from tests.cuda.simulated.test_prove import Msm, Selection


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch, fresh_cache: Path) -> None:
    monkeypatch.setattr(key_cuda, "Msm", Msm)
    monkeypatch.setattr(key_cuda, "Selection", Selection)


def run(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["device_check_prove.py", str(out), "--cases", "../groth16/cubic", "--proofs", "0"])
    script.main()


def test_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "out.json", monkeypatch)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["passed"] and len(found["checks"]) == 1
    assert set(found["cases"]["../groth16/cubic"]["device_phases"]) >= {"ntt_h", "msm_h"}


def test_a_wrong_proof_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assemble = prove_cuda.assemble
    monkeypatch.setattr(prove_cuda, "assemble", lambda vk, h, *others: assemble(vk, g1.g1_neg(h), *others))
    with pytest.raises(SystemExit, match="FAILED: cuzk prove"):
        run(tmp_path / "out.json", monkeypatch)
    assert not json.loads((tmp_path / "out.json").read_text())["passed"]
