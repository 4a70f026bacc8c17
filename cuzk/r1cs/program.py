"""Running the programs of a shape: from hints to the values of all variables. Picks the kernel; stamps run side by side."""

from __future__ import annotations

import numpy as np

from cuzk import workers
from cuzk.circuits.template import Shape
from cuzk.kernels import program_cpu
from cuzk.kernels.flat import U8, U64, Values
from cuzk.kernels.vector_cpu import all_reduced, to_montgomery
from cuzk.r1cs.packing import Packed, pack, stamp_base

__all__ = ["all_reduced", "run", "run_stamp", "to_montgomery"]


def run(shape: Shape, values: Values, prologue: tuple[U8, U64], repeated: tuple[U8, U64], threads: int | None = None) -> None:
    """Fill `values` from the hints of the prologue and of each stamp.

    Shape   hints (bits, elems_mont): uint8[n], uint64[k, 4] of the prologue; uint8[repeats, n], uint64[repeats, k, 4].
    Domain  Montgomery. Alias values is written.
    """
    packed = pack(shape)
    run_stamp(shape, packed, None, values, *prologue)
    bits, elems_mont = repeated
    workers.run_all(run_stamp, [(shape, packed, k, values, bits[k], elems_mont[k]) for k in range(shape.repeats)], threads)


def run_stamp(shape: Shape, packed: Packed, stamp: int | None, values: Values, hint_bits: U8, hint_elems_mont: U64) -> None:
    """Fill the values of one stamp (None: the prologue, which must come first) from its hints."""
    placed = packed.prologue if stamp is None else packed.repeated
    base, segments = stamp_base(shape, stamp), np.array([0, len(placed.variant)])
    program_cpu.run_segments(values, packed.tables, placed, base, hint_bits, hint_elems_mont, packed.scratch(), segments)
