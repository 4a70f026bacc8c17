"""Fp6 and Fp12 in compiled code against the specification's towers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cuzk.field import fp12
from cuzk.field.limbs import U64, fp_ints, fp_mont
from cuzk.field.params import P
from cuzk.spec.tower import Fp12, frobenius, from_powers_of_w
from tests.conftest import Draw


@njit(error_model="numpy")
def run(out, a):
    x, y = fp12.load(a, 0), fp12.load(a, 1)
    fp12.store(out, 0, fp12.mul(x, y))
    fp12.store(out, 1, fp12.sqr(x))
    fp12.store(out, 2, fp12.conjugate(x))
    fp12.store(out, 3, fp12.inv(x))
    fp12.store(out, 4, fp12.frobenius(x))
    fp12.store(out, 5, fp12.mul_by_line(x, y[0][0], y[0][1], y[1][1]))
    fp12.store(out, 6, fp12.cyclotomic_sqr(x))


def flat(x: Any) -> list[int]:
    return [x] if isinstance(x, int) else [c for part in x for c in flat(part)]


def nested(values: list[int]) -> Any:
    pairs = list(zip(values[::2], values[1::2], strict=True))
    return tuple(pairs[:3]), tuple(pairs[3:])


def elements(array: U64) -> list[Any]:
    return [nested(fp_ints(row)) for row in array]


def element(draw: Draw) -> Any:
    return nested([draw.below(P) for _ in range(12)])


def results(x: Any, y: Any) -> list[Any]:
    out = np.zeros((7, 12, 6), np.uint64)
    run(out, fp_mont([*flat(x), *flat(y)]))
    return elements(out)


def test_operations_against_the_specification(draw: Draw) -> None:
    one, zero, top = Fp12.one, Fp12.zero, nested([P - 1] * 12)
    units = [nested([int(i == k) for i in range(12)]) for k in range(12)]
    cases = [(x, y) for x in (zero, one, top) for y in (zero, one, top)] + [(x, y) for x in units for y in units]
    cases += [(element(draw), element(draw)) for _ in range(40)]
    for x, y in cases:
        got = results(x, y)
        line = from_powers_of_w([y[0][0], (0, 0), y[0][1], y[1][1], (0, 0), (0, 0)])
        inverse = Fp12.inv(x) if x != zero else zero
        want = [Fp12.mul(x, y), Fp12.sqr(x), Fp12.conjugate(x), inverse, frobenius(x), Fp12.mul(x, line)]
        assert got[:6] == want, (draw, x, y)


def test_cyclotomic_square_is_the_square_in_the_cyclotomic_subgroup_only(draw: Draw) -> None:
    x = element(draw)
    outside = results(x, Fp12.one)
    assert outside[6] != outside[1], draw
    f = Fp12.mul(Fp12.conjugate(x), Fp12.inv(x))  # x^(p^6 - 1)
    f = Fp12.mul(frobenius(frobenius(f)), f)
    for inside in (f, Fp12.one, Fp12.mul(f, Fp12.mul(f, f)), Fp12.conjugate(f)):
        got = results(inside, Fp12.one)
        assert got[6] == got[1] == Fp12.sqr(inside), draw
        assert got[3] == got[2], draw  # norm one: the inverse is the conjugate


def test_frobenius_is_the_power_p(draw: Draw) -> None:
    x = element(draw)
    assert results(x, Fp12.one)[4] == Fp12.pow(x, P), draw
