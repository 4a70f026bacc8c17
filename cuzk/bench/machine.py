"""The machine that a measurement is of: processor, path, cores, memory, versions, commit, sources, load."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from cuzk import __version__, config

ROOT = Path(__file__).parents[2]
PACKAGES = ("numba", "llvmlite", "numpy")
_FACTS = {"model name": "model", "cpu family": "family", "model": "number", "cache size": "cache", "Model": "model"}


def processor() -> dict[str, str]:
    """What the system says the processor is."""
    found: dict[str, str] = {}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines():
            key, _, value = line.partition(":")
            if key.strip() in _FACTS:
                found.setdefault(_FACTS[key.strip()], value.strip())
    return found or {"model": platform.processor() or platform.machine()}


def microarchitecture() -> str:
    """The processor as LLVM names it."""
    from llvmlite import binding

    return str(binding.get_host_cpu_name())


def commit() -> str | None:
    """The commit of the checkout that this package lies in, or of the current one with the same sources, with a plus sign if
    files differ from it; None elsewhere.
    """
    root = next((r for r in (ROOT, Path.cwd()) if (r / ".git").exists() and (r == ROOT or sources(r) == sources())), None)
    if root is None:
        return None
    try:
        head = _git(root, "rev-parse", "HEAD")
        return head + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no", "--", "cuzk") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def sources(root: Path | None = None) -> str:
    """Digest of the source of this package, or of that in `root`: the same wherever its files are, with git or without it."""
    root = root or ROOT
    return digest((str(p.relative_to(root).as_posix()), p.read_bytes()) for p in (root / "cuzk").rglob("*.py"))


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over paths and contents, in the order of paths."""
    whole = hashlib.sha256()
    for path, content in sorted(files):
        whole.update(path.encode() + b"\0" + hashlib.sha256(content).digest())
    return whole.hexdigest()


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


def version_of(package: str) -> str | None:
    """The installed version of a package."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return None


def load() -> list[float] | None:
    """Load averages over 1, 5 and 15 minutes."""
    with suppress(OSError):
        return [round(x, 2) for x in os.getloadavg()]
    return None


def describe(peers: tuple[str, ...] = ()) -> dict[str, Any]:
    """Everything, for JSON; `peers` are packages whose version belongs there."""
    memory = None
    with suppress(OSError, ValueError):
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": {**processor(), "llvm_name": microarchitecture()},
        "path": config.cpu_path(),
        "cores": os.cpu_count(),
        "usable_cores": config.thread_count(),
        "memory": memory,
        "system": platform.platform(),
        "versions": {
            "cuzk": __version__,
            "python": platform.python_version(),
            **{name: version_of(name) for name in (*PACKAGES, *peers)},
        },
        "commit": commit(),
        "sources": sources(),
        "load": load(),
    }
