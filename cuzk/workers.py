"""Threads that run compiled kernels side by side. Kernels release the GIL; there are no other threads in this program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from cuzk import config

T = TypeVar("T")


@functools.cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="cuzk")


def run(task: Callable[..., T], arguments: Iterable[tuple[Any, ...]], threads: int | None = None) -> Iterator[T]:
    """Call `task(*a)` for each tuple, at most `threads` at a time (default: all CPUs), yielding results in order.

    The first exception is raised after the running tasks have ended; the waiting ones are dropped.
    A task must not call `run` itself.
    """
    threads = threads or config.thread_count()
    calls = list(arguments)
    if threads == 1 or len(calls) <= 1:
        for a in calls:
            yield task(*a)
        return
    futures = [_pool(threads).submit(task, *a) for a in calls]
    try:
        for future in futures:
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
