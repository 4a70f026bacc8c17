"""Threads that run compiled kernels side by side. Kernels release the GIL.

All tasks of a process share one pool, so that threads which drive several partitions at once do not crowd the CPUs.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from cuzk import config, signals

T = TypeVar("T")


class Observer(NamedTuple):
    """Who wants to know of every task: `origin()` is called by the thread that hands tasks over, `done(origin, thread, began,
    ended)` by the one that ran a task, with times of `time.perf_counter`.
    """

    origin: Callable[[], Any]
    done: Callable[[Any, str, float, float], None]


observer: Observer | None = None


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="worker")


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
    if (watcher := observer) is None:
        futures = [_pool(threads).submit(task, *a) for a in calls]
    else:
        origin = watcher.origin()
        futures = [_pool(threads).submit(_observed, watcher, origin, task, *a) for a in calls]
    try:
        for future in futures:
            signals.check()
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
        for future in futures:
            if not future.cancelled():
                future.exception()


def run_all(task: Callable[..., T], arguments: Iterable[tuple[Any, ...]], threads: int | None = None) -> list[T]:
    """As `run`, to the end."""
    return list(run(task, arguments, threads))


def ranges(n: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut range(n) into at most `parts` pieces whose inner borders are multiples of `multiple`; no empty piece."""
    step = -(-n // max(1, parts))
    step = max(multiple, -(-step // multiple) * multiple)
    return [(i, min(n, i + step)) for i in range(0, n, step)]


def over_ranges(task: Callable[[int, int], T], n: int, multiple: int = 1, pieces: int = 4, threads: int | None = None) -> list[T]:
    """Call `task(start, stop)` over pieces of range(n), `pieces` of them a thread so that a slow one does not hold up all."""
    threads = threads or config.thread_count()
    return run_all(task, ranges(n, threads * pieces if threads > 1 else 1, multiple), threads)
