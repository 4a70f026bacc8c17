"""Whole proofs through the command line's own code on a simulated card: the oracle's bytes, memory, retries, refusals.

The sums of points are taken from the CPU here, since whole scalars take the simulator minutes; one circuit runs all of it.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk import device, ntt_cuda
from cuzk.circuits import synthesis_cuda
from cuzk.commands import prove
from cuzk.cuda import simulated
from cuzk.curve import g1
from cuzk.errors import CuzkError, DeviceError, FalseInput, InternalError, ResourceError
from cuzk.field.limbs import FR_LIMBS
from cuzk.groth16 import host_points, key_cuda, needs_cuda
from cuzk.groth16.prove_cuda import Prover
from cuzk.msm import cuda, pippenger
from cuzk.msm.cuda_scratch import DevicePoints
from cuzk.msm.rows import rows_from_mont
from cuzk.progress import Progress
from tests.conftest import VECTORS
from tests.test_end_to_end import CIRCUITS, STEPS, run


def read(address: int, shape: Any, dtype: Any) -> np.ndarray:
    out = np.empty(shape, dtype)
    if out.size:
        ctypes.memmove(out.ctypes.data, address, out.nbytes)
    return out


class Msm(cuda.Msm):
    """`cuda.Msm` by the CPU."""

    def start(self, points: DevicePoints, scalars: int, n: int, index: int = 0, mark: Any = None) -> None:
        assert n <= self.plan.n and points.curve == self.plan.curve
        rows = points.read()
        if index:
            rows = rows[read(index, n, np.uint32)]
        self.sum = pippenger.msm(rows_from_mont(points.curve, rows[:n]), read(scalars, (n, FR_LIMBS), np.uint64))

    def finish(self, mark: Any = None) -> Any:
        return self.sum


class Selection(cuda.Selection):
    """`cuda.Selection` by the CPU."""

    def __init__(self, scratch: Any, curve: str) -> None:
        self.curve = curve

    def run(self, points: DevicePoints, bits: int, n: int, index: int = 0, mark: Any = None) -> Any:
        words = read(bits, -(-n // 32), np.uint32)
        chosen = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
        assert not len(chosen) or chosen[-1] < n
        return pippenger.sum_selected(rows_from_mont(self.curve, points.read()), chosen.astype(np.uint32))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_cuda, "Msm", Msm)
    monkeypatch.setattr(key_cuda, "Selection", Selection)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    for inverse in (False, True):
        ntt_cuda._inner(device.card(0), inverse)  # kept for good
    before = device.card(0).used
    yield
    assert device.card(0).used == before


def parameters(name: str, folder: Path) -> Path:
    """The circuit's file; its parameters are in the folder then."""
    source = VECTORS / "groth16" / name / "circuit.json"
    run("setup", source, "-o", folder, "--toxic-waste", source, "--device", "cpu")
    return source


def proof_with(source: Path, folder: Path, expected: dict[str, Any], *more: object) -> tuple[str, dict[str, Any]]:
    randomness = folder / "randomness.json"
    randomness.write_text(json.dumps({"randomness": [{"partition": 0, "r": expected["r"], "s": expected["s"]}]}))
    out = folder / "proof.bin"
    command = ("prove", source, "-o", out, "--params", folder, "--unsafe-randomness", randomness, "--device", "cuda", *more)
    result = run(*command)
    return out.read_bytes().hex(), result


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", CIRCUITS)
def test_small_circuits(name: str, tmp_path: Path) -> None:
    source = parameters(name, tmp_path)
    proofs = json.loads(source.read_text())["proofs"]
    for expected in proofs if name == "cubic" else proofs[1:2]:
        got, result = proof_with(source, tmp_path, expected)
        assert got == expected["proof"]
        assert (result["device"], result["verified"], result["retries"]) == ("cuda:0", True, 0)
        steps = {"check", "ntt_h", "msm_h", "msm_l", "msm_a", "msm_b_g1", "msm_b_g2"}
        assert set(result["device_phases"]) == steps and steps | set(STEPS) < set(result["phases"])
        assert "verify" in result["side_by_side"]
        seconds = sum(result["phases"].values()) - sum(result["side_by_side"].values())
        assert seconds == pytest.approx(result["seconds"], abs=2e-3)
        (card,) = result["cards"]
        assert card["device"] == "cuda:0" and 0 < card["taken"] <= card["predicted"] <= card["free_memory"]


@pytest.mark.slow
def test_a_whole_proof(tmp_path: Path) -> None:
    source = parameters("cubic", tmp_path)
    expected = json.loads(source.read_text())["proofs"][0]
    got, _ = proof_with(source, tmp_path, expected)
    assert got == expected["proof"]


def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums in small pieces."""
    cut = needs_cuda._cut

    def small(to: Any, *arguments: Any) -> None:
        cut(to, *arguments)
        to.h = needs_cuda.cuda_plan.resized(to.h, 50)
        for name, one in to.cuts.items():
            to.cuts[name] = needs_cuda.Cut(needs_cuda.cuda_plan.resized(one.dense, 7), 32)

    monkeypatch.setattr(needs_cuda, "_cut", small)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("plan", needs_cuda.PLANS, ids=lambda plan: "-".join(plan[0]) + "-shared" * plan[1] or "resident")
def test_every_plan_in_pieces(plan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = parameters("mixed", tmp_path)
    expected = json.loads(source.read_text())["proofs"][0]
    in_pieces(monkeypatch)
    monkeypatch.setattr(needs_cuda, "PLANS", (plan,))
    monkeypatch.setattr(host_points, "BLOCK", 11)
    got, result = proof_with(source, tmp_path, expected)
    assert got == expected["proof"]
    (card,) = result["cards"]
    assert tuple(card["streamed"]) == plan[0] and card["shared_tables"] is plan[1]
    assert (card["host_points"] > 0) is bool(plan[0]) and card["taken"] <= card["predicted"]


@pytest.mark.usefixtures("quick")
def test_too_little_host_memory_for_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = parameters("cubic", tmp_path)
    expected = json.loads(source.read_text())["proofs"][0]
    monkeypatch.setattr(needs_cuda, "PLANS", needs_cuda.PLANS[-1:])
    monkeypatch.setattr(prove, "_check_memory", lambda *_, **__: 100)
    with pytest.raises(ResourceError, match="host memory for points") as caught:
        proof_with(source, tmp_path, expected)
    assert "100 bytes" in str(caught.value.got) and "--device-memory" in str(caught.value.hint)


def faults(monkeypatch: pytest.MonkeyPatch, errors: list[CuzkError | None]) -> list[int]:
    """Make `Prover.prove` raise, one error after the other; a None makes its proof false."""
    prove, calls = Prover.prove, [0]

    def faulty(self: Prover, place: Any, r: int, s: int, timer: Any, step: Any) -> Any:
        calls[0] += 1
        if not errors:
            return prove(self, place, r, s, timer, step)
        error = errors.pop(0)
        if error is not None:
            raise error
        proof = prove(self, place, r, s, timer, step)
        return type(proof)(proof.a, proof.b, g1.g1_neg(proof.c))

    monkeypatch.setattr(Prover, "prove", faulty)
    return calls


@pytest.mark.usefixtures("quick")
def test_a_failed_partition_is_proved_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = parameters("cubic", tmp_path)
    expected = json.loads(source.read_text())["proofs"][0]
    faults(monkeypatch, [None, DeviceError("a kernel failed")])
    got, result = proof_with(source, tmp_path, expected)
    assert got == expected["proof"] and result["retries"] == 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("errors", "kind", "calls"),
    [
        ([None, None, None], InternalError, 3),
        ([ResourceError("the card is out of memory")], ResourceError, 1),
        ([FalseInput("not so")], FalseInput, 1),
    ],
    ids=["three times false", "memory", "false input"],
)
def test_no_proof(errors: list[Any], kind: type, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = parameters("cubic", tmp_path)
    expected = json.loads(source.read_text())["proofs"][0]
    made = faults(monkeypatch, errors)
    with pytest.raises(kind) as caught:
        proof_with(source, tmp_path, expected)
    assert caught.value.partition == 0 and made == [calls]
    assert not (tmp_path / "proof.bin").exists()


@pytest.mark.usefixtures("quick")
def test_a_card_that_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = parameters("cubic", tmp_path)
    expected = json.loads(source.read_text())["proofs"][0]
    calls = faults(monkeypatch, [DeviceError("an illegal address")] * 9)

    def lost(self: Any) -> None:
        if calls[0]:
            raise DeviceError("an illegal address")

    monkeypatch.setattr(simulated.Card, "synchronize", lost)
    with pytest.raises(DeviceError) as caught:
        proof_with(source, tmp_path, expected)
    assert caught.value.code == 6 and calls == [1] and not (tmp_path / "proof.bin").exists()


@pytest.mark.usefixtures("quick")
def test_a_false_assignment_is_found_on_the_card(tmp_path: Path) -> None:
    content = json.loads(parameters("cubic", tmp_path).read_text())
    content["aux"][1] = "0xa"
    bad = tmp_path / "circuit.json"
    bad.write_text(json.dumps(content))
    with pytest.raises(FalseInput) as caught:
        proof_with(bad, tmp_path, content["proofs"][0])
    assert (caught.value.code, caught.value.phase) == (4, "eval_abc") and str(caught.value.where).startswith("row ")
    with pytest.raises(FalseInput) as on_cpu:
        run("prove", bad, "-o", tmp_path / "proof.bin", "--params", tmp_path, "--device", "cpu")
    assert on_cpu.value.where == caught.value.where


@pytest.mark.usefixtures("quick")
def test_too_little_device_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = parameters("mixed", tmp_path)
    expected = json.loads(source.read_text())["proofs"][0]
    with pytest.raises(ResourceError) as caught:
        proof_with(source, tmp_path, expected, "--device-memory", "1M")
    assert caught.value.code == 7 and caught.value.where == "cuda:0 simulator, --device-memory"
    assert str(1 << 20) in str(caught.value.got) and "raise --device-memory" in str(caught.value.hint)
    least = int(str(caught.value.expected).removeprefix("at least ").split()[0])
    with pytest.raises(ResourceError):
        proof_with(source, tmp_path, expected, "--device-memory", least - needs_cuda.PAGE)
    monkeypatch.setattr(simulated.Card, "free_memory", lambda _: 3 << 20)
    with pytest.raises(ResourceError) as full:
        proof_with(source, tmp_path, expected)
    assert (full.value.code, full.value.where) == (7, "cuda:0 simulator") and "--device-memory" not in str(full.value.hint)
    lines: list[str] = []
    monkeypatch.setattr(Progress, "line", lambda self, text: lines.append(text))
    assert run("prove", source, "-o", tmp_path / "proof.bin", "--params", tmp_path)["device"] == "cpu"
    line = f"cuda:0 simulator is not used: not enough device memory for this proof: needs at least {least} bytes"
    assert any(x.startswith(line) and f"has {3 << 20} bytes" in x for x in lines)
    with pytest.raises(CuzkError) as usage:
        proof_with(source, tmp_path, expected, "--device-memory", "much")
    assert usage.value.code == 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("opt", ["parallel-b-g2=on", "msm-window=9"])
def test_switches_of_the_cpu_are_refused(opt: str, tmp_path: Path) -> None:
    source = VECTORS / "groth16" / "cubic" / "circuit.json"
    with pytest.raises(CuzkError, match="sums of points on the CPU") as caught:
        run("prove", source, "-o", tmp_path / "p", "--device", "cuda", "--opt", opt)
    assert caught.value.code == 2


@pytest.mark.usefixtures("quick")
def test_auto_takes_a_card_that_works_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = parameters("cubic", tmp_path)
    out = tmp_path / "proof.bin"
    assert run("prove", source, "-o", out, "--params", tmp_path)["device"] == "cuda:0"
    monkeypatch.setattr(simulated.Card, "launch", lambda *_: None)  # a card on which nothing happens
    assert run("prove", source, "-o", out, "--params", tmp_path)["device"] == "cpu"
    with pytest.raises(DeviceError, match="wrong results"):
        run("prove", source, "-o", out, "--params", tmp_path, "--device", "cuda")


def test_packed_bits() -> None:
    for n in (0, 1, 31, 32, 33, 100):
        bits = (np.arange(n) % 3 == 1).astype(np.uint8)
        words = synthesis_cuda.packed_bits(bits)
        assert words.dtype == np.uint32 and len(words) == -(-n // 32)
        assert [int(words[i // 32]) >> (i % 32) & 1 for i in range(n)] == bits.tolist()
