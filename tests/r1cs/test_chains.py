"""Chains of segments: every segment once, and what it needs of other segments earlier in its chain or in an earlier phase."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cuzk.circuits import porep
from cuzk.circuits.template import Shape
from cuzk.r1cs.chains import Chain, chains, producers
from cuzk.r1cs.packing import pack
from tests.circuits.naive import random_shape


def check(made_by: list[list[int]], found: list[Chain], cost: list[int]) -> None:
    assert sorted(s for chain in found for s in chain.segments) == list(range(len(made_by)))
    assert [chain.phase for chain in found] == sorted(chain.phase for chain in found)
    place = {s: (chain.phase, k, i) for k, chain in enumerate(found) for i, s in enumerate(chain.segments)}
    for segment, needed in enumerate(made_by):
        phase, chain, at = place[segment]
        for p in needed:
            other, its_chain, before = place[p]
            assert other < phase or (its_chain == chain and before < at)
    lengths = [(chain.phase, -sum(cost[s] for s in chain.segments)) for chain in found]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("seed", range(30))
def test_at_random(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randrange(1, 60)
    made_by = [sorted(rng.sample(range(i), min(i, rng.choice([0, 1, 1, 1, 2, 3])))) for i in range(n)]
    cost = [rng.randrange(1, 100) for _ in range(n)]
    check(made_by, chains(made_by, cost), cost)


def test_what_can_wait_does_not_hold_up_others() -> None:
    """Two chains that meet, and a long one that nobody needs: it is cut where the short ones end."""
    made_by = [[], [0], [], [2], [1, 3], [4], [], *([6 + k] for k in range(8))]
    found = chains(made_by, [1] * len(made_by))
    check(made_by, found, [1] * len(made_by))
    lengths = [max(len(c.segments) for c in found if c.phase == k) for k in range(3)]
    assert lengths[:2] == [1, 1] and sum(lengths) == 9


def of_ports(shape: Shape) -> None:
    packed = pack(shape)
    for stage, placed in ((shape.prologue, packed.prologue), (shape.repeated, packed.repeated)):
        made_by, cost = producers(stage, placed), [1] * len(placed.variant)
        check(made_by, chains(made_by, cost), cost)
        bits, elems = np.append(placed.bit, stage.bits), np.append(placed.elem, stage.elems)
        for segment, needed in enumerate(made_by):
            ports = stage.ports[placed.port_ptr[segment] : placed.port_ptr[segment + 1]]
            owners = set()
            for entry in ports[ports >> 31 == 0].tolist():
                index, starts = entry & (1 << 29) - 1, elems if entry >> 30 else bits
                owners |= {s for s in range(segment) if starts[s] <= index < starts[s + 1]}
            assert sorted(owners) == needed


@pytest.mark.parametrize("seed", range(6))
def test_producers_of_random_shapes(seed: int) -> None:
    of_ports(random_shape(seed))


def test_the_largest_circuit_needs_few_phases() -> None:
    shape = porep.record(32 << 30)
    packed = pack(shape)
    made_by = producers(shape.repeated, packed.repeated)
    cost = [1] * len(made_by)
    found = chains(made_by, cost)
    check(made_by, found, cost)
    assert found[-1].phase == 3
