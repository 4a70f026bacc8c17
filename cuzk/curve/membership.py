"""Are many points of a curve all in its subgroup of order r? Random buckets answer for a fraction of the price of one by one.

Throw each point into one of B buckets at random and test the B sums. If some point P is outside the subgroup, fix where all
others go: then at most one choice of P's bucket leaves all sums inside, namely where the others sum to -P modulo the subgroup
and all other buckets are inside already. So a round lets a bad set pass with probability at most 1/B, whatever the set and
however small the factors of the cofactor, and rounds are independent.
"""

from __future__ import annotations

import secrets

import numpy as np

from cuzk.curve.group import Group
from cuzk.field.limbs import U64
from cuzk.jit import kernel

# A set with a point outside passes with probability at most 2^-64.
SECURITY_BITS = 64
# Up to so many points are tested one by one; above MOST, buckets no longer fit the cache: split there.
FEW, MOST = 1 << 11, 1 << 18
_POINTS_A_BUCKET = 1 << 8


class Membership:
    """The test for one group."""

    def __init__(self, group: Group) -> None:
        field, infinity = group.formulas.field, group.formulas.infinity
        add_affine, is_in_subgroup = group.formulas.add_affine, group.is_in_subgroup
        self._group = group

        @kernel(variant=group.name)
        def fill_buckets(buckets, count, points, assignment):
            for j in range(count):
                field.store(buckets, 3 * j, infinity[0])
                field.store(buckets, 3 * j + 1, infinity[1])
                field.store(buckets, 3 * j + 2, infinity[2])
            for i in range(len(assignment)):
                k = 3 * np.int64(assignment[i])
                p = field.load(buckets, k), field.load(buckets, k + 1), field.load(buckets, k + 2)
                p = add_affine(p, field.load(points, 2 * i), field.load(points, 2 * i + 1))
                field.store(buckets, k, p[0])
                field.store(buckets, k + 1, p[1])
                field.store(buckets, k + 2, p[2])

        @kernel(variant=group.name)
        def mark_outside(outside, points, first_only):
            for i in range(len(outside)):
                outside[i] = not is_in_subgroup(field.load(points, 2 * i), field.load(points, 2 * i + 1))
                if first_only and outside[i]:
                    break

        self._fill_buckets, self._mark_outside = fill_buckets, mark_outside

    def first_outside(self, points_mont: U64) -> int | None:
        """Index of a point that is not in the subgroup, or None; points of the curve, uint64[n, limbs], infinity allowed.

        With more than FEW points it need not be the first one; a set with one outside passes with a probability of at most 2^-64.
        """
        if len(points_mont) <= FEW:
            return self._first_one_by_one(points_mont)
        log2_buckets = (len(points_mont) // _POINTS_A_BUCKET).bit_length() - 1
        count, limbs = 1 << log2_buckets, self._group.limbs // 2
        buckets, scratch = np.empty(3 * count * limbs, np.uint64), np.empty(count * limbs, np.uint64)
        sums, outside = np.empty(2 * count * limbs, np.uint64), np.empty(count, np.bool_)
        generator = np.random.Generator(np.random.PCG64(secrets.randbits(128)))
        for _ in range(-(-SECURITY_BITS // log2_buckets)):
            assignment = generator.integers(0, count, len(points_mont), np.uint16)
            self._fill_buckets(buckets, count, points_mont.reshape(-1), assignment)
            self._group.kernels["normalise"](sums, buckets, scratch, count)
            self._mark_outside(outside, sums, False)
            if outside.any():
                suspects = np.flatnonzero(outside[assignment])
                found = self._first_one_by_one(points_mont[suspects])
                assert found is not None, "a sum of points of the subgroup is outside it"
                return int(suspects[found])
        return None

    def _first_one_by_one(self, points_mont: U64) -> int | None:
        outside = np.zeros(len(points_mont), np.bool_)
        self._mark_outside(outside, points_mont.reshape(-1), True)
        return int(np.argmax(outside)) if outside.any() else None
