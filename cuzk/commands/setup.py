"""`cuzk setup`: parameters of our own, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cuzk.commands.choices import choose_cards, device_names
from cuzk.device import parse
from cuzk.errors import UsageError
from cuzk.formats import circuit, shapes
from cuzk.parameters import development
from cuzk.progress import Progress


def run(target: str, directory: Path, toxic_waste: Path | None, fresh: bool, device: str, as_json: bool) -> dict[str, Any]:
    """Write `cuzk-dev-NAME.params`, `.vk` and the sidecar `.json` into a directory, which is made if absent.

    One card makes all points; the files are the same whatever makes them.
    """
    from cuzk.circuits.params import parse_size

    if toxic_waste is not None and fresh:
        raise UsageError("--toxic-waste and --random exclude each other")
    progress = Progress()
    progress.announce_compilation()
    cards = choose_cards(device, progress)
    if len(cards) > 1:
        progress.line(f"{device_names(cards[:1])} makes the points: one card makes them faster than they are written")
    card = cards[0] if cards else None
    path = Path(target)
    if path.is_file():
        shape, _ = circuit.load(path)
    else:
        shape = shapes.load_or_record(parse_size(target), progress)
    waste = development.choose_waste(shape, toxic_waste, fresh)
    if card is not None and parse(device).kind == "auto":
        card = development.able(shape, card, progress)
    result = development.write(shape, waste, directory, progress, card)
    return {**result, "device": device_names([] if card is None else [card])}


def text(result: dict[str, Any]) -> str:
    """The result for people."""
    return "\n".join(f"{key:<16} {value}" for key, value in result.items())
