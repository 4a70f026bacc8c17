"""A constraint system with every row held by itself: three sparse matrices of the whole circuit, as most provers have them.

It is what the templates of a `Shape` are measured against: the same rows, six bytes a term instead of nothing a stamp.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuzk import workers
from cuzk.circuits.template import (
    INDEX_MASK,
    INPUT,
    LOCAL_BIT,
    LOCAL_ELEM,
    PORT,
    STAGE_BIT,
    TAG_SHIFT,
    U8,
    U16,
    U32,
    Matrix,
    Shape,
    Stage,
)
from cuzk.field.limbs import fr_mont, from_limbs
from cuzk.kernels.csr_cpu import Csr, Layout, evaluate_rows
from cuzk.kernels.flat import BIT, ELEM, I64, Evaluations, Values
from cuzk.kernels.flat import INPUT as INPUT_BASE
from cuzk.r1cs.digest import counts
from cuzk.r1cs.packing import stamp_base

# Kinds of a column of a stage: ONE, own inputs, then the four kinds of a port table in its order.
_ONE, _INPUT, _PORTS = 0, 1, 2
_TASK_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Explicit:
    """The matrices A, B, C of a whole shape, without Groth16's final input rows."""

    a: Csr
    b: Csr
    c: Csr
    layout: Layout
    rows: int


def bytes_needed(shape: Shape) -> int:
    """Memory of `expand(shape)` while it is made: the matrices, and one stamp with wide columns."""
    each = counts(shape)["nnz"]
    stamp = max(each) // max(1, shape.repeats) * 12
    return 6 * sum(each) + 3 * 8 * (shape.num_rows + 1) + stamp


def expand(shape: Shape, threads: int | None = None) -> Explicit:
    """All rows of all stamps.

    Cost    a pass over all terms, and `bytes_needed(shape)`
    """
    first_elem = shape.num_inputs + shape.num_bits
    layout = Layout(np.int64(shape.num_inputs), np.int64(first_elem), fr_mont(from_limbs(shape.coefficients)))
    a, b, c = workers.run_all(_expand, [(shape, name) for name in "abc"], threads)
    return Explicit(a, b, c, layout, shape.num_rows)


def _expand(shape: Shape, name: str) -> Csr:
    count = counts(shape)["nnz"]["abc".index(name)]
    indptr = np.zeros(shape.num_rows + 1, np.int64)
    cols, coeffs = np.empty(count, np.uint32), np.empty(count, np.uint16)
    row = term = 0
    for stage, stamps in ((shape.prologue, [None]), (shape.repeated, list(range(shape.repeats)))):
        lengths, kind, index, coeff = _stage_terms(shape, stage, name)
        ends = np.cumsum(lengths)
        for stamp in stamps:
            offsets = _offsets(shape, stamp)
            cols[term : term + len(kind)] = index + offsets[kind]
            coeffs[term : term + len(kind)] = coeff
            indptr[row + 1 : row + 1 + len(ends)] = ends + term
            row, term = row + len(ends), term + len(kind)
    return Csr(indptr, cols, coeffs)


def _offsets(shape: Shape, stamp: int | None) -> I64:
    """What to add to the index of each kind of column of a stamp."""
    base = stamp_base(shape, stamp)
    first_bit, first_elem = shape.num_inputs, shape.num_inputs + shape.num_bits
    return np.array([0, base[INPUT_BASE], first_bit + base[BIT], first_elem + base[ELEM], first_bit, first_elem], np.int64)


def _stage_terms(shape: Shape, stage: Stage, name: str) -> tuple[I64, U8, U32, U16]:
    """Of one stamp of a stage: terms of each row; and of each term the kind of its column, its index and its coefficient."""
    lengths, kinds = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    indices, coeffs = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint16)]
    for s, number in enumerate(stage.template.tolist()):
        matrix: Matrix = getattr(shape.templates[number], name)
        kind, index = _segment_terms(stage, s, matrix.cols)
        lengths.append(matrix.indptr[1:].astype(np.int64) - matrix.indptr[:-1])
        kinds.append(kind)
        indices.append(index)
        coeffs.append(matrix.coeffs)
    return np.concatenate(lengths), np.concatenate(kinds), np.concatenate(indices), np.concatenate(coeffs)


def _segment_terms(stage: Stage, segment: int, refs: U32) -> tuple[U8, U32]:
    """Kind and index, relative to the stamp, of each column of a segment."""
    tag, index = refs >> np.uint32(TAG_SHIFT), refs & np.uint32(INDEX_MASK)
    first = {LOCAL_BIT: stage.bit[segment], LOCAL_ELEM: stage.elem[segment]}
    kind = np.full(len(refs), _ONE, np.uint8)
    for local, rank in first.items():
        mine = tag == local
        kind[mine] = _PORTS + STAGE_BIT + local
        index[mine] += np.uint32(rank)
    own = (tag == INPUT) & (index > 0)
    kind[own] = _INPUT
    index[own] -= np.uint32(1)
    index[own] += np.uint32(stage.input[segment])
    ports = tag == PORT
    entries = stage.ports[index[ports] + np.uint32(stage.port_ptr[segment])]
    kind[ports] = _PORTS + (entries >> np.uint32(TAG_SHIFT)).astype(np.uint8)
    index[ports] = entries & np.uint32(INDEX_MASK)
    return kind, index


def evaluate_rows_of(explicit: Explicit, values: Values, out: Evaluations, first: int, last: int) -> None:
    """Rows first … last − 1 into `out`."""
    evaluate_rows(out, explicit.a, explicit.b, explicit.c, explicit.layout, values, first, last)


def evaluate(explicit: Explicit, values: Values, out: Evaluations, threads: int | None = None) -> None:
    """A·z, B·z, C·z on the circuit's rows, as `r1cs.evaluation.evaluate`.

    Shape   values as a `Witness`; out uint64[n, 4] three times, n at least the circuit's rows. Domain Montgomery.
    """
    pieces = workers.ranges(explicit.rows, max(1, explicit.rows // _TASK_ROWS))
    workers.run_all(evaluate_rows_of, [(explicit, values, out, i, j) for i, j in pieces], threads)
