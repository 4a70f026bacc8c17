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
    if not path.exists():
        return None
    try:
        return json.loads(path.read_bytes())
    except ValueError as e:
        raise SystemExit(f"{path.name}: no JSON: {e}") from None


def exists(name: str) -> bool:
    """Whether there is such a measurement file."""
    return (SOURCE / name).exists()


def time(seconds: float) -> str:
    """Three or four digits with a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        value = seconds * scale
        if value >= 1 or unit == "µs":
            return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"
    raise AssertionError


def number(value: float, digits: int = 3) -> str:
    """Three digits, more if asked."""
    return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:,.{max(0, digits - 4)}f}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("|" + "---|" * (lines[0].count("|") - 1))
    return "\n".join(lines + ["| " + " | ".join(r) + " |" for r in rows])


def reached(target: dict[str, Any], value: float | None) -> str:
    """Which of its bounds a value keeps."""
    if value is None:
        return "not measured"
    return next(iter(kept(target, value)), "short")


def bounds(target: dict[str, Any]) -> list[str]:
    """What must be reached and what is aimed at, empty where nothing is said."""
    sign, unit = "≥" if target.get("more") else "≤", target["unit"]
    return [f"{sign} {target[word]} {unit}" if word in target else "" for word in ("must", "aim")]


def measured(target: dict[str, Any], value: float | None) -> str:
    """A value in a target's unit, empty if there is none; with as many digits as it takes to keep the bounds that it keeps, and
    no other."""
    if value is None:
        return ""
    texts = [number(value, digits) for digits in range(3, 12)]
    true = [text for text in texts if kept(target, float(text.replace(",", ""))) == kept(target, value)]
    return f"{(true or texts[-1:])[0]} {target['unit']}"


def kept(target: dict[str, Any], value: float) -> list[str]:
    """The bounds that a value keeps."""
    words = [word for word in ("aim", "must") if word in target]
    return [word for word in words if (value >= target[word] if target.get("more") else value <= target[word])]


def below_aim(lines: list[str], before: str = "") -> str:
    """The list of what fell short, with a paragraph before it."""
    said = f"{before}\n\n" if before else ""
    return "\nWhat is below its aim, and why:\n\n" + said + "\n".join(lines) + "\n" if lines else ""


def link(name: str) -> str:
    """A link to a measurement file, or its name if it is not there."""
    return f"[{name}](measurements/{name})" if exists(name) else name


def commit(m: dict[str, Any]) -> str:
    """The commit that was measured, or the digest of its sources where there was no checkout."""
    if m.get("commit"):
        return f"commit {m['commit'][:12]}"
    return f"no checkout, sources {m['sources'][:12]}" if "sources" in m else "measured before commits were recorded"
