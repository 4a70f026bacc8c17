"""Prove on a card, in one run, and write what was found as JSON: the oracle's bytes, memory, times, many proofs in a process.

Usage: python scripts/device_check_prove.py OUT.json [--cases 2kib-v1_1,…] [--proofs 20] [--budget SECONDS]

Every case goes through the command line's own code. Where the Rust stack's proof is known, its bytes are what is expected;
otherwise those of the CPU for the same parameters, r and s. Parameters are made on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts.device_report import START, fail, own_folder, recorded, say

ROOT = Path(__file__).parent.parent
VECTORS = ROOT / "tests" / "vectors"
CASES = "2kib-v1_1,2kib-v1,2kib-synthetic,2kib-non-interactive,8mib-v1_1"


def rss() -> int:
    """Bytes of resident memory of this process now."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) << 10 if found else 0


def cuzk(*arguments: object) -> dict[str, Any]:
    """A command in this process; its JSON object. A failure ends the run."""
    from click.testing import CliRunner

    from cuzk.cli import cli

    words, begun = [str(a) for a in arguments], time.perf_counter()
    done = CliRunner().invoke(cli, [*words, "--json"])
    if done.exit_code:
        fail(f"cuzk {' '.join(words)}: {done.exit_code} {done.exception!r} {done.output[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    found["seconds"] = round(time.perf_counter() - begun, 3)  # its own clock counts from the start of the process
    return found


class Case:
    """A C1 with known ids, randomness and, for some, the proof of the Rust stack."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, VECTORS / "c1" / name
        forms = [self.folder / "c1.bincode", self.folder / "c1.json", self.folder / "circuit.json"]
        self.file = next(f for f in forms if f.exists())
        self.ids: list[object] = []
        expected = self.folder / "expected.json"
        if expected.exists():
            content = json.loads(expected.read_text())
            self.ids = ["--miner", content["miner_id"], "--sector", content["sector_number"]]
        self.randomness = self.folder / "proof.json"
        self.proof: str | None = None
        if self.randomness.exists():
            self.proof = json.loads(self.randomness.read_text())["proof"]
        else:
            self.randomness = folder / "randomness.json"
            pairs = [{"partition": k, "r": (1000 + k).to_bytes(32, "little").hex(), "s": "07" + "00" * 31} for k in range(32)]
            self.randomness.write_text(json.dumps({"randomness": pairs}))

    def command(self, out: Path, *more: object) -> list[object]:
        """`cuzk prove` of this case."""
        return ["prove", self.file, *self.ids, "-o", out, "--params", "dev", "--unsafe-randomness", self.randomness, *more]


class Checks:
    """The run: one card, what is found."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.found: dict[str, Any] = {"checks": [], "cases": {}, "times_s": {}, "memory": {}, "left_out": []}

    def passed(self, what: str) -> None:
        """Note a check that holds."""
        self.found["checks"].append({"what": what, "times": 1})
        say(f"ok: {what}")

    def late(self, what: str) -> bool:
        """Whether there is no time left for something; notes it."""
        if time.perf_counter() - START < self.options.budget:
            return False
        self.found["left_out"].append(what)
        say(f"left out: {what}")
        return True

    def compile_all(self) -> None:
        """Every kernel compiled and assembled side by side."""
        from cuzk import config, device
        from cuzk.cuda import compiler, offline

        if config.cuda_simulated():
            return

        compiler.on_compile.append(lambda name, seconds: say(f"compiled {name} in {seconds:.1f} s"))
        begun = time.perf_counter()
        kernels = offline.declared()
        compiler.compile_all(kernels.values(), device.card(0).capability)
        self.found["times_s"]["compile all kernels, cold"] = round(time.perf_counter() - begun, 2)
        say(f"{len(kernels)} kernels in {time.perf_counter() - begun:.1f} s")

    def case(self, name: str) -> None:
        """One case: bytes, phases, memory; a second run, warm; with less memory."""
        case, out = Case(name, self.folder), self.folder / "proof.bin"
        begun = time.perf_counter()
        first = cuzk(*case.command(out, "--device", "cuda:0"))
        say(f"{name}: first run {time.perf_counter() - begun:.1f} s, phases {first['phases']}")
        if case.proof is None:
            case.proof = str(cuzk(*case.command(self.folder / "cpu.bin", "--device", "cpu"))["proof"])
        if first["proof"] != case.proof or out.read_bytes().hex() != case.proof:
            fail(f"{name}: another proof than expected")
        self.passed(f"{name}: {first['partitions']} partition(s), byte for byte")
        again = cuzk(*case.command(out, "--device", "cuda:0"))
        if again["proof"] != case.proof or again["retries"]:
            fail(f"{name}: the second run differs, or took {again['retries']} retries")
        (card,) = again["cards"]
        self.found["cases"][name] = {key: again[key] for key in ("seconds", "phases", "device_phases", "cards", "partitions")}
        say(f"{name}: warm {again['seconds']} s, {again['phases']}, on the card {again['device_phases']}")
        say(f"{name}: memory predicted {card['predicted']}, taken {card['taken']}: {card['taken'] / card['predicted']:.3f}")
        if card["scratch"] < 512 << 20:
            return  # nothing to save
        less = card["predicted"] - card["scratch"] * 5 // 8
        small = cuzk(*case.command(out, "--device", "cuda:0", "--device-memory", less))
        if small["proof"] != case.proof:
            fail(f"{name}: another proof with {less} bytes")
        (card,) = small["cards"]
        if card["predicted"] > less:
            fail(f"{name}: {card['predicted']} bytes predicted where {less} are allowed")
        self.passed(f"{name}: the same in {less} bytes, {card['taken']} taken, {small['seconds']} s")

    def processes(self, name: str) -> None:
        """Whole processes, warm, and one that waits for every launch."""
        case, out = Case(name, self.folder), self.folder / "process.bin"
        times = []
        for blocking in ("0", "0", "0", "1"):
            words = [str(x) for x in case.command(out, "--device", "cuda:0", "--json")]
            begun = time.perf_counter()
            environment = os.environ | {"CUDA_LAUNCH_BLOCKING": blocking}
            done = subprocess.run(
                [sys.executable, "-m", "cuzk", *words], cwd=ROOT, env=environment, capture_output=True, text=True
            )
            seconds = time.perf_counter() - begun
            if done.returncode or out.read_bytes().hex() != case.proof:
                fail(f"{name} in a process of its own: {done.returncode} {done.stderr[-2000:]}")
            if blocking == "0":
                times.append(seconds)
                say(f"{name}: process {seconds:.2f} s, phases {json.loads(done.stdout)['phases']}")
        self.found["times_s"][f"{name}, whole process, warm"] = {"median": statistics.median(times), "min": min(times)}
        self.passed(f"{name}: in processes of their own, also with CUDA_LAUNCH_BLOCKING=1")

    def many(self, name: str, count: int) -> None:
        """Proofs one after the other with everything resident: bytes, time, memory of card and host."""
        from cuzk.circuits.hints import hints
        from cuzk.circuits.synthesis_cuda import Tables
        from cuzk.commands.cards import Cards, Work
        from cuzk.commands.choices import Ids, choose_cards
        from cuzk.commands.prove import device_seconds
        from cuzk.formats import c1, randomness, shapes
        from cuzk.groth16 import prove as groth16
        from cuzk.groth16.key_cuda import load_from
        from cuzk.groth16.needs_cuda import positions
        from cuzk.parameters import policy
        from cuzk.progress import Progress
        from cuzk.r1cs.levelling import level
        from cuzk.timing import Timer

        case, progress, timer = Case(name, self.folder), Progress(quiet=True), Timer()
        content = c1.load(case.file)
        ids = {"miner": int(str(case.ids[1])), "sector": int(str(case.ids[3]))}
        replica = Ids(**ids).resolve(content)
        shape = shapes.load_or_record(replica.sector.size, progress)
        files = policy.open_checked(policy.locate(replica.sector.size, "dev", progress), shape, "cached", progress)
        where = positions(shape, groth16.queries(shape))
        (card,) = choose_cards("cuda:0", progress)
        scalars = randomness.read(case.randomness, list(range(replica.partitions)))
        levelled = level(shape)
        assert levelled is not None

        def synthesize(k: int, *_: Any) -> Any:
            fail(f"{name}: partition {k} synthesized by the host")

        opened = Cards.open(
            [card],
            shape,
            files.vk,
            where,
            load_from(files),
            partitions=replica.partitions,
            tables=Tables(shape, levelled),
            timer=timer,
            progress=progress,
        )
        rows = []
        for _ in range(count):
            timer, begun = Timer(), time.perf_counter()
            work = Work(shape, files.vk, synthesize, replica.public_inputs, scalars, lambda k: hints(content, k))
            proof = opened.prove(work, timer, progress)
            seconds = time.perf_counter() - begun
            if proof.hex() != case.proof:
                fail(f"{name}: another proof in a row of {count}")
            row = {"seconds": round(seconds, 4), "free": card.free_memory(), "rss": rss(), "device": device_seconds(timer)}
            copied = {key: opened.facts["cards"][0][key] for key in ("bytes_in", "bytes_out")}
            rows.append(row | copied | {"phases": timer.totals()})
        opened.free()
        self.found["memory"][f"{name}, {count} proofs in a process"] = rows
        settled = rows[2:] or rows
        spread = max(r["free"] for r in settled) - min(r["free"] for r in settled)
        growth = settled[-1]["rss"] / settled[0]["rss"] - 1
        say(f"{name}: {count} proofs, {[r['seconds'] for r in rows]} s; last on the card {rows[-1]['device']}")
        say(f"{name}: free device memory varies by {spread} bytes, resident host memory grows by {growth:.4f}")
        if spread > 16 << 20 or growth > 0.02:
            fail(f"{name}: memory is not flat: {[(r['free'], r['rss']) for r in rows]}")
        times = [r["seconds"] for r in settled]
        self.found["times_s"][f"{name}, resident"] = {"median": statistics.median(times), "min": min(times), "max": max(times)}
        self.passed(f"{name}: {count} proofs in a process, the same bytes, memory flat")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--proofs", type=int, default=20)
    parser.add_argument("--budget", type=float, default=420.0, help="seconds after which further cases are left out")
    return parser.parse_args()


def everything(run: Checks) -> None:
    """All checks in turn; the most telling first."""
    cases = [name for name in run.options.cases.split(",") if name]
    run.compile_all()
    run.case(cases[0])
    if run.options.proofs:
        run.many(cases[0], run.options.proofs)
        run.processes(cases[0])
    for name in cases[1:]:
        if not run.late(name):
            run.case(name)
    if "2kib-non-interactive" in cases and run.options.proofs and not run.late("thirteen partitions resident"):
        run.many("2kib-non-interactive", 3)


def main() -> None:
    """Run everything; the JSON is written also when a check fails."""
    options = arguments()
    with own_folder() as folder:
        run = Checks(options, folder)
        with recorded(run.found, options.out):
            everything(run)


if __name__ == "__main__":
    main()
