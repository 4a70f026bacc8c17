"""The specification is plain Python: it loads nothing but the standard library."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import cuzk.spec
from tests.conftest import ROOT


def test_nothing_else_is_loaded() -> None:
    modules = [f"cuzk.spec.{m.name}" for m in pkgutil.iter_modules(cuzk.spec.__path__)]
    assert len(modules) >= 12
    code = (
        f"import sys; before = set(sys.modules); import {', '.join(modules)}; "
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)), "
        "sorted(m for m in sys.modules if m.startswith('cuzk.') and not m.startswith('cuzk.spec')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "['cuzk'] []"
