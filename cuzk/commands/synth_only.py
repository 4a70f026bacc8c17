"""`cuzk synth-only`: circuit synthesis alone, C1 to witness and A·z, B·z, C·z."""

from __future__ import annotations

import time
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any

from cuzk.circuits import witness as witnesses
from cuzk.circuits.hints import hints
from cuzk.errors import InternalError, UsageError
from cuzk.formats import c1, shapes
from cuzk.progress import Progress
from cuzk.r1cs import evaluation
from cuzk.r1cs.expansion import digests
from cuzk.timing import Timer

EXAMPLE = "c1-2kib.json"


def parse_partitions(text: str, count: int) -> list[int]:
    """`all`, or partition numbers between commas. Raises UsageError."""
    if text.strip().lower() == "all":
        return list(range(count))
    try:
        chosen = [int(word) for word in text.split(",")]
    except ValueError:
        chosen = [-1]
    if not chosen or any(not 0 <= k < count for k in chosen):
        raise UsageError("no such partition", where="--partition", expected=f"0 to {count - 1}, or all", got=text[:80])
    return chosen


def run(
    c1_file: Path | None, partition: str, digest: bool, check: bool, timings: Path | None, trace: Path | None, as_json: bool
) -> dict[str, Any]:
    """Synthesize the chosen partitions one after the other; facts of each, timed from the C1 in memory to A·z, B·z, C·z."""
    timer, progress = Timer(), Progress(quiet=as_json)
    progress.announce_compilation()
    with timer.phase("read_c1"):
        content = c1.load(c1_file or Path(str(resources.files("cuzk") / "data" / EXAMPLE)))
    with timer.phase("record_shape"):
        shape = shapes.load_or_record(content.sector.size, progress)
    results = []
    for k in parse_partitions(partition, content.vanilla.partitions):
        timer.partition = k
        facts: dict[str, Any] = {"partition": k, "inputs": shape.num_inputs, "aux": shape.num_aux, "rows": shape.num_rows}
        began = time.perf_counter()
        with timer.phase("witness"):
            values = witnesses.fill(shape, *hints(content, k))
        with timer.phase("eval_abc"):
            a, b, c = evaluation.evaluate(shape, values)
        seconds = time.perf_counter() - began
        if check or digest:
            with timer.phase("check"):
                false_row = evaluation.first_false_row(shape, a, b, c)
            if check and false_row is not None:
                raise InternalError("a row does not hold", where=str(false_row), partition=k, phase="check")
        if digest:
            with timer.phase("digest"):
                facts |= digests(shape, values, a, b, c)
        times = [seconds]
        facts["seconds"] = {"median": median(times), "min": min(times), "max": max(times), "n": len(times)}
        facts["rows_per_second"] = round(shape.num_rows / median(times))
        facts["checked"] = bool(check)
        results.append(facts)
    timer.stop()
    summary = {"sector_size": content.sector.size, "source": str(c1_file or f"packaged {EXAMPLE}")}
    if timings:
        timer.write_json(timings, summary)
    if trace:
        timer.write_trace(trace, summary)
    return {**summary, "partitions": results, "phases": timer.totals()}


def text(result: dict[str, Any]) -> str:
    """The result for people."""
    lines = [f"{result['source']}, sector size {result['sector_size']}"]
    for p in result["partitions"]:
        seconds = p["seconds"]["median"]
        lines.append(f"partition {p['partition']}: {p['rows']:,} rows in {seconds:.3f} s, {p['rows_per_second']:,} rows/s")
        if p["checked"]:
            lines.append("  every row holds")
        lines += [f"  {key:<16} {value}" for key, value in p.items() if key.endswith("blake2s")]
    return "\n".join(lines)
