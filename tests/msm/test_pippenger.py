"""Sums of points against arkworks, on this process's arithmetic path; the other path runs these tests in a process of its own."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cuzk import config
from cuzk.errors import InternalError
from cuzk.field.limbs import U64
from cuzk.field.params import R
from cuzk.msm import pippenger
from cuzk.msm.rows import Rows, rows_from_be, rows_from_mont, rows_to_be, rows_to_mont
from cuzk.spec import curve as spec
from tests import points as given
from tests.conftest import ROOT, Draw

CURVES = ["g1", "g2"]
SIZES = [0, 1, 2, 3, 7, 8, 9, 100, 1000, 4095, 4097, 6000]


def equal(got: U64, expected: U64) -> bool:
    return got.shape == expected.shape and bool((got == expected).all())


def rows_of(curve: str, points: list[Any]) -> Rows:
    return rows_from_mont(curve, given.containers(curve, points))


@pytest.fixture(scope="module", params=CURVES)
def sample(request: pytest.FixtureRequest) -> tuple[str, list[Any]]:
    """A curve and points, the same ones for the cases of this module."""
    return request.param, given.random_points(request.param, 6000, Draw(20240607))


@pytest.mark.parametrize("n", SIZES)
def test_random_points_and_scalars(sample: tuple[str, list[Any]], n: int, draw: Draw) -> None:
    curve, points = sample[0], sample[1][:n]
    values = draw.many(R, n)
    got = pippenger.msm(rows_of(curve, points), given.scalars(values))
    assert equal(got, given.weighted_sum(curve, points, values))


@pytest.mark.parametrize("n", [1, 255, 256, 257, 6000])
@pytest.mark.parametrize("window", [None, 5, 13, 16])
def test_scalars_are_overwritten_only_if_allowed(sample: tuple[str, list[Any]], n: int, window: int | None, draw: Draw) -> None:
    curve, points = sample[0], sample[1][:n]
    values = draw.many(R, n)
    scalars = given.scalars(values)
    before = scalars.copy()
    expected = given.weighted_sum(curve, points, values)
    assert equal(pippenger.msm(rows_of(curve, points), scalars, window=window), expected)
    assert equal(scalars, before)
    assert equal(pippenger.msm(rows_of(curve, points), scalars, window=window, consume=True), expected)


def _negated_pairs(points: list[Any]) -> list[Any]:
    return [-points[k // 2] if k % 2 else points[k // 2] for k in range(len(points))]


POINTS: dict[str, Callable[[str, list[Any]], list[Any]]] = {
    "distinct": lambda curve, p: p,
    "all equal": lambda curve, p: [p[0]] * len(p),
    "P and −P": lambda curve, p: [p[0] if k % 2 else -p[0] for k in range(len(p))],
    "each with its negative": lambda curve, p: _negated_pairs(p),
    "a third infinite": lambda curve, p: [q if k % 3 else given.infinity(curve) for k, q in enumerate(p)],
    "all infinite": lambda curve, p: [given.infinity(curve)] * len(p),
    "small multiples": lambda curve, p: [given.times(curve, k - 20) for k in range(40)] * (len(p) // 40),
}
SCALARS: dict[str, Callable[[int, Draw], list[int]]] = {
    "random": lambda n, draw: [draw.random.randrange(R) for _ in range(n)],
    "zero": lambda n, draw: [0] * n,
    "one": lambda n, draw: [1] * n,
    "r − 1": lambda n, draw: [R - 1] * n,
    "up to 2^255 − 1": lambda n, draw: [(1 << 255) - 1 - k for k in range(n)],
    "around r / 2": lambda n, draw: [R // 2 - n // 2 + k for k in range(n)],
    "one value": lambda n, draw: [draw.random.randrange(R)] * n,
    "bits": lambda n, draw: [draw.random.randrange(2) for _ in range(n)],
    "powers of two": lambda n, draw: [1 << (k % 255) for k in range(n)],
    "nasty": lambda n, draw: draw.many(R, n),
}


@pytest.mark.parametrize("scalar_kind", SCALARS)
@pytest.mark.parametrize("point_kind", POINTS)
def test_skewed_points_and_scalars(sample: tuple[str, list[Any]], point_kind: str, scalar_kind: str, draw: Draw) -> None:
    curve = sample[0]
    points = POINTS[point_kind](curve, sample[1][:1200])
    values = SCALARS[scalar_kind](len(points), draw)
    got = pippenger.msm(rows_of(curve, points), given.scalars(values))
    assert equal(got, given.weighted_sum(curve, points, values))


def test_buckets_of_many_pieces(sample: tuple[str, list[Any]], draw: Draw) -> None:
    """Half the scalars 0, nearly all others 1: one bucket holds more entries than a run, and than a run of runs' lanes."""
    curve, points = sample
    values = [k % 2 if k % 100 else draw.below(R) for k in range(len(points))] * 3
    got = pippenger.msm(rows_of(curve, points * 3), given.scalars(values))
    assert equal(got, given.weighted_sum(curve, points * 3, values))


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 40])
def test_the_number_of_threads_does_not_matter(threads: int, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pippenger, "_BATCH", 64)
    monkeypatch.setattr(pippenger, "_PIECE", 64)  # also cuts windows by points
    points = given.random_points("g1", 500, draw)
    values = draw.many(R, 500)
    done: list[float] = []
    got = pippenger.msm(rows_of("g1", points), given.scalars(values), threads, done.append)
    assert equal(got, given.weighted_sum("g1", points, values))
    assert done == sorted(done) and done[-1] == 1


@pytest.mark.parametrize("n", [1, 100, 43_806, 1 << 18, 1 << 22])
@pytest.mark.parametrize("threads", [1, 2, 16, 64])
def test_a_plan_covers_every_window_and_point_once(n: int, threads: int) -> None:
    cut = pippenger.plan(n, threads)
    assert cut.c * cut.windows >= pippenger.SCALAR_BITS
    per_window = [sorted((k0, k1) for w0, w1, k0, k1 in cut.tasks if w0 <= w < w1) for w in range(cut.windows)]
    for pieces in per_window:
        assert pieces[0][0] == 0 and pieces[-1][1] == n
        assert all(a[1] == b[0] for a, b in itertools.pairwise(pieces))


def test_small_sums_against_the_specification(draw: Draw) -> None:
    for curve, twin in (("g1", spec.G1), ("g2", spec.G2)):
        points = given.random_points(curve, 5, draw)
        values = draw.many(R, 5)
        numbers = [given.coordinates(p) for p in points]
        plain = [(v[0], v[1]) if len(v) == 2 else ((v[0], v[1]), (v[2], v[3])) for v in numbers]
        x, y = twin.multiexp(plain, values)
        expected = [x, y] if curve == "g1" else [*x, *y]
        got = pippenger.msm(rows_of(curve, points), given.scalars(values))
        assert equal(got, given.fp_mont(expected).reshape(-1))


@pytest.mark.parametrize("m", [0, 1, 2, 8, 9, 1000, 4095, 4096, 4097, 9000])
def test_sum_of_selected_points(sample: tuple[str, list[Any]], m: int, draw: Draw) -> None:
    curve, points = sample
    points = [*points[:1000], given.infinity(curve), -points[7], points[7]]
    index = [draw.random.randrange(len(points)) for _ in range(m)]
    got = pippenger.sum_selected(rows_of(curve, points), np.array(index, np.int64))
    assert equal(got, given.weighted_sum(curve, [points[k] for k in index], [1] * m))


@pytest.mark.parametrize("m", [0, 1, 9, 5000, 20_000])
def test_sum_from_file_bytes(sample: tuple[str, list[Any]], m: int, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pippenger, "_READ", 4096)
    curve, points = sample
    points = [*points[:1000], given.infinity(curve), -points[7], points[7]]
    data = given.file_bytes(points)
    index = [draw.random.randrange(len(points)) for _ in range(m)]
    done: list[float] = []
    got = pippenger.sum_be(curve, data, np.array(index, np.int64), progress=done.append)
    assert equal(got, given.weighted_sum(curve, [points[k] for k in index], [1] * m))
    assert done == sorted(done) and done[-1:] == [1.0] * (m > 0)
    assert equal(pippenger.sum_be(curve, data[:m]), given.weighted_sum(curve, points[:m], [1] * min(m, len(points))))


def test_sum_of_infinities_from_file_bytes(sample: tuple[str, list[Any]]) -> None:
    curve, points = sample
    data = given.file_bytes([given.infinity(curve), points[0], -points[0]])
    for index in ([0] * 9000, [0], [1, 2] * 5000, [1, 0, 2]):
        assert not pippenger.sum_be(curve, data, np.array(index)).any()


def test_sum_of_all_rows_that_cancel(sample: tuple[str, list[Any]]) -> None:
    curve, points = sample
    assert not pippenger.sum_rows(rows_of(curve, _negated_pairs(points[:5000]))).any()
    assert equal(pippenger.sum_rows(rows_of(curve, points[:5000])), given.weighted_sum(curve, points[:5000], [1] * 5000))
    assert not pippenger.sum_rows(rows_of(curve, [])).any()


@pytest.mark.parametrize("n", [1, 7, 8, 9, 5000])
def test_rows_keep_points(sample: tuple[str, list[Any]], n: int) -> None:
    curve, points = sample
    points = [given.infinity(curve), *points[: n - 1]]
    expected, data = given.containers(curve, points), given.file_bytes(points)
    for rows in (rows_from_mont(curve, expected), rows_from_be(curve, data)):
        assert len(rows) == n and list(rows.infinite) == [0]
        assert equal(rows_to_mont(curve, rows.array), expected)
        assert bytes(rows_to_be(curve, rows.array)) == bytes(data)


def test_rows_from_a_read_only_unaligned_map(sample: tuple[str, list[Any]]) -> None:
    curve, points = sample
    data = given.file_bytes([*points[:50], given.infinity(curve)])
    held = np.frombuffer(b"\1\2\3" + bytes(data), np.uint8)[3:].reshape(data.shape)
    index = np.array([50, 3, 3, 0, 49, 50])
    rows = rows_from_be(curve, held, index)
    assert list(rows.infinite) == [0, 5]
    assert equal(rows_to_mont(curve, rows.array), given.containers(curve, [*points[:50], given.infinity(curve)])[index])


@pytest.mark.parametrize(
    "call",
    [
        lambda: rows_from_be("g1", np.zeros((3, 192), np.uint8)),
        lambda: rows_from_be("g2", np.zeros((3, 96), np.uint8)),
        lambda: pippenger.sum_be("g1", np.zeros((3, 192), np.uint8)),
        lambda: rows_from_mont("g1", np.zeros((3, 24), np.uint64)),
        lambda: rows_from_mont("g1", np.zeros((3, 12), np.int64)),
        lambda: pippenger.msm(rows_from_mont("g1", np.zeros((3, 12), np.uint64)), np.zeros((2, 4), np.uint64)),
        lambda: pippenger.msm(rows_from_mont("g1", np.zeros((3, 12), np.uint64)), np.zeros((3, 6), np.uint64)),
    ],
)
def test_wrong_shapes_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(InternalError):
        call()


@pytest.mark.skipif(config.cpu_path() == "scalar", reason="this process already takes the scalar path")
def test_the_scalar_path() -> None:
    """A shorter round of these tests, and of those of fixed-base multiples, with 64-bit limbs."""
    environment = os.environ | {"CUZK_CPU": "scalar"}
    wanted = "random_points or rows_keep or cancel or pieces or nasty or multiples"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/msm/test_pippenger.py",
        "tests/msm/test_fixed_base.py",
        "-k",
        wanted,
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
