"""The code cache: keyed on everything that could change the code, safe to share, never in the way."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROBE = """
import sys
from cuzk import jit
jit.on_compile.append(lambda name: print("compiled", name))
from cuzk.kernels import probe
print(probe.twice(21))
"""
KERNEL = """
from cuzk.field.probe_constant import FACTOR
from cuzk.jit import kernel

@kernel
def twice(x):
    return FACTOR * x
"""


def package(tmp_path: Path) -> Path:
    """A copy of what `jit` needs, with a kernel whose constant lives in another module."""
    root = tmp_path / "copy"
    shutil.copytree(ROOT / "cuzk", root / "cuzk", ignore=shutil.ignore_patterns("__pycache__", "data", "spec"))
    (root / "cuzk/field/probe_constant.py").write_text("FACTOR = 2\n")
    (root / "cuzk/kernels/probe.py").write_text(KERNEL)
    return root


def run(root: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, cwd=root, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_second_process_loads_from_the_cache(tmp_path: Path) -> None:
    root, cache = package(tmp_path), str(tmp_path / "cache")
    assert run(root, CUZK_CACHE_DIR=cache) == "compiled kernels.probe.twice\n42\n"
    assert run(root, CUZK_CACHE_DIR=cache) == "42\n"


def test_a_change_in_an_imported_module_recompiles(tmp_path: Path) -> None:
    root, cache = package(tmp_path), str(tmp_path / "cache")
    run(root, CUZK_CACHE_DIR=cache)
    (root / "cuzk/field/probe_constant.py").write_text("FACTOR = 3\n")
    assert run(root, CUZK_CACHE_DIR=cache) == "compiled kernels.probe.twice\n63\n"


def test_a_change_elsewhere_does_not(tmp_path: Path) -> None:
    root, cache = package(tmp_path), str(tmp_path / "cache")
    run(root, CUZK_CACHE_DIR=cache)
    (root / "cuzk/timing.py").write_text("")
    assert run(root, CUZK_CACHE_DIR=cache) == "42\n"


def test_each_arithmetic_path_has_its_own_code(tmp_path: Path) -> None:
    root, cache = package(tmp_path), str(tmp_path / "cache")
    run(root, CUZK_CACHE_DIR=cache, CUZK_CPU="scalar")
    out = run(root, CUZK_CACHE_DIR=cache, CUZK_CPU="auto")
    from cuzk import config

    assert out == ("42\n" if config.cpu_path() == "scalar" else "compiled kernels.probe.twice\n42\n")


def test_damaged_cache_files_are_a_miss(tmp_path: Path) -> None:
    root, cache = package(tmp_path), tmp_path / "cache"
    run(root, CUZK_CACHE_DIR=str(cache))
    files = [p for p in (cache / "jit").rglob("*") if p.is_file()]
    assert files
    for path in files:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert run(root, CUZK_CACHE_DIR=str(cache)) == "compiled kernels.probe.twice\n42\n"


def test_an_unwritable_cache_is_a_warning(tmp_path: Path) -> None:
    root = package(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", PROBE],
        capture_output=True, text=True, cwd=root, env={**os.environ, "CUZK_CACHE_DIR": str(blocked / "cache")},
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.endswith("42\n")
    assert "compiled code is not kept" in done.stderr


def test_runs_without_a_home(tmp_path: Path) -> None:
    root = package(tmp_path)
    environment = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "CUZK_CACHE_DIR")}
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, cwd=root, env=environment)
    assert done.returncode == 0, done.stderr


def test_two_processes_fill_the_cache_at_once(tmp_path: Path) -> None:
    root, cache = package(tmp_path), str(tmp_path / "cache")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROBE],
            cwd=root,
            env={**os.environ, "CUZK_CACHE_DIR": cache},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in started:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        assert out.endswith("42\n")
    assert run(root, CUZK_CACHE_DIR=cache) == "42\n"


def test_a_flipped_byte_in_kept_code_is_a_miss(tmp_path: Path) -> None:
    root, cache = package(tmp_path), tmp_path / "cache"
    run(root, CUZK_CACHE_DIR=str(cache))
    (data,) = (cache / "jit").rglob("*.nbc")
    content = bytearray(data.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 7] = b"\xff" * 7
    data.write_bytes(content)
    assert run(root, CUZK_CACHE_DIR=str(cache)) == "compiled kernels.probe.twice\n42\n"
    assert run(root, CUZK_CACHE_DIR=str(cache)) == "42\n"


@pytest.mark.parametrize("damage", ["truncated", "empty", "not an index"])
def test_an_index_that_is_damaged_while_a_kernel_compiles(tmp_path: Path, damage: str) -> None:
    """Between the miss and the save; the run goes on, and the next process has the code."""
    root, cache = package(tmp_path), tmp_path / "cache"
    run(root, CUZK_CACHE_DIR=str(cache))
    (index,) = (cache / "jit").rglob("*.nbi")
    (data,) = (cache / "jit").rglob("*.nbc")
    whole = index.read_bytes()
    content = {"truncated": whole[: len(whole) // 2], "empty": b"", "not an index": pickle.dumps("x") + b"junk"}[damage]
    data.unlink()
    probe = PROBE.replace(
        'print("compiled", name)', f'print("compiled", name, open({str(index)!r}, "wb").write({content!r}) and "")'
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", probe],
        capture_output=True, text=True, cwd=root, env={**os.environ, "CUZK_CACHE_DIR": str(cache)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("42\n") and done.stdout.startswith("compiled kernels.probe.twice")
    assert run(root, CUZK_CACHE_DIR=str(cache)) == "42\n"


def test_code_that_cannot_be_saved_is_a_warning(tmp_path: Path) -> None:
    """Whatever saving raises."""
    probe = PROBE.replace(
        "from cuzk.kernels", "jit._CacheImpl.reduce = lambda *_: (_ for _ in ()).throw(EOFError('cut'))\nfrom cuzk.kernels"
    )
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", probe],
        capture_output=True, text=True, cwd=package(tmp_path), env={**os.environ, "CUZK_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("42\n")
    assert "compiled code is not kept" in done.stderr and "EOFError: cut" in done.stderr
