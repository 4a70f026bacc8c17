"""Comparing settings by their times: interleaved rounds, medians, bootstrap intervals, and a verdict in words.

In each round every setting runs once; the order turns round from one round to the next (A B, B A, …), so that a machine that
slows down or speeds up steadily favours nobody. What is compared is the difference *within* a round, which what a round has in
common cannot touch: the median of these differences, and an interval for it by resampling rounds.

Source  Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13 (percentile intervals); Hesterberg, What
        Teachers Should Know About the Bootstrap, The American Statistician 69 (2015), section 5.3 (wider for few values).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median, quantiles
from typing import Any

CONFIDENCE = 0.95
POWER = 0.8
RESAMPLES = 2000
# What the differences are, for whoever lays them beside the medians.
PAIRED = "differences are medians of the differences within rounds, not differences of the medians"
# With fewer rounds the interval for a median means nothing: among five differences all of one sign is luck one time in sixteen.
FEWEST = 6


@dataclass(frozen=True, slots=True)
class Summary:
    """Times of one setting in seconds; `spread` is the distance of the quartiles."""

    median: float
    min: float
    max: float
    n: int
    spread: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"median": self.median, "min": self.min, "max": self.max, "n": self.n, "spread": self.spread}


def summary(seconds: Sequence[float]) -> Summary:
    """Median, extremes and quartile distance."""
    spread = 0.0
    if len(seconds) > 1:
        low, _, high = quantiles(seconds, n=4, method="inclusive")
        spread = high - low
    return Summary(median(seconds), min(seconds), max(seconds), len(seconds), spread)


def orders(count: int, rounds: int) -> Iterator[list[int]]:
    """The order of the settings 0 … count − 1 in each round: forwards, backwards, forwards, …"""
    for k in range(rounds):
        yield list(range(count)) if k % 2 == 0 else list(reversed(range(count)))


def expanded_tail(n: int, confidence: float = CONFIDENCE) -> float:
    """The percentile to read a bootstrap of n values at: Φ(−√(n/(n−1)) t), t the quantile of Student's distribution."""
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * student((1 + confidence) / 2, n - 1))


def student(probability: float, degrees: int) -> float:
    """A quantile of Student's distribution, by Fisher's expansion in 1/degrees."""
    z = NormalDist().inv_cdf(probability)
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)


def bootstrap_median(
    values: Sequence[float], confidence: float = CONFIDENCE, resamples: int = RESAMPLES, seed: int = 1
) -> tuple[float, float]:
    """An interval for the median of what the values were drawn from: percentiles of the medians of resamples. Repeatable."""
    rng = random.Random(seed)
    n = len(values)
    medians = sorted(median(rng.choices(values, k=n)) for _ in range(resamples))
    tail = expanded_tail(n, confidence)
    return medians[math.floor(tail * (resamples - 1))], medians[math.ceil((1 - tail) * (resamples - 1))]


def rounds_needed(differences: Sequence[float], effect: float, interval: tuple[float, float]) -> int:
    """About how many rounds would tell a difference of `effect` from none, with the power promised, from the n rounds seen.

    N is told if the median lies t_N standard errors from 0, which an effect of (t_N + t_power) of them does often enough; a
    standard error falls with 1/√N. That of n rounds is the larger of two estimates: by the quartiles of the differences, which
    single disturbed rounds do not move (σ √(π/2 / n), where π/2 is what the median costs against the mean for normal scatter),
    and by half the width of the interval shown beside it, which is t_n of them. Few rounds know their own scatter badly: it
    counts (n + 1)/(n − 1) times.
    """
    if effect == 0:
        return 10**9
    n, half = len(differences), (1 + CONFIDENCE) / 2
    sigma = summary(differences).spread / (2 * NormalDist().inv_cdf(0.75))
    error = max(sigma * math.sqrt(math.pi / 2 / n), (interval[1] - interval[0]) / 2 / student(half, n - 1))
    variance = n * error**2 * (n + 1) / (n - 1)
    wanted = FEWEST
    for _ in range(50):  # t depends on what is wanted; it settles after a few steps
        wanted = math.ceil(variance * ((student(half, wanted - 1) + student(POWER, wanted - 1)) / effect) ** 2)
        wanted = max(FEWEST, min(wanted, 10**9))
    return wanted


@dataclass(frozen=True, slots=True)
class Comparison:
    """One setting against the base: the median difference within a round in seconds (negative: faster), and its interval."""

    difference: float
    low: float
    high: float
    percent: float  # of the base's median
    verdict: str  # faster, slower, or not told apart
    words: str
    needed: int | None  # rounds that would tell a difference of this size, where it was not told

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "seconds": self.difference,
            "low": self.low,
            "high": self.high,
            "confidence": CONFIDENCE,
            "percent": self.percent,
            "verdict": self.verdict,
            "needed": self.needed,
        }


def compare(name: str, seconds: Sequence[float], base_name: str, base: Sequence[float]) -> Comparison:
    """A setting against the base; entries with one index are of one round.

    Told apart where the interval leaves out 0, and there are at least `FEWEST` rounds.
    """
    n = len(base)
    assert n == len(seconds) and n > 0
    differences = [x - y for x, y in zip(seconds, base, strict=True)]
    middle, whole = median(differences), median(base)
    percent = 100 * middle / whole
    if n < FEWEST:
        words = f"{name}: not told apart from {base_name} at N = {n}; needs at least {FEWEST}"
        return Comparison(middle, min(differences), max(differences), percent, "not told apart", words, FEWEST)
    low, high = bootstrap_median(differences)
    interval = f"95 % interval {100 * low / whole:+.1f} … {100 * high / whole:+.1f} %"
    if low > 0 or high < 0:
        verdict = "slower" if low > 0 else "faster"
        words = f"{name}: {verdict} than {base_name} by {abs(percent):.1f} % ({interval}, N = {n})"
        return Comparison(middle, low, high, percent, verdict, words, None)
    needed = max(n + 1, rounds_needed(differences, middle, (low, high)))
    about = f"about {_rounded(needed)}" if needed < 10**6 else "over a million"
    words = (
        f"{name}: not told apart from {base_name} at N = {n}; needs {about} if the difference is {percent:+.2f} % ({interval})"
    )
    return Comparison(middle, low, high, percent, "not told apart", words, needed)


def _rounded(n: int) -> int:
    """Two digits: it is an estimate."""
    step = 10 ** max(0, len(str(n)) - 2)
    return -(-n // step) * step


def interleave(names: Sequence[str], run: Callable[[str], float], rounds: int) -> dict[str, list[float]]:
    """Run every setting once a round, in turning order, and return the times of each by round."""
    times: dict[str, list[float]] = {name: [] for name in names}
    for order in orders(len(names), rounds):
        for i in order:
            times[names[i]].append(run(names[i]))
    return times
