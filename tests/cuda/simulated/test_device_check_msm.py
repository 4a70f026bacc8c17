"""The script that checks and times sums of points on a card runs to its end at toy sizes, and notices a wrong result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuzk.kernels import msm_cuda
from cuzk.msm import cuda_plan, cuda_scratch
from scripts import device_check_msm as script

TOY = {
    "time": "4",
    "g2": "3",
    "bits": "6",
    "small": "1,5",
    "skew": "4",
    "cpu": "3",
    "pairs": "4",
    "stream": "0",
    "repeat": "2",
    "bit-length": "10",
    "width": "4",
}


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_plan, "SCALAR_BITS", 12)
    monkeypatch.setattr(cuda_scratch, "_FEW", 6)
    monkeypatch.setattr(cuda_scratch, "_GATHERERS", 3)


def run(out: Path, monkeypatch: pytest.MonkeyPatch, **other: str) -> None:
    words = [f"--{name}={value}" for name, value in (TOY | other).items()]
    monkeypatch.setattr("sys.argv", ["device_check_msm.py", str(out), *words])
    script.main()


@pytest.mark.slow
def test_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "out.json", monkeypatch)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["passed"] and len(found["checks"]) == 16 and not found["left_out"]
    assert sum(check["times"] != 2 for check in found["checks"]) == 2 and found["repeat"] == 2  # the first points of each curve
    times = [name for name in found["times_ms"] if name.startswith("g1 MSM 2^4")]
    assert times and found["phases_ms"][times[0]].keys() >= {"digits", "sort", "wave 1", "rows and columns", "bits"}
    assert "g1 MSM 2^4, one value everywhere, of random" in found["rates"]


def test_a_wrong_sum_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(msm_cuda, "list_pairs", msm_cuda.count_pairs)
    with pytest.raises((SystemExit, AssertionError)):
        run(tmp_path / "out.json", monkeypatch)
    assert not json.loads((tmp_path / "out.json").read_text())["passed"]
