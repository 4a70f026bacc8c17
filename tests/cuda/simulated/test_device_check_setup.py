"""The script that makes parameter files on a card runs to its end on a small circuit, and notices another file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuzk.bench import known, process
from cuzk.bench.process import Run
from cuzk.groth16 import setup_blocks_cuda
from scripts import device_check_setup as script
from tests.conftest import VECTORS
from tests.cuda.simulated.test_setup import FixedBase


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_blocks_cuda, "FixedBase", FixedBase)
    monkeypatch.setattr(setup_blocks_cuda, "BLOCK_POINTS", 5)


def run(out: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> dict[str, Any]:
    circuit = str(VECTORS / "groth16" / "cubic" / "circuit.json")
    monkeypatch.setattr("sys.argv", ["device_check_setup.py", str(out), "--as-cpu", circuit, "--large", circuit, *options])
    try:
        script.main()
    finally:
        found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stated = known.digests()
    answer = dict.fromkeys(script.SHOWN) | {part: {"sha256": stated[f"{part}_sha256"]} for part in ("params", "vk")}
    monkeypatch.setattr(process, "cuzk", lambda arguments, path: Run(1.0, 1.0, 1, answer | {"phases": {}}, True))
    found = run(tmp_path / "out.json", monkeypatch)
    (case,) = (case for name, case in found["cases"].items() if "cubic" in name)
    assert found["passed"] and len(found["checks"]) == 3 and "points_h" in case["phases"] and case["peak_memory"]
    answer["params"] = {"sha256": "00"}
    with pytest.raises(SystemExit, match="another file than the Rust stack's"):
        run(tmp_path / "out.json", monkeypatch)


def test_another_file_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = setup_blocks_cuda.CardSetup._encoded
    monkeypatch.setattr(setup_blocks_cuda.CardSetup, "_encoded", lambda self, *others: encoded(self, *others)[::-1].copy())
    with pytest.raises(SystemExit, match=r"cubic\.params differs"):
        run(tmp_path / "out.json", monkeypatch, "--runs", "0")
    assert not json.loads((tmp_path / "out.json").read_text())["passed"]
