"""Prove on two cards of one machine: the oracle's bytes, the time against one card, and what becomes of a card that fails.

Usage: python scripts/device_check_two.py OUT.json [--size 32GiB] [--runs 3] [--case 2kib-non-interactive] [--device-memory BYTES]

1. The thirteen partitions of the oracle's non-interactive C1 through the command line, on both cards: its bytes.
2. A C1 of --size with parameters made on both cards, everything resident: its partitions on the first card, on the second, on
   both, by turns; the same bytes each time, and how many times as fast two cards are.
3. An attempt that fails on the second card is made again; a second card that is lost leaves its partitions to the first: the
   same bytes.

On two H200 with 32 CPU cores: python scripts/device_check_two.py $OUT/h200-two.json
The JSON is written also when something fails; what is slower than it should be is a miss, and no failure.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts import device_check_32gib
from scripts.device_check_32gib import MINER, SECTOR
from scripts.device_check_prove import Case, cuzk
from scripts.device_report import fail, own_folder, recorded, say

DEVICES = "cuda:0,1"
SPEED_UP = 1.8
TOY_PARTITIONS = 5  # of a circuit, which has one: the same again and again


class Checks(device_check_32gib.Checks):
    """The run: two cards."""

    def oracle(self) -> None:
        """The Rust stack's proof of a C1 with many partitions."""
        case, out = Case(self.options.case, self.folder), self.folder / "oracle.bin"
        for run in range(2):
            begun = time.perf_counter()
            found = cuzk(*case.command(out, "--device", DEVICES))
            say(f"{case.name} on both, run {run}: {time.perf_counter() - begun:.2f} s, phases {found['phases']}")
            if found["proof"] != case.proof or out.read_bytes().hex() != case.proof:
                fail(f"{case.name}: another proof than the Rust stack's")
        self.found["cases"][case.name] = {key: found[key] for key in ("seconds", "phases", "device_phases", "cards", "retries")}
        self.passed(f"{case.name}: {found['partitions']} partitions on two cards, byte for byte")

    def open(self) -> None:
        """Parameters and everything else of the circuit resident on both cards."""
        from cuzk.commands.choices import Ids, choose_cards
        from cuzk.commands.prove import Options, open_cards, read_job
        from cuzk.formats import randomness
        from cuzk.progress import Progress
        from cuzk.timing import Timer
        from cuzk.variants import Settings

        ids = Ids() if self.options.circuit else Ids(miner=MINER, sector=SECTOR)
        more = {"device_memory": self.options.device_memory}
        options = Options(self.c1, self.folder / "proof.bin", "dev", device=DEVICES, ids=ids, **more)
        self.progress, self.settings, timer = Progress(), Settings(), Timer()
        cards = choose_cards(DEVICES, self.progress)
        with self.timed("from the C1 file to two cards that are ready"):
            self.job = read_job(options, self.settings, timer, self.progress, card=cards[0])
            if self.options.circuit:
                self.job.partitions = list(range(TOY_PARTITIONS))
            self.cards = open_cards(self.job, cards, options, self.settings, timer, self.progress)
        timer.stop()
        self.write_randomness()
        self.scalars = randomness.read(self.randomness, self.job.partitions)
        self.found["phases"]["opening"] = timer.totals()
        self.found["memory"] = {"cards": self.cards.facts["cards"]}

    def proved(self, which: tuple[int, ...]) -> tuple[float, bytes]:
        """All partitions on some of the cards: seconds, and the proofs."""
        from cuzk.commands.prove import work_of
        from cuzk.timing import Timer

        self.cards.working = [self.cards.provers[i] for i in which]
        timer = Timer()
        work = work_of(self.job, self.scalars, self.settings, timer)
        begun = time.perf_counter()
        proofs = self.cards.prove(work, timer, self.progress)
        seconds = time.perf_counter() - begun
        self.tracks = {t: sum(s.seconds for s in timer.spans if s.track == t) for t in {s.track for s in timer.spans}}
        return seconds, proofs

    def compare(self) -> None:
        """One card, the other, both, by turns."""
        times: dict[str, list[float]] = {"the first": [], "the second": [], "both": []}
        proofs = set()
        self.proved((0, 1))  # what is made when first needed
        for run in range(self.options.runs):
            for name, which in (("the first", (0,)), ("both", (0, 1)), ("the second", (1,))):
                seconds, made = self.proved(which)
                times[name].append(round(seconds, 4))
                proofs.add(made)
                say(f"run {run}, {name}: {seconds:.3f} s; busy { ({t: round(s, 3) for t, s in self.tracks.items()}) }")
        if len(proofs) != 1:
            fail("the proofs of one card and of two differ")
        self.proof = proofs.pop()
        one, both = statistics.median(times["the first"] + times["the second"]), statistics.median(times["both"])
        count = len(self.job.partitions)
        ratio = one / both
        self.found["times_s"] |= {f"{count} partitions on {name}": t for name, t in times.items()}
        self.found["speed_up"] = round(ratio, 3)
        self.passed(f"{count} partitions on one card and on two: the same bytes; {one:.3f} s and {both:.3f} s, {ratio:.2f} times")
        if ratio < SPEED_UP:
            self.miss(f"two cards are {ratio:.2f} times as fast as one, not {SPEED_UP}")

    def faults(self) -> None:
        """An attempt that fails; a card that is lost."""
        from cuzk.errors import DeviceError

        second = self.cards.provers[1]
        prove, synchronize = second.prove, second.card.synchronize
        calls = [0]

        def failing(*arguments: Any) -> Any:
            calls[0] += 1
            if calls[0] == 1 or lost:
                raise DeviceError("a fault made by this check")
            return prove(*arguments)

        def dead() -> None:
            if lost and calls[0]:
                raise DeviceError("a card lost by this check")
            synchronize()

        for lost, retries in ((False, 1), (True, 0)):
            calls[0] = 0
            second.prove, second.card.synchronize = failing, dead
            try:
                seconds, proof = self.proved((0, 1))
            finally:
                second.prove, second.card.synchronize = prove, synchronize
            what = "a lost card" if lost else "a failed attempt"
            left = len(self.cards.working)
            told = self.cards.facts["cards"][1]
            kept = proof == self.proof and calls[0] and self.cards.facts["retries"] == retries and left == (1 if lost else 2)
            if not kept or told["lost"] is not lost or (lost and not told["moved"]):
                fail(f"{what}: retries {self.cards.facts['retries']}, {left} cards left, same bytes {proof == self.proof}")
            self.found["times_s"][f"with {what}"] = round(seconds, 4)
            self.passed(f"{what} on the second of two cards: the same bytes in {seconds:.3f} s, {retries} counted as again")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="32GiB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--case", default="2kib-non-interactive", help="of the oracle; empty: none")
    parser.add_argument("--device-memory")
    parser.add_argument("--circuit", type=Path, help="a circuit with its assignment in place of a C1")
    return parser.parse_args()


def main() -> None:
    """Run everything; the JSON is written also when a check fails."""
    options = arguments()
    with own_folder() as folder:
        run = Checks(options, folder)
        run.found["cpus"] = os.cpu_count()
        with recorded(run.found, options.out):
            run.prepare()
            if options.case:
                run.oracle()
            run.open()
            try:
                run.compare()
                run.faults()
            finally:
                run.cards.free()


if __name__ == "__main__":
    main()
