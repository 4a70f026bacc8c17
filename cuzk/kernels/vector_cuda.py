"""Element-wise kernels on words."""

from __future__ import annotations

from numba import cuda

from cuzk.cuda import memory
from cuzk.cuda.words import uint32, uint64
from cuzk.jit import cuda_kernel

_load, _add = memory.load(4), memory.atomic_add


@cuda_kernel(threads=256)
def count_differences(out, a, b, count):
    """out[0] += how many of `count` pieces of 16 bytes differ between a and b. Shape out uint32[1]. Cost 32 bytes a piece."""
    i = uint64(uint64(uint64(cuda.blockIdx.x) * uint64(256)) + uint64(cuda.threadIdx.x))
    if i >= count:
        return
    x, y = _load(uint64(a + uint64(i << uint64(4)))), _load(uint64(b + uint64(i << uint64(4))))
    if (x[0] != y[0]) | (x[1] != y[1]) | (x[2] != y[2]) | (x[3] != y[3]):
        _add(out, uint32(1))
