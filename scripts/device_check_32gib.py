"""Prove a whole C1 on a card with parameters made there, time it, check it exactly, and write what was found as JSON.

Usage: python scripts/device_check_32gib.py OUT.json [--size 32GiB] [--partition K] [--runs 3] [--exact 2] [--budget SECONDS]
       [--device-memory BYTES] [--opt NAME=VALUE] [--circuit FILE]

1. All kernels are compiled, for the card and, in processes beside, for the CPU; a C1 is fabricated.
2. Parameters are made on the card from public waste, as `cuzk prove --params dev --device cuda` makes them, and some points of
   every vector compared with the CPU's multiples and with plain integers.
3. The C1 file is proved to a proof file several times, with process and parameters resident: times, phases, memory; the bytes
   must be the same each time, and every proof passes the check by pairing.
4. From the toxic waste the proof of some partitions is computed without any point (`known_waste`): the bytes must be those.

On an H200 with 16 CPU cores: python scripts/device_check_32gib.py $OUT/h200-32gib.json
The JSON is written also when something fails; what is slower or larger than it should be is a miss, and no failure.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts import device_check_prove
from scripts.device_check_prove import ROOT
from scripts.device_report import fail, own_folder, recorded, say

MINER, SECTOR = 1000, 1  # those of the fixture
SECONDS, SETUP_SECONDS, HOST_BYTES, MEMORY_ERROR = 11.0, 60.0, 64 << 30, 0.1
POINTS = 200  # of each vector, compared with the CPU


def peak_rss() -> int:
    """Most bytes of resident memory that this process had."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) << 10 if found else 0


class Least:
    """The least free memory of a card that a thread sees."""

    def __init__(self, card: Any, every: float = 0.05) -> None:
        self.card, self.every, self.before = card, every, card.free_memory()
        self.free = self.before

    def __enter__(self) -> Least:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._ended.wait(self.every):
            self.free = min(self.free, self.card.free_memory())

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self.free = min(self.free, self.card.free_memory())

    @property
    def taken(self) -> int:
        """Bytes taken since the start, at most."""
        return self.before - self.free


class Checks(device_check_prove.Checks):
    """The run: one card, one circuit."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        super().__init__(options, folder)
        self.found |= {"size": options.size, "misses": [], "runs": [], "phases": {}}
        self.c1 = options.circuit or folder / "c1.json"
        self.randomness = folder / "randomness.json"

    def miss(self, what: str) -> None:
        """Note something that is slower or larger than it should be."""
        self.found["misses"].append(what)
        say(f"MISS: {what}")

    @contextmanager
    def timed(self, what: str) -> Any:
        """Time a step."""
        began = time.perf_counter()
        try:
            yield
        finally:
            seconds = time.perf_counter() - began
            self.found["times_s"][what] = round(seconds, 3)
            say(f"{what}: {seconds:.2f} s, host peak {peak_rss() / (1 << 30):.2f} GiB")

    def prepare(self) -> None:
        """Everything that needs no parameters: code for card and CPU, shape, C1."""
        if self.options.circuit:
            self.compile_all()
            return
        size, folder = self.options.size, self.folder / "warm"
        folder.mkdir()
        cuzk = f"{sys.executable} -m cuzk"
        warm = [f"{cuzk} fixture 2KiB -o {folder}/c1", f"{cuzk} setup 2KiB -o {folder}"]
        warm.append(f"{cuzk} prove {folder}/c1 -o {folder}/proof --miner {MINER} --params {folder} --device cpu")
        commands = {
            "fixture": f"{cuzk} fixture {size} -o {self.c1} --miner {MINER} --sector {SECTOR}",
            "shape": f"{cuzk} shape {size}",
            "CPU code": " && ".join(warm),
        }
        began = time.perf_counter()
        beside = {}
        for name, command in commands.items():
            beside[name] = subprocess.Popen(
                command, shell=True, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        self.compile_all()
        for name, process in beside.items():
            output, _ = process.communicate()
            say(f"{name} made beside, after {time.perf_counter() - began:.1f} s")
            if process.returncode:
                fail(f"{name}: {output[-2000:]}")
        self.found["times_s"]["compile for card and CPU, fabricate, record, side by side"] = round(time.perf_counter() - began, 2)
        self.found["c1_bytes"] = self.c1.stat().st_size

    def open(self) -> None:
        """Parameters and everything else of the circuit resident on the card."""
        from cuzk import variants
        from cuzk.commands.choices import Ids, choose_cards
        from cuzk.commands.prove import Options, open_cards, read_job
        from cuzk.commands.ready import Ready
        from cuzk.progress import Progress
        from cuzk.timing import Timer
        from cuzk.variants import Settings

        ids = Ids() if self.options.circuit else Ids(miner=MINER, sector=SECTOR)
        more = {"partition": self.options.partition, "device_memory": self.options.device_memory}
        options = Options(self.c1, self.folder / "proof.bin", "dev", device="cuda:0", ids=ids, **more)
        progress, timer = Progress(), Timer()
        settings = variants.apply(Settings(), self.options.opt, variants.PROOF, device="cuda:0")
        (self.card,) = choose_cards("cuda:0", progress)
        with self.timed("parameters: from the C1 file to a card that is ready"), Least(self.card) as least:
            job = read_job(options, settings, timer, progress, card=self.card)
            say(f"logarithms: {timer.totals()}")
            self.sample(job)
            cards = open_cards(job, [self.card], options, settings, timer, progress)
            timer.stop()
        self.job, self.ready, self.cards = job, Ready(options, settings, job, cards, progress), cards
        print(timer.table(), flush=True)
        seconds = {"/".join(t.path): round(t.seconds, 3) for t in timer.nested_totals()}
        self.found["phases"]["opening"] = seconds
        made = sum(s for name, s in seconds.items() if name == "srs_load" or name.startswith("srs_load/points"))
        self.found["times_s"]["parameters made on the card"] = made = round(seconds.get("srs_load", made), 3)
        if made > SETUP_SECONDS:
            self.miss(f"parameters took {made} s, not {SETUP_SECONDS}")
        facts = cards.facts["cards"][0]
        self.found["memory"] |= {"opening: most taken": least.taken, "predicted": facts["predicted"], "free before": least.before}
        self.found["memory"]["host peak after opening"] = peak_rss()
        self.found["parameters"] = job.parameters.as_dict()
        say(f"device memory: {facts}, most taken {least.taken}")

    def sample(self, job: Any) -> None:
        """Logarithms of some points of each vector, and of ic, while they are there."""
        from cuzk.groth16.setup_cuda import GROUP
        from cuzk.msm.fixed_base_cuda import block_size, window_bits

        logs = job.parameters.logarithms
        generator = np.random.default_rng(5)
        self.expected: dict[str, tuple[list[int], Any]] = {}
        for name in ("h", "l", "a", "b_g1", "b_g2"):
            n = logs.count(name)
            block = block_size(GROUP[name], n, window_bits(GROUP[name], n))
            borders = [b + d for b in range(block, n, block) for d in (-1, 0)]
            chosen = sorted({0, n - 1, n // 2, *borders, *generator.integers(0, n, POINTS).tolist()})
            scalars = np.concatenate([logs.scalars(name, i, 1) for i in chosen])
            self.expected[name] = chosen, scalars
        self.ic, self.lengths = logs.scalars("ic", 0, logs.lengths.ic).copy(), logs.lengths

    def points(self) -> None:
        """The sampled points against the CPU's multiples, three of each also against plain integers."""
        from cuzk.field.limbs import fp_ints, from_limbs
        from cuzk.groth16.needs_cuda import GROUP
        from cuzk.groth16.setup import GENERATORS
        from cuzk.msm import cuda
        from cuzk.msm.fixed_base import FixedBase
        from cuzk.spec import curve

        key, log_size = self.cards.provers[0].key, self.job.shape.domain_log2
        bases = {group: FixedBase(group, base, 1 << 10) for group, base in GENERATORS.items()}
        for name, (chosen, scalars) in self.expected.items():
            streamed, curve_name = key.streamed.get(name), GROUP[name]
            count = key.needs.counts[name]
            want = bases[curve_name].multiples(scalars)
            plain = {0, len(chosen) // 2, len(chosen) - 1}
            for k, i in enumerate(chosen):
                if streamed is not None:  # on the host, coordinates below 2 p
                    with cuda.upload(self.card, curve_name, streamed[i : i + 1]).buffer as held:
                        got = cuda.DevicePoints(curve_name, held, 1).read()[0]
                else:
                    at = int(f"{i:0{log_size}b}"[::-1], 2) if name == "h" and log_size and not key.needs.folded else i
                    got = key.points[name].part(at, 1).read()[0]
                if not np.array_equal(got, want[k]):
                    fail(f"point {i} of {name} is not the CPU's")
                if k in plain:
                    group = curve.G1 if curve_name == "g1" else curve.G2
                    point = group.mul(group.generator, from_limbs(scalars[k : k + 1])[0])
                    x, y = point or ((0, 0), (0, 0)) if curve_name == "g2" else point or (0, 0)
                    coordinates = [*x, *y] if curve_name == "g2" else [x, y]
                    if fp_ints(got.reshape(-1, 6)) != coordinates:
                        fail(f"point {i} of {name} is not that of plain integers")
            self.passed(f"{name}: {len(chosen)} of {count} points as the CPU makes them")

    def write_randomness(self) -> None:
        """r and s of every partition, the same in every run."""

        def scalar(text: str) -> str:
            return (hashlib.sha256(text.encode()).digest()[:31] + b"\0").hex()

        pairs = [{"partition": k, "r": scalar(f"r {k}"), "s": scalar(f"s {k}")} for k in range(32)]
        self.randomness.write_text(json.dumps({"randomness": pairs}))

    def prove(self) -> None:
        """The C1 file to a proof file, again and again."""
        from cuzk.timing import Timer

        out, proofs = self.folder / "proof.bin", []
        self.write_randomness()
        least = Least(self.card)
        for run in range(self.options.runs):
            if proofs and self.late(f"run {run}"):
                break
            timer = Timer()
            result = self.ready.prove(timer, proof_file=out, unsafe_randomness=self.randomness)
            seconds = timer.stop()
            least.free = min(least.free, self.card.free_memory())
            proofs.append(out.read_bytes())
            if proofs[-1].hex() != result["proof"]:
                fail("the proof file is not what was returned")
            self.note(run, seconds, timer, result)
        if len(set(proofs)) != 1:
            fail("the proofs of two runs with the same r and s differ")
        self.proof = proofs[0]
        times = [r["seconds"] for r in self.found["runs"]]
        count = len(self.job.partitions)
        name = f"{count} partition(s), C1 file to proof file, resident"
        self.found["times_s"][name] = {"median": statistics.median(times), "min": min(times), "max": max(times), "n": len(times)}
        self.passed(f"{count} partition(s) proved {len(times)} times, verified, the same bytes; {times} s")
        # The bound is that of points in the card's memory, not of such that come from the host in each partition.
        if statistics.median(times) > SECONDS and not self.cards.facts["cards"][0]["streamed"]:
            self.miss(f"{name}: {statistics.median(times)} s, not {SECONDS}")
        self.memory()

    def note(self, run: int, seconds: float, timer: Any, result: dict[str, Any]) -> None:
        """One run's times by phase, on the host and on the card."""
        spans = sorted((s.start, s.start + s.seconds) for s in timer.spans if s.track == self.cards.provers[0].track)
        busy = sum(end - start for start, end in spans)
        span = spans[-1][1] - spans[0][0] if spans else 0.0
        (card,) = self.cards.facts["cards"]
        facts = {
            "seconds": round(seconds, 4),
            "phases": timer.totals(),
            "device_phases": result["device_phases"],
            "device_busy": round(busy, 4),
            "device_first_to_last": round(span, 4),
            "before_first_kernel": round(spans[0][0], 4) if spans else None,
            "retries": result["retries"],
            "bytes_in": card["bytes_in"],
            "bytes_out": card["bytes_out"],
            "host_peak": peak_rss(),
        }
        self.found["runs"].append(facts)
        print(timer.table(), flush=True)
        say(f"run {run}: {seconds:.3f} s; card busy {busy:.3f} of {span:.3f} s, from {facts['before_first_kernel']} s on")
        say(f"run {run}: on the card {result['device_phases']}; {card['bytes_in']} bytes there, {card['bytes_out']} back")
        if run == 0:
            timer.write_trace(self.options.out.with_suffix(".trace.json"), {"size": self.options.size})

    def memory(self) -> None:
        """Predicted against taken, on the card; the peak of the host."""
        facts = self.cards.facts["cards"][0]
        most = max(facts["taken"], self.found["memory"]["opening: most taken"])
        host = peak_rss()
        self.found["memory"] |= {"taken": most, "host peak": host, "taken / predicted": round(most / facts["predicted"], 4)}
        pinned = facts["host_points"] + (0 if self.cards.synthesize else self.cards.buffers.nbytes)
        self.found["memory"] |= {
            "page-locked": pinned,
            "plan": {key: facts[key] for key in ("streamed", "shared_tables", "slots")},
        }
        say(f"device memory: predicted {facts['predicted']}, taken {most}: {most / facts['predicted']:.4f}")
        say(f"host memory: peak {host / (1 << 30):.2f} GiB resident, {pinned / (1 << 30):.2f} GiB page-locked, in it")
        if abs(most / facts["predicted"] - 1) > MEMORY_ERROR:
            self.miss(f"device memory: predicted {facts['predicted']}, taken {most}")
        if host > HOST_BYTES:
            self.miss(f"host memory: {host} bytes")

    def exact(self) -> None:
        """The bytes of some proofs from the toxic waste and the assignment alone."""
        from cuzk.field.limbs import fr_ints, from_limbs
        from cuzk.formats import randomness
        from cuzk.groth16.proof import PROOF_BYTES
        from cuzk.parameters.development import choose_waste
        from scripts import known_waste

        shape, waste = self.job.shape, choose_waste(self.job.shape).secret
        with self.timed("Lagrange polynomials at tau, for the check"):
            weights = known_waste.weights_at(shape, waste.tau)
        pairs = randomness.read(self.randomness, self.job.partitions)
        for at, k in enumerate(self.job.partitions[:: max(1, len(self.job.partitions) - 1)][: self.options.exact]):
            if at and self.late(f"exact bytes of partition {k}"):
                return
            with self.timed(f"exact bytes of partition {k}"):
                witness, rows = self.assignment(k)
                values = [known_waste.dot(x[: shape.groth16_rows], weights) for x in rows]
                inputs = fr_ints(witness.inputs_mont)
                if inputs[1:] != self.job.public_inputs(k):
                    fail(f"the inputs of partition {k} are not the public ones")
                logs = known_waste.logarithms(waste, (values[0], values[1], values[2]), from_limbs(self.ic), inputs, *pairs[k])
                want = known_waste.proof_bytes(logs)
            place = self.job.partitions.index(k) * PROOF_BYTES
            if self.proof[place : place + PROOF_BYTES] != want:
                fail(f"the proof of partition {k} is not the one that the toxic waste gives")
            self.passed(f"partition {k}: every byte as computed from the toxic waste in plain integers")

    def assignment(self, k: int) -> tuple[Any, tuple[Any, ...]]:
        """Witness and A·z, B·z, C·z of a partition, by the CPU."""
        from cuzk.circuits import synthesis
        from cuzk.r1cs import evaluation
        from cuzk.timing import Timer

        job = self.job
        if job.given is not None:
            return job.given, evaluation.evaluate(job.shape, job.given)
        assert job.hints is not None
        made = synthesis.synthesize(job.shape, *job.hints(k), self.ready.settings, Timer(), None, synthesis.buffers(job.shape))
        return made.witness, (made.a, made.b, made.c)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="32GiB")
    parser.add_argument("--partition", type=int, help="this one alone")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--exact", type=int, default=2, help="partitions whose bytes are computed from the waste")
    parser.add_argument("--budget", type=float, default=420.0, help="seconds after which further runs are left out")
    parser.add_argument("--device-memory")
    parser.add_argument("--opt", action="append", default=[], help="a switch, as fold-c=off")
    parser.add_argument("--circuit", type=Path, help="a circuit with its assignment in place of a C1")
    return parser.parse_args()


def everything(run: Checks) -> None:
    """All in turn."""
    run.prepare()
    run.open()
    try:
        run.points()
        run.prove()
        run.exact()
    finally:
        run.ready.free()


def main() -> None:
    """Run everything; the JSON is written also when a check fails."""
    options = arguments()
    with own_folder() as folder:
        run = Checks(options, folder)
        run.found["cpus"] = os.cpu_count()
        with recorded(run.found, options.out):
            everything(run)


if __name__ == "__main__":
    main()
