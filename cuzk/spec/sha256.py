"""SHA-256 on plain integers, word by word.

Source  FIPS 180-4, sections 4.1.2, 4.2.2, 5.1.1, 5.3.3, 6.2.2
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt

MASK = (1 << 32) - 1


def first_primes(count: int) -> list[int]:
    """2, 3, 5, .."""
    primes: list[int] = []
    n = 2
    while len(primes) < count:
        if all(n % q for q in primes):
            primes.append(n)
        n += 1
    return primes


def cube_root(n: int) -> int:
    """The largest integer whose cube is at most n."""
    low, high = 0, 1 << (n.bit_length() // 3 + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= n else (low, middle)
    return low


# The first 32 bits of the fractional parts of the cube roots of the first 64 primes ..
K = [cube_root(q << 96) & MASK for q in first_primes(64)]
# .. and of the square roots of the first 8.
IV = [isqrt(q << 64) & MASK for q in first_primes(8)]


def rotr(x: int, n: int) -> int:
    """Rotate a 32-bit word right."""
    return (x >> n | x << (32 - n)) & MASK


def schedule(block: bytes) -> list[int]:
    """The 64 words W of a 64-byte block."""
    w = [int.from_bytes(block[i : i + 4], "big") for i in range(0, 64, 4)]
    for t in range(16, 64):
        s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3
        s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10
        w.append((w[t - 16] + s0 + w[t - 7] + s1) & MASK)
    return w


def compress(state: Sequence[int], block: bytes) -> list[int]:
    """The next chaining value of eight words, from the present one and a 64-byte block."""
    a, b, c, d, e, f, g, h = state
    for k, w in zip(K, schedule(block), strict=True):
        ch = (e & f) ^ (~e & g)
        maj = (a & b) ^ (a & c) ^ (b & c)
        t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ch + k + w
        t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + maj
        a, b, c, d, e, f, g, h = (t1 + t2) & MASK, a, b, c, (d + t1) & MASK, e, f, g
    return [(x + y) & MASK for x, y in zip(state, (a, b, c, d, e, f, g, h), strict=True)]


def pad(message: bytes) -> bytes:
    """The message, a one bit, zeros to 56 bytes modulo 64, and the bit length in 64 bits."""
    zeros = (55 - len(message)) % 64
    return message + b"\x80" + bytes(zeros) + (8 * len(message)).to_bytes(8, "big")


def sha256(message: bytes) -> bytes:
    """The 32-byte digest."""
    state, padded = IV, pad(message)
    for i in range(0, len(padded), 64):
        state = compress(state, padded[i : i + 64])
    return b"".join(word.to_bytes(4, "big") for word in state)
