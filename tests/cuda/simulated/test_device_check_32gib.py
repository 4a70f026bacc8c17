"""The script that proves a whole C1 with parameters made on the card runs to its end on a small circuit, and notices faults."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cuzk.curve import g1
from cuzk.groth16 import key_cuda, needs_cuda, prove_cuda, setup_cuda
from cuzk.parameters import resident
from scripts import device_check_32gib as script
from tests.conftest import VECTORS
from tests.cuda.simulated.test_prove import Msm, Selection
from tests.cuda.simulated.test_setup import FixedBase


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch, fresh_cache: Path) -> None:
    monkeypatch.setattr(key_cuda, "Msm", Msm)
    monkeypatch.setattr(key_cuda, "Selection", Selection)
    monkeypatch.setattr(setup_cuda, "FixedBase", FixedBase)
    monkeypatch.setattr(resident, "wanted", lambda located, shape: True)


def run(out: Path, monkeypatch: pytest.MonkeyPatch, name: str = "cubic") -> None:
    circuit = VECTORS / "groth16" / name / "circuit.json"
    monkeypatch.setattr("sys.argv", ["device_check_32gib.py", str(out), "--circuit", str(circuit), "--runs", "2"])
    script.main()


@pytest.mark.parametrize(("name", "streamed"), [("cubic", False), ("mixed", False), ("cubic", True)])
def test_all_of_it(name: str, streamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if streamed:
        monkeypatch.setattr(needs_cuda, "PLANS", needs_cuda.PLANS[-1:])
    run(tmp_path / "out.json", monkeypatch, name)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["passed"] and len(found["checks"]) == 7, found
    assert len(found["runs"]) == 2 and set(found["runs"][0]["device_phases"]) >= {"ntt_h", "msm_h"}
    assert found["memory"]["taken"] <= found["memory"]["predicted"]
    assert (tmp_path / "out.trace.json").exists()


def test_a_wrong_proof_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assemble = prove_cuda.assemble
    monkeypatch.setattr(prove_cuda, "assemble", lambda vk, h, *others: assemble(vk, g1.g1_neg(h), *others))
    with pytest.raises(Exception, match="pairing"):
        run(tmp_path / "out.json", monkeypatch)
    found = json.loads((tmp_path / "out.json").read_text())
    assert not found["passed"] and "pairing" in found["error"] and found["memory"]["predicted"]


def test_a_wrong_point_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill = setup_cuda.Points.fill

    def damaged(self: setup_cuda.Points, out: setup_cuda.DevicePoints, name: str, first: int) -> None:
        fill(self, out, name, first)
        if name == "b_g2":
            out.buffer.write(np.ones(1, np.uint64), 8)

    monkeypatch.setattr(setup_cuda.Points, "fill", damaged)
    with pytest.raises(SystemExit, match="point 0 of b_g2"):
        run(tmp_path / "out.json", monkeypatch)


def test_other_bytes_than_the_waste_gives_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that verifies, but with another r than it was asked for."""
    assemble = prove_cuda.assemble
    monkeypatch.setattr(prove_cuda, "assemble", lambda vk, h, l, a, b, c, r, s: assemble(vk, h, l, a, b, c, r + 1, s))
    with pytest.raises(SystemExit, match="the toxic waste gives"):
        run(tmp_path / "out.json", monkeypatch)
