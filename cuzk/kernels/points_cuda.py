"""Points in memory on CUDA, a coordinate's element of Fp a thread: from file bytes, reduced, cleared; CPU twin `points_cpu`."""

from __future__ import annotations

from typing import Any

from numba import cuda

from cuzk import config
from cuzk.cuda.constants import constants
from cuzk.cuda.inline import split
from cuzk.cuda.words import uint32, uint64
from cuzk.field import fp_cuda as fp
from cuzk.field.coordinates_cuda import FIELDS, ZERO, Coordinates
from cuzk.field.limbs import FP_RADIX
from cuzk.field.params import P
from cuzk.jit import cuda_kernel, cuda_shared

THREADS = 4 if config.cuda_simulated() else 256
_R2 = constants(split(FP_RADIX**2 % P, fp.LIMBS))
_WITHOUT_FLAGS = 0x1FFFFFFF  # the three highest bits of a point's first byte are flags


@cuda_kernel(threads=THREADS)
def clear_points(elements, n):
    """Set elements to 0. Shape uint32[n, 12]."""
    i = uint32(cuda.grid(1))
    if i < uint32(n):
        fp.store(uint64(elements + uint64(i) * uint64(fp.BYTES)), ZERO)


@cuda_kernel(threads=THREADS)
def reduce_points(elements, n):
    """Elements below 4 p to below p, in place. Shape uint32[n, 12]."""
    i = uint32(cuda.grid(1))
    if i < uint32(n):
        at = uint64(elements + uint64(i) * uint64(fp.BYTES))
        fp.store(at, fp.reduce(fp.load(at)))


@cuda_shared
def _swapped(word):
    """The bytes of a word in the other order."""
    ends = uint32(uint32(word << uint32(24)) | uint32(word >> uint32(24)))
    return uint32(ends | uint32(uint32(word & uint32(0xFF00)) << uint32(8)) | uint32(uint32(word >> uint32(8)) & uint32(0xFF00)))


@cuda_shared
def _from_big_endian(a, mask):
    return (
        _swapped(a[11]),
        _swapped(a[10]),
        _swapped(a[9]),
        _swapped(a[8]),
        _swapped(a[7]),
        _swapped(a[6]),
        _swapped(a[5]),
        _swapped(a[4]),
        _swapped(a[3]),
        _swapped(a[2]),
        _swapped(a[1]),
        uint32(_swapped(a[0]) & mask),
    )


def _from_bytes(curve: str, field: Coordinates) -> Any:
    parts = field.parts

    @cuda_kernel(threads=THREADS, variant=curve)
    def from_bytes(out, be_bytes, elements):
        """Elements of points in Montgomery form from uncompressed big-endian bytes: x, y (G2: x.c1, x.c0, y.c1, y.c0).

        Shape   out uint32[elements, 12], x before y, c0 before c1; be_bytes uint8[elements, 48]; not in place
        Range   canonical coordinates; the flag bits of the first byte are ignored (infinity: all other bits zero)
        Cost    1 M an element; reads and writes 48 bytes
        """
        i = uint32(cuda.grid(1))
        if i < uint32(elements):
            mask = uint32(0xFFFFFFFF)
            if uint32(i & uint32(2 * parts - 1)) == uint32(0):
                mask = uint32(_WITHOUT_FLAGS)
            value = _from_big_endian(fp.load(uint64(be_bytes + uint64(i) * uint64(fp.BYTES))), mask)
            place = uint32(i ^ uint32(parts - 1))
            fp.store(uint64(out + uint64(place) * uint64(fp.BYTES)), fp.mul(value, _R2))

    return from_bytes


from_bytes: dict[str, Any] = {curve: _from_bytes(curve, field) for curve, field in FIELDS.items()}
