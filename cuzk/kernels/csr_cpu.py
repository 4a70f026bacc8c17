"""Rows of a constraint system on the CPU from explicit sparse matrices: every row by itself, no templates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
from cuzk.kernels.flat import I64, U16, U32


class Csr(NamedTuple):
    """One matrix. Columns count inputs with ONE first, then bits by rank, then elements by rank."""

    indptr: I64  # (rows + 1,)
    cols: U32  # (terms,)
    coeffs: U16  # (terms,) indices into the coefficient table


class Layout(NamedTuple):
    """Where the bits and the elements start among the columns, and Montgomery coefficients uint64[k, 4]."""

    first_bit: np.int64
    first_elem: np.int64
    coeffs_mont: npt.NDArray[np.uint64]


@shared
def _row_value(matrix, row, layout, values):
    """One linear combination. Cost  an addition for each bit term, half a multiplication for each other one, two reductions."""
    total, products, any_product = sum_zero(), products_zero(), False
    for i in range(matrix.indptr[row], matrix.indptr[row + 1]):
        col, k = np.int64(matrix.cols[i]), np.uint64(matrix.coeffs[i])
        if col >= layout.first_bit and col < layout.first_elem:
            total = sum_add_if(total, fr.load(layout.coeffs_mont, k), values.bits[col - layout.first_bit])
            continue
        if col < layout.first_bit:
            x = fr.load(values.inputs_mont, np.uint64(col))
        else:
            x = fr.load(values.elems_mont, np.uint64(col - layout.first_elem))
        if matrix.coeffs[i] == 0:  # COEFF_ONE
            total = sum_add(total, x)
        elif matrix.coeffs[i] == 1:  # COEFF_MINUS_ONE
            total = sum_sub(total, x)
        else:
            products = products_add(products, fr.load(layout.coeffs_mont, k), x)
            any_product = True
    if any_product:
        total = sum_join(total, products_montgomery(products))
    return sum_reduce(total)


@kernel
def evaluate_rows(out, a, b, c, layout, values, first, last):
    """a = A·z, b = B·z, c = C·z on rows first … last − 1.

    Shape   out.a, out.b, out.c uint64[n, 4], n ≥ last; a, b, c `Csr`; values as `Witness`.
    Domain  Montgomery.
    Cost    six bytes read and an addition or half a multiplication a term, 96 bytes written a row.
    """
    for row in range(first, last):
        to = np.uint64(row)
        fr.store(out.a, to, _row_value(a, row, layout, values))
        fr.store(out.b, to, _row_value(b, row, layout, values))
        fr.store(out.c, to, _row_value(c, row, layout, values))
