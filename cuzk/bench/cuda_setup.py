"""Development parameters made on a card by whole warm processes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from cuzk import config
from cuzk.bench import known, measure, msm, process, setup
from cuzk.bench.measure import Request
from cuzk.circuits.template import Shape
from cuzk.field.limbs import FR_LIMBS, fp_ints
from cuzk.formats import shapes, srs
from cuzk.groth16.crs import VECTORS
from cuzk.groth16.logarithms import Logarithms, ToxicWaste, development_waste
from cuzk.msm import pippenger
from cuzk.msm.rows import rows_from_be
from cuzk.seal import sector

KERNELS = ("digits_cuda", "tree_cuda", "msm_cuda", "points_cuda")
SUMS = "random sums of all points of each vector by the CPU, (Σ k_i s_i) G by cuzk.spec.curve for the logarithms k_i"
CHUNK = 1 << 20


def sums_hold(shape: Shape, waste: ToxicWaste, path: Path, every: int = 1) -> bool:
    """Whether the points of a file are the multiples of their generators that the waste makes them: by random sums on the CPU.

    `every`: of the pieces of `CHUNK` points only each so many is looked at.
    """
    of = Logarithms(shape, waste)
    file = srs.ParamsFile(path, of.lengths, shape.name)
    for name, curve in VECTORS:
        points = file.vector_be(name)
        for first in range(0, len(points), every * CHUNK):
            piece = points[first : first + CHUNK]
            factors = measure.random_words((len(piece), FR_LIMBS), first)
            found = pippenger.msm(rows_from_be(curve, piece), factors)
            if fp_ints(found.reshape(-1, 6)) != msm.expected(curve, of.scalars(name, first, len(piece)), factors):
                return False
    return True


def _check(size: int, answer: dict[str, Any], folder: Path, label: str, request: Request) -> dict[str, Any]:
    name = sector.parse(size).name
    shown = setup._check(size, name, answer, folder, label)
    if size == known.SECTOR_SIZE:
        return shown
    shape = shapes.load_or_record(size, request.progress)
    holds = sums_hold(shape, development_waste(name), folder / answer["params"]["file"])
    return shown | measure.result(b"", f"{setup.SPEC}; {SUMS}", holds, label) | {"sha256": shown["sha256"]}


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on the first of the request's cards, with the time of each phase and the memory of the host."""
    rows, device = [], f"cuda:{request.cards[0].ordinal}"
    for size in request.sizes or (known.SECTOR_SIZE,):
        label = f"setup {sector.parse(size).name}"
        request.progress.line(f"{label}, {device}: {request.runs} processes")
        with tempfile.TemporaryDirectory(prefix="cuzk-bench-") as folder:
            arguments = ["setup", str(size), "-o", folder, "--device", device]
            runs = process.warm_runs(arguments, config.cpu_path(), request.runs, first=False)
            shown = _check(size, runs[-1].answer, Path(folder), label, request)
        phases = {name: round(median(r.answer["phases"][name] for r in runs), 6) for name in runs[0].answer["phases"]}
        row = measure.row(label, process.times(runs), config.thread_count(), result=shown)
        rows.append(row | {"path": device, "phases": phases, "peak_memory": max(r.peak_memory for r in runs)})
    return rows
