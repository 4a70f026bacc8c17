"""The compiled PTX of whole sums of points, run on the CPU with the block and warp sizes of a card, against arkworks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuzk.curve import g1
from cuzk.field.params import R
from cuzk.kernels.launch import launch
from tests import points as given
from tests.conftest import Draw
from tests.cuda.machine import Card

pytestmark = pytest.mark.usefixtures("compiler")


def nasty(curve: str, n: int, draw: Draw) -> tuple[list[Any], list[int]]:
    """Points and scalars of 7 bits, with equal, opposite and infinite points in one bucket."""
    points = given.random_points(curve, n, draw)
    values = [draw.random.randrange(64) * draw.random.choice([1, -1]) % R for _ in range(n)]
    points[2], points[4], points[6], points[8] = points[3], -points[5], given.infinity(curve), points[0]
    values[2], values[4], values[8], values[9] = values[3], values[5], values[0], 0
    return points, values


@pytest.mark.parametrize("curve", ["g1", pytest.param("g2", marks=pytest.mark.slow)])
def test_msm(curve: str, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuzk.msm import cuda, cuda_plan

    monkeypatch.setattr(cuda_plan, "SCALAR_BITS", 8)
    card, n = Card(), 30
    points, values = nasty(curve, n, draw)
    rows, scalars = cuda.upload(card, curve, given.containers(curve, points)), card.upload(given.scalars(values))
    job = cuda.Msm(cuda.Scratch(card), cuda_plan.plan(curve, n, 1 << 29, card.multiprocessors, c=4))
    got = job.run(rows, scalars.address)
    assert np.array_equal(got, given.weighted_sum(curve, points, values)), draw


@pytest.mark.slow
@pytest.mark.parametrize(("curve", "rounds", "blocks"), [("g1", 2, 1), ("g1", 3, 2), ("g2", 3, 2)])
def test_additions_of_long_lists(curve: str, rounds: int, blocks: int, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernels for long lists, in chains of two additions."""
    from cuzk.field.coordinates_cuda import FIELDS
    from cuzk.kernels.tree_cuda import LONG, NONE
    from cuzk.msm import cuda, cuda_scratch

    monkeypatch.setattr(cuda_scratch, "_SHORT_LIST", 0)
    card = Card()
    card.multiprocessors = blocks
    n = rounds * blocks * LONG // FIELDS[curve].parts - 5
    points = given.random_points(curve, 30, draw)
    points[4], points[6], points[8] = points[3], -points[5], given.infinity(curve)
    named = [draw.random.randrange(900) for _ in range(n)]
    sums = {k: given.containers(curve, [points[k // 30] + points[k % 30]])[0] for k in set(named)}
    pairs = [(k // 30, k % 30) for k in named]
    pairs[0] = (named[0] // 30, NONE)
    want = np.array([sums[k] for k in named])
    want[0] = given.containers(curve, [points[named[0] // 30]])[0]
    trees = cuda_scratch.Trees(cuda.Scratch(card), curve)
    trees.prepare(n)
    trees.chain = 2
    src = cuda.upload(card, curve, given.containers(curve, points))
    out = cuda_scratch.DevicePoints(curve, card.buffer(n * src.size), n)
    trees.add(src.address, out.address, card.upload(np.array(pairs, np.uint32)).address, n)
    got = out.read()
    got[~got[:, : got.shape[1] // 2].any(axis=1)] = 0  # infinity has x = 0, its y means nothing
    assert np.array_equal(got, want), draw


def test_selected_points(draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    from cuzk.msm import cuda, cuda_scratch

    monkeypatch.setattr(cuda_scratch, "_FEW", 128)
    monkeypatch.setattr(cuda_scratch, "_GATHERERS", 2)
    card, n = Card(), 600
    points = [*given.random_points("g1", 40, draw), given.infinity("g1")] * 15
    chosen = [k for k in range(n) if draw.random.random() < 0.8]
    words = np.zeros(-(-n // 32), np.uint32)
    for k in chosen:
        words[k // 32] |= np.uint32(1 << (k % 32))
    rows, bits = cuda.upload(card, "g1", given.containers("g1", points)), card.upload(words)
    got = cuda.Selection(cuda.Scratch(card), "g1").run(rows, bits.address, n)
    assert np.array_equal(got, given.weighted_sum("g1", [points[k] for k in chosen], [1] * len(chosen))), draw


def test_multiples_of_one_point(monkeypatch: pytest.MonkeyPatch) -> None:
    from cuzk.msm import cuda, fixed_base_cuda

    monkeypatch.setattr(fixed_base_cuda, "SCALAR_BITS", 12)
    values = [1, 3, R - 3, 4001, R - 4095]
    base = fixed_base_cuda.FixedBase(cuda.Scratch(Card()), "g1", g1.GENERATOR, len(values), 6)
    base.block = 3
    want = given.containers("g1", [given.times("g1", v) for v in values])
    assert np.array_equal(base.multiples(given.scalars(values)), want)


def test_points_from_file_bytes(draw: Draw) -> None:
    from cuzk.msm import cuda

    for curve in ("g1", "g2"):
        points = [given.infinity(curve), *given.random_points(curve, 70, draw)]
        got = cuda.upload_be(Card(), curve, given.file_bytes(points)).read()
        assert np.array_equal(got, given.containers(curve, points)), draw


@pytest.mark.parametrize(
    ("widths", "skip", "count"), [([22] * 12, 8, 4), ([17] * 15, 0, 15), ([4] * 64, 60, 4), ([23] * 9 + [24] * 2, 9, 2)]
)
def test_signed_digits(widths: list[int], skip: int, count: int, draw: Draw) -> None:
    from cuzk.kernels import digits_cuda

    card, n, c, first = Card(), 300, widths[skip], sum(widths[:skip])
    low = max(0, c - 4)
    values = [draw.below(1 << 256) for _ in range(n - 4)] + [0, R, R - 1, (1 << 256) - 1]
    offset = sum(digits_cuda.bias(sum(widths[:w]), width, 1) for w, width in enumerate(widths))
    bias = np.frombuffer(offset.to_bytes(4 * digits_cuda.BIASED, "little"), np.uint32)
    partitions = 1 << (c - 1 - low)
    scalars, biases = card.upload(given.scalars(values)), card.upload(bias)
    digits, totals = card.buffer(4 * n * count), card.upload(np.zeros(count * partitions, np.uint32))
    where = biases.address, digits.address, totals.address
    launch(card, digits_cuda.signed_digits, 2, None, scalars.address, n, c, first, count, low, partitions, *where)
    found = digits.read((count, n), np.uint32)
    counted = np.zeros((count, partitions), np.uint32)
    for k, s in enumerate(values):
        s %= R
        sign, s = (1, R - s) if s > R // 2 else (0, s)
        s += offset
        for w in range(count):
            d = (s >> (first + c * w)) % (1 << c) - (1 << (c - 1))
            if d == 0:
                assert found[w, k] == 0xFFFFFFFF, draw
                continue
            assert found[w, k] == (abs(d) - 1) | ((sign ^ (d < 0)) << 31), draw
            counted[w, (abs(d) - 1) >> low] += 1
    assert np.array_equal(totals.read((count, partitions), np.uint32), counted)
