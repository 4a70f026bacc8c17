"""The part of docs/performance.md about cards: targets, checks and times of `device_check_*`, `cuzk bench --device cuda`."""

from __future__ import annotations

from statistics import median
from typing import Any

from scripts.performance_figures import at, reason
from scripts.performance_parts import below_aim, bounds, commit, link, measured, number, reached, read, table, time

BENCHES = ("h200-bench.json", "h200-bench-msm.json")
REGISTERS = "kernels-sm90.json"
# Title, and the run with CUDA_LAUNCH_BLOCKING=1.
CARDS = {
    "h200-ntt.json": ("Transforms and quotient", "h200-ntt-blocking.json"),
    "h200-msm.json": ("Sums of points", "h200-msm-blocking.json"),
}
# Kernels that the time of a proof goes to.
HOT = ("rates_cuda", "tree_cuda", "sort_cuda.partition", "ntt_radix8_cuda.di", "program_cuda", "rows_cuda")

SECTORS = {
    "h200-32gib.json": "Ten partitions of 32 GiB",
    "h200-two.json": "The same on two cards, C1 read before",
    "h200-32gib-24.json": "Ten partitions of 32 GiB within 24 GiB of device memory, points streamed",
}


def heading(title: str, file: str, found: dict[str, Any], more: str = "") -> str:
    """Title of a card's run, its file, command and commit, the cards (with `more` about them) and the compilers."""
    facts_of = found["before"]["facts"]
    names = ", ".join(c["name"] for c in facts_of["cards"])
    text = f"### {title}\n\n{link(file)}, by `{found['command']}`: {names}{more}; {', '.join(facts_of['compiler'])}; "
    return text + commit(found) + "." + changed_since(found)


def changed_since(found: dict[str, Any]) -> str:
    """What the compiler makes of the kernels of a file today, where that is not what ran."""
    today = {name.split(".")[-1]: facts for name, facts in read(REGISTERS)["kernels"].items()}
    changes = []
    for name, facts in found.get("kernels", {}).items():
        short, ran = name.split(".")[-1], facts["registers"]
        now = today[short]["registers"] if short in today else "no longer there"
        if now != ran:
            changes.append(f"`{short}` {ran} → {now}")
    return f" **Its kernels have changed since**, registers by {link(REGISTERS)}: {', '.join(changes)}." if changes else ""


def blocking(file: str) -> str:
    """The checks of a card with CUDA_LAUNCH_BLOCKING=1."""
    found = read(file)
    if found is None:
        return ""
    times = sum(c["times"] for c in found["checks"])
    text = f"\nWith CUDA_LAUNCH_BLOCKING=1, {link(file)}, by `{found['command']}`: {len(found['checks'])} checks passed, {times}"
    return text + f" comparisons; {commit(found)}.{changed_since(found)}\n"


def card(file: str, title: str, other: str) -> str:
    """Device times of a card's run; `other`: the file of the run in which launches wait."""
    found = read(file)
    if found is None:
        return ""
    facts_of = found["before"]["facts"]
    more = f", {facts_of['cards'][0]['multiprocessors']} multiprocessors, {facts_of['driver']}"
    text = heading(title, file, found, more) + f" {len(found['checks'])} checks passed,"
    text += f" {sum(c['times'] for c in found['checks'])} comparisons.\n\n"
    rows = [
        (what, f"{number(t['median'])} ms", f"{number(t['min'])} to {number(t['max'])} ms", str(t["runs"]))
        for what, t in found["times_ms"].items()
        if not any(word in what for word in ("pass of", "wave of", "chains of", " products"))
    ]
    text += table(("task, resident data, device time", "median", "from and to", "n"), rows) + "\n"
    rates = [
        (what, number(rate))
        for what, rate in found["rates"].items()
        if isinstance(rate, int | float) and " of random" not in what
    ]
    if rates:
        text += "\n" + table(("rate", ""), [(w.replace("_", " "), r) for w, r in rates]) + "\n"
    return text + blocking(other)


def on_card_value(target: dict[str, Any]) -> float | None:
    """The measured value of a card's target: a median of `times_ms` by the start of its name, or what stands at a path, of the
    row with a name if one is named."""
    found: Any = read(target["file"])
    if found is None:
        return None
    if "times" in target:
        value, over = (at(found, ["times_ms", target[k], "median"]) if k in target else 1.0 for k in ("times", "over"))
        return None if value is None or over is None else float(value) / float(over)
    if "row" in target:
        found = next((row for row in found["rows"] if row["name"] == target["row"]), None)
    value = at(found, target["value"])
    return None if value is None else float(value) / target.get("scale", 1)


def card_targets() -> str:
    """What must be reached on a card, what is aimed at, what was measured; what fell short, and why."""
    rows, short = [], []
    every = read("card-targets.json")
    for target in every:
        value = on_card_value(target)
        word = reached(target, value) if "must" in target else ""
        rows.append((target["what"], *bounds(target), measured(target, value), word, link(target["file"])))
        if word == "short" or (word == "must" and "aim" in target):
            short.append(f"- **{target['what']}** ({word}): {reason(target, every)}")
    text = "### Targets\n\n" + table(("what, one NVIDIA H200", "must", "aim", "measured", "reached", "file"), rows) + "\n"
    text += "\nResident memory of the host includes memory that is page-locked.\n"
    return text + below_aim(short)


def facts(row: dict[str, Any]) -> str:
    """What is particular to a row of `cuzk bench`."""
    parts = []
    if "per_ns" in row:
        parts.append(f"{row['per_ns']} G/s")
    if "windows" in row:
        parts.append(
            f"{row['windows']} windows of {row['window_bits']} bits, {row['at_a_time']} at a time, "
            f"{row['scratch'] / 2**30:.2f} GiB of scratch"
        )
    if "of_random" in row:
        parts.append(f"{row['of_random']} × random scalars")
    if "rows_per_second" in row:
        parts.append(f"{row['rows_per_second'] / 1e6:,.0f} M rows/s; witness {time(row['witness']['median'])}, rows")
        parts[-1] += f" {time(row['rows']['median'])}; {row['bytes_in']:,} bytes to the card"
    if "device_phases" in row:
        parts.append(f"device {time(sum(row['device_phases'].values()))} of it")
    if "peak_memory" in row:
        parts.append(f"peak resident {row['peak_memory'] / 2**30:.2f} GiB")
    return "; ".join(parts)


def bench(file: str) -> str:
    """Every row of `cuzk bench --device cuda`, with clocks, driver, registers and spills."""
    found = read(file)
    if found is None:
        return ""
    cards = found["cards"]
    text = f"### `{found['command']}`\n\n{link(file)}: "
    text += f"{', '.join(c['name'] for c in cards['cards'])}, {cards['driver']}; {', '.join(cards['compiler'])};"
    text += f" {commit(found)}.{changed_since(found)}"
    text += "".join(f" {noise['line'][0].upper()}{noise['line'][1:]} ({name})." for name, noise in found["noise"].items())
    text += " Times are of the device, by events; those of whole processes on the clock.\n\n"
    rows, against = [], list(dict.fromkeys(row["result"]["against"] for row in found["rows"]))
    for row in found["rows"]:
        s, wall = row["seconds"], row.get("wall_seconds")
        on_clock = time(wall["median"]) if wall else ""
        mark = str(1 + against.index(row["result"]["against"]))
        rows.append((row["name"], time(s["median"]), time(s["spread"]), str(s["n"]), on_clock, facts(row), mark))
    text += table(("task", "median", "spread", "n", "on the clock", "", "against"), rows) + "\n\n"
    text += "\n".join(f"{i}. {words[0].upper()}{words[1:]}." for i, words in enumerate(against, 1)) + "\n\n"
    names = {"clocks.sm": "cores", "clocks.mem": "memory", "temperature.gpu": "°C", "power.draw": "power", "pstate": "state"}
    clocks = [(when, *(c.get(k, "") for k in ("driver_version", *names))) for when, c in found["clocks"].items()]
    text += table(("clocks", "driver", *names.values()), clocks) + "\n\n"
    columns = ("threads", "registers", "local", "spill_stores", "spill_loads", "shared")
    hot = {name: f for name, f in found["kernels"].items() if name.startswith(HOT)}
    kernels = [(f"`{name}`", *(str(f.get(c, "")) for c in columns)) for name, f in hot.items()]
    heads = ("kernel", "threads", "registers", "local bytes", "spilled: stored", "loaded", "shared bytes, static")
    return text + table(heads, kernels) + "\n"


def sector(file: str, title: str) -> str:
    """Whole C1s of 32 GiB on cards: what was compared, times, memory, phases of the last run."""
    found = read(file)
    if found is None:
        return ""
    text = heading(title, file, found, f", {found['cpus']} CPUs") + " Parameters are made on the card.\n\n"
    text += "".join(f"- {check['what']}\n" for check in found["checks"])
    text += "".join(f"- not reached: {miss}\n" for miss in found["misses"])
    times = []
    for what, t in found["times_s"].items():
        if isinstance(t, dict):
            times.append((what, *[time(t[x]) for x in ("median", "min", "max")]))
        elif isinstance(t, list):
            times.append((what, *[time(pick(t)) for pick in (median, min, max)]))
        else:
            times.append((what, time(t), "", ""))
    text += "\n" + table(("wall time", "median", "least", "most"), times) + "\n"
    if not found["runs"]:
        return text
    last, memory = found["runs"][-1], found["memory"]
    text += f"\nThe C1 file has {found['c1_bytes']:,} bytes; {last['bytes_in']:,} go to the card in a run,"
    text += f" {last['bytes_out']:,} come back. Device memory: {memory['predicted'] / 2**30:.2f} GiB predicted,"
    text += f" {memory['taken'] / 2**30:.2f} taken. Host: peak resident {memory['host peak'] / 2**30:.2f} GiB"
    locked = memory.get("page-locked")
    text += ("" if locked is None else f", of which {locked / 2**30:.2f} GiB page-locked") + ".\n\n"
    on_it = last["device_phases"]
    phases = list(dict.fromkeys([*last["phases"], *on_it]))
    rows = [(f"`{x}`", *[time(of[x]) if x in of else "" for of in (last["phases"], on_it)]) for x in phases]
    return text + table(("last run, all partitions", "host", "card"), rows) + "\n"


def proofs(file: str) -> str:
    """Whole proofs on a card: what was compared, times, where the device's time goes, memory."""
    found = read(file)
    if found is None:
        return ""
    text = heading("Proofs", file, found)
    text += " The bytes are those of the Rust stack where it has a proof of the case, else those of the CPU.\n\n"
    text += "".join(f"- {check['what']}\n" for check in found["checks"])
    phases = list(dict.fromkeys(name for case in found["cases"].values() for name in case["device_phases"]))
    rows = []
    for name, case in found["cases"].items():
        (used,) = case["cards"]
        memory = f"{used['predicted'] / 2**30:.2f} and {used['taken'] / 2**30:.2f} GiB"
        rows.append((name, str(case["partitions"]), *[time(case["device_phases"].get(x, 0.0)) for x in phases], memory))
    heads = ("device time of all partitions", "partitions", *[f"`{x}`" for x in phases], "memory predicted and taken")
    text += "\n" + table(heads, rows) + "\n\n"
    times = [
        (what, *[time(t[x]) if x in t else "" for x in ("median", "min", "max")])
        for what, t in found["times_s"].items()
        if isinstance(t, dict)
    ]
    return text + table(("wall time", "median", "least", "most"), times) + "\n"


def parameters(file: str) -> str:
    """`cuzk setup` on a card: what was compared, and its times."""
    found = read(file)
    if found is None:
        return ""
    text = heading("Parameter files", file, found) + "\n\n" + "".join(f"- {check['what']}\n" for check in found["checks"])
    rows = [
        (what, *[time(pick(t)) for pick in (median, min, max)]) for what, t in found["times_s"].items() if isinstance(t, list)
    ]
    return text + "\n" + table(("wall time", "median", "least", "most"), rows) + "\n"


def on_card(file: str) -> str:
    """Synthesis on a card: what was compared, device time of its steps, bytes copied."""
    found = read(file)
    if found is None:
        return ""
    text = heading("Synthesis", file, found) + f" {len(found['checks'])} checks passed,"
    text += f" {sum(c['times'] for c in found['checks'])} comparisons of every value.\n\n"
    rows = []
    for name, case in found["cases"].items():
        one = case["partition 0"]
        steps = [f"{number(one[key]['median'])} ms" for key in ("witness_ms", "rows_ms")]
        rows.append((name, f"{case['rows']:,}", *steps, f"{one['runs'][0]['bytes_in']:,}", f"{case['taken_bytes']:,}"))
    heads = ("partition 0 of", "rows", "witness", "A·z, B·z, C·z", "bytes to the card", "bytes of tables there")
    return text + table(heads, rows) + "\n"


def render() -> str:
    """All sections."""
    sections = [card_targets(), *[card(file, *words) for file, words in CARDS.items()], on_card("h200-synth.json")]
    sections += [proofs("h200-prove.json"), *[sector(*item) for item in SECTORS.items()], parameters("h200-setup.json")]
    sections += [bench(file) for file in BENCHES]
    return "## On a card\n\nDevice time, by events.\n\n" + "\n".join(filter(None, sections))
