"""The columns of a constraint system at given row weights: what a trusted setup needs of the circuit."""

from __future__ import annotations

import numpy as np

from cuzk import workers
from cuzk.circuits.template import INDEX_MASK, INPUT, LOCAL_BIT, LOCAL_ELEM, PORT, TAG_SHIFT, U32, Matrix, Shape, Template
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_LIMBS, U64, fr_mont, from_limbs
from cuzk.kernels import columns_cpu
from cuzk.kernels.columns_cpu import AuxOf, MatrixTables
from cuzk.kernels.flat import AUX
from cuzk.pages import zeros
from cuzk.r1cs.packing import pack, stamp_base
from cuzk.r1cs.placement import stage_positions


class Columns:
    """The columns of a shape at given row weights, a stage at a time: a stamp's variables occur in no other stamp."""

    def __init__(self, shape: Shape, weights_mont: U64) -> None:
        """Shape   weights_mont uint64[n, 4], n ≥ shape.groth16_rows. Domain Montgomery."""
        if len(weights_mont) < shape.groth16_rows:
            raise InternalError("too few row weights", expected=shape.groth16_rows, got=len(weights_mont))
        self.shape, self._packed = shape, pack(shape)
        coeffs_mont = fr_mont(from_limbs(shape.coefficients))
        self._weights = np.require(weights_mont, np.uint64, ["C", "W"])
        self._positions = [stage_positions(shape, stage) for stage in (shape.prologue, shape.repeated)]
        self._matrices = {name: matrix_tables(shape, name, coeffs_mont) for name in "abc"}
        self.head = shape.num_inputs + shape.prologue.aux_total

    def of_stage(self, name: str, stamp: int | None) -> U64:
        """What the rows of one stamp (None: the prologue, and the final rows) add to the columns of matrix a, b or c.

        Shape   uint64[head + aux of the stamp, 4]: first inputs and the prologue's variables, which every stage may refer to
        Cost    an addition a term, and 1 M for each whose coefficient is not 1, −1 or 2; one thread
        """
        shape, matrix = self.shape, self._matrices[name]
        stage, placed = (shape.prologue, self._packed.prologue) if stamp is None else (shape.repeated, self._packed.repeated)
        out = zeros((self.head + (0 if stamp is None else stage.aux_total), FR_LIMBS))
        templates = stage.template.astype(np.int64)
        most = max((shape.templates[t].inputs + shape.templates[t].num_ports for t in set(templates.tolist())), default=0)
        working = np.zeros(1 + most, np.int64)
        aux_of = AuxOf(*self._positions[0 if stamp is None else 1], *self._positions[0])
        base = stamp_base(shape, stamp)
        base[AUX] = 0 if stamp is None else shape.prologue.aux_total
        columns_cpu.add_columns(out, matrix, templates, placed, base, aux_of, self._weights, working, shape.num_inputs)
        if stamp is None and name == "a":
            columns_cpu.add_rows(out[: shape.num_inputs], self._weights[shape.num_rows : shape.groth16_rows])
        return out


def columns_at(shape: Shape, lagrange_mont: U64, threads: int | None = None) -> tuple[U64, U64, U64]:
    """For every variable, inputs first, then aux: Σ over rows of its coefficient in A (in B, in C) · weight of the row.

    The final rows input_i · 0 = 0 are counted in A. With the Lagrange polynomials at tau as weights these are A_i(tau),
    B_i(tau), C_i(tau).

    Shape   lagrange_mont uint64[n, 4], n ≥ shape.groth16_rows; results uint64[num_inputs + num_aux, 4].
    Domain  Montgomery.
    Cost    as `Columns.of_stage`; one thread a matrix
    """
    columns = Columns(shape, lagrange_mont)

    def whole(name: str) -> U64:
        out = np.empty((shape.num_inputs + shape.num_aux, FR_LIMBS), np.uint64)
        head, size = columns.head, shape.repeated.aux_total
        out[:head] = columns.of_stage(name, None)
        for k in range(shape.repeats):
            found = columns.of_stage(name, k)
            columns_cpu.add_rows(out[:head], found[:head])
            out[head + k * size : head + (k + 1) * size] = found[head:]
        return out

    a, b, c = workers.run_all(whole, [(name,) for name in "abc"], threads)
    return a, b, c


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
