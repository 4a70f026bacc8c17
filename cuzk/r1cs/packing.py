"""From a shape to its flat form (`kernels.flat`), made once and kept with the shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.circuits.template import STAGE_ELEM, TAG_SHIFT, U8, Shape, Stage
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_LIMBS, fr_mont, from_limbs
from cuzk.field.params import R
from cuzk.kernels.flat import (
    FIRST_BIT,
    FIRST_ELEM,
    I64,
    PATTERN_TERMS,
    PATTERN_VALUES,
    Forms,
    Placed,
    Program,
    Rows,
    Scratch,
    Slots,
    Tables,
    Variants,
)
from cuzk.r1cs.flatten import ABSENT, Flat, flatten
from cuzk.r1cs.kept import kept


@dataclass(frozen=True, slots=True)
class Packed:
    """A whole shape in flat form, with the scratch sizes that its largest segment needs."""

    tables: Tables
    prologue: Placed
    repeated: Placed
    scratch_bits: int
    scratch_elems: int

    def scratch(self) -> Scratch:
        """A fresh scratch with its constants set."""
        bits, elems = np.zeros(self.scratch_bits, np.uint8), np.zeros((self.scratch_elems, FR_LIMBS), np.uint64)
        bits[1] = 1
        elems[0] = fr_mont([1])[0]
        return Scratch(bits, elems, np.zeros((3, FR_LIMBS), np.uint64))


# Coefficients from -SMALL to SMALL make pattern rows: their values are few.
SMALL = 4


@kept
def pack(shape: Shape) -> Packed:
    """The flat form of a shape.

    Cost    one pass over the templates, and 200 MB for a PoRep of any size.
    Raises  InternalError if refs, operations or coefficients of a template make no sense.
    """
    flats: list[Flat] = []
    known: dict[tuple[int, bytes], int] = {}
    prologue, repeated = (_place(shape, stage, flats, known) for stage in (shape.prologue, shape.repeated))
    if not flats:
        raise InternalError("a shape without segments")
    scratch_bits = max(FIRST_BIT + f.port_bits + f.bits for f in flats)
    scratch_elems = max(FIRST_ELEM + f.port_elems + f.inputs + f.elems for f in flats)
    narrow = scratch_bits <= 1 << 16
    program = Program(
        np.concatenate([f.code for f in flats]),
        _slots(np.concatenate([f.logic for f in flats]), narrow),
        _slots(np.concatenate([f.sum_slots for f in flats]), narrow),
        np.concatenate([f.sum_masks for f in flats]),
    )
    tables = Tables(_variants(flats), program, _forms(flats, shape), _rows(flats, shape, narrow))
    return Packed(tables, prologue, repeated, scratch_bits, scratch_elems)


def _place(shape: Shape, stage: Stage, flats: list[Flat], known: dict[tuple[int, bytes], int]) -> Placed:
    """Segments with their variants, flattening those met for the first time."""
    small = np.array([min(v, R - v) <= SMALL for v in from_limbs(shape.coefficients)])
    is_elem = (stage.ports >> TAG_SHIFT & STAGE_ELEM).astype(np.uint8)
    variant = np.zeros(len(stage.template), np.int64)
    pointers = stage.port_ptr.tolist()
    for i, number in enumerate(stage.template.tolist()):
        kinds = is_elem[pointers[i] : pointers[i + 1]]
        template = shape.templates[number]
        if len(kinds) != template.num_ports:
            raise InternalError(f"{stage.names[i]}: {len(kinds)} ports where {template.name} has {template.num_ports}")
        key = (number, kinds.tobytes())
        if key not in known:
            known[key] = len(flats)
            flats.append(flatten(template, kinds, small))
        variant[i] = known[key]
    fields = ("row", "aux", "bit", "elem", "input", "hint_bit", "hint_elem", "port_ptr")
    offsets = {f: getattr(stage, f).astype(np.int64) for f in fields}
    return Placed(variant=variant, ports=np.array(stage.ports, np.uint32), **offsets)


def _slots(array: I64, narrow: bool) -> Slots:
    return array.astype(np.uint16) if narrow else array.astype(np.uint32)


def _starts(sizes: list[int]) -> I64:
    return np.cumsum([0, *sizes], dtype=np.int64)


def _variants(flats: list[Flat]) -> Variants:
    sizes = ("port_bits", "port_elems", "inputs", "bits", "elems")
    code = _starts([len(f.code) for f in flats])
    general = _starts([int(f.is_general.sum()) for f in flats])
    return Variants(
        **{k: np.array([getattr(f, k) for f in flats], np.int64) for k in sizes},
        rows=np.array([len(f.is_general) for f in flats], np.int64),
        code=code[:-1],
        code_end=code[1:],
        logic=_starts([len(f.logic) for f in flats])[:-1],
        sum_word=_starts([len(f.sum_masks) for f in flats])[:-1],
        row=_starts([len(f.is_general) for f in flats])[:-1],
        general=general[:-1],
        general_end=general[1:],
        form=_starts([f.forms for f in flats])[:-1],
    )


def _forms(flats: list[Flat], shape: Shape) -> Forms:
    def pointers(parts: list[I64]) -> I64:
        return np.concatenate(([0], np.cumsum(np.concatenate([np.diff(p) for p in parts])))).astype(np.int64)

    coeffs_mont = fr_mont(from_limbs(shape.coefficients))
    elem_coeff = np.concatenate([f.elem_coeff for f in flats])
    bit_coeff = np.concatenate([f.bit_coeff for f in flats])
    const = np.concatenate([f.const for f in flats])
    return Forms(
        pointers([f.bit_ptr for f in flats]),
        pointers([f.elem_ptr for f in flats]),
        const,
        np.concatenate([f.bit_slot for f in flats]).astype(np.uint32),
        bit_coeff.astype(np.uint16),
        np.concatenate([f.elem_slot for f in flats]).astype(np.uint32),
        elem_coeff.astype(np.uint16),
        coeffs_mont,
    )


def _rows(flats: list[Flat], shape: Shape, narrow: bool) -> Rows:
    keys = np.concatenate([f.pattern_keys for f in flats])
    general = np.concatenate([f.is_general for f in flats])
    halves = [_numbered(keys[:, k]) for k in range(3)]
    na, nb, nc = (len(values) for values, _ in halves)
    ia, ib, ic = (inverse for _, inverse in halves)
    joint = (ia * nb + ib) * nc + ic
    joint[general] = na * nb * nc
    found, number = _numbered(joint)
    number = np.where(general, 0, number + 1)
    if len(found) + 1 > 1 << 16:
        raise InternalError("too many kinds of bit rows")
    coefficients = from_limbs(shape.coefficients)
    values: dict[int, int] = {0: 0}
    patterns = np.zeros((len(found) + 1, PATTERN_VALUES), np.uint16)
    for p, code in enumerate(found.tolist()):
        if code < na * nb * nc:
            picked = (halves[0][0][code // nc // nb], halves[1][0][code // nc % nb], halves[2][0][code % nc])
            row = [v for key, bits in zip(picked, PATTERN_TERMS, strict=True) for v in _values(int(key), bits, coefficients)]
            patterns[p + 1] = [values.setdefault(v, len(values)) for v in row]
    slots = np.concatenate([f.pattern_slots for f in flats])
    return Rows(
        _slots(np.concatenate((slots, number[:, None]), axis=1), narrow),
        patterns,
        fr_mont(values),
        np.concatenate([np.flatnonzero(f.is_general) for f in flats]).astype(np.int64),
    )


def _numbered(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], I64]:
    """The different values, of which there are few, ascending, and the number of each."""
    found = np.unique(values)
    return found, np.searchsorted(found, values).astype(np.int64)


def _values(key: int, bits: int, coefficients: list[int]) -> list[int]:
    """Values of a linear combination for every setting of its bits; the key holds coefficient indices, constant first."""
    index = [key >> 16 * k & ABSENT for k in range(4)]
    const, *coeffs = (0 if i == ABSENT else coefficients[i] for i in index)
    return [(const + sum(c for k, c in enumerate(coeffs) if setting >> k & 1)) % R for setting in range(1 << bits)]


def stamp_base(shape: Shape, stamp: int | None) -> I64:
    """Where a stamp (None: the prologue) starts: its first row, aux, bit, element and input."""
    p, r = shape.prologue, shape.repeated
    if stamp is None:
        return np.array([0, 0, 0, 0, 1], np.int64)
    return np.array(
        [
            p.rows + stamp * r.rows,
            p.aux_total + stamp * r.aux_total,
            p.bits + stamp * r.bits,
            p.elems + stamp * r.elems,
            1 + p.inputs + stamp * r.inputs,
        ],
        np.int64,
    )


def aux_is_bit(shape: Shape, stage: Stage) -> U8:
    """For each aux variable of a stage whether it is a bit, uint8[aux_total]."""
    parts = [shape.templates[t].aux_is_bit for t in stage.template.tolist()]
    return np.concatenate(parts).astype(np.uint8) if parts else np.zeros(0, np.uint8)
