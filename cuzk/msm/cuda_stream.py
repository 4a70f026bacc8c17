"""Points that stay in host memory and pass through a card piece by piece, the next piece on its way while one is summed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cuzk.errors import InternalError
from cuzk.field.limbs import U64
from cuzk.msm.cuda import GROUPS, Msm, Selection
from cuzk.msm.cuda_plan import chunked
from cuzk.msm.cuda_scratch import DevicePoints, Scratch
from cuzk.msm.rows import point_limbs


def pieces(scratch: Scratch, curve: str, points_mont: U64, size: int) -> Iterator[tuple[int, DevicePoints]]:
    """Pieces of `size` points, each with its first point's number; a piece is dead when the next is asked for, and what uses it
    must be done by then.

    Shape   points_mont uint64[n, 12 or 24], best in page-locked memory (`card.pinned`); `sizes` bytes of scratch
    """
    card, n, width = scratch.card, len(points_mont), point_limbs(curve)
    if points_mont.shape != (n, width) or points_mont.dtype != np.uint64:
        raise InternalError("points of a wrong shape", expected=f"uint64[n, {width}]", got=str(points_mont.shape))
    buffers = [scratch.buffer(name, length) for name, length in sizes(curve, n, size).items()]
    stream = card.stream()
    try:
        for k, first in enumerate(range(0, n, size)):
            if not k:
                buffers[0].write(points_mont[:size], stream=stream)
            stream.synchronize()
            after = points_mont[first + size : first + 2 * size]
            if len(after):
                buffers[(k + 1) % 2].write(after, stream=stream)
            yield first, DevicePoints(curve, buffers[k % 2], min(size, n - first))
    finally:
        stream.synchronize()


def sizes(curve: str, n: int, size: int) -> dict[str, int]:
    """Bytes of scratch by name for `pieces`: two pieces, or one where that is all."""
    length = 8 * point_limbs(curve) * min(size, n)
    return {f"piece {k}": length for k in range(2 if n > size else 1)}


def msm_streamed(scratch: Scratch, curve: str, points_mont: U64, scalars: int, memory: int) -> U64:
    """Sum of s_i P_i with the points in host memory and the scalars on the card, in at most `memory` bytes of device memory.

    Shape   points_mont uint64[n, 12 or 24]; scalars: address of uint32[n, 8], canonical; result as `cuda.Msm.run`
    """
    card, n = scratch.card, len(points_mont)
    total = np.zeros(point_limbs(curve), np.uint64)
    if n:
        cut = chunked(curve, n, memory, card.multiprocessors, per_point=16 * point_limbs(curve))
        job = Msm(scratch, cut)
        for first, part in pieces(scratch, curve, points_mont, cut.n):
            total = GROUPS[curve].add(total, job.run(part, scalars + 32 * first))
    return total


def sum_selected_streamed(scratch: Scratch, curve: str, points_mont: U64, bits: int, memory: int) -> U64:
    """Sum of the points whose bit is set, with the points in host memory and the bits on the card; see `cuda.Selection.run`."""
    n = len(points_mont)
    total = np.zeros(point_limbs(curve), np.uint64)
    if n:
        size = max(1 << 10, memory // (16 * point_limbs(curve) + 8 * point_limbs(curve) // 2 + 4) // 32 * 32)
        job = Selection(scratch, curve)
        for first, part in pieces(scratch, curve, points_mont, size):
            total = GROUPS[curve].add(total, job.run(part, bits + first // 8, part.count))
    return total
