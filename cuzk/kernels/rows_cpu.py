"""Rows of a constraint system on the CPU: A·z, B·z, C·z segment by segment from the flat form (`kernels.flat`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cuzk.circuits.template import INDEX_MASK, PROLOGUE_BIT, STAGE_ELEM, TAG_SHIFT
from cuzk.field import fr
from cuzk.field.fr_sums import (
    products_add,
    products_montgomery,
    products_zero,
    sum_add,
    sum_add_if,
    sum_join,
    sum_reduce,
    sum_sub,
    sum_zero,
)
from cuzk.jit import kernel, shared
from cuzk.kernels.flat import BIT, ELEM, FIRST_BIT, FIRST_ELEM, INPUT, PATTERN_B, PATTERN_C, ROW

_TAG, _MASK, _ELEM, _PROLOGUE = np.uint32(TAG_SHIFT), np.uint32(INDEX_MASK), np.uint32(STAGE_ELEM), np.uint32(PROLOGUE_BIT)
_0, _1, _2 = np.uint64(0), np.uint64(1), np.uint64(2)
_B, _C = np.uint64(PATTERN_B), np.uint64(PATTERN_C)


def _copy_element(_typingctx, out, i, x, j):
    """out[i] = x[j] of two C-contiguous uint64[n, 4], as one 256-bit vector."""

    def codegen(context, builder, sig, args):
        vector = ir.VectorType(ir.IntType(64), 4)

        def place(k):
            array = context.make_array(sig.args[k])(context, builder, args[k])
            return builder.gep(builder.bitcast(array.data, vector.as_pointer()), [args[k + 1]])

        builder.store(builder.load(place(2), align=8), place(0), align=8)
        return context.get_dummy_value()

    return types.void(out, types.uint64, x, types.uint64), codegen


copy_element: Any = intrinsic(_copy_element)


@shared
def copy_elements(out, i, x, j, n):
    """out[i + k] = x[j + k] for k < n."""
    for k in range(n):
        copy_element(out, np.uint64(i + k), x, np.uint64(j + k))


@shared
def gather_ports(scratch, placed, segment, base, values):
    """Copy the variables that a segment's ports name into the scratch. Returns the next free bit and element slots."""
    bit, elem = FIRST_BIT, FIRST_ELEM
    for p in range(placed.port_ptr[segment], placed.port_ptr[segment + 1]):
        ref = placed.ports[p]
        tag, index = ref >> _TAG, np.int64(ref & _MASK)
        if tag & _ELEM:
            if tag < _PROLOGUE:
                index += base[ELEM]
            copy_element(scratch.elems_mont, np.uint64(elem), values.elems_mont, np.uint64(index))
            elem += 1
        else:
            if tag < _PROLOGUE:
                index += base[BIT]
            scratch.bits[bit] = values.bits[index]
            bit += 1
    return bit, elem


@shared
def gather_own(scratch, variants, variant, placed, segment, base, values, bit, elem):
    """Copy a segment's own bits, inputs and elements into the scratch, from slots `bit` and `elem` on."""
    first = base[BIT] + placed.bit[segment]
    for i in range(variants.bits[variant]):
        scratch.bits[bit + i] = values.bits[first + i]
    copy_elements(scratch.elems_mont, elem, values.inputs_mont, base[INPUT] + placed.input[segment], variants.inputs[variant])
    elem += variants.inputs[variant]
    copy_elements(scratch.elems_mont, elem, values.elems_mont, base[ELEM] + placed.elem[segment], variants.elems[variant])


@shared
def three_forms(forms, first, scratch):
    """Forms `first`, + 1 and + 2 at the variables in the scratch, into scratch.three_mont."""
    for k in range(3):
        fr.store(scratch.three_mont, k, _form_value(forms, first + k, scratch))


@shared
def _form_value(forms, form, scratch):
    """A linear form at the variables in the scratch, in Montgomery form.

    Cost    an addition for each bit term, half a multiplication for each element term, two reductions.
    """
    total = sum_zero()
    const = forms.const[form]
    if const >= 0:
        total = sum_add(total, fr.load(forms.coeffs_mont, np.uint64(const)))
    for i in range(forms.bit_ptr[form], forms.bit_ptr[form + 1]):
        coeff = fr.load(forms.coeffs_mont, np.uint64(forms.bit_coeff[i]))
        total = sum_add_if(total, coeff, scratch.bits[forms.bit_slot[i]])
    first, last = forms.elem_ptr[form], forms.elem_ptr[form + 1]
    if first < last:
        products = products_zero()
        for i in range(first, last):
            x = fr.load(scratch.elems_mont, np.uint64(forms.elem_slot[i]))
            k = forms.elem_coeff[i]
            if k == 0:  # COEFF_ONE
                total = sum_add(total, x)
            elif k == 1:  # COEFF_MINUS_ONE
                total = sum_sub(total, x)
            else:
                products = products_add(products, fr.load(forms.coeffs_mont, np.uint64(k)), x)
        total = sum_join(total, products_montgomery(products))
    return sum_reduce(total)


@shared
def _pattern_rows(out, rows, first, n, start, bits):
    """Rows [first, first + n) of the pattern table into out from row `start` on."""
    for i in range(n):
        r = np.uint64(first + i)
        x = np.uint64(bits[rows.pattern_rows[r, 0]]) | np.uint64(bits[rows.pattern_rows[r, 1]]) << _1
        x |= np.uint64(bits[rows.pattern_rows[r, 2]]) << _2
        y = np.uint64(bits[rows.pattern_rows[r, 3]])
        z = np.uint64(bits[rows.pattern_rows[r, 4]]) | np.uint64(bits[rows.pattern_rows[r, 5]]) << _1
        z |= np.uint64(bits[rows.pattern_rows[r, 6]]) << _2
        pattern = rows.pattern_rows[r, 7]
        to = np.uint64(start + i)
        copy_element(out.a, to, rows.values_mont, np.uint64(rows.patterns[pattern, x]))
        copy_element(out.b, to, rows.values_mont, np.uint64(rows.patterns[pattern, _B + y]))
        copy_element(out.c, to, rows.values_mont, np.uint64(rows.patterns[pattern, _C + z]))


@kernel
def evaluate_segments(out, tables, placed, base, values, scratch, segments):
    """a = A·z, b = B·z, c = C·z on the rows of segments [segments[0], segments[1]) of one stamp.

    Shape   out.a, out.b, out.c uint64[n, 4], written from row base[ROW] + placed.row[segments[0]] on; base int64[5].
    Domain  Montgomery.
    Alias   none; the scratch is the caller's own.
    Cost    96 bytes written a row, no field operation for pattern rows, a few for each term of the others.
    """
    variants, rows, forms = tables.variants, tables.rows, tables.forms
    for s in range(segments[0], segments[1]):
        v = placed.variant[s]
        bit, elem = gather_ports(scratch, placed, s, base, values)
        gather_own(scratch, variants, v, placed, s, base, values, bit, elem)
        start = base[ROW] + placed.row[s]
        _pattern_rows(out, rows, variants.row[v], variants.rows[v], start, scratch.bits)
        form = variants.form[v]
        for g in range(variants.general[v], variants.general_end[v]):
            to = np.uint64(start + rows.general_rows[g])
            three_forms(forms, form, scratch)
            copy_element(out.a, to, scratch.three_mont, _0)
            copy_element(out.b, to, scratch.three_mont, _1)
            copy_element(out.c, to, scratch.three_mont, _2)
            form += 3


@kernel
def first_false(a_mont, b_mont, c_mont):
    """The first i with a[i] · b[i] ≠ c[i]; −1 if there is none.

    Shape   uint64[n, 4] each. Domain  Montgomery. Cost  1 M for each row whose b is neither 0 nor 1.
    """
    for i in range(len(a_mont)):
        j = np.uint64(i)
        a, b, c = fr.load(a_mont, j), fr.load(b_mont, j), fr.load(c_mont, j)
        if fr.is_zero(b):
            if not fr.is_zero(c):
                return i
        elif fr.eq(b, fr.ONE):
            if not fr.eq(a, c):
                return i
        elif not fr.eq(fr.mul(a, b), c):
            return i
    return -1
