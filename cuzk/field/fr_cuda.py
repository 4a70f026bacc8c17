"""Fr on CUDA: device functions on tuples of 8 uint32 limbs, Montgomery form with radix 2^256.

`mul`, `add`, `sub` are fully reduced. The `_lazy` ones keep values below 2 r: r < 2^256 / 2.2, so that a product of a reduced
factor and any other needs no last subtraction.
"""

from __future__ import annotations

from typing import Any

from cuzk.cuda import memory
from cuzk.cuda.inline import operation
from cuzk.field import ptx, ptx_quotient
from cuzk.field.limbs import FR_RADIX
from cuzk.field.params import R

LIMBS = 8
BYTES = 4 * LIMBS
_UNRADIX = pow(FR_RADIX, -1, R)
_NEGATIVE_INVERSE = -pow(R, -1, FR_RADIX) % FR_RADIX


def _lazy_product(w: int, a: int) -> int:
    assert w < R
    return (w * a + (w * a * _NEGATIVE_INVERSE % FR_RADIX) * R) // FR_RADIX


def quotient_of(w: int) -> int:
    """floor(w 2^256 / r), the third argument of `mul_quotient`."""
    return ptx_quotient.quotient_of(w, R, LIMBS)


def _by_quotient(a: int, w: int, quotient: int) -> int:
    assert a < 2 * R and w < R and quotient == quotient_of(w)
    return a * w % R


# Below r in, below r out.
mul = operation(ptx.product(R, LIMBS), lambda a, b: a * b * _UNRADIX % R)
add = operation(ptx.add(R, LIMBS), lambda a, b: (a + b) % R)
sub = operation(ptx.subtract(R, LIMBS), lambda a, b: (a - b) % R)
# First factor below r, second any 256-bit value in, below 2 r out.
mul_lazy = operation(ptx.product(R, LIMBS, lazy=True), _lazy_product)
# Below 2 r in and out.
add_lazy = operation(ptx.add(2 * R, LIMBS), lambda a, b: (a + b) % (2 * R))
sub_lazy = operation(ptx.subtract(2 * R, LIMBS), lambda a, b: (a - b) % (2 * R))
# a below 2 r, plain w below r, floor(w 2^256 / r) in; below 2 r out. 86 wide products against 112 of a Montgomery product.
mul_quotient = operation(ptx_quotient.product_by_quotient(R, LIMBS), _by_quotient)
# w 2^256 mod r in, floor(w 2^256 / r) out: their sum of w 2^256 = quotient r + value vanishes modulo 2^256.
quotient_of_mont = operation(ptx_quotient.low_product(LIMBS, _NEGATIVE_INVERSE), lambda value: quotient_of(value * _UNRADIX % R))
# Below 2 r in, below r out.
reduce = operation(ptx.reduce_by([R], LIMBS), lambda a: a % R)


def mul_by(w: int) -> Any:
    """The device function a ↦ a w for a plain constant w below r, which is in its code. Range: below 2 r in and out."""
    return operation(ptx_quotient.product_by_quotient(R, LIMBS, w), lambda a: a * w % R)


from_mont = operation(ptx_quotient.from_mont(R, LIMBS), lambda a: a * _UNRADIX % R)
load = memory.load(LIMBS)
store = memory.store(LIMBS)
load_constant = memory.load(LIMBS, constant=True)
