"""Field-element wires: public inputs, products, equality, decomposition into bits.

Source  bellpepper-core src/gadgets/num.rs; rust-fil-proofs storage-proofs-core/src/gadgets/constraint.rs.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.circuits import boolean
from cuzk.circuits.system import Recorder
from cuzk.circuits.template import ONE
from cuzk.field.params import R

NUM_BITS = R.bit_length()  # 255


def alloc(cs: Recorder) -> int:
    """An element given from outside."""
    return cs.hint_elem()


def inputize(cs: Recorder, x: int) -> None:
    """A public input tied to x: i · 1 = x."""
    i = cs.solved_input()
    cs.enforce({i: 1}, {ONE: 1}, {x: 1})


def mul(cs: Recorder, a: int, b: int) -> int:
    """c = a · b."""
    c = cs.solved_elem()
    cs.enforce({a: 1}, {b: 1}, {c: 1})
    return c


def add(cs: Recorder, a: int, b: int) -> int:
    """s = a + b."""
    s = cs.solved_elem()
    total = {a: 1}
    total[b] = total.get(b, 0) + 1
    cs.enforce(total, {ONE: 1}, {s: 1})
    return s


def equal(cs: Recorder, a: int, b: int) -> None:
    """a = b."""
    cs.enforce({a: 1}, {ONE: 1}, {b: 1})


def _to_bits_le(cs: Recorder, inputs: Sequence[int]) -> list[int]:
    (x,) = inputs
    bits = cs.value_bits(NUM_BITS, x, lambda b: boolean.enforce_bit(cs, b))
    total = {b: 1 << i for i, b in enumerate(bits)}
    total[x] = total.get(x, 0) - 1
    cs.enforce({}, {}, total)
    return bits


def to_bits_le(cs: Recorder, x: int) -> list[int]:
    """All 255 bits of x, least first. Nothing says that they are below r: x + r would do as well where it fits."""
    return cs.stamp(("to_bits_le",), _to_bits_le, [x])
