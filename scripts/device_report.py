"""What the checks on a card have in common: lines with a time, the end at a check that does not hold, and the JSON of the run."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

START = time.perf_counter()


def say(text: str) -> None:
    """A line with the time since the start, at once."""
    print(f"[{time.perf_counter() - START:6.1f} s] {text}", flush=True)


def fail(text: str) -> None:
    """A check that does not hold ends the run."""
    raise SystemExit(f"FAILED: {text}")


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder for the run; a cache in it, unless one is named. Before anything that has compiled code is imported."""
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("CUZK_CACHE_DIR", str(Path(name) / "cache"))
        yield Path(name)


@contextmanager
def recorded(found: dict[str, Any], out: Path) -> Iterator[None]:
    """Put the command, the commit and a digest of the sources, the machine before and after, the time and what failed into
    `found`, and write that, whatever happens. `take_measurement` finds the commit by the digest where there was no git."""
    from cuzk.bench.cuda_measure import machine
    from cuzk.bench.machine import commit, sources

    found |= {"command": " ".join(sys.argv), "commit": commit(), "sources": sources(), "passed": False}
    found |= {"launch_blocking": os.environ.get("CUDA_LAUNCH_BLOCKING", "0") == "1", "before": machine()}
    say(json.dumps(found["before"]))
    try:
        yield
        found["passed"] = True
    except BaseException as error:
        found["error"] = f"{type(error).__name__}: {error}"[:4000]
        raise
    finally:
        found |= {"after": machine(), "seconds": round(time.perf_counter() - START, 1)}
        out.write_text(json.dumps(found, indent=1) + "\n")
    misses = f", {len(found['misses'])} miss(es)" if "misses" in found else ""
    say(f"all passed{misses}; {out}")
