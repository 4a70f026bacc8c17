"""The quotient against polynomial long division in plain integers."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk import ntt as ntt_module
from cuzk.errors import InternalError
from cuzk.field.limbs import U64, fr_mont, from_limbs
from cuzk.field.params import R
from cuzk.groth16.quotient import quotient
from cuzk.ntt import Domain
from cuzk.spec import groth16 as spec
from cuzk.spec import ntt as spec_ntt
from cuzk.spec.field import Fr
from tests.conftest import Draw

SIZES = [(0, 1), (1, 2), (2, 3), (5, 32), (5, 17), (6, 64), (6, 33), (6, 1), (7, 100), (8, 129), (9, 512), (9, 263)]


def satisfied(draw: Draw, n: int) -> tuple[list[int], list[int], list[int]]:
    a, b = draw.many(R, n), draw.many(R, n)[::-1]
    return a, b, [x * y % R for x, y in zip(a, b, strict=True)]


def product(x: list[int], y: list[int]) -> list[int]:
    out = [0] * (len(x) + len(y) - 1)
    for i, u in enumerate(x):
        for j, v in enumerate(y):
            out[i + j] = (out[i + j] + u * v) % R
    return out


def divide(a: list[int], b: list[int], c: list[int], m: int) -> tuple[list[int], list[int]]:
    """(a b − c) / (X^m − 1) from coefficients, by long division: quotient, remainder."""
    rest = product(a, b)
    rest[: len(c)] = [(u - v) % R for u, v in zip(rest, c, strict=False)]
    h = [0] * (m - 1)
    for i in range(len(rest) - 1, m - 1, -1):
        h[i - m] = rest[i]
        rest[i - m] = (rest[i - m] + rest[i]) % R
    return h, rest[:m]


def run(domain: Domain, *values: list[int]) -> list[int]:
    h = quotient(*(fr_mont(v) for v in values), domain)
    assert h.shape == (domain.size - 1, 4) and h.dtype == np.uint64
    return from_limbs(h)


@pytest.mark.parametrize(("log2_size", "n"), SIZES)
def test_equals_long_division(log2_size: int, n: int, draw: Draw) -> None:
    m = 1 << log2_size
    values = satisfied(draw, n)
    coefficients = [spec_ntt.intt(Fr, v + [0] * (m - n)) for v in values]
    h, rest = divide(*coefficients, m)
    assert not any(rest)
    assert run(Domain(log2_size), *values) == h, draw


@pytest.mark.parametrize(("log2_size", "n"), SIZES)
def test_equals_the_specification_where_a_row_is_false(log2_size: int, n: int, draw: Draw) -> None:
    a, b, c = satisfied(draw, n)
    c[draw.random.randrange(n)] = draw.random.randrange(R)
    padded = [v + [0] * ((1 << log2_size) - n) for v in (a, b, c)]
    assert run(Domain(log2_size), a, b, c) == spec.quotient(Fr, *padded), draw


@pytest.mark.parametrize(("log2_size", "limit"), [(9, 3), (11, 4)])
def test_more_than_two_passes(log2_size: int, limit: int, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntt_module, "PASS_LOG2_SIZE", limit)
    m = 1 << log2_size
    for n in (m, m - 9):
        values = draw.many(R, n), draw.many(R, n), draw.many(R, n)
        expected = spec.quotient(Fr, *(v + [0] * (m - n) for v in values))
        assert run(Domain(log2_size), *values) == expected, (draw, n)


def random_rows(rng: np.random.Generator, n: int) -> U64:
    return rng.integers(0, 1 << 62, (n, 4), np.uint64)


@pytest.mark.parametrize(("log2_size", "n"), [(13, 1 << 13), (14, 10001)])
def test_identity_at_a_random_point_for_large_sizes(log2_size: int, n: int, draw: Draw) -> None:
    domain, rng = Domain(log2_size), np.random.default_rng(draw.seed)
    from cuzk.field.fr_vector import mul

    a, b = random_rows(rng, n), random_rows(rng, n)
    c, at, x = mul(a, b), [], draw.random.randrange(R)
    for values in (a, b, c):
        array = np.zeros((domain.size, 4), np.uint64)
        array[:n] = values
        domain.intt(array)
        at.append(spec_ntt.evaluate(Fr, [v * pow(2**256, -1, R) for v in from_limbs(array)], x))
    h = spec_ntt.evaluate(Fr, from_limbs(quotient(a, b, c, domain)), x)
    assert (at[0] * at[1] - at[2]) % R == h * (pow(x, domain.size, R) - 1) % R, draw


def test_zero_and_constant_rows() -> None:
    domain = Domain(6)
    assert run(domain, [0] * 64, [0] * 64, [0] * 64) == [0] * 63
    assert run(domain, [R - 1] * 64, [R - 1] * 64, [1] * 64) == [0] * 63


@pytest.mark.parametrize(("n", "nb", "nc"), [(65, 65, 65), (64, 63, 64), (64, 64, 1)])
def test_refuses_rows_that_do_not_fit(n: int, nb: int, nc: int) -> None:
    with pytest.raises(InternalError):
        quotient(fr_mont([1] * n), fr_mont([1] * nb), fr_mont([1] * nc), Domain(6))
