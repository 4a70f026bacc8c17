"""Sums of points on a card, run line by line at toy sizes against arkworks: MSM, selected points, multiples of one point.

Scalars are of 12 bits (or their negatives), so that three windows do; whole scalars are left to the machine for PTX and to the
checks on a card.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cuzk import device
from cuzk.curve import g1, g2
from cuzk.errors import InternalError, ResourceError
from cuzk.field import coordinates_cuda
from cuzk.field.limbs import U64
from cuzk.field.params import R
from cuzk.kernels import tree_cuda
from cuzk.kernels.tree_cuda import NONE
from cuzk.msm import cuda, cuda_plan, cuda_scratch, cuda_stream, fixed_base_cuda
from tests import points as given
from tests.conftest import Draw

BITS = 12
GENERATORS = {"g1": g1.GENERATOR, "g2": g2.GENERATOR}


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_plan, "SCALAR_BITS", BITS)
    monkeypatch.setattr(fixed_base_cuda, "SCALAR_BITS", BITS)
    monkeypatch.setattr(cuda_scratch, "_FEW", 6)
    monkeypatch.setattr(cuda_scratch, "_GATHERERS", 3)


def small(draw: Draw, n: int, below: int = 1 << (BITS - 2)) -> list[int]:
    """Scalars whose smaller residue has few bits; 0, 1 and r − 1 among them."""
    values = [draw.random.randrange(below) * draw.random.choice([1, -1]) % R for _ in range(n)]
    return ([0, 1, R - 1, *values])[:n]


def nasty_points(curve: str, n: int, draw: Draw) -> list[Any]:
    """Points with equal, opposite and infinite ones among them, next to each other and apart."""
    points = given.random_points(curve, n, draw)
    if n > 8:
        points[2], points[4], points[6], points[8] = points[3], -points[5], given.infinity(curve), points[0]
    return points


def equal(got: U64, want: U64) -> bool:
    return got.shape == want.shape and bool((got == want).all())


def msm_of(
    curve: str,
    points: list[Any],
    values: list[int],
    c: int | None,
    group: int | None = None,
    low: int | None = None,
    index: Any = None,
) -> U64:
    card = device.card(0)
    n = len(values)
    cut = cuda_plan.plan(curve, n, 1 << 29, card.multiprocessors, c=c, group=group)
    if low is not None:
        cut = replace(cut, runs=tuple(replace(run, low=low) for run in cut.runs))
    scratch = cuda.Scratch(card)
    rows = cuda.upload(card, curve, given.containers(curve, points))
    with card.upload(given.scalars(values)) as scalars:
        where = 0 if index is None else card.upload(np.asarray(index, np.uint32))
        job = cuda.Msm(scratch, cut)
        job.start(rows, scalars.address, n, where.address if where else 0)
        got = job.finish()
    assert scratch.bytes >= cut.bytes
    scratch.free()
    return got


@pytest.mark.parametrize(("n", "c", "group", "low"), [(33, 4, None, 1), (20, 6, 1, 3), (1, 4, None, 2)])
def test_msm(n: int, c: int, group: int | None, low: int, draw: Draw) -> None:
    points, values = nasty_points("g1", n, draw), small(draw, n)
    if n > 8:
        values[2], values[4], values[8] = values[3], values[5], values[0]
    assert equal(msm_of("g1", points, values, c, group, low), given.weighted_sum("g1", points, values)), draw


def test_msm_of_g2(draw: Draw) -> None:
    points, values = nasty_points("g2", 9, draw), small(draw, 9)
    values[2], values[4], values[8] = values[3], values[5], values[0]
    assert equal(msm_of("g2", points, values, 4), given.weighted_sum("g2", points, values)), draw


@pytest.mark.parametrize(("curve", "chain", "staggered"), [("g1", 2, 6), ("g1", 4, 2), ("g2", 2, 3)])
def test_additions_of_long_lists(curve: str, chain: int, staggered: int, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels for long lists, chains of several lengths: every block begins with a chunk of another one."""
    monkeypatch.setattr(cuda_scratch, "_SHORT_LIST", 0)
    monkeypatch.setattr(tree_cuda, "_STAGGERED", staggered)
    launched = []
    card, parts = device.card(0), coordinates_cuda.FIELDS[curve].parts
    n = 7 * card.multiprocessors * tree_cuda.LONG // parts - 3
    distinct = nasty_points(curve, 12, draw)
    points = [distinct[draw.random.randrange(12)] for _ in range(40)]
    pairs = [(draw.random.randrange(40), draw.random.randrange(40) | draw.random.randrange(2) << 31) for _ in range(n)]
    pairs[0], pairs[-1] = (3, NONE), (NONE, NONE)
    scratch = cuda.Scratch(card)
    trees = cuda_scratch.Trees(scratch, curve)
    trees.prepare(n)
    trees.chain = chain
    launch = scratch.launch
    monkeypatch.setattr(scratch, "launch", lambda kernel, *rest: launched.append(kernel.name) or launch(kernel, *rest))
    src = cuda.upload(card, curve, given.containers(curve, points))
    out = cuda_scratch.DevicePoints(curve, card.buffer(n * src.size), n)
    with card.upload(np.array(pairs, np.uint32)) as listed:
        trees.add(src.address, out.address, listed.address, n)
    assert launched == [f"pair_add_{curve}_long"]
    infinite = given.infinity(curve)

    def point(reference: int) -> Any:
        if reference == NONE:
            return infinite
        return -points[reference & 0x7FFFFFFF] if reference >> 31 else points[reference]

    want = given.containers(curve, [point(a) + point(b) for a, b in pairs])
    got = out.read()
    got[~got[:, : got.shape[1] // 2].any(axis=1)] = 0  # infinity has x = 0, its y means nothing
    assert equal(got, want), draw


@pytest.mark.parametrize("curve", ["g1", pytest.param("g2", marks=pytest.mark.slow)])
def test_msm_by_long_lists(curve: str, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_scratch, "_SHORT_LIST", 0)
    monkeypatch.setattr(tree_cuda, "_STAGGERED", 1)
    points, values = nasty_points(curve, 12, draw), small(draw, 12)
    assert equal(msm_of(curve, points, values, 4), given.weighted_sum(curve, points, values)), draw


KINDS: dict[str, Callable[[int], int]] = {
    "zero": lambda k: 0,
    "one": lambda k: 1,
    "r − 1": lambda k: R - 1,
    "half 0, half 1": lambda k: k % 2,
    "one value": lambda k: 77,
    "largest digits": lambda k: 8 - k % 2,
}


@pytest.mark.parametrize("kind", KINDS)
def test_skewed_scalars(kind: str, draw: Draw) -> None:
    """One bucket with everything: more waves, several stripes."""
    points, values = given.random_points("g1", 18, draw), [KINDS[kind](k) for k in range(18)]
    assert equal(msm_of("g1", points, values, 4, 1), given.weighted_sum("g1", points, values)), draw


def test_points_that_cancel_or_are_one(draw: Draw) -> None:
    point = given.random_points("g1", 1, draw)[0]
    for points in ([point if k % 2 else -point for k in range(6)], [point] * 7, [given.infinity("g1")] * 3):
        values = [3] * len(points)
        assert equal(msm_of("g1", points, values, 4, 1), given.weighted_sum("g1", points, values)), draw


def test_scalars_on_fixed_positions(draw: Draw) -> None:
    points, values = given.random_points("g1", 20, draw), small(draw, 7)
    index = [19, 3, 3, 0, 7, 11, 2]
    want = given.weighted_sum("g1", [points[k] for k in index], values)
    assert equal(msm_of("g1", points, values, 4, index=index), want), draw


@pytest.mark.parametrize(("widths", "group"), [([4, 5, 5], 2), ([4, 4, 6], 1), ([4] * 4 + [5], 3)])
def test_windows_of_several_widths(widths: list[int], group: int, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_plan, "_widths", lambda n: widths)
    points, values = nasty_points("g1", 20, draw), small(draw, 20)
    got = msm_of("g1", points, values, None, group)
    assert equal(got, given.weighted_sum("g1", points, values)), draw


def test_widths() -> None:
    """All windows together hold a scalar, wide ones last; as few windows as many buckets cost."""
    for n in (1, 1000, 1 << 20, 1 << 24, 100_000_007, 1 << 27):
        cut = cuda_plan.plan("g1", n, 1 << 40, 132)
        first = 0
        for run in cut.runs:
            assert run.first == first
            first += run.c * run.count
        assert first >= cuda_plan.SCALAR_BITS
        assert [run.c for run in cut.runs] == sorted({run.c for run in cut.runs})


def test_two_sums_share_scratch(draw: Draw) -> None:
    card = device.card(0)
    scratch = cuda.Scratch(card)
    jobs = [cuda.Msm(scratch, cuda_plan.plan("g1", n, 1 << 29, card.multiprocessors, c=c)) for n, c in ((3, 4), (9, 5))]
    for job in jobs:
        n = job.plan.n - 1
        points, values = given.random_points("g1", n, draw), small(draw, n)
        rows = cuda.upload(card, "g1", given.containers("g1", points))
        with card.upload(given.scalars(values)) as scalars:
            assert equal(job.run(rows, scalars.address), given.weighted_sum("g1", points, values)), draw
    with pytest.raises(InternalError, match="plan"):
        jobs[0].start(rows, 0, 8)


def test_pieces_where_memory_is_little(draw: Draw) -> None:
    card, n = device.card(0), 13
    points, values = nasty_points("g1", n, draw), small(draw, n)
    containers, want = given.containers("g1", points), given.weighted_sum("g1", points, values)
    cut = cuda_plan.plan("g1", 7, 1 << 29, card.multiprocessors, c=4, group=1)
    small_plan = cuda_plan.plan
    cuda_plan.plan = lambda curve, n, *rest: small_plan(curve, n, (1 << 29) if n <= 7 else 0, card.multiprocessors, c=4, group=1)
    try:
        assert cuda_plan.chunked("g1", 7, 0, 2) == cut
        with pytest.raises(ResourceError, match="too little device memory"):
            cuda_plan.chunked("g1", n, 0, 2)
    finally:
        cuda_plan.plan = small_plan
    cuda.chunked = cuda_stream.chunked = lambda *_, **__: cut
    try:
        assert equal(cuda.msm(cuda.upload(card, "g1", containers), given.scalars(values)), want), draw
        with card.upload(given.scalars(values)) as scalars:
            got = cuda_stream.msm_streamed(cuda.Scratch(card), "g1", containers, scalars.address, 1 << 20)
        assert equal(got, want), draw
    finally:
        cuda.chunked = cuda_stream.chunked = cuda_plan.chunked


def test_wrong_shapes_are_refused() -> None:
    card = device.card(0)
    rows = cuda.upload(card, "g1", np.zeros((3, 12), np.uint64))
    for call in (
        lambda: cuda.msm(rows, np.zeros((2, 4), np.uint64)),
        lambda: cuda.upload(card, "g2", np.zeros((3, 12), np.uint64)),
        lambda: fixed_base_cuda.FixedBase(cuda.Scratch(card), "g1", np.zeros(12, np.uint64), 1),
        lambda: next(cuda_stream.pieces(cuda.Scratch(card), "g1", np.zeros((3, 24), np.uint64), 1)),
    ):
        with pytest.raises(InternalError):
            call()
    assert not cuda.msm(rows.part(1, 0), np.zeros((0, 4), np.uint64)).any()


SELECTIONS: dict[str, Callable[[int], bool]] = {
    "all": lambda k: True,
    "none": lambda k: False,
    "one": lambda k: k == 33,
    "an odd number": lambda k: k % 3 == 1,
    "two that cancel": lambda k: k in (4, 5),
    "equal and infinite ones": lambda k: k in (2, 3, 6),
}


def bitmap(chosen: list[int], n: int) -> U64:
    words = np.zeros(-(-n // 64), np.uint64)
    for k in chosen:
        words[k // 64] |= np.uint64(1 << (k % 64))
    return words


@pytest.mark.parametrize("kind", SELECTIONS)
@pytest.mark.parametrize("curve", ["g1", "g2"])
def test_selected_points(curve: str, kind: str, draw: Draw) -> None:
    card, n = device.card(0), 41 if curve == "g1" else 35
    points = nasty_points(curve, n, draw)
    chosen = [k for k in range(n) if SELECTIONS[kind](k)]
    rows = cuda.upload(card, curve, given.containers(curve, points))
    with card.upload(bitmap(chosen, n)) as bits:
        got = cuda.Selection(cuda.Scratch(card), curve).run(rows, bits.address, n)
    assert equal(got, given.weighted_sum(curve, [points[k] for k in chosen], [1] * len(chosen))), draw


def test_selected_positions_and_streamed_points(draw: Draw) -> None:
    card, n = device.card(0), 70
    points, order = given.random_points("g1", n, draw), draw.random.sample(range(70), 70)
    chosen = [k for k in range(n) if draw.random.random() < 0.3]
    containers, scratch = given.containers("g1", points), cuda.Scratch(card)
    rows = cuda.upload(card, "g1", containers)
    with card.upload(bitmap(chosen, n)) as bits, card.upload(np.asarray(order, np.uint32)) as index:
        got = cuda.Selection(scratch, "g1").run(rows, bits.address, n, index.address)
        assert equal(got, given.weighted_sum("g1", [points[order[k]] for k in chosen], [1] * len(chosen))), draw
        pieces = list(cuda_stream.pieces(scratch, "g1", containers, 32))
        assert [(first, part.count) for first, part in pieces] == [(0, 32), (32, 32), (64, 6)]
        got = cuda_stream.sum_selected_streamed(scratch, "g1", containers, bits.address, 1 << 20)
        assert equal(got, given.weighted_sum("g1", [points[k] for k in chosen], [1] * len(chosen))), draw


@pytest.mark.parametrize("curve", ["g1", "g2"])
def test_multiples_of_one_point(curve: str) -> None:
    # An even s is taken as r − s, which must be small here.
    values = [1, 3, R - 3, 4001, R - 4095][: 5 if curve == "g1" else 3]
    for c in (4, 6) if curve == "g1" else (4,):
        base = fixed_base_cuda.FixedBase(cuda.Scratch(device.card(0)), curve, GENERATORS[curve], len(values), c)
        base.block = 3
        want = given.containers(curve, [given.times(curve, v) for v in values])
        assert equal(base.multiples(given.scalars(values)), want)


@pytest.mark.parametrize("curve", ["g1", "g2"])
def test_points_from_file_bytes(curve: str, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_scratch, "_BLOCK", 3)
    card, points = device.card(0), [given.infinity(curve), *given.random_points(curve, 6, draw)]
    data, containers = given.file_bytes(points), given.containers(curve, points)
    data[3, 0] |= 0xA0  # flags
    held = np.frombuffer(bytes(data), np.uint8).reshape(data.shape)
    assert equal(cuda.upload_be(card, curve, held).read(), containers), draw
    index = np.array([5, 0, 3, 3])
    assert equal(cuda.upload_be(card, curve, held, index).read(), containers[index]), draw
    assert cuda.upload_be(card, curve, held[:0]).count == 0
    with pytest.raises(InternalError, match="wrong shape"):
        cuda.upload_be(card, curve, held[:, :48])


def test_sum_of_named_points(draw: Draw) -> None:
    points = given.random_points("g1", 9, draw)
    rows = cuda.upload(device.card(0), "g1", given.containers("g1", points))
    for index in ([], [4], [8, 0, 0], list(range(9))):
        want = given.weighted_sum("g1", [points[k] for k in index], [1] * len(index))
        assert equal(cuda.sum_selected(rows, np.array(index, np.int64)), want), draw
    with pytest.raises(InternalError, match="not there"):
        cuda.sum_selected(rows, np.array([9]))


def test_scratch_that_was_given_back(draw: Draw) -> None:
    card = device.card(0)
    scratch = cuda.Scratch(card)
    job = cuda.Msm(scratch, cuda_plan.plan("g1", 4, 1 << 29, card.multiprocessors, c=4))
    points, values = given.random_points("g1", 4, draw), small(draw, 4)
    rows = cuda.upload(card, "g1", given.containers("g1", points))
    with card.upload(given.scalars(values)) as scalars:
        for _ in range(2):
            assert equal(job.run(rows, scalars.address), given.weighted_sum("g1", points, values)), draw
            scratch.free()


def test_windows_of_multiples() -> None:
    assert fixed_base_cuda.window_bits("g1", 1) == 4
    assert fixed_base_cuda.window_bits("g1", 1 << 27) >= fixed_base_cuda.window_bits("g1", 1000)


def test_references_to_infinity(draw: Draw) -> None:
    card = device.card(0)
    points = given.random_points("g1", 3, draw)
    rows = cuda.upload(card, "g1", given.containers("g1", points))
    for references in ([0, 1, 2, NONE], [NONE, NONE], [2, NONE, 1, 1 | 1 << 31], [0, 0, 0, 0]):
        values = [0, 0, 0]
        for r in references:
            if r != NONE:
                values[r & 0x7FFFFFFF] += -1 if r >> 31 else 1
        with card.upload(np.array(references, np.uint32)) as listed:
            got = cuda.Selection(cuda.Scratch(card), "g1").sum_references(rows, listed.address, len(references))
        assert equal(got, given.weighted_sum("g1", points, values)), references


def test_inversion_and_parts() -> None:
    """The device functions outside kernels: their twins."""
    from cuzk.cuda.inline import join, split
    from cuzk.field import fp_cuda
    from cuzk.field.fp_inverse_cuda import inverse
    from cuzk.field.limbs import FP_RADIX
    from cuzk.field.params import P

    for value in (1, 2, P - 1, 3 * P + 5, (1 << 380) + 1):
        got = join(inverse(split(value, fp_cuda.LIMBS)))
        assert got < 2 * P and (got * value - FP_RADIX**2) % P == 0
    assert join(coordinates_cuda.FP.one()) == FP_RADIX % P
