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
    for key, kind in (("seconds", (int, float)), ("phases", dict), ("tree", dict)):
        _require(isinstance(tree.get(key), kind), path, f"the key {key!r} of a timing file", hint)
    _check_phase(tree["tree"], path, hint, 0)
    for track in tree.get("tracks", ()):
        sound = isinstance(track, dict) and isinstance(track.get("track"), str) and isinstance(track.get("spans"), list)
        _require(sound and all(isinstance(s, list) and len(s) == 4 for s in track["spans"]), path, "tracks of spans", hint)
    for variant in tree.get("variants", ()):
        sound = isinstance(variant, dict) and isinstance(variant.get("times"), list) and "median" in variant.get("seconds", {})
        _require(sound and bool(variant["times"]), path, "variants with times", hint)
    return tree


def _check_phase(phase: Any, path: Path, hint: str, depth: int) -> None:
    numbers = (int, float)
    sound = isinstance(phase, dict) and isinstance(phase.get("name"), str) and depth < 50
    sound = sound and all(isinstance(phase.get(k), numbers) and phase[k] >= 0 for k in ("start", "seconds"))
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
