"""Where the time went: a tree of named phases that covers the wall time, as table, JSON, flushed lines and a trace.

Phase names are stable: `start`, `read_c1`, `check_c1`, `record_shape`, `srs_load`, `prepare`, `presize`, `warm_up`, `reset`,
`witness`, `eval_abc`, `stream_abc`, `await_synthesis`, `upload`, `cards`, `ntt_h`, `prep_msm`, `msm_h`, `msm_l`, `msm_a`,
`msm_b_g1`, `msm_b_g2`, `assemble`, `verify`, `check`, `digest`, `write`; where parameters are made, within `srs_load`,
`lagrange`, `columns`, `points_h` and so on. What no phase covers shows as `unaccounted`.

Beside the tree there are *tracks*: what each worker thread (and each device) was doing, from which stretch to which. Threads that
drive partitions side by side have phases of their own, children of the phase that started them (or of the whole); there the
seconds of children may add up to more than their parent's. Sums by name have them too, marked: what ran side by side taken away,
they add up to the wall time.
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
from typing import Any, NamedTuple

from cuzk import config, signals, workers
from cuzk.errors import CuzkError
from cuzk.files import write_atomically

# What the Rust cuzk calls the same work, so that its published breakdowns can be laid beside ours.
RUST_NAMES = {
    "record_shape": "synthesis",
    "witness": "synthesis",
    "eval_abc": "synthesis",
    "stream_abc": "synthesis",
    "srs_load": "srs_load",
    "presize": "pin_abc",
    "prep_msm": "prep_msm",
    "ntt_h": "ntt_msm_h",
    "msm_h": "ntt_msm_h",
    "msm_l": "batch_add, tail_msm",
    "msm_a": "batch_add, tail_msm",
    "msm_b_g1": "batch_add, tail_msm",
    "msm_b_g2": "b_g2_msm",
}
# What is said of a phase that ran while others did, and is no part of the sum.
SIDE_BY_SIDE = "(side by side with others)"
# Tasks of one phase that follow one another on a track within this many seconds are drawn as one.
_JOIN = 0.0005


@dataclass(slots=True)
class Phase:
    """One timed stretch. `start` is in seconds after the timer's origin; `track` is the thread if it is not the main one.

    `setting` is the one that was being measured, where several are compared.
    """

    name: str
    start: float
    seconds: float = 0.0
    partition: int | None = None
    track: str | None = None
    setting: str | None = None
    children: list[Phase] = field(default_factory=list)

    @property
    def side_by_side(self) -> bool:
        """Whether children ran at once, so that their seconds may add up to more."""
        return any(child.track != self.track for child in self.children)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        out: dict[str, Any] = {"name": self.name, "start": round(self.start, 6), "seconds": round(self.seconds, 6)}
        out |= {key: value for key in ("partition", "track", "setting") if (value := getattr(self, key)) is not None}
        if self.side_by_side:
            out["side_by_side"] = True
        if self.children:
            out["children"] = [c.as_dict() for c in self.children]
        return out


class Span(NamedTuple):
    """What one track did: `start` as in `Phase`."""

    track: str
    name: str
    start: float
    seconds: float
    partition: int | None = None
    setting: str | None = None


class Total(NamedTuple):
    """All phases with one path of names: how many, their seconds together, whether they ran while others did."""

    path: tuple[str, ...]
    times: int
    seconds: float
    side_by_side: bool


def _known(span: Span) -> tuple[Any, ...]:
    return (span.partition,) if span.setting is None else (span.partition, span.setting)


def _track() -> str | None:
    """The name of this thread; None for the main one."""
    here = threading.current_thread()
    return None if here is threading.main_thread() else here.name


class Timer:
    """Collects phases. Times are of the monotonic clock."""

    def __init__(self, origin: float | None = None, silent: bool = False) -> None:
        """`origin`: a `time.perf_counter()` at which the clock started (default: now). `silent`: no lines, whatever is asked."""
        self.origin = time.perf_counter() if origin is None else origin
        self.root = Phase("total", 0.0, track=_track())
        self.spans: list[Span] = []
        self.setting: str | None = None  # phases that open from now on, on any thread, are of this one
        self._threads = threading.local()
        self._threads.open = [self.root]
        self._flush = not silent and config.flag("CUZK_TIMING")

    @property
    def partition(self) -> int | None:
        """The partition that this thread is at: phases that open from now on belong to it."""
        return getattr(self._threads, "partition", None)

    @partition.setter
    def partition(self, k: int | None) -> None:
        self._threads.partition = k

    def now(self) -> float:
        """Seconds since the origin."""
        return time.perf_counter() - self.origin

    def started(self) -> None:
        """Everything until now was starting: imports and options."""
        phase = Phase("start", 0.0, self.now(), track=self.root.track)
        self.root.children.append(phase)
        self._line((phase.name,), phase)

    def innermost(self) -> Phase:
        """The phase that is open on this thread; the whole where none is."""
        stack: list[Phase] = getattr(self._threads, "open", [self.root])
        return stack[-1]

    @contextmanager
    def within(self, parent: Phase) -> Iterator[None]:
        """On a thread of its own: phases that open here are children of `parent`, which another thread has open."""
        self._threads.open = [parent]
        self._threads.above = self._path_of(parent)
        try:
            yield
        finally:
            del self._threads.open, self._threads.above

    @contextmanager
    def phase(self, name: str) -> Iterator[Phase]:
        """Time a stretch of this thread; nests. With CUZK_TIMING=1 a line is flushed when it ends."""
        stack: list[Phase] = self._threads.open
        phase = Phase(name, self.now(), partition=self.partition, track=_track(), setting=self.setting)
        stack[-1].children.append(phase)
        stack.append(phase)
        try:
            yield phase
        except KeyboardInterrupt:
            signals.note(name, phase.partition)
            raise
        except CuzkError as error:
            error.phase = error.phase or name
            raise
        except (MemoryError, OSError) as error:
            error.__dict__.setdefault("phase", name)  # for whoever makes one of ours of it
            raise
        finally:
            phase.seconds = self.now() - phase.start
            if self._flush:
                self._line(self._path(), phase)
            stack.pop()

    def _path(self) -> tuple[str, ...]:
        """Names of the phases that are open on this thread, outermost first, without the whole."""
        above: tuple[str, ...] = getattr(self._threads, "above", ())
        return (*above, *(p.name for p in self._threads.open[1:]))

    def _path_of(self, wanted: Phase) -> tuple[str, ...]:
        """Names from the whole down to a phase."""

        def search(phase: Phase, path: tuple[str, ...]) -> tuple[str, ...] | None:
            if phase is wanted:
                return path
            below = (search(child, (*path, child.name)) for child in reversed(phase.children))
            return next((found for found in below if found is not None), None)

        return search(self.root, ()) or ()

    def _line(self, path: tuple[str, ...], phase: Phase) -> None:
        """What CUZK_TIMING=1 prints: one line for each phase of this timer, when it ends."""
        if self._flush:
            words = [f"timing {'/'.join(path)} {phase.seconds:.6f} s from {phase.start:.6f} s"]
            words += [f"{k}={v}" for k in ("partition", "track", "setting") if (v := getattr(phase, k)) is not None]
            print(" ".join(words), file=sys.stderr, flush=True)

    def span(self, track: str, name: str, start: float, seconds: float, partition: int | None = None) -> None:
        """Add what a track did: for devices, whose own clock says when."""
        self.spans.append(Span(track, name, start, seconds, partition))

    @contextmanager
    def watching_workers(self) -> Iterator[None]:
        """Record what each worker thread does as a track of its own, named by the phase that gave it the task."""

        def done(origin: Any, track: str, began: float, ended: float) -> None:
            name, partition, setting = origin
            self.spans.append(Span(track, name, began - self.origin, ended - began, partition, setting))

        workers.observer = workers.Observer(lambda: (self.innermost().name, self.partition, self.setting), done)
        try:
            yield
        finally:
            workers.observer = None

    def stop(self) -> float:
        """End the clock and return the total seconds."""
        self.root.seconds = self.now()
        return self.root.seconds

    def totals(self) -> dict[str, float]:
        """Seconds by phase name, summed over partitions: outermost phases, what ran side by side, and `unaccounted`.

        Without the seconds of `side_by_side` they add up to the whole.
        """
        sums: dict[str, float] = {}
        for phase in self.root.children:
            if phase.track == self.root.track:
                sums[phase.name] = sums.get(phase.name, 0.0) + phase.seconds
        rest = self.root.seconds - sum(sums.values())
        for name, seconds in self._beside().items():
            sums[name] = sums.get(name, 0.0) + seconds
        sums["unaccounted"] = max(0.0, rest)
        return {name: round(seconds, 6) for name, seconds in sums.items()}

    def side_by_side(self) -> dict[str, float]:
        """The part of the seconds in `totals` that ran while other phases did."""
        return {name: round(seconds, 6) for name, seconds in self._beside().items()}

    def _beside(self) -> dict[str, float]:
        found: dict[str, float] = {}

        def walk(phase: Phase) -> None:
            for child in phase.children:
                if self._apart(phase, child):
                    found[child.name] = found.get(child.name, 0.0) + child.seconds
                walk(child)

        walk(self.root)
        return found

    def _apart(self, phase: Phase, child: Phase) -> bool:
        """Whether a child stands beside its parent and not below: children that run at once do, each with what it took."""
        return child.track != phase.track or (phase.side_by_side and phase is not self.root)

    def nested_totals(self) -> list[Total]:
        """Phases of one path of names together, in order of their first start, parents before children.

        Those that ran side by side have the paths that they have where they follow one another.
        """
        found: dict[tuple[str, ...], Total] = {}

        def walk(phase: Phase, path: tuple[str, ...]) -> None:
            for child in phase.children:
                apart = self._apart(phase, child)
                mine = (*(path[:-1] if apart else path), child.name)
                _, times, seconds, beside = found.get(mine, Total(mine, 0, 0.0, False))
                found[mine] = Total(mine, times + 1, seconds + child.seconds, beside or apart)
                walk(child, mine)

        walk(self.root, ())
        place = {path: i for i, path in enumerate(found)}
        order = sorted(found, key=lambda path: [place[path[: k + 1]] for k in range(len(path))])
        return [found[path] for path in order]

    def table(self) -> str:
        """All phases as text, with their number, the share of the whole and the Rust cuzk's names."""
        total = self.root.seconds or 1.0
        lines = [f"{'phase':<22}{'n':>5}{'seconds':>10}{'share':>8}  in the Rust cuzk"]
        if any(child.setting for child in self.root.children):
            lines.insert(0, "all settings together; the result has each one's own:")
        rows = [
            ("  " * (len(t.path) - 1) + t.path[-1], str(t.times), t.seconds, t.path[-1], SIDE_BY_SIDE if t.side_by_side else "")
            for t in self.nested_totals()
        ]
        rows.append(("unaccounted", "", self.totals()["unaccounted"], "", ""))
        for label, count, seconds, name, beside in rows:
            note = " ".join(word for word in (RUST_NAMES.get(name, ""), beside) if word)
            lines.append(f"{label:<22}{count:>5}{seconds:>10.3f}{100 * seconds / total:>7.1f}%  {note}".rstrip())
        lines.append(f"{'total':<22}{'':>5}{total:>10.3f}{100:>7.1f}%")
        return "\n".join(lines)

    def tracks(self) -> dict[str, list[Span]]:
        """Spans of each track in time order; those of one phase that follow at once are joined."""
        out: dict[str, list[Span]] = {}
        for span in sorted(self.spans, key=lambda s: (s.track, s.start)):
            line = out.setdefault(span.track, [])
            last = line[-1] if line else Span(span.track, "", 0.0, 0.0)
            at_once = span.start - (last.start + last.seconds) < _JOIN
            if at_once and (last.name, *last[4:]) == (span.name, *span[4:]):
                line[-1] = last._replace(seconds=span.start + span.seconds - last.start)
            else:
                line.append(span)
        return out

    def write_json(self, path: Path, facts: dict[str, Any]) -> None:
        """The whole tree and all tracks, with `facts` about the run."""
        tracks = [
            {"track": track, "spans": [[s.name, round(s.start, 6), round(s.seconds, 6), *_known(s)] for s in spans]}
            for track, spans in self.tracks().items()
        ]
        tree: dict[str, Any] = {**facts, "seconds": round(self.root.seconds, 6), "phases": self.totals()}
        tree |= {"side_by_side": self.side_by_side()}
        tree |= {"tree": self.root.as_dict(), "tracks": tracks, "rust_names": RUST_NAMES}
        write_atomically(path, json.dumps(tree, indent=1, default=str).encode() + b"\n")

    def write_trace(self, path: Path, facts: dict[str, Any]) -> None:
        """Trace events (JSON object form) that browsers' trace viewers open: a track for each thread and device."""
        process = os.getpid()
        events: list[dict[str, Any]] = []
        numbers: dict[str, int] = {"main": 1}

        def add(track: str | None, name: str, start: float, seconds: float, partition: int | None, setting: str | None) -> None:
            arguments = {k: v for k, v in (("partition", partition), ("setting", setting)) if v is not None}
            if name in RUST_NAMES:
                arguments["in the Rust cuzk"] = RUST_NAMES[name]
            number = numbers.setdefault(track or "main", len(numbers) + 1)
            event = {"name": name, "ph": "X", "ts": start * 1e6, "dur": seconds * 1e6, "pid": process, "tid": number}
            events.append({**event, "args": arguments})

        def walk(phase: Phase) -> None:
            add(phase.track, phase.name, phase.start, phase.seconds, phase.partition, phase.setting)
            for child in phase.children:
                walk(child)

        walk(self.root)
        for spans in self.tracks().values():
            for span in spans:
                add(*span)
        named = [
            {"name": "thread_name", "ph": "M", "pid": process, "tid": number, "args": {"name": track}}
            for track, number in numbers.items()
        ]
        trace = {"traceEvents": named + events, "displayTimeUnit": "ms", "otherData": facts}
        write_atomically(path, json.dumps(trace, default=str).encode() + b"\n")
