"""Groups of affine points held in arrays: what Python code does with points, one compiled kernel an operation.

Points are uint64[n, 12] (G1) or uint64[n, 24] (G2) in Montgomery form, infinity all zeros (`field.limbs`). Kernels see the same
memory and count coordinates: point i has x at 2i and y at 2i + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.curve.weierstrass import Formulas
from cuzk.field.batch import inversion
from cuzk.field.limbs import FP_BYTES, FP_LIMBS, FR_LIMBS, U64, to_limbs
from cuzk.jit import kernel

SCALAR_BITS = 64 * FR_LIMBS
_WINDOWS = range(1, 13)


@dataclass(frozen=True, slots=True)
class Group:
    """One of the two source groups: `name` "g1" or "g2", its formulas, and `is_in_subgroup(x, y)` as a compiled function."""

    name: str
    formulas: Formulas
    is_in_subgroup: Any
    kernels: dict[str, Any]

    @property
    def limbs(self) -> int:
        """uint64 limbs of an affine point."""
        return int(2 * self.formulas.field.DEGREE * FP_LIMBS)

    @property
    def bytes(self) -> int:
        """Bytes of an uncompressed point."""
        return int(2 * self.formulas.field.DEGREE * FP_BYTES)

    def add(self, a_mont: U64, b_mont: U64) -> U64:
        """P + Q for every pair of points, any shape ending in `limbs`. Cost 1 I each."""
        a, b = np.broadcast_arrays(a_mont, b_mont)
        out = np.empty(a.shape, np.uint64)
        self.kernels["add"](out.reshape(-1), _flat(a), _flat(b), out.size // self.limbs)
        return out

    def neg(self, a_mont: U64) -> U64:
        """-P for every point, any shape ending in `limbs`."""
        out = np.empty(a_mont.shape, np.uint64)
        self.kernels["neg"](out.reshape(-1), _flat(a_mont), out.size // self.limbs)
        return out

    def mul(self, point_mont: U64, scalar: int) -> U64:
        """k P for one point; see `mul_each`."""
        return self.mul_each(point_mont.reshape(1, -1), [scalar])[0]

    def mul_each(self, points_mont: U64, scalars: Sequence[int]) -> U64:
        """k_i P_i for every i.

        Range   0 <= k < 2^256, not reduced modulo r: right for points outside the subgroup too
        Cost    one doubling a bit, one mixed addition a bit that is set, 1 I in all
        """
        assert len(points_mont) == len(scalars)
        n, bits = len(scalars), _top_bit(scalars)
        field_limbs = self.limbs // 2
        jacobian = np.empty((3 * n, field_limbs), np.uint64)
        scratch = np.empty((n, field_limbs), np.uint64)
        out = np.empty((n, self.limbs), np.uint64)
        if n:
            self.kernels["mul_each"](jacobian.reshape(-1), _flat(points_mont), to_limbs(scalars, FR_LIMBS), bits)
            self.kernels["normalise"](out.reshape(-1), jacobian.reshape(-1), scratch.reshape(-1), n)
        return out

    def combine(self, points_mont: U64, scalars: Sequence[int]) -> U64:
        """The sum of k_i P_i as one point, 0 <= k < 2^256, by windows and buckets on one thread.

        Cost    about bits/w (n + 2^(w + 1)) additions for windows of w bits; zero digits cost nothing
        """
        assert len(points_mont) == len(scalars)
        n, bits = len(scalars), _top_bit(scalars)
        window = min(_WINDOWS, key=lambda w: -(-bits // w) * (n + (2 << w)))
        buckets = np.empty((3 << window, self.limbs // 2), np.uint64)
        out = np.zeros(self.limbs, np.uint64)
        if n and bits:
            scalar_limbs = to_limbs(scalars, FR_LIMBS)
            self.kernels["combine"](out, _flat(points_mont), scalar_limbs, buckets.reshape(-1), bits, window)
        return out


def _flat(a: U64) -> U64:
    """The array as kernels take it: flat, C-contiguous, writable."""
    return np.require(a, np.uint64, ["C", "W"]).reshape(-1)


def _top_bit(scalars: Sequence[int]) -> int:
    """Bit length of the largest scalar."""
    bits = max((k.bit_length() for k in scalars), default=0)
    if bits > SCALAR_BITS or any(k < 0 for k in scalars):
        raise ValueError("scalars must be in [0, 2^256)")
    return bits


def group(name: str, curve: Formulas, is_in_subgroup: Any) -> Group:
    """Define the group's kernels; each is compiled at its first call."""
    field, infinity = curve.field, curve.infinity
    from_affine, to_affine, double, add_affine = curve.from_affine, curve.to_affine, curve.double, curve.add_affine
    invert_all = inversion(field)

    @kernel(variant=name)
    def add(out, a, b, n):
        for i in range(n):
            p = from_affine(field.load(a, 2 * i), field.load(a, 2 * i + 1))
            x, y = to_affine(add_affine(p, field.load(b, 2 * i), field.load(b, 2 * i + 1)))
            field.store(out, 2 * i, x)
            field.store(out, 2 * i + 1, y)

    @kernel(variant=name)
    def neg(out, a, n):
        for i in range(n):
            field.store(out, 2 * i, field.load(a, 2 * i))
            field.store(out, 2 * i + 1, field.neg(field.load(a, 2 * i + 1)))

    @kernel(variant=name)
    def mul_each(jacobian, points, scalars, bits):
        for i in range(len(scalars)):
            x = field.load(points, 2 * i)
            y = field.load(points, 2 * i + 1)
            p = infinity
            for k in range(bits - 1, -1, -1):
                p = double(p)
                if (scalars[i, k >> 6] >> np.uint64(k & 63)) & np.uint64(1):
                    p = add_affine(p, x, y)
            field.store(jacobian, 3 * i, p[0])
            field.store(jacobian, 3 * i + 1, p[1])
            field.store(jacobian, 3 * i + 2, p[2])

    @kernel(variant=name)
    def normalise(out, jacobian, scratch, n):
        invert_all(scratch, jacobian, 2, 3, n)
        for i in range(n):
            z = field.load(scratch, i)
            zz = field.sqr(z)
            field.store(out, 2 * i, field.mul(field.load(jacobian, 3 * i), zz))
            field.store(out, 2 * i + 1, field.mul(field.load(jacobian, 3 * i + 1), field.mul(zz, z)))

    return Group(
        name,
        curve,
        is_in_subgroup,
        {"add": add, "neg": neg, "mul_each": mul_each, "normalise": normalise, "combine": _combine(name, curve)},
    )


def _combine(name: str, curve: Formulas) -> Any:
    """The kernel of `Group.combine`."""
    field, infinity = curve.field, curve.infinity
    to_affine, double, add_points, add_affine = curve.to_affine, curve.double, curve.add, curve.add_affine

    @kernel(variant=name)
    def combine(out, points, scalars, buckets, bits, window):
        mask = (np.uint64(1) << np.uint64(window)) - np.uint64(1)
        total = infinity
        for w in range((bits - 1) // window, -1, -1):
            for _ in range(window):
                total = double(total)
            for k in range(3 << window):
                field.store(buckets, k, field.ZERO)
            top: Any = 0
            for i in range(len(scalars)):
                word, shift = (w * window) >> 6, np.uint64((w * window) & 63)
                digit = scalars[i, word] >> shift
                if shift + np.uint64(window) > np.uint64(64) and word + 1 < scalars.shape[1]:
                    digit |= scalars[i, word + 1] << (np.uint64(64) - shift)
                d = np.int64(digit & mask)
                if d:
                    top = max(top, d)
                    p = field.load(buckets, 3 * d), field.load(buckets, 3 * d + 1), field.load(buckets, 3 * d + 2)
                    p = add_affine(p, field.load(points, 2 * i), field.load(points, 2 * i + 1))
                    field.store(buckets, 3 * d, p[0])
                    field.store(buckets, 3 * d + 1, p[1])
                    field.store(buckets, 3 * d + 2, p[2])
            # The sum of d bucket[d] is the sum of the running sums from the top.
            running = infinity
            for k in range(top, 0, -1):
                p = field.load(buckets, 3 * k), field.load(buckets, 3 * k + 1), field.load(buckets, 3 * k + 2)
                running = add_points(running, p)
                total = add_points(total, running)
        x, y = to_affine(total)
        field.store(out, 0, x)
        field.store(out, 1, y)

    return combine
