"""32- and 64-bit words as lists of Booleans, least significant first, and sums of words.

Source  bellperson src/gadgets/uint32.rs and multieq.rs; rust-fil-proofs storage-proofs-core/src/gadgets/uint64.rs.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.circuits import boolean, pack
from cuzk.circuits.boolean import FALSE, TRUE, is_constant
from cuzk.circuits.system import LinearCombination, Recorder
from cuzk.circuits.template import NOT_FLAG, ONE

CAPACITY = 254  # bits that surely fit into a field element

Word = list[int]


def constant(value: int, width: int = 32) -> Word:
    """A constant word."""
    return [boolean.constant(value >> i & 1) for i in range(width)]


def alloc64(cs: Recorder) -> Word:
    """A 64-bit word given from outside."""
    return [boolean.alloc(cs) for _ in range(64)]


def pack_into_input(cs: Recorder, word: Word) -> None:
    """Make a word one public input."""
    pack.pack_into_inputs(cs, word)


def rotr(word: Word, n: int) -> Word:
    """Rotation to the right."""
    return word[n:] + word[:n]


def shr(word: Word, n: int) -> Word:
    """Shift to the right."""
    return word[n:] + [FALSE] * n


def xor(cs: Recorder, a: Word, b: Word) -> Word:
    """Bitwise xor."""
    return [boolean.xor(cs, x, y) for x, y in zip(a, b, strict=True)]


def ch(cs: Recorder, a: Word, b: Word, c: Word) -> Word:
    """Bitwise choice."""
    return [boolean.ch(cs, x, y, z) for x, y, z in zip(a, b, c, strict=True)]


def maj(cs: Recorder, a: Word, b: Word, c: Word) -> Word:
    """Bitwise majority."""
    return [boolean.maj(cs, x, y, z) for x, y, z in zip(a, b, c, strict=True)]


class MultiEq:
    """Packs many equalities of small integers into few rows, each as wide as the field's capacity.

    A row is appended when the next equality no longer fits, and at the end.
    """

    def __init__(self, cs: Recorder) -> None:
        self.cs = cs
        self._left: LinearCombination = {}
        self._right: LinearCombination = {}
        self._used = 0

    def __enter__(self) -> MultiEq:
        return self

    def __exit__(self, *_: object) -> None:
        if self._used:
            self._emit()

    def _emit(self) -> None:
        self.cs.enforce(self._left, {ONE: 1}, self._right)
        self._left, self._right, self._used = {}, {}, 0

    def enforce_equal(self, constant: int, words: Sequence[Word], result: Word) -> None:
        """constant + the sum of `words` equals `result`, an integer of len(result) bits."""
        if self._used + len(result) >= CAPACITY:
            self._emit()
        left, right, shift = self._left, self._right, self._used
        for word in words:
            for j, b in enumerate(word, shift):
                if b & NOT_FLAG:
                    boolean.add_scaled(left, b, 1 << j)
                else:
                    left[b] = left.get(b, 0) + (1 << j)
        if constant:
            left[ONE] = left.get(ONE, 0) + (constant << shift)
        for j, b in enumerate(result, shift):
            right[b] = 1 << j
        self._used += len(result)


def addmany(multi_eq: MultiEq, operands: Sequence[Word]) -> Word:
    """The sum of 2 to 10 words mod 2³². The bits of the whole sum, carries included, are allocated."""
    assert 2 <= len(operands) <= 10
    cs = multi_eq.cs
    constant_sum, words = 0, []
    for word in operands:
        if all(is_constant(b) for b in word):
            constant_sum += sum((b == TRUE) << j for j, b in enumerate(word))
        else:
            words.append(word)
    if not words:
        return constant(constant_sum & 0xFFFFFFFF)
    width = (len(operands) * 0xFFFFFFFF).bit_length()
    result = cs.sum_bits(width, constant_sum, words, lambda x: boolean.enforce_bit(cs, x))
    multi_eq.enforce_equal(constant_sum, words, result)
    return result[:32]
