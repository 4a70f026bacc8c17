"""`cuzk bench --device cuda` at toy sizes: rows, kernels, and what happens to a wrong result."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuzk import device
from cuzk.bench import (
    cuda_field,
    cuda_measure,
    cuda_msm,
    cuda_ntt,
    cuda_points,
    cuda_prove,
    cuda_setup,
    cuda_synth,
    known,
    process,
    sampled_points,
    setup,
)
from cuzk.bench.measure import Request
from cuzk.bench.process import Run
from cuzk.cli import main
from cuzk.commands import bench
from cuzk.errors import InternalError, UsageError
from cuzk.field.limbs import from_limbs
from cuzk.formats import circuit, toxic_waste
from cuzk.groth16.logarithms import development_waste
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.kernels import msm_cuda, ntt_cuda
from cuzk.msm import cuda_plan, cuda_scratch
from cuzk.ntt_cuda import Transform
from cuzk.parameters import policy
from cuzk.timing import Timer
from tests.circuits.naive import random_shape
from tests.conftest import VECTORS, Draw
from tests.cuda.synthesis import random_hints


def request(*sizes: int, runs: int = 2) -> Request:
    return Request(runs, sizes, device="cuda:0", cards=(device.card(0),))


@pytest.fixture
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_plan, "SCALAR_BITS", 12)
    monkeypatch.setattr(cuda_scratch, "_FEW", 6)
    monkeypatch.setattr(cuda_scratch, "_GATHERERS", 3)


def check_rows(rows: list[dict[str, Any]]) -> list[str]:
    for row in rows:
        assert row["path"] == "cuda:0" and row["seconds"]["n"] == 2 and row["result"]["holds"], row["name"]
        assert bench.line(row).startswith(f"{row['name']}, cuda:0")
    return [row["name"] for row in rows]


def test_field() -> None:
    rows = cuda_field.run(request(), rounds=2, blocks=1)
    assert check_rows(rows) == ["fp mul", "fr mul"] and all(row["per_ns"] > 0 for row in rows)


class Tired:
    """A method that does nothing from its third call on; the calls of kernels counted apart by what they are called on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, honest: int) -> None:
        self.calls, work = 0, getattr(owner, name)

        def tired(*arguments: Any, **more: Any) -> Any:
            self.calls += 1
            return work(*arguments, **more) if self.calls <= honest else None

        monkeypatch.setattr(owner, name, tired)


@pytest.mark.parametrize(
    ("owner", "name", "honest", "run"),
    [
        (cuda_field.Products, "run", 2, lambda: cuda_field.run(request(), rounds=2, blocks=1)),
        (Transform, "run", 2, lambda: cuda_ntt.run(request(6))),
        (Quotient, "product", 2, lambda: cuda_ntt._quotients(cuda_ntt._Measured(request(), 6))),
        (Quotient, "run", 2, lambda: cuda_ntt._quotients(cuda_ntt._Measured(request(), 6))),
        (cuda_scratch.Trees, "add", 1, lambda: cuda_msm.Bench(request()).additions(4, 16)),
    ],
)
def test_work_that_is_left_out_of_a_timed_run_is_seen(
    owner: Any, name: str, honest: int, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tired = Tired(monkeypatch, owner, name, honest)
    with pytest.raises(InternalError, match="a timed run left another result"):
        run()
    assert tired.calls == honest + 1


def test_synthesis_that_is_left_out_of_a_timed_run_is_seen(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = random_shape(13)
    Tired(monkeypatch, cuda_synth.Synthesizer, "witness", 1)
    with pytest.raises(InternalError, match="toy, witness: a timed run left another result"):
        cuda_synth.measured(request(runs=1), shape, random_hints(shape, draw), "toy")


@pytest.mark.parametrize("beside", [0, 1 << 50], ids=["on the card", "on the host"])
def test_bytes_of_a_card_are_kept_and_compared(beside: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_measure, "_BESIDE", beside)
    card = device.card(0)
    data = np.arange(1, 24, dtype=np.uint32)
    with card.upload(data) as buffer, cuda_measure.Kept(card.stream(), (buffer, data.nbytes)) as kept:
        kept.look("x")
        for place in (0, 15, 16, 22):
            buffer.write(data[:1] + np.uint32(99), 4 * place)
            with pytest.raises(InternalError, match="x: a timed run left another result"):
                kept.look("x")
            kept.restore()
            kept.look("x")
        kept.spoil()
        assert (buffer.read(23, np.uint32) == 0xFFFFFFFF).all()


def test_transforms_through_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    used = device.card(0).used
    with pytest.raises(SystemExit) as left:
        main(["bench", "ntt", "--device", "cuda", "--size", "2^6", "--runs", "2", "--json"])
    assert left.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["device"] == "cuda:0" and found["subjects"] == ["ntt"]
    assert check_rows(found["rows"]) == [
        "ntt 2^6 forward, coset",
        "ntt 2^6 inverse, coset and 1/n",
        "h 2^6: seven transforms",
        "h 2^6, c folded away: four transforms",
    ]
    assert {"ntt_cuda.dif", "ntt_cuda.dit"} <= set(found["kernels"]) and set(found["kernels"]["ntt_cuda.dif"]) >= {"registers"}
    assert set(found["clocks"]) == {"before", "after ntt"} and found["cards"]["cards"][0]["device"] == "cuda:0"
    assert "kernel: registers" in bench.text(found)
    assert device.card(0).used - used <= 2 * (1 << 20)  # tables within passes are kept


def test_a_wrong_transform_has_no_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ntt_cuda, "dit", ntt_cuda.dif)
    with pytest.raises(SystemExit) as left:
        main(["bench", "ntt", "--device", "cuda", "--size", "2^6", "--runs", "1"])
    assert left.value.code == 8 and "the result is wrong" in capsys.readouterr().err


def test_sizes_that_do_not_fit_are_left_out() -> None:
    assert cuda_ntt.run(request(24)) == []
    assert cuda_msm.run(request(24)) == []


@pytest.mark.usefixtures("_toy")
def test_sums() -> None:
    used = device.card(0).used
    rows = cuda_msm.run(request(4), pairs=4, scalar_bits=10, width=4)
    names = check_rows(rows)
    assert names[:4] == [
        "batch-affine addition g1, random",
        "batch-affine addition g1, neighbours",
        "msm g1 2^4",
        "msm g1 2^4, half 0, half 1",
    ]
    assert names[-1] == "msm g2 2^4" and names[-2].startswith("bit sum g1, ")
    assert rows[2]["result"]["against"] == cuda_msm.CPU_AGAINST and rows[3]["of_random"] > 0
    assert device.card(0).used == used


@pytest.mark.usefixtures("_toy")
def test_a_wrong_sum_has_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    used = device.card(0).used
    monkeypatch.setattr(msm_cuda, "list_pairs", msm_cuda.count_pairs)
    with pytest.raises((InternalError, AssertionError)):
        cuda_msm.run(request(4), pairs=0, scalar_bits=10, width=4)
    monkeypatch.undo()
    assert device.card(0).used >= used


def test_synthesis(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    used, shape = device.card(0).used, random_shape(5)
    given = random_hints(shape, draw)
    row = cuda_synth.measured(request(), shape, given, "toy")
    assert check_rows([row]) == ["toy"] and row["bytes_in"] > 0 and row["rows_per_second"] > 0
    assert device.card(0).used == used
    made = cuda_synth.synthesis.synthesize(shape, *given, cuda_synth.DEFAULTS, Timer())
    made.b[0, 0] ^= np.uint64(1)
    monkeypatch.setattr(cuda_synth.synthesis, "synthesize", lambda *_: made)
    with pytest.raises(InternalError, match="the result is wrong"):
        cuda_synth.measured(request(), shape, given, "toy")
    assert device.card(0).used == used
    monkeypatch.setattr(cuda_synth.shapes, "load_or_record", lambda *_: SimpleNamespace(domain_log2=27))
    assert cuda_synth.run(request(32 << 30)) == []


def test_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def process_of(arguments: list[str], path: str) -> Run:
        calls.append(arguments)
        Path(arguments[arguments.index("-o") + 1]).write_bytes(bytes.fromhex(known.digests()["proof"]))
        answer = {"proof": known.digests()["proof"], "verified": True, "seconds": 1.0, "phases": {"start": 0.1, "msm_h": 0.2}}
        return Run(1.25, 1.0, 1 << 20, answer | {"device_phases": {"msm_h": 0.1}, "cards": [{}], "retries": 0}, True)

    monkeypatch.setattr(process, "cuzk", process_of)
    monkeypatch.setattr(policy, "verifying_key", lambda *_: (None, Path()))
    rows = cuda_prove.run(request())
    assert check_rows(rows[:1]) == ["prove 2KiB"] and rows[0]["device_phases"] == {"msm_h": 0.1} and rows[0]["retries"] == 0
    assert all(call[-2:] == ["--device", "cuda:0"] for call in calls) and len(calls) == 3


def test_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    stated, calls = known.digests(), []

    monkeypatch.setattr(setup, "_digest", lambda path: stated[f"{path.suffix[1:]}_sha256"])

    def process_of(arguments: list[str], path: str) -> Run:
        calls.append(arguments)
        files = {part: {"file": f"x.{part}", "sha256": stated[f"{part}_sha256"]} for part in ("params", "vk")}
        return Run(1.25, 1.0, 1 << 20, files | {"phases": {"points_h": 0.5}}, True)

    monkeypatch.setattr(process, "cuzk", process_of)
    rows = cuda_setup.run(request())
    assert check_rows(rows) == ["setup 2KiB"] and rows[0]["phases"] == {"points_h": 0.5} and rows[0]["peak_memory"] == 1 << 20
    assert all(call[0] == "setup" and call[-2:] == ["--device", "cuda:0"] for call in calls) and len(calls) == 2
    monkeypatch.setattr(known, "digests", lambda: stated | {"params_sha256": "00"})
    with pytest.raises(InternalError, match="the result is wrong"):
        cuda_setup.run(request())


@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_sums_of_a_file(chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_points, "CHUNK", chunk)
    source = VECTORS / "groth16" / "cubic"
    shape, _ = circuit.load(source / "circuit.json")
    waste = toxic_waste.read(source / "circuit.json")
    assert sampled_points.sums_hold(shape, waste, source / "cubic.params")
    assert not sampled_points.sums_hold(shape, development_waste("cubic"), source / "cubic.params")
    data, moved = bytearray((source / "cubic.params").read_bytes()), tmp_path / "moved.params"
    data[-384:] = data[-192:] + data[-384:-192]  # two points of b_g2, by turns
    moved.write_bytes(data)
    assert not sampled_points.sums_hold(shape, waste, moved)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["setup", "--peers"], 2),
        (["synth", "--opt", "lc-layout=csr"], 2),
        (["msm", "--peers"], 2),
        (["msm", "--threads", "1"], 2),
        (["prove", "--variant", "base,presize=off"], 2),
        (["ntt", "--device", "cuda:9,9"], 2),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else str(x),
)
def test_what_cards_do_not_do(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["bench", "--device", "cuda", *arguments])
    assert left.value.code == code and capsys.readouterr().out == ""


def test_factors_of_known_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_points, "CHUNK", 64)
    scalars, total = cuda_points.random_scalars(1000, 1)
    values = from_limbs(scalars)
    assert total == sum((i + 1) * v for i, v in enumerate(values)) and max(values).bit_length() > 250
    assert cuda_points.dot_positions(np.full((300, 4), 0xFFFFFFFFFFFFFFFF, np.uint64)) == 300 * 301 // 2 * ((1 << 256) - 1)
    assert max(from_limbs(cuda_points.random_scalars(100, 1, 70)[0])) < 1 << 70
    for kind, (skewed, factor) in cuda_points.skewed_scalars(101).items():
        assert factor == sum((i + 1) * v for i, v in enumerate(from_limbs(skewed))), kind
    words, chosen, factor = cuda_points.random_bitmap(1001)
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    assert chosen == bits.sum() and not bits[1001:].any() and factor == sum(i + 1 for i in np.flatnonzero(bits).tolist())


def test_the_machine_without_its_tool() -> None:
    assert cuda_measure.clocks(device.card(0)) == {}
    assert cuda_measure.machine()["facts"]["cards"][0]["device"] == "cuda:0"
    with pytest.raises(UsageError):
        bench.run(bench.Options("msm", device="cuda:x"))
