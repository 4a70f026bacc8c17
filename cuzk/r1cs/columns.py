"""The columns of a constraint system at given row weights: what a trusted setup needs of the circuit."""

from __future__ import annotations

import numpy as np

from cuzk import workers
from cuzk.circuits.template import INDEX_MASK, INPUT, LOCAL_BIT, LOCAL_ELEM, PORT, TAG_SHIFT, U32, Matrix, Shape, Template
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_LIMBS, U64, fr_mont, from_limbs
from cuzk.kernels import columns_cpu
from cuzk.kernels.columns_cpu import AuxOf, MatrixTables
from cuzk.r1cs.packing import Packed, pack, stamp_base
from cuzk.r1cs.placement import stage_positions


def columns_at(shape: Shape, lagrange_mont: U64, threads: int | None = None) -> tuple[U64, U64, U64]:
    """For every variable, inputs first, then aux: Σ over rows of its coefficient in A (in B, in C) · weight of the row.

    The final rows input_i · 0 = 0 are counted in A. With the Lagrange polynomials at tau as weights these are A_i(tau),
    B_i(tau), C_i(tau).

    Shape   lagrange_mont uint64[n, 4], n ≥ shape.groth16_rows; results uint64[num_inputs + num_aux, 4].
    Domain  Montgomery.
    Cost    an addition a term, and 1 M for each whose coefficient is not 1, −1 or 2. One thread a matrix.
    """
    if len(lagrange_mont) < shape.groth16_rows:
        raise InternalError("too few row weights", expected=shape.groth16_rows, got=len(lagrange_mont))
    packed = pack(shape)
    coeffs_mont = fr_mont(from_limbs(shape.coefficients))
    weights = np.require(lagrange_mont, np.uint64, ["C", "W"])
    positions = [stage_positions(shape, stage) for stage in (shape.prologue, shape.repeated)]
    calls = [(shape, packed, matrix_tables(shape, name, coeffs_mont), positions, weights) for name in "abc"]
    a, b, c = workers.run_all(_columns, calls, threads)
    final = weights[shape.num_rows : shape.groth16_rows]
    columns_cpu.add_rows(a[: shape.num_inputs], final)
    return a, b, c


def _columns(shape: Shape, packed: Packed, matrix: MatrixTables, positions: list[tuple[U32, U32]], weights: U64) -> U64:
    """The columns of one matrix, without the final rows."""
    out = np.zeros((shape.num_inputs + shape.num_aux, FR_LIMBS), np.uint64)
    for k, (stage, placed) in enumerate(((shape.prologue, packed.prologue), (shape.repeated, packed.repeated))):
        templates = stage.template.astype(np.int64)
        most = max((shape.templates[t].inputs + shape.templates[t].num_ports for t in set(templates.tolist())), default=0)
        head = np.zeros(1 + most, np.int64)
        aux_of = AuxOf(*positions[k], *positions[0])
        for stamp in range(shape.repeats) if k else (None,):
            base = stamp_base(shape, stamp)
            columns_cpu.add_columns(out, matrix, templates, placed, base, aux_of, weights, head, shape.num_inputs)
    return out


def matrix_tables(shape: Shape, name: str, coeffs_mont: U64) -> MatrixTables:
    """Matrix `a`, `b` or `c` of all templates with refs turned into column slots."""
    matrices: list[Matrix] = [getattr(t, name) for t in shape.templates]
    terms = np.cumsum([0] + [len(m.cols) for m in matrices])
    rows = np.cumsum([0] + [len(m.indptr) for m in matrices])
    indptr = [m.indptr.astype(np.int64) + first for m, first in zip(matrices, terms[:-1], strict=True)]
    slots = [_slots(t, m.cols) for t, m in zip(shape.templates, matrices, strict=True)]
    coeffs = np.concatenate([m.coeffs for m in matrices]).astype(np.uint16)
    inputs = np.array([t.inputs for t in shape.templates], np.int64)
    return MatrixTables(rows.astype(np.int64), np.concatenate(indptr), np.concatenate(slots), coeffs, coeffs_mont, inputs)


def _slots(template: Template, cols: U32) -> U32:
    """Column slot of each ref: ONE, inputs, ports, aux in allocation order."""
    tag, index = cols >> TAG_SHIFT, (cols & INDEX_MASK).astype(np.int64)
    ports = 1 + template.inputs
    own = ports + template.num_ports
    slot = np.where(tag == INPUT, index, ports + index)
    for kind, is_bit in ((LOCAL_BIT, 1), (LOCAL_ELEM, 0)):
        of_kind = tag == kind
        slot[of_kind] = own + np.flatnonzero(template.aux_is_bit == is_bit)[index[of_kind]]
    limit = np.where(tag == INPUT, ports, np.where(tag == PORT, own, own + template.aux))
    if (slot >= limit).any():
        raise InternalError(f"{template.name}: a column that the template does not have")
    return slot.astype(np.uint32)


def _all_stamps(shape: Shape, kind: int) -> U32:
    """Aux index of every bit (0) or element (1) of the prologue and of all stamps."""
    prologue, repeated = (stage_positions(shape, stage)[kind] for stage in (shape.prologue, shape.repeated))
    stamps = np.arange(shape.repeats, dtype=np.uint32)[:, None] * np.uint32(shape.repeated.aux_total)
    return np.concatenate([prologue, (repeated + (stamps + np.uint32(shape.prologue.aux_total))).ravel()])


def bit_aux(shape: Shape) -> U32:
    """Aux index of every bit, in bit order, uint32[num_bits]."""
    return _all_stamps(shape, 0)


def elem_aux(shape: Shape) -> U32:
    """Aux index of every element, in element order, uint32[num_elems]."""
    return _all_stamps(shape, 1)
