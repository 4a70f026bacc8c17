"""What Linux control groups leave to this process: the memory limits of its group and of all groups around it.

Version 2 keeps `memory.max` in /sys/fs/cgroup and the group's own folder, version 1 `memory.limit_in_bytes` below
/sys/fs/cgroup/memory. Cached files do not count as used: the kernel gives their memory back when it is needed.

Source  Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
"""

from __future__ import annotations

from pathlib import Path

_V1_NO_LIMIT = 1 << 60  # version 1 writes "no limit" as a number of about 2^63


def memory_left(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> int | None:
    """Bytes until the tightest limit, None where there is none."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        lines = []
    folders = {root}  # in a container, the container's own group is mounted there
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folders |= _upwards(root, path)
        elif "memory" in controllers.split(","):
            folders |= _upwards(root / "memory", path)
    left = [found for folder in folders if (found := _left(folder)) is not None]
    return min(left) if left else None


def _upwards(base: Path, path: str) -> set[Path]:
    """A group's folder and those around it."""
    folder = base / path.lstrip("/")
    return {f for f in (folder, *folder.parents) if f == base or base in f.parents}


def _left(folder: Path) -> int | None:
    for limit_name, usage_name in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        limit, usage = _number(folder / limit_name), _number(folder / usage_name)
        if limit is not None and limit < _V1_NO_LIMIT and usage is not None:
            return max(0, limit - max(0, usage - _cached(folder)))
    return None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # absent, or "max"
        return None


def _cached(folder: Path) -> int:
    """Bytes of cached files, with those of the groups below."""
    try:
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        names = (
            ("total_inactive_file", "total_active_file") if "total_inactive_file" in stat else ("inactive_file", "active_file")
        )
        return sum(int(stat[name]) for name in names)
    except (OSError, ValueError, KeyError):
        return 0
