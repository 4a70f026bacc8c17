"""Whole processes: what comes out of one that fails, what is heard of one that is long, and that none outlives who started it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import pytest

from cuzk import config
from cuzk.bench import process
from cuzk.bench.process import Ended
from cuzk.errors import (
    CuzkError,
    DeviceError,
    FalseInput,
    InternalError,
    Interrupted,
    MalformedInput,
    ParametersError,
    ResourceError,
    UsageError,
)
from tests.conftest import ROOT

KINDS = (UsageError, MalformedInput, FalseInput, ParametersError, DeviceError, ResourceError, InternalError, Interrupted)


def ended(code: int, output: str = "", complaint: str = "") -> Ended:
    return Ended(1.0, 1.0, 1, code, output.encode(), complaint)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_error_of_a_process_comes_out_with_all_its_parts(kind: type[CuzkError]) -> None:
    its = kind("it broke", file="a.params", where="byte 7", expected=3, got="x", hint="mend it", phase="srs_load", partition=2)
    found = process.failure("cuzk prove", ended(its.code, json.dumps({"error": its.as_dict(), "version": "1"})))
    assert type(found) is kind and found.as_dict() == its.as_dict() | {"message": "cuzk prove: it broke"}


@pytest.mark.parametrize(
    "output", ["", "[]", "{}", '{"error": 3}', '{"error": {"code": 7, "kind": "unheard of", "message": "x"}}']
)
def test_a_process_that_does_not_say_what_is_wrong(output: str) -> None:
    found = process.failure("cuzk prove", ended(1, output, "Traceback\nValueError: y"))
    assert type(found) is InternalError and found.message == "cuzk prove failed with code 1"
    assert found.got == "Traceback\nValueError: y"


def test_a_process_that_a_signal_ended() -> None:
    assert type(process.failure("cuzk prove", ended(-signal.SIGKILL))) is ResourceError
    assert "ended by signal 11" in process.failure("cuzk prove", ended(-signal.SIGSEGV)).message


def test_real_failures_keep_their_codes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no-such-file"):
        process.cuzk(["prove", "no-such-file", "-o", "x"], "scalar")
    broken = tmp_path / "c1.json"
    broken.write_text("{")
    with pytest.raises(MalformedInput) as caught:
        process.cuzk(["inspect", str(broken)], "scalar")
    assert caught.value.file == str(broken)
    monkeypatch.setattr(process, "_STARTER", "raise SystemExit('no room')")
    with pytest.raises(InternalError, match="could not be run") as starter:
        process.cuzk(["config"], "scalar")
    assert starter.value.got == "no room"


def test_a_whole_process_is_timed() -> None:
    found = process.cuzk(["config"], "scalar")
    assert found.seconds > 0 and found.cpu_seconds > 0 and found.peak_memory > 1 << 20 and found.warm
    assert found.answer["cpu"]["value"] == "scalar"


def python(code: str) -> Ended:
    return process.watched([sys.executable, "-c", code], dict(os.environ))


def test_what_a_program_leaves() -> None:
    found = python("import sys; print('tail', file=sys.stderr); print('all'); sys.exit(5)")
    assert (found.code, found.output, found.complaint) == (5, b"all\n", "tail")
    assert python("import sys; print(sys.stdin.read() == '')").output == b"True\n", (
        "its standard input is empty, not the starter's"
    )
    assert python("import os; os.kill(os.getpid(), 9)").code == -9
    noisy = python("import sys; sys.stderr.write('x' * 300000)")
    assert noisy.code == 0 and 0 < len(noisy.complaint) <= process._TAIL


def test_only_a_long_program_is_heard(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    say = "import sys, time; print('in about 22 min', file=sys.stderr, flush=True); time.sleep({}); print('x', file=sys.stderr)"
    python(say.format(0))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(process, "PATIENCE", 0.2)
    python(say.format(1))
    assert capsys.readouterr().err == "  in about 22 min\n  x\n"


def test_long_runs_are_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    warm = iter([False, True])
    monkeypatch.setattr(process, "cuzk", lambda *_: process.Run(70.0, 1.0, 1, {}, next(warm)))
    assert len(process.warm_runs(["setup"], "scalar", 1, first=False)) == 1
    assert capsys.readouterr().err == "  run 1: 70.0 s, not counted\n  run 2: 70.0 s\n"


STARTS = """
import os, signal, sys
from cuzk import signals
from cuzk.bench import process
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start without
if sys.argv[2] == "installed":
    signals.install()
child = "import os, pathlib, sys, time; p = pathlib.Path(sys.argv[1]); n = p.with_suffix('.new'); "
child += "n.write_text(str(os.getpid())); n.rename(p); time.sleep(60)"
process.watched([sys.executable, "-c", child, sys.argv[1]], dict(os.environ))
"""


def alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def until(holds: object, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
@pytest.mark.parametrize("how", ["installed", "default"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_program_does_not_outlive_who_started_it(number: signal.Signals, how: str, tmp_path: Path) -> None:
    """The signal reaches the one that started it alone: not the program, not the process between them."""
    note, environment = tmp_path / "pid", {**os.environ, "PYTHONPATH": str(ROOT), "CUZK_CACHE_DIR": str(config.cache_dir())}
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS, str(note), how], env=environment, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        assert until(note.exists, 60.0)
        child = int(note.read_text())
        assert alive(child)
        parent.send_signal(number)
        parent.wait(timeout=20.0)
        assert until(lambda: not alive(child), 5.0)
    finally:
        parent.kill()
        parent.wait()


def test_one_that_takes_no_notice_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.3)

    class Stopped(Exception):
        pass

    def stop(pipe: IO[bytes]) -> None:
        time.sleep(1.0)  # until it takes no notice
        pipe.close()
        raise Stopped

    monkeypatch.setattr(process, "_Listener", stop)
    began = time.monotonic()
    with pytest.raises(Stopped):
        python("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)")
    assert 1.3 <= time.monotonic() - began < 20
