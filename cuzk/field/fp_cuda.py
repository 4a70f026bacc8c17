"""Fp on CUDA: device functions on tuples of 12 uint32 limbs, Montgomery form with radix 2^384.

`mul`, `sqr`, `add`, `sub` are fully reduced. The others leave out comparisons: p < 2^384 / 9.8, so that a product of factors
below x p and y p stays below 2 p without its last subtraction while x y < 9.8.
"""

from __future__ import annotations

from cuzk.cuda import memory
from cuzk.cuda.inline import inline, join, operation, split
from cuzk.field import ptx
from cuzk.field.limbs import FP_RADIX
from cuzk.field.params import P

LIMBS = 12
BYTES = 4 * LIMBS
_UNRADIX = pow(FP_RADIX, -1, P)
_NEGATIVE_INVERSE = -pow(P, -1, FP_RADIX) % FP_RADIX


def _lazy_product(a: int, b: int) -> int:
    return (a * b + (a * b * _NEGATIVE_INVERSE % FP_RADIX) * P) // FP_RADIX


def _lazy_product_sum(a: int, b: int, c: int, d: int) -> int:
    total = a * b + c * d
    return (total + (total * _NEGATIVE_INVERSE % FP_RADIX) * P) // FP_RADIX


# Below p in, below p out.
mul = operation(ptx.product(P, LIMBS), lambda a, b: a * b * _UNRADIX % P)
sqr = operation(ptx.square(P, LIMBS), lambda a: a * a * _UNRADIX % P)
add = operation(ptx.add(P, LIMBS), lambda a, b: (a + b) % P)
sub = operation(ptx.subtract(P, LIMBS), lambda a, b: (a - b) % P)
# Factors below x p and y p with x y < 9.8 in, below 2 p out.
mul_lazy = operation(ptx.product(P, LIMBS, lazy=True), _lazy_product)
sqr_lazy = operation(ptx.square(P, LIMBS, lazy=True), lambda a: _lazy_product(a, a))
# Below 2 p in and out.
add_lazy = operation(ptx.add(2 * P, LIMBS), lambda a, b: (a + b) % (2 * P))
sub_lazy = operation(ptx.subtract(2 * P, LIMBS), lambda a, b: a - b + (2 * P if a < b else 0))
neg_lazy = operation(ptx.complement(2 * P, LIMBS), lambda a: 2 * P - a)
# a − b + 2 p and a + b as they are.
sub_plus = operation(ptx.subtract_plus(2 * P, LIMBS), lambda a, b: a - b + 2 * P)
add_plain = operation(ptx.add_plain(LIMBS), lambda a, b: a + b)
# a b + c d with a + c below 8 p and x y + z w < 9.8 in, below 2 p out: one reduction.
product_sum = operation(ptx.product_sum(P, LIMBS), _lazy_product_sum)
# (flag, a, b) ↦ a if the flag is not 0, else b. (flag, a) ↦ 2 p − a if the flag is not 0, else a.
choose = inline(
    ptx.choose(LIMBS).text, ("u32", LIMBS), [("u32", 1), ("u32", LIMBS), ("u32", LIMBS)], lambda flag, a, b: a if flag else b
)
negate_if = inline(
    ptx.complement_if(2 * P, LIMBS).text,
    ("u32", LIMBS),
    [("u32", 1), ("u32", LIMBS)],
    lambda flag, a: split(2 * P - join(a), LIMBS) if flag else a,
)
# Below 4 p in, below p out.
reduce = operation(ptx.reduce_by([2 * P, P], LIMBS), lambda a: a % P)

load = memory.load(LIMBS)
store = memory.store(LIMBS)
