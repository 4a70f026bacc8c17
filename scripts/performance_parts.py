"""What the parts of docs/performance.md are made with: files of measurements, numbers, tables."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "docs" / "measurements"


def read(name: str) -> Any:
    """A measurement file; None if it is not there."""
    path = SOURCE / name
    return json.loads(path.read_bytes()) if path.exists() else None


def time(seconds: float) -> str:
    """Three or four digits with a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        value = seconds * scale
        if value >= 1 or unit == "µs":
            return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"
    raise AssertionError


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("|" + "---|" * (lines[0].count("|") - 1))
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def reached(target: dict[str, Any], value: float | None) -> str:
    """Which of its bounds a value keeps."""
    if value is None:
        return "not measured"
    for word in ("aim", "must"):
        if word in target and (value >= target[word] if target.get("more") else value <= target[word]):
            return word
    return "short"


def bounds(target: dict[str, Any]) -> list[str]:
    """What must be reached and what is aimed at, empty where nothing is said."""
    sign, unit = "≥" if target.get("more") else "≤", target["unit"]
    return [f"{sign} {target[word]} {unit}" if word in target else "" for word in ("must", "aim")]


def measured(target: dict[str, Any], value: float | None) -> str:
    """A value in a target's unit, empty if there is none."""
    return "" if value is None else f"{number(value)} {target['unit']}"


def below_aim(lines: list[str]) -> str:
    """The list of what fell short."""
    return "\nWhat is below its aim, and why:\n\n" + "\n".join(lines) + "\n" if lines else ""


def link(name: str) -> str:
    """A link to a measurement file, or its name if it is not there."""
    return f"[{name}](measurements/{name})" if (SOURCE / name).exists() else name
