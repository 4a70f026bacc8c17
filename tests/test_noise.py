"""What the machine did beside the measured work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cuzk import noise
from cuzk.noise import Watch, judge


def test_quiet_and_busy() -> None:
    quiet = judge(wall=10, busy=19, stolen=0, own=18.9, cpus=2)
    assert not quiet["busy"] and "quiet" in quiet["line"]
    busy = judge(wall=10, busy=19, stolen=0, own=10, cpus=2)
    assert busy["busy"] and "the machine was busy: other processes took 0.90" in busy["line"]
    assert judge(wall=10, busy=10, stolen=3, own=10, cpus=2)["busy"]
    assert judge(wall=10, busy=9, stolen=0, own=10, cpus=2)["others"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/stat")
def test_another_process_is_seen() -> None:
    watch = Watch()
    subprocess.run([sys.executable, "-c", "import time\nt=time.time()\nwhile time.time()<t+0.6: pass"], check=True)
    found = watch.report()
    assert found["others"] > 0.2 and found["busy"]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/stat")
def test_own_processes_can_be_told_from_others() -> None:
    without, watch = Watch(), Watch(with_children=True)
    subprocess.run([sys.executable, "-c", "import time\nt=time.time()\nwhile time.time()<t+0.6: pass"], check=True)
    assert watch.report()["others"] < without.report()["others"] - 0.2


def test_only_the_cpus_of_this_process_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tick = os.sysconf("SC_CLK_TCK")
    table = tmp_path / "stat"

    def write(busy: dict[str, int]) -> None:
        lines = [f"{name} {seconds * tick} 0 0 500 0 0 0 0 0 0" for name, seconds in busy.items()]
        table.write_text("\n".join([*lines, "intr 5", ""]))

    monkeypatch.setattr(noise, "STAT", table)
    monkeypatch.setattr(noise, "_cpus", lambda: {1, 3})
    write({"cpu": 10, "cpu0": 5, "cpu1": 2, "cpu2": 1, "cpu3": 2, "cpu13": 0})
    watch = Watch()
    write({"cpu": 910, "cpu0": 405, "cpu1": 2, "cpu2": 301, "cpu3": 2, "cpu13": 200})
    quiet = watch.report()
    assert not quiet["busy"] and quiet["others"] == 0 and "of 2 CPUs" in quiet["line"]
    write({"cpu": 910, "cpu0": 405, "cpu1": 302, "cpu2": 301, "cpu3": 2, "cpu13": 200})
    assert watch.report()["busy"]
