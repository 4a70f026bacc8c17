"""Threads that run compiled kernels side by side. Kernels release the GIL.

All tasks of a process share one pool, so that threads which drive several partitions at once do not crowd the CPUs.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, NamedTuple, Self, TypeVar

from cuzk import config, signals

T = TypeVar("T")


class Observer(NamedTuple):
    """Who wants to know of every task: `origin()` is called by the thread that hands tasks over, `done(origin, thread, began,
    ended)` by the one that ran a task, with times of `time.perf_counter`.
    """

    origin: Callable[[], Any]
    done: Callable[[Any, str, float, float], None]


observer: Observer | None = None
_own = threading.local()


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    numbers = itertools.count()

    def number() -> None:
        _own.number, _own.of = next(numbers), threads

    return ThreadPoolExecutor(threads, thread_name_prefix="worker", initializer=number)


def _spread() -> None:
    """Move this worker to a CPU of its own, where it need not stay, if there is a worker for each CPU.

    While the caller that wakes them still has a CPU, Linux may wake two workers on another one, and lets them share it until it
    next looks at the balance of its queues; the one that moves then leaves its caches behind.
    """
    try:
        cpus = os.sched_getaffinity(0)
        if 1 < len(cpus) <= _own.of:
            os.sched_setaffinity(0, {sorted(cpus)[_own.number % len(cpus)]})
            os.sched_setaffinity(0, cpus)
    except (AttributeError, OSError):
        pass  # a system without such calls, or one that forbids them


def _observed(watcher: Observer, origin: Any, task: Callable[..., T], *a: Any) -> T:
    began = time.perf_counter()
    try:
        return task(*a)
    finally:
        watcher.done(origin, threading.current_thread().name, began, time.perf_counter())


def pin(threads: int | None = None) -> str:
    """Keep each worker on a CPU of its own from now on, if the system allows. Returns what was done, in words."""
    threads = threads or config.thread_count()
    if not hasattr(os, "sched_setaffinity"):
        return "not pinned: this system has no CPU affinity"
    cpus = sorted(os.sched_getaffinity(0))
    together = threading.Barrier(threads)

    def one(cpu: int) -> None:
        together.wait(10)  # so that every worker takes exactly one of these tasks
        os.sched_setaffinity(0, {cpu})

    try:
        if threads > 1:
            run_all(one, [(cpus[i % len(cpus)],) for i in range(threads)], threads)
    except (OSError, threading.BrokenBarrierError) as error:
        return f"not pinned: {error}"
    return f"{threads} workers pinned to CPUs {', '.join(map(str, cpus[:threads]))}" if threads > 1 else "one worker, not pinned"


class _Crew(Generic[T]):
    """Calls that workers take one after the other by themselves. The caller sleeps until what it waits for is there: each time
    it wakes, it takes a CPU from a worker, and the interpreter's lock from all.
    """

    def __init__(self, task: Callable[..., T], calls: list[tuple[Any, ...]], threads: int) -> None:
        self.results: list[Future[T]] = [Future() for _ in calls]
        self._waiting = deque(zip(self.results, calls, strict=True))
        if (watcher := observer) is not None:
            task = functools.partial(_observed, watcher, watcher.origin(), task)
        self._members = [_pool(threads).submit(self._work, task) for _ in range(min(threads, len(calls)))]

    def _work(self, task: Callable[..., T]) -> None:
        _spread()
        with suppress(IndexError):
            while True:
                result, a = self._waiting.popleft()
                try:
                    signals.check()
                    result.set_result(task(*a))
                except BaseException as error:
                    self._waiting.clear()  # in order: no one waits for a later result
                    result.set_exception(error)

    def wait(self) -> None:
        """Until every call has ended or is dropped."""
        for member in self._members:
            member.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._waiting.clear()
        for member in self._members:
            if not member.cancel():
                member.result()


def run(task: Callable[..., T], arguments: Iterable[tuple[Any, ...]], threads: int | None = None) -> Iterator[T]:
    """Call `task(*a)` for each tuple, at most `threads` at a time (default: all CPUs), yielding results in order.

    The first exception is raised after the running tasks have ended; the waiting ones are dropped.
    A task must not call `run` itself.
    """
    threads = threads or config.thread_count()
    calls = list(arguments)
    if threads == 1 or len(calls) <= 1:
        for a in calls:
            signals.check()
            yield task(*a)
        return
    with _Crew(task, calls, threads) as crew:
        for result in crew.results:
            signals.check()
            yield result.result()


def run_all(task: Callable[..., T], arguments: Iterable[tuple[Any, ...]], threads: int | None = None) -> list[T]:
    """As `run`, to the end."""
    threads = threads or config.thread_count()
    calls = list(arguments)
    if threads == 1 or len(calls) <= 1:
        return list(run(task, calls, threads))
    with _Crew(task, calls, threads) as crew:
        crew.wait()
        return [result.result() for result in crew.results]


def ranges(n: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut range(n) into at most `parts` pieces whose inner borders are multiples of `multiple`; no empty piece."""
    step = -(-n // max(1, parts))
    step = max(multiple, -(-step // multiple) * multiple)
    return [(i, min(n, i + step)) for i in range(0, n, step)]


def over_ranges(task: Callable[[int, int], T], n: int, multiple: int = 1, pieces: int = 4, threads: int | None = None) -> list[T]:
    """Call `task(start, stop)` over pieces of range(n), `pieces` of them a thread so that a slow one does not hold up all."""
    threads = threads or config.thread_count()
    return run_all(task, ranges(n, threads * pieces if threads > 1 else 1, multiple), threads)
