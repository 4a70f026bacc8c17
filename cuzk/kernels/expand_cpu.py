"""Rows of a template as the bytes that the constraint-system digest takes.

For each row, for each of A, B, C: the number of terms (8 bytes, big-endian); for each term one byte `I` or `A`, the index of
the variable (8 bytes, big-endian) and the coefficient (32 bytes, big-endian). Terms are in the order inputs, aux, ascending.

Source  bellpepper-core src/util_cs/test_cs.rs, `TestConstraintSystem::hash`.
"""

from __future__ import annotations

import numpy as np

from cuzk.jit import kernel, shared

COUNT_BYTES = 8
TERM_BYTES = 1 + 8 + 32
LETTERS = np.frombuffer(bytearray(b"IA"), np.uint8)


@shared
def _put_u64(out, at, value):
    """Eight bytes, big-endian."""
    v = np.uint64(value)
    for i in range(8):
        out[at + i] = np.uint8((v >> np.uint64(56 - 8 * i)) & np.uint64(255))


@shared
def _put_combination(out, at, start, stop, slots, coeffs, index_of_slot, first_aux_slot, coefficients_be, letters):
    _put_u64(out, at, stop - start)
    at += 8
    for e in range(start, stop):
        slot = slots[e]
        out[at] = letters[1] if slot >= first_aux_slot else letters[0]
        _put_u64(out, at + 1, index_of_slot[slot])
        k = np.int64(coeffs[e])
        for i in range(32):
            out[at + 9 + i] = coefficients_be[k, i]
        at += 41
    return at


@kernel
def expand_rows(out, at, first, last, a, b, c, index_of_slot, first_aux_slot, coefficients_be, letters):
    """Write rows first .. last − 1 of a template from out[at] on; returns the position behind them.

    Shape   a, b, c: (indptr int64, slots int32, coefficient numbers uint16); index_of_slot: int64, the global index of each
            slot; slots below first_aux_slot are inputs; coefficients_be: uint8 (k, 32)
    Range   within a row, slots ascend with (kind, index): the caller sorts them once per order of the ports
    """
    a_ptr, a_slots, a_coeffs = a
    b_ptr, b_slots, b_coeffs = b
    c_ptr, c_slots, c_coeffs = c
    for r in range(first, last):
        at = _put_combination(
            out, at, a_ptr[r], a_ptr[r + 1], a_slots, a_coeffs, index_of_slot, first_aux_slot, coefficients_be, letters
        )
        at = _put_combination(
            out, at, b_ptr[r], b_ptr[r + 1], b_slots, b_coeffs, index_of_slot, first_aux_slot, coefficients_be, letters
        )
        at = _put_combination(
            out, at, c_ptr[r], c_ptr[r + 1], c_slots, c_coeffs, index_of_slot, first_aux_slot, coefficients_be, letters
        )
    return at
