"""Development parameters made on a card by whole warm processes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from cuzk import config
from cuzk.bench import known, measure, process, setup
from cuzk.bench.measure import Request
from cuzk.noise import Watch
from cuzk.seal import sector

KERNELS = ("digits_cuda", "tree_cuda", "msm_cuda", "points_cuda")


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on the first of the request's cards, with the time of each phase and the memory of the host."""
    rows, device = [], f"cuda:{request.cards[0].ordinal}"
    for size in request.sizes or (known.SECTOR_SIZE,):
        label = f"setup {sector.parse(size).name}"
        request.progress.line(f"{label}, {device}: {request.runs} processes")
        with tempfile.TemporaryDirectory(prefix="cuzk-bench-") as folder:
            arguments = ["setup", str(size), "-o", folder, "--device", device]
            watch = Watch(with_children=True)
            runs = process.warm_runs(arguments, config.cpu_path(), request.runs, first=False)
            noise = measure.noise_of(watch)
            request.progress.line(f"{label}, {device}: looking at what the last one left")
            shown = setup.check(size, runs, Path(folder), label, request)
        phases = {name: round(median(r.answer["phases"][name] for r in runs), 6) for name in runs[0].answer["phases"]}
        row = measure.row(label, process.times(runs, noise), config.thread_count(), result=shown)
        rows.append(row | {"path": device, "phases": phases, "peak_memory": max(r.peak_memory for r in runs)})
    return rows
