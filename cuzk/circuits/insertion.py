"""Putting an element at a position among its siblings, and selecting one of many.

Source  rust-fil-proofs storage-proofs-core/src/gadgets/insertion.rs.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.circuits import boolean
from cuzk.circuits.system import Recorder


def pick(cs: Recorder, condition: int, a: int, b: int) -> int:
    """c = a if the Boolean holds, else b: (b − a) · condition = b − c."""
    c = cs.solved_elem()
    difference = {b: 1}
    difference[a] = difference.get(a, 0) - 1
    cs.enforce(difference, boolean.lc_of(condition), {b: 1, c: -1})
    return c


def select(cs: Recorder, candidates: Sequence[int], bits: Sequence[int]) -> int:
    """The candidate at position Σ bits[i]·2^i."""
    assert len(candidates) == 1 << len(bits)
    state = list(candidates)
    for bit in reversed(bits):
        half = len(state) // 2
        state = [pick(cs, bit, state[half + j], state[j]) for j in range(half)]
    return state[0]


def insert(cs: Recorder, element: int, bits: Sequence[int], siblings: Sequence[int]) -> list[int]:
    """The list with `element` at position Σ bits[i]·2^i and the siblings, in order, at the others.

    Cost    2, 8, 22 rows for 2, 4, 8 elements, n·(n − 1) for other sizes
    """
    size = len(siblings) + 1
    assert size == 1 << len(bits)
    if size == 2:
        return [pick(cs, bits[0], siblings[0], element), pick(cs, bits[0], element, siblings[0])]
    if size == 4:
        return _insert_4(cs, element, bits, siblings)
    if size == 8:
        return _insert_8(cs, element, bits, siblings)
    others = list(siblings)
    candidates = [[*others[:i], element, *others[i:]] for i in range(size)]
    return [select(cs, [c[position] for c in candidates], bits) for position in range(size)]


def _insert_4(cs: Recorder, a: int, bits: Sequence[int], siblings: Sequence[int]) -> list[int]:
    bit0, bit1 = bits
    b, c, d = siblings
    p0 = pick(cs, bit1, b, pick(cs, bit0, b, a))
    p1 = pick(cs, bit1, c, pick(cs, bit0, a, b))
    p2 = pick(cs, bit1, pick(cs, bit0, d, a), c)
    p3 = pick(cs, bit1, pick(cs, bit0, a, d), d)
    return [p0, p1, p2, p3]


def _insert_8(cs: Recorder, a: int, bits: Sequence[int], siblings: Sequence[int]) -> list[int]:
    bit0, bit1, bit2 = bits
    b, c, d, e, f, g, h = siblings
    neither = boolean.and_(cs, boolean.not_(bit0), boolean.not_(bit1))
    both = boolean.and_(cs, bit0, bit1)
    p0 = pick(cs, bit2, b, pick(cs, neither, a, b))
    p1 = pick(cs, bit2, c, pick(cs, bit1, c, pick(cs, bit0, a, b)))
    p2 = pick(cs, bit2, d, pick(cs, bit1, pick(cs, bit0, d, a), c))
    p3 = pick(cs, bit2, e, pick(cs, both, a, d))
    p4 = pick(cs, bit2, pick(cs, neither, a, f), e)
    p5 = pick(cs, bit2, pick(cs, bit1, g, pick(cs, bit0, a, f)), f)
    p6 = pick(cs, bit2, pick(cs, bit1, pick(cs, bit0, h, a), g), g)
    p7 = pick(cs, bit2, pick(cs, both, a, h), h)
    return [p0, p1, p2, p3, p4, p5, p6, p7]
