"""The script that compares settings on a card runs to its end on a small circuit, and its verdict can be taken over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuzk.groth16 import key_cuda
from scripts import device_measure_variants as script
from scripts import measure_variants
from tests.conftest import VECTORS
from tests.cuda.simulated.test_prove import Msm, Selection


@pytest.mark.parametrize("switch", ["pinned", "fold-c"])
def test_all_of_it(switch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_cache: Path) -> None:
    monkeypatch.setattr(key_cuda, "Msm", Msm)
    monkeypatch.setattr(key_cuda, "Selection", Selection)
    out, circuit = tmp_path / "out.json", VECTORS / "groth16/cubic/circuit.json"
    words = ["device_measure_variants.py", str(out), "--rounds", "1", "--warmup", "0", "--size", str(circuit)]
    words += ["--switch", switch]
    monkeypatch.setattr("sys.argv", words)
    script.main()
    (found,) = json.loads(out.read_text())["comparisons"]
    assert [v["name"] for v in found["variants"]] == ["base", f"{switch}=off"] and len(found["variants"][1]["times"]) == 1
    assert any(name.startswith("card: ") for name in found["variants"][0]["phases"])
    result: dict[str, object] = {}
    measure_variants.record(result, found)
    assert result["comparisons"] == [found]
