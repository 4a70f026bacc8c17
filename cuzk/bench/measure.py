"""What a measurement is: repeated times of one task, in a fixed number of CPUs, and what shows that its result is right."""

from __future__ import annotations

import gc
import hashlib
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuzk import config, jit, statistics, workers
from cuzk.errors import InternalError, UsageError
from cuzk.noise import Watch
from cuzk.progress import Progress

RUNS, ROUNDS = 5, 10  # of one way, and comparing several
_LEAST_SECONDS = 8.0  # that rounds of one task on several numbers of CPUs last,
_MORE = 4  # unless there are this many times more of them than asked for
LARGEST = 31  # the logarithm of the largest number of elements
SMALLER = "measure a smaller --size, or free memory"
_STEADY = 0.1  # of the median: a wider spread is pointed out
_SHORTEST = 0.5  # seconds in which the system's clock ticks tell what others did
_PIECE = 1 << 26  # bytes that a thread hashes at a time


def _nothing() -> None:
    """What is done before or after a run where nothing has to be."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a subject is asked for. An empty `sizes` or `threads` leaves the choice to the subject."""

    runs: int = RUNS
    sizes: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    peers: bool = False
    opts: tuple[str, ...] = ()  # switches, NAME=VALUE
    variant: str | None = None  # settings to compare
    device: str = "cpu"
    cards: tuple[Any, ...] = ()
    progress: Progress = field(default_factory=lambda: Progress(quiet=True))

    def cpus(self) -> tuple[int, ...]:
        """The numbers of CPUs to measure on: as asked, else one and all."""
        return self.threads or tuple(dict.fromkeys((1, config.thread_count())))


class Times(NamedTuple):
    """Seconds of each run: on the clock, and of all CPUs for this process. The second counts no one else's work.

    `noise`: what others did during the rounds that these runs are of, where that was watched.
    """

    wall: list[float]
    cpu: list[float]
    noise: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON. `unsteady`: the quartiles are further apart than a tenth of the median."""
        seconds = statistics.summary(self.wall).as_dict()
        found = {
            "seconds": seconds,
            "times": [round(s, 9) for s in self.wall],
            "cpu_seconds": statistics.summary(self.cpu).as_dict(),
            "unsteady": unsteady(seconds),
        }
        return found if self.noise is None else found | {"noise": self.noise}


def unsteady(seconds: dict[str, Any]) -> bool:
    """Whether a summary has a wide spread."""
    return bool(seconds["spread"] > _STEADY * seconds["median"])


class Task(NamedTuple):
    """What is timed on so many CPUs. Off the clock, `before` every run lays out inputs and `after` it looks at the result.

    `only_asked`: it takes no part in the further rounds that short tasks have.
    """

    run: Callable[[], object]
    cpus: int
    before: Callable[[], object] = _nothing
    after: Callable[[], object] = _nothing
    only_asked: bool = False


def row(name: str, times: Times, threads: int, **facts: Any) -> dict[str, Any]:
    """A line of a report: the times of a task and facts about it."""
    return {"name": name, "threads": threads, "path": config.cpu_path(), **times.as_dict(), **facts}


def result(data: bytes | npt.NDArray[Any], against: str, holds: bool, name: str) -> dict[str, Any]:
    """The digest of a result, and what it was compared with.

    Raises  InternalError if it does not hold: a wrong result has no time
    """
    if not holds:
        raise InternalError(f"{name}: the result is wrong", expected=against, phase="bench")
    content = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "against": against, "holds": holds}


def require_cpus(count: int) -> None:
    """Raises  UsageError where there are not so many CPUs, or where the system cannot tell a process to use fewer"""
    have = config.thread_count()
    if count > have or (count < have and not hasattr(os, "sched_setaffinity")):
        raise UsageError("not so many CPUs to choose from", where="--threads", expected=f"at most {have}", got=count)


@contextmanager
def on_cpus(count: int) -> Iterator[None]:
    """Only `count` of this process's CPUs, for this thread, for what it starts and for `config.thread_count`.

    Raises  UsageError where there are not so many, or where the system cannot tell a process to use fewer
    """
    have = config.thread_count()
    if count == have:
        yield
        return
    require_cpus(count)
    cpus = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, set(sorted(cpus)[-count:]))  # the first ones serve more interrupts
        yield
    finally:
        os.sched_setaffinity(0, cpus)


@contextmanager
def undisturbed() -> Iterator[None]:
    """A stretch that is timed: no collection of garbage. Raises InternalError if code was compiled in it."""
    compiled: list[str] = []
    jit.on_compile.append(compiled.append)
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        jit.on_compile.remove(compiled.append)
        if collecting:
            gc.enable()
    if compiled:
        raise InternalError("code was compiled inside a timing", where=compiled[0], phase="bench")


def interleaved(tasks: Sequence[Task], runs: int) -> list[Times]:
    """Times of each task, once a round, in turning order. Every task must have run before."""
    times = [Times([], []) for _ in tasks]
    with undisturbed():
        for order in statistics.orders(len(tasks), runs):
            for i in order:
                tasks[i].before()
                with on_cpus(tasks[i].cpus):
                    used, began = time.process_time(), time.perf_counter()
                    tasks[i].run()
                    times[i].wall.append(time.perf_counter() - began)
                    times[i].cpu.append(time.process_time() - used)
                tasks[i].after()
    return times


def in_rounds(tasks: Sequence[Task], runs: int) -> list[Times]:
    """Times of tasks in the same rounds: what slows the machine for a while slows all alike. Short tasks have further rounds.

    Each runs once before, off the clock. Rounds come in order: those that a task with `only_asked` was in are the first.
    """
    for task in tasks:
        task.before()
        with on_cpus(task.cpus):
            task.run()
        task.after()
    watch = Watch()
    times = interleaved(tasks, runs)
    going_on = [i for i, task in enumerate(tasks) if not task.only_asked]
    a_round = sum(sum(times[i].wall) for i in going_on) / runs
    further = min(_MORE * runs, max(0, math.ceil(_LEAST_SECONDS / max(a_round, 1e-9)) - runs))
    for i, more in zip(going_on, interleaved([tasks[i] for i in going_on], further), strict=True):
        times[i].wall.extend(more.wall)
        times[i].cpu.extend(more.cpu)
    noise = noise_of(watch)
    return [t._replace(noise=noise) for t in times]


def noise_of(watch: Watch) -> dict[str, Any]:
    """What others did since the watch began; not known if that is only a few ticks of the system's clock ago."""
    found = watch.report()
    if found["others"] is not None and watch.seconds < _SHORTEST:
        found |= {"busy": None, "line": "too short to tell whether the machine was busy"}
    return found


def on_each(task: Task, counts: Sequence[int]) -> list[Task]:
    """The same task on each number of CPUs."""
    return [task._replace(cpus=count) for count in counts]


def times_of(
    run: Callable[[], object], runs: int, before: Callable[[], object] = _nothing, after: Callable[[], object] = _nothing
) -> Times:
    """Times of each of `runs` runs on the CPUs of now. The task must have run before."""
    watch = Watch()
    found = interleaved([Task(run, config.thread_count(), before, after)], runs)[0]
    return found._replace(noise=noise_of(watch))


def fingerprint(arrays: Sequence[npt.NDArray[Any]]) -> bytes:
    """A digest of whole arrays, made by all threads: SHA-256 of the digests of their pieces."""
    pieces = []
    for array in arrays:
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        pieces += [(data[i : i + _PIECE].data,) for i in range(0, max(1, len(data)), _PIECE)]
    return hashlib.sha256(b"".join(workers.run_all(lambda piece: hashlib.sha256(piece).digest(), pieces))).digest()


def same_again(holds: bool, name: str) -> None:
    """Raises  InternalError if a timed run left something else than the run that was checked"""
    if not holds:
        raise InternalError(
            f"{name}: a timed run left another result", expected="that of the run before, which held", phase="bench"
        )


def parse_powers(text: str, least: int = 0) -> tuple[int, ...]:
    """`2^16,2^18`, `65536` or `16`: base-2 logarithms of numbers of elements, none below `least`. Raises UsageError."""
    found = []
    for word in text.split(","):
        digits = word.strip().removeprefix("2^")
        n = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 12 else -1
        if n > LARGEST and "^" not in word and n & (n - 1) == 0:
            n = n.bit_length() - 1
        if not least <= n <= LARGEST:
            expected = f"2^{least} to 2^{LARGEST}, with commas between"
            hint = f"a number up to {LARGEST} is an exponent, a larger one the power of two itself"
            raise UsageError("no such size", where="--size", expected=expected, got=text[:60], hint=hint)
        found.append(n)
    return tuple(dict.fromkeys(found))


def random_words(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.uint64]:
    """Repeatable random elements, uint64[…, limbs], whose top two bits are clear: below r, and below p with room."""
    out = np.random.Generator(np.random.SFC64(seed)).integers(0, 1 << 64, shape, np.uint64)
    out[..., -1] &= np.uint64((1 << 62) - 1)
    return out


def class_sums(array: npt.NDArray[np.uint64], classes: int) -> list[int]:
    """Sums of the elements uint64[n, limbs] whose index is 0, 1, … modulo `classes`, as integers."""
    words = array.view(np.uint32).reshape(len(array), -1)
    whole = len(words) // classes * classes
    total = np.zeros((classes, words.shape[1]), np.uint64)
    step = classes * max(1, (1 << 14) // classes)  # pieces that stay in cache
    for start in range(0, whole, step):
        piece = words[start : min(start + step, whole)]
        total += piece.reshape(-1, classes, words.shape[1]).sum(axis=0, dtype=np.uint64)
    total[: len(words) - whole] += words[whole:]
    return [sum(int(v) << (32 * i) for i, v in enumerate(line)) for line in total]


def with_speed_up(rows: list[dict[str, Any]], products: Sequence[Times] = ()) -> list[dict[str, Any]]:
    """Rows of one task on different numbers of CPUs: each with its speed over that of the first, where that one has one CPU.

    `products`: times of products alone on the same numbers of CPUs in the same rounds; what those gain stands beside.
    """
    first = rows[0]
    for k, other in enumerate(rows[1:] if first["threads"] == 1 else [], 1):
        other["speed_up"] = round(first["seconds"]["median"] / other["seconds"]["median"], 3)
        if products:
            other["products_speed_up"] = round(median(products[0].wall) / median(products[k].wall), 3)
    return rows
