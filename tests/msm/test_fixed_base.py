"""Multiples of one point against arkworks."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.errors import InternalError
from cuzk.field.params import R
from cuzk.kernels.tree_cpu import row_words
from cuzk.msm.fixed_base import FixedBase, window_bits
from tests import points as given
from tests.conftest import Draw

CURVES = ["g1", "g2"]


@pytest.mark.parametrize("expected_count", [1, 100, 5000])
@pytest.mark.parametrize("curve", CURVES)
def test_multiples(curve: str, expected_count: int, draw: Draw) -> None:
    base = given.times(curve, draw.random.randrange(1, R))
    values = [0, 1, 2, 3, R - 1, R - 2, R // 2, R // 2 + 1, (1 << 255) - 1, R, R + 1, *draw.many(R, 60), *([0] * 9)]
    table = FixedBase(curve, given.containers(curve, [base])[0], expected_count)
    expected = [base * given.scalar(v) for v in values]
    done: list[float] = []
    assert (table.multiples(given.scalars(values), done.append) == given.containers(curve, expected)).all()
    assert done[-1] == 1
    out = np.full((len(values), 96 if curve == "g1" else 192), 255, np.uint8)
    table.multiples_be(given.scalars(values), out)
    assert bytes(out) == bytes(given.file_bytes(expected))


def test_many_multiples_in_blocks(draw: Draw) -> None:
    base = given.times("g1", 5)
    table = FixedBase("g1", given.containers("g1", [base])[0], 1000)
    values = [draw.random.randrange(R) if k % 5 else 0 for k in range(20_003)]
    got = table.multiples(given.scalars(values))
    some = [0, 1, 2, 7, 8191, 8192, 10_001, 20_001, 20_002]
    assert (got[some] == given.containers("g1", [base * given.scalar(values[k]) for k in some])).all()
    assert not got[::5].any() and got.any(axis=1).sum() == 20_003 - len(range(0, 20_003, 5))


@pytest.mark.parametrize("curve", CURVES)
def test_multiples_of_infinity(curve: str) -> None:
    table = FixedBase(curve, given.containers(curve, [given.infinity(curve)])[0], 10)
    assert not table.multiples(given.scalars([0, 1, R - 1])).any()
    assert not table.multiples(given.scalars([])).size


@pytest.mark.parametrize("curve", CURVES)
def test_tables_stay_small(curve: str) -> None:
    for count in (1, 10**3, 10**5, 10**7, 10**9):
        c = window_bits(curve, count)
        assert -(-255 // c) * row_words(curve) * 8 << (c - 1) <= 150_000_000


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(InternalError):
        FixedBase("g1", np.zeros(24, np.uint64), 1)
    table = FixedBase("g1", np.zeros(12, np.uint64), 1)
    with pytest.raises(InternalError):
        table.multiples(np.zeros((3, 6), np.uint64))
    with pytest.raises(InternalError):
        table.multiples_be(np.zeros((3, 4), np.uint64), np.zeros((3, 192), np.uint8))
