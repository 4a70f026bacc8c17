"""A prime field as a Numba value: one wide LLVM integer per element, Montgomery form, fully reduced.

An element of Fp is one i384, of Fr one i256; in memory that is the little-endian 64-bit limbs of `field.limbs`. LLVM turns wide
additions into carry chains and wide products into 64-bit ones on every target. Each operation is one LLVM function per module
which callers call, so that towers and curve formulas stay small to compile.

Not constant time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.imputils import lower_constant
from numba.extending import intrinsic, models, register_model, typeof_impl

_I1, _I64 = ir.IntType(1), ir.IntType(64)
Value = Any  # an LLVM value
Builder = Any  # llvmlite.ir.IRBuilder


class Element:
    """A constant of a prime field, to be used as a global in compiled code; `stored` is its Montgomery form."""

    def __init__(self, field: PrimeField, stored: int) -> None:
        self.field = field
        self.stored = stored


class ElementType(types.Type):
    """Numba's type of the elements of one prime field."""

    def __init__(self, name: str, limbs: int) -> None:
        self.limbs = limbs
        super().__init__(name=f"cuzk.{name}")


@register_model(ElementType)
class _ElementModel(models.PrimitiveModel):
    def __init__(self, manager: Any, fe_type: ElementType) -> None:
        super().__init__(manager, fe_type, ir.IntType(64 * fe_type.limbs))


@typeof_impl.register(Element)
def _typeof_element(value: Element, _context: Any) -> ElementType:
    return value.field.type


@lower_constant(ElementType)
def _lower_element(_context: Any, _builder: Any, ty: ElementType, value: Element) -> ir.Constant:
    return ir.Constant(ir.IntType(64 * ty.limbs), value.stored)


class Arithmetic:
    """LLVM bodies of the operations modulo an odd prime p < 2**(64 limbs - 1); they know nothing of Numba."""

    def __init__(self, name: str, modulus: int, limbs: int) -> None:
        self.name, self.modulus, self.limbs = name, modulus, limbs
        self.radix = 1 << (64 * limbs)
        self.int = ir.IntType(64 * limbs)
        self._wide = ir.IntType(64 * limbs + 64)
        self._p = ir.Constant(self.int, modulus)
        # t + m p = 0 mod 2^64 for m = t times this.
        self._negated_inverse = ir.Constant(_I64, -pow(modulus, -1, 1 << 64) % (1 << 64))

    def _reduce_once(self, b: Builder, x: Value) -> Value:
        """x in [0, 2p) to [0, p)."""
        return b.select(b.icmp_unsigned("<", x, self._p), x, b.sub(x, self._p))

    def add(self, b: Builder, x: Value, y: Value) -> Value:
        """x + y."""
        return self._reduce_once(b, b.add(x, y))

    def sub(self, b: Builder, x: Value, y: Value) -> Value:
        """x - y."""
        d = b.sub(x, y)
        return b.select(b.icmp_unsigned("<", x, y), b.add(d, self._p), d)

    def neg(self, b: Builder, x: Value) -> Value:
        """-x."""
        zero = ir.Constant(self.int, 0)
        return b.select(b.icmp_unsigned("==", x, zero), zero, b.sub(self._p, x))

    def mul(self, b: Builder, x: Value, y: Value) -> Value:
        """x y / R."""
        return self._dot(b, [(x, y)])

    def mul_add(self, b: Builder, x: Value, y: Value, z: Value, w: Value) -> Value:
        """(x y + z w) / R with one reduction; Fp only, see `_dot`."""
        return self._dot(b, [(x, y), (z, w)])

    def mul_sub(self, b: Builder, x: Value, y: Value, z: Value, w: Value) -> Value:
        """(x y - z w) / R with one reduction; Fp only, see `_dot`."""
        return self._dot(b, [(x, y), (b.sub(self._p, z), w)])  # p - z is in (0, p]

    def _dot(self, b: Builder, pairs: list[tuple[Value, Value]]) -> Value:
        """(sum of n products) / R, factors at most p.

        Montgomery, one 64-bit limb of the second factors at a time: t := (t + sum x y_i + m p) / 2^64, which keeps
        t < (n + 1) p, so one word above the limbs is enough. The end value is at most n p^2 / R + p; if n p < R, that is below
        2p, so that one subtraction reduces it: always so for n = 1, and for n = 2 where p has two spare bits.

        Source  Montgomery, "Modular multiplication without trial division", Math. Comp. 44 (1985).
        """
        assert len(pairs) * self.modulus < self.radix and self.modulus < self.radix // (len(pairs) + 1)
        wide = self._wide
        p, t = ir.Constant(wide, self.modulus), ir.Constant(wide, 0)
        factors = [(b.zext(x, wide), y) for x, y in pairs]
        for i in range(self.limbs):
            for x, y in factors:
                limb = b.trunc(b.lshr(y, ir.Constant(self.int, 64 * i)), _I64)
                t = b.add(t, b.mul(x, b.zext(limb, wide)))
            m = b.mul(b.trunc(t, _I64), self._negated_inverse)
            t = b.lshr(b.add(t, b.mul(p, b.zext(m, wide))), ir.Constant(wide, 64))
        return self._reduce_once(b, b.trunc(t, self.int))

    def function(self, module: ir.Module, operation: str, arity: int) -> ir.Function:
        """The LLVM function of an operation in `module`, emitted at its first use."""
        name = f"cuzk_{self.name}_{operation}"
        if name in module.globals:
            return module.globals[name]
        f = ir.Function(module, ir.FunctionType(self.int, [self.int] * arity), name)
        f.linkage = "linkonce_odr"  # modules that are linked together each bring the same one
        f.attributes.add("noinline")
        f.attributes.add("nounwind")
        b = ir.IRBuilder(f.append_basic_block())
        b.ret(getattr(self, operation)(b, *f.args))
        return f


class PrimeField:
    """The integers modulo p, with operations for compiled code.

    `add, sub, neg, mul, mul_add, mul_sub` are those of `Arithmetic`; `eq(x, y)`, `less(x, y)` (as stored integers), `is_zero(x)`,
    `is_reduced(x)` (the stored integer is below p) give booleans; `select(c, x, y)` is x if c else y.
    `load(a, i)`, `store(a, i, x)` move element i of a C-contiguous uint64[n, limbs] or its flat form.
    `load_be(bytes, k)`, `store_be(bytes, k, x)` move the stored integer as big-endian bytes from byte k of a C-contiguous uint8
    array. `low(x)` and `high(x)` split a stored integer at the bit length of p; high is a uint64.
    """

    def __init__(self, name: str, modulus: int, limbs: int) -> None:
        self.modulus, self.limbs, self.bytes = modulus, limbs, 8 * limbs
        self.radix = 1 << (64 * limbs)
        self.type = ElementType(name, limbs)
        self.arithmetic = Arithmetic(name, modulus, limbs)
        self.int = self.arithmetic.int
        boolean, uint64 = types.boolean, types.uint64
        zero, p = ir.Constant(self.int, 0), ir.Constant(self.int, modulus)
        bits = ir.Constant(self.int, modulus.bit_length())
        mask = ir.Constant(self.int, (1 << modulus.bit_length()) - 1)
        self.add, self.sub, self.mul = (self._operation(name, 2) for name in ("add", "sub", "mul"))
        self.neg = self._operation("neg", 1)
        self.mul_add, self.mul_sub = self._operation("mul_add", 4), self._operation("mul_sub", 4)
        self.eq = self._binary(lambda b, x, y: b.icmp_unsigned("==", x, y))
        self.less = self._binary(lambda b, x, y: b.icmp_unsigned("<", x, y))
        self.is_zero = self._unary(lambda b, x: b.icmp_unsigned("==", x, zero), boolean)
        self.is_reduced = self._unary(lambda b, x: b.icmp_unsigned("<", x, p), boolean)
        self.low = self._unary(lambda b, x: b.and_(x, mask), self.type)
        self.high = self._unary(lambda b, x: b.trunc(b.lshr(x, bits), _I64), uint64)
        self.select = self._select()
        self.load, self.store = self._memory(8 * limbs, 8, swap=False)
        self.load_be, self.store_be = self._memory(1, 1, swap=True)

    def constant(self, value: int) -> Element:
        """The element `value` mod p, for use as a global of compiled code."""
        return Element(self, value * self.radix % self.modulus)

    def raw(self, stored: int) -> Element:
        """A constant by its stored integer, for comparisons and conversions."""
        return Element(self, stored)

    # Numba takes the parameter list of an intrinsic from its Python signature: one function per arity.

    def _operation(self, operation: str, arity: int) -> Any:
        t = self.type

        def codegen(_context: Any, builder: Builder, _sig: Any, args: Any) -> Value:
            return builder.call(self.arithmetic.function(builder.module, operation, arity), args)

        def unary(_typingctx, x):
            return t(t), codegen

        def binary(_typingctx, x, y):
            return t(t, t), codegen

        def quaternary(_typingctx, x, y, z, w):
            return t(t, t, t, t), codegen

        return intrinsic({1: unary, 2: binary, 4: quaternary}[arity])

    def _unary(self, emit: Callable[..., Value], result: Any) -> Any:
        t = self.type

        @intrinsic
        def operation(_typingctx, x):
            return result(t), lambda _context, builder, _sig, args: emit(builder, *args)

        return operation

    def _binary(self, emit: Callable[..., Value]) -> Any:
        t = self.type

        @intrinsic
        def operation(_typingctx, x, y):
            return types.boolean(t, t), lambda _context, builder, _sig, args: emit(builder, *args)

        return operation

    def _select(self) -> Any:
        t = self.type

        @intrinsic
        def select(_typingctx, condition, x, y):
            def codegen(_context, builder, _sig, args):
                return builder.select(builder.trunc(args[0], _I1), args[1], args[2])

            return t(types.boolean, t, t), codegen

        return select

    def _memory(self, stride: int, align: int, swap: bool) -> tuple[Any, Any]:
        """Load and store at a pointer `stride` bytes times an index into an array."""
        t, int_ = self.type, self.int

        def place(context, builder, sig, args):
            array = context.make_array(sig.args[0])(context, builder, args[0])
            offset = builder.mul(args[1], ir.Constant(_I64, stride))
            byte = builder.gep(builder.bitcast(array.data, ir.IntType(8).as_pointer()), [offset])
            return builder.bitcast(byte, int_.as_pointer())

        @intrinsic
        def load(_typingctx, array, index):
            def codegen(context, builder, sig, args):
                x = builder.load(place(context, builder, sig, args), align=align)
                return builder.bswap(x) if swap else x

            return t(array, types.int64), codegen

        @intrinsic
        def store(_typingctx, array, index, value):
            def codegen(context, builder, sig, args):
                x = builder.bswap(args[2]) if swap else args[2]
                builder.store(x, place(context, builder, sig, args), align=align)
                return context.get_dummy_value()

            return types.void(array, types.int64, t), codegen

        return load, store
