"""One self-contained HTML page from timing files: a timeline of every track, phases side by side, settings compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from html import escape
from typing import Any, NamedTuple

# Colours that stay apart for colour-blind readers, light and dark; a phase keeps its place in the order of first appearance.
_COLOURS = ("#2a78d6", "#eb6834", "#1baf7a", "#eda100", "#e87ba4", "#008300", "#4a3aa7", "#e34948")
_OTHER = "#8d8c86"
_ROW, _GAP, _LEFT = 22, 4, 110
_NARROW, _WIDE = 1000, 9000
_SETTING = "setting"  # label of the lane that says which setting was measured

_STYLE = """
:root { --ink: #0b0b0b; --soft: #52514e; --line: #d9d8d2; --back: #fcfcfb; --panel: #f4f3ef; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #fff; --soft: #c3c2b7; --line: #3a3936; --back: #1a1a19; --panel: #242422; }
}
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--back); margin: 2rem auto; }
body { max-width: 1180px; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; } .soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; } td, th { padding: .2rem .6rem; border-bottom: 1px solid var(--line); }
td small { color: var(--soft); margin-left: .5em; } td.n, th.n { text-align: right; } td.n, th, td.rust { white-space: nowrap; }
.scroll, .wide { overflow-x: auto; } .scroll { background: var(--panel); border-radius: 6px; padding: .5rem; }
svg text { fill: var(--ink); font-size: 11px; } svg .tick { stroke: var(--line); } svg text.in { fill: #fff; }
.key { display: inline-block; margin-right: 1rem; }
.key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .35em; }
.verdict { font-size: 1.05rem; background: var(--panel); border-radius: 6px; padding: .6rem .9rem; margin-bottom: .6rem; }
"""


class Bar(NamedTuple):
    """One rectangle of a timeline."""

    name: str
    start: float
    seconds: float
    partition: int | None
    setting: str | None = None


class Lane(NamedTuple):
    """One line of a timeline."""

    label: str
    bars: list[Bar]


class Row(NamedTuple):
    """Phases of one path in one file."""

    times: int
    seconds: float
    side_by_side: bool = False  # children ran at once
    beside: bool = False  # ran while others did


def page(files: list[tuple[str, dict[str, Any]]]) -> str:
    """The page for (name, content of a timing file), in order; with two, the second is compared with the first."""
    colours = _colour_of(files)
    title = " and ".join(name for name, _ in files)
    parts = [f"<h1>{escape(title)}</h1>", *(_facts(name, tree) for name, tree in files)]
    parts += [_comparison(name, tree) for name, tree in files if tree.get("variants")]
    parts.append("<h2>Timeline</h2>" + _legend(colours))
    if len({round(tree["seconds"], 3) for _, tree in files}) > 1:
        parts.append("<p class=soft>Each picture has its own scale: equal widths are not equal times.</p>")
    for name, tree in files:
        whole, detailed = _NARROW / (tree["seconds"] or 1.0), _scale(tree)
        parts.append(f"<p class=soft>{escape(name)}: {tree['seconds']:.3f} s</p>{_legend_of_settings(tree)}")
        parts.append(f"<div class=scroll>{_timeline(tree, colours, whole)}</div>")
        if detailed > 1.2 * whole:
            larger = f"<div class=scroll>{_timeline(tree, colours, detailed)}</div>"
            parts.append(f"<details><summary class=soft>{detailed / whole:.1f} times as wide</summary>{larger}</details>")
    parts.append("<h2>Phases</h2>" + _phases(files))
    parts += [_counters(name, tree) for name, tree in files if _counted(tree)]
    body = "\n".join(parts)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f"<!doctype html>\n<html lang=en><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"


def _walk(
    phase: dict[str, Any], path: tuple[str, ...] = (), flat: bool = False
) -> Iterable[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every phase with its path of names. `flat`: children that ran side by side stand beside their parent, so that they have
    the paths that they have where they follow one another.
    """
    for child in phase.get("children", ()):
        mine = (*path, str(child["name"]))
        yield mine, child
        yield from _walk(child, path if flat and _side_by_side(child) else mine, flat)


def _side_by_side(phase: dict[str, Any]) -> bool:
    return any(child.get("track") != phase.get("track") for child in phase.get("children", ()))


def _colour_of(files: list[tuple[str, dict[str, Any]]]) -> dict[str, str]:
    """The phases with the most seconds get the colours."""
    seconds: dict[str, float] = {}
    for _, tree in files:
        for _, phase in _walk(tree["tree"]):
            seconds[phase["name"]] = seconds.get(phase["name"], 0.0) + phase["seconds"]
    top = sorted(seconds, key=lambda name: -seconds[name])[: len(_COLOURS)]
    kept = [name for name in seconds if name in top]
    return dict(zip(kept, _COLOURS, strict=False))


def _legend(colours: dict[str, str]) -> str:
    return f"<p>{_keys({**colours, 'other phases': _OTHER})}</p>"


def _legend_of_settings(tree: dict[str, Any]) -> str:
    colours = _colours_of_settings(_settings(tree))
    return f"<p class=soft>settings: {_keys(colours)}</p>" if colours else ""


def _keys(colours: dict[str, str]) -> str:
    return "".join(f'<span class=key><i style="background:{c}"></i>{escape(n)}</span>' for n, c in colours.items())


def _facts(name: str, tree: dict[str, Any]) -> str:
    simple = {k: v for k, v in tree.items() if isinstance(v, str | int | float) and k not in _ELSEWHERE}
    words = [_WORDS[k](v) if k in _WORDS else f"{k.replace('_', ' ')} {_number(v)}" for k, v in simple.items()]
    settings = tree.get("settings_compared") or {"": tree.get("settings")}
    for setting, its in settings.items() if isinstance(settings, dict) else ():
        if isinstance(its, dict) and its:
            words.append(f"settings{f' of {setting}' if setting else ''}: " + " ".join(f"{k}={v}" for k, v in its.items()))
    noise = tree.get("noise", {}).get("line")
    return f"<p class=soft><b>{escape(name)}</b>: {escape('; '.join(words))}{'; ' + escape(noise) if noise else ''}</p>"


def _size(value: float) -> str:
    names = ("bytes", "KiB", "MiB", "GiB")
    power = next((p for p in (3, 2, 1) if value >= 1 << (10 * p)), 0)
    return f"{value / (1 << (10 * power)):.4g} {names[power]}"


_ELSEWHERE = ("verdict", "proof", "differences", "share_of_bandwidth", "version")
_WORDS: dict[str, Callable[[Any], str]] = {
    "source": lambda v: f"input: {v}",
    "sector_size": lambda v: f"sector of {_size(v)}",
    "seconds": lambda v: f"{v:.3f} s in all",
    "registered_proof": lambda v: f"registered proof {v}",
    "ids_checked": lambda v: "ids checked" if v else "ids not checked",
    "verified": lambda v: "verified" if v else "not verified",
    "aggregated": lambda v: "aggregated" if v else "partitions one behind the other, not aggregated",
    "bytes": lambda v: f"proof of {v} bytes",
    "partitions": lambda v: f"{v} partition(s)",
    "jobs": lambda v: f"{v} partition(s) at a time",
    "threads": lambda v: f"{v} threads",
    "warmup": lambda v: f"{v} warm-up run(s)",
    "device": lambda v: f"device {v}",
    "randomness": lambda v: f"r and s from {'a file' if v == 'file' else 'the system'}",
    "rows_per_second": lambda v: f"{v / 1e6:.1f} million rows/s",
    "rows_per_second_per_core": lambda v: f"{v / 1e6:.1f} million rows/s a core",
    "bytes_written": lambda v: f"{_size(v)} written",
    "bytes_per_second": lambda v: f"at {v / 1e9:.2f} GB/s",
    "memory_bandwidth": lambda v: f"where {v / 1e9:.1f} GB/s were measured at most",
}


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{int(value):,}" if value == int(value) else f"{value:,.4g}"


def _lanes(tree: dict[str, Any]) -> list[Lane]:
    """Main thread by depth, then threads that drive partitions, then workers and devices."""
    depths: dict[int, list[Bar]] = {}
    threads: dict[str, list[Bar]] = {}
    for path, phase in _walk(tree["tree"]):
        bar = Bar(path[-1], phase["start"], phase["seconds"], phase.get("partition"), phase.get("setting"))
        if track := phase.get("track"):
            threads.setdefault(track, []).append(bar)
        else:
            depths.setdefault(len(path), []).append(bar)
    lanes = [Lane("main" if depth == 1 else "", bars) for depth, bars in sorted(depths.items())]
    lanes += [Lane(track, bars) for track, bars in sorted(threads.items())]
    if settings := _settings(tree):
        lanes.insert(0, Lane(_SETTING, settings))
    return lanes + [Lane(t["track"], [Bar(*span) for span in t["spans"]]) for t in tree.get("tracks", ())]


def _settings(tree: dict[str, Any]) -> list[Bar]:
    """Which setting was being measured, from when to when."""
    bars: list[Bar] = []
    for phase in sorted((p for _, p in _walk(tree["tree"]) if p.get("setting")), key=lambda p: p["start"]):
        end = phase["start"] + phase["seconds"]
        if bars and bars[-1].name == phase["setting"]:
            bars[-1] = bars[-1]._replace(seconds=max(end - bars[-1].start, bars[-1].seconds))
        else:
            bars.append(Bar(phase["setting"], phase["start"], phase["seconds"], None))
    return bars


def _scale(tree: dict[str, Any]) -> float:
    """Pixels a second: a typical phase is some pixels wide, the picture no wider than can be scrolled."""
    longest = tree["seconds"] or 1.0
    shortest = sorted(p["seconds"] for _, p in _walk(tree["tree"]) if p["seconds"] > 1e-4)
    typical = shortest[len(shortest) // 2] if shortest else longest
    return min(max(_NARROW, 14 / typical * longest), _WIDE) / longest


def _timeline(tree: dict[str, Any], colours: dict[str, str], scale: float) -> str:
    lanes = _lanes(tree)
    width, height = _LEFT + math.ceil(tree["seconds"] * scale) + 40, (len(lanes) + 1) * (_ROW + _GAP)
    out = [f'<svg role=img aria-label="timeline" width="{width}" height="{height}" viewBox="0 0 {width} {height}">']
    step = _tick(100 / scale)
    for k in range(int(tree["seconds"] / step) + 1):
        x = _LEFT + k * step * scale
        out.append(_mark(x, (14, height), (x + 2, 11), f"{k * step:g} s"))
    for i, lane in enumerate(lanes):
        y = 18 + i * (_ROW + _GAP)
        out.append(f'<text x="4" y="{y + 15}">{escape(lane.label)}</text>')
        of = _colours_of_settings(lane.bars) if lane.label == _SETTING else colours
        out += [_rectangle(bar, y, scale, of.get(bar.name, _OTHER)) for bar in lane.bars]
    return "".join(out) + "</svg>"


def _colours_of_settings(bars: list[Bar]) -> dict[str, str]:
    names = dict.fromkeys(bar.name for bar in bars)
    return {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(names)}


def _mark(x: float, y: tuple[float, float], label_at: tuple[float, float], label: str) -> str:
    """A stroke of an axis and its label."""
    line = f'<line class=tick x1="{x:.1f}" x2="{x:.1f}" y1="{y[0]}" y2="{y[1]}"/>'
    return f'{line}<text x="{label_at[0]:.1f}" y="{label_at[1]}">{escape(label)}</text>'


def _rectangle(bar: Bar, y: int, scale: float, colour: str) -> str:
    x, width = _LEFT + bar.start * scale, max(0.4, bar.seconds * scale - 1)
    where = "" if bar.partition is None else f", partition {bar.partition}"
    where += "" if bar.setting is None else f", {escape(bar.setting)}"
    hover = f"<title>{escape(bar.name)}{where}: {bar.seconds:.4f} s from {bar.start:.4f} s</title>"
    label = f'<text class=in x="{x + 4:.1f}" y="{y + 15}">{escape(bar.name)}</text>' if width > 7 * len(bar.name) + 8 else ""
    return f'<g>{hover}<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_ROW}" rx="2" fill="{colour}"/>{label}</g>'


def _tick(seconds: float) -> float:
    """A round distance of at least `seconds`."""
    power = 10 ** math.floor(math.log10(seconds))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= seconds)


def _rows(tree: dict[str, Any], flat: bool) -> dict[tuple[str, ...], Row]:
    found: dict[tuple[str, ...], Row] = {}
    for path, phase in _walk(tree["tree"], flat=flat):
        row = found.get(path, Row(0, 0.0))
        apart = phase.get("track") != tree["tree"].get("track")
        found[path] = Row(
            row.times + 1, row.seconds + phase["seconds"], row.side_by_side or _side_by_side(phase), row.beside or apart
        )
    found["unaccounted",] = Row(1, tree["phases"].get("unaccounted", 0.0))
    found["total",] = Row(1, tree["seconds"])
    return found


def _phases(files: list[tuple[str, dict[str, Any]]]) -> str:
    tables = [_rows(tree, flat=len(files) > 1) for _, tree in files]
    order = {path: None for table in tables for path in table}
    last = [("unaccounted",), ("total",)]
    place = {path: i for i, path in enumerate(order)}
    paths = sorted((p for p in order if p not in last), key=lambda p: [place[p[: k + 1]] for k in range(len(p))]) + last
    most = max((row.seconds for table in tables for path, row in table.items() if path != ("total",)), default=1.0) or 1.0
    names = {name: rust for _, tree in files for name, rust in tree.get("rust_names", {}).items()}
    heads = "".join(f"<th class=n>{escape(name)}, s</th><th class=n>n</th><th class=n>share</th>" for name, _ in files)
    compared = len(files) == 2
    heads += "<th class=n>difference, s</th><th class=n>%</th>" if compared else ""
    out = [f"<div class=wide><table><tr><th>phase</th><th>in the Rust cuzk</th>{heads}<th></th></tr>"]
    for path in paths:
        rows = [table.get(path) for table in tables]
        notes = [_NOTES[len(files) > 1]] if any(row and row.side_by_side for row in rows) else []
        notes += [_BESIDE] if any(row and row.beside for row in rows) else []
        note = f"<small>{'; '.join(notes)}</small>" if notes else ""
        name = f'<td style="padding-left:{0.6 + 1.2 * (len(path) - 1):.1f}rem">{escape(path[-1])}{note}</td>'
        cells = [name, f"<td class='soft rust'>{escape(names.get(path[-1], ''))}</td>"]
        cells += [_cells(row, tree["seconds"]) for row, (_, tree) in zip(rows, files, strict=True)]
        if compared:
            cells.append(_difference(*rows))
        bars = "" if path == ("total",) else _bars([row.seconds if row else 0.0 for row in rows], most)
        out.append(f"<tr>{''.join(cells)}<td>{bars}</td></tr>")
    return "".join(out) + "</table></div>"


_BESIDE = "side by side with others, no part of the sum"
_NOTES = {
    False: "children side by side: they may add up to more",
    True: "its children ran side by side, are listed beside it, and may add up to more",
}


def _cells(row: Row | None, whole: float) -> str:
    words = (f"{row.seconds:.4f}", f"{row.times}", f"{100 * row.seconds / (whole or 1.0):.1f} %") if row else ("–",) * 3
    return "".join(f"<td class=n>{word}</td>" for word in words)


def _difference(first: Row | None, second: Row | None) -> str:
    before, after = first.seconds if first else 0.0, second.seconds if second else 0.0
    percent = f"{100 * (after - before) / before:+.1f}" if before else "new"
    return f"<td class=n>{after - before:+.4f}</td><td class=n>{percent}</td>"


def _bars(seconds: list[float], most: float) -> str:
    """One bar a file, in the first two colours."""
    height = 9 * len(seconds)
    rectangles = "".join(
        f'<rect x="0" y="{9 * i}" width="{max(0.5, 180 * s / most):.1f}" height="7" rx="2" fill="{_COLOURS[i % 2]}"/>'
        for i, s in enumerate(seconds)
    )
    return f'<svg width="184" height="{height}" aria-hidden=true>{rectangles}</svg>'


def _comparison(name: str, tree: dict[str, Any]) -> str:
    """Settings side by side: every time as a dot, medians as strokes, the verdicts in words."""
    variants = tree["variants"]
    times = [t for v in variants for t in v["times"]]
    low, span = min(times), (max(times) - min(times)) or max(times) or 1.0
    left, width, row = 330, 560, 26
    height = row * len(variants) + 26

    def at(seconds: float) -> float:
        return left + width * (seconds - low) / span

    out = [f'<svg role=img aria-label="times of every setting" width="{left + width + 40}" height="{height}">']
    step = _tick(span / 5)
    for k in range(math.ceil(low / step), math.floor(max(times) / step) + 1):
        x = at(k * step)
        out.append(_mark(x, (0, height - 16), (x - 12, height - 3), f"{k * step:.4g} s"))
    for i, v in enumerate(variants):
        y, colour = row * i + 14, _COLOURS[min(i, 1)]
        out.append(f'<text x="4" y="{y + 4}">{escape(v["name"])}</text>')
        dot = f'cy="{y}" r="4" fill="{colour}" fill-opacity=".45"'
        out += [f'<circle cx="{at(t):.1f}" {dot}><title>{t:.5f} s</title></circle>' for t in v["times"]]
        x = at(v["seconds"]["median"])
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 9}" y2="{y + 9}" stroke="{colour}" stroke-width="3"/>')
    words = "".join(f"<div>{escape(v['words'])}</div>" for v in variants if "words" in v)
    words += "".join(f"<div>{escape(v['equal_words'])}</div>" for v in variants if "equal_words" in v)
    words += f"<div class=soft>{escape(tree.get('differences', ''))}</div>"
    title = f"<h2>Settings compared: {escape(name)}</h2><div class=verdict>{words}</div>"
    return f"{title}<div class=scroll>{''.join(out)}</svg></div>{_phases_of_settings(variants)}"


def _phases_of_settings(variants: list[dict[str, Any]]) -> str:
    """Medians of phases, a column for each setting."""
    columns = [(v["name"], v.get("phases") or {}) for v in variants]
    names = dict.fromkeys(name for _, phases in columns for name in phases)
    if not names:
        return ""
    heads = "".join(f"<th class=n>{escape(name)}</th>" for name, _ in columns)
    out = [f"<p class=soft>Medians of phases of a run, in seconds</p><div class=wide><table><tr><th>phase</th>{heads}</tr>"]
    for name in names:
        cells = (f"{phases[name]:.4f}" if name in phases else "–" for _, phases in columns)
        out.append(f"<tr><td>{escape(name)}</td>{''.join(f'<td class=n>{cell}</td>' for cell in cells)}</tr>")
    return "".join(out) + "</table></div>"


def _counted(tree: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    several = [(v["name"], v["counters"]) for v in tree.get("variants", ()) if "counters" in v]
    return several or ([("all runs", tree["counters"])] if "counters" in tree else [])


def _counters(name: str, tree: dict[str, Any]) -> str:
    counted = _counted(tree)
    keys = list(dict.fromkeys(k for _, c in counted for k in (*c["values"], *c["usage"])))
    heads = "".join(f"<th class=n>{escape(setting)}</th>" for setting, _ in counted)
    out = [f"<h2>Counters: {escape(name)}</h2><div class=wide><table><tr><th>of the timed runs</th>{heads}</tr>"]
    half = {key for _, c in counted for key in c.get("user_mode_only", ())}
    for key in keys:
        cells = "".join(f"<td class=n>{_number({**c['values'], **c['usage']}.get(key, '–'))}</td>" for _, c in counted)
        note = "<small>user mode only</small>" if key in half else ""
        out.append(f"<tr><td>{escape(key)}{note}</td>{cells}</tr>")
    refused: dict[str, dict[str, None]] = {}
    for counter, why in (item for _, c in counted for item in c["refused"].items()):
        refused.setdefault(why, {})[counter] = None
    notes = "".join(f"<p class=soft>not counted: {escape(', '.join(names))}: {escape(why)}</p>" for why, names in refused.items())
    return "".join(out) + "</table></div>" + notes
