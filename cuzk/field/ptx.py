"""Field arithmetic as blocks of PTX on limbs of 32 bits.

A product of two limbs is a pair of instructions (`mad.lo`, `mad.hi`) that the assembler turns into one wide multiplication as
long as carries run from pair to pair. So that they can, products at even and at odd limb positions are summed apart: in
`even` a pair starts at an even limb, in `odd`, which has weight 2^32, at an odd one; the two meet once, at the end.

Every function returns a `Block`; what it computes, on which range, is in its docstring, with n limbs and B = 2^(32 n).

Source  Montgomery multiplication, rows interleaved with reduction: Koç, Acar, Kaliski, "Analyzing and Comparing Montgomery
        Multiplication Algorithms", IEEE Micro 16 (1996), CIOS; the two accumulators as in supranational/sppark ff/mont_t.cuh.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.cuda.inline import Block, split

Names = list[str]
TOP = 0xFFFFFFFF


def literals(value: int, limbs: int) -> Names:
    """The limbs of a constant as PTX literals."""
    return [f"0x{v:x}" for v in split(value, limbs)]


class Code:
    """PTX under construction for a result of n limbs from arguments of given numbers of limbs."""

    def __init__(self, limbs: int, *arguments: int) -> None:
        self.limbs, self.arguments = limbs, arguments
        self.lines: Names = []
        self.registers_used: Names = []
        self.result = [f"${i}" for i in range(limbs)]

    def argument(self, index: int) -> Names:
        """The limbs of an argument."""
        start = self.limbs + sum(self.arguments[:index])
        return [f"${start + i}" for i in range(self.arguments[index])]

    def registers(self, name: str, count: int) -> Names:
        """New registers name0, name1, …"""
        self.registers_used.append(f"{name}<{count}>")
        return [f"{name}{i}" for i in range(count)]

    def register(self, name: str) -> str:
        """One new register."""
        self.registers_used.append(name)
        return name

    def emit(self, operation: str, *operands: str) -> None:
        """One instruction."""
        self.lines.append(f"{operation} {', '.join(operands)};")

    def block(self) -> Block:
        """The finished block."""
        head = [f".reg .u32 {', '.join(self.registers_used)};", ".reg .pred take;"]
        return Block("\n".join(["{", *head, *self.lines, "}"]), self.limbs, self.arguments)

    def chain(
        self, operation: str, out: Names, a: Names, b: Names, *, carry: bool = False, keep: bool = False, when: str = ""
    ) -> None:
        """out = a ± b limb by limb (`operation` add or sub), with an incoming carry, keeping the outgoing one if asked."""
        for i, operands in enumerate(zip(out, a, b, strict=True)):
            with_carry = "c" if i or carry else ""
            self.emit(f"{when}{operation}{with_carry}{'.cc' if i < len(out) - 1 or keep else ''}.u32", *operands)

    def products(
        self, out: Names, factors: Names, scalar: str, addend: Names, *, carry: bool = False, keep: bool = False
    ) -> None:
        """out = factors · scalar + addend, a pair of limbs a factor."""
        for j, factor in enumerate(factors):
            low, high = 2 * j, 2 * j + 1
            self.emit(f"mad{'c' if j or carry else ''}.lo.cc.u32", out[low], factor, scalar, addend[low])
            last = j == len(factors) - 1 and not keep
            self.emit(f"madc.hi{'' if last else '.cc'}.u32", out[high], factor, scalar, addend[high])

    def fresh_products(self, out: Names, factors: Names, scalar: str) -> None:
        """out = factors · scalar, a pair of limbs a factor."""
        for j, factor in enumerate(factors):
            self.emit("mul.lo.u32", out[2 * j], factor, scalar)
            self.emit("mul.hi.u32", out[2 * j + 1], factor, scalar)

    def catch_carry(self, limb: str) -> None:
        """Limb += carry."""
        self.emit("addc.u32", limb, limb, "0")

    def move(self, out: Names, a: Names) -> None:
        """Out = a."""
        for target, source in zip(out, a, strict=True):
            self.emit("mov.b32", target, source)

    def subtract_if_it_fits(self, out: Names, a: Names, modulus: int, spare: Names, top: str = "0") -> None:
        """out = a − modulus unless that is negative, then a; `top` is the limb above a, 0 or 1."""
        self.chain("sub", spare, a, literals(modulus, len(a)), keep=True)
        borrow = self.register("borrow")
        self.emit("subc.u32", borrow, top, "0")
        self.emit("setp.eq.u32", "take", borrow, "0")
        for target, less, same in zip(out, spare, a, strict=True):
            self.emit("selp.b32", target, less, same, "take")


class Montgomery:
    """The rows of a Montgomery product: `low` holds weight 1, `high` weight 2^32; after each row the two change places."""

    def __init__(self, code: Code, modulus: int) -> None:
        self.code, self.limbs, self.modulus = code, code.limbs, literals(modulus, code.limbs)
        self.negative_inverse = f"0x{-pow(modulus, -1, 1 << 32) % (1 << 32):x}"
        self.multiple = code.register("multiple")
        # A modulus 1 − 2^32 modulo 2^64 needs no products for its two lowest limbs.
        self.special = modulus % (1 << 64) == (1 - (1 << 32)) % (1 << 64)
        if self.special:
            self.top, self.drop = code.register("top"), code.register("drop")

    def first_row(self, low: Names, high: Names, a: Names, scalar: str) -> None:
        """Accumulators = a · scalar."""
        self.code.fresh_products(high, a[1::2], scalar)
        self.code.fresh_products(low, a[0::2], scalar)

    def shifted_row(self, low: Names, high: Names, a: Names, scalar: str) -> None:
        """Accumulators += a · scalar, when the lowest limb of the sum (now high[0]) has become zero and is dropped."""
        code = self.code
        code.emit("add.cc.u32", low[0], low[0], high[1])
        code.products(high, a[1::2], scalar, [*high[2:], "0", "0"], carry=True)
        code.products(low, a[0::2], scalar, low, keep=True)
        code.catch_carry(high[-1])

    def cancel(self, low: Names, high: Names) -> None:
        """Add the multiple of the modulus that makes the lowest limb zero."""
        code, m = self.code, self.modulus
        if self.special:
            self._cancel_special(low, high)
            return
        code.emit("mul.lo.u32", self.multiple, low[0], self.negative_inverse)
        code.products(high, m[1::2], self.multiple, high, keep=False)
        code.products(low, m[0::2], self.multiple, low, keep=True)
        code.catch_carry(high[-1])

    def _cancel_special(self, low: Names, high: Names) -> None:
        """The same for m = 1 − 2^32 mod 2^64: the multiple is −t with t = low[0], and −t·(2^32 − 1) = t + 2^32 (−t − (t ≠ 0))."""
        code, m, k = self.code, self.modulus, self.multiple
        code.emit("sub.u32", k, "0", low[0])
        code.emit("min.u32", self.top, low[0], "1")
        code.emit("sub.u32", self.top, k, self.top)
        code.emit("add.cc.u32", high[0], high[0], low[0])
        code.emit("addc.cc.u32", high[1], high[1], self.top)
        code.products(high[2:], m[3::2], k, high[2:], carry=True)
        # low[0] + multiple is 2^32 unless both are 0: its carry is that of low[0] + (2^32 − 1).
        code.emit("add.cc.u32", self.drop, low[0], f"0x{TOP:x}")
        code.emit("addc.cc.u32", low[1], low[1], "0")
        code.products(low[2:], m[2::2], k, low[2:], carry=True, keep=True)
        code.catch_carry(high[-1])

    def reduce_first(self, low: Names, high: Names) -> None:
        """`cancel` where `high` is still empty."""
        code, m = self.code, self.modulus
        code.emit("mul.lo.u32", self.multiple, low[0], self.negative_inverse)
        code.fresh_products(high, m[1::2], self.multiple)
        code.products(low, m[0::2], self.multiple, low, keep=True)
        code.catch_carry(high[-1])

    def reduce_shifted(self, low: Names, high: Names) -> None:
        """`cancel` where the lowest limb of the sum (now high[0]) is zero and is dropped."""
        code, m = self.code, self.modulus
        code.emit("add.cc.u32", low[0], low[0], high[1])
        code.emit("mul.lo.u32", self.multiple, low[0], self.negative_inverse)
        code.products(high, m[1::2], self.multiple, [*high[2:], "0", "0"], carry=True)
        code.products(low, m[0::2], self.multiple, low, keep=True)
        code.catch_carry(high[-1])

    def merge(self, low: Names, high: Names) -> None:
        """Low = the sum, its lowest limb (high[0], zero) dropped."""
        self.code.chain("add", low, low, [*high[1:], "0"])


def finish(code: Code, value: Names, spare: Names, modulus: int, lazy: bool) -> Block:
    """The block whose result is a value below 2 m; not `lazy`: below m."""
    if lazy:
        code.move(code.result, value)
    else:
        code.subtract_if_it_fits(code.result, value, modulus, spare)
    return code.block()


def product(modulus: int, limbs: int, *, lazy: bool = False) -> Block:
    """a b / B mod m.

    Range   a b < B m in: below m out; lazy: without the last subtraction, so (a b + (B − 1) m)/B at most: below 2 m
    Cost    2 n² wide products, 2 n (n − 1) for the special form of the modulus, and n low ones
    """
    code = Code(limbs, limbs, limbs)
    a, b = code.argument(0), code.argument(1)
    even, odd = code.registers("e", limbs), code.registers("o", limbs)
    rows = Montgomery(code, modulus)
    for i in range(limbs):
        low, high = (odd, even) if i % 2 else (even, odd)
        (rows.shifted_row if i else rows.first_row)(low, high, a, b[i])
        rows.cancel(low, high)
    rows.merge(even, odd)
    return finish(code, even, odd, modulus, lazy)


class Columns:
    """A sum of products by limb position, even and odd ones apart; limbs start as zero and cost nothing until they are used."""

    def __init__(self, code: Code, name: str, limbs: int) -> None:
        self.code = code
        self.sums = code.registers(f"{name}e", limbs + 1), code.registers(f"{name}o", limbs + 1)
        self.live: tuple[set[int], set[int]] = (set(), set())

    def limb(self, parity: int, position: int) -> str:
        """The register at a position of one of the two sums, or a literal zero."""
        return self.sums[parity][position] if position in self.live[parity] else "0"

    def add_row(self, start: int, factors: Sequence[str], scalar: str) -> None:
        """Add factors · scalar at positions start, start + 2, …, and let the carry run out."""
        code, parity = self.code, start % 2
        names, live = self.sums[parity], self.live[parity]
        carry = False
        for j, factor in enumerate(factors):
            low, high = start + 2 * j, start + 2 * j + 1
            l, h = self.limb(parity, low), self.limb(parity, high)
            live |= {low, high}
            if l == h == "0" and not carry:
                code.fresh_products([names[low], names[high]], [factor], scalar)
                continue
            code.emit(f"mad{'c' if carry else ''}.lo.cc.u32", names[low], factor, scalar, l)
            carry = h != "0"  # a high half and a carry stay below 2^32
            code.emit(f"madc.hi{'.cc' if carry else ''}.u32", names[high], factor, scalar, h)
        if carry:
            last = start + 2 * len(factors)
            assert last not in live
            code.emit("addc.u32", names[last], "0", "0")
            live.add(last)

    def add_at(self, start: int, limbs: Names) -> None:
        """Add limbs at positions start, start + 1, … of the first sum, and let the carry run out."""
        names, stop = self.sums[0], start + len(limbs)
        before = [self.limb(0, c) for c in range(start, stop)]
        self.code.chain("add", names[start:stop], before, limbs, keep=True)
        self.code.emit("addc.u32", names[stop], self.limb(0, stop), "0")
        self.live[0].update(range(start, stop + 1))

    def add_low(self, position: int, factor: str, scalar: str, *, carry: bool) -> None:
        """Add the low half of one product at a position, modulo what is above it."""
        parity = position % 2
        name, before = self.sums[parity][position], self.limb(parity, position)
        self.live[parity].add(position)
        if before == "0" and not carry:
            self.code.emit("mul.lo.u32", name, factor, scalar)
        else:
            self.code.emit(f"mad{'c' if carry else ''}.lo.u32", name, factor, scalar, before)


def square(modulus: int, limbs: int, *, lazy: bool = False) -> Block:
    """a² / B mod m: the products of different limbs once, doubled, then the squares, then the reduction.

    Range   as `product`
    Cost    n (n + 1)/2 + n² wide products, n low ones
    """
    code = Code(limbs, limbs)
    a = code.argument(0)
    columns = Columns(code, "w", 2 * limbs)
    for i in range(limbs - 1):
        for first in (i + 1, i + 2):
            if first < limbs:
                columns.add_row(i + first, a[first::2], a[i])
    even, odd = columns.sums
    wide = even[: 2 * limbs]
    both = [columns.limb(0, k) for k in range(2 * limbs)], [columns.limb(1, k) for k in range(2 * limbs)]
    # Position 1 has one product only, and positions 0 and 2 n − 1 none.
    code.chain("add", wide[2 : 2 * limbs - 1], both[0][2 : 2 * limbs - 1], both[1][2 : 2 * limbs - 1])
    code.emit("mov.b32", wide[0], "0")
    code.chain("add", wide[1 : 2 * limbs - 1], [odd[1], *wide[2 : 2 * limbs - 1]], [odd[1], *wide[2 : 2 * limbs - 1]], keep=True)
    code.emit("addc.u32", wide[-1], "0", "0")
    for i in range(limbs):
        code.emit(f"mad{'c' if i else ''}.lo.cc.u32", wide[2 * i], a[i], a[i], wide[2 * i])
        code.emit(f"madc.hi{'.cc' if i < limbs - 1 else ''}.u32", wide[2 * i + 1], a[i], a[i], wide[2 * i + 1])
    even, odd = wide[:limbs], code.registers("o", limbs)
    rows = Montgomery(code, modulus)
    for i in range(limbs):
        low, high = (odd, even) if i % 2 else (even, odd)
        (rows.reduce_shifted if i else rows.reduce_first)(low, high)
    rows.merge(even, odd)
    code.chain("add", even, even, wide[limbs:])
    return finish(code, even, odd, modulus, lazy)


def add(modulus: int, limbs: int) -> Block:
    """a + b mod m. Range: a, b below m; the sum may need one bit more than the limbs hold."""
    code = Code(limbs, limbs, limbs)
    total, spare = code.registers("e", limbs), code.registers("o", limbs)
    top = "0"
    if 2 * modulus <= 1 << (32 * limbs):
        code.chain("add", total, code.argument(0), code.argument(1))
    else:
        code.chain("add", total, code.argument(0), code.argument(1), keep=True)
        top = code.register("above")
        code.emit("addc.u32", top, "0", "0")
    code.subtract_if_it_fits(code.result, total, modulus, spare, top)
    return code.block()


def subtract(modulus: int, limbs: int) -> Block:
    """a − b mod m. Range: a, b below m."""
    code = Code(limbs, limbs, limbs)
    total = code.registers("e", limbs)
    code.chain("sub", total, code.argument(0), code.argument(1), keep=True)
    borrow = code.register("borrow")
    code.emit("subc.u32", borrow, "0", "0")
    code.emit("setp.ne.u32", "take", borrow, "0")
    code.chain("add", total, total, literals(modulus, limbs), when="@take ")
    code.move(code.result, total)
    return code.block()


def subtract_plus(constant: int, limbs: int) -> Block:
    """a − b + constant, without comparison. Range: the result fits the limbs."""
    code = Code(limbs, limbs, limbs)
    total = code.registers("e", limbs)
    code.chain("sub", total, code.argument(0), code.argument(1))
    code.chain("add", code.result, total, literals(constant, limbs))
    return code.block()


def complement(constant: int, limbs: int) -> Block:
    """Constant − a. Range: a at most the constant."""
    code = Code(limbs, limbs)
    total = code.registers("e", limbs)
    code.chain("sub", total, literals(constant, limbs), code.argument(0))
    code.move(code.result, total)
    return code.block()


def add_plain(limbs: int) -> Block:
    """a + b. Range: the sum fits the limbs."""
    code = Code(limbs, limbs, limbs)
    total = code.registers("e", limbs)
    code.chain("add", total, code.argument(0), code.argument(1))
    code.move(code.result, total)
    return code.block()


def reduce_by(moduli: Sequence[int], limbs: int) -> Block:
    """a, with each modulus in turn subtracted where it fits: by (2 m, m), [0, 4 m) becomes [0, m)."""
    code = Code(limbs, limbs)
    value, spare, borrow = code.registers("e", limbs), code.registers("o", limbs), code.register("borrow")
    code.move(value, code.argument(0))
    for modulus in moduli:
        code.chain("sub", spare, value, literals(modulus, limbs), keep=True)
        code.emit("subc.u32", borrow, "0", "0")
        code.emit("setp.eq.u32", "take", borrow, "0")
        for target, less in zip(value, spare, strict=True):
            code.emit("selp.b32", target, less, target, "take")
    code.move(code.result, value)
    return code.block()


def product_sum(modulus: int, limbs: int) -> Block:
    """(a b + c d) / B mod m, with one reduction for both products.

    Range   a + c + m below B, and a b + c d < B m in: below 2 m out
    Cost    3 n² wide products and n low ones
    """
    code = Code(limbs, limbs, limbs, limbs, limbs)
    a, b, c, d = (code.argument(i) for i in range(4))
    even, odd = code.registers("e", limbs), code.registers("o", limbs)
    rows = Montgomery(code, modulus)
    for i in range(limbs):
        low, high = (odd, even) if i % 2 else (even, odd)
        (rows.shifted_row if i else rows.first_row)(low, high, a, b[i])
        code.products(high, c[1::2], d[i], high)
        code.products(low, c[0::2], d[i], low, keep=True)
        code.catch_carry(high[-1])
        rows.cancel(low, high)
    rows.merge(even, odd)
    code.move(code.result, even)
    return code.block()


def choose(limbs: int) -> Block:
    """A if the flag, one limb, is not 0, else b."""
    code = Code(limbs, 1, limbs, limbs)
    code.emit("setp.ne.u32", "take", code.argument(0)[0], "0")
    # Through registers of their own: a result may share its register with an argument that is still to be read.
    chosen = code.registers("e", limbs)
    for target, one, other in zip(chosen, code.argument(1), code.argument(2), strict=True):
        code.emit("selp.b32", target, one, other, "take")
    code.move(code.result, chosen)
    return code.block()


def complement_if(constant: int, limbs: int) -> Block:
    """Constant − a if the flag, one limb, is not 0, else a. Range: a at most the constant."""
    code = Code(limbs, 1, limbs)
    a, total = code.argument(1), code.registers("e", limbs)
    code.emit("setp.ne.u32", "take", code.argument(0)[0], "0")
    code.chain("sub", total, literals(constant, limbs), a)
    for name, same in zip(total, a, strict=True):
        code.emit("selp.b32", name, name, same, "take")
    code.move(code.result, total)
    return code.block()
