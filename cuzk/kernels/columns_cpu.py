"""Columns of a constraint system on the CPU: for each variable the sum over the rows of coefficient times row weight."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cuzk.circuits.template import INDEX_MASK, PROLOGUE_BIT, STAGE_ELEM, TAG_SHIFT
from cuzk.field import fr
from cuzk.jit import kernel, shared
from cuzk.kernels.flat import AUX, I64, INPUT, ROW, U16, U32, U64

_TAG, _MASK, _ELEM, _PROLOGUE = np.uint32(TAG_SHIFT), np.uint32(INDEX_MASK), np.uint32(STAGE_ELEM), np.uint32(PROLOGUE_BIT)


class MatrixTables(NamedTuple):
    """One of A, B, C of all templates. A column slot is 0 for ONE, then the template's inputs, its ports, its aux."""

    row: I64  # (templates + 1,) into indptr
    indptr: I64
    slots: U32
    coeffs: U16
    coeffs_mont: U64
    inputs: I64  # (templates,)


class AuxOf(NamedTuple):
    """Aux index (within its stage) of every bit and element rank of the stage at hand and of the prologue."""

    stage_bits: U32
    stage_elems: U32
    prologue_bits: U32
    prologue_elems: U32


@shared
def _head(head, placed, segment, inputs, base, aux_of, num_inputs):
    """Columns of ONE, of the segment's inputs and of its ports. Returns how many."""
    head[0] = 0
    n = 1
    for k in range(inputs):
        head[n] = base[INPUT] + placed.input[segment] + k
        n += 1
    for p in range(placed.port_ptr[segment], placed.port_ptr[segment + 1]):
        ref = placed.ports[p]
        tag, index = ref >> _TAG, ref & _MASK
        if tag < _PROLOGUE:
            aux = np.int64(aux_of.stage_elems[index] if tag & _ELEM else aux_of.stage_bits[index]) + base[AUX]
        else:
            aux = np.int64(aux_of.prologue_elems[index] if tag & _ELEM else aux_of.prologue_bits[index])
        head[n] = num_inputs + aux
        n += 1
    return n


@kernel
def add_columns(out_mont, matrix, templates, placed, base, aux_of, lagrange_mont, head, num_inputs):
    """out[v] += Σ coefficient of v in the row · weight of the row, over all rows of one stamp.

    Shape   out uint64[inputs + aux, 4], lagrange uint64[rows, 4]; head int64 working memory; base int64[5].
    Domain  Montgomery.
    Cost    an addition for each term with coefficient 1, −1 or 2, and 1 M more for each other.
    """
    for s in range(len(templates)):
        t = templates[s]
        n = _head(head, placed, s, matrix.inputs[t], base, aux_of, num_inputs)
        own = num_inputs + base[AUX] + placed.aux[s] - n
        row = base[ROW] + placed.row[s]
        for r in range(matrix.row[t], matrix.row[t + 1] - 1):
            weight = fr.load(lagrange_mont, np.uint64(row))
            row += 1
            for i in range(matrix.indptr[r], matrix.indptr[r + 1]):
                slot = np.int64(matrix.slots[i])
                column = np.uint64(head[slot] if slot < n else own + slot)
                k = matrix.coeffs[i]
                total = fr.load(out_mont, column)
                if k == 0:  # COEFF_ONE
                    total = fr.add(total, weight)
                elif k == 1:  # COEFF_MINUS_ONE
                    total = fr.sub(total, weight)
                elif k == 2:  # COEFF_TWO
                    total = fr.add(total, fr.add(weight, weight))
                else:
                    total = fr.add(total, fr.mul(fr.load(matrix.coeffs_mont, np.uint64(k)), weight))
                fr.store(out_mont, column, total)


@kernel
def add_rows(out_mont, x_mont):
    """out[i] += x[i]. Shape uint64[n, 4]."""
    for i in range(len(x_mont)):
        j = np.uint64(i)
        fr.store(out_mont, j, fr.add(fr.load(out_mont, j), fr.load(x_mont, j)))
