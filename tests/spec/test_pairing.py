"""The pairing: value against arkworks, bilinearity, degenerate arguments, the short final exponentiation."""

from __future__ import annotations

from typing import Any

import py_arkworks_bls12381 as arkworks
import pytest

from cuzk.spec.curve import G1, G2
from cuzk.spec.field import SEED, P, R
from cuzk.spec.pairing import (
    final_exponentiation,
    final_exponentiation_cubed,
    miller_loop,
    pairing,
    product_is_one,
)
from cuzk.spec.tower import Fp12
from tests.spec.test_curve import outside_multiple


def flat(a: Any) -> list[int]:
    return [a] if isinstance(a, int) else [c for part in a for c in flat(part)]


def test_value_equals_arkworks(draw) -> None:
    """arkworks prints the twelve coefficients in little-endian bytes; its final exponentiation is the cubed one."""
    for k, n in [(1, 1), (draw.below(R), draw.below(R))]:
        ours = final_exponentiation_cubed(miller_loop([(G1.mul(G1.generator, k), G2.mul(G2.generator, n))]))
        theirs = str(arkworks.GT.pairing(outside_multiple("G1", k), outside_multiple("G2", n)))
        assert b"".join(c.to_bytes(48, "little") for c in flat(ours)).hex() == theirs, draw


def test_bilinear_and_of_order_r(draw) -> None:
    a, b = 1 + draw.below(R - 1), 1 + draw.below(R - 1)
    e = pairing(G1.generator, G2.generator)
    assert e != Fp12.one
    assert Fp12.pow(e, R) == Fp12.one
    assert pairing(G1.mul(G1.generator, a), G2.mul(G2.generator, b)) == Fp12.pow(e, a * b % R), draw
    assert pairing(G1.neg(G1.generator), G2.generator) == Fp12.inv(e)


def test_infinity_pairs_to_one() -> None:
    assert pairing(None, G2.generator) == Fp12.one
    assert pairing(G1.generator, None) == Fp12.one
    assert product_is_one([])
    assert product_is_one([(None, G2.generator), (G1.generator, None)])


def test_final_exponentiation_is_the_plain_power(draw) -> None:
    assert (P**12 - 1) // R == (P**6 - 1) * (P**2 + 1) * ((P**4 - P**2 + 1) // R)
    assert 3 * (P**4 - P**2 + 1) // R == (SEED - 1) ** 2 * (SEED + P) * (SEED**2 + P**2 - 1) + 3
    f = miller_loop([(G1.generator, G2.mul(G2.generator, draw.below(R) | 1))])
    value = final_exponentiation(f)
    assert value == Fp12.pow(f, (P**12 - 1) // R), draw
    assert Fp12.pow(value, 3) == final_exponentiation_cubed(f), draw


def test_products(draw) -> None:
    a, b = 2 + draw.below(R - 3), 2 + draw.below(R - 3)
    pa, qb = G1.mul(G1.generator, a), G2.mul(G2.generator, b)
    pab = G1.mul(G1.generator, a * b % R)
    assert product_is_one([(pa, qb), (G1.neg(pab), G2.generator)]), draw
    assert product_is_one([(pa, qb), (pab, G2.neg(G2.generator)), (None, qb)]), draw
    assert product_is_one([(pa, qb), (pa, G2.neg(qb))])


@pytest.mark.parametrize("case", ["one", "sign", "scalar", "extra"])
def test_false_products(case: str) -> None:
    p, q = G1.generator, G2.generator
    p6, q2, p3 = G1.mul(p, 6), G2.mul(q, 2), G1.mul(p, 3)
    pairs = {
        "one": [(p, q)],
        "sign": [(p3, q2), (p6, q)],
        "scalar": [(p3, q2), (G1.neg(G1.mul(p, 5)), q)],
        "extra": [(p3, q2), (G1.neg(p6), q), (p, q)],
    }[case]
    assert not product_is_one(pairs)
