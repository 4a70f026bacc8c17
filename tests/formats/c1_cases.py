"""The C1s that tests share, in every form."""

from __future__ import annotations

import base64
import functools
import json
from pathlib import Path
from typing import Any

from cuzk.formats import c1, c1_write
from cuzk.formats.c1_layout import COMMITMENTS

ROOT = Path(__file__).parent.parent.parent
VECTORS = ROOT / "tests" / "vectors" / "c1"
EXAMPLE = ROOT / "examples" / "c1-2kib.json"
CASES = ["2kib-v1_1", "2kib-v1", "2kib-synthetic", "2kib-non-interactive", "4kib-v1_1", "32kib-v1_1", "8mib-v1_1"]
WRAPPED = ["2kib-v1_1", "2kib-v1", "2kib-synthetic", "8mib-v1_1"]


@functools.cache
def expected(case: str) -> dict[str, Any]:
    return json.loads((VECTORS / case / "expected.json").read_text())


@functools.cache
def wrapper_bytes(case: str) -> bytes:
    return (EXAMPLE if case == "2kib-v1_1" else VECTORS / case / "c1.json").read_bytes()


@functools.cache
def raw_bytes(case: str) -> bytes:
    return base64.b64decode(json.loads(wrapper_bytes(case))["Phase1Out"])


@functools.cache
def bincode_bytes(case: str) -> bytes:
    return (VECTORS / case / "c1.bincode").read_bytes()


def raw_value(case: str) -> Any:
    """A fresh JSON value of the raw form, to be spoilt."""
    return json.loads(raw_bytes(case))


def dumps(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@functools.cache
def load(case: str) -> c1.C1:
    return c1.loads(bincode_bytes(case), f"{case}.bincode")


def commitments(of: c1.C1) -> dict[str, bytes]:
    return {name: getattr(of, name) for name in COMMITMENTS}


def rewritten(of: c1.C1) -> c1.C1:
    """Through the bincode form and back."""
    return c1.loads(c1_write.bincode(of.vanilla, commitments(of)))
