"""Points of G1 and G2 and their sums by arkworks, in the forms that our code takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import py_arkworks_bls12381 as arkworks

from cuzk.field.limbs import FP_LIMBS, U8, U64, fp_mont, to_limbs
from cuzk.field.params import R
from tests.conftest import Draw

CLASSES = {"g1": arkworks.G1Point, "g2": arkworks.G2Point}


def scalar(value: int) -> Any:
    """An integer modulo r as arkworks' scalar."""
    return arkworks.Scalar.from_le_bytes((value % R).to_bytes(32, "little"))


def infinity(curve: str) -> Any:
    return CLASSES[curve].identity()


def times(curve: str, value: int) -> Any:
    """value * generator."""
    return CLASSES[curve]() * scalar(value)


def random_points(curve: str, n: int, draw: Draw) -> list[Any]:
    """n points with unknown relations: a walk whose steps are random multiples of the generator."""
    steps = [times(curve, draw.random.randrange(1, R)) for _ in range(32)]
    point, out = times(curve, draw.random.randrange(1, R)), []
    for _ in range(n):
        out.append(point)
        point = point + draw.random.choice(steps)
    return out


def coordinates(point: Any) -> list[int]:
    """x, y (G2: x.c0, x.c1, y.c0, y.c1); zeros at infinity."""
    data = bytes(point.to_xy_bytes_le())
    return [int.from_bytes(data[i : i + 48], "little") for i in range(0, len(data), 48)]


def containers(curve: str, points: Sequence[Any]) -> U64:
    """uint64[n, 12 or 24], Montgomery."""
    width = (2 if curve == "g1" else 4) * FP_LIMBS
    return fp_mont([v for p in points for v in coordinates(p)]).reshape(len(points), width)


def file_bytes(points: Sequence[Any]) -> U8:
    """uint8[n, 96 or 192]: big-endian, c1 before c0, infinity with its flag bit."""
    rows = []
    for point in points:
        numbers = coordinates(point)
        if len(numbers) == 4:
            numbers = [numbers[k] for k in (1, 0, 3, 2)]
        data = bytearray(b"".join(v.to_bytes(48, "big") for v in numbers))
        if not any(data):
            data[0] = 0x40
        rows.append(np.frombuffer(bytes(data), np.uint8))
    return np.stack(rows)


def scalars(values: Sequence[int]) -> U64:
    """uint64[n, 4], canonical."""
    return to_limbs(values, 4)


def weighted_sum(curve: str, points: Sequence[Any], values: Sequence[int]) -> U64:
    """Sum of value * point as a container."""
    if not points:
        return containers(curve, [infinity(curve)])[0]
    return containers(curve, [CLASSES[curve].multiexp_unchecked(list(points), [scalar(v) for v in values])])[0]
