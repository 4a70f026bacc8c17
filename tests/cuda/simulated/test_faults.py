"""Whatever fails on a card, wherever: no wrong proof, all memory goes back, and the next proof in the process is right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuzk import device
from cuzk.cuda import simulated
from cuzk.errors import CuzkError, DeviceError, ResourceError
from cuzk.groth16 import key_cuda, needs_cuda
from tests.conftest import Draw
from tests.cuda.simulated.test_prove import Msm, Selection, nothing_is_left, parameters, proof_with

__all__ = ["nothing_is_left"]  # a fixture of these tests too

RESIDENT, STREAMED = needs_cuda.PLANS[0], needs_cuda.PLANS[-1]
Fault = Callable[[str], CuzkError]
OUT_OF_MEMORY: Fault = lambda what: ResourceError("the card is out of memory", where=what)  # noqa: E731
FAILED: Fault = lambda what: DeviceError("the CUDA driver failed", where=what)  # noqa: E731


class Faults:
    """Calls of the card's interface, counted; the one with the number `at` raises."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at, self.calls, self.fault = 0, 0, FAILED
        for owner, name in (
            (simulated.Buffer, "__init__"),
            (simulated.Buffer, "write"),
            (simulated.Buffer, "read_into"),
            (simulated.Buffer, "fill"),
            (simulated.Card, "launch"),
            (simulated.Card, "read_at"),
            (simulated.Card, "pinned"),
            (simulated.Event, "record"),
        ):
            monkeypatch.setattr(owner, name, self.counted(getattr(owner, name), f"{owner.__name__}.{name}"))

    def counted(self, function: Callable[..., Any], what: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self.at:
                raise self.fault(what)
            return function(*arguments, **named)

        return call

    def start(self, at: int, fault: Fault) -> None:
        self.at, self.calls, self.fault = at, 0, fault


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.setattr(key_cuda, "Msm", Msm)
    monkeypatch.setattr(key_cuda, "Selection", Selection)
    return Faults(monkeypatch)


@pytest.mark.parametrize("plan", [RESIDENT, STREAMED], ids=["resident", "streamed"])
@pytest.mark.parametrize("fault", [OUT_OF_MEMORY, FAILED], ids=["out of memory", "failed"])
def test_any_call_may_fail(
    fault: Fault, plan: Any, faults: Faults, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draw: Draw
) -> None:
    monkeypatch.setattr(needs_cuda, "PLANS", (plan,))
    source = parameters("cubic", tmp_path)
    expected = json.loads(source.read_text())["proofs"][0]
    card, out = device.card(0), tmp_path / "proof.bin"
    before = card.used
    faults.start(0, fault)
    got, _ = proof_with(source, tmp_path, expected)
    assert got == expected["proof"]
    calls = faults.calls
    proved = failed = 0
    for at in sorted(draw.random.sample(range(1, calls + 1), 16)):
        out.unlink()
        faults.start(at, fault)
        try:
            got, result = proof_with(source, tmp_path, expected)
            assert got == expected["proof"] and result["retries"] == 1, (at, draw)
            proved += 1
        except type(fault("")):
            failed += 1
            assert card.used == before and not out.exists(), (at, draw)
            faults.start(0, fault)
            assert proof_with(source, tmp_path, expected)[0] == expected["proof"]
    assert failed and (proved or fault is OUT_OF_MEMORY)
