"""One lane of 64-bit limbs for any 64-bit host. Fp: 6 limbs, radix 2^384; Fr: 4 limbs, radix 2^256, as the containers.

Products go through 128-bit integers (x86-64 with BMI2 and ADX: `mulx`), sums and differences through one wide integer, which
every back-end turns into add-with-carry chains. Values are fully reduced after each operation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from cuzk.field import mulx
from cuzk.field.emit import I64, Element, Emitter

I128 = ir.IntType(128)


class ScalarEmitter(Emitter):
    """See the module."""

    LANES = 1
    BITS = 64
    vector = I64

    def __init__(self, builder: ir.IRBuilder, modulus: int) -> None:
        super().__init__(builder, modulus)
        self._inverse = -pow(modulus, -1, 1 << 64) % (1 << 64)
        self._wide = ir.IntType(64 * self.limbs)
        # A module for another machine, as in a test, names it.
        self.mulx = mulx.usable() and not builder.module.triple.startswith("aarch64")
        self._block: Any = None

    def splat(self, word: int) -> Any:
        return I64(word)

    def _join(self, x: Element) -> Any:
        """Limbs as one wide integer."""
        b, v = self.b, None
        for j, limb in enumerate(x):
            part = b.zext(limb, self._wide)
            part = b.shl(part, ir.Constant(self._wide, 64 * j)) if j else part
            v = part if v is None else b.or_(v, part)
        return v

    def _cut(self, v: Any) -> Element:
        """A wide integer as limbs."""
        b = self.b
        return [b.trunc(b.lshr(v, ir.Constant(self._wide, 64 * j)) if j else v, I64) for j in range(self.limbs)]

    def _below(self, v: Any, k: int = 1) -> Any:
        """v − k p if that is not negative, else v; v < 2^(64 limbs − 1)."""
        b, zero = self.b, ir.Constant(self._wide, 0)
        d = b.sub(v, ir.Constant(self._wide, k * self.modulus))
        return b.select(b.icmp_signed("<", d, zero), v, d)

    def _multiply_add(self, t: Any, x: Any, y: Any, carry: Any = None) -> tuple[Any, Any]:
        """Low and high word of t + x y + carry: never overflows 128 bits."""
        b = self.b
        v = b.add(b.mul(b.zext(x, I128), b.zext(y, I128)), b.zext(t, I128))
        if carry is not None:
            v = b.add(v, b.zext(carry, I128))
        return b.trunc(v, I64), b.trunc(b.lshr(v, ir.Constant(I128, 64)), I64)

    def mul(self, x: Element, y: Element) -> Element:
        return self._dot([(x, y)])

    def mul2(self, x: Element, y: Element) -> Element:
        # Four products, two reductions.
        n = self.limbs
        x0, x1, y0, y1 = x[:n], x[n:], y[:n], y[n:]
        return self._dot([(x0, y0), (self.lin([], [x1]), y1)]) + self._dot([(x0, y1), (x1, y0)])

    def _dot(self, pairs: list[tuple[Element, Element]]) -> Element:
        """Montgomery sum of one or two products: below (pairs p / radix + 1) p before the last subtraction, so below 2p."""
        return self._cut(self._below(self._join(self._dot_mulx(pairs) if self.mulx else self._dot_plain(pairs))))

    def _dot_plain(self, pairs: list[tuple[Element, Element]]) -> Element:
        """Coarsely integrated operand scanning; both moduli leave the top bit free, so the sum of carries fits a word."""
        b, n, p = self.b, self.limbs, self.split(self.modulus)
        t: Element = [I64(0)] * n
        for i in range(n):
            top = I64(0)
            for x, y in pairs:
                carry = None
                for j in range(n):
                    t[j], carry = self._multiply_add(t[j], x[j], y[i], carry)
                top = b.add(top, carry)
            digit = b.mul(t[0], I64(self._inverse))
            _, carry = self._multiply_add(t[0], digit, I64(p[0]))
            for j in range(1, n):
                t[j - 1], carry = self._multiply_add(t[j], digit, I64(p[j]), carry)
            t[n - 1] = b.add(carry, top)
        return t

    def _dot_mulx(self, pairs: list[tuple[Element, Element]]) -> Element:
        b, n, word = self.b, self.limbs, I64.as_pointer()
        if self._block is None:
            with b.goto_entry_block():
                self._block = b.alloca(I64, 4 * n)
        for k, (x, y) in enumerate(pairs):
            self.store(self._block, x + y, 2 * n * k)
        result = b.asm(
            ir.FunctionType(ir.LiteralStructType([I64] * n), [word, word]),
            mulx.text(n, self._inverse, len(pairs)),
            mulx.constraints(n),
            [self._block, b.bitcast(self._modulus_words(), word)],
            True,
        )
        return [b.extract_value(result, j) for j in range(n)]

    def _modulus_words(self) -> Any:
        """The modulus in memory."""
        name, kind = f"modulus_{self.limbs}", ir.ArrayType(I64, self.limbs)
        held = self.b.module.globals.get(name)
        if held is None:
            held = ir.GlobalVariable(self.b.module, kind, name)
            held.linkage, held.global_constant = "internal", True
            held.initializer = ir.Constant(kind, self.split(self.modulus))
        return held

    @classmethod
    def fixed_words(cls, value: int, modulus: int) -> list[int]:
        value = value * cls.radix_of(modulus) % modulus
        return [(value >> (cls.BITS * j)) & ((1 << cls.BITS) - 1) for j in range(cls.limb_count(modulus))]

    def broadcast_fixed(self, pointer: Any, word: int = 0) -> Element:
        return self.broadcast(pointer, word)

    def mul_fixed(self, x: Element, factor: Element) -> Element:
        return self.mul(x, factor)

    def fixed(self, x: Element) -> Element:
        return x

    def load_fixed(self, pointer: Any) -> Element:
        return self.load(pointer)

    def lin(self, plus: Sequence[Element], minus: Sequence[Element] = (), k: int | Element | None = None) -> Element:
        b = self.b
        v = self._join(plus[0]) if plus else ir.Constant(self._wide, 0)
        for x in plus[1:]:
            v = self._below(b.add(v, self._join(x)))
        for x in minus:
            d = b.sub(v, self._join(x))
            negative = b.icmp_signed("<", d, ir.Constant(self._wide, 0))
            v = b.add(d, b.select(negative, ir.Constant(self._wide, self.modulus), ir.Constant(self._wide, 0)))
        return self._cut(v)

    def partial(self, plus: Sequence[Element], minus: Sequence[Element] = ()) -> Element:
        return self.lin(plus, minus)

    def settle(self, plus: Sequence[Element], minus: Sequence[Element] = (), k: int = 0) -> Element:
        return self.lin(plus, minus)

    def reduce_once(self, x: Element, k: int = 1) -> Element:
        return x

    def transpose(self, rows: Element) -> Element:
        """One lane: nothing to do."""
        return list(rows)

    def deinterleave(self, vectors: Element) -> Element:
        """One lane: nothing to do."""
        return list(vectors)

    def interleave(self, words: Element) -> Element:
        """One lane: nothing to do."""
        return list(words)

    def rotate(self, x: Element, s: int) -> Element:
        """One lane: nothing to do."""
        return list(x)

    def broadcast(self, pointer: Any, word: int = 0) -> Element:
        """`limbs` consecutive words from `word` on."""
        words = self.b.bitcast(pointer, I64.as_pointer())
        return [self.b.load(self.b.gep(words, [I64(word + j)])) for j in range(self.limbs)]

    def load_rows(self, addresses: Element, word: int) -> Element:
        return self.load(self._vector_at(addresses[0], word))

    def store_rows(self, addresses: Element, word: int, x: Element) -> None:
        self.store(self._vector_at(addresses[0], word), x)

    def from_words(self, words: Element) -> Element:
        """Limbs are 64-bit words already."""
        return list(words)

    def to_words(self, x: Element, words: int) -> Element:
        """Limbs are 64-bit words already."""
        return list(x)
