"""One template as flat arrays: its program as a code stream, its rows as patterns and linear forms. See `kernels.flat`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzk.circuits.template import (
    COEFF_MINUS_ONE,
    COEFF_ONE,
    INDEX_MASK,
    INPUT,
    LOCAL_BIT,
    NOT_FLAG,
    PORT,
    TAG_SHIFT,
    U8,
    U32,
    U64,
    Matrix,
    Op,
    Template,
)
from cuzk.errors import InternalError
from cuzk.kernels.flat import FIRST_BIT, FIRST_ELEM, I64, PATTERN_TERMS, Code

# Kinds of a slot.
BIT, ELEM, CONST = 0, 1, 2
# Coefficient key of an absent term of a pattern.
ABSENT = 0xFFFF


def _truth_tables() -> U8:
    """table[op, not a, not b, not c]: bit (a + 2 b + 4 c) is the value of the operation on the plain variables a, b, c."""
    table = np.zeros((8, 2, 2, 2), np.uint8)
    for flags in np.ndindex(2, 2, 2):
        for index in range(8):
            a, b, c = ((index >> k & 1) ^ flags[k] for k in range(3))
            values = {Op.XOR: a ^ b, Op.AND: a & b, Op.CH: (a & b) | ((1 - a) & c), Op.MAJ: int(a + b + c >= 2)}
            for op, value in values.items():
                table[op][flags] |= value << index
    return table


_TRUTH = _truth_tables()
_LOGIC_ARITY = np.zeros(256, np.int64)
_LOGIC_ARITY[[Op.XOR, Op.AND, Op.CH, Op.MAJ]] = [2, 2, 3, 3]


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of linear forms: of which form, what kind of slot, which slot, which coefficient (index)."""

    form: I64
    kind: U8
    slot: I64
    coeff: I64

    def take(self, keep: npt.NDArray[np.bool_], form: I64) -> Terms:
        """The terms where `keep`, belonging to `form` (one entry for each old form)."""
        return Terms(form[self.form[keep]], self.kind[keep], self.slot[keep], self.coeff[keep])


@dataclass(frozen=True, slots=True)
class Flat:
    """One variant; offsets in `code` count from the variant's own first record, word and form."""

    port_bits: int
    port_elems: int
    inputs: int
    bits: int
    elems: int
    code: U32
    logic: I64  # (n, 4) slots a, b, c and truth table
    sum_slots: I64  # (words, 32)
    sum_masks: U32  # (words,) bit k set where Boolean k is negated
    pattern_slots: I64  # (rows, 7)
    pattern_keys: U64  # (rows, 3) coefficients of A, B, C, sixteen bits each, constant first; zero for general rows
    is_general: npt.NDArray[np.bool_]  # (rows,)
    forms: int  # three for each general row in order, then three for each SOLVE
    bit_ptr: I64  # (forms + 1,)
    elem_ptr: I64
    const: I64  # (forms,) coefficient index, -1 without one
    bit_slot: I64
    bit_coeff: I64
    elem_slot: I64
    elem_coeff: I64


class _Slots:
    """Where the variables of a variant stand in the scratches."""

    def __init__(self, template: Template, port_is_elem: U8) -> None:
        self.port_is_elem = port_is_elem.astype(bool)
        self.port_elems = int(self.port_is_elem.sum())
        self.port_bits = len(port_is_elem) - self.port_elems
        port = np.empty(len(port_is_elem), np.int64)
        port[~self.port_is_elem] = FIRST_BIT + np.arange(self.port_bits)
        port[self.port_is_elem] = FIRST_ELEM + np.arange(self.port_elems)
        self.port = port
        self.bit_base = FIRST_BIT + self.port_bits
        self.input_base = FIRST_ELEM + self.port_elems
        self.elem_base = self.input_base + template.inputs
        self.bit_end = self.bit_base + template.bits
        self.elem_end = self.elem_base + template.aux - template.bits

    def of(self, refs: U32) -> tuple[U8, I64]:
        """Kind and slot of each ref (NOT flags ignored)."""
        tag = refs >> TAG_SHIFT
        index = (refs & INDEX_MASK).astype(np.int64)
        kind = np.where(tag == LOCAL_BIT, BIT, ELEM).astype(np.uint8)
        slot = np.where(tag == LOCAL_BIT, self.bit_base + index, self.elem_base + index)
        ports = tag == PORT
        if ports.any():
            if int(index[ports].max()) >= len(self.port):
                raise InternalError("a template names a port that it does not have")
            slot[ports] = self.port[index[ports]]
            kind[ports] = np.where(self.port_is_elem[index[ports]], ELEM, BIT)
        inputs = tag == INPUT
        slot[inputs] = self.input_base + index[inputs] - 1
        ones = inputs & (index == 0)
        slot[ones], kind[ones] = 0, CONST
        limit = np.where(kind == BIT, self.bit_end, self.elem_end)
        if (slot >= limit).any():
            raise InternalError("a template names a variable that it does not have")
        return kind, slot

    def operands(self, refs: U32) -> tuple[I64, npt.NDArray[np.int64]]:
        """Bit slot and NOT flag of each Boolean operand."""
        kind, slot = self.of(refs)
        if (kind == ELEM).any():
            raise InternalError("an operand of a bit operation is no bit")
        return np.where(kind == CONST, 1, slot), ((refs & NOT_FLAG) != 0).astype(np.int64)

    def terms(self, matrix: Matrix) -> Terms:
        """The terms of all rows of a matrix, form = row."""
        kind, slot = self.of(matrix.cols)
        rows = np.repeat(np.arange(len(matrix.indptr) - 1), matrix.indptr[1:].astype(np.int64) - matrix.indptr[:-1])
        return Terms(rows, kind, slot, matrix.coeffs.astype(np.int64))


def flatten(template: Template, port_is_elem: U8, small: npt.NDArray[np.bool_]) -> Flat:
    """A template, placed where `port_is_elem` says which ports are elements, as flat arrays.

    `small` says of each coefficient whether rows of patterns may have it.


    Cost    a few NumPy passes over rows and terms, one Python step for each instruction that is not bit logic.
    Raises  InternalError if a ref points outside the template.
    """
    slots = _Slots(template, port_is_elem)
    a, b, c = (slots.terms(m) for m in (template.a, template.b, template.c))
    if any((t.coeff >= len(small)).any() for t in (a, b, c)):
        raise InternalError(f"{template.name}: a coefficient beyond the shape's table")
    general, keys, pattern_slots = _patterns(template.rows, (a, b, c), small)
    rank = np.cumsum(general) - 1  # of a general row among them
    parts = [t.take(general[t.form], 3 * rank + k) for k, t in enumerate((a, b, c))]
    n_general = int(general.sum())
    code = _code(template, slots)
    solve_parts, negate = _solve_forms(template, slots, (a, b, c), 3 * n_general)
    n_forms = 3 * (n_general + len(negate))
    stream = _stream(code, 3 * n_general, negate)
    terms = Terms(*(np.concatenate([getattr(p, f) for p in parts + solve_parts]) for f in Terms.__slots__))
    order = np.argsort(terms.form, kind="stable")
    form, kind, slot, coeff = (getattr(terms, f)[order] for f in Terms.__slots__)
    const = np.full(n_forms, -1, np.int64)
    const[form[kind == CONST]] = coeff[kind == CONST]

    def pointers(of: int) -> I64:
        return np.concatenate(([0], np.cumsum(np.bincount(form[kind == of], minlength=n_forms)))).astype(np.int64)

    return Flat(
        slots.port_bits,
        slots.port_elems,
        template.inputs,
        template.bits,
        template.aux - template.bits,
        stream,
        code.logic,
        code.sum_slots,
        code.sum_masks,
        pattern_slots,
        keys,
        general,
        n_forms,
        pointers(BIT),
        pointers(ELEM),
        const,
        slot[kind == BIT],
        coeff[kind == BIT],
        slot[kind == ELEM],
        coeff[kind == ELEM],
    )


def _patterns(
    rows: int, matrices: tuple[Terms, Terms, Terms], small: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_], U64, I64]:
    """Which rows are general; for the others coefficient keys and slots."""
    general = np.zeros(rows, bool)
    for terms, most in zip(matrices, PATTERN_TERMS, strict=True):
        general[terms.form[(terms.kind == ELEM) | ~small[terms.coeff]]] = True
        general |= np.bincount(terms.form[terms.kind == BIT], minlength=rows) > most
    keys = np.zeros((rows, 3), np.uint64)
    slots = np.zeros((rows, sum(PATTERN_TERMS)), np.int64)
    first = 0
    for k, (terms, most) in enumerate(zip(matrices, PATTERN_TERMS, strict=True)):
        coeffs = np.full((rows, 4), ABSENT, np.uint64)
        mine = ~general[terms.form]
        ones = mine & (terms.kind == CONST)
        coeffs[terms.form[ones], 0] = terms.coeff[ones]
        bits = mine & (terms.kind == BIT)
        form = terms.form[bits]
        place = np.arange(len(form)) - np.searchsorted(form, form)  # position among the bits of its row
        coeffs[form, 1 + place] = terms.coeff[bits]
        slots[form, first + place] = terms.slot[bits]
        keys[:, k] = (coeffs << np.arange(0, 64, 16, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
        first += most
    keys[general] = 0
    return general, keys, slots


@dataclass(slots=True)
class _Program:
    instructions: list[tuple[int, ...]]
    logic: I64
    sum_slots: I64
    sum_masks: U32


def _code(template: Template, slots: _Slots) -> _Program:
    """The program with operands as slots. SOLVE instructions are filled in by `_stream`."""
    ops = template.ops
    ptr = template.arg_ptr.astype(np.int64)
    args = template.args
    is_logic = _LOGIC_ARITY[ops] > 0
    logic = _logic_records(ops[is_logic], ptr[:-1][is_logic], args, slots)
    # An instruction starts at every operation, except within a run of bit logic.
    starts = np.flatnonzero(~is_logic | ~np.append(False, is_logic)[:-1])
    instructions: list[tuple[int, ...]] = []
    words: list[U32] = []
    n_words = n_logic = 0
    # Names of an enumeration are slow to look up, and there are thousands of instructions.
    logic_code, sum_code, bits_code, sums, bits = int(Code.LOGIC), int(Code.SUM), int(Code.BITS), int(Op.SUM), int(Op.BITS)
    hints = {int(Op.HINT_BIT): int(Code.HINT_BIT), int(Op.HINT_ELEM): int(Code.HINT_ELEM)}
    solves = {int(Op.SOLVE): int(Code.SOLVE), int(Op.SOLVE_INPUT): int(Code.SOLVE_INPUT)}
    first = starts.tolist()
    for i, j in zip(first, [*first, len(ops)][1:], strict=True):
        op, arg = int(ops[i]), args[ptr[i] : ptr[i + 1]]
        if is_logic[i]:
            instructions.append((logic_code, j - i, n_logic))
            n_logic += j - i
        elif op == sums:
            count = int(arg[3])
            instructions.append((sum_code, int(arg[0]), int(arg[1]), int(arg[2]), count, n_words))
            words.append(arg[4 : 4 + 32 * count])
            n_words += count
        elif op == bits:
            kind, slot = slots.of(arg[1:2])
            if kind[0] != ELEM:
                raise InternalError("BITS of what is no element")
            instructions.append((bits_code, int(arg[0]), int(slot[0])))
        elif op in hints:
            instructions.append((hints[op], int(arg[0])))
        elif op in solves:
            instructions.append((solves[op],))
        else:
            raise InternalError("a template has an unknown operation", got=op)
    refs = np.concatenate(words) if words else np.zeros(0, np.uint32)
    slot, negated = slots.operands(refs)
    masks = (negated.reshape(-1, 32) << np.arange(32)).sum(axis=1).astype(np.uint32)
    return _Program(instructions, logic, slot.reshape(-1, 32), masks)


def _logic_records(ops: U8, ptr: I64, args: U32, slots: _Slots) -> I64:
    """Slots of a, b, c (0 where the operation has no c) and the truth table over the plain variables."""
    a, not_a = slots.operands(args[ptr])
    b, not_b = slots.operands(args[ptr + 1])
    c, not_c = np.zeros(len(ops), np.int64), np.zeros(len(ops), np.int64)
    three = _LOGIC_ARITY[ops] == 3
    c[three], not_c[three] = slots.operands(args[ptr[three] + 2])
    return np.stack((a, b, c, _TRUTH[ops, not_a, not_b, not_c].astype(np.int64)), axis=1)


def _solve_forms(
    template: Template, slots: _Slots, matrices: tuple[Terms, Terms, Terms], first_form: int
) -> tuple[list[Terms], npt.NDArray[np.bool_]]:
    """Terms of the forms P, Q, S of every SOLVE (value ±(P·Q − S)) and whether the sign is minus."""
    ops = template.ops
    ptr = template.arg_ptr[:-1].astype(np.int64)
    solves = np.flatnonzero((ops == Op.SOLVE) | (ops == Op.SOLVE_INPUT))
    counts = np.zeros(len(ops), np.int64)
    hints = ops == Op.HINT_ELEM
    counts[hints] = template.args[ptr[hints]]
    counts[ops == Op.SOLVE] = 1
    elem_at = slots.elem_base + np.cumsum(counts) - counts
    input_at = slots.input_base + np.cumsum(ops == Op.SOLVE_INPUT) - (ops == Op.SOLVE_INPUT)
    new = np.where(ops == Op.SOLVE, elem_at, input_at)[solves]  # slot that each defines
    row = template.args[ptr[solves]].astype(np.int64)
    if (row >= template.rows).any() or len(np.unique(row)) != len(row):
        raise InternalError("SOLVE names a row that does not exist or that another one solved")
    of_row = np.full(template.rows, -1, np.int64)
    of_row[row] = np.arange(len(row))
    target = np.full(template.rows, -1, np.int64)
    target[row] = new
    a, b, c = matrices
    hit = (c.kind == ELEM) & (c.slot == target[c.form])
    if (hit & (c.coeff != COEFF_ONE) & (c.coeff != COEFF_MINUS_ONE)).any():
        raise InternalError("the new variable of a SOLVE row has a coefficient other than 1 and -1")
    negate = np.zeros(len(row), bool)
    negate[of_row[c.form[hit]]] = c.coeff[hit] == COEFF_MINUS_ONE
    in_c = np.zeros(template.rows, bool)
    in_c[c.form[hit]] = True
    form = first_form + 3 * of_row
    product = (of_row >= 0) & in_c  # ±(A * B - rest of C)
    copy = (of_row >= 0) & ~in_c  # C * 1, found in A
    parts = [
        a.take(product[a.form], form),
        b.take((of_row >= 0)[b.form], form + 1),
        c.take(product[c.form] & ~hit, form + 2),
        c.take(copy[c.form], form),
    ]
    found = (a.kind == ELEM) & (a.slot == target[a.form]) & copy[a.form] & (a.coeff == COEFF_ONE)
    if int(found.sum()) != int(copy.sum()):
        raise InternalError("the new variable of a SOLVE row stands neither in C nor alone in A")
    return parts, negate


def _stream(program: _Program, first_form: int, negate: npt.NDArray[np.bool_]) -> U32:
    """The instructions as one uint32 stream."""
    out: list[int] = []
    solved = 0
    for instruction in program.instructions:
        out.extend(instruction)
        if instruction[0] in (Code.SOLVE, Code.SOLVE_INPUT):
            out.extend((first_form + 3 * solved, int(negate[solved])))
            solved += 1
    return np.array(out, np.uint32)
