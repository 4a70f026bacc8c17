"""Proofs on cards as whole warm processes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from cuzk import config
from cuzk.bench import measure, process, prove
from cuzk.bench.known import SECTOR_SIZE
from cuzk.bench.measure import Request
from cuzk.formats import c1, c1_resolve
from cuzk.parameters import development, policy
from cuzk.seal import sector

# Synthesis, transforms, sums, and what a proof takes between them.
KERNELS = (
    *("program_cuda", "rows_cuda", "queries_cuda", "ntt_cuda", "ntt_radix8_cuda"),
    *("digits_cuda", "sort_cuda", "tree_cuda", "msm_cuda", "points_cuda", "vector_cuda"),
)

OWN_CHECK = "the same bytes in every process, and each process's own check by pairing on the CPU"


def run(request: Request) -> list[dict[str, Any]]:
    """Each size on the request's cards: whole processes, the time before their first work, device time by phase, memory."""
    rows = []
    for size in request.sizes or (SECTOR_SIZE,):
        with tempfile.TemporaryDirectory(prefix="cuzk-bench-") as name:
            rows += _rows(request, size, Path(name))
    return rows


def _rows(request: Request, size: int, folder: Path) -> list[dict[str, Any]]:
    input_file = prove._input_file(size, folder)
    replica = c1_resolve.resolve(c1.load(input_file))
    inputs = [replica.public_inputs(k) for k in range(replica.partitions)]
    numbers, out, name = folder / "randomness.json", folder / "proof.bin", f"prove {sector.parse(size).name}"
    numbers.write_text(json.dumps({"randomness": prove._randomness(size, replica.partitions)}))
    arguments = [*prove._arguments(input_file, out, numbers, request.opts), "--device", request.device]
    request.progress.line(f"{name}, {request.device}: {request.runs} processes and one before them")
    runs = process.warm_runs(arguments, config.cpu_path(), request.runs, first=True)
    data = out.read_bytes()
    same = all(r.answer["proof"] == data.hex() and r.answer["verified"] for r in runs)
    if size < development.LARGE:
        key, _ = policy.verifying_key(size, "dev", request.progress)
        shown = prove._check(size, data if same else b"", key, inputs, name)
    else:  # parameters that no file has
        shown = measure.result(data, OWN_CHECK, same, name)
    whole, start = prove._rows(name, request.device, runs, shown)
    phases = runs[0].answer["device_phases"]
    whole["device_phases"] = {phase: round(median(r.answer["device_phases"][phase] for r in runs), 6) for phase in phases}
    whole["cards"] = runs[-1].answer["cards"]
    whole["retries"] = sum(r.answer["retries"] for r in runs)
    return [whole, start]
