"""What the machine did beside the measured work."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
