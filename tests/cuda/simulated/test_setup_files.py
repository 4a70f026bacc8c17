"""`cuzk setup --device cuda` on a simulated card: the oracle's files byte for byte, and nothing where something fails."""

from __future__ import annotations

import errno
import gc
import hashlib
import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk import device, signals
from cuzk.cli import main
from cuzk.cuda import simulated
from cuzk.curve import encoding
from cuzk.errors import DeviceError, ResourceError
from cuzk.formats import circuit, srs
from cuzk.groth16 import setup, setup_blocks_cuda
from cuzk.groth16.crs import VECTORS as NAMES
from cuzk.groth16.logarithms import development_waste
from cuzk.msm import cuda_plan, fixed_base_cuda
from tests.conftest import VECTORS, Draw
from tests.cuda.simulated.test_faults import Faults
from tests.cuda.simulated.test_setup import FixedBase
from tests.test_end_to_end import run

ROOT = VECTORS / "groth16"
CIRCUITS = ("cubic", "mixed", "full-domain", "one-over")
BLOCK = 5


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiples from the CPU, since whole scalars take the simulator minutes; few at a time."""
    monkeypatch.setattr(setup_blocks_cuda, "FixedBase", FixedBase)
    monkeypatch.setattr(setup_blocks_cuda, "BLOCK_POINTS", BLOCK)


def command(name: str, out: Path, where: str = "cuda") -> list[str]:
    source = str(ROOT / name / "circuit.json")
    return ["setup", source, "-o", str(out), "--toxic-waste", source, "--device", where]


def ended(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as left:
        main([*arguments, "--json"])
    return int(str(left.value.code or 0))


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("name", CIRCUITS)
def test_the_oracles_files(name: str, tmp_path: Path) -> None:
    before = device.card(0).used
    made = run(*command(name, tmp_path / "card"))
    facts = json.loads((ROOT / name / "circuit.json").read_text())["setup"]
    for part in ("params", "vk"):
        data = (tmp_path / "card" / f"cuzk-dev-{name}.{part}").read_bytes()
        assert data == (ROOT / name / f"{name}.{part}").read_bytes()
        assert hashlib.sha256(data).hexdigest() == facts[f"{part}_sha256"] == made[part]["sha256"]
    for vector, _ in NAMES:
        assert made["vectors"][vector] == {"points": int(facts[vector][0]), "sha256": facts[vector][1]}
    steps = {"lagrange", "columns", "prepare", "vk", "points_h", "points_b_g2", "write"}
    assert made["device"] == "cuda:0" and steps <= set(made["phases"])
    assert device.card(0).used == before
    assert run(*command(name, tmp_path / "cpu", "cpu"))["device"] == "cpu"
    for path in (tmp_path / "cpu").iterdir():
        assert path.read_bytes() == (tmp_path / "card" / path.name).read_bytes(), path.name


@pytest.mark.usefixtures("_quick")
def test_auto_takes_a_card_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(*command("cubic", tmp_path / "a", "auto"))["device"] == "cuda:0"
    monkeypatch.setattr(simulated.Card, "launch", lambda *_: None)
    assert run(*command("cubic", tmp_path / "b", "auto"))["device"] == "cpu"
    assert ended(command("cubic", tmp_path / "c")) == 6 and not (tmp_path / "c").exists()


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("where", ["cuda:9,9", "cuda:x"])
def test_no_such_device(where: str, tmp_path: Path) -> None:
    assert ended(command("cubic", tmp_path / "new", where)) == 2 and not (tmp_path / "new").exists()


@pytest.mark.usefixtures("_quick")
def test_no_room_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 8, 2000))
    assert ended(command("cubic", tmp_path / "new")) == 7 and not (tmp_path / "new").exists()
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["got"].startswith("2000 bytes") and int(error["expected"].split()[0]) > 1 << 20


class Full:
    """A file on a disk that is full after some bytes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write(self, data: Any) -> int:
        self.room -= len(bytes(data))
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(bytes(data))


@pytest.mark.usefixtures("_quick")
def test_a_disk_that_fills_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, before = srs.write, device.card(0).used
    size = (ROOT / "mixed" / "mixed.params").stat().st_size
    for room in (0, 900, size // 2, size - 1):
        monkeypatch.setattr(srs, "write", lambda file, *others, room=room: write(Full(room), *others))
        assert ended(command("mixed", tmp_path)) == 7 and not list(tmp_path.iterdir()), room
        assert device.card(0).used == before


@pytest.mark.usefixtures("_quick")
def test_stopped_within_a_vector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, encode, blocks = device.card(0).used, encoding.encode, []

    def stopping(*arguments: Any, **named: Any) -> Any:
        blocks.append(arguments)
        if len(blocks) == 3:
            os.kill(os.getpid(), signal.SIGTERM)
        return encode(*arguments, **named)

    monkeypatch.setattr(encoding, "encode", stopping)
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        assert ended(command("mixed", tmp_path)) == 130
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        signals._received.clear()
    assert not list(tmp_path.iterdir()) and device.card(0).used == before and len(blocks) == 3


@pytest.mark.usefixtures("_quick")
def test_wrong_points_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = simulated.Buffer.read_into

    def wrong(self: Any, array: Any, *others: Any) -> None:
        read(self, array, *others)
        if array.ndim == 2 and array.shape[1] == 24:
            array[:] = array[::-1].copy()

    monkeypatch.setattr(simulated.Buffer, "read_into", wrong)
    assert ended(command("mixed", tmp_path)) == 6 and not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("fault", [DeviceError, ResourceError])
def test_any_call_may_fail(fault: Any, draw: Draw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a file nor device memory is left, and the next run in the process makes the right one."""
    before, faults = device.card(0).used, Faults(monkeypatch)
    faults.start(0, fault)
    assert ended(command("cubic", tmp_path / "whole")) == 0
    expected = {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}
    for at in sorted(draw.random.sample(range(1, faults.calls + 1), 8)):
        faults.start(at, fault)
        assert ended(command("cubic", tmp_path / "new")) == fault.code, (at, draw)
        gc.collect()
        assert device.card(0).used == before and not list((tmp_path / "new").glob("*")), (at, draw)
    faults.start(0, fault)
    assert ended(command("cubic", tmp_path / "new")) == 0
    assert expected == {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}


@pytest.mark.parametrize("curve", ["g1", "g2"])
@pytest.mark.parametrize("count", [1, 1000, 1 << 20, 1 << 27])
def test_plans_fit_the_memory(curve: str, count: int) -> None:
    best = setup_blocks_cuda.plan(curve, count, 1 << 40, 132)
    assert best.block == min(count, setup_blocks_cuda.BLOCK_POINTS) and best.bits == fixed_base_cuda.window_bits(curve, count)
    assert best.bytes < 3 << 30
    for free in (best.bytes - 1, 1 << 30, 512 << 20) if count > 1 << 19 else ():
        taken = setup_blocks_cuda.plan(curve, count, free, 132)
        assert taken.bytes <= free and taken.block <= best.block and taken.bits <= best.bits
    with pytest.raises(ResourceError) as caught:
        setup_blocks_cuda.plan(curve, count, 1000, 132)
    assert caught.value.code == 7


def test_the_kernels_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small scalars through the real tables and trees, in planned windows and blocks."""
    monkeypatch.setattr(cuda_plan, "SCALAR_BITS", 12)
    monkeypatch.setattr(fixed_base_cuda, "SCALAR_BITS", 12)
    monkeypatch.setattr(setup_blocks_cuda, "BLOCK_POINTS", 8)
    shape, _ = circuit.load(ROOT / "cubic" / "circuit.json")
    made = setup_blocks_cuda.CardSetup(shape, development_waste("cubic"), device.card(0))
    scalars = np.zeros((made.lengths.h, 4), np.uint64)
    scalars[:, 0] = np.arange(made.lengths.h) * 578 % 4096 + 1  # an even s is taken as r − s, which is not small
    monkeypatch.setattr(made.logarithms, "scalars", lambda name, first, n: scalars[first : first + n])
    card, most = device.card(0), []
    before, launch = card.used, simulated.Card.launch
    monkeypatch.setattr(simulated.Card, "launch", lambda *a, **k: (most.append(card.used), launch(*a, **k))[1])
    for name in ("h", "b_g2"):
        group = "g2" if name == "b_g2" else "g1"
        most.clear()
        found = np.concatenate(list(made.blocks(name)))
        assert max(most) - before <= setup_blocks_cuda.plan(group, made.lengths.vector(name), 1 << 30, 2).bytes + 256
        assert np.array_equal(found, setup.multiples_be(setup.bases(9, 9), group, scalars[: made.lengths.vector(name)]))
