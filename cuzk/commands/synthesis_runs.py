"""Runs of synthesis for `cuzk synth-only`: buffers, partitions side by side, what is timed and what is not."""

from __future__ import annotations

import gc
import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cuzk import jit, workers
from cuzk.circuits import synthesis
from cuzk.circuits.hints import Sealed, hints
from cuzk.circuits.synthesis import Buffers, Synthesis
from cuzk.circuits.template import Shape
from cuzk.circuits.witness import Hints
from cuzk.counters import Counters
from cuzk.errors import InternalError
from cuzk.r1cs import explicit
from cuzk.r1cs.explicit import Explicit
from cuzk.timing import Timer
from cuzk.variants import Settings


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of one run: until all partitions were done (their sum where they followed one another), and each one's own.

    `phases` are sums over partitions, which may be more than the whole where those ran side by side.
    """

    whole: float
    each: dict[int, float]
    phases: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Runs:
    """Synthesis of the chosen partitions of one C1, `jobs` of them at a time, as often as wanted.

    A run with presize=on finds arrays that are touched and overwritten; with presize=off it makes its own, and those of other
    settings are given back before.
    """

    shape: Shape
    content: Sealed
    partitions: list[int]
    jobs: int
    timer: Timer
    made: Explicit | None = None
    rates: list[float] = field(default_factory=list)  # bytes written a second, by overwriting buffers
    first_touches: list[float] = field(default_factory=list)  # seconds of making and touching buffers, each time
    _buffers: list[Buffers] = field(default_factory=list)

    def prepare(self, settings: list[Settings]) -> None:
        """Everything static: explicit matrices if asked for, and all code compiled and loaded, on the prologue alone."""
        if any(s.lc_layout == "csr" for s in settings):
            self.made = explicit.expand(self.shape)
        small = replace(self.shape, repeats=0)
        prologue, repeated = hints(self.content, self.partitions[0])
        none = Hints(repeated.bits[:0], repeated.elems_canon[:0])
        for s in settings:
            made = explicit.expand(small) if s.lc_layout == "csr" else None
            its_own = Timer(silent=True)  # what it spends here is in the phase that is open
            synthesis.synthesize(small, prologue, none, s, its_own, made, synthesis.buffers(small))
        gc.collect()
        gc.freeze()  # what is there now stays: collecting between runs need not look at it

    def run(self, settings: Settings, counters: Counters | None = None) -> Times:
        """All partitions once. Only synthesis is in the times: C1 in memory to A·z, B·z, C·z in memory."""
        self._fresh(settings)
        phases: dict[str, float] = {}
        if self.jobs == 1:
            each = {}
            for i, k in enumerate(self.partitions):
                if i:
                    self._fresh(settings)
                with measured(counters):
                    each[k] = self._timed(settings, k, self._buffers[0] if settings.presize else None, phases)
            return Times(sum(each.values()), each, phases)
        return self._side_by_side(settings, counters, phases)

    def _timed(self, settings: Settings, k: int, into: Buffers | None, phases: dict[str, float]) -> float:
        """Seconds of one partition; those of its phases are added to `phases`."""
        siblings = self.timer.innermost().children
        before = len(siblings)
        self.timer.partition = k
        began = time.perf_counter()
        result = self._synthesize(settings, k, into)
        seconds = time.perf_counter() - began
        del result  # what the run made itself is given back after the clock has stopped
        self.timer.partition = None
        for phase in siblings[before:]:
            if phase.partition == k:  # others are of partitions beside this one
                phases[phase.name] = phases.get(phase.name, 0.0) + phase.seconds
        return seconds

    def _synthesize(self, settings: Settings, k: int, into: Buffers | None) -> Synthesis:
        made = self.made if settings.lc_layout == "csr" else None
        return synthesis.synthesize(self.shape, *hints(self.content, k), settings, self.timer, made, into)

    def _side_by_side(self, settings: Settings, counters: Counters | None, phases: dict[str, float]) -> Times:
        """A thread for each job drives partitions; their tasks share one pool of workers."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for k in self.partitions:
            waiting.put(k)
        each: dict[int, float] = {}
        failures: list[BaseException] = []

        def drive(into: Buffers | None, parent: Any) -> None:
            with self.timer.within(parent):
                try:
                    while not failures:
                        k = waiting.get_nowait()
                        each[k] = self._timed(settings, k, into, phases)
                except queue.Empty:
                    pass
                except BaseException as error:
                    failures.append(error)

        with self.timer.phase("side_by_side") as parent, measured(counters):
            began = time.perf_counter()
            places = self._buffers if settings.presize else [None] * self.jobs
            threads = [threading.Thread(target=drive, args=(p, parent), name=f"job_{i}") for i, p in enumerate(places)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            whole = time.perf_counter() - began
        if failures:
            raise failures[0]
        return Times(whole, each, phases)

    def _fresh(self, settings: Settings) -> None:
        """The state before a run: nothing of an earlier one left."""
        if not settings.presize:
            with self.timer.phase("reset"):
                self._buffers.clear()
                gc.collect()
            return
        if not self._buffers:
            with self.timer.phase("presize") as touching:
                self._buffers.extend(synthesis.buffers(self.shape) for _ in range(self.jobs))
                for buffers in self._buffers:
                    buffers.overwrite()
            self.first_touches.append(touching.seconds)
        with self.timer.phase("reset"):
            gc.collect()
            began = time.perf_counter()
            for buffers in self._buffers:
                buffers.overwrite()
            self.rates.append(sum(b.nbytes for b in self._buffers) / (time.perf_counter() - began))

    def write_rate(self) -> float:
        """Bytes a second that all threads together wrote in this run: the best of the resets, or of a trial."""
        if not self.rates:
            trial = np.empty(1 << 28, np.uint8)
            pieces = [(trial[i:j],) for i, j in workers.ranges(len(trial), 8, 4096)]
            for _ in range(4):
                began = time.perf_counter()
                workers.run_all(synthesis.write_over, pieces)
                self.rates.append(len(trial) / (time.perf_counter() - began))
        return max(self.rates)

    def untimed(self, settings: Settings, look: Callable[[int, Synthesis], None]) -> None:
        """One more run, partition after partition, whose results `look` sees."""
        for k in self.partitions:
            self._fresh(settings)
            self.timer.partition = k
            look(k, self._synthesize(settings, k, self._buffers[0] if settings.presize else None))
            self.timer.partition = None


@contextmanager
def measured(counters: Counters | None) -> Iterator[None]:
    """A stretch that is timed: no collection of garbage, no compilation."""
    compiled: list[str] = []
    jit.on_compile.append(compiled.append)
    collecting = gc.isenabled()
    gc.disable()
    try:
        with counters.counting() if counters else nullcontext():
            yield
    finally:
        jit.on_compile.remove(compiled.append)
        if collecting:
            gc.enable()
    if compiled:
        raise InternalError("code was compiled inside a timing", where=compiled[0])


def fingerprint(result: Synthesis) -> str:
    """A digest of a whole result as it lies in memory: for results of one shape, equal if and only if they are equal."""
    arrays = [result.witness.inputs_mont, result.witness.bits, result.witness.elems_mont, result.a, result.b, result.c]
    parts = workers.run_all(_hash, [(a,) for a in arrays])
    return hashlib.blake2b(b"".join(parts), digest_size=32).hexdigest()


def _hash(array: np.ndarray[Any, Any]) -> bytes:
    digest = hashlib.blake2b()
    flat = array.reshape(-1)
    for i in range(0, len(flat), 1 << 22):
        digest.update(flat[i : i + (1 << 22)].data)
    return digest.digest()
