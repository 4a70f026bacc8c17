"""The multiples of a point by powers of two, on Python integers: some hundred steps, once for a fixed base.

Jacobian coordinates (X : Y : Z) = (X/Z², Y/Z³), Z = 0 at infinity. A coordinate is an integer (G1) or a pair of integers (G2);
both fields give the same operations, so the formulas are written once. Sums are not reduced: only products are.

Source  explicit-formulas database, short Weierstrass curves with a = 0, Jacobian: dbl-2009-l.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cuzk.field.limbs import FP_LIMBS, G1_LIMBS, U64, fp_ints, fp_mont
from cuzk.field.params import P

Jacobian = tuple[Any, Any, Any]


class _Fp:
    zero: Any = 0
    one: Any = 1

    def mul(self, x: Any, y: Any) -> Any:
        return x * y % P

    def sub(self, x: Any, y: Any) -> Any:
        return x - y

    def times(self, k: int, x: Any) -> Any:
        return k * x

    def is_zero(self, x: Any) -> bool:
        return not x % P

    def inv(self, x: Any) -> Any:
        return pow(x, -1, P)

    def read(self, limbs: list[int]) -> Any:
        return limbs[0]

    def write(self, x: Any) -> list[int]:
        return [x]


class _Fp2(_Fp):
    zero = (0, 0)
    one = (1, 0)

    def mul(self, x: Any, y: Any) -> Any:
        (a, b), (c, d) = x, y
        t, u = a * c, b * d
        return (t - u) % P, ((a + b) * (c + d) - t - u) % P

    def sub(self, x: Any, y: Any) -> Any:
        return x[0] - y[0], x[1] - y[1]

    def times(self, k: int, x: Any) -> Any:
        return k * x[0], k * x[1]

    def is_zero(self, x: Any) -> bool:
        return not x[0] % P and not x[1] % P

    def inv(self, x: Any) -> Any:
        n = pow(x[0] * x[0] + x[1] * x[1], -1, P)
        return x[0] * n % P, -x[1] * n % P

    def read(self, limbs: list[int]) -> Any:
        return limbs[0], limbs[1]

    def write(self, x: Any) -> list[int]:
        return list(x)


def _field(limbs: int) -> _Fp:
    return _Fp() if limbs == G1_LIMBS else _Fp2()


def _double(f: _Fp, p: Jacobian) -> Jacobian:
    mul, sub, times = f.mul, f.sub, f.times
    x, y, z = p
    a, b = mul(x, x), mul(y, y)
    d, e = times(4, mul(x, b)), times(3, a)
    x3 = sub(mul(e, e), times(2, d))
    return x3, sub(mul(e, sub(d, x3)), times(8, mul(b, b))), times(2, mul(y, z))


def _read(f: _Fp, points_mont: U64) -> list[Jacobian]:
    """Points as Jacobian coordinates."""
    numbers, half = fp_ints(points_mont.reshape(-1, FP_LIMBS)), points_mont.shape[1] // (2 * FP_LIMBS)
    out = []
    for i in range(0, len(numbers), 2 * half):
        x, y = f.read(numbers[i : i + half]), f.read(numbers[i + half : i + 2 * half])
        out.append((f.one, f.one, f.zero) if x == f.zero and y == f.zero else (x, y, f.one))
    return out


def _write(f: _Fp, points: list[Jacobian], limbs: int) -> U64:
    """Affine containers, with one inversion for all points (Montgomery's trick)."""
    prefix, product = [], f.one
    for _, _, z in points:
        prefix.append(product)
        if not f.is_zero(z):
            product = f.mul(product, z)
    inverse, numbers = f.inv(product), []
    for (x, y, z), before in zip(reversed(points), reversed(prefix), strict=True):
        if f.is_zero(z):
            numbers.append(f.write(f.zero) * 2)
            continue
        zi = f.mul(inverse, before)
        inverse = f.mul(inverse, z)
        zi2 = f.mul(zi, zi)
        numbers.append(f.write(f.mul(x, zi2)) + f.write(f.mul(y, f.mul(zi, zi2))))
    flat = [v for point in reversed(numbers) for v in point]
    return np.ascontiguousarray(fp_mont(flat)).reshape(-1, limbs)


def doublings(point_mont: U64, n: int) -> U64:
    """P, 2 P, 4 P, … 2^(n − 1) P.

    Shape   uint64[12] (G1) or uint64[24] (G2), affine, infinity all zeros; result uint64[n, 12 or 24]
    Domain  Montgomery
    Spec    spec.curve.Curve.multiples
    """
    limbs = len(point_mont)
    f = _field(limbs)
    out = _read(f, point_mont.reshape(1, limbs))
    for _ in range(n - 1):
        out.append(_double(f, out[-1]))
    return _write(f, out[:n], limbs)
