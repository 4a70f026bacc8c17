"""What a measurement is made of: times, CPUs, sizes, sums over classes, results that must hold."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from cuzk import config, jit
from cuzk.bench import measure
from cuzk.errors import InternalError, UsageError
from cuzk.field.limbs import from_limbs
from tests.conftest import Draw


def test_times_are_of_the_task_alone_and_in_turning_order() -> None:
    seen: list[int] = []
    all_cpus = config.thread_count()
    tasks = [
        measure.Task(lambda: (seen.append(0), time.sleep(0.02)), all_cpus, lambda: time.sleep(0.05), lambda: time.sleep(0.05)),
        measure.Task(lambda: seen.append(1), all_cpus),
    ]
    slow, quick = measure.interleaved(tasks, 3)
    assert seen == [0, 1, 1, 0, 0, 1] and max(slow.wall) < 0.05, "what is done before and after has no time"
    assert min(slow.wall) >= 0.02 > max(quick.wall)
    assert max(slow.cpu) < 0.02, "sleeping takes no CPU"
    row = measure.row("x", slow, 1, extra=5)
    assert row["seconds"]["n"] == 3 and row["seconds"]["min"] <= row["seconds"]["median"] <= row["seconds"]["max"]
    assert len(row["times"]) == 3 and row["extra"] == 5 and row["path"] == config.cpu_path()


def test_compilation_inside_a_timing_is_an_error() -> None:
    with pytest.raises(InternalError, match="compiled inside a timing"):
        measure.times_of(lambda: [callback("a kernel") for callback in list(jit.on_compile)], 1)


def test_a_wrong_result_has_no_time() -> None:
    with pytest.raises(InternalError, match="wrong"):
        measure.result(b"", "the truth", False, "x")
    assert measure.result(np.zeros(4, np.uint8), "", True, "x")["sha256"] == measure.result(bytes(4), "", True, "x")["sha256"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity here")
def test_fewer_cpus_for_a_while() -> None:
    before = os.sched_getaffinity(0)
    with measure.on_cpus(1):
        assert config.thread_count() == 1
    with pytest.raises(ZeroDivisionError), measure.on_cpus(1):
        raise ZeroDivisionError
    assert os.sched_getaffinity(0) == before
    with pytest.raises(UsageError, match="CPUs"), measure.on_cpus(10_000):
        pass


@pytest.mark.parametrize(
    ("text", "want"), [("2^10,2^12", (10, 12)), ("16", (16,)), ("65536", (16,)), ("2^0", (0,)), ("5,5", (5,))]
)
def test_sizes(text: str, want: tuple[int, ...]) -> None:
    assert measure.parse_powers(text) == want


@pytest.mark.parametrize("text", ["", "2^", "x", "-1", "2^32", "100", "2^64", "1,,2", "2KiB", "9" * 40, "²"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(UsageError, match="no such size"):
        measure.parse_powers(text)


def test_the_range_of_sizes_is_the_subjects_own() -> None:
    assert measure.parse_powers("6,2^31", 6) == (6, 31)
    for text in ("0", "2^5", "16,32", "1000"):
        with pytest.raises(UsageError, match="no such size") as caught:
            measure.parse_powers(text, 6)
        assert str(caught.value.expected).startswith("2^6 to 2^31") and "exponent" in str(caught.value.hint)


@pytest.mark.parametrize("classes", [1, 8])
def test_sums_over_classes(classes: int, draw: Draw) -> None:
    array = measure.random_words((64, 4), draw.random.randrange(1 << 30))
    array[:8] = np.uint64(2**64 - 1)
    values = from_limbs(array)
    assert measure.class_sums(array, classes) == [sum(values[k::classes]) for k in range(classes)], draw


def test_speed_up_is_over_one_cpu() -> None:
    def rows(*threads: int) -> list[dict[str, object]]:
        return [measure.row("x", measure.Times([1.0 / t], [1.0]), t) for t in threads]

    assert measure.with_speed_up(rows(1, 2))[1]["speed_up"] == 2
    assert "speed_up" not in measure.with_speed_up(rows(2, 4))[1]
    alone = [measure.Times([3.0, 3.0, 9.0], [3.0]), measure.Times([2.0, 9.0, 2.0], [2.0])]
    found = measure.with_speed_up(rows(1, 2), alone)
    assert "products_speed_up" not in found[0] and found[1]["products_speed_up"] == 1.5


def test_numbers_of_cpus_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_LEAST_SECONDS", 0.05)
    calls: list[str] = []

    def task() -> None:
        calls.append("task")
        time.sleep(0.005)

    ours = measure.Task(task, config.thread_count(), lambda: calls.append("before"), lambda: calls.append("after"))
    other = measure.Task(lambda: calls.append("peer"), config.thread_count(), only_asked=True)
    mine, peer = measure.in_rounds([ours, other], 2)
    assert len(peer.wall) == 2 < len(mine.wall) == len(mine.cpu) <= 10
    once = ["before", "task", "after"]
    assert calls[:12] == [*once, "peer", *once, "peer", "peer", *once] and "peer" not in calls[12:]


@pytest.mark.parametrize("place", ["first", "last"])
def test_every_timed_run_is_looked_at(place: str) -> None:
    results = [1, 1, 1]
    results[0 if place == "first" else -1] = 2
    runs = iter(results)
    found: list[int] = []
    with pytest.raises(InternalError, match="x: a timed run left another result"):
        measure.times_of(lambda: found.append(next(runs)), 3, after=lambda: measure.same_again(found[-1] == 1, "x"))


def test_rows_say_what_others_did_and_whether_they_are_steady(monkeypatch: pytest.MonkeyPatch) -> None:
    steady, wide = measure.Times([1.0, 1.01, 1.02], [1.0] * 3), measure.Times([1.0, 1.3, 1.6], [1.0] * 3)
    assert measure.row("x", steady, 1)["unsteady"] is False and measure.row("x", wide, 1)["unsteady"] is True
    short = measure.times_of(lambda: None, 2)
    assert short.noise is not None and short.noise["busy"] is None
    monkeypatch.setattr(measure, "_SHORTEST", 0.0)
    row = measure.row("x", measure.times_of(lambda: time.sleep(0.02), 2), 1)
    assert {"others", "stolen", "busy", "line"} <= set(row["noise"]) or row["noise"]["others"] is None


def test_fingerprints_see_every_byte_and_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_PIECE", 100)
    array = measure.random_words((64, 4), 1)
    prints = {measure.fingerprint([array]), measure.fingerprint([array[:0], array])}
    for place in (0, 12, 13, 255):
        other = array.copy()
        other.reshape(-1)[place] ^= np.uint64(1)
        prints.add(measure.fingerprint([other]))
    prints |= {measure.fingerprint([array[32:], array[:32]]), measure.fingerprint([np.ascontiguousarray(array[::-1])])}
    assert len(prints) == 8 and measure.fingerprint([array]) == measure.fingerprint([array.copy()])
