"""Every kernel runs line by line under Numba's CUDA simulator at toy sizes, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

FILES = sorted(p.name for p in (Path(__file__).parent / "simulated").glob("test_*.py"))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.usefixtures("compiler")
def test_under_the_simulator(name: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [*command, f"tests/cuda/simulated/{name}"],
        env=os.environ | {"NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
