"""`cuzk variants`: every switch, its default, what it touches, and the measurement behind the default."""

from __future__ import annotations

import textwrap
from typing import Any

from cuzk.variants import listing


def run() -> dict[str, Any]:
    """All switches."""
    return {"switches": listing()}


def text(result: dict[str, Any]) -> str:
    """The switches for people."""
    blocks: list[str] = []
    machines: dict[tuple[str, str], str] = {}
    for s in result["switches"]:
        lines = [f"{s['name']}={s['values'].replace(' | ', '|')}   [default: {s['default']}]"]
        lines += _wrapped("", s["meaning"])
        lines.append(f"    touches: {' and '.join(s['touches'])}")
        lines += _wrapped("default: ", s["reason"])
        for m in s["measured"]:
            mark = machines.setdefault((m["machine"], m["file"]), f"[{len(machines) + 1}]")
            lines += _wrapped("measured: ", f"{m['of']}: {m['words']}{_BUSY[m['busy']]} {mark}")
        if not s["measured"]:
            lines += _wrapped("not measured: ", s["unmeasured"] or "no run yet")
        if "nevertheless" in s:
            lines += _wrapped("nevertheless: ", s["nevertheless"])
        blocks.append("\n".join(lines))
    blocks.append("\n".join(f"{mark} measured on {machine}: {file}" for (machine, file), mark in machines.items()))
    return "\n\n".join(blocks)


_BUSY = {True: "; the machine was busy", False: "", None: "; whether the machine was busy is not known"}


def _wrapped(head: str, words: str) -> list[str]:
    return textwrap.wrap(f"{head}{words}", 104, initial_indent="    ", subsequent_indent="      " if head else "    ")
