"""Whole processes of `cuzk`, timed from outside: wall time, peak memory, and whether the run was warm."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any, NamedTuple

from cuzk import config
from cuzk.bench.machine import ROOT
from cuzk.bench.measure import Times
from cuzk.errors import PARTS, CuzkError, InternalError, ResourceError
from cuzk.progress import Progress

PATIENCE = 10.0  # seconds that a process runs before what it says is passed on: a short one has nothing to wait for
GRACE = 20.0  # seconds that a process has to end in order, once it was told to
_TAIL = 2000  # bytes of what it said last that are kept for an error

# Starts a program and waits for it, in a process of its own that is small: a program's peak memory counts what the process that
# started it held before, so that one started from here would have at least this process's peak. Signals are the program's; and
# when its own standard input ends, since whoever started it has ended or wants no more, it ends the program.
_STARTER = """
import _thread, os, signal, sys, time
out, grace, child, asked = int(sys.argv[1]), float(sys.argv[2]), 0, []
os.set_inheritable(out, False)
def tell(number, frame):
    asked.append(number)
    if child:
        os.kill(child, number)
def watch():
    while os.read(0, 1):
        pass
    os.kill(child, signal.SIGTERM)
    time.sleep(grace)
    os.kill(child, signal.SIGKILL)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) != signal.SIG_IGN:
        signal.signal(number, tell)
nothing = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
began = time.perf_counter()
child = os.posix_spawn(sys.argv[3], sys.argv[3:], os.environ, file_actions=nothing)
for number in asked:
    os.kill(child, number)
_thread.start_new_thread(watch, ())
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - began
facts = seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status)
os.write(out, " ".join(map(repr, facts)).encode())
"""


class Ended(NamedTuple):
    """A program that ended. `code`: its exit code, or the signal that ended it, negated. `complaint`: the end of its stderr."""

    seconds: float
    cpu_seconds: float
    peak_memory: int
    code: int
    output: bytes
    complaint: str


class Run(NamedTuple):
    """One process that ended well. `warm`: it added nothing to the cache directory."""

    seconds: float
    cpu_seconds: float
    peak_memory: int
    answer: dict[str, Any]
    warm: bool


def paths() -> list[str]:
    """The arithmetic paths to run processes on: what `CUZK_CPU` says, else all that this machine has."""
    if os.environ.get("CUZK_CPU", "auto").strip().lower() not in ("", "auto"):
        return [config.cpu_path()]
    return ["ifma", "scalar"] if config.cpu_path() == "ifma" else ["scalar"]


def _cached() -> set[tuple[str, int, int]]:
    """Every file under the cache directory with size and time."""
    found = set()
    for folder in ("jit", "shapes", "params"):
        for path in (config.cache_dir() / folder).rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                facts = path.stat()
                found.add((str(path), facts.st_size, facts.st_mtime_ns))
    return found


class _Listener(threading.Thread):
    """Takes in what a program says on stderr, and passes its lines on once it has run for a while. The pipe is closed then."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe, self.tail = pipe, b""
        self.start()

    def run(self) -> None:
        """Until the program closes its stderr."""
        with self._pipe:
            self._pass_on()

    def _pass_on(self) -> None:
        progress, held, patient, end = Progress(), b"", True, time.monotonic() + PATIENCE
        while True:
            left = max(0.0, end - time.monotonic()) if patient else None
            ready = select.select([self._pipe], [], [], left)[0]
            said = os.read(self._pipe.fileno(), 1 << 16) if ready else b""
            if ready and not said:
                return
            held += said
            self.tail = (self.tail + said)[-_TAIL:]
            patient = patient and time.monotonic() < end
            if not patient:
                whole, _, held = held.rpartition(b"\n")
                for text in whole.decode(errors="replace").splitlines():
                    progress.line(f"  {text}")


def watched(program: list[str], environment: dict[str, str]) -> Ended:
    """Run a program to its end on the CPUs that this thread may use. What it says after a while goes to stderr.

    However this ends, by a signal too, the program has been ended.

    Raises  InternalError if it cannot be started
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as facts:
        starter = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _STARTER, str(facts.fileno()), str(GRACE), *program],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            env=environment,
            pass_fds=[facts.fileno()],
        )
        assert starter.stdin is not None and starter.stderr is not None
        try:
            listener = _Listener(starter.stderr)
            starter.wait()
        finally:
            starter.stdin.close()
            starter.wait()
        listener.join()
        for file in (out, facts):
            file.seek(0)
        said, numbers, complaint = out.read(), facts.read().split(), listener.tail.decode(errors="replace").strip()
    if len(numbers) != 4:
        raise InternalError(f"{Path(program[0]).name} could not be run", got=complaint[-600:] or None, phase="bench")
    resident = int(numbers[2])
    peak = resident if sys.platform == "darwin" else resident << 10
    return Ended(float(numbers[0]), float(numbers[1]), peak, int(numbers[3]), said, complaint)


def _kinds(base: type[CuzkError]) -> list[type[CuzkError]]:
    """A class of errors and all under it."""
    return [base, *(kind for each in base.__subclasses__() for kind in _kinds(each))]


def failure(name: str, ended: Ended) -> CuzkError:
    """The error of a process that failed, under its own exit code where it said what was wrong."""
    try:
        its = json.loads(ended.output)["error"]
        kind = next(k for k in _kinds(CuzkError)[1:] if (k.kind, k.code) == (its["kind"], its["code"]))
        return kind(f"{name}: {its['message']}", **{part: its.get(part) for part in PARTS})
    except (ValueError, LookupError, TypeError, StopIteration):
        pass
    got = ended.complaint[-600:] or None
    if ended.code == -signal.SIGKILL:
        hint = "the system kills where memory is short: free memory"
        return ResourceError(f"{name} was killed", got=got, hint=hint, phase="bench")
    how = f"ended by signal {-ended.code}" if ended.code < 0 else f"failed with code {ended.code}"
    return InternalError(f"{name} {how}", got=got, phase="bench")


def cuzk(arguments: list[str], path: str) -> Run:
    """Run `cuzk ARGUMENTS --json` on an arithmetic path and the CPUs that this thread may use.

    Raises  what the process says if it fails, with its exit code; InternalError if it says nothing
    """
    environment = {**os.environ, "CUZK_CPU": path, "CUZK_TIMING": "0"}
    # Where the first run may keep the bytecode of its modules, the others have it, as they have it from pip.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    before = _cached()
    ended = watched([sys.executable, "-m", "cuzk", *arguments, "--json"], environment)
    if ended.code != 0:
        raise failure(f"cuzk {arguments[0]}", ended)
    return Run(ended.seconds, ended.cpu_seconds, ended.peak_memory, json.loads(ended.output), _cached() == before)


def times(runs: list[Run], noise: dict[str, Any] | None = None) -> Times:
    """Their times, and what others did meanwhile."""
    return Times([r.seconds for r in runs], [r.cpu_seconds for r in runs], noise)


def warm_runs(arguments: list[str], path: str, runs: int, first: bool) -> list[Run]:
    """`runs` warm runs. Cold ones are left out, and with `first` the first one in any case: it brings files into memory.

    Raises  InternalError if processes stay cold
    """
    found: list[Run] = []
    for k in range(runs + 3):
        run = cuzk(arguments, path)
        if run.warm and not (first and k == 0):
            found.append(run)
        if run.seconds >= PATIENCE:
            Progress().line(f"  run {k + 1}: {run.seconds:.1f} s{'' if run in found else ', not counted'}")
        if len(found) == runs:
            return found
    raise InternalError(f"cuzk {arguments[0]} adds to the cache at every run", where=str(Path(config.cache_dir())), phase="bench")
