"""Whole processes of `cuzk`, timed from outside: wall time, peak memory, and whether the run was warm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from cuzk import config
from cuzk.bench.machine import ROOT
from cuzk.bench.measure import Times
from cuzk.errors import InternalError

# Starts a program and waits for it, in a process of its own that is small: a program's peak memory counts what the process that
# started it held before, so that one started from here would have at least this process's peak.
_STARTER = """
import os, sys, time
out = int(sys.argv[1])
os.set_inheritable(out, False)
began = time.perf_counter()
child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - began
facts = seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status)
os.write(out, " ".join(map(repr, facts)).encode())
"""


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


def cuzk(arguments: list[str], path: str) -> Run:
    """Run `cuzk ARGUMENTS --json` on an arithmetic path and the CPUs that this thread may use.

    Raises  InternalError with the process's own message if it fails
    """
    environment = {**os.environ, "CUZK_CPU": path, "CUZK_TIMING": "0"}
    # Where the first run may keep the bytecode of its modules, the others have it, as they have it from pip.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    before = _cached()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as facts:
        program = [sys.executable, "-m", "cuzk", *arguments, "--json"]
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _STARTER, str(facts.fileno()), *program],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
            pass_fds=[facts.fileno()],
            check=True,
        )
        for file in (out, err, facts):
            file.seek(0)
        said, complained, numbers = out.read(), err.read(), facts.read().split()
    seconds, used, resident, code = float(numbers[0]), float(numbers[1]), int(numbers[2]), int(numbers[3])
    if code != 0:
        text = (said or complained).decode(errors="replace")[:600]
        raise InternalError(f"cuzk {arguments[0]} failed with code {code}", got=text, phase="bench")
    peak = resident if sys.platform == "darwin" else resident << 10
    return Run(seconds, used, peak, json.loads(said), _cached() == before)


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
        if len(found) == runs:
            return found
    raise InternalError(f"cuzk {arguments[0]} adds to the cache at every run", where=str(Path(config.cache_dir())), phase="bench")
