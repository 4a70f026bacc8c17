"""The trusted setup on the CPU: from a constraint system and its toxic waste to every point of the common reference string.

The points are the multiples of the standard generators by `logarithms`. Whoever knows the waste can prove anything: these
parameters are for tests.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from cuzk.circuits.template import Shape
from cuzk.curve import g1, g2
from cuzk.field.limbs import FR_LIMBS, U8, U64, to_limbs
from cuzk.groth16.crs import COUNT_BYTES, POINT_BYTES
from cuzk.groth16.logarithms import (
    SCALARS,
    Logarithms,
    ToxicWaste,
    development_tag,
    development_waste,
    lengths,
    memory_need,
    random_waste,
)
from cuzk.msm.fixed_base import FixedBase
from cuzk.timing import Timer

__all__ = [
    "SCALARS",
    "Setup",
    "ToxicWaste",
    "development_tag",
    "development_waste",
    "lengths",
    "memory_need",
    "random_waste",
    "vk_be",
]

BLOCK_POINTS = 1 << 18  # points that are in memory at a time
GENERATORS = {"g1": g1.GENERATOR, "g2": g2.GENERATOR}


class Setup:
    """A reference string whose points are made block by block."""

    def __init__(self, shape: Shape, waste: ToxicWaste, timer: Timer | None = None) -> None:
        """As `Logarithms`."""
        timer = timer or Timer()
        self.logarithms = Logarithms(shape, waste, timer)
        self.lengths = self.logarithms.lengths
        in_g1 = self.lengths.points - self.lengths.b
        with timer.phase("prepare"):
            self._bases = bases(in_g1, self.lengths.b)

    def blocks(self, name: str) -> Generator[U8]:
        """The points of h, l, a, b_g1, b_g2 in order, big-endian and uncompressed, uint8[n, 96 or 192]."""
        total = self.lengths.vector(name)
        for first in range(0, total, BLOCK_POINTS):
            scalars = self.logarithms.scalars(name, first, min(BLOCK_POINTS, total - first))
            yield multiples_be(self._bases, "g2" if name == "b_g2" else "g1", scalars)

    def vk_be(self) -> bytes:
        """The verifying key as a file."""
        return vk_be(self.logarithms, self._bases)


def bases(in_g1: int, in_g2: int) -> dict[str, FixedBase]:
    """Tables of both generators for about so many multiples."""
    return {group: FixedBase(group, GENERATORS[group], n) for group, n in (("g1", in_g1), ("g2", in_g2))}


def multiples_be(tables: dict[str, FixedBase], group: str, scalars_canon: U64) -> U8:
    """Multiples of a generator, uncompressed and big-endian, uint8[n, 96 or 192]."""
    out = np.empty((len(scalars_canon), POINT_BYTES[group]), np.uint8)
    tables[group].multiples_be(scalars_canon, out)
    return out


def vk_be(of: Logarithms, tables: dict[str, FixedBase] | None = None) -> bytes:
    """The verifying key of a reference string as a file, without its other points."""
    tables = tables or bases(of.lengths.ic + 3, 3)
    w = of.waste
    fixed = (("g1", w.alpha), ("g1", w.beta), ("g2", w.beta), ("g2", w.gamma), ("g1", w.delta), ("g2", w.delta))
    head = b"".join(multiples_be(tables, group, to_limbs([scalar], FR_LIMBS)).tobytes() for group, scalar in fixed)
    ic = multiples_be(tables, "g1", of.scalars("ic", 0, of.lengths.ic)).tobytes()
    return head + of.lengths.ic.to_bytes(COUNT_BYTES, "big") + ic
