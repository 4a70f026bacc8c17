"""Lint, types and size rules run as tests."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "cuzk", "tests", "scripts"],
        ["ruff", "format", "--check", "cuzk", "tests", "scripts"],
        ["mypy", "--no-incremental"],
    ],
    ids=lambda c: " ".join(c[:2]),
)
def test_linters_are_content(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("script", sorted(p.name for p in (ROOT / "scripts").glob("check_*.py")))
def test_own_checks_are_content(script: str) -> None:
    done = subprocess.run([sys.executable, f"scripts/{script}"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_long_literals_stand_in_one_place() -> None:
    """Constants are derived: no integer literal over 64 bits outside field/params.py (the spec derives its own)."""
    for path in sorted((ROOT / "cuzk").rglob("*.py")):
        if path.name == "params.py" and path.parent.name == "field":
            continue
        for word in re.findall(r"\b0x[0-9a-fA-F_]{17,}\b|\b\d{21,}\b", path.read_text()):
            digits = word.replace("_", "")
            assert int(digits, 0) < 1 << 64, f"{path.relative_to(ROOT)}: {word[:24]}…"
