"""Measure every switch against its default, in synthesis and in whole proofs, and write docs/measurements/variants-cpu.json.

Usage: python scripts/measure_variants.py [--iterations N] [--rounds N] [--only synthesis|proof|large]

The verdicts go to cuzk/data/variants.json too, from which `cuzk variants` shows them.

With --quiet, a round of proofs during which other processes took more than a twentieth of the CPUs is dropped and run again.

Synthesis and proofs take a 2 KiB sector, whose proof needs development parameters (made when absent); `large` is synthesis of
one 32 GiB partition, which takes 14 GB and is run only if asked for. Settings take turns in one process; see
`cuzk/statistics.py`. Synthesis is timed from the C1 in memory to A·z, B·z, C·z, proofs from there on to the 192 checked bytes.
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

TARGET = ROOT / "docs/measurements/variants-cpu.json"
VERDICTS = ROOT / "cuzk/data" / variants.MEASURED
C1 = ROOT / "examples/c1-2kib.json"
SYNTHESIS = "base,lc-layout=csr,presize=off,stream-witness=on"
LARGE = "base,stream-witness=on"
PARTS = {"synthesis": "synthesis of 2 KiB", "large": "synthesis of 32 GiB", "proof": "proof of 2 KiB"}
PROOF = "base,presize=off,stream-witness=on,parallel-b-g2=on,msm-window=one"


def environment() -> dict[str, Any]:
    """The machine and the versions."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    versions = {"python": platform.python_version(), "numba": numba.__version__, "numpy": numpy.__version__}
    return {"cpu": model, "path": config.cpu_path(), "threads": config.thread_count(), **versions}


def synthesis(iterations: int, setting: str, size: int | None = None) -> dict[str, Any]:
    """All settings of synthesis on one partition of the packaged C1, or of one that is made up."""
    options = synth_only.Options(
        c1_file=None if size else C1,
        size=size,
        variant=setting,
        iterations=iterations,
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
    job = prove._c1_job(options, Timer(), Progress(quiet=True))
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
    listed = []
    for name in names:
        one: dict[str, Any] = {"name": name, "seconds": statistics.summary(times[name]).as_dict(), "times": times[name]}
        one["phases"] = {p: round(statistics.summary([t.get(p, 0.0) for t in phases[name]]).median, 4) for p in phases[name][0]}
        if name != names[0]:
            against = statistics.compare(name, times[name], names[0], times[names[0]])
            one |= {"difference": against.as_dict(), "verdict": against.verdict, "words": against.words}
        listed.append(one)
    noise = {"whole": watch.report(), "others_by_round": others, "rounds_dropped": dropped, "pinning": pinning}
    return {"noise": noise, "variants": listed}


def verdicts(result: dict[str, Any]) -> dict[str, Any]:
    """What `cuzk variants` shows: each compared setting's verdict in words, under the switch that it turns."""
    e, switches = result["environment"], {}  # type: ignore[var-annotated]
    for part, of in PARTS.items():
        for one in result.get(part, {}).get("variants", []):
            if "words" in one:
                name, value = one["name"].split("=")
                shown = {"of": of, "value": value, "verdict": one["difference"]["verdict"], "words": one["words"]}
                switches.setdefault(name, []).append(shown)
    machine = f"{e['cpu']}, {e['threads']} threads, path {e['path']}"
    return {"machine": machine, "file": str(TARGET.relative_to(ROOT)), "switches": switches}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=40, help="rounds of synthesis")
    parser.add_argument("--rounds", type=int, default=10, help="rounds of proofs")
    parser.add_argument("--quiet", action="store_true", help="only rounds of proofs that nothing disturbed")
    parser.add_argument("--only", choices=list(PARTS))
    given = parser.parse_args()
    result = json.loads(TARGET.read_text()) if given.only and TARGET.exists() else {}
    result |= {"command": "python scripts/measure_variants.py", "environment": environment(), "circuit": "porep 2048"}
    if given.only in (None, "synthesis"):
        result["synthesis"] = synthesis(given.iterations, SYNTHESIS)
    if given.only == "large":
        result["large"] = synthesis(given.iterations, LARGE, 32 << 30)
    if given.only in (None, "proof"):
        result["proof"] = proofs(given.rounds, PROOF, given.quiet)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps(result, indent=1) + "\n")
    VERDICTS.write_text(json.dumps(verdicts(result), indent=1, ensure_ascii=False) + "\n")
    for part in PARTS:
        for one in result.get(part, {}).get("variants", []):
            print(part, one.get("words") or f"{one['name']}: median {one['seconds']['median']:.4f} s")
        print(part, result.get(part, {}).get("noise"))


if __name__ == "__main__":
    main()
