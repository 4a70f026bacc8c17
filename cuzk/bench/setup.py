"""Development parameters made by whole warm processes."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from cuzk import config
from cuzk.bench import known, measure, process
from cuzk.bench.measure import Request
from cuzk.groth16.setup import development_waste
from cuzk.seal import sector
from cuzk.spec import curve as spec
from cuzk.spec import encoding

RUST = "SHA-256 of the files that the Rust stack makes from the same secrets"
SPEC = "alpha G1, beta G1 and beta G2 in the verifying key by cuzk.spec.curve"


def _spec_holds(vk: bytes, name: str) -> bool:
    """Whether a verifying key begins with alpha G1, beta G1, beta G2 of the public secrets."""
    waste = development_waste(name)
    points = [(spec.G1, waste.alpha), (spec.G1, waste.beta), (spec.G2, waste.beta)]
    head = b"".join(encoding.to_uncompressed(curve, curve.mul(curve.generator, k)) for curve, k in points)
    return vk.startswith(head)


def _check(size: int, name: str, answer: dict[str, Any], folder: Path, label: str) -> dict[str, Any]:
    digests = [answer[part]["sha256"] for part in ("params", "vk")]
    if size == known.SECTOR_SIZE:
        holds = digests == [known.digests()["params_sha256"], known.digests()["vk_sha256"]]
        return measure.result("".join(digests).encode(), RUST, holds, label)
    holds = _spec_holds((folder / answer["vk"]["file"]).read_bytes(), name)
    return measure.result("".join(digests).encode(), SPEC, holds, label)


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
                    with measure.on_cpus(threads):
                        runs = process.warm_runs(["setup", str(size), "-o", str(folder)], path, request.runs, first=False)
                    shown = _check(size, its.name, runs[-1].answer, folder, label)
                finally:
                    shutil.rmtree(folder, ignore_errors=True)
                row = measure.row(label, process.times(runs), threads, result=shown)
                rows.append(row | {"path": path, "peak_memory": max(r.peak_memory for r in runs)})
    return rows
