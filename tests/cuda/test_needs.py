"""Which plan a circuit gets on cards of different memory: the 32 GiB circuit by its numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuzk.circuits.params import parse_size
from cuzk.errors import ResourceError
from cuzk.formats import circuit, shapes
from cuzk.groth16.prove import queries
from tests.conftest import VECTORS

pytestmark = pytest.mark.usefixtures("compiler")

GIB = 1 << 30
# Rows and variables of the 32 GiB circuit; points and scalars of its queries.
SHAPE: Any = SimpleNamespace(domain_log2=27, num_inputs=28, num_elems=1_699_102, num_bits=128_470_791)
QUERIES = {"l": (130_169_893, 1_699_102), "a": (129_753_620, 1_288_589), "b": (33_112_282, 1_229_275)}
MULTIPROCESSORS = 132


def plan(memory: int, partitions: int = 10) -> Any:
    from cuzk.groth16.needs_cuda import Positions, needs

    def array(n: int) -> Any:
        return np.broadcast_to(np.uint32(0), (n,))  # as long, without memory

    held = {name: Positions(array(n), array(dense), array(dense)) for name, (n, dense) in QUERIES.items()}
    return needs(SHAPE, held, memory, MULTIPROCESSORS, partitions)


def test_points_are_resident_where_they_fit() -> None:
    found = plan(139 * GIB)
    assert (found.streamed, found.shared, found.slots, found.host) == ((), False, 2, 0)
    assert 47e9 < found.fixed["points"] < 48e9 and found.total < 115 * GIB
    assert plan(139 * GIB, partitions=1).slots == 1


def test_smaller_cards_stream_more() -> None:
    streamed = []
    for memory in (139, 100, 80, 72, 60, 48, 40, 32, 28, 24, 22, 20, 19):
        found = plan(memory * GIB)
        assert found.total <= memory * GIB
        streamed.append(found.host)
        assert found.h.n >= 1 << 18, memory
    assert streamed == sorted(streamed) and streamed[3] == 0 < streamed[4]


def test_the_whole_proof_in_24_gib() -> None:
    found = plan(24 * GIB)
    assert found.shared and "h" in found.streamed and found.host < 48 * GIB
    assert found.h.n >= 1 << 22 and min(cut.piece for cut in found.cuts.values()) >= 1 << 20
    assert "host memory: h, l, a" in str(found) and found.as_dict()["host_points"] == found.host


def test_what_is_too_little_is_refused_with_numbers() -> None:
    with pytest.raises(ResourceError) as caught:
        plan(16 * GIB)
    error = caught.value
    assert error.got == f"{16 * GIB} bytes (16.0 GiB)" and str(error.expected).startswith("at least ")
    least = int(str(error.expected).split()[2])
    assert plan(least).total <= least and least % (2 << 20) == 0
    with pytest.raises(ResourceError):
        plan(least - (2 << 20))


@pytest.mark.parametrize("name", ["2KiB", "8MiB", "cubic", "mixed"])
@pytest.mark.parametrize("folded", [False, True])
def test_positions_stamp_by_stamp(name: str, folded: bool) -> None:
    from cuzk.groth16.needs_cuda import positions, positions_of

    if name.endswith("iB"):
        shape = shapes.load_or_record(parse_size(name))
    else:
        shape, _ = circuit.load(VECTORS / "groth16" / name / "circuit.json")
    want, got = positions(shape, queries(shape), folded), positions_of(shape, folded)
    assert want.keys() == got.keys()
    for of in want:
        for field in ("source", "which", "index"):
            a, b = getattr(want[of], field), getattr(got[of], field)
            assert a.dtype == b.dtype and np.array_equal(a, b), (of, field)
