"""Constants against published hex, and prime field operations against Python's own."""

from __future__ import annotations

import pytest

from cuzk.spec import field
from cuzk.spec.field import Fp, Fr, PrimeField, Toy

# draft-irtf-cfrg-pairing-friendly-curves-11, section 4.2.1.
PUBLISHED_P = "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab"
PUBLISHED_R = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"
PUBLISHED_H1 = "396c8c005555e1568c00aaab0000aaab"
PUBLISHED_H2 = (
    "5d543a95414e7f1091d50792876a202cd91de4547085abaa68a205b2e5a7ddfa628f1cb4d9e82ef21537e293a6691ae1"
    "616ec6e786f0c70cf1c38e31c7238e5"
)
# blstrs src/scalar.rs, ROOT_OF_UNITY.
PUBLISHED_ROOT = "16a2a19edfe81f20d09b681922c813b4b63683508c2280b93829971f439f0d2b"
# The odd prime factors of r - 1 and of the toy modulus - 1; the test multiplies them out.
FR_FACTORS = [(3, 1), (11, 1), (19, 1), (10177, 1), (125527, 1), (859267, 1), (906349, 2), (2508409, 1), (2529403, 1),
              (52437899, 1), (254760293, 2)]  # fmt: skip
FIELDS = {"Fp": Fp, "Fr": Fr, "Toy": Toy}


def test_constants_are_the_published_ones() -> None:
    assert f"{field.P:x}" == PUBLISHED_P
    assert f"{field.R:x}" == PUBLISHED_R
    assert f"{field.G1_COFACTOR:x}" == PUBLISHED_H1
    assert f"{field.G2_COFACTOR:x}" == PUBLISHED_H2
    assert f"{Fr.root_of_unity(32):x}" == PUBLISHED_ROOT
    assert (Fr.two_adicity, Fp.two_adicity, Toy.two_adicity) == (32, 1, 10)


def test_numbers_of_points_fit_the_traces() -> None:
    """p + 1 - t on the curve and p^2 + 1 - (t2 + 3 f) / 2 on the twist, with t2^2 + 3 f^2 = 4 p^2."""
    p, t = field.P, field.SEED + 1
    assert p + 1 - t == field.G1_COFACTOR * field.R
    t2 = t * t - 2 * p
    three_f = 2 * (p * p + 1 - field.G2_COFACTOR * field.R) - t2
    assert three_f % 3 == 0
    assert t2**2 + 3 * (three_f // 3) ** 2 == 4 * p * p


@pytest.mark.parametrize("modulus", [field.P, field.R, 64513])
def test_moduli_are_prime(modulus: int) -> None:
    d, s = modulus - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in range(2, 42):  # Miller and Rabin
        x = pow(base, d, modulus)
        assert x == 1 or any(pow(x, 1 << i, modulus) == modulus - 1 for i in range(s))


@pytest.mark.parametrize(("f", "odd_factors"), [(Fr, FR_FACTORS), (Toy, [(3, 2), (7, 1)])], ids=["Fr", "Toy"])
def test_generator_is_the_smallest(f: PrimeField, odd_factors: list[tuple[int, int]]) -> None:
    order = f.modulus - 1
    product = 1 << f.two_adicity
    for q, e in odd_factors:
        product *= q**e
    assert product == order

    def generates(g: int) -> bool:
        return all(pow(g, order // q, f.modulus) != 1 for q in [2, *(q for q, _ in odd_factors)])

    assert next(g for g in range(2, 100) if generates(g)) == f.generator
    assert not Fp.is_square(Fp.generator)


@pytest.mark.parametrize("name", FIELDS)
def test_operations(name: str, draw) -> None:
    f = FIELDS[name]
    n = f.modulus
    values = draw.many(n, 40)
    for a, b in zip(values, reversed(values), strict=True):
        assert f.add(a, b) == (a + b) % n, (draw, hex(a), hex(b))
        assert f.sub(a, b) == (a - b) % n
        assert f.mul(a, b) == f.mul(b, a) == (a * b) % n
        assert f.sqr(a) == f.mul(a, a)
        assert f.add(a, f.neg(a)) == 0
        assert f.contains(f.neg(a))
        assert f.pow(a, 5) == a**5 % n
        assert f.from_le_bytes(f.to_le_bytes(a)) == a
        if a != 0:
            assert f.mul(a, f.inv(a)) == 1
    non_zero = [v for v in values if v]
    assert f.batch_inv(non_zero) == [f.inv(v) for v in non_zero]
    assert f.batch_inv([]) == []


@pytest.mark.parametrize("name", FIELDS)
def test_roots_of_unity_have_their_order(name: str) -> None:
    f = FIELDS[name]
    for k in range(f.two_adicity + 1):
        w = f.root_of_unity(k)
        assert f.pow(w, 1 << k) == 1
        assert k == 0 or f.pow(w, 1 << (k - 1)) == f.neg(1)
    with pytest.raises(ValueError, match="2-adicity"):
        f.root_of_unity(f.two_adicity + 1)


def test_square_roots(draw) -> None:
    for a in draw.many(field.P, 30):
        root = Fp.sqrt(Fp.sqr(a))
        assert root in (a, Fp.neg(a)), (draw, hex(a))
        if not Fp.is_square(a):
            assert Fp.sqrt(a) is None
        if a:
            assert Fp.is_larger_half(a) != Fp.is_larger_half(Fp.neg(a))
    with pytest.raises(ValueError, match="coordinate field"):
        Fr.sqrt(4)


@pytest.mark.parametrize("name", FIELDS)
def test_what_is_refused(name: str) -> None:
    f = FIELDS[name]
    with pytest.raises(ZeroDivisionError):
        f.inv(0)
    with pytest.raises(ZeroDivisionError):
        f.batch_inv([1, 0, 2])
    width = len(f.to_le_bytes(0))
    with pytest.raises(ValueError, match="canonical"):
        f.from_le_bytes(f.modulus.to_bytes(width, "little"))
    with pytest.raises(ValueError, match="canonical"):
        f.from_le_bytes(bytes(width + 1))
    with pytest.raises(ValueError, match="canonical"):
        f.to_le_bytes(f.modulus)
    assert not f.contains(f.modulus)
    assert not f.contains(-1)
