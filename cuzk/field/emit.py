"""Field arithmetic in lanes, as LLVM IR: what hot CPU kernels are written against.

Two emitters give the same operations: `lanes_ifma` (eight lanes of 52-bit limbs, AVX-512 IFMA) and `lanes_scalar` (one lane of
64-bit limbs, any host). A kernel body is written once against `Emitter` and is compiled for the path of this process.

An element is a Python list of `limbs` LLVM values, each holding one limb of every lane. In memory it is `limbs` vectors of
`LANES` 64-bit words: limb j of lane l at word j * LANES + l. Values are in Montgomery form with radix `2**(BITS * limbs)`.

Range   IFMA values are lazily reduced: non-negative, limbs below 2^52 except the top one, value below (bound) * modulus, where
        the caller knows the bound; a product is below 2 * modulus as long as the product of the bounds of its factors is at
        most 2^30 (Fp) or 2^4 (Fr). Scalar values are fully reduced always, so bounds do not matter there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
Element = list[Any]


class Emitter:
    """Operations common to both paths. Subclasses give LANES, BITS, `vector`, arithmetic and reduction."""

    LANES: int
    BITS: int
    vector: ir.Type

    def __init__(self, builder: ir.IRBuilder, modulus: int) -> None:
        """Emit through `builder` modulo `modulus`."""
        self.b = builder
        self.modulus = modulus
        self.limbs = self.limb_count(modulus)
        self.radix = self.radix_of(modulus)
        self.one = self.radix % modulus

    @classmethod
    def limb_count(cls, modulus: int) -> int:
        """Limbs of an element."""
        return -(-(modulus.bit_length() + 1) // cls.BITS)

    @classmethod
    def radix_of(cls, modulus: int) -> int:
        """The Montgomery radix of this path."""
        return 1 << (cls.BITS * cls.limb_count(modulus))

    def split(self, value: int, limbs: int | None = None) -> list[int]:
        """An integer as limbs; the last one takes what is left."""
        n = limbs or self.limbs
        mask = (1 << self.BITS) - 1
        return [(value >> (self.BITS * j)) & mask if j < n - 1 else value >> (self.BITS * j) for j in range(n)]

    def splat(self, word: int) -> Any:
        """A constant word in every lane."""
        raise NotImplementedError

    def const(self, value: int) -> Element:
        """A constant element (its limbs as they are, no Montgomery conversion) in every lane."""
        return [self.splat(w) for w in self.split(value)]

    def load(self, pointer: Any, first: int = 0) -> Element:
        """The element that starts `first` vectors after `pointer`."""
        b = self.b
        return [b.load(b.gep(pointer, [I64(first + j)]), align=8) for j in range(self.limbs)]

    def store(self, pointer: Any, x: Element, first: int = 0) -> None:
        """Store vectors from `first` on; x may be several elements joined."""
        for j, value in enumerate(x):
            self.b.store(value, self.b.gep(pointer, [I64(first + j)]), align=8)

    def load_rows(self, addresses: Element, word: int) -> Element:
        """The element at `word` of each of LANES rows (byte addresses), one row a lane. IFMA: eight limbs only."""
        raise NotImplementedError

    def store_rows(self, addresses: Element, word: int, x: Element) -> None:
        """Lane l of x to `word` of row l. IFMA: eight limbs only."""
        raise NotImplementedError

    def _vector_at(self, address: Any, word: int) -> Any:
        return self.b.inttoptr(self.b.add(address, I64(8 * word)), self.vector.as_pointer())

    def rotate(self, x: Element, s: int) -> Element:
        """Lane l takes the value of lane l + s."""
        raise NotImplementedError

    def broadcast(self, pointer: Any, word: int = 0) -> Element:
        """`limbs` consecutive 64-bit words from `word` on, each in every lane."""
        raise NotImplementedError

    def from_words(self, words: Element) -> Element:
        """64-bit limbs of a value below the radix regrouped to limbs of this path, per lane."""
        raise NotImplementedError

    def to_words(self, x: Element, words: int) -> Element:
        """Limbs of a value below 2^(64 words) regrouped to 64-bit limbs, per lane."""
        raise NotImplementedError

    def select(self, mask: Any, x: Element, y: Element) -> Element:
        """Per lane: x where mask, else y."""
        return [self.b.select(mask, u, v) for u, v in zip(x, y, strict=True)]

    def all_zero(self, x: Element) -> Any:
        """Lane mask: every limb is zero (the value is exactly 0)."""
        v = x[0]
        for u in x[1:]:
            v = self.b.or_(v, u)
        return self.b.icmp_unsigned("==", v, self.splat(0))

    def mul(self, x: Element, y: Element) -> Element:
        """Montgomery product x y / radix."""
        raise NotImplementedError

    @classmethod
    def fixed_words(cls, value: int, modulus: int) -> list[int]:
        """How a factor that is known beforehand stands in memory, for `broadcast_fixed` and `mul_fixed`."""
        raise NotImplementedError

    def broadcast_fixed(self, pointer: Any, word: int = 0) -> Element:
        """The fixed factor whose words begin at `word`, in every lane."""
        raise NotImplementedError

    def mul_fixed(self, x: Element, factor: Element) -> Element:
        """x times a fixed factor; x in Montgomery form or not, the result is as x. IFMA: below (2 + x / radix) * modulus."""
        raise NotImplementedError

    def fixed(self, x: Element) -> Element:
        """The fixed factor whose Montgomery form is x, below 2 * modulus, in each lane."""
        raise NotImplementedError

    def load_fixed(self, pointer: Any) -> Element:
        """What `fixed` gave and `store` stored."""
        raise NotImplementedError

    def sqr(self, x: Element) -> Element:
        """Montgomery square."""
        return self.mul(x, x)

    def mul2(self, x: Element, y: Element) -> Element:
        """Montgomery product in Fp2 = Fp[u]/(u^2 + 1); elements are c0 then c1. IFMA: factors as for `mul`, result below 3 p."""
        n = self.limbs
        x0, x1, y0, y1 = x[:n], x[n:], y[:n], y[n:]
        t0, t1 = self.mul(x0, y0), self.mul(x1, y1)
        t2 = self.mul(self.lin([x0, x1]), self.lin([y0, y1]))
        return self.lin([t0], [t1], 2) + self.lin([t2], [t0, t1], 4)

    def lin(self, plus: Sequence[Element], minus: Sequence[Element] = (), k: int | Element | None = None) -> Element:
        """sum(plus) − sum(minus) + k * modulus. k (an integer, or limbs) must make the value non-negative on the IFMA path."""
        raise NotImplementedError

    def partial(self, plus: Sequence[Element], minus: Sequence[Element] = ()) -> Element:
        """sum(plus) − sum(minus), to be a term of `lin` or `settle` and nothing else: IFMA leaves carries and sign open."""
        raise NotImplementedError

    def settle(self, plus: Sequence[Element], minus: Sequence[Element] = (), k: int = 0) -> Element:
        """sum(plus) − sum(minus) + k * modulus, brought below 2.3 * modulus (2.11 for Fr).

        Range   each subtracted value below k/(their count) * modulus with room to spare; the value at most 16 * modulus.
        """
        raise NotImplementedError

    def transpose(self, rows: Element) -> Element:
        """LANES vectors as a square matrix of words, transposed."""
        raise NotImplementedError

    def deinterleave(self, vectors: Element) -> Element:
        """LANES consecutive elements of four words, as four vectors, to vectors that hold one word of every element."""
        raise NotImplementedError

    def interleave(self, words: Element) -> Element:
        """The inverse of `deinterleave`."""
        raise NotImplementedError

    def reduce_once(self, x: Element, k: int = 1) -> Element:
        """x − k * modulus where that is not negative, else x."""
        raise NotImplementedError

    def zero_below(self, x: Element, bound: int) -> Any:
        """Lane mask: x is 0 modulo the modulus, given x < bound * modulus."""
        b, mask = self.b, self.all_zero(x)
        for k in range(1, bound):
            d = [b.xor(u, self.splat(w)) for u, w in zip(x, self.split(k * self.modulus), strict=True)]
            mask = b.or_(mask, self.all_zero(d))
        return mask


def function_in(module: ir.Module, name: str, result: ir.Type, arguments: list[ir.Type]) -> Any:
    """Declare an LLVM intrinsic in a module."""
    return cgutils.get_or_insert_function(module, ir.FunctionType(result, arguments), name)
