"""Counters of the kernel: what they count, whom, and what is said where they are refused."""

from __future__ import annotations

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from cuzk import counters, workers
from cuzk.counters import Counters, Event, refusal
from tests.conftest import ROOT

PAGES = 3000
FAULTS = Event("page_faults", 1, 2)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="perf_event_open is Linux's")


def touch(pages: int) -> None:
    import mmap

    region = mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        region.madvise(mmap.MADV_NOHUGEPAGE)
    np.frombuffer(region, np.uint8)[:: mmap.PAGESIZE] = 1


def test_faults_of_all_workers_and_only_inside() -> None:
    workers.run_all(touch, [(1,)] * 4, threads=2)  # the workers run
    counter = Counters([FAULTS])
    touch(PAGES)
    with counter.counting():
        workers.run_all(touch, [(PAGES,)] * 4, threads=2)
    touch(PAGES)
    with counter.counting():
        touch(PAGES)
    touch(PAGES)
    usage = counter.usage()["minor_faults"]
    assert 5 * PAGES <= usage <= 5 * PAGES + 500
    report = counter.report()
    if "page_faults" in report["values"]:
        assert 5 * PAGES <= report["values"]["page_faults"] <= 5 * PAGES + 500
    else:
        assert report["refused"]["page_faults"]
    counter.close()
    counter.close()


def test_every_counter_is_counted_or_refused_with_a_reason() -> None:
    counter = Counters()
    with counter.counting():
        pass
    values = counter.values()
    assert set(values) | set(counter.refused) == {e.name for e in counters.events()}
    assert not set(values) & set(counter.refused)
    assert all(len(reason) > 20 for reason in counter.refused.values())
    counter.close()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "perf_event_paranoid"),
        (errno.EPERM, "CAP_PERFMON"),
        (errno.ENOENT, "virtual"),
        (errno.ENOSYS, "seccomp"),
        (errno.EMFILE, "ulimit -n"),
        (errno.EIO, "EIO"),
    ],
)
def test_refusals_say_why_and_what_to_change(number: int, words: str) -> None:
    assert words in refusal(FAULTS, number)
    assert errno.errorcode[number] in refusal(FAULTS, number)


def test_unknown_event_of_a_processor() -> None:
    counter = Counters([Event("l2_misses", 4, None)])
    assert counter.refused == {"l2_misses": "no event of this name is known for this processor"}


def test_a_refusing_kernel_leaves_the_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    def no(event: Event, thread: int, user_only: bool) -> int:
        raise OSError(errno.EPERM, "no")

    monkeypatch.setattr(counters, "_open", no)
    counter = Counters()
    with counter.counting():
        touch(PAGES)
    report = counter.report()
    assert report["values"] == {} and len(report["refused"]) == len(counters.events())
    assert report["usage"]["minor_faults"] >= PAGES
    assert "instructions_per_cycle" not in report


def test_turns_are_scaled_by_the_time_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    import struct

    counter = Counters([])
    reading, writing = os.pipe()
    os.write(writing, struct.pack("<QQQ", 100, 50, 25) + struct.pack("<QQQ", 7, 0, 0))
    counter._open = {"cycles": [reading, os.dup(reading)]}
    assert counter.values() == {"cycles": 200}
    os.close(writing)
    counter.close()


def test_an_ordinary_user_counts_hardware_in_user_mode_and_no_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    """With kernel.perf_event_paranoid = 2 the kernel gives EACCES unless its own share is left out."""
    asked: list[tuple[str, bool]] = []

    def paranoid(event: Event, thread: int, user_only: bool) -> int:
        asked.append((event.name, user_only))
        if not user_only:
            raise OSError(errno.EACCES, "no")
        return os.open(os.devnull, os.O_RDONLY)

    monkeypatch.setattr(counters, "_open", paranoid)
    counter = Counters()
    software = {"page_faults", "context_switches", "cpu_migrations"}
    assert set(counter.refused) == software and not {name for name, user_only in asked if user_only} & software
    assert set(counter.user_only) == {e.name for e in counters.events()} - software
    for name in software:
        assert "perf_event_paranoid" in counter.refused[name] and "CAP_PERFMON" in counter.refused[name]
    assert "involuntary_switches of getrusage stand in" in counter.refused["context_switches"]
    monkeypatch.setattr(counter, "values", lambda: dict.fromkeys(counter.user_only, 1))
    assert counter.report()["user_mode_only"] == counter.user_only
    counter.close()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become somebody else")
def test_switches_of_a_process_without_privileges_are_never_none_by_mistake() -> None:
    code = (
        "import os, time; from cuzk.counters import Counters\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534); c = Counters()\n"
        "with c.counting():\n    for _ in range(50): time.sleep(0.001)\n"
        "assert c.usage()['voluntary_switches'] >= 50\n"
        "assert c.values().get('context_switches', 50) >= 50, c.report()\n"
        "assert 'context_switches' in c.values() or 'getrusage' in c.refused['context_switches']\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
