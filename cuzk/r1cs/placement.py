"""Where the variables of a shape stand: aux indices of bits, elements and ports of a stage."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuzk.circuits.template import INDEX_MASK, PROLOGUE_BIT, STAGE_BIT, STAGE_ELEM, TAG_SHIFT, U32, Shape, Stage
from cuzk.r1cs.kept import kept

Bools = npt.NDArray[np.bool_]


@kept
def local_positions(shape: Shape) -> list[tuple[U32, U32]]:
    """For each template: the aux offsets of its bits, and of its elements."""
    return [
        (np.flatnonzero(t.aux_is_bit == 1).astype(np.uint32), np.flatnonzero(t.aux_is_bit == 0).astype(np.uint32))
        for t in shape.templates
    ]


def stage_positions(shape: Shape, stage: Stage) -> tuple[U32, U32]:
    """The aux index in the stage of every bit rank, and of every element rank."""
    local = local_positions(shape)
    kinds: tuple[U32, U32] = np.empty(stage.bits, np.uint32), np.empty(stage.elems, np.uint32)
    for template, aux, *ranks in zip(stage.template, stage.aux, stage.bit, stage.elem, strict=True):
        for positions, offsets, rank in zip(kinds, local[template], ranks, strict=True):
            positions[rank : int(rank) + len(offsets)] = offsets + aux
    return kinds


def port_positions(shape: Shape, stage: Stage) -> tuple[U32, Bools]:
    """For each entry of the port table its aux index, in the stage or in the prologue, and whether it is in the prologue."""
    tags, ranks = stage.ports >> np.uint32(TAG_SHIFT), stage.ports & np.uint32(INDEX_MASK)
    aux = np.empty(len(stage.ports), np.uint32)
    for first, positions in ((STAGE_BIT, stage_positions(shape, stage)), (PROLOGUE_BIT, stage_positions(shape, shape.prologue))):
        for tag, of_kind in enumerate(positions, first):
            chosen = tags == tag
            aux[chosen] = of_kind[ranks[chosen]]
    return aux, tags > STAGE_ELEM
