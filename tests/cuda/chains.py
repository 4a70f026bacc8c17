"""What the kernels of `rates_cuda` compute, on integers."""

from __future__ import annotations


def chained(a: int, b: int, rounds: int, p: int) -> tuple[int, int]:
    """The two elements that a thread leaves from the two that it found."""
    c, d = b, a
    for _ in range(rounds):
        a, c = a * b % p, c * d % p
        b, d = b * a % p, d * c % p
    return a * c % p, b * d % p
