"""Products by fixed factors as blocks of PTX, from quotients that are computed beforehand.

Source  Shoup, as in Harvey, "Faster arithmetic for number-theoretic transforms", arXiv 1205.2926
"""

from __future__ import annotations

from cuzk.cuda.inline import Block
from cuzk.field.ptx import TOP, Code, Columns, Montgomery, Names, finish, literals


def quotient_of(w: int, modulus: int, limbs: int) -> int:
    """What `product_by_quotient` needs beside w: floor(w B / m)."""
    return (w << (32 * limbs)) // modulus


def product_by_quotient(modulus: int, limbs: int, w: int | None = None) -> Block:
    """a w mod m for a fixed w, with w' = floor(w B / m): q = a w'/B from its upper columns, then a w − q m modulo B.

    With w given it is in the code, else w and w' are the second and third argument. w is plain: a keeps its form.

    Range   a < 2 m < B, w < m in; below 2 m out: q falls short of a w/m by less than 1 (its floor), a/B (that of w') and
            (n − 1) 2^(32 (n − 1))/B (the columns left out), together less than 2
    Cost    43 + 28 + 15 wide products and 14 low ones at 8 limbs, fewer if w and w' have less than 8; the modulus must be
            1 − 2^32 modulo 2^64
    """
    n = limbs
    negative = (1 << (32 * n)) - modulus
    assert negative % (1 << 64) == TOP and 2 * modulus < 1 << (32 * n)
    code = Code(n, n) if w is not None else Code(n, n, n, n)
    a = code.argument(0)
    if w is None:
        factor, ratio = code.argument(1), code.argument(2)
    else:
        factor, ratio = literals(w, n), literals(quotient_of(w, modulus, n), n)
    # A highest limb 1 is an addition, not products.
    above = _above(ratio)
    unit = above - 1 if above % 2 and ratio[above - 1] == "0x1" else n
    stop = _even(min(above, unit))
    columns = _upper_columns(code, "q", ratio[:stop], a, n - 2)
    if unit < n:
        columns.add_at(max(unit, n - 2), a[max(0, n - 2 - unit) :])
    quotient = code.registers("q", n)
    code.emit("add.cc.u32", columns.sums[0][n - 1], columns.limb(0, n - 1), columns.limb(1, n - 1))
    uppers = range(n, 2 * n)
    code.chain("add", quotient, [columns.limb(0, c) for c in uppers], [columns.limb(1, c) for c in uppers], carry=True)

    # a w − q m = a w + q (B − m) modulo B, where B − m has the limbs 2^32 − 1, 0, …: q (2^32 − 1) is additions.
    total = Columns(code, "t", n)
    lowest = next((j for j in range(n) if factor[j] != "0x0"), 0)
    for i in range(n):
        _add_row_below(total, n, a[i], factor[: _even(_above(factor))], lowest, i)
    for i in range(n):
        _add_row_below(total, n, quotient[i], literals(negative, n), 2, i)
    value = total.sums[0][:n]
    if total.limb(0, 0) == "0":
        code.emit("mov.b32", value[0], "0")
    code.chain("add", value[1:], [total.limb(0, c) for c in range(1, n)], [total.limb(1, c) for c in range(1, n)])
    code.chain("add", value[1:], value[1:], quotient[: n - 1])
    code.chain("sub", value, value, quotient)
    code.move(code.result, value)
    return code.block()


def _upper_columns(code: Code, name: str, ratio: Names, factors: Names, lowest: int) -> Columns:
    """ratio · factors from column `lowest` on."""
    columns = Columns(code, name, len(factors) * 2)
    for i, factor in enumerate(factors):
        for first in (lowest, lowest + 1):
            start = max(first, i + (first - i) % 2)
            columns.add_row(start, ratio[start - i :: 2], factor)
    return columns


def _above(limbs: Names) -> int:
    """How many limbs there are up to the last that is not a literal zero."""
    return max((j + 1 for j, limb in enumerate(limbs) if limb != "0x0"), default=0)


def _even(count: int) -> int:
    """Rounded up to even: so that of two neighbouring rows only one ends beyond the sum, and its carry meets an empty limb."""
    return count + count % 2


def _add_row_below(total: Columns, n: int, scalar: str, constants: Names, lowest: int, i: int) -> None:
    """Add constants[lowest:] · scalar at position i of a sum modulo 2^(32 n): the last product counts by its low half."""
    code, stop = total.code, i + len(constants)
    for parity in (0, 1):
        start = i + lowest + (parity - i - lowest) % 2
        names, live = total.sums[parity], total.live[parity]
        carry = False
        last = start
        for position in range(start, min(n - 1, stop), 2):
            l, h = total.limb(parity, position), total.limb(parity, position + 1)
            live |= {position, position + 1}
            factor, last = constants[position - i], position + 2
            if l == h == "0" and not carry:
                code.fresh_products(names[position : position + 2], [factor], scalar)
                continue
            code.emit(f"mad{'c' if carry else ''}.lo.cc.u32", names[position], scalar, factor, l)
            carry = h != "0" and position + 1 < n - 1
            code.emit(f"madc.hi{'.cc' if carry else ''}.u32", names[position + 1], scalar, factor, h)
        if last == n - 1 < stop:
            total.add_low(n - 1, constants[n - 1 - i], scalar, carry=carry)
        elif carry:
            assert last == n - 1 or last not in live
            code.emit("addc.u32", names[last], total.limb(parity, last), "0")
            live.add(last)


def _funnel(code: Code, name: str, limbs: Names, shift: int) -> Names:
    """Limbs 1, 2, … of a number moved left by 0 < shift < 32 bits, so without its lowest; moved right by 32 − shift, that is."""
    out = code.registers(name, len(limbs) - 1)
    for target, lower, upper in zip(out, limbs, limbs[1:], strict=False):
        code.emit("shf.l.wrap.b32", target, lower, upper, str(shift))
    return out


def product_by_cube(z: int) -> Block:
    """a z³ mod m for m = z⁴ − z² + 1 and z = 2^16 (2^32 d + 1), d below 2^16: z³ is a root of order 4.

    a = lo + z² hi, and z⁵ = z³ − z modulo m, so that a z³ = s z³ − z hi with s = lo + hi. s = s0 + q z, and z⁴ = z² − 1 modulo m:
    s z³ = s0 z³ + q z² − q, where q z = lo + hi − s0. So a z³ = s0 (z³ − z) + z lo − q.

    Range   a < 2 m in; below 2 m out: hi, from the four upper limbs of a, falls short of a/z² by less than 8, so that lo < 8 z²
            and s < 10 z² < 2^131; q falls short of s/z by less than 1 + 2^−26, so that s0 < 2^64, and s0 > 0 unless q = 0;
            the result is below (1 + 2^−26) z⁴ + 8 z³
    Cost    36 wide products and 3 low ones
    """
    n = 8
    assert z >> 48 << 48 | 1 << 16 == z < 1 << 64
    code = Code(n, n)
    a = code.argument(0)
    # hi = the four upper limbs times 2^128/z² = 1 + ratio/2^128, from columns 3 to 6.
    upper, ratio = a[4:], literals((1 << 256) // z**2 - (1 << 128), 4)
    columns = _upper_columns(code, "h", ratio, upper, 3)
    hi = code.registers("hi", 5)
    code.chain("add", hi[:4], [columns.limb(0, c) for c in range(4, 8)], [columns.limb(1, c) for c in range(4, 8)], keep=True)
    code.emit("addc.u32", hi[4], "0", "0")
    code.chain("add", hi[:4], hi[:4], upper, keep=True)
    code.emit("addc.u32", hi[4], hi[4], "0")
    # lo = a − hi z² modulo 2^160; z² has the limbs 0, 1, z²[2], z²[3].
    square = literals(z**2, 4)
    even, odd = code.registers("ze", 3), code.registers("zo", 2)  # from limb 2 and from limb 3
    code.fresh_products(even[:2], square[2:3], hi[0])
    code.emit("mul.lo.u32", even[2], square[2], hi[2])
    code.emit("mad.lo.u32", even[2], square[3], hi[1], even[2])
    code.fresh_products(odd, square[2:3], hi[1])
    code.emit("mad.lo.cc.u32", odd[0], square[3], hi[0], odd[0])
    code.emit("madc.hi.u32", odd[1], square[3], hi[0], odd[1])
    code.chain("add", even[1:], even[1:], odd)
    lo = [a[0], *code.registers("lo", 4)]
    code.chain("sub", lo[1:], a[1:5], hi[:4])
    code.chain("sub", lo[2:], lo[2:], even)
    s = code.registers("s", 5)
    code.chain("add", s, lo, hi)
    # q = s/z from s/2^35 and 2^159/z, both of 96 bits, without the columns 0 and 1.
    top, ratio = _funnel(code, "top", s[1:], 29), literals((1 << 159) // z, 3)
    columns = _upper_columns(code, "q", ratio, top, 2)
    scaled = code.registers("qs", 4)
    code.emit("mov.b32", scaled[0], columns.limb(0, 2))
    code.chain("add", scaled[1:], [columns.limb(0, c) for c in range(3, 6)], [columns.limb(1, c) for c in range(3, 6)])
    q = _funnel(code, "q", [*scaled[1:], "0"], 4)
    # s0 = s − q z modulo 2^64.
    part = _funnel(code, "part", ["0", *q[:2]], 16)
    code.emit("mad.lo.u32", part[1], q[0], literals(z, 2)[1], part[1])
    rest = code.registers("rest", 2)
    code.chain("sub", rest, s[:2], part)
    # s0 (z³ − z) + z lo − q, where z lo = 2^16 lo + 2^48 d lo.
    shifted = _funnel(code, "low", ["0", *lo], 16)
    total = Columns(code, "t", n)
    code.move(total.sums[0][:5], shifted)
    total.live[0].update(range(5))
    _add_row_below(total, n, f"0x{z >> 48:x}", shifted, 0, 1)
    for i in range(2):
        _add_row_below(total, n, rest[i], literals(z**3 - z, 6), 0, i)
    value = total.sums[0][:n]
    code.chain("add", value[1:], [total.limb(0, c) for c in range(1, n)], [total.limb(1, c) for c in range(1, n)])
    code.chain("sub", value, value, [*q, *["0"] * (n - len(q))])
    code.move(code.result, value)
    return code.block()


def low_product(limbs: int, w: int) -> Block:
    """a w mod B for a fixed w."""
    code = Code(limbs, limbs)
    total = Columns(code, "t", limbs)
    for i, scalar in enumerate(code.argument(0)):
        _add_row_below(total, limbs, scalar, literals(w, limbs), 0, i)
    value, odd = (half[:limbs] for half in total.sums)
    code.chain("add", value[1:], value[1:], odd[1:])
    code.move(code.result, value)
    return code.block()


def from_mont(modulus: int, limbs: int) -> Block:
    """a / B mod m. Range: below m out. Cost: n² wide products, n low ones."""
    code = Code(limbs, limbs)
    even, odd = code.registers("e", limbs), code.registers("o", limbs)
    code.move(even, code.argument(0))
    rows = Montgomery(code, modulus)
    for i in range(limbs):
        low, high = (odd, even) if i % 2 else (even, odd)
        (rows.reduce_shifted if i else rows.reduce_first)(low, high)
    rows.merge(even, odd)
    return finish(code, even, odd, modulus, lazy=False)
