"""The levelled form of a shape: what kernels on a card walk, made from the flat form (`kernels.flat`).

The instructions of a variant are cut into items, and the items sorted by *level*: those of a level depend on lower levels only,
so that all threads of a block share them. All arrays are uint32. Item arrays hold the levels of all variants one after the other;
a level's header says where each kind starts, and the next header where it ends.

A level runs in two steps, with a barrier behind each: logic, sums of words, copies and products; then solves. Products add terms
of linear forms, as soon as their variables are there, to temporary elements; a form that a solve takes is the sum of a few of
these, or a variable itself. One thread runs several solves in a row where each needs the one before.

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
PORT_BITS, PORT_ELEMS, INPUTS, BITS, ELEMS, FIRST_LEVEL, LEVELS, TEMPS = range(8)
ROW, ROWS, GENERAL, GENERAL_ROWS, FORM, SHORT_FORMS = range(8, 14)
# Entries of a segment (its places count within the stamp) and of a stamp (where it starts).
SEG_VARIANT, SEG_ROW, SEG_BIT, SEG_ELEM, SEG_INPUT, SEG_HINT_BIT, SEG_HINT_ELEM, SEG_PORT = range(8)
AT_ROW, AT_BIT, AT_ELEM, AT_INPUT, AT_HINT_BIT, AT_HINT_ELEM = range(6)
# Entries of a level's header.
LOGIC, SUMS, COPIES, PRODUCTS, SOLVES, MORE = range(6)
KINDS = 5  # MORE: not 0 in a level that has copies, products, or more logic or sums than a block takes at once

SLOT_BITS = 15  # slots of bits lie below 2^15
FLIPPED = 1 << 15  # with the slot of a summed bit that is negated
NEGATED = 1 << 16  # with the slot that a solve fills
NO_PRODUCT = 1 << 17  # with that slot: the second factor is one
LAST = 1 << 18  # with that slot: no further solve in this row
NEW = 1 << 24  # with the first term of a product: the temporary element starts with it
IS_SLOT = 1 << 30  # with an operand of a solve: an element slot, no range
# Flags of a port, beside its index in the stage's bits or elements. (Bit 31 stays free: what tests it is a signed comparison.)
PORT_IS_ELEM, PORT_OF_PROLOGUE = 1 << 29, 1 << 30
RUN = 4  # solves that one thread runs in a row at most
SHORT = 2  # terms of a linear form in a row that one thread adds; longer ones are shared
WORDS = 8  # words of a sum come so many at a time, the last ones zeros
COLUMN_BYTES = 2 * WORDS  # a bit's slots in these words


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
    sums: U32  # (n, 4) first result slot | width << 16, constant low and high, first in `further` | count << 24
    columns: U32  # (n, 32, 4) of each sum: for each bit its slots in up to eight words, two slots a word
    further: U32  # (m, 32, 4) the same of the words beyond these
    copies: U32  # (n, 4) kind | which << 8 | count << 16, first result slot, source
    products: U32  # (n, 4) first term as in `terms`, its slot | temporary element << 16; first further term, their count
    terms: U32  # (n, 2) coefficient | kind << 16, slot
    solves: U32  # (n, RUN, 4) P, Q, S: temporary elements as first | count << 16, or a slot; result slot and flags
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
    forms: U32  # three a general row: those of a variant with few terms first; 3 · row + 0, 1, 2 for A, B, C
    bit_ptr: U32  # (forms + 1,)
    elem_ptr: U32
    const: U32  # (forms,) coefficient, NONE without one
    bit_terms: U32  # slot | coefficient << 16
    elem_terms: U32


NONE = 0xFFFFFFFF
