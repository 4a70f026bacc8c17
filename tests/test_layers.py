"""Imports go one way, the specification stands alone, compiled code is only made in one place."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = ROOT / "cuzk"

# Lower layers first; a module may import from its own layer and the ones below it.
LAYERS = [
    {
        *("errors", "config", "files", "jit", "workers", "progress", "timing", "spec", "pages", "signals", "cuda", "device"),
        *("cgroup", "counters", "noise", "report_page", "sizes", "statistics", "variants"),
    },
    {"field"},
    {"curve"},
    {"kernels"},
    {"ntt", "ntt_cuda", "msm", "hashing", "r1cs"},
    {"circuits", "groth16", "seal"},
    {"formats", "parameters", "fixture", "memory"},
    {"bench"},
    {"commands"},
    {"cli", "__main__"},
]
# Data types that lower layers take as arguments. They hold arrays and no code.
DATA_ONLY = {"cuzk.circuits.template", "cuzk.circuits.poseidon_constants"}


def modules() -> list[Path]:
    found = sorted(p for p in PACKAGE.rglob("*.py") if p.name != "__init__.py")
    assert found
    return found


def top(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports_of(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "cuzk":
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.split(".")[0] == "cuzk"}
    return names


def level(name: str) -> int:
    return next(i for i, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path: Path) -> None:
    mine = top(path)
    if mine == "spec":
        assert all(name.startswith("cuzk.spec") for name in imports_of(path))
        return
    for name in imports_of(path):
        parts = name.split(".")
        if len(parts) < 2 or parts[1] == "__version__" or any(name.startswith(d) for d in DATA_ONLY):
            continue
        assert level(parts[1]) <= level(mine), f"{mine} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_compilers_are_used_in_their_places_only(path: Path) -> None:
    allowed = {"jit", "kernels"}
    text = path.read_text()
    if top(path) not in allowed:
        for word in ("numba.njit", "import njit", "prange", "numba.jit", "cuda.jit"):
            assert word not in text, f"{path}: {word}"


def test_import_and_help_are_light() -> None:
    code = "import sys, cuzk, cuzk.cli; print([m for m in ('numba', 'numpy', 'llvmlite') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
