"""Measure switches against their defaults, in synthesis and in whole proofs, and write docs/measurements/variants-cpu.json.

Usage: python scripts/measure_variants.py [--only synthesis|example|large|proof] [--variant base,NAME=VALUE,…] [--rounds N]
                                           [--quiet]
       python scripts/measure_variants.py --take FILE.json

A run replaces what was recorded of the same settings and keeps the rest, so that a long measurement can be made in pieces. The
verdicts go to cuzk/data/variants.json too, from which `cuzk variants` shows them. `--take` only adds the verdicts of a file that
scripts/device_measure_variants.py made on a card, under docs/measurements.

With --quiet, a round of proofs during which other processes took more than a twentieth of the CPUs is dropped and run again; of
synthesis, whose rounds are too short to tell, the whole run, at most ten times.

Synthesis and proofs take a 2 KiB sector, whose proof needs development parameters (made when absent); `example` is synthesis of
a 1 GiB sector, `large` of one 32 GiB partition, which takes 14 GB and is run only if asked for. Settings take turns in one
process; see `cuzk/statistics.py`. Synthesis is timed from the C1 in memory to A·z, B·z, C·z, proofs from there on to the 192
checked bytes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import numba  # noqa: E402
import numpy  # noqa: E402

from cuzk import config, statistics, variants, workers  # noqa: E402
from cuzk.commands import prove, synth_only  # noqa: E402
from cuzk.noise import Watch  # noqa: E402
from cuzk.progress import Progress  # noqa: E402
from cuzk.timing import Timer  # noqa: E402
from cuzk.variants import DEFAULTS, Settings  # noqa: E402

MEASUREMENTS = ROOT / "docs/measurements"
TARGET = MEASUREMENTS / "variants-cpu.json"
CARD = MEASUREMENTS / "variants-card.json"
VERDICTS = ROOT / "cuzk/data" / variants.MEASURED
C1 = ROOT / "examples/c1-2kib.json"
SYNTHESIS = "base,lc-layout=csr,presize=off,stream-witness=on"
STREAM = "base,stream-witness=on"
PARTS = {
    "synthesis": ("synthesis of 2 KiB", SYNTHESIS, None),
    "example": ("synthesis of 1 GiB", STREAM, 1 << 30),
    "large": ("synthesis of 32 GiB", STREAM, 32 << 30),
    "proof": ("proof of 2 KiB", "base,presize=off,stream-witness=on,parallel-b-g2=on,msm-window=one", None),
}
ROUNDS = {"synthesis": 40, "example": 40, "large": 10, "proof": 10}


def environment() -> dict[str, Any]:
    """The machine and the versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    versions = {"python": platform.python_version(), "numba": numba.__version__, "numpy": numpy.__version__}
    return {"cpu": model, "path": config.cpu_path(), "threads": config.thread_count(), **versions}


def synthesis(rounds: int, setting: str, size: int | None) -> dict[str, Any]:
    """All settings of synthesis on one partition of the packaged C1, or of one that is made up."""
    options = synth_only.Options(
        c1_file=None if size else C1,
        size=size,
        variant=setting,
        iterations=rounds,
        warmup=1 if size else 2,
        counters=True,
        as_json=True,
    )
    found = synth_only.run(options, time.perf_counter())
    keep = ("rows_per_second_per_core", "bytes_written", "bytes_per_second", "memory_bandwidth", "noise", "variants", "verdict")
    return {key: found[key] for key in keep}


def proofs(rounds: int, setting: str, quiet: bool) -> dict[str, Any]:
    """All settings of the prover on one partition, r and s fixed so that the proofs must be equal."""
    chosen = variants.parse_variants(setting, DEFAULTS, variants.PROOF)
    options = prove.Options(C1, Path(os.devnull), params="dev")
    job = prove.read_job(options, Settings(), Timer(), Progress(quiet=True), card=None)
    seen: set[bytes] = set()

    def run(settings: Settings) -> tuple[float, dict[str, float]]:
        timer = Timer()
        seen.add(prove._prove_partitions(job, {0: (1, 1)}, settings, timer, Progress(quiet=True)))
        return timer.stop(), timer.totals()

    for settings in chosen.values():
        run(settings)
    pinning, watch, dropped, others = workers.pin(), Watch(), 0, []
    times: dict[str, list[float]] = {name: [] for name in chosen}
    phases: dict[str, list[dict[str, float]]] = {name: [] for name in chosen}
    names = list(chosen)
    while len(others) < rounds:
        meanwhile = Watch()
        order = names if len(others) % 2 == 0 else list(reversed(names))
        found = {name: run(chosen[name]) for name in order}
        noise = meanwhile.report()
        if quiet and noise["busy"]:
            dropped += 1
            time.sleep(20)
            continue
        others.append(noise["others"])
        for name, (seconds, totals) in found.items():
            times[name].append(seconds)
            phases[name].append(totals)
    assert len(seen) == 1, "settings give different proofs"
    noise = {**watch.report(), "others_by_round": others, "rounds_dropped": dropped, "pinning": pinning}
    return {"noise": noise, "variants": compared(names, times, phases)}


def compared(names: list[str], times: dict[str, list[float]], phases: dict[str, list[dict[str, float]]]) -> list[dict[str, Any]]:
    """Every setting with its times and medians of its phases, and against the first."""
    listed = []
    for name in names:
        one: dict[str, Any] = {"name": name, "seconds": statistics.summary(times[name]).as_dict(), "times": times[name]}
        one["phases"] = {p: round(statistics.summary([t.get(p, 0.0) for t in phases[name]]).median, 4) for p in phases[name][0]}
        if name != names[0]:
            against = statistics.compare(name, times[name], names[0], times[names[0]])
            one |= {"difference": against.as_dict(), "verdict": against.verdict, "words": against.words}
        listed.append(one)
    return listed


def record(result: dict[str, Any], found: dict[str, Any]) -> None:
    """Put a comparison in, and take out what was recorded of the same settings."""
    again = {v["name"] for v in found["variants"][1:]}
    kept = []
    for one in result.get("comparisons", []):
        if one["of"] == found["of"]:
            one["variants"] = [one["variants"][0], *(v for v in one["variants"][1:] if v["name"] not in again)]
        if len(one["variants"]) > 1:
            kept.append(one)
    result["comparisons"] = [*kept, found]


def verdicts(files: list[Path]) -> dict[str, Any]:
    """What `cuzk variants` shows: each compared setting's verdict in words, under the switch that it turns."""
    switches: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        for comparison in json.loads(file.read_text())["comparisons"] if file.exists() else []:
            e = comparison["environment"]
            machine = f"{e['cpu']}, {e['threads']} threads, path {e['path']}" if "cpu" in e else e["card"]
            about = {"of": comparison["of"], "machine": machine, "file": str(file.relative_to(ROOT))}
            about["busy"] = comparison["noise"]["busy"]
            for one in (v for v in comparison["variants"][1:] if v["name"].count("=") == 1):
                name, value = one["name"].split("=")
                shown = {**about, "value": value, "verdict": one["verdict"], "words": one["words"]}
                switches.setdefault(name, []).append(shown)
    return {"switches": switches}


def take(file: Path) -> None:
    """Keep a card's comparisons."""
    result = json.loads(CARD.read_text()) if CARD.exists() else {}
    for one in json.loads(file.read_text())["comparisons"]:
        record(result, one)
    CARD.write_text(json.dumps(result, indent=1) + "\n")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help=f"rounds of each part (default: {ROUNDS})")
    parser.add_argument("--variant", help="settings to compare (default: all that the part has)")
    parser.add_argument("--quiet", action="store_true", help="only what nothing disturbed")
    parser.add_argument("--only", choices=list(PARTS))
    parser.add_argument("--take", type=Path, metavar="FILE.json", help="add what was measured on a card")
    given = parser.parse_args()
    result = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    result.setdefault("command", "python scripts/measure_variants.py")
    if given.take:
        take(given.take)
    for part in [given.only] if given.only else [] if given.take else ["synthesis", "proof"]:
        of, setting, size = PARTS[part]
        setting, rounds = given.variant or setting, given.rounds or ROUNDS[part]
        if part == "proof":
            found = proofs(rounds, setting, given.quiet)
        else:
            runs = (synthesis(rounds, setting, size) for _ in range(10 if given.quiet else 1))
            for found in runs:
                if not found["noise"]["busy"]:
                    break
        record(result, {"of": of, "environment": environment(), **found})
        for one in found["variants"]:
            print(of, one.get("words") or f"{one['name']}: median {one['seconds']['median']:.4f} s")
        print(of, found["noise"]["line"])
    TARGET.write_text(json.dumps(result, indent=1) + "\n")
    VERDICTS.write_text(json.dumps(verdicts([TARGET, CARD]), indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
