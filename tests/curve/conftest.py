"""Points for the tests of groups, encodings and pairings."""

from __future__ import annotations

from typing import Any

from cuzk.curve import g1, g2
from cuzk.field.limbs import U64, fp_ints, fp_mont
from cuzk.spec.curve import G1, G2

GROUPS = {"g1": (g1, G1), "g2": (g2, G2)}


def coordinates(point: Any, degree: int) -> list[int]:
    """Plain integers x, y (G2: x.c0, x.c1, y.c0, y.c1); zeros for infinity."""
    if point is None:
        return [0] * (2 * degree)
    return [point[0], point[1]] if degree == 1 else [*point[0], *point[1]]


def points_mont(name: str, points: list[Any]) -> U64:
    """Points of the specification as affine limbs, uint64[n, 12] or [n, 24]."""
    degree = 1 if name == "g1" else 2
    return fp_mont(c for p in points for c in coordinates(p, degree)).reshape(len(points), 12 * degree)


def spec_points(name: str, array: U64) -> list[Any]:
    """Affine limbs as points of the specification."""
    degree = 1 if name == "g1" else 2
    found = []
    for row in array.reshape(-1, 12 * degree):
        c = fp_ints(row.reshape(-1, 6))
        point = (c[0], c[1]) if degree == 1 else ((c[0], c[1]), (c[2], c[3]))
        found.append(point if any(c) else None)
    return found


def outside_subgroup(name: str, seed: int) -> Any:
    """A point of the curve that is not of order r, from the specification."""
    curve = GROUPS[name][1]
    x = seed
    while True:
        x += 1
        point = curve.lift_x(x if name == "g1" else (x, seed), larger=False)
        if point is not None and not curve.in_subgroup(point):
            return point
