"""Synthesis on a card against the CPU and the Rust stack's digests, in one run, written as JSON: values, times, bytes copied.

Usage: python scripts/device_check_synth.py OUT.json [--cases 2kib-v1_1,…,fixture:32GiB] [--times 10] [--budget SECONDS]

A case is a folder of tests/vectors/c1, `fixture:SIZE` (a C1 made up here), `file:PATH` or, for the simulator, `toy:SEED`. Of each
every partition (of a large case the first and the last) is synthesized by the CPU and, as often as wanted, on the card into
memory that holds something else before; all values are compared. Times are the card's own, of whole steps and of each launch.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from scripts.device_report import START, fail, own_folder, recorded, say

ROOT = Path(__file__).parent.parent
VECTORS = ROOT / "tests" / "vectors"
CASES = "2kib-v1_1,2kib-synthetic,2kib-non-interactive,8mib-v1_1,fixture:32GiB"
LARGE = 1 << 24  # rows from which only the first and the last partition are looked at
DIGESTS = ("aux_blake2s", "inputs_blake2s", "az_blake2s", "bz_blake2s", "cz_blake2s")


class Case:
    """A shape, and the hints of its partitions."""

    def __init__(self, name: str, folder: Path) -> None:
        from cuzk.circuits import porep
        from cuzk.circuits.hints import hints
        from cuzk.circuits.params import parse_size
        from cuzk.fixture import fabricate
        from cuzk.formats import c1
        from cuzk.seal import sector

        kind, _, what = name.rpartition(":")
        self.name, self.digests = name, None
        if kind == "toy":
            self._toy(int(what))
            return
        begun = time.perf_counter()
        if kind == "fixture":
            content: Any = fabricate.fabricate(sector.BY_SIZE[parse_size(what)])
        else:
            folder = VECTORS / "c1" / what
            forms = [folder / "c1.bincode", folder / "c1.json"]
            content = c1.load(Path(what) if kind == "file" else next(f for f in forms if f.exists()))
            known = VECTORS / "witness" / f"{what}.json"
            if not kind and known.exists():
                self.digests = json.loads(known.read_text())["partitions"]
        self.shape = porep.record(content.vanilla.sector.size)
        count = len(content.vanilla.comm_d_proofs.leaf)
        self.partitions = [0, count - 1] if self.shape.num_rows > LARGE else list(range(count))
        self.hints = lambda k: hints(content, k)
        say(f"{name}: C1 and shape in {time.perf_counter() - begun:.1f} s, {count} partition(s), {self.shape.num_rows} rows")

    def _toy(self, seed: int) -> None:
        from tests.circuits.naive import random_shape
        from tests.conftest import Draw
        from tests.cuda.synthesis import random_hints

        self.shape, self.partitions = random_shape(seed), [0]
        drawn = random_hints(self.shape, Draw(seed))
        self.hints = lambda _: drawn


class Place:
    """Where a partition goes on the card."""

    def __init__(self, card: Any, shape: Any) -> None:
        self.bits = card.buffer(4 * -(-shape.num_bits // 32))
        self.values = card.buffer(32 * (shape.num_inputs + shape.num_elems))
        self.rows = [card.buffer(32 << shape.domain_log2) for _ in range(3)]

    def buffers(self) -> list[Any]:
        """All of them."""
        return [self.bits, self.values, *self.rows]


class Launches:
    """Takes the place of `launch`: device time of every launch, by kernel and grid."""

    def __init__(self) -> None:
        from cuzk.kernels import launch as real

        self._launch, self.on, self._marks = real.launch, False, []

    def __call__(self, card: Any, kernel: Any, blocks: Any, stream: Any, *arguments: int) -> None:
        begun = card.event().record(stream) if self.on else None
        self._launch(card, kernel, blocks, stream, *arguments)
        if begun is not None:
            self._marks.append((f"{kernel.name} {blocks}", begun, card.event().record(stream)))

    def taken(self) -> list[dict[str, Any]]:
        """What ran since the last call; waits for it."""
        found = [{"launch": name, "ms": round(end.milliseconds_since(begun), 4)} for name, begun, end in self._marks]
        self._marks = []
        return found


class Checks:
    """The run: one card, what is found."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        from cuzk import device
        from cuzk.circuits import synthesis_cuda

        self.options, self.folder, self.card = options, folder, device.card(0)
        self.found: dict[str, Any] = {"checks": [], "cases": {}, "left_out": []}
        self.launches = synthesis_cuda.launch = Launches()  # type: ignore[assignment]

    def passed(self, what: str, times: int) -> None:
        """Note a check that holds."""
        self.found["checks"].append({"what": what, "times": times})
        say(f"ok: {what}, {times} times")

    def compile(self) -> None:
        """The kernels that are used, side by side."""
        from cuzk import config
        from cuzk.kernels import program_cuda, queries_cuda, rows_cuda

        if config.cuda_simulated():
            return
        kernels = [program_cuda.run_chains, rows_cuda.pattern_rows, rows_cuda.general_rows, queries_cuda.find_difference]
        begun = time.perf_counter()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda kernel: kernel.compiled(self.card.capability), kernels))
        self.found["kernels"] = {k.name: self.card.resources(k) for k in kernels}
        self.found["compile_s"] = round(time.perf_counter() - begun, 2)
        say(f"compiled in {self.found['compile_s']} s: {self.found['kernels']}")

    def case(self, name: str) -> None:
        """All of one case."""
        from cuzk.circuits.synthesis_cuda import Synthesizer, Tables
        from cuzk.r1cs.levelling import level

        case = Case(name, self.folder)
        begun = time.perf_counter()
        levelled = level(case.shape)
        if levelled is None:
            fail(f"{name}: a segment is too large for a card")
            return
        tables = Tables(case.shape, levelled)
        facts: dict[str, Any] = {"rows": case.shape.num_rows, "tables_s": round(time.perf_counter() - begun, 2)}
        facts |= {"tables_bytes": tables.nbytes, "phases": [levelled.prologue.phases, levelled.repeated.phases]}
        self.found["cases"][name] = facts
        place, before = Place(self.card, case.shape), self.card.free_memory()
        synthesizer = Synthesizer(self.card, tables)
        facts["taken_bytes"] = before - self.card.free_memory()
        try:
            for k in case.partitions:
                facts[f"partition {k}"] = self.partition(case, k, synthesizer, place)
        finally:
            synthesizer.free()
            for buffer in place.buffers():
                buffer.free()

    def partition(self, case: Case, k: int, synthesizer: Any, place: Place) -> dict[str, Any]:
        """One partition: by the CPU, then on the card again and again."""
        from cuzk.circuits import synthesis
        from cuzk.timing import Timer
        from cuzk.variants import Settings

        hints, begun = case.hints(k), time.perf_counter()
        wanted = synthesis.synthesize(case.shape, *hints, Settings(), Timer())
        facts: dict[str, Any] = {"cpu_s": round(time.perf_counter() - begun, 3), "runs": []}
        say(f"{case.name}, partition {k}: CPU {facts['cpu_s']} s")
        large = case.shape.num_rows > LARGE
        times = self.options.times if large or k == case.partitions[0] else 1
        with self._on_card(case, wanted) as reference:
            for i in range(times):
                for buffer in place.buffers():
                    buffer.fill(0xFF - i)
                facts["runs"].append(self._run(case, hints, synthesizer, place))
                self._compare(f"{case.name}, partition {k}, run {i}", case, wanted, reference, place)
        if case.digests is not None:
            self._compare_digests(case, k, place)
        for key in ("witness_ms", "rows_ms", "queued_ms"):
            values = [run[key] for run in facts["runs"]]
            facts[key] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
        self.launches.on = True
        self._run(case, hints, synthesizer, place)
        self.launches.on, facts["launches"] = False, self.launches.taken()
        self._compare(f"{case.name}, partition {k}, timed by launch", case, wanted, None, place)
        say(f"{case.name}, partition {k}: witness {facts['witness_ms']}, rows {facts['rows_ms']}, queued {facts['queued_ms']} ms")
        for row in facts["launches"]:
            say(f"  {row['ms']:9.3f} ms  {row['launch']}")
        self.passed(f"{case.name}, partition {k}: every value as the CPU's", times)
        return facts

    def _run(self, case: Case, hints: Any, synthesizer: Any, place: Place) -> dict[str, Any]:
        """One synthesis: milliseconds of its steps, bytes that crossed the bus."""
        card, stream = self.card, self.card.stream()
        before, begun = (card.bytes_in, card.bytes_out), time.perf_counter()
        marks = [card.event().record(stream)]
        synthesizer.witness(*hints, place, stream)
        marks.append(card.event().record(stream))
        synthesizer.rows(place, stream)
        marks.append(card.event().record(stream))
        queued = time.perf_counter() - begun
        stream.synchronize()
        run = {"witness_ms": marks[1].milliseconds_since(marks[0]), "rows_ms": marks[2].milliseconds_since(marks[1])}
        run |= {"queued_ms": 1000 * queued, "whole_ms": 1000 * (time.perf_counter() - begun)}
        run = {key: round(value, 3) for key, value in run.items()}
        return run | {"bytes_in": card.bytes_in - before[0], "bytes_out": card.bytes_out - before[1]}

    def _on_card(self, case: Case, wanted: Any) -> Any:
        import contextlib

        @contextlib.contextmanager
        def held() -> Iterator[list[Any]]:
            buffers = [self.card.upload(x) for x in (wanted.a, wanted.b, wanted.c)]
            try:
                yield buffers
            finally:
                for buffer in buffers:
                    buffer.free()

        return held()

    def _compare(self, what: str, case: Case, wanted: Any, reference: list[Any] | None, place: Place) -> None:
        """Every value; rows on the card, where the CPU's are there."""
        import numpy as np

        from cuzk.circuits.synthesis_cuda import packed_bits
        from cuzk.kernels import queries_cuda
        from cuzk.kernels.launch import launch_over

        bits, w = packed_bits(wanted.witness.bits), wanted.witness
        if not np.array_equal(place.bits.read(bits.shape, np.uint32), bits):
            got = np.unpackbits(place.bits.read(bits.nbytes, np.uint8), bitorder="little")[: case.shape.num_bits]
            bad = np.flatnonzero(got != w.bits)
            fail(f"{what}: {len(bad)} bits differ, first {int(bad[0])}")
        values = np.concatenate([w.inputs_mont, w.elems_mont])
        got = place.values.read(values.shape, np.uint64)
        if not np.array_equal(got, values):
            bad = np.flatnonzero((got != values).any(axis=1))
            fail(f"{what}: {len(bad)} elements differ, first {int(bad[0])} of {case.shape.num_inputs} inputs and then elements")
        n, size = case.shape.groth16_rows, 1 << case.shape.domain_log2
        for name, of, held in zip("abc", place.rows, reference or [], strict=False):
            with self.card.upload(np.zeros(1, np.uint32)) as out:
                launch_over(self.card, queries_cuda.find_difference, n, None, of.address, held.address, n, out.address)
                self.card.synchronize()
                found = int(out.read(1, np.uint32)[0])
            if found:
                fail(f"{what}: {name} differs first in row {n - found} of {n}")
            rest = of.read((size - n, 4), np.uint64, 32 * n)
            if rest.any():
                fail(f"{what}: {name} is not zero behind its rows")

    def _compare_digests(self, case: Case, k: int, place: Place) -> None:
        """What is on the card against the Rust stack's digests."""
        import numpy as np

        from cuzk.circuits.template import Witness
        from cuzk.r1cs import evaluation

        shape = case.shape
        values = place.values.read((shape.num_inputs + shape.num_elems, 4), np.uint64)
        packed = place.bits.read(4 * -(-shape.num_bits // 32), np.uint8)
        bits = np.unpackbits(packed, bitorder="little")[: shape.num_bits]
        rows = [x.read((shape.groth16_rows, 4), np.uint64) for x in place.rows]
        witness = Witness(values[: shape.num_inputs], np.ascontiguousarray(bits), values[shape.num_inputs :])
        got = evaluation.digests(shape, witness, *rows)
        assert case.digests is not None
        wanted = case.digests[k]
        compared = [key for key in DIGESTS if key in wanted]
        if not compared or any(got[key] != wanted[key] for key in compared):
            fail(f"{case.name}, partition {k}: digests {got}, the Rust stack's {wanted}")
        self.passed(f"{case.name}, partition {k}: {', '.join(compared)} of the Rust stack", 1)

    def blocking(self) -> None:
        """The same in a process that waits for every launch."""
        out = self.folder / "blocking.json"
        words = [sys.executable, __file__, str(out), "--cases", self.options.blocking, "--times", "3", "--blocking", ""]
        environment = os.environ | {"CUDA_LAUNCH_BLOCKING": "1"}
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if out.exists():
            self.found["blocking"] = json.loads(out.read_text())
        if done.returncode:
            fail(f"with CUDA_LAUNCH_BLOCKING=1: {done.stdout[-1500:]} {done.stderr[-1500:]}")
        self.passed(f"with CUDA_LAUNCH_BLOCKING=1: {self.options.blocking}", 3)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--blocking", default="2kib-v1_1,8mib-v1_1", help="cases that run with CUDA_LAUNCH_BLOCKING=1 too")
    parser.add_argument("--budget", type=float, default=200.0, help="seconds after which further cases are left out")
    return parser.parse_args()


def everything(run: Checks) -> None:
    """All checks in turn."""
    run.compile()
    for name in filter(None, run.options.cases.split(",")):
        if time.perf_counter() - START > run.options.budget:
            run.found["left_out"].append(name)
            say(f"left out: {name}")
        else:
            run.case(name)
    if run.options.blocking:
        run.blocking()


def main() -> None:
    """Run everything; the JSON is written also when a check fails."""
    options = arguments()
    with own_folder() as folder:
        found: dict[str, Any] = {}
        with recorded(found, options.out):
            run = Checks(options, folder)
            found |= run.found
            run.found = found
            everything(run)


if __name__ == "__main__":
    main()
