"""Vectors over Fr against plain integers."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.errors import InternalError
from cuzk.field import fr_vector, lanes
from cuzk.field.limbs import fr_ints, fr_mont, from_limbs, to_limbs
from cuzk.field.params import R
from tests.conftest import Draw

LENGTHS = [0, 1, 7, 8, 9, 31, 33, 1000, 5001]


@pytest.mark.parametrize("n", LENGTHS)
def test_products(n: int, draw: Draw) -> None:
    x, y, k = draw.many(R, n), draw.many(R, n)[::-1], draw.below(R)
    a, b = fr_mont(x), fr_mont(y)
    assert fr_ints(fr_vector.mul(a, b)) == [u * v % R for u, v in zip(x, y, strict=True)], draw
    assert fr_ints(fr_vector.scale(a, k)) == [u * k % R for u in x], draw
    assert fr_vector.mul(a, b, a) is a and fr_ints(a) == [u * v % R for u, v in zip(x, y, strict=True)], draw


@pytest.mark.parametrize("n", LENGTHS)
def test_conversion(n: int, draw: Draw) -> None:
    x = draw.many(R, n)
    assert from_limbs(fr_vector.to_canonical(fr_mont(x))) == x, draw
    assert fr_ints(fr_vector.from_canonical(to_limbs(x, 4))) == x, draw


def test_conversion_reduces_up_to_2_255() -> None:
    x = [R, R + 1, (1 << 255) - 1]
    assert fr_ints(fr_vector.from_canonical(to_limbs(x, 4))) == [v % R for v in x]


@pytest.mark.parametrize("n", LENGTHS)
def test_powers(n: int, draw: Draw) -> None:
    x, factor = draw.below(R), draw.below(R)
    assert fr_ints(fr_vector.powers(x, n, factor)) == [factor * pow(x, i, R) % R for i in range(n)], draw
    assert fr_ints(fr_vector.powers(x, n)) == [pow(x, i, R) for i in range(n)], draw


@pytest.mark.parametrize("n", LENGTHS)
def test_inverses(n: int, draw: Draw) -> None:
    x = draw.many(R, n)
    assert fr_ints(fr_vector.invert(fr_mont(x))) == [pow(v, -1, R) if v else 0 for v in x], draw


def test_inverses_of_zeros() -> None:
    assert not fr_vector.invert(fr_mont([0] * 20)).any()


def test_constants(draw: Draw) -> None:
    values = draw.many(R, 20)
    words = fr_vector.encode(values)
    held = [sum(int(w) << (lanes.BITS * j) for j, w in enumerate(row)) for row in words]
    assert held == [v * lanes.radix("fr") % R for v in values], draw


@pytest.mark.parametrize("array", [np.zeros((3, 5), np.uint64), np.zeros((3, 4), np.uint32), np.zeros((6, 4), np.uint64)[::2]])
def test_refuses_other_arrays(array: np.ndarray) -> None:
    with pytest.raises(InternalError):
        fr_vector.scale(array, 3)
