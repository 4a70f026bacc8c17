"""From hints to a witness: the values of all variables of a shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cuzk.circuits.template import U8, U64, Shape, Witness
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_LIMBS, fr_mont
from cuzk.kernels.flat import Values
from cuzk.r1cs import program


class Hints(NamedTuple):
    """Values of the two hint streams of a stage, in order.

    bits uint8[n] and canonical elements uint64[k, 4]; for the repeated stage one more dimension in front, a stamp each.
    """

    bits: U8
    elems_canon: U64


Streams = tuple[tuple[U8, U64], tuple[U8, U64]]


def fill(shape: Shape, prologue: Hints, repeated: Hints, threads: int | None = None, out: Values | None = None) -> Witness:
    """The witness that the hints determine: every other variable follows by its template's program.

    Rows that only check (such as root equalities) are not looked at: false hints give a witness with false rows.

    Alias   `out` is filled and becomes the witness, if given.
    Cost    the prologue, then the stamps side by side: a table lookup for each bit, a few additions for each element's terms.
    Raises  InternalError if a hint stream has another length, a bit is not 0 or 1, or an element is not below r.
    """
    streams = checked(shape, prologue, repeated)
    values = out or unfilled(shape)
    values.inputs_mont[0] = fr_mont([1])[0]
    program.run(shape, values, streams[0], streams[1], threads)
    return Witness(values.inputs_mont, values.bits, values.elems_mont)


def unfilled(shape: Shape) -> Values:
    """Arrays for a witness, not touched yet."""
    return Values(
        np.empty((shape.num_inputs, FR_LIMBS), np.uint64),
        np.empty(shape.num_bits, np.uint8),
        np.empty((shape.num_elems, FR_LIMBS), np.uint64),
    )


def checked(shape: Shape, prologue: Hints, repeated: Hints) -> Streams:
    """Bits and Montgomery elements of both streams. Raises as `fill`."""
    p, r = shape.prologue, shape.repeated
    return (
        _checked("prologue", prologue, (p.hint_bits,), (p.hint_elems,)),
        _checked("repeated stage", repeated, (shape.repeats, r.hint_bits), (shape.repeats, r.hint_elems)),
    )


def _checked(stage: str, hints: Hints, bits_shape: tuple[int, ...], elems_shape: tuple[int, ...]) -> tuple[U8, U64]:
    """Bits and Montgomery elements of a stream of the right length. Values never enter a message."""
    wanted = bits_shape, (*elems_shape, FR_LIMBS)
    got = hints.bits.shape, hints.elems_canon.shape
    if got != wanted:
        raise InternalError(f"hints of the {stage} have another shape", where="bits, elements", expected=wanted, got=got)
    if hints.bits.size and int(hints.bits.max()) > 1:
        raise InternalError(f"a bit hint of the {stage} is not 0 or 1")
    elems = np.require(hints.elems_canon, np.uint64, ["C", "W"]).reshape(-1, FR_LIMBS)
    if not program.all_reduced(elems):
        raise InternalError(f"an element hint of the {stage} is not below r")
    return np.require(hints.bits, np.uint8, ["C", "W"]), program.to_montgomery(elems).reshape(wanted[1])
