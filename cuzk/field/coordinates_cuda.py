"""The coordinate fields of both curves on CUDA, with the same operations, so that kernels over points are written once.

A coordinate in Fp is held by one thread. One in Fp2 is held by two neighbouring threads, c0 by the even one and c1 by the odd
one: each works on one element of Fp, as in G1, and they exchange limbs. A product in Fp2 is then a sum of two products with
one reduction in each thread. All threads of a warp must take part in what is marked with (w) below, for Fp2.

Values are below 2 p unless said otherwise; 0 is 0 or p or 2 p then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cuzk.cuda.constants import constants
from cuzk.cuda.inline import split
from cuzk.cuda.warp import thread, together
from cuzk.cuda.words import uint32
from cuzk.field import fp_cuda as fp
from cuzk.field.fp_inverse_cuda import inverse as fp_inverse
from cuzk.field.limbs import FP_RADIX
from cuzk.field.params import P
from cuzk.jit import cuda_shared

Function = Callable[..., Any]
ZERO = constants((0,) * fp.LIMBS)
_ONE = constants(split(FP_RADIX % P, fp.LIMBS))
_LOW_1, _LOW_2, _LOW_3 = constants(tuple(k * P & 0xFFFFFFFF for k in (1, 2, 3)))
_partner, _any = together(fp.LIMBS)


@dataclass(frozen=True)
class Coordinates:
    """One coordinate field. `parts`: threads that hold one element; `part()`: which of them this thread is."""

    name: str
    parts: int
    part: Function
    mul: Function  # (w) factors below 2 p; over Fp below x p and y p with x y < 9.8
    sqr: Function  # (w)
    inverse: Function  # (w) of a value that is not 0
    add: Function
    sub: Function
    difference: Function  # a − b for one factor of a product: over Fp below 4 p
    may_vanish: Function  # a difference may be 0; rarely true otherwise
    vanishes: Function  # (w) a value or difference is 0
    same_for_all_parts: Function  # (w) a flag is true in all threads that hold the element
    anywhere: Function  # (w) a flag is true in some thread that must act together with this one
    one: Function
    triple: Function


@cuda_shared
def is_zero(a):
    """Whether all limbs are 0."""
    return (a[0] | a[1] | a[2] | a[3] | a[4] | a[5] | a[6] | a[7] | a[8] | a[9] | a[10] | a[11]) == uint32(0)


@cuda_shared
def _vanishes(a):
    return is_zero(fp.reduce(a))


@cuda_shared
def _triple(a):
    return fp.add_lazy(fp.add_lazy(a, a), a)


@cuda_shared
def _part_of_one():
    return uint32(0)


@cuda_shared
def _fp_may_vanish(d):
    return (d[0] == _LOW_1) | (d[0] == _LOW_2) | (d[0] == _LOW_3)


@cuda_shared
def _itself(flag):
    return flag


@cuda_shared
def _fp_one():
    return _ONE


FP = Coordinates(
    "g1",
    1,
    _part_of_one,
    fp.mul_lazy,
    fp.sqr_lazy,
    fp_inverse,
    fp.add_lazy,
    fp.sub_lazy,
    fp.sub_plus,
    _fp_may_vanish,
    _vanishes,
    _itself,
    _itself,
    _fp_one,
    _triple,
)


@cuda_shared
def _part_of_two():
    return uint32(thread() & uint32(1))


@cuda_shared
def _fp2_mul(a, b):
    # Even: a0 b0 − a1 b1; odd: a1 b0 + a0 b1.
    odd = _part_of_two()
    a_other = _partner(a)
    b_other = _partner(b)
    return fp.product_sum(
        a, fp.choose(odd, b_other, b), fp.negate_if(uint32(odd ^ uint32(1)), a_other), fp.choose(odd, b, b_other)
    )


@cuda_shared
def _fp2_sqr(a):
    # Even: (a0 + a1) (a0 − a1); odd: 2 a1 a0. One factor is below 4 p.
    odd = _part_of_two()
    other = _partner(a)
    return fp.mul_lazy(fp.add_plain(a, fp.choose(odd, a, other)), fp.choose(odd, other, fp.sub_lazy(a, other)))


@cuda_shared
def _fp2_inverse(a):
    # Conjugate over norm.
    square = fp.sqr_lazy(a)
    inverse = fp_inverse(fp.add_lazy(square, _partner(square)))
    return fp.mul_lazy(fp.negate_if(_part_of_two(), a), inverse)


@cuda_shared
def _fp2_may_vanish(d):
    return (d[0] == uint32(0)) | (d[0] == _LOW_1) | (d[0] == _LOW_2)


@cuda_shared
def _in_both(flag):
    word = uint32(1) if flag else uint32(0)
    other = _partner((word, word, word, word, word, word, word, word, word, word, word, word))
    return (word & other[0]) != uint32(0)


@cuda_shared
def _fp2_vanishes(a):
    return _in_both(_vanishes(a))


@cuda_shared
def _fp2_one():
    return fp.choose(_part_of_two(), ZERO, _ONE)


FP2 = Coordinates(
    "g2",
    2,
    _part_of_two,
    _fp2_mul,
    _fp2_sqr,
    _fp2_inverse,
    fp.add_lazy,
    fp.sub_lazy,
    fp.sub_lazy,
    _fp2_may_vanish,
    _fp2_vanishes,
    _in_both,
    _any,
    _fp2_one,
    _triple,
)
FIELDS = {"g1": FP, "g2": FP2}
