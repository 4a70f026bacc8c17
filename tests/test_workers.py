"""Threads: order, failures, pieces, and workers on CPUs of their own."""

from __future__ import annotations

import os
import threading

import pytest

from cuzk import signals, workers


def test_results_come_in_order_and_failures_come_out() -> None:
    assert workers.run_all(lambda x: x * x, [(k,) for k in range(50)], threads=3) == [k * k for k in range(50)]
    with pytest.raises(ZeroDivisionError):
        workers.run_all(lambda x: 1 // x, [(1,), (0,)], threads=2)


@pytest.mark.parametrize(("n", "parts", "multiple"), [(0, 3, 1), (1, 8, 1), (10, 3, 4), (1000, 7, 64), (5, 5, 100)])
def test_ranges_cover_without_gaps(n: int, parts: int, multiple: int) -> None:
    found = workers.ranges(n, parts, multiple)
    assert [i for a, b in found for i in range(a, b)] == list(range(n))
    assert len(found) <= parts and all(a % multiple == 0 for a, _ in found)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity")
def test_pinned_workers_have_a_cpu_each() -> None:
    before = os.sched_getaffinity(0)
    words = workers.pin(5)
    assert words.startswith(("5 workers pinned to CPUs", "not pinned"))
    if words.startswith("5"):
        together = threading.Barrier(5)

        def where() -> set[int]:
            together.wait(10)
            return os.sched_getaffinity(0)

        found = workers.run_all(where, [()] * 5, threads=5)
        assert all(len(cpus) == 1 for cpus in found)
        assert set.union(*found) == set(sorted(before)[:5])
    assert os.sched_getaffinity(0) == before
    assert workers.pin(1) == "one worker, not pinned"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity")
@pytest.mark.parametrize("forbidden", [False, True])
def test_workers_begin_apart_and_are_free_to_move(monkeypatch: pytest.MonkeyPatch, forbidden: bool) -> None:
    cpus, calls = set(range(7)), []

    def move(pid: int, to: set[int]) -> None:
        calls.append((threading.current_thread().name, set(to)))
        if forbidden:
            raise PermissionError(1, "not permitted")

    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: cpus)
    monkeypatch.setattr(os, "sched_setaffinity", move)
    together = threading.Barrier(7)
    assert workers.run_all(lambda: together.wait(10), [()] * 7, threads=7)
    begun: dict[str, list[set[int]]] = {}
    for name, to in calls:
        begun.setdefault(name, []).append(to)
    assert len(begun) == 7
    assert set.union(*(moves[0] for moves in begun.values())) == cpus, "two workers began on one CPU"
    assert all(len(moves[0]) == 1 and moves[1:] == ([] if forbidden else [cpus]) for moves in begun.values())
    # With fewer workers than CPUs the system chooses.
    calls.clear()
    assert workers.run_all(lambda x: x, [(k,) for k in range(9)], threads=6) == list(range(9))
    assert not calls


def test_a_failure_drops_the_calls_that_wait() -> None:
    seen: list[int] = []

    def task(k: int) -> int:
        seen.append(k)
        return 1 // k

    for run in (workers.run_all, lambda *a: list(workers.run(*a))):
        seen.clear()
        with pytest.raises(ZeroDivisionError):
            run(task, [(k,) for k in (1, 0, *range(2, 5000))], 2)
        assert len(seen) < 5000


def test_results_come_while_others_are_made() -> None:
    go = threading.Event()
    results = workers.run(lambda k: k or go.wait(10), [(1,), (0,), (2,)], threads=2)
    assert next(results) == 1
    go.set()
    assert list(results) == [True, 2]
    unfinished = workers.run(lambda k: k, [(k,) for k in range(5)], threads=2)
    assert next(unfinished) == 0
    unfinished.close()


def test_a_lost_signal_ends_all_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "_received", [0.0])
    with pytest.raises(KeyboardInterrupt):
        workers.run_all(lambda k: k, [(k,) for k in range(9)], threads=2)
