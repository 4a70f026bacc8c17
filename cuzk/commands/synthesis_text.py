"""What `cuzk synth-only` prints for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cuzk.variants import DEFAULTS


def text(result: dict[str, Any]) -> str:
    """The result for people."""
    lines = [f"{result['source']}, sector size {result['sector_size']}", f"settings: {_changed(result['settings'])}"]
    for p in result["partitions"]:
        s = p["seconds"]
        lines.append(f"partition {p['partition']}: {p['rows']:,} rows in {s['median']:.4f} s, {p['rows_per_second']:,} rows/s")
        lines.append(f"  from {s['min']:.4f} to {s['max']:.4f} s in {s['n']} runs")
        if p["checked"]:
            lines.append("  every row holds")
        lines += [f"  {key:<16} {value}" for key, value in p.items() if key.endswith("blake2s")]
    if len(result["partitions"]) > 1:
        seconds = result["seconds_together"]["median"]
        lines.append(f"together: {seconds:.4f} s, {result['jobs']} at a time, {result['rows_per_second']:,} rows/s")
    lines.append(f"{result['rows_per_second_per_core']:,} rows/s a core ({result['threads']} threads)")
    lines.append(_first_touch(result["first_touch"]))
    lines.append(
        f"{result['bytes_written']:,} bytes written at {result['bytes_per_second'] / 1e9:.2f} GB/s, "
        f"{100 * result['share_of_bandwidth']:.0f} % of the {result['memory_bandwidth'] / 1e9:.1f} GB/s measured in this run"
    )
    m = result["memory"]
    lines.append(f"peak memory {m['measured_peak']:,} bytes (predicted {m['predicted_peak']:,}, budget {m['budget']:,})")
    variants = result.get("variants", [])
    if not variants:
        lines += _counter_lines(result.get("counters"), "counters")
    for v in variants:
        s = v["seconds"]
        name = v["name"] if v["name"] == v["changed"].replace(" ", "+") else f"{v['name']} ({v['changed']})"
        lines.append(f"{name}: median {s['median']:.4f} s, spread {s['spread']:.4f} s, N = {s['n']}")
        lines += [f"  {v['equal_words']}"] if "equal_words" in v else []
        lines += _counter_lines(v.get("counters"), "  counters")
    if variants:
        lines += phase_table([(v["name"], v["phases"]) for v in variants], side_by_side=result["jobs"] > 1)
        lines += [v["words"] for v in variants if "words" in v]
        lines += [result["differences"], result["noise"]["pinning"]]
    lines.append(result["noise"]["line"])
    return "\n".join(lines)


def _changed(settings: dict[str, str]) -> str:
    usual = DEFAULTS.as_dict()
    changed = [f"{name}={value}" for name, value in settings.items() if value != usual[name]]
    return f"{' '.join(changed)}, the others by default" if changed else "all switches by default"


def _first_touch(found: dict[str, Any]) -> str:
    """What the headline leaves out."""
    if found["in_the_times"]:
        return "the times include making the arrays and touching them for the first time (presize=off)"
    times = f", median of {found['n']}" if found["n"] > 1 else ""
    return (
        f"not in the times: making the arrays and touching them for the first time, {found['seconds']:.4f} s in this run (phase "
        f"presize{times}), which a process pays once"
    )


def phase_table(columns: Iterable[tuple[str, dict[str, float]]], side_by_side: bool = False) -> list[str]:
    """Medians of phases, a column for each setting; phases that nowhere take half a thousandth of the largest are left out."""
    columns = list(columns)
    most = max((seconds for _, phases in columns for seconds in phases.values()), default=0.0)
    names = dict.fromkeys(n for _, phases in columns for n, seconds in phases.items() if seconds >= most / 2000)
    widths = [max(11, len(name) + 2) for name, _ in columns]
    note = " (partitions added up, which ran side by side)" if side_by_side else ""
    head = f"  {'phase':<18}" + "".join(f"{name:>{w}}" for (name, _), w in zip(columns, widths, strict=True))
    lines = [f"medians of phases in seconds, by setting{note}:", head]
    for name in names:
        cells = [f"{phases[name]:.4f}" if name in phases else "–" for _, phases in columns]
        lines.append(f"  {name:<18}" + "".join(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True)))
    return lines


def _counter_lines(report: dict[str, Any] | None, title: str) -> list[str]:
    if report is None:
        return []
    lines, half = [f"{title}:"], report["user_mode_only"]
    lines += [f"  {k:<24} {v:,}{' (user mode only)' if k in half else ''}" for k, v in report["values"].items()]
    if "instructions_per_cycle" in report:
        lines.append(f"  {'instructions_per_cycle':<24} {report['instructions_per_cycle']:,}")
    lines += [f"  {name:<24} {value:,} (getrusage)" for name, value in report["usage"].items()]
    by_reason: dict[str, list[str]] = {}
    for name, reason in report["refused"].items():
        by_reason.setdefault(reason, []).append(name)
    return lines + [f"  not counted: {', '.join(names)}: {reason}" for reason, names in by_reason.items()]
