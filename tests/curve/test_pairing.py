"""The pairing against the specification's definition, against arkworks, and its algebraic properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import py_arkworks_bls12381 as ark

from cuzk.curve import encoding, g1, g2
from cuzk.curve.pairing import ONE_MONT, pairing_product_cubed, pairing_product_is_one
from cuzk.field.limbs import U64, fp_ints
from cuzk.field.params import R
from cuzk.spec import pairing as spec_pairing
from cuzk.spec.curve import G1, G2
from cuzk.spec.tower import Fp12
from tests.conftest import Draw
from tests.curve.conftest import points_mont


def product(pairs: list[tuple[Any, Any]]) -> U64:
    return pairing_product_cubed(points_mont("g1", [p for p, _ in pairs]), points_mont("g2", [q for _, q in pairs]))


def is_one(pairs: list[tuple[Any, Any]]) -> bool:
    return pairing_product_is_one(points_mont("g1", [p for p, _ in pairs]), points_mont("g2", [q for _, q in pairs]))


def flat(x: Any) -> list[int]:
    return [x] if isinstance(x, int) else [c for part in x for c in flat(part)]


def test_values_against_the_specification(draw: Draw) -> None:
    a, b = G1.mul(G1.generator, draw.below(R - 1) + 1), G2.mul(G2.generator, draw.below(R - 1) + 1)
    for pairs in ([(G1.generator, G2.generator)], [(a, b)], [(a, G2.generator), (G1.generator, b), (G1.neg(a), b)]):
        want = spec_pairing.final_exponentiation_cubed(spec_pairing.miller_loop(pairs))
        assert fp_ints(product(pairs)) == flat(want), draw
    once = spec_pairing.pairing(a, b)
    assert fp_ints(product([(a, b)])) == flat(Fp12.mul(Fp12.sqr(once), once)), draw


def test_bilinear_and_not_degenerate(draw: Draw) -> None:
    p, q = G1.generator, G2.generator
    k = draw.below(R - 2) + 2
    pk, qk = G1.mul(p, k), G2.mul(q, k)
    assert is_one([(pk, q), (G1.neg(p), qk)]), draw
    assert is_one([(pk, qk), (G1.mul(p, (R - k * k) % R), q)]), draw
    assert not is_one([(pk, q), (p, qk)]), draw
    assert not is_one([(p, q)])
    assert not is_one([(pk, q), (G1.neg(p), G2.mul(q, k - 1))]), draw
    # of order r, hence r equal pairs are one, fewer are not
    assert is_one([(G1.mul(p, R - 3), q), *[(p, q)] * 3])
    assert not is_one([(G1.mul(p, R - 3), q), *[(p, q)] * 2])


def test_infinity_counts_as_one() -> None:
    p, q = G1.generator, G2.generator
    assert (product([]) == ONE_MONT).all()
    assert is_one([(None, q), (p, None), (None, None)])
    assert (product([(None, q), (p, q), (p, None)]) == product([(p, q)])).all()
    assert not is_one([(None, q), (p, q)])


def test_every_member_matters(draw: Draw) -> None:
    """A product of five that is one, spoilt in each place."""
    a = [draw.below(R - 1) + 1 for _ in range(4)]
    b = [draw.below(R - 1) + 1 for _ in range(5)]
    a.append(-sum(x * y for x, y in zip(a, b, strict=False)) * pow(b[4], -1, R) % R)
    g1_points = g1.GROUP.mul_each(np.repeat(g1.GENERATOR.reshape(1, -1), 5, axis=0), a)
    g2_points = g2.GROUP.mul_each(np.repeat(g2.GENERATOR.reshape(1, -1), 5, axis=0), b)
    assert pairing_product_is_one(g1_points, g2_points), draw
    for i in range(5):
        spoilt = g1_points.copy()
        spoilt[i] = g1.g1_add(spoilt[i], g1.GENERATOR)
        assert not pairing_product_is_one(spoilt, g2_points), (draw, i)
        spoilt = g2_points.copy()
        spoilt[i] = g2.g2_neg(spoilt[i])
        assert not pairing_product_is_one(g1_points, spoilt), (draw, i)


def test_verdicts_agree_with_arkworks(draw: Draw) -> None:
    for case in range(6):
        n = 1 + draw.random.randrange(4)
        a, b = [draw.below(R) for _ in range(n)], [draw.below(R) for _ in range(n)]
        if case % 2 and b[-1]:
            a[-1] = -sum(x * y for x, y in zip(a[:-1], b[:-1], strict=True)) * pow(b[-1], -1, R) % R
        g1_points = g1.GROUP.mul_each(np.repeat(g1.GENERATOR.reshape(1, -1), n, axis=0), a)
        g2_points = g2.GROUP.mul_each(np.repeat(g2.GENERATOR.reshape(1, -1), n, axis=0), b)
        theirs1 = [ark.G1Point.from_compressed_bytes(row.tobytes()) for row in encoding.encode("g1", g1_points, compressed=True)]
        theirs2 = [ark.G2Point.from_compressed_bytes(row.tobytes()) for row in encoding.encode("g2", g2_points, compressed=True)]
        assert pairing_product_is_one(g1_points, g2_points) == ark.GT.pairing_check(theirs1, theirs2), (draw, a, b)
