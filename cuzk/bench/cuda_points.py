"""Points and scalars whose sums are known without adding points: P_i = (i + 1) M, so that Σ a_i P_i = (Σ (i + 1) a_i) M.

M is a multiple of the generator with a large factor. Every sum is then one multiple of M, exact at any size, and its factor is
a sum of integers that the host adds up from the scalars.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cuzk import config
from cuzk.curve import g1, g2
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_LIMBS, U64
from cuzk.field.params import R
from cuzk.msm import cuda
from cuzk.msm.cuda_scratch import DevicePoints, Scratch
from cuzk.msm.fixed_base_cuda import FixedBase
from cuzk.msm.rows import point_limbs

GROUPS = {"g1": g1.GROUP, "g2": g2.GROUP}
GENERATORS = {"g1": g1.GENERATOR, "g2": g2.GENERATOR}
FACTOR = pow(5, 123, R)  # M = FACTOR · generator: no small multiples among the points
CHUNK = 1 << 18
SAMPLES = 16


def in_chunks(n: int, work: Callable[[int, int], Any]) -> list[Any]:
    """work(first, count) over pieces of CHUNK, on all cores."""
    with ThreadPoolExecutor(config.thread_count()) as pool:
        return list(pool.map(lambda first: work(first, min(CHUNK, n - first)), range(0, n, CHUNK)))


def random_scalars(n: int, seed: int, bits: int = 255) -> tuple[U64, int]:
    """Scalars below 2^bits and below r, uint64[n, 4], and the sum of (i + 1) a_i."""
    out = np.empty((n, FR_LIMBS), np.uint64)

    def fill(first: int, count: int) -> None:
        words = np.random.Generator(np.random.SFC64([seed, first])).integers(0, 1 << 64, (count, FR_LIMBS), np.uint64)
        words[:, -1] %= np.uint64(R >> 192)
        for j in range(FR_LIMBS):
            words[:, j] &= np.uint64((1 << min(64, max(0, bits - 64 * j))) - 1)
        out[first : first + count] = words

    in_chunks(n, fill)
    return out, dot_positions(out)


def dot_positions(scalars: U64) -> int:
    """The sum of (i + 1) a_i as an integer: exact in float64, since sums of a piece stay below 2^52."""
    halves = scalars.view(np.uint16).reshape(len(scalars), 16)

    def dot(first: int, count: int) -> int:
        piece = halves[first : first + count].astype(np.float64)
        inner = np.arange(1, count + 1, dtype=np.float64) @ piece
        outer = piece.sum(axis=0)
        return sum((int(inner[j]) + first * int(outer[j])) << (16 * j) for j in range(16))

    return sum(in_chunks(len(scalars), dot))


def positions(n: int) -> U64:
    """1, 2, … n as scalars."""
    out = np.zeros((n, FR_LIMBS), np.uint64)
    out[:, 0] = np.arange(1, n + 1, dtype=np.uint64)
    return out


def random_bitmap(n: int) -> tuple[Any, int, int]:
    """A packed bitmap uint32[ceil(n/32)], how many bits are set, and the sum of i + 1 over them."""
    words = np.random.Generator(np.random.SFC64(n)).integers(0, 1 << 32, -(-n // 32), np.uint32)
    if n % 32:
        words[-1] &= np.uint32((1 << (n % 32)) - 1)

    def chosen(first: int, count: int) -> int:
        bits = np.unpackbits(words[first // 32 : -(-(first + count) // 32)].view(np.uint8), bitorder="little")[:count]
        found = np.flatnonzero(bits)
        return int(found.sum()) + (first + 1) * len(found)

    return words, int(np.bitwise_count(words).sum()), sum(in_chunks(n, chosen))


def skewed_scalars(n: int, bits: int = 255) -> dict[str, tuple[U64, int]]:
    """Scalars by kind, with their sums of (i + 1) a_i: half 0 and half 1; one value 2^20 times; one value everywhere."""
    often, value = min(n, 1 << 20), pow(7, 99, R) % (1 << bits)
    limbs = np.frombuffer(value.to_bytes(8 * FR_LIMBS, "little"), np.uint64)
    ones = np.zeros((n, FR_LIMBS), np.uint64)
    ones[0::2, 0] = 1  # positions 1, 3, 5, …
    mixed, total = random_scalars(n, 9, bits)
    head = dot_positions(np.ascontiguousarray(mixed[:often]))
    mixed[:often] = limbs
    return {
        "half 0, half 1": (ones, ((n + 1) // 2) ** 2),
        "one value often": (mixed, total - head + value * (often * (often + 1) // 2)),
        "one value everywhere": (np.tile(limbs, (n, 1)), value * (n * (n + 1) // 2)),
    }


def multiple(curve: str, factor: int) -> U64:
    """factor · M."""
    point: U64 = GROUPS[curve].mul(GENERATORS[curve], factor * FACTOR % R)
    return point


def known_points(scratch: Scratch, curve: str, n: int) -> DevicePoints:
    """P_i for i < n on a card, some of them compared with the CPU's; a toy's are made on the host. The scratch is left free.

    Raises  InternalError if one is wrong
    """
    card = scratch.card
    if config.cuda_simulated():
        return cuda.upload(card, curve, GROUPS[curve].mul_each(np.tile(multiple(curve, 1), (n, 1)), range(1, n + 1)))
    base = FixedBase(scratch, curve, multiple(curve, 1), n)
    made = DevicePoints(curve, card.buffer(n * point_limbs(curve) * 8), n)
    try:
        with card.upload(positions(n)) as scalars:
            base.multiples_into(made, scalars.address, n)
            scratch.synchronize()
        draw = np.random.Generator(np.random.SFC64(n))
        for i in {0, 1, 2, n // 2, n - 2, n - 1, *draw.integers(0, n, SAMPLES - 6).tolist()}:
            if 0 <= i < n and not np.array_equal(made.part(i, 1).read()[0], multiple(curve, i + 1)):
                raise InternalError(f"{curve} multiple {i + 1} of {n} is wrong", phase="bench")
    except BaseException:
        made.buffer.free()
        raise
    finally:
        base.free()
        scratch.free()
    return made
