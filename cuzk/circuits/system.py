"""Recording a constraint system: gadgets run once over a recorder, which keeps rows and program and no values.

Handles
    Gadgets see variables as Python integers. Inside a stamped gadget a handle is the template ref itself; at stage
    level it is OUTER plus the port-table ref. ONE is the constant 1. A *Boolean* is a handle of a bit, with NOT_FLAG
    where it is negated: TRUE is ONE, FALSE is ONE with NOT_FLAG. A *linear combination* is a dict from handle to
    integer coefficient; integers are taken mod r and zero coefficients dropped.

Blocks
    `stamp` marks a gadget that is worth recording once and placing many times: `circuits.stages` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cuzk.circuits.template import (
    INDEX_MASK,
    INPUT,
    LOCAL_BIT,
    LOCAL_ELEM,
    NOT_FLAG,
    TAG_SHIFT,
    Matrix,
    Op,
    Template,
)
from cuzk.errors import ResourceError
from cuzk.field.params import R

OUTER = 1 << 32  # stage-level aux handle: OUTER | port-table ref
OUTER_INPUT = 1 << 33  # stage-level input handle: OUTER_INPUT | input index in the stage
MAX_COEFFICIENTS = 1 << 16

LinearCombination = dict[int, int]
Gadget = Callable[["Recorder", Sequence[int]], list[int]]


class Coefficients:
    """The coefficients of a shape, numbered in order of first use after 1, -1 and 2."""

    def __init__(self) -> None:
        self.values = [1, R - 1, 2]
        self._index = {1: 0, -1: 1, R - 1: 1, 2: 2, 0: -1}

    def number(self, k: int) -> int:
        """The number of k mod r; -1 for zero."""
        found = self._index.get(k)
        if found is None:
            value = k % R
            found = self._index.get(value)
            if found is None:
                found = len(self.values)
                if found == MAX_COEFFICIENTS:
                    raise ResourceError("too many distinct coefficients", expected=f"at most {MAX_COEFFICIENTS}")
                self.values.append(value)
                self._index[value] = found
            self._index[k] = found
        return found


class Recorder:
    """What gadgets write to. As it stands it records one template whose handles are template refs."""

    def __init__(self, coefficients: Coefficients) -> None:
        self._coefficients = coefficients
        self._bit_base = LOCAL_BIT << TAG_SHIFT
        self._elem_base = LOCAL_ELEM << TAG_SHIFT
        self._input_base = (INPUT << TAG_SHIFT) + 1
        self._reset()

    def _reset(self) -> None:
        self.rows = self.num_bits = self.num_elems = self.num_inputs = self.hint_bits = self.hint_elems = 0
        self._matrices: list[tuple[list[int], list[int], list[int]]] = [([], [], [0]) for _ in range(3)]
        self._aux_is_bit = bytearray()
        self._ops: list[tuple[Op, tuple[int, ...], Sequence[int]]] = []

    # Variables.

    def _new_bit(self) -> int:
        handle = self._bit_base + self.num_bits
        self.num_bits += 1
        self._aux_is_bit.append(1)
        return handle

    def _new_elem(self) -> int:
        handle = self._elem_base + self.num_elems
        self.num_elems += 1
        self._aux_is_bit.append(0)
        return handle

    def _hint(self, op: Op) -> None:
        if self._ops and self._ops[-1][0] == op:
            self._ops[-1] = (op, (self._ops[-1][1][0] + 1,), ())
        else:
            self._ops.append((op, (1,), ()))

    def hint_bit(self) -> int:
        """A bit whose value comes from outside."""
        self._hint(Op.HINT_BIT)
        self.hint_bits += 1
        return self._new_bit()

    def hint_elem(self) -> int:
        """An element whose value comes from outside."""
        self._hint(Op.HINT_ELEM)
        self.hint_elems += 1
        return self._new_elem()

    def bit(self, op: Op, *operands: int) -> int:
        """The bit that XOR, AND, CH or MAJ of the operands defines."""
        self._ops.append((op, (), operands))
        return self._new_bit()

    def sum_bits(self, width: int, constant: int, words: Sequence[Sequence[int]], each: Callable[[int], None]) -> list[int]:
        """The `width` bits of constant + the sum of words of 32 Booleans, least first; `each` is called after each."""
        refs = [b for word in words for b in word]
        self._ops.append((Op.SUM, (width, constant & 0xFFFFFFFF, constant >> 32, len(words)), refs))
        return self._bits(width, each)

    def value_bits(self, n: int, elem: int, each: Callable[[int], None]) -> list[int]:
        """The n low bits of the canonical value of an element, least first; `each` is called after each."""
        self._ops.append((Op.BITS, (n,), (elem,)))
        return self._bits(n, each)

    def _bits(self, n: int, each: Callable[[int], None]) -> list[int]:
        bits = []
        for _ in range(n):
            bits.append(self._new_bit())
            each(bits[-1])
        return bits

    def solved_elem(self) -> int:
        """An element whose value makes the next row hold."""
        self._ops.append((Op.SOLVE, (self.rows,), ()))
        return self._new_elem()

    def solved_input(self) -> int:
        """A public input whose value makes the next row hold."""
        self._ops.append((Op.SOLVE_INPUT, (self.rows,), ()))
        return self.given_input()

    def given_input(self) -> int:
        """A public input that no operation defines: its value is given with the witness."""
        self.num_inputs += 1
        return self._input_base + self.num_inputs - 1

    # Rows.

    def enforce(self, a: LinearCombination, b: LinearCombination, c: LinearCombination) -> None:
        """Append the row A · B = C."""
        number = self._coefficients.number
        for (cols, coeffs, indptr), lc in zip(self._matrices, (a, b, c), strict=True):
            for handle, k in lc.items():
                i = number(k)
                if i >= 0:
                    cols.append(handle)
                    coeffs.append(i)
            indptr.append(len(cols))
        self.rows += 1

    # Structure.

    def sizes(self) -> tuple[int, ...]:
        """Rows, aux, bits, elems, inputs, hint bits and hint elems."""
        bits, elems = self.num_bits, self.num_elems
        return self.rows, bits + elems, bits, elems, self.num_inputs, self.hint_bits, self.hint_elems

    @contextmanager
    def namespace(self, name: str) -> Iterator[None]:
        """Name what is recorded inside, for messages. It has no effect on the constraint system."""
        yield

    def stamp(self, key: tuple[object, ...], gadget: Gadget, inputs: Sequence[int]) -> list[int]:
        """Run `gadget(recorder, inputs)`; at stage level, record it once per key and signature of the inputs.

        `key[0]` is the template's name; the key says everything that the gadget depends on besides its inputs.
        """
        return gadget(self, inputs)

    def template(self, name: str, num_ports: int, ref: Callable[[int], int] | None = None) -> Template:
        """What was recorded, as a template; `ref` turns handles into template refs."""
        aux_is_bit = np.frombuffer(bytearray(self._aux_is_bit), np.uint8)
        bits, elems = np.flatnonzero(aux_is_bit == 1), np.flatnonzero(aux_is_bit == 0)
        a, b, c = (
            _matrix(cols if ref is None else [ref(h) for h in cols], coeffs, indptr, bits, elems)
            for cols, coeffs, indptr in self._matrices
        )
        args: list[int] = []
        arg_ptr = [0]
        for _, numbers, refs in self._ops:
            args += numbers
            args += refs if ref is None else [ref(h & ~NOT_FLAG) | (h & NOT_FLAG) for h in refs]
            arg_ptr.append(len(args))
        return Template(
            name=name,
            a=a,
            b=b,
            c=c,
            aux_is_bit=aux_is_bit,
            inputs=self.num_inputs,
            num_ports=num_ports,
            ops=np.array([op for op, _, _ in self._ops], np.uint8),
            arg_ptr=np.array(arg_ptr, np.uint32),
            args=np.array(args, np.uint32),
        )


def _matrix(cols_list: list[int], coeffs_list: list[int], indptr_list: list[int], bits: np.ndarray, elems: np.ndarray) -> Matrix:
    """CSR arrays with the terms of each row in the order inputs, ports, local variables as allocated."""
    cols, coeffs = np.array(cols_list, np.uint32), np.array(coeffs_list, np.uint16)
    indptr = np.array(indptr_list, np.uint32)
    tag, index = cols >> TAG_SHIFT, (cols & INDEX_MASK).astype(np.int64)
    key = np.where(tag == INPUT, index, index + (1 << 30))
    for kind, positions in ((LOCAL_BIT, bits), (LOCAL_ELEM, elems)):
        of_kind = tag == kind
        key[of_kind] = positions[index[of_kind]] + (2 << 30)
    row = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), indptr[1:].astype(np.int64) - indptr[:-1])
    order = np.argsort((row << 32) | key, kind="stable")
    return Matrix(indptr, cols[order], coeffs[order])
