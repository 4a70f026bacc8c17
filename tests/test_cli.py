"""The command line's skin: help, usage errors, one JSON object, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cuzk import __version__
from cuzk.cli import cli
from tests.conftest import ROOT


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os

    return subprocess.run(
        [sys.executable, "-m", "cuzk", *arguments], capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment}
    )


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"cuzk {__version__}\n")


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_help_of_every_command(command: str) -> None:
    done = run(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: cuzk")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["prove"],
        ["prove", "no-such-file", "-o", "x"],
        ["prove", "README.md", "-o", "no-such-dir/proof.bin"],
        ["prove", "README.md", "-o", "docs"],
        ["no-such-command"],
        ["shape", "3KiB"],
        ["shape"],
        ["setup", "2KiB", "-o", "x", "--toxic-waste", "README.md", "--random"],
        ["synth-only", "--partition", "7"],
        ["verify"],
        ["verify", "README.md"],
    ],
)
def test_usage_errors_are_code_2_and_no_traceback(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert "cuzk: " in done.stderr


def test_json_errors_are_one_object_on_stdout() -> None:
    done = run("prove", "no-such-file", "-o", "x", "--json")
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert found["version"] == __version__
    assert set(found["error"]) == {
        "code", "kind", "message", "phase", "partition", "file", "where", "expected", "got", "hint",
    }  # fmt: skip
    assert found["error"]["code"] == 2
    assert done.stderr == ""


def test_device_errors() -> None:
    done = run("prove", "examples/c1-2kib.json", "-o", "/tmp/never.bin", "--device", "cuda")
    assert done.returncode == 6
    assert not Path("/tmp/never.bin").exists()
    assert run("prove", "examples/c1-2kib.json", "-o", "/tmp/never.bin", "--device", "tpu").returncode == 2


def test_unknown_cpu_path_is_a_usage_error() -> None:
    done = run("config", CUZK_CPU="fast")
    assert done.returncode == 2
    assert "CUZK_CPU" in done.stderr


def test_config_names_origins() -> None:
    done = run("config", "--json", CUZK_CPU="scalar")
    found = json.loads(done.stdout)
    assert found["cpu"] == {"value": "scalar", "origin": "environment CUZK_CPU"}
