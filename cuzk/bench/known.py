"""What the Rust stack makes of the packaged example: digests of its synthesis, one proof, the parameters of its size."""

from __future__ import annotations

import functools
import json
from importlib import resources
from pathlib import Path
from typing import Any

SECTOR_SIZE = 2048
EXAMPLE = Path(str(resources.files("cuzk") / "data" / "c1-2kib.json"))


@functools.cache
def digests() -> dict[str, Any]:
    """The content of `data/rust-digests.json`; `source` says who made it."""
    content: dict[str, Any] = json.loads((resources.files("cuzk") / "data" / "rust-digests.json").read_bytes())
    return content
