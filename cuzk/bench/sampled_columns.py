"""Columns of a shape taken one by one, in plain integers: the discrete logarithms of single points of a parameter file.

Nothing here uses the routines that make columns, only the layout that `circuits.template` states.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cuzk.circuits.template import INPUT, PORT, PROLOGUE_BIT, TAG_SHIFT, Shape, Stage
from cuzk.field.limbs import from_limbs
from cuzk.field.params import R, omega
from cuzk.groth16.logarithms import ToxicWaste


class _Place(NamedTuple):
    """A ref that stands for a variable in one segment of a stage, and the row of the circuit that the segment begins with."""

    template: int
    ref: int
    row: int


def _holding(starts: np.ndarray, place: int) -> int:
    """The last of some ascending starts that is not beyond a place."""
    return int(np.searchsorted(starts, place, side="right")) - 1


def _in_stage(stage: Stage, first_row: int, entry: int) -> Iterator[_Place]:
    """Where the ports of a stage have an entry."""
    for p in np.flatnonzero(stage.ports == np.uint32(entry)).tolist():
        s = _holding(stage.port_ptr, p)
        ref = PORT << TAG_SHIFT | p - int(stage.port_ptr[s])
        yield _Place(int(stage.template[s]), ref, first_row + int(stage.row[s]))


def _first_row(shape: Shape, stamp: int) -> int:
    return shape.prologue.rows + stamp * shape.repeated.rows


def _of_aux(shape: Shape, aux: int) -> Iterator[_Place]:
    """Every place of an aux variable."""
    stage, local, first_row = shape.prologue, aux, 0
    if aux >= stage.aux_total:
        stamp, local = divmod(aux - stage.aux_total, shape.repeated.aux_total)
        stage, first_row = shape.repeated, _first_row(shape, stamp)
    s = _holding(stage.aux, local)
    is_bit = shape.templates[int(stage.template[s])].aux_is_bit
    at = local - int(stage.aux[s])
    tag = 0 if is_bit[at] else 1
    own = int(np.count_nonzero(is_bit[:at] == is_bit[at]))
    yield _Place(int(stage.template[s]), tag << TAG_SHIFT | own, first_row + int(stage.row[s]))
    rank = own + int((stage.elem if tag else stage.bit)[s])
    yield from _in_stage(stage, first_row, tag << TAG_SHIFT | rank)
    if stage is shape.prologue:
        for stamp in range(shape.repeats):
            yield from _in_stage(shape.repeated, _first_row(shape, stamp), (PROLOGUE_BIT + tag) << TAG_SHIFT | rank)


def _of_input(shape: Shape, index: int) -> Iterator[_Place]:
    """Every place of an input but ONE."""
    stage, local, first_row = shape.prologue, index - 1, 0
    if local >= stage.inputs:
        stamp, local = divmod(local - stage.inputs, shape.repeated.inputs)
        stage, first_row = shape.repeated, _first_row(shape, stamp)
    s = _holding(stage.input, local)
    ref = INPUT << TAG_SHIFT | 1 + local - int(stage.input[s])
    yield _Place(int(stage.template[s]), ref, first_row + int(stage.row[s]))


def columns(shape: Shape, variable: int, tau: int) -> list[int]:
    """A_j, B_j, C_j at tau of a variable: an input but ONE, or the number of inputs and an aux index."""
    n, found = shape.num_inputs, [0, 0, 0]
    m, w = 1 << shape.domain_log2, omega(shape.domain_log2)
    over_m = (pow(tau, m, R) - 1) * pow(m, -1, R) % R

    def weight(row: int) -> int:
        point = pow(w, row, R)
        return over_m * point * pow(tau - point, -1, R) % R

    for place in _of_input(shape, variable) if variable < n else _of_aux(shape, variable - n):
        template = shape.templates[place.template]
        for k, matrix in enumerate((template.a, template.b, template.c)):
            for e in np.flatnonzero(matrix.cols == np.uint32(place.ref)).tolist():
                coefficient = from_limbs(shape.coefficients[int(matrix.coeffs[e])][None])[0]
                found[k] += coefficient * weight(place.row + _holding(matrix.indptr, e))
    if variable < n:
        found[0] += weight(shape.num_rows + variable)  # its final row, input * 0 = 0
    return [x % R for x in found]


def logarithm(name: str, waste: ToxicWaste, columns: list[int]) -> int:
    """That of a variable's point in ic, l, a, b_g1 or b_g2."""
    a, b, c = columns
    if name in ("a", "b_g1", "b_g2"):
        return a if name == "a" else b
    over = waste.gamma if name == "ic" else waste.delta
    return (waste.beta * a + waste.alpha * b + c) * pow(over, -1, R) % R
