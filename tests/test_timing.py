"""The phase tree: that it covers the time, nests, counts threads apart, and comes out as lines, table, JSON and trace."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cuzk import workers
from cuzk.timing import RUST_NAMES, Phase, Timer
from tests.conftest import ROOT


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def example() -> Timer:
    timer = Timer(time.perf_counter() - 0.05)
    timer.started()
    with timer.watching_workers():
        for k in (0, 1):
            timer.partition = k
            with timer.phase("witness"):
                workers.run_all(sleep, [(0.01,)] * 4, threads=2)
            with timer.phase("msm_h"), timer.phase("digits"):
                sleep(0.01)
        timer.partition = None
    sleep(0.03)
    timer.stop()
    return timer


def test_totals_cover_the_time() -> None:
    timer = example()
    totals = timer.totals()
    assert list(totals) == ["start", "witness", "msm_h", "unaccounted"]
    assert sum(totals.values()) == pytest.approx(timer.root.seconds, abs=1e-5)
    assert totals["start"] >= 0.05 and totals["unaccounted"] >= 0.03
    nested = {t.path: t.times for t in timer.nested_totals()}
    assert nested == {("start",): 1, ("witness",): 2, ("msm_h",): 2, ("msm_h", "digits"): 2}


def test_table_has_the_names_of_the_rust_cuzk() -> None:
    lines = example().table().splitlines()
    assert lines[0].endswith("in the Rust cuzk")
    assert [line.split()[0] for line in lines[1:]] == ["start", "witness", "msm_h", "digits", "unaccounted", "total"]
    assert lines[2].endswith("synthesis") and lines[3].endswith("ntt_msm_h")
    wanted = {"pin_abc", "prep_msm", "ntt_msm_h", "batch_add", "tail_msm", "b_g2_msm", "synthesis", "srs_load"}
    assert {word for names in RUST_NAMES.values() for word in names.split(", ")} == wanted


def test_json_and_trace(tmp_path: Path) -> None:
    timer = example()
    timer.span("cuda:0", "ntt_h", 0.01, 0.02, 1)
    timer.write_json(tmp_path / "t.json", {"fact": 1})
    tree = json.loads((tmp_path / "t.json").read_text())
    assert tree["fact"] == 1 and tree["phases"] == timer.totals()
    assert [c["name"] for c in tree["tree"]["children"]] == ["start", "witness", "msm_h", "witness", "msm_h"]
    assert tree["tree"]["children"][1]["partition"] == 0
    tracks = {t["track"]: t["spans"] for t in tree["tracks"]}
    assert set(tracks) == {"cuda:0", "worker_0", "worker_1"}
    assert tracks["cuda:0"] == [["ntt_h", 0.01, 0.02, 1]]
    assert {(name, k) for name, _, _, k in tracks["worker_0"]} == {("witness", 0), ("witness", 1)}
    timer.write_trace(tmp_path / "x.json", {})
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    names = {e["args"]["name"]: e["tid"] for e in events if e["ph"] == "M"}
    assert set(names) == {"main", "cuda:0", "worker_0", "worker_1"} and len(set(names.values())) == 4
    for e in (e for e in events if e["ph"] == "X"):
        assert e["dur"] >= 0 and e["ts"] >= 0 and e["tid"] in names.values()


def test_tasks_of_one_phase_that_follow_at_once_are_one_span() -> None:
    timer = Timer()
    for start, name, k in ((0.0, "a", 0), (0.1001, "a", 0), (0.2002, "a", 1), (0.5, "a", 1), (0.6, "b", 1)):
        timer.span("worker_0", name, start, 0.1, k)
    got = [(s.name, round(s.start, 3), round(s.seconds, 3), s.partition) for s in timer.tracks()["worker_0"]]
    assert got == [("a", 0.0, 0.2, 0), ("a", 0.2, 0.1, 1), ("a", 0.5, 0.1, 1), ("b", 0.6, 0.1, 1)]


def test_threads_have_phases_of_their_own() -> None:
    timer = Timer()

    def drive(k: int, parent) -> None:
        with timer.within(parent):
            timer.partition = k
            with timer.phase("witness"):
                sleep(0.02)

    with timer.phase("side_by_side") as parent:
        threads = [threading.Thread(target=drive, args=(k, parent), name=f"job_{k}") for k in (0, 1)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    timer.stop()
    assert timer.partition is None
    assert {(c.name, c.partition, c.track) for c in parent.children} == {("witness", 0, "job_0"), ("witness", 1, "job_1")}
    assert sum(c.seconds for c in parent.children) > parent.seconds  # they ran at once
    totals, beside = timer.totals(), timer.side_by_side()
    assert totals["side_by_side"] == pytest.approx(parent.seconds, abs=1e-5)
    assert beside == {"witness": totals["witness"]} and totals["witness"] > parent.seconds
    assert sum(totals.values()) - sum(beside.values()) == pytest.approx(timer.root.seconds, abs=1e-5)
    assert parent.side_by_side and parent.as_dict()["side_by_side"] is True
    line = next(line for line in timer.table().splitlines() if line.startswith("witness"))
    assert line.endswith("synthesis (side by side with others)")
    assert timer.table().count("side by side") == 1


def drawn(timer: Timer) -> Timer:
    """As one card or two prove: synthesis ahead, the check behind, and with two all of it on threads."""
    for name, seconds, track, inner in (
        ("read_c1", 1.0, None, []),
        ("await_synthesis", 2.0, None, [Phase("witness", 0.5, 1.5, track="stage_0")]),
        ("ntt_h", 3.0, None, [Phase("passes", 3.0, 2.0)]),
        ("cards", 4.0, None, [Phase("ntt_h", 6.0, 3.5, track="card_0"), Phase("ntt_h", 6.0, 4.0, track="card_1")]),
        ("verify", 1.0, "check_0", []),
    ):
        timer.root.children.append(Phase(name, 0.0, seconds, track=track, children=inner))
    timer.root.seconds = 10.5
    return timer


def test_what_ran_side_by_side_is_there_and_no_part_of_the_sum() -> None:
    timer = drawn(Timer())
    assert timer.side_by_side() == {"witness": 1.5, "ntt_h": 7.5, "verify": 1.0}
    totals = timer.totals()
    assert totals == {
        "read_c1": 1.0, "await_synthesis": 2.0, "ntt_h": 10.5, "cards": 4.0, "witness": 1.5, "verify": 1.0, "unaccounted": 0.5
    }  # fmt: skip
    assert sum(totals.values()) - sum(timer.side_by_side().values()) == timer.root.seconds
    rows = {line.split()[0]: line for line in timer.table().splitlines()}
    marked = {name for name, line in rows.items() if "side by side" in line}
    assert marked == {"witness", "ntt_h", "verify"} and rows["passes"].startswith("  passes")


def test_a_timer_of_another_thread_than_the_main_one() -> None:
    timers: list[Timer] = []

    def work() -> None:
        timer = Timer()
        with timer.phase("witness"):
            sleep(0.01)
        timer.stop()
        timers.append(timer)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert timers[0].totals()["witness"] >= 0.01 > timers[0].totals()["unaccounted"] and timers[0].side_by_side() == {}


def test_phases_and_tasks_are_of_the_setting_that_is_measured(tmp_path: Path) -> None:
    timer = Timer()
    with timer.watching_workers():
        for timer.setting in ("base", "presize=off", None):
            with timer.phase("witness"):
                workers.run_all(sleep, [(0.001,)] * 2, threads=2)
    timer.stop()
    assert timer.table().startswith("all settings together")
    timer.write_json(tmp_path / "t.json", {})
    tree = json.loads((tmp_path / "t.json").read_text())
    assert [c.get("setting") for c in tree["tree"]["children"]] == ["base", "presize=off", None]
    assert {tuple(s[3:]) for t in tree["tracks"] for s in t["spans"]} == {(None, "base"), (None, "presize=off"), (None,)}
    timer.write_trace(tmp_path / "x.json", {})
    events = [e for e in json.loads((tmp_path / "x.json").read_text())["traceEvents"] if e["name"] == "witness"]
    assert {e["args"].get("setting") for e in events} == {"base", "presize=off", None}


def test_phases_end_when_they_fail() -> None:
    timer = Timer()
    with pytest.raises(ValueError, match="x"), timer.phase("a"):
        raise ValueError("x")
    with timer.phase("b"):
        pass
    assert [p.name for p in timer.root.children] == ["a", "b"]


def lines_of(code: str, timing: str = "1") -> tuple[int, list[str]]:
    environment = {**os.environ, "CUZK_TIMING": timing}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment)
    return done.returncode, done.stderr.splitlines()


def test_lines_are_there_after_a_kill() -> None:
    code, lines = lines_of(
        "import os, signal\nfrom cuzk.timing import Timer\nt = Timer()\nt.started()\nt.partition = 3\nt.setting = 'base'\n"
        "with t.phase('outer'):\n with t.phase('inner'): pass\n os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert code == -9
    start, line = lines
    assert re.fullmatch(r"timing start \d+\.\d{6} s from 0\.000000 s", start)
    assert re.fullmatch(r"timing outer/inner \d+\.\d{6} s from \d+\.\d{6} s partition=3 setting=base", line)


def test_lines_of_threads_have_the_whole_path_and_other_timers_none() -> None:
    code, lines = lines_of(
        "import threading\nfrom cuzk.timing import Timer\nt = Timer()\n"
        "def drive(parent):\n"
        " with t.within(parent):\n"
        "  with t.phase('a'):\n"
        "   with t.phase('b'): pass\n"
        "with t.phase('cards'):\n"
        " with t.phase('side') as parent:\n"
        "  x = threading.Thread(target=drive, args=(parent,), name='job_0')\n"
        "  x.start(); x.join()\n"
        " with Timer(silent=True).phase('other'): pass\n"
    )
    assert code == 0
    assert [line.split()[1] for line in lines] == ["cards/side/a/b", "cards/side/a", "cards/side", "cards"]
    assert [line.endswith("track=job_0") for line in lines] == [True, True, False, False]


@pytest.mark.parametrize(("value", "lines"), [("1", 1), ("on", 1), ("TRUE", 1), ("0", 0), ("off", 0), ("", 0)])
def test_switch_in_the_environment(value: str, lines: int) -> None:
    code, found = lines_of("from cuzk.timing import Timer\nwith Timer().phase('a'): pass", value)
    assert (code, len(found)) == (0, lines)


def test_other_values_in_the_environment_are_refused() -> None:
    for value in ("2", "yes", "maybe"):
        code, found = lines_of("from cuzk.__main__ import main\nimport sys\nsys.argv[1:] = ['config']\nmain()", value)
        assert code == 2 and "CUZK_TIMING" in " ".join(found), found


def test_nobody_watches_unasked() -> None:
    assert workers.observer is None
    timer = Timer()
    with timer.watching_workers():
        assert workers.observer is not None
        with pytest.raises(ZeroDivisionError):
            workers.run_all(lambda x: 1 // x, [(1,), (0,), (1,)], threads=2)
    assert workers.observer is None
    assert {s.name for s in timer.spans} == {"total"}


def test_workers_of_a_thread_without_a_phase_are_watched_too() -> None:
    timer = Timer()
    with timer.watching_workers(), ThreadPoolExecutor(1) as pool:
        pool.submit(workers.run_all, sleep, [(0.001,)] * 2, threads=2).result()
    assert {s.name for s in timer.spans} == {"total"}
