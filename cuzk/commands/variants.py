"""`cuzk variants`: every switch, its default, what it touches, and the measurement behind the default."""

from __future__ import annotations

import textwrap
from typing import Any

from cuzk.variants import listing, measurements


def run() -> dict[str, Any]:
    """All switches."""
    return {"switches": listing(), "measured_on": {k: v for k, v in measurements().items() if k != "switches"}}


def text(result: dict[str, Any]) -> str:
    """The switches for people."""
    blocks = []
    for s in result["switches"]:
        lines = [f"{s['name']}={s['values'].replace(' | ', '|')}   [default: {s['default']}]"]
        lines += textwrap.wrap(s["meaning"], 104, initial_indent="    ", subsequent_indent="    ")
        lines.append(f"    touches: {' and '.join(s['touches'])}")
        lines += textwrap.wrap(f"default: {s['reason']}", 104, initial_indent="    ", subsequent_indent="      ")
        measured = [f"{m['of']}: {m['words']}" for m in s["measured"]] or ["no run yet"]
        for words in measured:
            lines += textwrap.wrap(words, 104, initial_indent="    measured: ", subsequent_indent="      ")
        blocks.append("\n".join(lines))
    on = result["measured_on"]
    blocks.append(f"Measured on {on['machine']}: {on['file']}")
    return "\n\n".join(blocks)
