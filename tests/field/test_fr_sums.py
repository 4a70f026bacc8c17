"""Sums that are reduced once against plain integers, at their limits too."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.field import fr
from cuzk.field.fr_sums import (
    products_add,
    products_montgomery,
    products_zero,
    sum_add,
    sum_add_if,
    sum_join,
    sum_reduce,
    sum_sub,
    sum_zero,
)
from cuzk.field.limbs import FR_RADIX, from_limbs, to_limbs
from cuzk.field.params import R
from cuzk.jit import kernel
from tests.conftest import Draw


@kernel
def signed_sum(out, x, what):
    """Σ over i of x[i], −x[i], x[i] if 1, or 0, for what[i] = 0, 1, 2, 3; then `what[n]` doublings."""
    total = sum_zero()
    for i in range(len(x)):
        v = fr.load(x, i)
        if what[i] == 0:
            total = sum_add(total, v)
        elif what[i] == 1:
            total = sum_sub(total, v)
        else:
            total = sum_add_if(total, v, np.uint8(what[i] == 2))
    for _ in range(what[len(x)]):
        total = sum_join(total, total)
    fr.store(out, 0, sum_reduce(total))


@kernel
def dot(out, x, y):
    """Σ x[i] y[i] / 2^256."""
    total = products_zero()
    for i in range(len(x)):
        total = products_add(total, fr.load(x, i), fr.load(y, i))
    fr.store(out, 0, sum_reduce(products_montgomery(total)))


def run_sum(values: list[int], what: list[int], doublings: int = 0) -> int:
    out = np.zeros((1, 4), np.uint64)
    signed_sum(out, to_limbs(values, 4), np.array([*what, doublings], np.int64))
    return from_limbs(out)[0]


def run_dot(x: list[int], y: list[int]) -> int:
    out = np.zeros((1, 4), np.uint64)
    dot(out, to_limbs(x, 4), to_limbs(y, 4))
    return from_limbs(out)[0]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 66, 929, 5000])
def test_sums_equal_plain_integers(n: int, draw: Draw) -> None:
    values, what = draw.many(R, n), [draw.random.randrange(4) for _ in range(n)]
    want = sum((v, -v, v, 0)[w] for v, w in zip(values, what, strict=True)) % R
    assert run_sum(values, what) == want


@pytest.mark.parametrize("value", [0, 1, R - 1, (1 << 254) - 1])
@pytest.mark.parametrize("doublings", range(46))
def test_reduction_up_to_its_limit(value: int, doublings: int) -> None:
    """At 2^45 times an element the sum is at the limit of 2^300."""
    doublings = min(doublings, 44)
    assert run_sum([value, 1], [0, 0], doublings) == ((value + 1) << doublings) % R
    assert run_sum([value], [1], doublings) == (-value << doublings) % R


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9, 66, 1000])
def test_dot_products_equal_plain_integers(n: int, draw: Draw) -> None:
    x, y = draw.many(R, n), draw.many(R, n)
    unradix = pow(FR_RADIX, -1, R)
    assert run_dot(x, y) == sum(a * b for a, b in zip(x, y, strict=True)) * unradix % R
    assert run_dot([R - 1] * n, [R - 1] * n) == n * unradix % R
