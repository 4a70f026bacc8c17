"""Make parameter files on a card, in one run, and write what was found as JSON: the oracle's bytes, the CPU's, times, memory.

Usage: python scripts/device_check_setup.py OUT.json [--as-cpu 8MiB,…] [--large 512MiB,…] [--runs 3] [--budget SECONDS]

1. 2 KiB in whole processes: the digests of the Rust stack's files.
2. Sizes of --as-cpu: the CPU's files, byte for byte; both times.
3. Sizes of --large: random sums of pieces of every vector by the CPU; time by phase. 32GiB takes 45 GiB of disk, 16 of memory.

On one H200: python scripts/device_check_setup.py $OUT/h200-setup.json
The JSON is written also when something fails.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts.device_check_prove import Checks, cuzk
from scripts.device_report import fail, own_folder, recorded, say

SUMMED = 1 << 25  # points that are summed of a larger file, about
SHOWN = ("seconds", "phases", "device", "lengths", "params", "vk")


class Setups(Checks):
    """The run: files made on one card."""

    def oracle(self) -> None:
        """2 KiB: the bytes of the Rust stack, the times of whole warm processes."""
        from cuzk.bench import known, process

        folder, stated, times = self.folder / "oracle", known.digests(), []
        for run in range(self.options.runs + 1):
            made = process.cuzk(["setup", "2KiB", "-o", str(folder), "--device", "cuda:0"], "auto")
            found = {part: made.answer[part]["sha256"] for part in ("params", "vk")}
            if found != {part: stated[f"{part}_sha256"] for part in found}:
                fail(f"2KiB: another file than the Rust stack's: {found}")
            times.append(round(made.seconds, 3))
            say(f"2KiB, run {run}: {made.seconds:.2f} s, {made.answer['phases']}, peak memory {made.peak_memory}")
        self.found["cases"]["2KiB"] = {key: made.answer[key] for key in SHOWN} | {"peak_memory": made.peak_memory}
        self.found["times_s"]["2KiB, whole processes, the first one may compile"] = times
        self.passed("2KiB: the digests of the Rust stack's files")

    def made(self, target: str, where: str, *more: object) -> dict[str, Any]:
        """The files of a size or circuit in a folder named after the device."""
        folder, begun = self.folder / where.replace(":", "-"), time.perf_counter()
        found = cuzk("setup", target, "-o", folder, "--device", where, *more)
        say(f"{target} on {where}: {time.perf_counter() - begun:.2f} s, {found['phases']}")
        return found

    def as_cpu(self, target: str) -> None:
        """The same three files from the card and from the CPU."""
        card, cpu = self.made(target, "cuda:0"), self.made(target, "cpu")
        folders = self.folder / "cuda-0", self.folder / "cpu"
        for name in (card["params"]["file"], card["vk"]["file"], f"{Path(card['vk']['file']).stem}.json"):
            one, other = (folder / name for folder in folders)
            if not _same(one, other):
                fail(f"{target}: {name} differs")
        self.found["cases"][target] = {key: card[key] for key in SHOWN} | {
            "cpu": {key: cpu[key] for key in ("seconds", "phases")}
        }
        self.passed(f"{target}: the CPU's files; {card['seconds']} s, {cpu['seconds']} s on the CPU")
        for folder in folders:
            shutil.rmtree(folder)

    def large(self, target: str) -> None:
        """A file too large for the CPU to make beside it."""
        from cuzk.bench.sampled_points import sums_hold
        from cuzk.circuits.params import parse_size
        from cuzk.formats import circuit, shapes
        from cuzk.groth16.logarithms import development_waste, lengths
        from cuzk.memory import measured_peak
        from cuzk.parameters.development import label_of

        card = self.made(target, "cuda:0")
        peak = measured_peak()
        self.found["cases"][target] = {key: card[key] for key in SHOWN} | {"peak_memory": peak}
        path = self.folder / "cuda-0" / card["params"]["file"]
        if path.stat().st_size != card["params"]["bytes"]:
            fail(f"{target}: {path.stat().st_size} bytes")
        shape = circuit.load(Path(target))[0] if Path(target).is_file() else shapes.load_or_record(parse_size(target))
        if not sums_hold(shape, development_waste(label_of(shape)), path, max(1, lengths(shape).points // SUMMED)):
            fail(f"{target}: a sum of points is wrong")
        self.passed(f"{target}: sums of points of each vector, {card['seconds']} s, {peak} bytes of the host at most")
        shutil.rmtree(path.parent)


def _same(one: Path, other: Path) -> bool:
    with one.open("rb") as a, other.open("rb") as b:
        while piece := a.read(1 << 24):
            if piece != b.read(len(piece)):
                return False
        return not b.read(1)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--as-cpu", default="8MiB", help="sizes or circuit files")
    parser.add_argument("--large", default="512MiB", help="sizes or circuit files")
    parser.add_argument("--runs", type=int, default=3, help="processes of 2 KiB and one before them; 0: none")
    parser.add_argument("--budget", type=float, default=420.0, help="seconds after which further sizes are left out")
    return parser.parse_args()


def everything(run: Setups) -> None:
    """All checks in turn; the most telling first."""
    if run.options.runs:
        run.oracle()
    for check, targets in ((run.as_cpu, run.options.as_cpu), (run.large, run.options.large)):
        for target in filter(None, targets.split(",")):
            if not run.late(target):
                check(target)


def main() -> None:
    """Run everything; the JSON is written also when a check fails."""
    options = arguments()
    with own_folder() as folder:
        run = Setups(options, folder)
        with recorded(run.found, options.out):
            everything(run)


if __name__ == "__main__":
    main()
