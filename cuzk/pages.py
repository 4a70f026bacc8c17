"""Large arrays in huge pages: random access to rows would otherwise wait for address translation."""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

_PAGE = 2 << 20


def zeros(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.uint64) -> npt.NDArray[Any]:
    """A zeroed array, in 2 MiB pages where the system gives them (small arrays and other systems: as NumPy does).

    Pages are touched by their first writer. Python's anonymous `mmap` is shared by default, which gets no huge pages.

    Raises  MemoryError where the system has no room
    """
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    length = size * np.dtype(dtype).itemsize
    if length < _PAGE or not hasattr(mmap, "MADV_HUGEPAGE"):
        return np.zeros(shape, dtype)
    try:
        region = mmap.mmap(-1, length + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no room for an array of {length} bytes: {error.strerror}") from error
    region.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(region, np.uint8)
    start = -whole.ctypes.data % _PAGE
    return whole[start : start + length].view(dtype).reshape(shape)
