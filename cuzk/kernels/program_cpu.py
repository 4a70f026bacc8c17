"""Programs of templates on the CPU: values of new variables, segment by segment (`kernels.flat`)."""

from __future__ import annotations

import numpy as np

from cuzk.field import fr
from cuzk.jit import kernel, shared
from cuzk.kernels.flat import BIT, ELEM, INPUT, Code
from cuzk.kernels.rows_cpu import copy_elements, gather_ports, three_forms

_HINT_BIT, _HINT_ELEM, _LOGIC, _SUM, _BITS, _SOLVE = (
    int(c) for c in (Code.HINT_BIT, Code.HINT_ELEM, Code.LOGIC, Code.SUM, Code.BITS, Code.SOLVE)
)
_0, _1, _32, _63 = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(63)


@shared
def _logic(bits, bit, records, first, n):
    """n bits by truth table into slots from `bit` on."""
    for i in range(n):
        r = np.uint64(first + i)
        index = np.uint64(bits[records[r, 0]]) | np.uint64(bits[records[r, 1]]) << _1
        index |= np.uint64(bits[records[r, 2]]) << np.uint64(2)
        bits[np.uint64(bit + i)] = np.uint8((np.uint64(records[r, 3]) >> index) & _1)


@shared
def _sum(bits, bit, width, constant, program, first, words):
    """The `width` bits of constant + sum of words into slots from `bit` on."""
    total = constant
    for w in range(first, first + words):
        word = _0
        for k in range(32):
            word |= np.uint64(bits[program.sum_slots[w, k]]) << np.uint64(k)
        total += word ^ np.uint64(program.sum_masks[w])
    for k in range(width):
        bits[bit + k] = np.uint8((total >> np.uint64(k)) & _1)


@shared
def _solve(forms, form, negate, scratch, elem):
    """±(P · Q − S) into element slot `elem`; P, Q, S are forms `form`, `form` + 1, `form` + 2."""
    three_forms(forms, form, scratch)
    x, y = fr.load(scratch.three_mont, 0), fr.load(scratch.three_mont, 1)
    if not fr.eq(y, fr.ONE):
        x = fr.mul(x, y)
    x = fr.sub(x, fr.load(scratch.three_mont, 2))
    fr.store(scratch.elems_mont, np.uint64(elem), fr.neg(x) if negate else x)


@kernel
def run_segments(values, tables, placed, base, hint_bits, hint_elems_mont, scratch, segments):
    """Fill the variables of segments [segments[0], segments[1]) of one stamp, in order.

    Shape   values as `Witness`; base int64[5]; hints of this stamp: uint8[n], uint64[k, 4].
    Domain  Montgomery.
    Alias   values is read (ports) and written (own variables) by several threads, each in its own stamp.
    Cost    a table lookup for each bit; for each SOLVE its three forms and at most 1 M.
    """
    variants, program, forms = tables.variants, tables.program, tables.forms
    bits, elems = scratch.bits, scratch.elems_mont
    code = program.code
    for s in range(segments[0], segments[1]):
        v = placed.variant[s]
        bit, new_input = gather_ports(scratch, placed, s, base, values)
        elem = new_input + variants.inputs[v]
        first_bit, first_input, first_elem = bit, new_input, elem
        hint_bit, hint_elem = placed.hint_bit[s], placed.hint_elem[s]
        pc = variants.code[v]
        while pc < variants.code_end[v]:
            op, n = np.int64(code[pc]), np.int64(code[pc + 1])
            if op == _LOGIC:
                _logic(bits, bit, program.logic, variants.logic[v] + np.int64(code[pc + 2]), n)
                bit += n
                pc += 3
            elif op == _SUM:
                constant = np.uint64(code[pc + 2]) | np.uint64(code[pc + 3]) << _32
                first = variants.sum_word[v] + np.int64(code[pc + 5])
                _sum(bits, bit, n, constant, program, first, np.int64(code[pc + 4]))
                bit += n
                pc += 6
            elif op == _HINT_BIT:
                for k in range(n):
                    bits[bit + k] = hint_bits[hint_bit + k]
                bit += n
                hint_bit += n
                pc += 2
            elif op == _HINT_ELEM:
                copy_elements(elems, elem, hint_elems_mont, hint_elem, n)
                elem += n
                hint_elem += n
                pc += 2
            elif op == _BITS:
                fr.store(scratch.three_mont, 0, fr.to_canon(fr.load(elems, np.uint64(code[pc + 2]))))
                for k in range(n):
                    bits[bit + k] = np.uint8((scratch.three_mont[0, k >> 6] >> (np.uint64(k) & _63)) & _1)
                bit += n
                pc += 3
            else:  # SOLVE, SOLVE_INPUT
                form, negate = variants.form[v] + n, code[pc + 2] != 0
                if op == _SOLVE:
                    _solve(forms, form, negate, scratch, elem)
                    elem += 1
                else:
                    _solve(forms, form, negate, scratch, new_input)
                    new_input += 1
                pc += 3
        to = base[BIT] + placed.bit[s]
        for k in range(bit - first_bit):
            values.bits[to + k] = bits[first_bit + k]
        copy_elements(values.elems_mont, base[ELEM] + placed.elem[s], elems, first_elem, elem - first_elem)
        copy_elements(values.inputs_mont, base[INPUT] + placed.input[s], elems, first_input, new_input - first_input)
