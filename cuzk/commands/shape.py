"""`cuzk shape`: the facts of a circuit, and its digest on request."""

from __future__ import annotations

from typing import Any

from cuzk.formats import shapes
from cuzk.progress import Progress
from cuzk.r1cs import digest


def run(sector_size: int, with_digest: bool) -> dict[str, Any]:
    """Keys as in the Rust stack's digest files, and `groth16_rows`, `domain_log2`; all digests only if asked for."""
    progress = Progress()
    progress.announce_compilation()
    shape = shapes.load_or_record(sector_size, progress)
    if with_digest:
        with progress.bar(f"digest of {shape.num_rows:,} rows", shape.num_rows, "rows"):
            facts = digest.digest(shape, progress.advance)
    else:
        facts = digest.counts(shape)
    return {**facts, "groth16_rows": shape.groth16_rows, "domain_log2": shape.domain_log2}


def text(result: dict[str, Any]) -> str:
    """The result for people."""
    return "\n".join(f"{key:<24} {value}" for key, value in result.items() if key != "checkpoints")
