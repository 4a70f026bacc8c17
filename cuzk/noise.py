"""What else the machine did while something was measured."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

# Share of the machine's CPUs that others may take before a measurement is called disturbed.
TOLERATED = 0.05
STAT = Path("/proc/stat")


class _Reading(NamedTuple):
    wall: float
    busy: float
    stolen: float
    own: float


def _cpus() -> set[int] | None:
    """The CPUs that this process may use; None where the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None


def _read(with_children: bool, cpus: set[int] | None) -> _Reading | None:
    try:
        lines = [line.split() for line in STAT.read_text().splitlines() if line.startswith("cpu")]
    except OSError:
        return None
    names = {"cpu"} if cpus is None else {f"cpu{i}" for i in cpus}
    busy = stolen = 0.0
    for name, *words in lines:
        if name in names:
            user, nice, system, _, _, irq, soft, steal = (int(w) / os.sysconf("SC_CLK_TCK") for w in words[:8])
            busy, stolen = busy + user + nice + system + irq + soft, stolen + steal
    return _Reading(time.perf_counter(), busy, stolen, sum(os.times()[: 4 if with_children else 2]))


class Watch:
    """Watches the CPUs that this process may use, from its making until `report`."""

    def __init__(self, with_children: bool = False) -> None:
        """`with_children`: processes that this one started and waited for are part of the measurement."""
        self._with_children = with_children
        self._cpus = _cpus()
        self._before = _read(with_children, self._cpus)

    @property
    def seconds(self) -> float:
        """Since it began; 0 where the system does not tell what others do."""
        return 0.0 if self._before is None else time.perf_counter() - self._before.wall

    def report(self) -> dict[str, Any]:
        """CPUs that other processes and the host took on average, whether that is much, and a line that says so.

        `others` is None where the system does not tell.
        """
        after, before = _read(self._with_children, self._cpus), self._before
        if after is None or before is None or after.wall == before.wall:
            return {"others": None, "busy": None, "line": "whether the machine was busy is not known on this system"}
        return judge(
            after.wall - before.wall,
            after.busy - before.busy,
            after.stolen - before.stolen,
            after.own - before.own,
            len(self._cpus) if self._cpus is not None else os.cpu_count() or 1,
        )


def judge(wall: float, busy: float, stolen: float, own: float, cpus: int) -> dict[str, Any]:
    """The report from CPU seconds: of all processes, stolen by the host, of this process."""
    others, taken = max(0.0, busy - own) / wall, max(0.0, stolen) / wall
    much = others + taken > TOLERATED * cpus
    line = f"other processes took {others:.2f} and the host {taken:.2f} of {cpus} CPUs"
    line = f"the machine was busy: {line}; times are disturbed" if much else f"the machine was quiet: {line}"
    return {"others": round(others, 3), "stolen": round(taken, 3), "busy": much, "line": line}
