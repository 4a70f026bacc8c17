"""`cuzk report`: one self-contained page from files that --timings wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cuzk.errors import MalformedInput
from cuzk.files import check_outputs, write_atomically
from cuzk.report_page import page


def load(path: Path) -> dict[str, Any]:
    """A timing file. Raises MalformedInput if it is none."""
    hint = "give files that cuzk prove --timings or cuzk synth-only --timings wrote"
    try:
        tree = json.loads(path.read_bytes())
    except (ValueError, UnicodeDecodeError) as error:
        raise MalformedInput("not JSON", file=path, where=str(error)[:80], hint=hint) from None
    _require(isinstance(tree, dict), path, "a JSON object", hint)
    _require(_is_time(tree.get("seconds")), path, "the key 'seconds' of a timing file, a finite number", hint)
    for key in ("phases", "tree"):
        _require(isinstance(tree.get(key), dict), path, f"the key {key!r} of a timing file", hint)
    _require(all(_is_time(v) for v in tree["phases"].values()), path, "phases with finite seconds", hint)
    _check_phase(tree["tree"], path, hint, 0)
    for track in tree.get("tracks", ()):
        sound = isinstance(track, dict) and isinstance(track.get("track"), str) and isinstance(track.get("spans"), list)
        _require(sound and all(_is_span(s) for s in track["spans"]), path, "tracks of spans", hint)
    for variant in tree.get("variants", ()):
        sound = isinstance(variant, dict) and isinstance(variant.get("times"), list) and "median" in variant.get("seconds", {})
        sound = sound and bool(variant["times"]) and all(_is_time(t) for t in (*variant["times"], variant["seconds"]["median"]))
        _require(sound and isinstance(variant.get("name"), str), path, "variants with names and finite times", hint)
    return tree


def _is_time(value: Any) -> bool:
    """A number that a picture can show: JSON can hold NaN, and numbers that are infinite as floats."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _is_span(span: Any) -> bool:
    return isinstance(span, list) and len(span) in (4, 5) and isinstance(span[0], str) and all(map(_is_time, span[1:3]))


def _check_phase(phase: Any, path: Path, hint: str, depth: int) -> None:
    sound = isinstance(phase, dict) and isinstance(phase.get("name"), str) and depth < 50
    sound = sound and all(_is_time(phase.get(k)) for k in ("start", "seconds"))
    _require(sound and isinstance(phase.get("children", []), list), path, "a tree of phases", hint)
    for child in phase.get("children", ()):
        _check_phase(child, path, hint, depth + 1)


def _require(holds: bool, path: Path, expected: str, hint: str) -> None:
    if not holds:
        raise MalformedInput("not a timing file", file=path, expected=expected, hint=hint)


def run(files: tuple[Path, ...], output: Path) -> dict[str, Any]:
    """Write the page. Raises MalformedInput; UsageError or ResourceError if it cannot go where it is to."""
    check_outputs({"-o": output}, list(files))
    html = page([(path.name, load(path)) for path in files]).encode()
    write_atomically(output, html)
    return {"output": str(output), "files": [str(path) for path in files], "bytes": len(html)}


def text(result: dict[str, Any]) -> str:
    """For people."""
    return f"{result['output']}: {result['bytes']:,} bytes, opens in any browser"
