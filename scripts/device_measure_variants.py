"""Compare a switch of cards with its default on a card, and write what was measured as JSON.

Usage: python scripts/device_measure_variants.py OUT.json [--switch pinned|fold-c] [--rounds 20] [--size SIZE] [--partition K]

Two sets of points, transforms and scratch are resident on the card, one for each setting; both prove the same C1 by turns. Proofs
are timed from the checked C1 to the verified bytes, in process; r and s are the system's, every proof is verified.
`python scripts/measure_variants.py --take OUT.json` puts the verdict where `cuzk variants` shows it.

`pinned` is about what the CPU synthesizes and a card takes, so both its settings have stream-witness=on, with which the CPU does.
`fold-c` is about parameters made on the card, which those of 512 MiB sectors are and smaller ones are not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

# By switch: the sector size to prove, what is measured, and the switches of each setting.
COMPARED: dict[str, tuple[str, str, dict[str, tuple[str, ...]]]] = {
    "pinned": (
        "2KiB",
        ", synthesis on the CPU",
        {"base": ("stream-witness=on",), "pinned=off": ("stream-witness=on", "pinned=off")},
    ),
    "fold-c": ("512MiB", "", {"base": (), "fold-c=off": ("fold-c=off",)}),
}


def made(size: str, folder: Path) -> Path:
    """The packaged C1, one that is made up, or a file."""
    from cuzk.circuits.params import parse_size
    from cuzk.commands import fixture

    if Path(size).is_file():
        return Path(size)
    if parse_size(size) == 2048:
        return ROOT / "examples/c1-2kib.json"
    out = folder / "c1.json"
    fixture.run(parse_size(size), out, None, 1000, 1, 0, None)
    return out


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Rounds in turning order, after warm-up."""
    from cuzk import statistics
    from cuzk.commands.prove import Options
    from cuzk.commands.ready import Ready
    from cuzk.formats import circuit
    from cuzk.noise import Watch
    from cuzk.progress import Progress
    from cuzk.timing import Timer
    from scripts.measure_variants import compared

    size, how, settings = COMPARED[options.switch]
    size, names, progress = options.size or size, list(settings), Progress(quiet=True)
    times: dict[str, list[float]] = {name: [] for name in names}
    phases: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    input_file, out = made(size, folder), folder / "proof.bin"
    with ExitStack() as stack:
        ready = {}
        for name, opts in settings.items():
            if circuit.is_circuit(input_file):  # holds its witness, so that the CPU makes the rows in any case
                opts = tuple(opt for opt in opts if opt != "stream-witness=on")
            asked = Options(input_file, out, params="dev", device="cuda:0", opts=opts, partition=options.partition)
            ready[name] = Ready.open(asked, Timer(), progress)
            stack.callback(ready[name].free)
            for _ in range(options.warmup):
                ready[name].prove(Timer())
        watch = Watch()
        for order in statistics.orders(len(names), options.rounds):
            for name in (names[i] for i in order):
                timer, began = Timer(), time.perf_counter()
                found = ready[name].prove(timer)
                times[name].append(time.perf_counter() - began)
                timer.stop()
                phases[name].append(timer.totals() | {f"card: {k}": v for k, v in found["device_phases"].items()})
            print(f"round {len(times['base'])} of {options.rounds}", file=sys.stderr, flush=True)
        noise = watch.report()
    environment = {"card": found["cards"][0]["name"], "host_threads": len(os.sched_getaffinity(0))}
    part = "" if options.partition is None else ", one partition"
    return {
        "of": f"proof of {size}{part} on a card{how}",
        "environment": environment,
        "noise": noise,
        "variants": compared(names, times, phases),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--switch", choices=list(COMPARED), default="pinned")
    parser.add_argument("--size", help="sector size, or an input file")
    parser.add_argument("--partition", type=int, help="one partition alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("CUZK_CACHE_DIR", str(Path(name) / "cache"))
        found = measure(options, Path(name))
    options.out.write_text(json.dumps({"command": " ".join(sys.argv), "comparisons": [found]}, indent=1) + "\n")
    for one in found["variants"]:
        print(one.get("words") or f"{one['name']}: median {one['seconds']['median']:.4f} s", one["phases"])
    print(found["noise"]["line"])


if __name__ == "__main__":
    main()
