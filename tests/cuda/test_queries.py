"""The compiled PTX of what a proof does with a witness on a card, run on the CPU, against NumPy and plain integers."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.field.limbs import fr_mont, from_limbs
from cuzk.field.params import R
from cuzk.kernels.launch import launch_over
from cuzk.kernels.tree_cuda import NONE
from tests.conftest import Draw
from tests.cuda.machine import Card

pytestmark = pytest.mark.usefixtures("compiler")


def test_spread_bits(draw: Draw) -> None:
    from cuzk.kernels import queries_cuda

    card = Card()
    bits = np.array([draw.random.randrange(2) for _ in range(300)], np.uint8)
    packed = card.upload(np.packbits(np.pad(bits, (0, 20)), bitorder="little"))
    for n in (1, 31, 32, 33, 500):
        source = np.array([draw.random.choice([NONE, draw.random.randrange(300), 299]) for _ in range(n)], np.uint32)
        words = -(-n // 32)
        out, where = card.buffer(4 * words), card.upload(source)
        launch_over(card, queries_cuda.spread_bits, words, None, packed.address, where.address, n, out.address)
        got = np.unpackbits(out.read(4 * words, np.uint8), bitorder="little")
        want = [0 if s == NONE else bits[s] for s in source.tolist()]
        assert got.tolist() == want + [0] * (32 * words - n), draw


def test_gather_scalars(draw: Draw) -> None:
    from cuzk.kernels import queries_cuda

    card, values = Card(), draw.many(R, 40)
    which = np.array([draw.random.randrange(40) for _ in range(300)], np.uint32)
    held, where, out = card.upload(fr_mont(values)), card.upload(which), card.buffer(32 * 300)
    launch_over(card, queries_cuda.gather_scalars, 300, None, held.address, where.address, 300, out.address)
    assert from_limbs(out.read((300, 4), np.uint64)) == [values[k] for k in which.tolist()], draw


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("pieces", [6, 12])
def test_reverse_points(pieces: int, missing: int) -> None:
    from cuzk.kernels import queries_cuda

    card, log_size = Card(), 6
    n = (1 << log_size) - missing
    points = np.arange(4 * pieces * n, dtype=np.uint32).reshape(n, 4 * pieces)
    held = card.upload(points)
    launch_over(card, queries_cuda.reverse_points, pieces * n, None, held.address, pieces, n, log_size)
    order = [int(f"{i:06b}"[::-1], 2) for i in range(n)]
    assert np.array_equal(held.read(points.shape, np.uint32), points[order])


@pytest.mark.parametrize("false", [[], [0], [299], [40, 41, 120], [7, 299]])
def test_find_false(false: list[int], draw: Draw) -> None:
    from cuzk.kernels import queries_cuda

    card, n = Card(), 300
    a, b = draw.many(R, n), list(reversed(draw.many(R, n)))
    c = [x * y % R for x, y in zip(a, b, strict=True)]
    for i in false:
        c[i] = (c[i] + (1 << draw.random.randrange(254))) % R
    held = [card.upload(fr_mont(x)) for x in (a, b, c)]
    out = card.upload(np.zeros(1, np.uint32))
    launch_over(card, queries_cuda.find_false, n, None, *(h.address for h in held), n, out.address)
    assert int(out.read(1, np.uint32)[0]) == (n - min(false) if false else 0), draw


@pytest.mark.parametrize("places", [[], [0], [299], [40, 41, 120]])
def test_find_difference(places: list[int], draw: Draw) -> None:
    from cuzk.kernels import queries_cuda

    card, n = Card(), 300
    x = np.array([draw.below(1 << 32) for _ in range(8 * n)], np.uint32).reshape(n, 8)
    y = x.copy()
    for i in places:
        y[i, draw.random.randrange(8)] ^= np.uint32(1 << draw.random.randrange(32))
    held, out = [card.upload(a) for a in (x, y)], card.upload(np.zeros(1, np.uint32))
    launch_over(card, queries_cuda.find_difference, n, None, *(h.address for h in held), n, out.address)
    assert int(out.read(1, np.uint32)[0]) == (n - min(places) if places else 0), draw
