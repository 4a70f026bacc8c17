"""Proofs as whole warm processes, the time before their first work, and the check of one proof in process."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from cuzk import config, statistics, variants
from cuzk.bench import known, measure, process
from cuzk.bench.measure import Request
from cuzk.bench.process import Run
from cuzk.errors import InternalError, UsageError
from cuzk.field.params import R
from cuzk.fixture import fabricate
from cuzk.formats import c1, c1_resolve, vk
from cuzk.groth16.keys import VerifyingKey
from cuzk.groth16.proof import PROOF_BYTES, Proof
from cuzk.groth16.verify import verify
from cuzk.noise import Watch
from cuzk.parameters import policy
from cuzk.progress import Progress
from cuzk.seal import sector
from cuzk.spec import encoding
from cuzk.spec import groth16 as spec_groth16
from cuzk.spec.engine import BLS12_381
from cuzk.spec.keys import read_verifying_key
from cuzk.statistics import summary
from cuzk.variants import DEFAULTS, Settings

RUST = "the Rust stack's proof of the same C1 with the same parameters, r and s, byte for byte"
SPEC = "the pairing equation by cuzk.spec.groth16, in plain integers"
VERDICTS = "true for a proof of the Rust stack or one that cuzk.spec accepts, false for the same with another public input"
# Not secret here: the same numbers in every run make the same proof.
_R, _S = 3, 5
SPARE_ROUNDS = 3


def _randomness(size: int, partitions: int) -> list[dict[str, Any]]:
    if size == known.SECTOR_SIZE:
        return list(known.digests()["randomness"])
    r, s = (v.to_bytes(32, "little").hex() for v in (_R, _S))
    return [{"partition": k, "r": r, "s": s} for k in range(partitions)]


def _spec_holds(key: VerifyingKey, data: bytes, inputs: list[int]) -> bool:
    """Whether a proof of 192 bytes is true, by the specification alone but for the key's form in memory."""
    its, _ = read_verifying_key(vk.encode(key))
    return spec_groth16.verify(BLS12_381, its, inputs, spec_groth16.Proof(*encoding.proof_from_bytes(data)))


def _check(size: int, data: bytes, key: VerifyingKey, inputs: list[list[int]], name: str) -> dict[str, Any]:
    if size == known.SECTOR_SIZE:
        return measure.result(data, RUST, data.hex() == known.digests()["proof"], name)
    parts = [data[i : i + PROOF_BYTES] for i in range(0, len(data), PROOF_BYTES)]
    return measure.result(data, SPEC, all(_spec_holds(key, p, x) for p, x in zip(parts, inputs, strict=True)), name)


def _rows(
    name: str, path: str, runs: list[Run], shown: dict[str, Any], noise: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """A proof time and the time before first work."""
    threads = config.thread_count()
    whole = measure.row(name, process.times(runs, noise), threads, result=shown)
    phases = {phase: [r.answer["phases"].get(phase, 0.0) for r in runs] for phase in runs[0].answer["phases"]}
    whole |= {"path": path, "peak_memory": max(r.peak_memory for r in runs)}
    whole["phases"] = {phase: round(median(times), 4) for phase, times in phases.items()}
    # The process's own clock starts at its first line; what came before and what came after it counts as start-up too.
    before = [r.seconds - r.answer["seconds"] + r.answer["phases"]["start"] for r in runs]
    start = {"name": f"{name}: before first work", "threads": threads, "path": path, "result": shown}
    seconds = summary(before).as_dict()
    start |= {"seconds": seconds, "times": before, "phase_start": whole["phases"]["start"]}
    start |= {"unsteady": measure.unsteady(seconds)} | ({} if noise is None else {"noise": noise})
    return [whole, start]


def _verification(key: VerifyingKey, data: bytes, inputs: list[int], runs: int) -> dict[str, Any]:
    """Bytes of one proof to a verdict."""

    def once(values: list[int]) -> bool:
        return verify(key, Proof.decode(data), values)

    verdicts = once(inputs), once([(inputs[0] + 1) % R, *inputs[1:]])
    shown = measure.result(bytes(verdicts), VERDICTS, verdicts == (True, False), "verify")
    said: list[bool] = []
    times = measure.times_of(
        lambda: said.append(once(inputs)), runs, said.clear, lambda: measure.same_again(said == [True], "verify one proof")
    )
    return measure.row("verify one proof", times, config.thread_count(), result=shown)


def _input_file(size: int, folder: Path) -> Path:
    """A C1 of the size: the packaged example, or one that is made up."""
    if size == known.SECTOR_SIZE:
        return known.EXAMPLE
    its = sector.parse(size)
    if not fabricate.registered_proof(its):
        raise UsageError("no registered proof has this size", where="--size", got=its.name)
    made = folder / "c1.json"
    process.cuzk(["fixture", str(size), "-o", str(made)], config.cpu_path())
    return made


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on each path that this machine has; the check of one proof on this process's path."""
    rows = []
    variants.apply(DEFAULTS, request.opts, variants.PROOF)
    for size in request.sizes or (known.SECTOR_SIZE,):
        with tempfile.TemporaryDirectory(prefix="cuzk-bench-") as name:
            folder = Path(name)
            input_file = _input_file(size, folder)
            content = c1.load(input_file)
            replica = c1_resolve.resolve(content)
            inputs = [replica.public_inputs(k) for k in range(replica.partitions)]
            numbers = folder / "randomness.json"
            numbers.write_text(json.dumps({"randomness": _randomness(size, replica.partitions)}))
            for threads in request.threads or (config.thread_count(),):
                with measure.on_cpus(threads):
                    measured = _on_paths if request.variant is None else _compared
                    rows += measured(request, size, input_file, numbers, inputs, folder)
    return rows


def _arguments(input_file: Path, out: Path, numbers: Path, opts: Iterable[str]) -> list[str]:
    switches = [word for opt in opts for word in ("--opt", opt)]
    return ["prove", str(input_file), "-o", str(out), "--params", "dev", "--unsafe-randomness", str(numbers), *switches]


def _compared(
    request: Request, size: int, input_file: Path, numbers: Path, inputs: list[list[int]], folder: Path
) -> list[dict[str, Any]]:
    """A warm process of each setting a round, in turning order; each setting against the first, by wall and by CPU time.

    Raises  InternalError if settings give different proofs
    """
    assert request.variant is not None
    base = variants.apply(DEFAULTS, request.opts, variants.PROOF)
    chosen = variants.parse_variants(request.variant, base, variants.PROOF)
    path, out = config.cpu_path(), folder / "proof.bin"
    calls = {name: _arguments(input_file, out, numbers, settings.changed()) for name, settings in chosen.items()}
    for name in chosen:
        request.progress.line(f"prove {sector.parse(size).name}, {name}: warm-up")
        process.warm_runs(calls[name], path, 1, first=True)
    runs = _rounds(calls, path, request.runs, request.progress)
    proofs = {run.answer["proof"] for each in runs.values() for run in each}
    if len(proofs) > 1:
        raise InternalError("settings give different proofs", expected=1, got=len(proofs), phase="bench")
    shown = _check(size, bytes.fromhex(proofs.pop()), policy.verifying_key(size, "dev", request.progress)[0], inputs, "prove")
    return _compared_rows(f"prove {sector.parse(size).name}", path, runs, shown, chosen)


def _rounds(calls: dict[str, list[str]], path: str, rounds: int, progress: Progress | None = None) -> dict[str, list[Run]]:
    """`rounds` rounds in turning order. A round in which something was compiled or made anew is left out.

    Raises  InternalError if processes stay cold
    """
    names = list(calls)
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for order in statistics.orders(len(names), rounds + SPARE_ROUNDS):
        once = {names[i]: process.cuzk(calls[names[i]], path) for i in order}
        if progress is not None:
            done = len(runs[names[0]]) + 1
            seconds = ", ".join(f"{name} {once[name].seconds:.2f} s" for name in names)
            cold = "" if all(run.warm for run in once.values()) else "; left out: a process was cold"
            progress.line(f"round {done} of {rounds}: {seconds}{cold}")
        if all(run.warm for run in once.values()):
            for name, run in once.items():
                runs[name].append(run)
        if len(runs[names[0]]) == rounds:
            return runs
    raise InternalError("cuzk prove adds to the cache at every run", where=str(config.cache_dir()), phase="bench")


def _compared_rows(
    name: str, path: str, runs: dict[str, list[Run]], shown: dict[str, Any], chosen: dict[str, Settings]
) -> list[dict[str, Any]]:
    first, *_ = runs
    same = variants.equals(chosen)
    times = {setting: process.times(each) for setting, each in runs.items()}
    rows = []
    for setting, each in runs.items():
        row = _rows(f"{name}, {setting}", path, each, shown)[0]
        row |= {"setting": setting, "settings": chosen[setting].as_dict(), "changed": chosen[setting].words()}
        if setting in same:
            row |= {"equal_to": same[setting], "equal_words": variants.equal_words(setting, same[setting])}
        if setting != first:
            wall, cpu = (
                statistics.compare(setting, mine, first, its)
                for mine, its in zip(times[setting][:2], times[first][:2], strict=True)
            )
            row |= {"verdict": wall.verdict, "words": wall.words, "difference": wall.as_dict()}
            row |= {"cpu_verdict": cpu.verdict, "cpu_words": f"CPU time of {cpu.words}", "cpu_difference": cpu.as_dict()}
        rows.append(row)
    return rows


def _on_paths(
    request: Request, size: int, input_file: Path, numbers: Path, inputs: list[list[int]], folder: Path
) -> list[dict[str, Any]]:
    rows, name, out = [], f"prove {sector.parse(size).name}", folder / "proof.bin"
    arguments = _arguments(input_file, out, numbers, request.opts)
    data, key = b"", None
    for path in process.paths():
        request.progress.line(f"{name}, {path}: {request.runs} processes and one before them")
        watch = Watch(with_children=True)
        runs = process.warm_runs(arguments, path, request.runs, first=True)
        noise = measure.noise_of(watch)
        data = out.read_bytes()
        key, _ = policy.verifying_key(size, "dev", request.progress)
        same = all(r.answer["proof"] == data.hex() and r.answer["verified"] for r in runs)
        shown = _check(size, data if same else b"", key, inputs, name)
        rows += _rows(name, path, runs, shown, noise)
    assert key is not None
    return [*rows, _verification(key, data[:PROOF_BYTES], inputs[0], 4 * request.runs)]
