"""Where the time went: a tree of named phases that covers the wall time, as table, JSON, flushed lines and a trace.

Phase names are stable: `start`, `read_c1`, `check_c1`, `record_shape`, `srs_load`, `witness`, `eval_abc`, `ntt_h`, `prep_msm`,
`msm_h`, `msm_l`, `msm_a`, `msm_b_g1`, `msm_b_g2`, `assemble`, `verify`, `write`. What no phase covers shows as `unaccounted`.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuzk.files import write_atomically

# What the Rust cuzk calls the same work, so that its published breakdowns can be laid beside ours.
RUST_NAMES = {
    "record_shape": "synthesis",
    "witness": "synthesis",
    "eval_abc": "synthesis",
    "srs_load": "srs_load",
    "prep_msm": "prep_msm",
    "ntt_h": "ntt_msm_h",
    "msm_h": "ntt_msm_h",
    "msm_l": "batch_add, tail_msm",
    "msm_a": "batch_add, tail_msm",
    "msm_b_g1": "batch_add, tail_msm",
    "msm_b_g2": "b_g2_msm",
}


@dataclass(slots=True)
class Phase:
    """One timed stretch. `start` is in seconds after the timer's origin."""

    name: str
    start: float
    seconds: float = 0.0
    partition: int | None = None
    children: list[Phase] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        out: dict[str, Any] = {"name": self.name, "start": round(self.start, 6), "seconds": round(self.seconds, 6)}
        if self.partition is not None:
            out["partition"] = self.partition
        if self.children:
            out["children"] = [c.as_dict() for c in self.children]
        return out


class Timer:
    """Collects phases of the main thread. Times are of the monotonic clock."""

    def __init__(self, origin: float | None = None) -> None:
        """`origin`: a `time.perf_counter()` at which the clock started (default: now)."""
        self.origin = time.perf_counter() if origin is None else origin
        self.root = Phase("total", 0.0)
        self.partition: int | None = None
        self._open = [self.root]
        self._flush = os.environ.get("CUZK_TIMING", "") not in ("", "0")

    def now(self) -> float:
        """Seconds since the origin."""
        return time.perf_counter() - self.origin

    @contextmanager
    def phase(self, name: str) -> Iterator[Phase]:
        """Time a stretch of the main thread; nests. With CUZK_TIMING=1 a line is flushed when it ends."""
        phase = Phase(name, self.now(), partition=self.partition)
        self._open[-1].children.append(phase)
        self._open.append(phase)
        try:
            yield phase
        finally:
            self._open.pop()
            phase.seconds = self.now() - phase.start
            if self._flush:
                where = "" if phase.partition is None else f" partition={phase.partition}"
                depth = len(self._open) - 1
                print(f"timing {'  ' * depth}{name} {phase.seconds:.6f} s{where}", file=sys.stderr, flush=True)

    def stop(self) -> float:
        """End the clock and return the total seconds."""
        self.root.seconds = self.now()
        return self.root.seconds

    def totals(self) -> dict[str, float]:
        """Seconds by phase name (outermost phases), summed over partitions, with `unaccounted`."""
        sums: dict[str, float] = {}
        for phase in self.root.children:
            sums[phase.name] = sums.get(phase.name, 0.0) + phase.seconds
        sums["unaccounted"] = max(0.0, self.root.seconds - sum(sums.values()))
        return {name: round(seconds, 6) for name, seconds in sums.items()}

    def table(self) -> str:
        """The totals as text, with the share of the whole and the Rust cuzk's names."""
        total = self.root.seconds or 1.0
        lines = [f"{'phase':<16}{'seconds':>10}{'share':>8}  in the Rust cuzk"]
        for name, seconds in self.totals().items():
            lines.append(f"{name:<16}{seconds:>10.3f}{100 * seconds / total:>7.1f}%  {RUST_NAMES.get(name, '')}".rstrip())
        lines.append(f"{'total':<16}{total:>10.3f}{100:>7.1f}%")
        return "\n".join(lines)

    def write_json(self, path: Path, facts: dict[str, Any]) -> None:
        """The whole tree with `facts` about the run."""
        tree = {**facts, "seconds": round(self.root.seconds, 6), "phases": self.totals(), "tree": self.root.as_dict()}
        write_atomically(path, json.dumps(tree, indent=1).encode() + b"\n")

    def write_trace(self, path: Path, facts: dict[str, Any]) -> None:
        """Trace events (JSON object form) that browsers' trace viewers open."""
        events: list[dict[str, Any]] = []

        def walk(phase: Phase) -> None:
            arguments = {} if phase.partition is None else {"partition": phase.partition}
            event = {"name": phase.name, "ph": "X", "ts": phase.start * 1e6, "dur": phase.seconds * 1e6}
            events.append({**event, "pid": os.getpid(), "tid": threading.get_ident() % 2**31, "args": arguments})
            for child in phase.children:
                walk(child)

        walk(self.root)
        write_atomically(path, json.dumps({"traceEvents": events, "otherData": facts}).encode() + b"\n")
