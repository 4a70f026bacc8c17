"""Medians, quartiles, bootstrap intervals and verdicts against known values and simulated runs."""

from __future__ import annotations

import math
import random
from statistics import NormalDist, median

import numpy as np
import pytest

from cuzk import statistics
from cuzk.statistics import POWER, bootstrap_median, compare, expanded_tail, interleave, orders, rounds_needed, summary


def test_summary_of_known_values() -> None:
    s = summary([4.0, 1.0, 3.0, 2.0, 5.0])
    assert (s.median, s.min, s.max, s.n, s.spread) == (3.0, 1.0, 5.0, 5, 2.0)
    assert summary([1.0, 2.0, 3.0, 4.0]).spread == 1.5
    assert (summary([2.0]).median, summary([2.0]).spread) == (2.0, 0.0)


def test_orders_turn_round() -> None:
    assert list(orders(2, 4)) == [[0, 1], [1, 0], [0, 1], [1, 0]]
    assert list(orders(3, 2)) == [[0, 1, 2], [2, 1, 0]]
    ran: list[str] = []
    times = interleave(["a", "b"], lambda name: float(len(ran)) if ran.append(name) is None else 0.0, 2)
    assert ran == ["a", "b", "b", "a"]
    assert times == {"a": [1.0, 4.0], "b": [2.0, 3.0]}  # a steady drift favours neither: the sums are equal


@pytest.mark.parametrize(
    ("n", "t"),  # quantiles 0.975 of Student's distribution with n − 1 degrees of freedom, from printed tables
    [(6, 2.571), (10, 2.262), (21, 2.086), (31, 2.042)],
)
def test_tails_are_those_of_student(n: int, t: float) -> None:
    reached = -NormalDist().inv_cdf(expanded_tail(n)) / (n / (n - 1)) ** 0.5
    assert reached == pytest.approx(t, abs=0.03)


def test_bootstrap_is_repeatable_and_holds_the_median() -> None:
    values = [random.Random(1).gauss(0, 1) for _ in range(15)]
    low, high = bootstrap_median(values)
    assert (low, high) == bootstrap_median(values)
    assert min(values) <= low <= median(values) <= high <= max(values)
    assert bootstrap_median([3.0] * 8) == (3.0, 3.0)


def test_bootstrap_interval_of_a_large_sample_is_that_of_the_theory() -> None:
    rng = random.Random(7)
    values = [rng.gauss(0, 1) for _ in range(400)]
    low, high = bootstrap_median(values, resamples=1000)
    # 1.96 σ √(π/2 / n) on either side
    assert (high - low) / 2 == pytest.approx(1.96 * (3.14159 / 2 / 400) ** 0.5, rel=0.3)


def _runs(rng: random.Random, mean: float, n: int) -> list[float]:
    return [rng.gauss(mean, 0.02) for _ in range(n)]


@pytest.mark.parametrize("n", [6, 12])
def test_equal_settings_are_told_apart_seldom(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "RESAMPLES", 2000)
    rng = random.Random(11)
    told = sum(compare("x", _runs(rng, 1, n), "base", _runs(rng, 1, n)).verdict != "not told apart" for _ in range(120))
    assert told <= 12  # 5 % wanted: over 10 % has a chance below 1 in 100


def test_clear_differences_are_told() -> None:
    rng = random.Random(12)
    base = _runs(rng, 1, 10)
    slower = compare("x", [t + 0.1 + rng.gauss(0, 0.01) for t in base], "base", base)
    assert slower.verdict == "slower" and slower.low > 0 and slower.needed is None
    assert slower.percent == pytest.approx(10, abs=1.5)
    assert "slower than base by" in slower.words and "N = 10" in slower.words
    faster = compare("x", [t - 0.1 for t in base], "base", base)
    assert faster.verdict == "faster" and faster.high < 0


def test_what_the_rounds_have_in_common_does_not_count() -> None:
    drift = [1 + 0.1 * k for k in range(12)]
    told = compare("x", [t - 0.01 - 0.0001 * k for k, t in enumerate(drift)], "base", drift)
    assert told.verdict == "faster"


def test_not_told_apart_says_how_many_rounds_would() -> None:
    rng = random.Random(13)
    base = _runs(rng, 1, 10)
    found = compare("x", _runs(rng, 1.002, 10), "base", base)
    assert found.verdict == "not told apart"
    assert "not told apart from base at N = 10; needs about" in found.words
    assert found.needed is not None and found.needed > 10
    assert found.low < 0 < found.high


def test_too_few_rounds_are_not_told_apart_whatever_they_show() -> None:
    found = compare("x", [2.0] * 5, "base", [1.0] * 5)
    assert (found.verdict, found.needed) == ("not told apart", 6)
    assert "N = 5; needs at least 6" in found.words


def test_rounds_needed_are_those_of_the_formula() -> None:
    differences = [k / 100 for k in range(-100, 101)]  # quartiles −0.5 and 0.5: as a normal scatter of σ = 1 / 1.349
    # (1.960 + 0.842)² π/2 (0.7413 / 0.25)² is 108.4; Student's quantiles add 2.5 rounds, 201 rounds that know their scatter 1 %
    assert rounds_needed(differences, 0.25, (0.0, 0.0)) == pytest.approx(112, abs=2)
    assert rounds_needed([*differences, 1000.0], 0.25, (0.0, 0.0)) == pytest.approx(113, abs=4)  # one disturbed round
    assert rounds_needed(differences, 0, (0.0, 0.0)) == 10**9
    assert rounds_needed([0.0, 0.0], 1.0, (0.0, 0.0)) == statistics.FEWEST


def test_rounds_needed_heed_the_interval_beside_them() -> None:
    quiet = [0.0, 0.0, 0.0, 0.3, 0.3, 0.3, 0.3, 0.3]
    narrow, wide = (rounds_needed(quiet, 0.3, i) for i in ((0.25, 0.35), (-0.15, 0.7)))
    assert narrow < wide
    # An interval three times as wide as its distance from 0 allows needs about nine times the rounds.
    assert rounds_needed(quiet, 0.3, (-2.7, 3.3)) == pytest.approx(9 * rounds_needed(quiet, 0.3, (-0.7, 1.3)), rel=0.15)


def _scatter(kind: str, rng: np.random.Generator, n: int) -> np.ndarray:
    noise = rng.normal(0, 1, n)
    return np.where(rng.random(n) < 0.1, 8 * noise, noise) if kind == "disturbed" else noise


def _is_told(differences: np.ndarray, rng: np.random.Generator) -> tuple[bool, tuple[float, float]]:
    """As `compare`, the bootstrap by NumPy."""
    n, resamples = len(differences), 300
    medians = np.sort(np.median(differences[rng.integers(0, n, (resamples, n))], axis=1))
    tail = expanded_tail(n)
    low, high = medians[math.floor(tail * (resamples - 1))], medians[math.ceil((1 - tail) * (resamples - 1))]
    return bool(low > 0 or high < 0), (float(low), float(high))


@pytest.mark.parametrize("kind", ["normal", "disturbed"])
@pytest.mark.parametrize("n", [6, 8, 12, 20])
def test_the_rounds_named_tell_four_times_out_of_five(kind: str, n: int) -> None:
    """Runs that were not told apart name N; runs of N rounds, with the difference that they showed, are told apart."""
    rng = np.random.default_rng(14 + n)
    told = tried = 0
    while tried < 250:
        seen = rng.choice([0.0, 0.4, 0.8]) + _scatter(kind, rng, n)
        apart, interval = _is_told(seen, rng)
        effect = float(np.median(seen))
        if apart or (wanted := max(n + 1, rounds_needed(seen.tolist(), effect, interval))) > 1000:
            continue
        tried += 1
        told += _is_told(effect + _scatter(kind, rng, wanted), rng)[0]
    assert told / tried >= POWER - 0.06  # two and a half standard deviations of 250 tries
    assert told / tried <= 0.97  # and not by naming far more rounds than that takes
