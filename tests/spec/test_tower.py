"""Extension fields: defining relations, field laws, Frobenius by its definition, square roots."""

from __future__ import annotations

from typing import Any

import pytest

from cuzk.spec.field import P
from cuzk.spec.tower import XI, Fp2, Fp6, Fp12, frobenius, from_powers_of_w, to_powers_of_w

FIELDS = {"Fp2": Fp2, "Fp6": Fp6, "Fp12": Fp12}


def element(f: Any, draw: Any) -> Any:
    if isinstance(f.zero, int):
        return draw.below(P)
    return tuple(element(f.base, draw) for _ in f.zero)


def test_defining_relations() -> None:
    u = (0, 1)
    v = (Fp2.zero, Fp2.one, Fp2.zero)
    w = (Fp6.zero, Fp6.one)
    assert Fp2.sqr(u) == (P - 1, 0)
    assert Fp6.pow(v, 3) == (XI, Fp2.zero, Fp2.zero)
    assert Fp12.sqr(w) == (v, Fp6.zero)
    assert (Fp2.degree, Fp6.degree, Fp12.degree) == (2, 6, 12)


def test_polynomials_are_irreducible() -> None:
    """-1 is not a square in Fp, and 1 + u neither a square nor a cube in Fp2."""
    assert pow(P - 1, (P - 1) // 2, P) == P - 1
    assert Fp2.pow(XI, (P * P - 1) // 2) != Fp2.one
    assert Fp2.pow(XI, (P * P - 1) // 3) != Fp2.one


@pytest.mark.parametrize("name", FIELDS)
def test_field_laws(name: str, draw) -> None:
    f = FIELDS[name]
    for _ in range(8):
        a, b, c = (element(f, draw) for _ in range(3))
        assert f.mul(a, b) == f.mul(b, a), draw
        assert f.mul(f.mul(a, b), c) == f.mul(a, f.mul(b, c)), draw
        assert f.mul(a, f.add(b, c)) == f.add(f.mul(a, b), f.mul(a, c)), draw
        assert f.sqr(a) == f.mul(a, a)
        assert f.add(a, f.neg(a)) == f.zero
        assert f.sub(a, b) == f.add(a, f.neg(b))
        assert f.scale(a, 3) == f.add(a, f.add(a, a))
        assert f.mul(a, f.one) == a
        if a != f.zero:
            assert f.mul(a, f.inv(a)) == f.one, draw
            assert f.mul(f.pow(a, 13), f.pow(a, -13)) == f.one
    with pytest.raises(ZeroDivisionError):
        f.inv(f.zero)


def test_frobenius_is_the_power_p(draw) -> None:
    a = element(Fp12, draw)
    assert frobenius(a) == Fp12.pow(a, P), draw
    powers = [a]
    for _ in range(12):
        powers.append(frobenius(powers[-1]))
    assert powers[12] == a
    assert powers[6] == Fp12.conjugate(a)
    assert from_powers_of_w(to_powers_of_w(a)) == a


def test_square_roots_in_fp2(draw) -> None:
    squares = 0
    cases = [(0, 0), (1, 0), (0, 1), (P - 1, 0), (0, P - 1), (2, 0), (P - 2, 0)]
    for a in cases + [element(Fp2, draw) for _ in range(20)]:
        root = Fp2.sqrt(Fp2.sqr(a))
        assert root in (a, Fp2.neg(a)), draw
        root = Fp2.sqrt(a)
        is_square = a == Fp2.zero or Fp2.pow(a, (P * P - 1) // 2) == Fp2.one
        assert (root is not None) == is_square, draw
        assert root is None or Fp2.sqr(root) == a
        squares += is_square
    assert squares > 0


@pytest.mark.parametrize(
    ("a", "larger"), [((1, 1), False), ((P - 1, 1), False), ((1, P - 1), True), ((1, 0), False), ((P - 1, 0), True)]
)
def test_sign_looks_at_u_first(a: tuple[int, int], larger: bool) -> None:
    assert Fp2.is_larger_half(a) is larger
    assert Fp2.is_larger_half(Fp2.neg(a)) is not larger
