"""What the environment decides: arithmetic path, directories, threads, memory. Read once, shown by `cuzk config`."""

from __future__ import annotations

import difflib
import os
import sys
import warnings
from pathlib import Path

from cuzk import cgroup
from cuzk.errors import UsageError

CPU_PATHS = ("auto", "ifma", "scalar")
DEFAULT_FILECOIN_PARAMETERS = "/var/tmp/filecoin-proof-parameters/"


VARIABLES = ("CUZK_CPU", "CUZK_CACHE_DIR", "CUZK_TIMING")
_FLAGS = {"": False, "0": False, "false": False, "off": False, "1": True, "true": True, "on": True}


def flag(variable: str) -> bool:
    """A switch in the environment: 1, on or true; 0, off, false or empty.

    Raises  UsageError for anything else
    """
    value = os.environ.get(variable, "").strip().lower()
    if value not in _FLAGS:
        raise UsageError("not a switch", where=variable, expected="1, on, true, 0, off, false or empty", got=value[:40])
    return _FLAGS[value]


def check_environment() -> None:
    """Warn of variables with our prefix that nothing reads, since a misspelt one would be silently ignored."""
    flag("CUZK_TIMING")
    for name in sorted(os.environ):
        if name.startswith("CUZK_") and name not in VARIABLES and not name.startswith("CUZK_TEST"):
            near = difflib.get_close_matches(name, VARIABLES, 1)
            warnings.warn(f"{name} means nothing to cuzk" + (f"; did you mean {near[0]}?" if near else ""), stacklevel=2)


def cpu_features() -> frozenset[str]:
    """Features that code is compiled for, as LLVM calls them, e.g. `avx512ifma`: the host's, less those that Numba leaves out.

    `NUMBA_CPU_FEATURES` names features (`+avx2,-avx512f`); the processor `generic` in `NUMBA_CPU_NAME` has none.
    """
    from llvmlite import binding

    host = frozenset(name for name, on in binding.get_host_cpu_features().items() if on)
    wanted = os.environ.get("NUMBA_CPU_FEATURES")
    if wanted is None and os.environ.get("NUMBA_CPU_NAME", "").lower() == "generic":
        wanted = ""
    return host if wanted is None else host & {word.strip()[1:] for word in wanted.split(",") if word.strip().startswith("+")}


def cpu_path() -> str:
    """The arithmetic path: `ifma` (AVX-512 IFMA, eight lanes) or `scalar` (64-bit limbs, every host).

    Raises  UsageError if `CUZK_CPU` is no known path, or asks for IFMA where the host lacks it or Numba compiles without it: LLVM
            would abort the process.
    """
    wanted = os.environ.get("CUZK_CPU", "auto").strip().lower() or "auto"
    if wanted not in CPU_PATHS:
        raise UsageError("unknown CPU path", where="CUZK_CPU", expected=" | ".join(CPU_PATHS), got=wanted)
    if wanted == "scalar":
        return "scalar"
    able = {"avx512f", "avx512ifma", "avx512vl", "avx512dq"} <= cpu_features()
    if wanted == "ifma" and not able:
        chosen = [name for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES") if name in os.environ]
        raise UsageError(
            "code is compiled for a CPU without AVX-512 IFMA" if chosen else "this CPU has no AVX-512 IFMA",
            where="CUZK_CPU",
            expected="auto or scalar",
            got=wanted,
            hint=f"unset {' and '.join(chosen)}, or CUZK_CPU" if chosen else "unset CUZK_CPU",
        )
    return "ifma" if able else "scalar"


def cuda_simulated() -> bool:
    """Whether Numba's CUDA simulator stands in for a device (`NUMBA_ENABLE_CUDASIM`, Numba's own switch)."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0").strip() not in ("", "0")


def cache_dir() -> Path:
    """Where shapes, compiled code and development parameters are kept (`CUZK_CACHE_DIR`, else the user cache directory)."""
    if given := os.environ.get("CUZK_CACHE_DIR"):
        return Path(given).expanduser()
    if sys.platform == "darwin":
        return Path("~/Library/Caches/cuzk").expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(base).expanduser() / "cuzk"
    except RuntimeError:  # no home directory
        return Path(f"/tmp/cuzk-{os.getuid()}")


def filecoin_parameter_dir() -> Path:
    """Filecoin's parameter directory (`FIL_PROOFS_PARAMETER_CACHE`, else Filecoin's default)."""
    return Path(os.environ.get("FIL_PROOFS_PARAMETER_CACHE") or DEFAULT_FILECOIN_PARAMETERS).expanduser()


def thread_count() -> int:
    """Worker threads: the CPUs this process may use, fewer if a cgroup quota says so."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            cpus = min(cpus, max(1, -(-int(quota) // int(period))))
    except (OSError, ValueError):
        pass
    return cpus


def available_memory() -> int:
    """Bytes that this process may still use: the smaller of MemAvailable and what limits of control groups leave."""
    limits = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                limits.append(int(line.split()[1]) * 1024)
    except (OSError, ValueError):
        pass
    if (left := cgroup.memory_left()) is not None:
        limits.append(left)
    return min(limits) if limits else 1 << 40


def effective() -> dict[str, dict[str, str]]:
    """Each setting in force and its origin, for `cuzk config`."""

    def origin(variable: str, otherwise: str = "default") -> str:
        return f"environment {variable}" if os.environ.get(variable) else otherwise

    return {
        "cpu": {"value": cpu_path(), "origin": origin("CUZK_CPU", "detected")},
        "threads": {"value": str(thread_count()), "origin": "detected"},
        "cache directory": {"value": str(cache_dir()), "origin": origin("CUZK_CACHE_DIR")},
        "filecoin parameter directory": {
            "value": str(filecoin_parameter_dir()),
            "origin": origin("FIL_PROOFS_PARAMETER_CACHE"),
        },
        "available memory": {"value": str(available_memory()), "origin": "detected"},
        "timing lines": {"value": os.environ.get("CUZK_TIMING", "0"), "origin": origin("CUZK_TIMING")},
    }
