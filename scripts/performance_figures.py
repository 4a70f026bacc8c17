"""Figures in the sentences of docs/performance.md: what stands in a measurement, and what follows from it.

A reason in targets.json or card-targets.json has places, `{name}` or `{name:unit}`, and under `figures` what goes there: a
number; a path, that is a list of keys into the target's row, or into its file where it names none; `{"file", "row", "path"}` for
another file or row; `size`, 2^k of a task so named; `{"entries": …}`, see `entries`; or one of `OPERATIONS` on such, as
`{"sum": […]}`. Units: see `Figure`. `like` takes both from another target, but for the figures under `own`; `other` names a file
with another run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from scripts import performance_parts as parts
from scripts.performance_parts import commit, link, measured, number, read, time

OPERATIONS: dict[str, Callable[..., float]] = {
    "sum": lambda *x: math.fsum(x),
    "less": lambda a, b: a - b,
    "product": lambda *x: math.prod(x),
    "ratio": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "up": lambda a, b: float(-(-a // b)),
}
UNKNOWN = "?"

SECOND_CORE = """Second core: the ratio is 2, divided by the CPU time of two threads over that of one, times the share of the wall
time in which nobody waits. CPU time grows in the kernels: the two share memory and caches, and what the host's other guests take
of a core counts as CPU time of this process, without a trace in this system's counters. Waiting is the wall time less half of the
CPU time of two threads: before the first task, at the end, where one CPU is slower than the other, and for the interpreter's
lock."""


class Figure:
    """A number in a sentence, `?` if there is none. Units: `s` seconds as a time, `%` a share, `M` millions, `MB`, `whole`."""

    def __init__(self, value: float | None) -> None:
        self.value = value

    def __format__(self, unit: str) -> str:
        x = self.value
        if x is None:
            return UNKNOWN
        words = {
            "": number(x),
            "s": time(x),
            "%": percent(x),
            "M": f"{x / 1e6:.0f}",
            "MB": f"{x / 1e6:.1f} MB",
            "whole": f"{x:.0f}",
        }
        return words[unit]


def percent(share: float) -> str:
    """A share in per cent, with a decimal below ten."""
    return f"{100 * share:.1f} %" if abs(share) < 0.0995 else f"{100 * share:.0f} %"


def at(found: Any, path: Sequence[Any]) -> Any:
    """What stands at a path of keys, places in lists and starts of keys, of which the first counts; None if nothing does."""
    for key in path:
        if isinstance(found, list) and isinstance(key, int):
            found = found[key] if found else None
            continue
        if not isinstance(found, dict):
            return None
        name = key if key in found else next((k for k in found if k.startswith(key)), None)
        found = None if name is None else found[name]
    return found


def file_of(target: dict[str, Any]) -> str:
    """The file of a target: that of the scalar path by itself, or the one that has both paths where there is no other."""
    name: str = target["file"]
    return name if parts.exists(name) else name.replace("-scalar", "")


def row_in(found: Any, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The first row of a file that has all that is wanted."""
    rows = found["rows"] if found else []
    return next((row for row in rows if all(row.get(k) == v for k, v in wanted.items())), None)


def measured_row(target: dict[str, Any]) -> dict[str, Any] | None:
    """The row that a target is about; the whole file where that is about one task."""
    found = read(file_of(target))
    return row_in(found, target["row"]) if isinstance(target.get("row"), dict) else found


def one_thread(target: dict[str, Any]) -> dict[str, Any] | None:
    """The same task as that of a target's row, on one thread."""
    row = measured_row(target)
    return row and row_in(read(file_of(target)), {"name": row["name"], "path": row["path"], "threads": 1})


def chosen(target: dict[str, Any], which: str = "value") -> float | None:
    """The measured value of a target in its unit; None if there is none. `which`: `value`, or `cpu` for CPU time."""
    value = at(measured_row(target), target[which]) if which in target else None
    return None if value is None else float(value) / target.get("scale", 1)


def figure(spec: Any, target: dict[str, Any]) -> float | None:
    """The value of one entry of `figures`; None if something of it is not there."""
    if spec == "size":  # of a task named … 2^k
        return float(1 << int(re.findall(r"2\^(\d+)", target["row"]["name"])[0]))
    if isinstance(spec, int | float):
        return float(spec)
    if isinstance(spec, list):
        found = at(measured_row(target), spec)
        return None if found is None else float(found)
    if "entries" in spec:
        return entries(read(target["file"]), spec["entries"])
    if "path" in spec:
        return figure(spec["path"], {"file": target["file"], "row": target.get("row")} | spec)
    ((operation, arguments),) = spec.items()
    values = [figure(argument, target) for argument in arguments]
    return None if None in values else OPERATIONS[operation](*values)


def entries(found: Any, start: str) -> float | None:
    """Points times windows of a sum of points on a card, by the task's name: `… 2^27, …: 9 of 23 and 2 of 24 bits, …`."""
    name = next((task for task in found["times_ms"] if task.startswith(start)), None) if found else None
    if name is None:
        return None
    points, windows = re.findall(r"2\^(\d+)", name)[0], re.findall(r"(\d+) of \d+", name)
    return float(sum(map(int, windows)) << int(points))


def reason(target: dict[str, Any], targets: Sequence[dict[str, Any]] = ()) -> str:
    """Why a target is below its aim, with figures of its files; `targets`: all, for `like`."""
    said = next((t for t in targets if t["what"] == target.get("like")), target)
    figures, text = said.get("figures", ()), str(said.get("reason", "no reason found yet."))
    own = target.get("own", {})  # figures that differ from those of the other
    if isinstance(figures, dict):
        return text.format(**{name: Figure(figure(spec, target)) for name, spec in (figures | own).items()})
    return text.format(*(Figure(figure(spec, target)) for spec in figures))


def second_core(target: dict[str, Any]) -> str:
    """What is missing of a second core: CPU time that two threads take more than one, and waiting; the two make the ratio."""
    two, one = measured_row(target), one_thread(target)
    if two is None or one is None:
        return ""
    wall, cpu, alone = two["seconds"]["median"], two["cpu_seconds"]["median"], one["cpu_seconds"]["median"]
    factor, wait, on_clock = cpu / alone, wall - cpu / 2, one["seconds"]["median"] / alone
    least = two["cpu_seconds"]["min"] / one["cpu_seconds"]["min"]
    text = f"two threads take {_more(factor)} CPU time than one ({_more(least)} by the least of each); "
    text += f"waiting is {time(wait)}, {percent(wait / wall)} of the wall time: " if wait > 0 else "no waiting shows: "
    text += f"2 ÷ {factor:.4f} × {1 - wait / wall:.4f}"
    if abs(on_clock - 1) > 0.001:
        text += f" × {on_clock:.4f} (one thread's wall time over its CPU time)"
    text += f" = {measured(target, chosen(target)).removesuffix(' ×')}. By the least wall times "
    text += f"{number(one['seconds']['min'] / two['seconds']['min'])}, n = {two['seconds']['n']}"
    if (products := two.get("products_speed_up")) is not None:
        text += f"; products in cache, which share neither memory nor caches, gained {number(products)} in the same rounds, and "
        text += f"this {percent(one['seconds']['median'] / wall / products)} of that"
    other = target.get("other", "")
    found = read(other) if other else None
    if (elsewhere := row_in(found, target["row"])) is not None:
        mark = ", unsteady" if scattered(elsewhere) else ""
        text += f"; another run, {link(other)} of {commit(found['machine'])}, gave {number(elsewhere['speed_up'])}{mark}"
    return text + ". "


def _more(factor: float) -> str:
    """How much more or less a factor is."""
    return f"{percent(abs(factor - 1))} {'more' if factor >= 1 else 'less'}"


def scattered(row: dict[str, Any]) -> bool:
    """Whether the quartiles of a row are further apart than a tenth of its median."""
    s = row.get("seconds")
    return s is not None and s["spread"] > 0.1 * s["median"]


def parts_of(target: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The measurements that a target's value is made of, each with what it is: its row, the peer, the row on one thread."""
    row = measured_row(target)
    if row is None or target["value"] == ["peak_memory"]:
        return []
    found = [("", row["partitions"][0] if "partitions" in row else row)]
    if target["value"][0] == "peer":
        found.append(("the peer", row["peer"]))
    if target["value"] == ["speed_up"] and (alone := one_thread(target)) is not None:
        found = [("two threads", row), ("one thread", alone)]
    return found


def unsteady(target: dict[str, Any]) -> str:
    """What is said of a target's rows that are unsteady; empty if none is."""
    notes = []
    for name, row in parts_of(target):
        if scattered(row):
            s = row["seconds"]
            notes.append(f"{f'{name}: ' if name else ''}{time(s['min'])} to {time(s['max'])}, n = {s['n']}")
    return f" Unsteady ({'; '.join(notes)})." if notes else ""


def machine_state(target: dict[str, Any]) -> str:
    """Whether the machine was busy during a target's row, or where that is not told its whole file; whether the row is steady."""
    found, row = read(file_of(target)), measured_row(target)
    if found is None or row is None or chosen(target) is None:
        return ""
    if "noise" in row and "busy" in row["noise"]:
        noises = [row["noise"]]
    else:
        noises = list(found["noise"].values()) if "row" in target else [found["noise"]]
    states = {noise["busy"] for noise in noises}
    word = "busy" if True in states else "not known" if None in states or not states else "quiet"
    if word == "not known" and any("too short" in noise.get("line", "") for noise in noises):
        word = "too short to tell"
    return word + ", unsteady" * any(scattered(part) for _, part in parts_of(target))
