"""In which order blocks of a card run the segments of a stage: chains, each for one block, in phases that follow one another.

What a segment needs of another chain must come from an earlier phase. Phases are as few as the segments' dependence allows, and
each as long as its longest chain that cannot wait: what can wait fills the other blocks or goes to a later phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cuzk.circuits.template import INDEX_MASK, PROLOGUE_BIT, STAGE_ELEM, TAG_SHIFT, Stage
from cuzk.errors import InternalError
from cuzk.kernels.flat import Placed


@dataclass(frozen=True)
class Chain:
    """Segments that one block runs, in order."""

    phase: int
    segments: list[int]


def producers(stage: Stage, placed: Placed) -> list[list[int]]:
    """For each segment the segments of its stage that its ports name. Raises: InternalError if one of them comes later."""
    tag, index = stage.ports >> TAG_SHIFT, (stage.ports & INDEX_MASK).astype(np.int64)
    of = np.repeat(np.arange(len(placed.variant)), np.diff(placed.port_ptr))
    # An empty segment starts where the next one starts: the last of them owns what is there.
    owner = np.where(
        tag & STAGE_ELEM,
        np.searchsorted(placed.elem, index, side="right") - 1,
        np.searchsorted(placed.bit, index, side="right") - 1,
    )
    local = tag < PROLOGUE_BIT
    found: list[list[int]] = [[] for _ in placed.variant]
    for segment, producer in np.unique(np.stack([of[local], owner[local]], axis=1), axis=0).tolist():
        if producer >= segment:
            raise InternalError("a segment takes what a later one makes", where=stage.names[segment])
        found[segment].append(producer)
    return found


def chains(made_by: list[list[int]], cost: Sequence[int]) -> list[Chain]:
    """Chains by phase, the longest of each phase first. `cost` says how long each segment takes."""
    chain_of, phase_of, members = _earliest(made_by)
    latest = _latest(made_by, chain_of, phase_of)
    waiting = [sorted(segments, key=lambda s: (latest[s], s)) for segments in members]
    found: list[Chain] = []
    for phase in range(max(phase_of, default=-1) + 1):
        ready = [queue for queue, first in zip(waiting, phase_of, strict=True) if first <= phase and queue]
        longest = max((sum(cost[s] for s in queue if latest[s] <= phase) for queue in ready), default=0)
        taken: list[tuple[int, list[int]]] = []
        for queue in ready:
            piece, total = [], 0
            while queue and (latest[queue[0]] <= phase or total + cost[queue[0]] <= longest):
                total += cost[queue[0]]
                piece.append(queue.pop(0))
            taken.append((total, piece))
        found += [Chain(phase, piece) for _, piece in sorted(taken, key=lambda t: -t[0]) if piece]
    return found


def _earliest(made_by: list[list[int]]) -> tuple[list[int], list[int], list[list[int]]]:
    """A segment joins the chain of all its producers of their last phase, or starts one a phase later.

    It also starts one where these only take hints, which many segments may need.

    Returns  the chain of each segment; phase and segments of each chain
    """
    chain_of: list[int] = []
    phase_of: list[int] = []
    members: list[list[int]] = []
    for segment, makers in enumerate(made_by):
        of = {chain_of[p] for p in makers}
        last = max((phase_of[c] for c in of), default=-1)
        late = [c for c in of if phase_of[c] == last]
        if len(late) != 1 or not any(made_by[p] for p in members[late[0]]):
            late = [len(members)]
            members.append([])
            phase_of.append(last + 1)
        chain_of.append(late[0])
        members[late[0]].append(segment)
    return chain_of, phase_of, members


def _latest(made_by: list[list[int]], chain_of: list[int], phase_of: list[int]) -> list[int]:
    """The last phase in which each segment may run: before the chains that need it start, and before the rest of its own."""
    latest = [max(phase_of, default=0)] * len(made_by)
    for segment in reversed(range(len(made_by))):
        for p in made_by[segment]:
            same = chain_of[p] == chain_of[segment]
            latest[p] = min(latest[p], latest[segment] if same else phase_of[chain_of[segment]] - 1)
    return latest
