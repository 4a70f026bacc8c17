"""Write docs/performance.md from the measurements under docs/measurements.

Usage: python scripts/make_performance.py [--help]

`cuzk bench SUBJECT --json > docs/measurements/cpu-SUBJECT.json` makes the files of the CPU, msm with --peers; a run of its own
with CUZK_CPU=scalar makes cpu-SUBJECT-scalar.json. Each says its command. The `device_check_*` scripts and
`cuzk bench --device cuda` make those of a card, which `take_measurement` takes in.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts import performance_card
from scripts.performance_figures import SECOND_CORE, chosen, file_of, machine_state, reason, scattered, second_core, unsteady
from scripts.performance_parts import ROOT, below_aim, bounds, commit, link, measured, number, reached, read, table, time

TARGET = ROOT / "docs" / "performance.md"

SUBJECTS = {
    "field": "Field arithmetic",
    "ntt": "Transforms",
    "msm": "Sums of points",
    "synth": "Synthesis",
    "prove": "Proofs as whole processes, and the check of one",
    "setup": "Development parameters",
}
NOTES = {
    "ntt": """
The floor of a butterfly is an Fr product on operands in cache, and both elements loaded from memory and stored again, each
measured in the same rounds. A pass keeps its block in the cache over ten or eleven layers, so a butterfly can stay below that
floor; how far it is from the product alone stands beside it.
""",
    "msm": """
Dense random scalars. The points stand in the rows that the routine reads, as the peer's stand in its own objects, before the
clock starts. The peer runs in the same rounds, by turns, on the same CPU; the ratio is of the rounds that both ran in.
""",
    "synth": """
From a C1 in memory to the witness, A·z, B·z and C·z. With arrays *made before* it overwrites touched memory, as in a prover
after its phase `presize`. That is what a process reaches from its second partition on: a single cold process pays the first touch
of its arrays too, once.
""",
    "prove": """
`cuzk prove` of the packaged example with development parameters, timed from outside, the interpreter's start and end included.
Peak memory is what the system reports of the process: pages of the mapped parameter file that are in memory count.
""",
}

INTRO = """# Performance

Made from the files under [measurements](measurements) by `python scripts/make_performance.py`. Each section names its file and
its machine.

- Times are wall times: medians of as many runs as stand under *n*; *spread* is the distance of the quartiles.
- *CPU* is the median of the CPU time that the process took itself, all threads together. Other processes on the same cores
  lengthen the wall time far more than this one.
- *Others*: CPUs that other processes, and the host, took while the rounds of a row were measured. **Unsteady**: its quartiles
  are further apart than a tenth of its median.
- *Quiet* is what the system's counters show. The host's other guests leave no trace in them; unsteady rows are what shows those.
- The virtual machine of the CPU's files gives no cycle or cache counters: each is recorded as refused in
  [synthesis-32gib.json](measurements/synthesis-32gib.json). In their place: CPU time on one thread and on two, least times, and
  rates of single kernels.
- A result counts only if it was compared with something that does not use the measured routine. The last column says with
  what; where it differs, the run fails.
- Whole processes are warm: compiled code, shape and parameters are there, and the bytecode of the modules, as pip leaves it;
  the run added nothing to the cache. No code is compiled within a timing.
"""


def machine(found: dict[str, Any]) -> str:
    """By which command and where a file was measured, and whether the machine was busy."""
    m = found["machine"]
    cpu, versions = m["cpu"], ", ".join(f"{name} {version}" for name, version in m["versions"].items())
    memory = f", {m['memory'] / (1 << 30):.0f} GiB" if m["memory"] else ""
    lines = [f"By `{found['command']}`:"] if "command" in found else []
    lines += [
        f"{cpu.get('model', '?')} ({cpu['llvm_name']}), {m['path']} path, {m['usable_cores']} of {m['cores']} cores{memory};"
    ]
    lines.append(f"{versions};")
    lines.append(f"{commit(m)}. Load {m['load'][0] if m['load'] else '?'} before and")
    lines.append(f"{found['load_after'][0] if found['load_after'] else '?'} after.")
    lines += [f"{noise['line'][0].upper()}{noise['line'][1:]}." for noise in found["noise"].values()]
    return " ".join(lines)


def others(row: dict[str, Any]) -> str:
    """CPUs that others took during a row."""
    noise = row.get("noise") or {"others": None}
    return "" if noise["others"] is None else f"{noise['others']:.2f} + {noise['stolen']:.2f}"


def large_synthesis(file: str) -> str:
    """One partition of the largest common sector, and what the first run took, which touches its arrays for the first time."""
    found = read(file)
    if found is None:
        return ""
    ((partition,), e, memory) = found["partitions"], found["environment"], found["memory"]
    s, noise = partition["seconds"], found["noise"]["line"]
    return (
        f"\n{link(file)}, by `{found['command']}`: {e['cpu']}, {e['path']} path, {e['threads']} threads; numba {e['numba']}; "
        f"{commit(found)}. {noise[0].upper()}{noise[1:]}.\n\n"
        + table(
            ("task", "path", "threads", "median", "spread", "n", "", "first run, first touch included"),
            [
                (
                    f"synthesis 32GiB, one partition of {partition['rows']:,} rows, arrays made before",
                    e["path"],
                    str(e["threads"]),
                    time(s["median"]),
                    time(s["spread"]),
                    str(s["n"]),
                    f"{found['rows_per_second'] / 1e6:.1f} M rows/s; {found['bytes_written'] / 1e9:.1f} GB written; peak memory "
                    f"{memory['measured_peak'] / (1 << 30):.1f} GiB",
                    time(found["phases"]["warm_up"]),
                )
            ],
        )
        + "\n\nEvery row was checked. A single cold process pays the first touch of the arrays too: on this virtual machine, "
        "whose host takes free memory back, that is the larger part.\n"
    )


def targets() -> str:
    """What must be reached, what is aimed at, what was measured; what fell short, and why."""
    rows, short, before = [], [], ""
    every = read("targets.json")
    for target in every:
        value, cpu = chosen(target), chosen(target, "cpu")
        values = [measured(target, v) for v in (value, cpu)]
        word = reached(target, value)
        rows.append((target["what"], *bounds(target), *values, word, machine_state(target), link(file_of(target))))
        if word in ("must", "short"):
            split = second_core(target) if target["value"] == ["speed_up"] else ""
            before = SECOND_CORE if split else before
            short.append(f"- **{target['what']}** ({word}): {split}{reason(target, every)}{unsteady(target)}")
    text = "## Targets\n\nReached: the *aim*, what *must* be, or *short* of both. By CPU time: the same from this process's\n"
    text += "own CPU time; for whole processes the seconds of all cores together. Machine: whether others took\n"
    text += "CPU time meanwhile, and whether a row that the figure is made of is unsteady.\n\n"
    text += table(("what", "must", "aim", "measured", "by CPU time", "reached", "machine", "file"), rows) + "\n"
    return text + below_aim(short, before)


def facts(row: dict[str, Any]) -> str:
    """What is particular to a row."""
    parts = []
    if "ns_per_lane" in row:
        parts.append(f"{number(row['ns_per_lane'])} ns a lane")
    if "ns_per_butterfly" in row:
        parts.append(f"{number(row['ns_per_butterfly'])} ns a butterfly")
    if "floor" in row:
        floor = row["floor"]
        parts.append(
            f"{number(row['against_floor'])} × (Fr product {number(floor['fr_product_ns'])} ns + load and store of both "
            f"{number(floor['load_store_both_ns'])} ns), {number(row['against_product_alone'])} × the product alone; by CPU time "
            f"{number(row['cpu_against_floor'])} × and {number(row['cpu_against_product_alone'])} ×"
        )
    if "ns_per_point_and_window" in row:
        parts.append(f"{number(row['ns_per_point_and_window'])} ns a point and window of {row['window_bits']} bits")
    if "peer" in row:
        peer = row["peer"]
        parts.append(
            f"**{number(peer['ratio'])} ×** {peer['name']} {peer['version']} "
            f"(`{peer['call']}`: {time(peer['seconds']['median'])}; by CPU time {number(peer['cpu_ratio'])} ×)"
        )
    if "rows_per_second" in row:
        parts.append(f"{row['rows_per_second'] / 1e6:.1f} M rows/s")
    if "speed_up" in row:
        alone = {"products in cache": "products_speed_up", "loads and stores": "load_store_speed_up"}
        also = ", ".join(f"{name} {number(row[key])} ×" for name, key in alone.items() if key in row)
        parts.append(f"{number(row['speed_up'])} × one thread" + f" ({also})" * bool(also))
    if "peak_memory" in row:
        parts.append(f"peak memory {row['peak_memory'] / (1 << 30):.2f} GiB")
    if "phase_start" in row:
        parts.append(f"of it phase `start` {time(row['phase_start'])}; the rest is the interpreter's own start and end")
    return "; ".join(parts)


ANOTHER = "Another run, while the host gave less of a second core, to products too: "


def subject(name: str, title: str) -> str:
    """All rows of a subject, on each path that was measured."""
    text = f"## {title}\n" + NOTES.get(name, "")
    for file in (f"cpu-{name}.json", f"cpu-{name}-first.json", f"cpu-{name}-scalar.json"):
        found = read(file)
        if found is None:
            continue
        text += f"\n{ANOTHER if '-first' in file else ''}{link(file)}. {machine(found)}\n\n"
        rows, against = [], []
        for row in found["rows"]:
            s, checked = row["seconds"], row["result"]["against"]
            if checked not in against:
                against.append(checked)
            mark = str(1 + against.index(checked))
            cpu = time(row["cpu_seconds"]["median"]) if "cpu_seconds" in row else ""
            rows.append(
                (
                    row["name"],
                    row["path"],
                    str(row["threads"]),
                    time(s["median"]),
                    time(s["spread"]) + " **unsteady**" * scattered(row),
                    str(s["n"]),
                    cpu,
                    others(row),
                    facts(row),
                    mark,
                )
            )
        text += table(("task", "path", "threads", "median", "spread", "n", "CPU", "others", "", "against"), rows) + "\n\n"
        text += "\n".join(f"{i}. {words[0].upper()}{words[1:]}." for i, words in enumerate(against, 1)) + "\n"
        text += phases(found)
    text += large_synthesis("synthesis-32gib.json") if name == "synth" else ""
    return text if "measurements/" in text else text + "\nNot measured yet.\n"


def phases(found: dict[str, Any]) -> str:
    """Where the time of a proof goes."""
    with_phases = [row for row in found["rows"] if "phases" in row]
    if not with_phases:
        return ""
    names = [n for n in with_phases[0]["phases"] if any(row["phases"].get(n, 0) >= 0.0005 for row in with_phases)]
    rows = [(f"`{n}`", *(time(row["phases"].get(n, 0.0)) for row in with_phases)) for n in names]
    return "\nWhere the time of a proof goes, medians:\n\n" + table(("phase", *(row["path"] for row in with_phases)), rows) + "\n"


def tried() -> str:
    """Every optimisation that was tried."""
    text = "## Tried\n\n[tried.json](measurements/tried.json). Measured when tried, on an EPYC (Zen 4) with two shared\n"
    text += "virtual cores: CPU time of one thread, best of several runs, on the code of that day; sums of points by\n"
    text += "`python scripts/measure_trees.py`. Lines that name a card are of device time there. Ways of doing the same that\n"
    text += "can still be chosen are in `cuzk variants`.\n\n"
    rows = []
    for t in read("tried.json"):
        measured = f"{t['before']} → {t['after']} {t['unit']}".strip() if t["before"] else t["after"]
        rows.append((t["part"], t["tried"], t["predicted"], measured, t["kept"]))
    return text + table(("part", "tried", "predicted", "measured", "kept"), rows) + "\n"


def variants() -> str:
    """What was measured of every switch against its default, as `cuzk variants` says it."""
    rows = []
    for file in ("variants-cpu.json", "variants-card.json"):
        for comparison in (read(file) or {"comparisons": []})["comparisons"]:
            e, busy = comparison["environment"], comparison["noise"]["busy"]
            state = "not known" if busy is None else "busy" if busy else "quiet"
            where = e["card"] if "card" in e else f"{e['cpu']}, {e['threads']} threads, {e['path']}"
            rows += [(comparison["of"], v["words"], where, state, link(file)) for v in comparison["variants"] if "words" in v]
    text = "## Switches\n\nEvery switch against its default (*base*), as `cuzk variants` says it; N rounds by turns.\n\n"
    return text + table(("of", "verdict", "on", "machine", "file"), rows) + "\n"


def render() -> str:
    """The whole page."""
    parts = [INTRO, targets(), *(subject(*item) for item in SUBJECTS.items())]
    parts.append(performance_card.render())
    return "\n".join([*parts, variants(), tried()])


def main() -> None:
    """Write the page, or say what this does."""
    about = "Write docs/performance.md from the measurements under docs/measurements."
    argparse.ArgumentParser(description=about).parse_args()
    TARGET.write_text(render())
    print(f"wrote {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
