"""The script that checks and times a card runs to its end at toy sizes, and notices a wrong result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cuzk.bench import measure
from cuzk.field.limbs import fr_mont, from_limbs
from cuzk.field.params import FR_GENERATOR, R
from cuzk.kernels import ntt_cuda
from scripts import device_check_ntt as script

TOY = {"small": 3, "check": 6, "sparse": 5, "time": 3, "quotient": 6, "repeat": 2, "rounds": 2, "levels": 3}


def run(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["device_check_ntt.py", str(out), *(f"--{name}={value}" for name, value in TOY.items())])
    script.main()


def test_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "out.json", monkeypatch)
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["passed"] and len(found["checks"]) == 10
    assert {check["times"] for check in found["checks"]} == {TOY["repeat"]} and found["launch_blocking"] is False
    assert "ntt 2^3 forward" in found["times_ms"] and "ntt 2^3 forward" in found["times_ms_level_3"]
    assert "quotient 2^6, seven transforms" in found["times_ms"]


def test_a_wrong_transform_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntt_cuda, "dit", ntt_cuda.dif)
    with pytest.raises(SystemExit, match="FAILED: ntt of 2"):
        run(tmp_path / "out.json", monkeypatch)
    assert not json.loads((tmp_path / "out.json").read_text())["passed"]


def test_sums_over_classes() -> None:
    values = [pow(3, i, R) for i in range(1000)]
    array = fr_mont(values)
    raw = from_limbs(array)
    for classes in (1, 64, 627):
        assert measure.class_sums(array, classes) == [sum(raw[i::classes]) for i in range(classes)]
    got, x = script.at_odd_point(array)
    assert pow(x, 627, R) == 1 and x == pow(FR_GENERATOR, (R - 1) // 627, R)
    assert got == sum(v * pow(x, i, R) for i, v in enumerate(raw)) % R
    assert script.below_r(array)
    array[5] = np.array(fr_mont([0])) + np.uint64(0xFFFFFFFFFFFFFFFF)
    assert not script.below_r(array)
