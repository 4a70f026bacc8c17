"""From a C1 to the whole witness: digests of aux, inputs and row values equal to the Rust stack's, every case and partition."""

from __future__ import annotations

import functools
import json

import pytest

from cuzk.circuits import porep, witness
from cuzk.circuits.hints import hints
from cuzk.r1cs import evaluation
from tests.formats import c1_cases as cases

PARTITIONS = [(case, 0) for case in cases.CASES] + [
    *(pytest.param("2kib-non-interactive", k, marks=pytest.mark.slow) for k in range(1, 13)),
]


@functools.lru_cache(maxsize=1)
def shape_of(size: int):
    return porep.record(size)


@pytest.mark.parametrize(("case", "partition"), PARTITIONS)
def test_digests(case, partition):
    made = cases.load(case)
    facts = json.loads((cases.VECTORS / case / "witness.json").read_text())["partitions"]
    assert len(facts) == made.vanilla.partitions
    shape = shape_of(made.sector.size)
    filled = witness.fill(shape, *hints(made, partition))
    rows = evaluation.evaluate(shape, filled)
    got = evaluation.digests(shape, filled, *rows)
    assert got == {key: facts[partition][key] for key in got}
    assert evaluation.first_false_row(shape, *rows) is None
