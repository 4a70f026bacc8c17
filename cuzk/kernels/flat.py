"""The flat form of a shape: what kernels walk instead of Python objects, and the instructions of flat programs.

A *variant* is a template together with the kinds (bit or element) of its ports. Kernels work on one segment at a time in a
scratch of its own:

    bits scratch   0: constant 0, 1: constant 1, then the bit ports in port order, then the segment's own bits
    elem scratch   0: ONE, then the element ports in port order, then the segment's own inputs, then its own elements

A *slot* is an index into one of the two. A *form* is a linear combination: constant, bit terms, element terms. A *pattern row*
has only bits, at most three in A, one in B and three in C: its values are looked up by the bits, in a table of few entries.
All other rows are *general*: three forms each.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Slots = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]  # the narrower where all slots fit

# Entries of a stamp's base: its first row (in the output), aux, bit, element and input.
ROW, AUX, BIT, ELEM, INPUT = range(5)
# First slots of variables in the two scratches.
FIRST_BIT, FIRST_ELEM = 2, 1
# Bits that a pattern row may have in A, B, C, and where their values start in its table entry.
PATTERN_TERMS = (3, 1, 3)
PATTERN_A, PATTERN_B, PATTERN_C, PATTERN_VALUES = 0, 8, 10, 18


class Code(IntEnum):
    """Instructions of the code stream, each followed by its operands (uint32)."""

    HINT_BIT = 0  # n
    HINT_ELEM = 1  # n
    LOGIC = 2  # n, first record: n bits by truth table
    SUM = 3  # width, lo, hi, words, first word
    BITS = 4  # n, elem slot
    SOLVE = 5  # first of forms P, Q, S; negate: the element ±(P * Q - S)
    SOLVE_INPUT = 6  # likewise an input


class Variants(NamedTuple):
    """Sizes of the variants and where their parts start, int64[variants] each."""

    port_bits: I64
    port_elems: I64
    inputs: I64
    bits: I64
    elems: I64
    rows: I64
    code: I64
    code_end: I64
    logic: I64
    sum_word: I64
    row: I64  # into Rows.pattern_rows
    general: I64  # into Rows.general_rows
    general_end: I64
    form: I64


class Program(NamedTuple):
    """Instructions of all variants and the operands of their bit operations; offsets count from the variant's own start."""

    code: U32
    logic: Slots  # (n, 4) slots a, b, c and truth table: bit (a + 2 b + 4 c) of it is the value
    sum_slots: Slots  # (words, 32)
    sum_masks: U32  # (words,) bit k set where Boolean k is negated


class Forms(NamedTuple):
    """Linear forms of all variants: three for each general row in order, then three for each SOLVE."""

    bit_ptr: I64  # (forms + 1,)
    elem_ptr: I64
    const: I64  # (forms,) coefficient index, -1 without one
    bit_slot: U32
    bit_coeff: U16
    elem_slot: U32
    elem_coeff: U16
    coeffs_mont: U64  # (k, 4)


class Rows(NamedTuple):
    """Rows of all variants."""

    pattern_rows: Slots  # (rows, 8) slots of A, B, C (3, 1, 3), unused ones 0, and the pattern; pattern 0 gives zeros
    patterns: U16  # (patterns, PATTERN_VALUES) indices into values_mont
    values_mont: U64  # (v, 4)
    general_rows: I64  # row within the variant


class Tables(NamedTuple):
    """All variants."""

    variants: Variants
    program: Program
    forms: Forms
    rows: Rows


class Placed(NamedTuple):
    """Segments of a stage; offsets relative to the stamp."""

    variant: I64
    row: I64
    aux: I64
    bit: I64
    elem: I64
    input: I64
    hint_bit: I64
    hint_elem: I64
    port_ptr: I64
    ports: U32


class Values(NamedTuple):
    """A witness: `circuits.template.Witness` as kernels take it."""

    inputs_mont: U64
    bits: U8
    elems_mont: U64


class Scratch(NamedTuple):
    """Working memory of one thread."""

    bits: U8
    elems_mont: U64
    three_mont: U64  # (3, 4) values of three forms in a row


class Evaluations(NamedTuple):
    """A·z, B·z, C·z, Montgomery, uint64[rows, 4] each."""

    a: U64
    b: U64
    c: U64
