"""Bits and bit logic: allocated bits, and Booleans that fold constants and negations.

A Boolean is a handle with NOT_FLAG where it is negated (`circuits.system`). Folding looks at the variant only, never at
values, so that the rows are the same for every witness.

Source  bellpepper-core src/gadgets/boolean.rs.
"""

from __future__ import annotations

from cuzk.circuits.system import LinearCombination, Recorder
from cuzk.circuits.template import NOT_FLAG, ONE, Op

TRUE = ONE
FALSE = ONE | NOT_FLAG


def constant(value: bool | int) -> int:
    """The constant Boolean."""
    return TRUE if value else FALSE


def is_constant(b: int) -> bool:
    """Whether a Boolean is TRUE or FALSE."""
    return b & ~NOT_FLAG == ONE


def add_scaled(lc: LinearCombination, b: int, k: int) -> None:
    """lc += k · b: k · x for x, k − k · x for its negation, k for TRUE, nothing for FALSE."""
    if b & NOT_FLAG:
        x = b ^ NOT_FLAG
        if x != ONE:
            lc[ONE] = lc.get(ONE, 0) + k
            lc[x] = lc.get(x, 0) - k
    else:
        lc[b] = lc.get(b, 0) + k


def lc_of(b: int) -> LinearCombination:
    """A Boolean as a linear combination."""
    lc: LinearCombination = {}
    add_scaled(lc, b, 1)
    return lc


def enforce_bit(cs: Recorder, x: int) -> None:
    """The row (1 − x) · x = 0."""
    cs.enforce({ONE: 1, x: -1}, {x: 1}, {})


def alloc(cs: Recorder) -> int:
    """A bit given from outside, with its row."""
    x = cs.hint_bit()
    enforce_bit(cs, x)
    return x


def _allocated_xor(cs: Recorder, p: int, q: int) -> int:
    """c = p xor q of two variables: 2p · q = p + q − c."""
    c = cs.bit(Op.XOR, p, q)
    total = {p: 1}
    total[q] = total.get(q, 0) + 1
    total[c] = -1
    cs.enforce({p: 2}, {q: 1}, total)
    return c


def xor(cs: Recorder, a: int, b: int) -> int:
    """a xor b. Of a plain and a negated operand the plain one comes first and the result is negated."""
    if a & ~NOT_FLAG == ONE:
        return b if a == FALSE else b ^ NOT_FLAG
    if b & ~NOT_FLAG == ONE:
        return a if b == FALSE else a ^ NOT_FLAG
    if (a ^ b) & NOT_FLAG:
        p, q = (b, a) if a & NOT_FLAG else (a, b)
        return _allocated_xor(cs, p, q ^ NOT_FLAG) ^ NOT_FLAG
    return _allocated_xor(cs, a & ~NOT_FLAG, b & ~NOT_FLAG)


def and_(cs: Recorder, a: int, b: int) -> int:
    """a and b. Of a plain and a negated operand the plain one comes first."""
    if FALSE in (a, b):
        return FALSE
    if a == TRUE:
        return b
    if b == TRUE:
        return a
    if a & NOT_FLAG and not b & NOT_FLAG:
        a, b = b, a
    c = cs.bit(Op.AND, a, b)
    cs.enforce(lc_of(a), lc_of(b), {c: 1})
    return c


def not_(b: int) -> int:
    """The negation: no variable, no row."""
    return b ^ NOT_FLAG


def ch(cs: Recorder, a: int, b: int, c: int) -> int:
    """SHA-256's choice (a and b) xor (not a and c)."""
    if is_constant(a) and is_constant(b) and is_constant(c):
        return b if a == TRUE else c
    if a == FALSE:
        return c
    if b == FALSE:
        return and_(cs, not_(a), c)
    if c == FALSE:
        return and_(cs, a, b)
    if c == TRUE:
        return not_(and_(cs, a, not_(b)))
    if b == TRUE:
        return not_(and_(cs, not_(a), not_(c)))
    x = cs.bit(Op.CH, a, b, c)
    difference, rest = lc_of(b), {x: 1}
    add_scaled(difference, c, -1)
    add_scaled(rest, c, -1)
    cs.enforce(difference, lc_of(a), rest)
    return x


def maj(cs: Recorder, a: int, b: int, c: int) -> int:
    """SHA-256's majority. The result is allocated before b and c, but its row comes second."""
    if is_constant(a) and is_constant(b) and is_constant(c):
        return constant(sum(x == TRUE for x in (a, b, c)) >= 2)
    for x, y, z in ((a, b, c), (b, a, c), (c, a, b)):
        if x == FALSE:
            return and_(cs, y, z)
    for x, y, z in ((c, a, b), (b, a, c), (a, b, c)):
        if x == TRUE:
            return not_(and_(cs, not_(y), not_(z)))
    x = cs.bit(Op.MAJ, a, b, c)
    both = and_(cs, b, c)
    rest = lc_of(both)
    rest[x] = -1
    left: LinearCombination = {}
    add_scaled(left, both, 2)
    add_scaled(left, b, -1)
    add_scaled(left, c, -1)
    cs.enforce(left, lc_of(a), rest)
    return x
