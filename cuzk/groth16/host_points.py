"""Points that stay in host memory: page-locked, as a card's kernels read them, copied there once and shared by all cards."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuzk.errors import ResourceError
from cuzk.field.limbs import U64
from cuzk.groth16.crs import GROUP
from cuzk.groth16.needs_cuda import Load
from cuzk.msm.rows import point_limbs

BLOCK = 1 << 22  # points made at a time, at most


class HostPoints:
    """Vectors of points by name. Shape: uint64[n, 12] (G1), uint64[n, 24] (G2); Montgomery, coordinates below 2 p, file order."""

    def __init__(self, limit: int | None = None) -> None:
        """At most `limit` bytes of host memory; None: as much as there is."""
        self.limit = limit
        self._held: dict[str, U64] = {}

    def check(self, need: int) -> None:
        """Raise ResourceError if `need` bytes in all are more than there may be."""
        if self.limit is not None and need > self.limit:
            raise ResourceError(
                "not enough host memory for points that do not fit on the card",
                where="--memory-budget, or available memory",
                expected=f"at least {need} bytes ({need / (1 << 30):.1f} GiB) beside what else the run needs",
                got=f"{self.limit} bytes",
                hint="free memory, raise --memory-budget or --device-memory, or take a larger card",
            )

    def vector(self, card: Any, name: str, count: int, load: Load, room: int) -> U64:
        """All points of a vector, made on a card block by block when first asked for, with `room` bytes of device memory."""
        if name not in self._held:
            width = point_limbs(GROUP[name])
            block = min(BLOCK, max(1, room // (16 * width)))
            out = card.pinned((count, width), np.uint64)
            for first in range(0, count, block):
                points = load(card, name, first, min(block, count - first))
                with points.buffer:
                    card.read_at(points.address, out[first : first + points.count])
            self._held[name] = out
        return self._held[name]

    def free(self) -> None:
        """Give the memory back, once nobody streams from it."""
        self._held.clear()
