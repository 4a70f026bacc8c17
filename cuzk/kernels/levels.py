"""The levelled form of a shape: what kernels on a card walk, made from the flat form (`kernels.flat`).

The instructions of a variant are cut into items, and the items sorted by *level*: those of a level depend on lower levels only,
so that all threads of a block share them. All arrays are uint32. Item arrays hold the levels of all variants one after the other;
a level's header says where each kind starts, and the next header where it ends.

A level runs in three steps, with a barrier behind each: logic, sums, copies and terms; groups; solves. Terms and groups are
temporary elements: those of the level's terms first, then its groups.

The segments of a stage form *chains*: a chain is run by one block, segment after segment; a chain depends on others only in
earlier *phases*.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

# Words of a record.
VARIANT_WORDS, SEGMENT_WORDS, STAMP_WORDS, LEVEL_WORDS = 16, 8, 8, 8
# Entries of a variant.
PORT_BITS, PORT_ELEMS, INPUTS, BITS, ELEMS, FIRST_LEVEL, LEVELS, TEMPS, ROW, ROWS, GENERAL, GENERAL_ROWS, FORM = range(13)
# Entries of a segment (its places count within the stamp) and of a stamp (where it starts).
SEG_VARIANT, SEG_ROW, SEG_BIT, SEG_ELEM, SEG_INPUT, SEG_HINT_BIT, SEG_HINT_ELEM, SEG_PORT = range(8)
AT_ROW, AT_BIT, AT_ELEM, AT_INPUT, AT_HINT_BIT, AT_HINT_ELEM = range(6)
# Entries of a level's header.
LOGIC, SUMS, COPIES, TERMS, GROUPS, SOLVES = range(6)
KINDS = 6

SLOT_BITS = 16  # slots lie below 2^16
NEGATED = 1 << 16  # with the slot of a summed bit; with the slot that a solve fills
NO_PRODUCT = 1 << 17  # with that slot: the second factor is one
IS_SLOT = 1 << 30  # with an operand of a solve: an element slot, no range
# Flags of a port, beside its index in the stage's bits or elements. (Bit 31 stays free: what tests it is a signed comparison.)
PORT_IS_ELEM, PORT_OF_PROLOGUE = 1 << 29, 1 << 30
GROUP = 8  # temporary elements that one thread adds
WORDS = 8  # words of a sum come so many at a time, the last ones zeros


class Copy(IntEnum):
    """Kinds of copies: what stands in bits 0–7 of the first word."""

    HINT_BITS = 0  # source: place in the hints
    HINT_ELEM = 1
    BITS = 2  # source: element slot; bits 8–15 of the first word: which 32 bits of its canonical value


class Term(IntEnum):
    """Kinds of terms: what stands above the coefficient."""

    CONST = 0
    BIT = 1
    ONE = 2  # the element itself
    MINUS = 3
    PRODUCT = 4


class Items(NamedTuple):
    """Items of all variants, and the variants themselves."""

    variants: U32  # (variants, 16)
    levels: U32  # (levels + 2, 8)
    logic: U32  # (n, 4) slots a | b << 16, c | result << 16; truth table; 0
    sums: U32  # (n, 8) first result slot, width, constant low and high, end of its words, first word
    words: U32  # (words, 32) slot, NEGATED where the Boolean is
    copies: U32  # (n, 4) kind | which << 8 | count << 16, first result slot, source
    terms: U32  # (n, 2) coefficient | kind << 16, slot
    groups: U32  # (n,) first temporary element | count << 16
    solves: U32  # (n, 4) P, Q, S: ranges of temporary elements as in groups, or slots of elements; result slot and flags
    coeffs_mont: U64  # (k, 4)


class Stages(NamedTuple):
    """A stage's segments, ports and chains; segments that have rows of bits, and those with others, the largest first."""

    segments: U32  # (segments, 8)
    ports: U32  # bits before elements in each segment
    chain_ptr: U32  # (chains + 1,) chains of a phase follow one another
    chains: U32  # (segments,) segments of each chain in order
    pattern_segments: U32
    general_segments: U32
    phases: tuple[int, ...]  # chains of each phase


class RowItems(NamedTuple):
    """Rows of all variants, and which segments of each stage have some."""

    pattern_rows: U32  # (rows, 4) as `flat.Rows.pattern_rows`, two slots a word
    patterns: U32  # (patterns, 18) byte offsets into values_mont
    values_mont: U64
    general_rows: U32  # row within the variant
    bit_ptr: U32  # (forms + 1,)
    elem_ptr: U32
    const: U32  # (forms,) coefficient, NONE without one
    bit_terms: U32  # slot | coefficient << 16
    elem_terms: U32


NONE = 0xFFFFFFFF
