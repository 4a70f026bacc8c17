"""Which variables occur in A and in B: these, and only these, have points in the parameters' queries.

Source  bellperson src/groth16/generator.rs and prover/native.rs (DensityTracker) at d1fa22c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cuzk.circuits.template import INDEX_MASK, INPUT, LOCAL_BIT, LOCAL_ELEM, PORT, TAG_SHIFT, U32, Matrix, Shape, Stage
from cuzk.r1cs.kept import kept
from cuzk.r1cs.placement import Bools, local_positions, port_positions


class Densities(NamedTuple):
    """One entry a variable: whether it has a coefficient in the matrix. All inputs count as in A (Groth16's last rows)."""

    a_aux: Bools  # (num_aux,)
    b_inputs: Bools  # (num_inputs,) ONE first
    b_aux: Bools  # (num_aux,)


def _used(matrix: Matrix) -> list[U32]:
    """The indices that occur in a matrix, for each tag."""
    tags, indices, found = matrix.cols >> np.uint32(TAG_SHIFT), matrix.cols & np.uint32(INDEX_MASK), []
    for tag in range(4):
        mine = indices[tags == tag]
        flags = np.zeros(int(mine.max(initial=0)) + 1, np.bool_)
        flags[mine] = True
        found.append(np.flatnonzero(flags).astype(np.uint32))
    return found


def _mark(shape: Shape, stage: Stage, used: list[list[U32]], prologue: Bools, aux: Bools, inputs: Bools) -> None:
    """Set the entries of all variables that one stamp of a stage has, `used` in each template. `inputs` has ONE first."""
    local = local_positions(shape)
    port_aux, port_in_prologue = port_positions(shape, stage)
    for s, number in enumerate(stage.template):
        mine, (bits, elems) = used[number], local[number]
        aux[bits[mine[LOCAL_BIT]] + stage.aux[s]] = True
        aux[elems[mine[LOCAL_ELEM]] + stage.aux[s]] = True
        ports = mine[PORT] + stage.port_ptr[s]
        outside = port_in_prologue[ports]
        prologue[port_aux[ports[outside]]] = True
        aux[port_aux[ports[~outside]]] = True
        inputs[np.where(mine[INPUT] == 0, np.uint32(0), mine[INPUT] + stage.input[s])] = True


class _Marks(NamedTuple):
    """Which variables of the prologue and of a stamp occur in one matrix; inputs have ONE first."""

    inputs: Bools
    stamp_inputs: Bools
    prologue: Bools
    stamp: Bools


def _of_matrix(shape: Shape, name: str) -> _Marks:
    used = [_used(getattr(t, name)) for t in shape.templates]
    first, repeated = shape.prologue, shape.repeated
    sizes = (1 + first.inputs, 1 + repeated.inputs, first.aux_total, repeated.aux_total)
    found = _Marks(*(np.zeros(n, np.bool_) for n in sizes))
    _mark(shape, first, used, found.prologue, found.prologue, found.inputs)
    if shape.repeats:
        _mark(shape, repeated, used, found.prologue, found.stamp, found.stamp_inputs)
        found.inputs[0] |= found.stamp_inputs[0]
    return found


@kept
def _marks(shape: Shape) -> tuple[_Marks, _Marks]:
    """Of A and of B."""
    return _of_matrix(shape, "a"), _of_matrix(shape, "b")


def densities(shape: Shape) -> Densities:
    """The density bits of the whole constraint system.

    Cost    one byte a variable and matrix at 32 GiB
    """

    def whole(once: Bools, stamp: Bools) -> Bools:
        return np.concatenate([once, np.tile(stamp, shape.repeats)])

    a, b = _marks(shape)
    return Densities(whole(a.prologue, a.stamp), whole(b.inputs, b.stamp_inputs[1:]), whole(b.prologue, b.stamp))


def set_bits(shape: Shape) -> tuple[int, int, int]:
    """How many bits of each density are set, without making them."""

    def number(once: Bools, stamp: Bools) -> int:
        return int(np.count_nonzero(once)) + shape.repeats * int(np.count_nonzero(stamp))

    a, b = _marks(shape)
    return number(a.prologue, a.stamp), number(b.inputs, b.stamp_inputs[1:]), number(b.prologue, b.stamp)
