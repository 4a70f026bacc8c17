"""Transforms against the definition, over the scalar field and the toy field."""

from __future__ import annotations

import pytest

from cuzk.spec import ntt
from cuzk.spec.field import Fr, PrimeField, Toy

FIELDS = {"Fr": Fr, "Toy": Toy}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("log2_size", range(7))
def test_transforms_equal_the_definition(name: str, log2_size: int, draw) -> None:
    f: PrimeField = FIELDS[name]
    m = 1 << log2_size
    for coeffs in ([0] * m, [1] + [0] * (m - 1), [f.modulus - 1] * m, draw.many(f.modulus, m)):
        w, g = f.root_of_unity(log2_size), f.generator
        evals = [sum(c * pow(w, i * j, f.modulus) for i, c in enumerate(coeffs)) % f.modulus for j in range(m)]
        on_coset = [
            sum(c * pow(g * pow(w, j, f.modulus), i, f.modulus) for i, c in enumerate(coeffs)) % f.modulus for j in range(m)
        ]
        assert ntt.dft(f, coeffs) == evals, draw
        assert ntt.ntt(f, coeffs) == evals, draw
        assert ntt.intt(f, evals) == coeffs, draw
        assert ntt.coset_ntt(f, coeffs) == on_coset, draw
        assert ntt.coset_intt(f, on_coset) == coeffs, draw


def test_product_of_polynomials(draw) -> None:
    """Values multiply where polynomials do."""
    a, b = draw.many(Fr.modulus, 16), draw.many(Fr.modulus, 16)
    product = [0] * 32
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            product[i + j] = (product[i + j] + x * y) % Fr.modulus
    pad = [0] * 16
    evals = [x * y % Fr.modulus for x, y in zip(ntt.ntt(Fr, a + pad), ntt.ntt(Fr, b + pad), strict=True)]
    assert ntt.intt(Fr, evals) == product, draw


def test_scale_by_powers() -> None:
    assert ntt.scale_by_powers(Toy, [1, 2, 3, 4], 10) == [1, 20, 300, 4000]
    assert ntt.scale_by_powers(Toy, [1, 1, 1], 64512) == [1, 64512, 1]
    assert ntt.scale_by_powers(Toy, [], 5) == []


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("count", [1, 5, 8])
def test_lagrange_interpolates(name: str, count: int, draw) -> None:
    f: PrimeField = FIELDS[name]
    evals = draw.many(f.modulus, count) + [0] * (8 - count)
    x = 3673
    weights = list(ntt.lagrange_at(f, 3, x, count))
    assert len(weights) == count
    interpolated = sum(e * w for e, w in zip(evals, weights, strict=False)) % f.modulus
    assert interpolated == ntt.evaluate(f, ntt.intt(f, evals), x), draw
    assert ntt.vanishing_at(f, 3, x) == (x**8 - 1) % f.modulus


def test_lagrange_over_batches() -> None:
    """More points than one batch holds; the weights of all points sum to one."""
    assert sum(ntt.lagrange_at(Fr, 13, 12345)) % Fr.modulus == 1


@pytest.mark.parametrize(("rows", "log2"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (256, 8), (257, 9), (2**27, 27)])
def test_domain_size(rows: int, log2: int) -> None:
    assert ntt.log2_domain(rows) == log2


def test_what_is_refused() -> None:
    for transform in (ntt.dft, ntt.ntt, ntt.intt, ntt.coset_ntt, ntt.coset_intt):
        for size in (0, 3, 12):
            with pytest.raises(ValueError, match="power of two"):
                transform(Toy, [1] * size)
    with pytest.raises(ValueError, match="2-adicity"):
        ntt.ntt(Toy, [1] * 2048)
    with pytest.raises(ValueError, match="in the domain"):
        next(ntt.lagrange_at(Toy, 3, Toy.root_of_unity(3)))
