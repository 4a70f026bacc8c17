"""Parameters made on a simulated card: the points of the CPU's setup in any pieces, and whole proofs with them.

The multiples are taken from the CPU here, since whole scalars take the simulator minutes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk import device
from cuzk.curve import encoding
from cuzk.formats import circuit
from cuzk.groth16 import key_cuda, setup_cuda
from cuzk.groth16.crs import VECTORS as NAMES
from cuzk.groth16.logarithms import Logarithms, development_waste
from cuzk.groth16.setup import Setup, vk_be
from cuzk.msm import fixed_base
from cuzk.msm.cuda_scratch import DevicePoints
from cuzk.parameters import resident
from tests.conftest import VECTORS
from tests.cuda.simulated.test_prove import Msm, Selection, read
from tests.test_end_to_end import run


class FixedBase:
    """`fixed_base_cuda.FixedBase` by the CPU."""

    def __init__(self, scratch: Any, curve: str, base_mont: Any, expected_count: int, c: int | None = None) -> None:
        self.block, self._base = 5, fixed_base.FixedBase(curve, base_mont, expected_count)

    def multiples_into(self, out: DevicePoints, scalars: int, n: int) -> None:
        assert n <= min(out.count, self.block)
        out.buffer.write(self._base.multiples(read(scalars, (n, 4), np.uint64)), out.offset)

    def free(self) -> None:
        pass


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_cuda, "Msm", Msm)
    monkeypatch.setattr(key_cuda, "Selection", Selection)
    monkeypatch.setattr(setup_cuda, "FixedBase", FixedBase)


@pytest.mark.parametrize("name", ["cubic", "mixed"])
def test_points_as_the_cpu_makes_them(name: str) -> None:
    shape, _ = circuit.load(VECTORS / "groth16" / name / "circuit.json")
    waste, card = development_waste(name), device.card(0)
    reference, logarithms, before = Setup(shape, waste), Logarithms(shape, waste), card.used
    points = setup_cuda.Points(logarithms)
    assert vk_be(logarithms) == reference.vk_be()
    for vector, curve in NAMES:
        want = encoding.decode(curve, np.concatenate([*reference.blocks(vector)]), compressed=False)
        whole = points(card, vector)
        assert np.array_equal(whole.read(), want), vector
        part, most = points(card, vector, 1, min(2, len(want) - 1)), max(0, len(want) - 2)
        assert np.array_equal(part.read(), want[1:3])
        assert np.array_equal(points(card, vector, most).read(), want[most:])
        assert points(card, vector, 1, 0).count == 0
    assert points.scratch_bytes(card.multiprocessors) > 0
    del whole, part
    assert card.used == before


@pytest.mark.parametrize("name", ["cubic", "mixed", "full-domain"])
@pytest.mark.parametrize("fold", ["on", "off"])
def test_a_proof_without_a_file(name: str, fold: str, tmp_path: Path, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = VECTORS / "groth16" / name / "circuit.json", tmp_path / "proof.bin"
    expected = json.loads(source.read_text())["proofs"][0]
    randomness = tmp_path / "randomness.json"
    randomness.write_text(json.dumps({"randomness": [{"partition": 0, "r": expected["r"], "s": expected["s"]}]}))
    command = ("prove", source, "-o", out, "--params", "dev", "--unsafe-randomness", randomness)
    monkeypatch.setattr(resident, "wanted", lambda located, shape: True)
    result = run(*command, "--device", "cuda", "--opt", f"fold-c={fold}")
    made = result["parameters"]
    assert (made["kind"], made["path"], made["digest"], made["accepted_by_chain"]) == ("development", None, None, False)
    assert not list(fresh_cache.rglob("*.params"))
    assert run(*command, "--device", "cpu")["proof"] == result["proof"]
    assert made["vk_digest"].removeprefix("sha256:") in next(fresh_cache.rglob(f"cuzk-dev-{name}.json")).read_text()
