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
    columns = Columns(code, "q", 2 * n)
    # A highest limb 1 is an addition, not products.
    above = _above(ratio)
    unit = above - 1 if above % 2 and ratio[above - 1] == "0x1" else n
    stop = _even(min(above, unit))
    for i in range(n):
        for first in (n - 2, n - 1):
            start = max(first, i + (first - i) % 2)
            columns.add_row(start, ratio[start - i : stop : 2], a[i])
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
            assert last not in live and last < n
            code.emit("addc.u32", names[last], "0", "0")
            live.add(last)


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
