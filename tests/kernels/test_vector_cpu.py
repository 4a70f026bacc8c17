"""Conversions of whole arrays against plain integers."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.field.limbs import fr_mont, from_limbs, to_limbs
from cuzk.field.params import R
from cuzk.kernels import vector_cpu
from tests.conftest import Draw


@pytest.mark.parametrize("n", [0, 1, 7, 300])
def test_montgomery_form_and_back(n: int, draw: Draw) -> None:
    values = draw.many(R, n)
    mont = vector_cpu.to_montgomery(to_limbs(values, 4))
    assert np.array_equal(mont, fr_mont(values))
    assert from_limbs(vector_cpu.to_canonical(mont)) == values


def test_read_only_and_strided_arrays_are_taken() -> None:
    values = to_limbs(range(10), 4)
    values.flags.writeable = False
    assert np.array_equal(vector_cpu.to_montgomery(values[::2]), fr_mont(range(0, 10, 2)))


@pytest.mark.parametrize(
    ("value", "reduced"), [(0, True), (1, True), (R - 1, True), (R, False), (R + 1, False), ((1 << 256) - 1, False)]
)
def test_reduced_means_below_r(value: int, reduced: bool) -> None:
    for place in range(3):
        values = [5, 6, 7]
        values[place] = value
        assert vector_cpu.all_reduced(to_limbs(values, 4)) is reduced
    assert vector_cpu.all_reduced(to_limbs([], 4))


def test_counts_of_zeros_and_ones() -> None:
    values = [0, 1, 2, 1 << 64, 1 << 128, (1 << 192) + 1, 1, 1, 0, R - 1]
    assert vector_cpu.count_zeros_ones(to_limbs(values, 4)) == (2, 3)
