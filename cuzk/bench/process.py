"""Whole processes of `cuzk`, timed from outside: wall time, peak memory, and whether the run was warm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from cuzk import config
from cuzk.bench.machine import ROOT
from cuzk.bench.measure import Times
from cuzk.errors import InternalError


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
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    before = _cached()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-m", "cuzk", *arguments, "--json"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment,
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, complained = out.read(), err.read()
    if child.returncode != 0:
        text = (said or complained).decode(errors="replace")[:600]
        raise InternalError(f"cuzk {arguments[0]} failed with code {child.returncode}", got=text, phase="bench")
    peak = usage.ru_maxrss if sys.platform == "darwin" else usage.ru_maxrss << 10
    return Run(seconds, usage.ru_utime + usage.ru_stime, peak, json.loads(said), _cached() == before)


def times(runs: list[Run]) -> Times:
    """Their times."""
    return Times([r.seconds for r in runs], [r.cpu_seconds for r in runs])


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
