"""Running sums within a block of threads, the building block of scans on CUDA."""

from __future__ import annotations

from typing import Any

from cuzk.cuda.warp import barrier
from cuzk.cuda.words import uint32
from cuzk.jit import cuda_shared


def running_sum(threads: int) -> Any:
    """`scan(held, base, thread, value)`: the sum of the values of this and all earlier threads of a block.

    All threads take part; the results are in held[base], held[base + 1], … until the next barrier. Source: Hillis, Steele, "Data
    parallel algorithms", CACM 29 (1986).
    """

    @cuda_shared
    def scan(held, base, thread, value):
        held[uint32(base + thread)] = value
        barrier()
        gap = uint32(1)
        while gap < uint32(threads):
            if thread >= gap:
                value = uint32(value + held[uint32(uint32(base + thread) - gap)])
            barrier()
            held[uint32(base + thread)] = value
            barrier()
            gap = uint32(gap << uint32(1))
        return value

    return scan
