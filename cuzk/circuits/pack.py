"""Bits to field elements and back to byte order.

Source  bellperson src/gadgets/multipack.rs; rust-fil-proofs storage-proofs-core/src/util.rs.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.circuits.boolean import FALSE, add_scaled
from cuzk.circuits.system import LinearCombination, Recorder
from cuzk.circuits.template import ONE
from cuzk.field.params import R

CAPACITY = R.bit_length() - 1  # 254


def _weighted(bits: Sequence[int]) -> LinearCombination:
    lc: LinearCombination = {}
    for i, b in enumerate(bits):
        add_scaled(lc, b, 1 << i)
    return lc


def pack_into_inputs(cs: Recorder, bits: Sequence[int]) -> None:
    """One public input for every 254 bits, least first."""
    for start in range(0, len(bits), CAPACITY):
        i = cs.solved_input()
        cs.enforce(_weighted(bits[start : start + CAPACITY]), {ONE: 1}, {i: 1})


def pack_bits(cs: Recorder, bits: Sequence[int]) -> int:
    """The element whose bits, least first, are the first 254 of these."""
    x = cs.solved_elem()
    cs.enforce(_weighted(bits[:CAPACITY]), {ONE: 1}, {x: 1})
    return x


def reverse_bit_numbering(bits: Sequence[int]) -> list[int]:
    """Pad to whole bytes with FALSE and reverse the bits of each byte: little-endian integer to SHA-256's bit order and
    back."""
    padded = [*bits, *[FALSE] * (-len(bits) % 8)]
    return [b for i in range(0, len(padded), 8) for b in reversed(padded[i : i + 8])]
