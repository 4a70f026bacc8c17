"""How a constraint system is held: templates, placed once each in a prologue and a stage that is repeated.

A *template* is a run of consecutive rows with the variables that they allocate: a SHA-256 block, a Poseidon permutation, a
decomposition, or the loose rows between two of those. A *segment* places a template at row, aux and input offsets and says
which outside variables its *ports* are. A *stage* is a list of segments that covers its rows and variables without gaps. A
*shape* is a prologue stage and a repeated stage ("challenge" in PoRep) stamped `repeats` times; inside a stamp every offset is
relative, so a stamp costs nothing. Groth16's final rows `input * 0 = 0` are not stored.

References
    A *ref* is a uint32: tag in bits 31..30, NOT flag in bit 29, index in bits 28..0.
    In a template: LOCAL_BIT (rank among the template's bit variables), LOCAL_ELEM (rank among its other aux variables), PORT
    (index into the segment's ports) and INPUT (0 is the constant ONE, k >= 1 the template's own k-th input, counted from 1).
    In a port table: STAGE_BIT / STAGE_ELEM (rank among the bits / elements of the same stamp of the stage) and PROLOGUE_BIT /
    PROLOGUE_ELEM (rank in the prologue). The NOT flag is only used in operands of bit operations, never in matrix columns.
    A true constant operand is ONE, a false one is NOT ONE.

Rows
    Matrix entries are (column ref, index into the shape's coefficient table). Within a row a variable occurs once; zero
    coefficients are dropped. Terms are in the order inputs, ports, own variables as allocated. Coefficient 0 of the table is
    1, coefficient 1 is -1, coefficient 2 is 2.

Program
    One operation per group of new variables, in allocation order, so that running the operations in order over all segments
    in order fills the witness. See `Op`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

TAG_SHIFT = 30
NOT_FLAG = 1 << 29
INDEX_MASK = NOT_FLAG - 1
# Tags of template refs.
LOCAL_BIT, LOCAL_ELEM, PORT, INPUT = 0, 1, 2, 3
# Tags of port-table entries.
STAGE_BIT, STAGE_ELEM, PROLOGUE_BIT, PROLOGUE_ELEM = 0, 1, 2, 3
ONE = INPUT << TAG_SHIFT

COEFF_ONE, COEFF_MINUS_ONE, COEFF_TWO = 0, 1, 2


class Op(IntEnum):
    """Operations of a template's program. "->" is what each defines; args are in `Template.args`.

    Bit operands are refs to bit variables with the NOT flag where the Boolean is negated (XOR takes plain refs: it is of the
    variables, as bellpepper's AllocatedBit::xor).
    """

    HINT_BIT = 0  # n                      -> the next n bits of the hint stream
    HINT_ELEM = 1  # n                     -> the next n elements of the hint stream
    XOR = 2  # a, b                        -> 1 bit
    AND = 3  # a, b                        -> 1 bit (and, and_not, nor by flags)
    CH = 4  # a, b, c                      -> 1 bit (a & b) ^ (~a & c)
    MAJ = 5  # a, b, c                     -> 1 bit
    SUM = 6  # width, lo, hi, n, 32n refs  -> width bits of lo + 2**32 hi + sum of n words of 32 Booleans, least first
    BITS = 7  # n, elem ref                -> the n low bits of the canonical value, least first
    SOLVE = 8  # row                       -> 1 element: the value that makes the row hold, see below
    SOLVE_INPUT = 9  # row                 -> 1 input: likewise

    # SOLVE: the new variable is the last one allocated at that point. It occurs in the row either only in C with
    # coefficient k = 1 or -1, and then its value is k * (A * B - rest of C); or (inputize) only in A with coefficient 1 where
    # B is ONE, and then its value is C.


@dataclass(frozen=True, slots=True)
class Matrix:
    """One of A, B, C of a template in CSR form."""

    indptr: U32  # (rows + 1,)
    cols: U32  # (nnz,) refs
    coeffs: U16  # (nnz,) indices into Shape.coefficients


@dataclass(frozen=True, slots=True)
class Template:
    """Rows, variables and program of one gadget instance, without its place."""

    name: str
    a: Matrix
    b: Matrix
    c: Matrix
    aux_is_bit: U8  # (aux,) 1 where the local aux variable is a bit, in allocation order
    inputs: int  # inputs that it allocates
    num_ports: int
    ops: U8  # (n_ops,) Op
    arg_ptr: U32  # (n_ops + 1,)
    args: U32

    @property
    def rows(self) -> int:
        """Number of constraints."""
        return len(self.a.indptr) - 1

    @property
    def aux(self) -> int:
        """Number of aux variables."""
        return len(self.aux_is_bit)

    @property
    def bits(self) -> int:
        """Number of aux variables that are bits."""
        return int(self.aux_is_bit.sum())


@dataclass(frozen=True, slots=True)
class Stage:
    """Segments in order. Offsets are relative to the stage; the arrays have one entry a segment."""

    template: U32  # index into Shape.templates
    row: U32  # first row
    aux: U32  # first aux
    bit: U32  # first bit rank
    elem: U32  # first element rank
    input: U32  # first input
    hint_bit: U32  # first position in the bit hint stream
    hint_elem: U32
    port_ptr: U32  # (segments + 1,) into ports
    ports: U32
    names: tuple[str, ...]  # namespace path of each segment, upstream's words
    rows: int  # totals of the stage
    aux_total: int
    bits: int
    elems: int
    inputs: int
    hint_bits: int
    hint_elems: int


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Shape:
    """A whole constraint system: the prologue, then `repeats` stamps of the repeated stage.

    Global order: input 0 is ONE, then prologue inputs, then each stamp's; aux: prologue, then each stamp's; rows likewise.
    """

    name: str
    templates: tuple[Template, ...]
    coefficients: U64  # (k, 4) canonical little-endian limbs
    prologue: Stage
    repeated: Stage
    repeats: int
    facts: dict[str, int | str] = field(default_factory=dict)  # what it is of, for messages and `inspect`

    @property
    def num_inputs(self) -> int:
        """Inputs with ONE."""
        return 1 + self.prologue.inputs + self.repeats * self.repeated.inputs

    @property
    def num_aux(self) -> int:
        """Aux variables."""
        return self.prologue.aux_total + self.repeats * self.repeated.aux_total

    @property
    def num_rows(self) -> int:
        """Circuit rows, without the final `input * 0 = 0` rows."""
        return self.prologue.rows + self.repeats * self.repeated.rows

    @property
    def num_bits(self) -> int:
        """Aux variables that are bits."""
        return self.prologue.bits + self.repeats * self.repeated.bits

    @property
    def num_elems(self) -> int:
        """Aux variables that are not bits."""
        return self.num_aux - self.num_bits

    @property
    def groth16_rows(self) -> int:
        """Rows with the final input rows."""
        return self.num_rows + self.num_inputs

    @property
    def domain_log2(self) -> int:
        """log2 of the evaluation domain: the smallest power of two that holds all rows."""
        return (self.groth16_rows - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Witness:
    """Values of one instance of a shape. Bits are one byte each, in aux order over the bit variables."""

    inputs_mont: U64  # (num_inputs, 4), ONE first
    bits: U8  # (num_bits,) 0 or 1
    elems_mont: U64  # (num_elems, 4) in aux order over the other variables
