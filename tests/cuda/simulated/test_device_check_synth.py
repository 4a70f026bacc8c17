"""The script that checks synthesis on a card runs to its end on small shapes, and notices a wrong value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuzk.circuits import synthesis_cuda
from cuzk.circuits.synthesis_cuda import Synthesizer
from scripts import device_check_synth as script


@pytest.fixture(autouse=True)
def _launch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthesis_cuda, "launch", synthesis_cuda.launch)  # the script puts its own there


def run(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["device_check_synth.py", str(out), "--cases", "toy:0,toy:5", "--times", "2", "--blocking", ""]
    monkeypatch.setattr("sys.argv", words)
    script.main()


def test_small_shapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "out.json", monkeypatch)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["passed"] and set(found["cases"]) == {"toy:0", "toy:5"} and len(found["checks"]) == 2
    facts = found["cases"]["toy:0"]["partition 0"]
    assert len(facts["runs"]) == 2 and facts["launches"] and facts["witness_ms"]["median"] > 0
    assert all(row["bytes_out"] == 0 < row["bytes_in"] for row in facts["runs"])


@pytest.mark.parametrize("where", ["bits", "values", "rows"])
def test_a_wrong_value_is_noticed(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Synthesizer.rows

    def faulty(self: Synthesizer, to: Any, stream: Any) -> None:
        rows(self, to, stream)
        buffer = to.rows[1] if where == "rows" else getattr(to, where)
        buffer.fill(0x5A, 1, 3)

    monkeypatch.setattr(Synthesizer, "rows", faulty)
    with pytest.raises(SystemExit, match="FAILED"):
        run(tmp_path / "out.json", monkeypatch)
    found = json.loads((tmp_path / "out.json").read_text())
    assert not found["passed"] and "differ" in found["error"]
