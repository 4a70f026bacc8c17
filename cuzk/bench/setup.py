"""Development parameters made by whole warm processes."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

from cuzk import config
from cuzk.bench import known, measure, process, sampled_points
from cuzk.bench.measure import Request
from cuzk.bench.process import Run
from cuzk.errors import InternalError
from cuzk.formats import shapes
from cuzk.groth16.setup import development_waste
from cuzk.noise import Watch
from cuzk.seal import sector

RUST = "SHA-256 of the files that the Rust stack makes from the same secrets; every run the same"
SPEC = f"{sampled_points.SPEC}; {sampled_points.SUMS}; every run the same digests"
PARTS = ("params", "vk")


def _digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check(size: int, runs: list[Run], folder: Path, label: str, request: Request) -> dict[str, Any]:
    """The digests of what the last of some runs left, if all runs say that they left the same, and if that is right.

    Raises  InternalError if it is not
    """
    said = [[run.answer[part]["sha256"] for part in PARTS] for run in runs]
    digests = [_digest(folder / runs[-1].answer[part]["file"]) for part in PARTS]
    if any(found != digests for found in said):
        raise InternalError(f"{label}: a run left other files than the last one", expected=digests, got=said, phase="bench")
    data = "".join(digests).encode()
    if size == known.SECTOR_SIZE:
        return measure.result(data, RUST, digests == [known.digests()[f"{part}_sha256"] for part in PARTS], label)
    shape, waste = shapes.load_or_record(size, request.progress), development_waste(sector.parse(size).name)
    key, path = (folder / runs[-1].answer["vk"]["file"]).read_bytes(), folder / runs[-1].answer["params"]["file"]
    with path.open("rb") as file:
        same_key = file.read(len(key)) == key
    return measure.result(data, SPEC, same_key and sampled_points.sums_hold(shape, waste, path), label)


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on each path that this machine has."""
    rows = []
    for size in request.sizes or (known.SECTOR_SIZE,):
        its = sector.parse(size)
        label = f"setup {its.name}"
        for threads in request.threads or (config.thread_count(),):
            for path in process.paths():
                request.progress.line(f"{label}, {path}, {threads} thread(s): {request.runs} processes")
                folder = Path(tempfile.mkdtemp(prefix="cuzk-bench-"))
                try:
                    watch = Watch(with_children=True)
                    with measure.on_cpus(threads):
                        runs = process.warm_runs(["setup", str(size), "-o", str(folder)], path, request.runs, first=False)
                    noise = measure.noise_of(watch)
                    request.progress.line(f"{label}, {path}: looking at what the last one left")
                    shown = check(size, runs, folder, label, request)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
                row = measure.row(label, process.times(runs, noise), threads, result=shown)
                rows.append(row | {"path": path, "peak_memory": max(r.peak_memory for r in runs)})
    return rows
