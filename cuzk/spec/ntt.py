"""Polynomials by their coefficients and by their values on a group of roots of unity.

The domain of size m = 2^k is 1, w, w^2, .. with w of order m; the coset is g, g w, g w^2, .. with g the field's
generator (7 for Fr). Everything is in natural order. Functions take the field first and work for any `PrimeField`.

Source  bellperson src/domain.rs at d1fa22c for the choice of w and g.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuzk.spec.field import PrimeField


def log2_domain(rows: int) -> int:
    """k of the smallest power of two 2^k >= rows."""
    return max(rows - 1, 0).bit_length()


def _log2_exact(values: Sequence[int]) -> int:
    k = len(values).bit_length() - 1
    if not values or len(values) != 1 << k:
        raise ValueError(f"{len(values)} values: not a power of two")
    return k


def evaluate(field: PrimeField, coeffs: Sequence[int], x: int) -> int:
    """The polynomial's value at x, by Horner's rule."""
    out = 0
    for c in reversed(coeffs):
        out = (out * x + c) % field.modulus
    return out


def dft(field: PrimeField, coeffs: Sequence[int]) -> list[int]:
    """Values at 1, w, w^2, .., by the definition: out[j] = sum_i coeffs[i] w^(i j). Quadratic cost."""
    w = field.root_of_unity(_log2_exact(coeffs))
    return [evaluate(field, coeffs, field.pow(w, j)) for j in range(len(coeffs))]


def ntt(field: PrimeField, coeffs: Sequence[int]) -> list[int]:
    """The same values as `dft`, by halves.

    P(x) = E(x^2) + x O(x^2) with the even and the odd coefficients; the squares of the domain are the domain of half
    the size, and the second half of the points are the negatives of the first.
    """
    w = field.root_of_unity(_log2_exact(coeffs))
    return _ntt(field, list(coeffs), w)


def _ntt(field: PrimeField, coeffs: list[int], w: int) -> list[int]:
    if len(coeffs) == 1:
        return coeffs
    p = field.modulus
    even = _ntt(field, coeffs[0::2], w * w % p)
    odd = _ntt(field, coeffs[1::2], w * w % p)
    first, second, x = [], [], 1
    for e, o in zip(even, odd, strict=True):
        first.append((e + x * o) % p)
        second.append((e - x * o) % p)
        x = x * w % p
    return first + second


def intt(field: PrimeField, evals: Sequence[int]) -> list[int]:
    """Coefficients from values at 1, w, w^2, ..: the transform with 1/w, divided by m."""
    w = field.root_of_unity(_log2_exact(evals))
    m_inv = field.inv(len(evals))
    return [field.mul(c, m_inv) for c in _ntt(field, list(evals), field.inv(w))]


def scale_by_powers(field: PrimeField, values: Sequence[int], g: int) -> list[int]:
    """out[i] = values[i] g^i: the coefficients of P(g x)."""
    out, power = [], 1
    for v in values:
        out.append(v * power % field.modulus)
        power = power * g % field.modulus
    return out


def coset_ntt(field: PrimeField, coeffs: Sequence[int]) -> list[int]:
    """Values at g, g w, g w^2, .."""
    return ntt(field, scale_by_powers(field, coeffs, field.generator))


def coset_intt(field: PrimeField, evals: Sequence[int]) -> list[int]:
    """Coefficients from values at g, g w, g w^2, .."""
    return scale_by_powers(field, intt(field, evals), field.inv(field.generator))


def vanishing_at(field: PrimeField, log2_size: int, x: int) -> int:
    """Z(x) = x^m - 1, which is zero exactly on the domain."""
    return field.sub(field.pow(x, 1 << log2_size), 1)


def lagrange_at(field: PrimeField, log2_size: int, x: int, count: int | None = None) -> Iterator[int]:
    """The first `count` (all by default) of L_i(x) = Z(x) / m * w^i / (x - w^i).

    L_i is the polynomial that is one at w^i and zero at the other points of the domain. Made in batches, so that a
    domain of millions needs little memory. Raises ValueError if x is in the domain.
    """
    m = 1 << log2_size
    p = field.modulus
    z = vanishing_at(field, log2_size, x)
    if z == 0:
        raise ValueError("the point lies in the domain")
    w = field.root_of_unity(log2_size)
    numerator = z * field.inv(m) % p  # times w^i
    power = 1  # w^i
    count = m if count is None else count
    for start in range(0, count, 1 << 12):
        powers = []
        for _ in range(min(1 << 12, count - start)):
            powers.append(power)
            power = power * w % p
        inverses = field.batch_inv([x - q for q in powers])
        for q, inverse in zip(powers, inverses, strict=True):
            yield numerator * q % p * inverse % p
