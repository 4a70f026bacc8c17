"""The interface of `cuda.driver` over host memory and Numba's CUDA simulator, for running kernels line by line without a card."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cuzk.cuda.memory import ranges
from cuzk.errors import ResourceError
from cuzk.jit import cuda_simulation

if TYPE_CHECKING:
    from cuzk.cuda.compiler import Kernel

Array = npt.NDArray[Any]
MEMORY = 1 << 30
_ALIGNMENT = 256
# The simulator swaps the globals of a kernel's module while it runs.
_launching = threading.Lock()


class Card:
    """A card of host memory."""

    name = "simulator"
    uuid = "0" * 32
    capability = (9, 0)
    multiprocessors = 2
    total_memory = MEMORY

    def __init__(self, ordinal: int = 0) -> None:
        self.ordinal = ordinal
        self.used = self.bytes_in = self.bytes_out = 0
        self._jitted: dict[str, Any] = {}

    def free_memory(self) -> int:
        return MEMORY - self.used

    def synchronize(self) -> None:
        pass

    def buffer(self, size: int) -> Buffer:
        return Buffer(self, size)

    def upload(self, array: Array, stream: Stream | None = None) -> Buffer:
        buffer = Buffer(self, max(array.nbytes, 1))
        try:
            buffer.write(array)
        except BaseException:
            buffer.free()
            raise
        return buffer

    def write_at(self, address: int, array: Array, stream: Stream | None = None) -> None:
        array = np.ascontiguousarray(array)
        ranges.check(address, array.nbytes)
        ctypes.memmove(address, array.ctypes.data, array.nbytes)
        self.bytes_in += array.nbytes

    def read_at(self, address: int, array: Array, stream: Stream | None = None) -> None:
        assert array.flags.c_contiguous and array.flags.writeable
        ranges.check(address, array.nbytes)
        ctypes.memmove(array.ctypes.data, address, array.nbytes)
        self.bytes_out += array.nbytes

    def pinned(self, shape: Sequence[int], dtype: Any) -> Array:
        return np.empty(shape, dtype)

    def stream(self) -> Stream:
        return Stream(self)

    def event(self) -> Event:
        return Event(self)

    def resources(self, kernel: Kernel) -> dict[str, int]:
        return {"registers": 0, "local": 0}

    def launch(
        self, kernel: Kernel, blocks: int | tuple[int, int], arguments: Sequence[int], stream: Stream | None, threads: int = 0
    ) -> None:
        x, y = (blocks, 1) if isinstance(blocks, int) else blocks
        if x == 0 or y == 0:
            return
        assert threads <= kernel.threads
        assert len(arguments) == kernel.arguments, f"{kernel.name} takes {kernel.arguments} arguments"
        if kernel.key not in self._jitted:
            self._jitted[kernel.key] = cuda_simulation(kernel.function)
        with _launching:
            try:
                started = self._jitted[kernel.key][(x, y), threads or kernel.threads, 0, kernel.dynamic_shared]
                started(*(int(a) for a in arguments))
            finally:
                ranges.end_launch()


class Buffer:
    """Host memory that kernels may touch, poisoned at first."""

    def __init__(self, card: Card, size: int) -> None:
        self.card, self.size = card, size
        if size > card.free_memory():
            raise ResourceError("the card is out of memory", expected=f"{size} bytes", got=f"{card.free_memory()} bytes free")
        raw = np.full(size + _ALIGNMENT, 0xA5, np.uint8)
        start = -raw.ctypes.data % _ALIGNMENT
        self._bytes = raw[start : start + size]
        self.address = int(self._bytes.ctypes.data)
        self._freed = False
        card.used += size
        ranges.allow(self.address, size)

    def free(self) -> None:
        if not self._freed:
            self._freed = True
            self.card.used -= self.size
            ranges.forbid(self.address)

    def __del__(self) -> None:
        if hasattr(self, "_freed") and ranges is not None:  # at exit modules are gone
            self.free()

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def write(self, array: Array, offset: int = 0, stream: Stream | None = None) -> None:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        assert offset >= 0 and offset + flat.size <= self.size
        self._bytes[offset : offset + flat.size] = flat
        self.card.bytes_in += flat.size

    def read_into(self, array: Array, offset: int = 0, stream: Stream | None = None) -> None:
        assert array.flags.c_contiguous and offset >= 0 and offset + array.nbytes <= self.size
        array.reshape(-1).view(np.uint8)[:] = self._bytes[offset : offset + array.nbytes]
        self.card.bytes_out += array.nbytes

    def read(self, shape: int | Sequence[int], dtype: Any, offset: int = 0) -> Array:
        array: Array = np.empty(shape, dtype)
        self.read_into(array, offset)
        return array

    def copy_from(self, other: Buffer, size: int, *, offset: int = 0, start: int = 0, stream: Stream | None = None) -> None:
        assert start >= 0 and start + size <= other.size and offset >= 0 and offset + size <= self.size
        self._bytes[offset : offset + size] = other._bytes[start : start + size]

    def fill(self, byte: int, size: int | None = None, offset: int = 0, stream: Stream | None = None) -> None:
        size = self.size - offset if size is None else size
        assert offset >= 0 and offset + size <= self.size
        self._bytes[offset : offset + size] = byte


class Stream:
    """Work is done when it is asked for."""

    handle = None

    def __init__(self, card: Card) -> None:
        self.card = card

    def synchronize(self) -> None:
        pass

    def wait(self, event: Event) -> None:
        pass


class Event:
    """A host time."""

    def __init__(self, card: Card) -> None:
        self._time = 0.0

    def record(self, stream: Stream | None = None) -> Event:
        self._time = time.perf_counter()
        return self

    def synchronize(self) -> None:
        pass

    def milliseconds_since(self, earlier: Event) -> float:
        return 1000 * (self._time - earlier._time)
