"""Fp2 in compiled code against the specification's tower."""

from __future__ import annotations

import numpy as np
from numba import njit

from cuzk.field import fp2
from cuzk.field.limbs import U64, fp_ints, fp_mont
from cuzk.field.params import P
from cuzk.spec.tower import Fp2
from tests.conftest import Draw


@njit(error_model="numpy")
def run(out, a):
    x, y = fp2.load(a, 0), fp2.load(a, 1)
    fp2.store(out, 0, fp2.add(x, y))
    fp2.store(out, 1, fp2.sub(x, y))
    fp2.store(out, 2, fp2.neg(x))
    fp2.store(out, 3, fp2.double(x))
    fp2.store(out, 4, fp2.mul(x, y))
    fp2.store(out, 5, fp2.sqr(x))
    fp2.store(out, 6, fp2.mul_fp(x, y[0]))
    fp2.store(out, 7, fp2.mul_by_nonresidue(x))
    fp2.store(out, 8, fp2.conjugate(x))
    fp2.store(out, 9, fp2.inv(x))
    fp2.store(out, 10, fp2.select(fp2.eq(x, y), fp2.ONE, fp2.ZERO))
    fp2.store(out, 11, fp2.select(fp2.is_zero(x), fp2.ONE, fp2.ZERO))
    fp2.store(out, 12, fp2.select(fp2.is_larger(fp2.to_canon(x)), fp2.ONE, fp2.ZERO))
    fp2.store(out, 13, fp2.from_canon(fp2.to_canon(x)))
    fp2.store(out, 14, fp2.sqrt(x))


def pairs_of(array: U64) -> list[tuple[int, int]]:
    flat = fp_ints(array.reshape(-1, 6))
    return list(zip(flat[::2], flat[1::2], strict=True))


def expected(x: tuple[int, int], y: tuple[int, int]) -> list[tuple[int, int]]:
    f = Fp2
    inverse = f.inv(x) if x != (0, 0) else (0, 0)
    values = [f.add(x, y), f.sub(x, y), f.neg(x), f.scale(x, 2), f.mul(x, y), f.sqr(x), f.scale(x, y[0]), f.mul(x, (1, 1))]
    values += [f.conjugate(x), inverse, (int(x == y), 0), (int(x == (0, 0)), 0), (int(f.is_larger_half(x)), 0), x]
    return [(c0 % P, c1 % P) for c0, c1 in values]


def test_operations_against_the_specification(draw: Draw) -> None:
    nasty = [(0, 0), (1, 0), (0, 1), (P - 1, 0), (0, P - 1), (P - 1, P - 1), ((P - 1) // 2, (P + 1) // 2), (4, 0), (P - 4, 0)]
    cases = [(x, y) for x in nasty for y in nasty]
    cases += [((draw.below(P), draw.below(P)), (draw.below(P), draw.below(P))) for _ in range(100)]
    out = np.zeros((15, 2, 6), np.uint64)
    for x, y in cases:
        run(out, fp_mont([*x, *y]))
        got = pairs_of(out)
        assert got[:14] == expected(x, y), (draw, x, y)
        is_square = Fp2.sqrt(x) is not None
        assert (Fp2.sqr(got[14]) == x) == is_square, (draw, x)


def test_square_roots_of_squares_and_their_multiples(draw: Draw) -> None:
    """Squares of elements on the axes are where the root's formula has its special cases."""
    out = np.zeros((15, 2, 6), np.uint64)
    roots = [(a, b) for a in (0, 1, 2, P - 1, draw.below(P)) for b in (0, 1, 5, P - 1, draw.below(P))]
    for root in roots:
        square = Fp2.sqr(root)
        run(out, fp_mont([*square, 0, 0]))
        assert pairs_of(out)[14] in (root, Fp2.neg(root)), (draw, root)
        other = Fp2.mul(square, (1, 1))  # 1 + u is no square
        if square != (0, 0):
            run(out, fp_mont([*other, 0, 0]))
            assert Fp2.sqr(pairs_of(out)[14]) != other


def test_powers_of_the_nonresidue() -> None:
    assert fp2.nonresidue_power(0) == (1, 0)
    assert fp2.nonresidue_power(1) == (1, 1)
    assert fp2.nonresidue_power(5) == Fp2.mul(Fp2.sqr(Fp2.sqr((1, 1))), (1, 1))
    assert fp2.nonresidue_power(P * P - 1) == (1, 0)
    assert fp2.nonresidue_power((P * P - 1) // 2) == (P - 1, 0)  # not a square
    assert fp2.nonresidue_power((P * P - 1) // 3) != (1, 0)  # not a cube
