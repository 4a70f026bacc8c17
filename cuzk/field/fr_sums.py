"""Sums of Fr elements and of products of them that are reduced once, at the end.

A *sum* is an integer of five 64-bit limbs, a *product sum* one of nine; as Numba values both are single LLVM integers, like the
elements themselves (`field.prime`). All functions are building blocks for kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cuzk.field import fr
from cuzk.field.limbs import FR_LIMBS, LIMB_BITS
from cuzk.field.params import R
from cuzk.field.prime import ElementType

SUM, PRODUCTS = ElementType("fr_sum", FR_LIMBS + 1), ElementType("fr_products", 2 * FR_LIMBS + 1)
_FR = fr.FIELD.type
_LIMB, _SUM, _PRODUCTS = (ir.IntType(LIMB_BITS * n) for n in (1, SUM.limbs, PRODUCTS.limbs))
_NEGATED_INVERSE = -pow(R, -1, 1 << LIMB_BITS) % (1 << LIMB_BITS)
# Barrett: ((t >> DROP) * MU) >> KEEP is floor(t / r) or at most two less, for t < 2^300: one product of two limbs.
_DROP, _KEEP = 240, 78
_MU = (1 << (_DROP + _KEEP)) // R
assert _MU < 1 << LIMB_BITS


def _zero(kind: ElementType) -> Any:
    @intrinsic
    def zero(_typingctx):
        return kind(), lambda _c, _b, _s, _a: ir.Constant(ir.IntType(LIMB_BITS * kind.limbs), 0)

    return zero


def _define1(result: ElementType, kind: ElementType, emit: Callable[..., Any]) -> Any:
    @intrinsic
    def operation(_typingctx, x):
        return result(kind), lambda _c, b, _s, args: emit(b, *args)

    return operation


def _define2(result: ElementType, kinds: tuple[Any, Any], emit: Callable[..., Any]) -> Any:
    @intrinsic
    def operation(_typingctx, x, y):
        return result(*kinds), lambda _c, b, _s, args: emit(b, *args)

    return operation


def _define3(result: ElementType, kinds: tuple[Any, Any, Any], emit: Callable[..., Any]) -> Any:
    @intrinsic
    def operation(_typingctx, x, y, z):
        return result(*kinds), lambda _c, b, _s, args: emit(b, *args)

    return operation


def _add_if(b: ir.IRBuilder, total: Any, x: Any, bit: Any) -> Any:
    mask = b.sext(b.trunc(bit, ir.IntType(1)), x.type)
    return b.add(total, b.zext(b.and_(x, mask), _SUM))


def _add(b: ir.IRBuilder, total: Any, x: Any) -> Any:
    return b.add(total, b.zext(x, _SUM))


def _sub(b: ir.IRBuilder, total: Any, x: Any) -> Any:
    return b.add(total, b.zext(b.sub(ir.Constant(x.type, R), x), _SUM))


def _reduce(b: ir.IRBuilder, total: Any) -> Any:
    double = ir.IntType(2 * LIMB_BITS)
    high = b.zext(b.trunc(b.lshr(total, ir.Constant(_SUM, _DROP)), _LIMB), double)
    quotient = b.lshr(b.mul(high, ir.Constant(double, _MU)), ir.Constant(double, _KEEP))
    t = b.sub(total, b.mul(b.zext(quotient, _SUM), ir.Constant(_SUM, R)))
    for _ in range(2):
        t = b.select(b.icmp_unsigned("<", t, ir.Constant(_SUM, R)), t, b.sub(t, ir.Constant(_SUM, R)))
    return b.trunc(t, ir.IntType(LIMB_BITS * FR_LIMBS))


def _mul_add(b: ir.IRBuilder, total: Any, x: Any, y: Any) -> Any:
    wide = ir.IntType(2 * LIMB_BITS * FR_LIMBS)
    return b.add(total, b.zext(b.mul(b.zext(x, wide), b.zext(y, wide)), _PRODUCTS))


def _montgomery(b: ir.IRBuilder, total: Any) -> Any:
    """Montgomery's reduction limb by limb on a window of five limbs; the next limb enters at the top."""
    window = b.zext(b.trunc(total, ir.IntType(LIMB_BITS * FR_LIMBS)), _SUM)
    for i in range(FR_LIMBS):
        m = b.mul(b.trunc(window, _LIMB), ir.Constant(_LIMB, _NEGATED_INVERSE))
        window = b.add(window, b.mul(b.zext(m, _SUM), ir.Constant(_SUM, R)))
        window = b.lshr(window, ir.Constant(_SUM, LIMB_BITS))
        places = LIMB_BITS * (FR_LIMBS + i)
        # The last round takes the two top limbs.
        part = b.lshr(total, ir.Constant(_PRODUCTS, places))
        part = b.zext(b.trunc(part, _LIMB if i < FR_LIMBS - 1 else ir.IntType(2 * LIMB_BITS)), _SUM)
        window = b.add(window, b.shl(part, ir.Constant(_SUM, LIMB_BITS * (FR_LIMBS - 1))))
    return window


sum_zero, products_zero = _zero(SUM), _zero(PRODUCTS)
# t + x; t − x (as t + (r − x)); t + x if bit, else t. At most 2^44 steps in all.
sum_add, sum_sub = _define2(SUM, (SUM, _FR), _add), _define2(SUM, (SUM, _FR), _sub)
sum_add_if = _define3(SUM, (SUM, _FR, types.uint8), _add_if)
# t + u of two sums.
sum_join = _define2(SUM, (SUM, SUM), lambda b, t, u: b.add(t, u))
# t mod r for t < 2^300.
sum_reduce = _define1(_FR, SUM, _reduce)
# t + x y as integers. At most 2^44 steps.
products_add = _define3(PRODUCTS, (PRODUCTS, _FR, _FR), _mul_add)
# A sum that is t / 2^256 modulo r, below t / 2^256 + r.
products_montgomery = _define1(SUM, PRODUCTS, _montgomery)
