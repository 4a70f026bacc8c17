"""The CUDA driver through its C interface: cards, memory, streams, events, launches. No toolkit and no other package is needed.

One `Card` is one device with its primary context, which is made current in whatever thread uses it. Memory comes from plain
allocations, so that what a run needs can be counted. Every call is checked: a failure raises, and nothing after it runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cuzk.errors import CuzkError, DeviceError, ResourceError
from cuzk.sizes import size_text

if TYPE_CHECKING:
    from cuzk.cuda.compiler import Kernel

Array = npt.NDArray[Any]
# The compiler wheels make code that needs a driver of this version: 1000 major + 10 minor.
NEEDED_DRIVER = 13000
LIBRARY = "libcuda.so.1"

_INT, _PTR, _U64, _SIZE, _UINT = ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint
_OUT = ctypes.c_void_p  # the address of a result
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (_UINT,),
    "cuDriverGetVersion": (_OUT,),
    "cuDeviceGetCount": (_OUT,),
    "cuDeviceGet": (_OUT, _INT),
    "cuDeviceGetName": (_PTR, _INT, _INT),
    "cuDeviceGetUuid_v2": (_OUT, _INT),
    "cuDeviceTotalMem_v2": (_OUT, _INT),
    "cuDeviceGetAttribute": (_OUT, _INT, _INT),
    "cuDevicePrimaryCtxRetain": (_OUT, _INT),
    "cuCtxSetCurrent": (_PTR,),
    "cuCtxSynchronize": (),
    "cuMemGetInfo_v2": (_OUT, _OUT),
    "cuMemAlloc_v2": (_OUT, _SIZE),
    "cuMemFree_v2": (_U64,),
    "cuMemHostAlloc": (_OUT, _SIZE, _UINT),
    "cuMemFreeHost": (_PTR,),
    "cuMemcpyHtoDAsync_v2": (_U64, _PTR, _SIZE, _PTR),
    "cuMemcpyDtoHAsync_v2": (_PTR, _U64, _SIZE, _PTR),
    "cuMemcpyDtoDAsync_v2": (_U64, _U64, _SIZE, _PTR),
    "cuMemsetD8Async": (_U64, ctypes.c_ubyte, _SIZE, _PTR),
    "cuStreamCreate": (_OUT, _UINT),
    "cuStreamSynchronize": (_PTR,),
    "cuStreamWaitEvent": (_PTR, _PTR, _UINT),
    "cuStreamDestroy_v2": (_PTR,),
    "cuEventCreate": (_OUT, _UINT),
    "cuEventRecord": (_PTR, _PTR),
    "cuEventSynchronize": (_PTR,),
    "cuEventElapsedTime": (_OUT, _PTR, _PTR),
    "cuEventDestroy_v2": (_PTR,),
    "cuModuleLoadData": (_OUT, _PTR),
    "cuModuleGetFunction": (_OUT, _PTR, ctypes.c_char_p),
    "cuFuncGetAttribute": (_OUT, _INT, _PTR),
    "cuFuncSetAttribute": (_PTR, _INT, _INT),
    "cuLaunchKernel": (_PTR, _UINT, _UINT, _UINT, _UINT, _UINT, _UINT, _UINT, _PTR, _PTR, _PTR),
    "cuGetErrorName": (_INT, _OUT),
    "cuGetErrorString": (_INT, _OUT),
}
_OUT_OF_MEMORY, _NO_DEVICE = 2, 100
_CAPABILITY_MAJOR, _CAPABILITY_MINOR, _MULTIPROCESSORS = 75, 76, 16
_LOCAL_BYTES, _REGISTERS, _DYNAMIC_SHARED = 3, 4, 8
_PORTABLE, _NON_BLOCKING = 1, 1


class NoDriver(DeviceError):
    """There is no driver at all."""


class Driver:
    """The driver library with checked calls."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._call("cuInit", 0)

    def _result(self, name: str, *arguments: Any) -> int:
        function = getattr(self._library, name)
        return int(function(*arguments))

    def _call(self, name: str, *arguments: Any) -> None:
        code = self._result(name, *arguments)
        if code == _OUT_OF_MEMORY:
            raise ResourceError("the card is out of memory", where=name, hint="free the card, or limit what this run may use")
        if code == _NO_DEVICE:
            raise DeviceError("the driver finds no card", hint="make a card visible to this process, or use --device cpu")
        if code:
            raise DeviceError(
                f"the CUDA driver failed: {self._text('cuGetErrorName', code)}",
                where=name,
                got=self._text("cuGetErrorString", code),
                hint="look at nvidia-smi and the kernel log; after a failed kernel only a new process can use the card again",
            )

    def _text(self, name: str, code: int) -> str:
        text = ctypes.c_char_p()
        if self._result(name, code, ctypes.byref(text)) or not text.value:
            return f"error {code}"
        return text.value.decode()

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in _SIGNATURES:
            raise AttributeError(name)
        return functools.partial(self._call, name)

    def get(self, kind: Any, name: str, *arguments: Any) -> Any:
        """The result that a call writes through its first argument."""
        value = kind()
        self._call(name, ctypes.byref(value), *arguments)
        return value.value

    def version(self) -> int:
        """1000 major + 10 minor of the newest CUDA that the driver knows."""
        return int(self.get(_INT, "cuDriverGetVersion"))

    def count(self) -> int:
        """Cards that this process sees."""
        return int(self.get(_INT, "cuDeviceGetCount"))


@functools.cache
def driver() -> Driver:
    """The driver of this machine.

    Raises  DeviceError without a driver or a card, or if the driver is too old for the code that the compiler makes
    """
    try:
        library = ctypes.CDLL(LIBRARY)
        for name, arguments in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes, function.restype = arguments, _INT
    except (OSError, AttributeError) as error:
        raise NoDriver(
            "no usable NVIDIA driver on this machine",
            got=str(error),
            hint="install an NVIDIA driver, version 580 or newer, or use --device cpu",
        ) from None
    return checked(Driver(library))


def checked(found: Driver) -> Driver:
    """The driver, if it is new enough and sees a card."""
    if (version := found.version()) < NEEDED_DRIVER:
        raise DeviceError(
            "the NVIDIA driver is too old",
            expected=f"CUDA {NEEDED_DRIVER // 1000} or newer (driver 580)",
            got=f"CUDA {version // 1000}.{version % 1000 // 10}",
            hint="update the driver, or use --device cpu",
        )
    if found.count() == 0:
        raise DeviceError("the driver finds no card", hint="make a card visible to this process, or use --device cpu")
    return found


class _OfCard(Driver):
    """The driver's calls for one card: their errors name it."""

    def __init__(self, found: Driver, label: str) -> None:
        self._library, self.label = found._library, label

    def _call(self, name: str, *arguments: Any) -> None:
        try:
            super()._call(name, *arguments)
        except CuzkError as error:
            error.where = ", ".join(part for part in (self.label, error.where) if part)
            raise


# The context that is current in each thread, as far as this module set it.
_current = threading.local()


class Card:
    """One device, opened: its primary context and what lives in it."""

    def __init__(self, ordinal: int, found: Driver | None = None) -> None:
        self.driver = d = _OfCard(found or driver(), f"cuda:{ordinal}")
        self.ordinal = ordinal
        self._device = device = d.get(_INT, "cuDeviceGet", ordinal)
        self._context = d.get(_PTR, "cuDevicePrimaryCtxRetain", device)
        name = ctypes.create_string_buffer(128)
        d.cuDeviceGetName(name, 128, device)
        uuid = ctypes.create_string_buffer(16)
        d.cuDeviceGetUuid_v2(uuid, device)
        self.name = name.value.decode()
        d.label += f" {self.name}"
        self.uuid = uuid.raw.hex()
        self.capability = self._attribute(_CAPABILITY_MAJOR), self._attribute(_CAPABILITY_MINOR)
        self.multiprocessors = self._attribute(_MULTIPROCESSORS)
        self.total_memory = int(d.get(_SIZE, "cuDeviceTotalMem_v2", device))
        self.bytes_in = self.bytes_out = 0  # copied from and to the host since the card was opened
        self._functions: dict[str, tuple[int, Any, int]] = {}
        self._lock = threading.Lock()

    def _attribute(self, number: int) -> int:
        return int(self.driver.get(_INT, "cuDeviceGetAttribute", number, self._device))

    def enter(self) -> Driver:
        """Make the context current in this thread."""
        if getattr(_current, "context", None) != self._context:
            # Noted first: what is collected in between sets back what is noted.
            _current.context = self._context
            try:
                self.driver.cuCtxSetCurrent(self._context)
            except BaseException:
                _current.context = None
                raise
        return self.driver

    def free_memory(self) -> int:
        """Bytes that can still be allocated, before fragmentation."""
        free, total = _SIZE(), _SIZE()
        self.enter().cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return free.value

    def synchronize(self) -> None:
        """Wait for everything on this card; errors of kernels appear here at the latest."""
        self.enter().cuCtxSynchronize()

    def buffer(self, size: int) -> Buffer:
        """Uninitialised device memory of `size` bytes. Raises: ResourceError if there is not enough."""
        return Buffer(self, size)

    def upload(self, array: Array, stream: Stream | None = None) -> Buffer:
        """An array's bytes in device memory."""
        buffer = Buffer(self, max(array.nbytes, 1))
        try:
            buffer.write(array, stream=stream)
        except BaseException:
            buffer.free()
            raise
        return buffer

    def copying(self, call: str, stream: Stream | None, *arguments: Any) -> None:
        """A copy or fill: queued in a stream, or without one after all work on the card, and done when this returns."""
        d = self.enter()
        if stream is None:
            d.cuCtxSynchronize()
        getattr(d, call)(*arguments, _handle(stream))
        if stream is None:
            d.cuStreamSynchronize(None)

    def write_at(self, address: int, array: Array, stream: Stream | None = None) -> None:
        """Copy an array's bytes to an address. With a stream and page-locked memory it returns before it is done; without a
        stream it waits for all work on the card first."""
        whole = np.ascontiguousarray(array)
        self.copying("cuMemcpyHtoDAsync_v2", stream, address, whole.ctypes.data, whole.nbytes)
        if stream is not None and whole is not array:  # a copy that ends with this call
            stream.synchronize()
        with self._lock:
            self.bytes_in += whole.nbytes

    def read_at(self, address: int, array: Array, stream: Stream | None = None) -> None:
        """Copy bytes at an address into a C-contiguous array. With a stream it returns before it is done; without one it waits
        for all work on the card first."""
        assert array.flags.c_contiguous and array.flags.writeable
        self.copying("cuMemcpyDtoHAsync_v2", stream, array.ctypes.data, address, array.nbytes)
        with self._lock:
            self.bytes_out += array.nbytes

    def pinned(self, shape: Sequence[int], dtype: Any) -> Array:
        """An uninitialised host array in page-locked memory, which copies several times as fast and asynchronously."""
        return _pinned(self, shape, dtype)

    def stream(self) -> Stream:
        """A stream that does not wait for the default one."""
        return Stream(self)

    def event(self) -> Event:
        """A mark in a stream, with its time."""
        return Event(self)

    def _function(self, kernel: Kernel) -> tuple[int, Any, int]:
        with self._lock:
            if kernel.key not in self._functions:
                image = kernel.cubin(self.capability)
                d = self.enter()
                module = d.get(_PTR, "cuModuleLoadData", image)
                handle = d.get(_PTR, "cuModuleGetFunction", module, kernel.name.encode())
                if kernel.dynamic_shared:
                    d.cuFuncSetAttribute(handle, _DYNAMIC_SHARED, kernel.dynamic_shared)
                self._functions[kernel.key] = handle, module, kernel.arguments
            return self._functions[kernel.key]

    def resources(self, kernel: Kernel) -> dict[str, int]:
        """Registers and bytes of local memory a thread of a kernel, as loaded."""
        handle = self._function(kernel)[0]
        get = functools.partial(self.enter().get, _INT, "cuFuncGetAttribute")
        return {"registers": int(get(_REGISTERS, handle)), "local": int(get(_LOCAL_BYTES, handle))}

    def launch(
        self, kernel: Kernel, blocks: int | tuple[int, int], arguments: Sequence[int], stream: Stream | None, threads: int = 0
    ) -> None:
        """Start a kernel on `blocks` blocks of as many threads as it declares, or fewer; returns at once. 0 blocks: nothing."""
        x, y = (blocks, 1) if isinstance(blocks, int) else blocks
        if x == 0 or y == 0:
            return
        handle, _, count = self._function(kernel)
        assert threads <= kernel.threads
        assert len(arguments) == count, f"{kernel.name} takes {count} arguments"
        values = (_U64 * count)(*arguments)
        start = ctypes.addressof(values)
        places = (_PTR * count)(*range(start, start + 8 * count, 8))
        shared = kernel.dynamic_shared
        self.enter().cuLaunchKernel(handle, x, y, 1, threads or kernel.threads, 1, 1, shared, _handle(stream), places, None)


def _handle(stream: Stream | None) -> int | None:
    return stream.handle if stream else None


def _release(card: Card, call: str, handle: int) -> None:
    """Give something back. This may run at any moment of any thread, so that thread's context is the same afterwards."""
    d = card.driver
    # At exit, or on a card that failed, there is nobody left to tell.
    with contextlib.suppress(Exception):
        try:
            d.cuCtxSetCurrent(card._context)
            getattr(d, call)(handle)
        finally:
            d.cuCtxSetCurrent(getattr(_current, "context", None))


class Buffer:
    """Device memory; freed with `free`, at the end of a `with` block, or with the object."""

    def __init__(self, card: Card, size: int) -> None:
        self.card, self.size = card, size
        try:
            self.address = int(card.enter().get(_U64, "cuMemAlloc_v2", max(size, 1)))
        except ResourceError as error:
            error.expected, error.got = size_text(size), f"{size_text(card.free_memory())} free"
            raise
        self._free = weakref.finalize(self, _release, card, "cuMemFree_v2", self.address)

    def free(self) -> None:
        """Give the memory back; the address is dead."""
        self._free()

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def _check(self, offset: int, size: int) -> int:
        assert offset >= 0 and offset + size <= self.size, f"{size} bytes at {offset} of {self.size}"
        return self.address + offset

    def write(self, array: Array, offset: int = 0, stream: Stream | None = None) -> None:
        """Copy an array's bytes here, as `Card.write_at`."""
        self.card.write_at(self._check(offset, array.nbytes), array, stream)

    def read_into(self, array: Array, offset: int = 0, stream: Stream | None = None) -> None:
        """Copy bytes from here, as `Card.read_at`."""
        self.card.read_at(self._check(offset, array.nbytes), array, stream)

    def read(self, shape: int | Sequence[int], dtype: Any, offset: int = 0) -> Array:
        """A new array with the bytes from `offset` on."""
        array: Array = np.empty(shape, dtype)
        self.read_into(array, offset)
        return array

    def copy_from(self, other: Buffer, size: int, *, offset: int = 0, start: int = 0, stream: Stream | None = None) -> None:
        """Copy `size` bytes of another buffer, from byte `start` there to byte `offset` here; as `Card.copying`."""
        source, target = other._check(start, size), self._check(offset, size)
        self.card.copying("cuMemcpyDtoDAsync_v2", stream, target, source, size)

    def fill(self, byte: int, size: int | None = None, offset: int = 0, stream: Stream | None = None) -> None:
        """Set `size` bytes (all, if not given) to one value; as `Card.copying`."""
        size = self.size - offset if size is None else size
        self.card.copying("cuMemsetD8Async", stream, self._check(offset, size), byte, size)


class Stream:
    """A queue of work on one card."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.handle = card.enter().get(_PTR, "cuStreamCreate", _NON_BLOCKING)
        weakref.finalize(self, _release, card, "cuStreamDestroy_v2", self.handle)

    def synchronize(self) -> None:
        """Wait until the queue is empty."""
        self.card.enter().cuStreamSynchronize(self.handle)

    def wait(self, event: Event) -> None:
        """What follows in this queue starts after the event."""
        self.card.enter().cuStreamWaitEvent(self.handle, event.handle, 0)


class Event:
    """A mark in a stream."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.handle = card.enter().get(_PTR, "cuEventCreate", 0)
        weakref.finalize(self, _release, card, "cuEventDestroy_v2", self.handle)

    def record(self, stream: Stream | None = None) -> Event:
        """Set the mark behind everything queued so far."""
        self.card.enter().cuEventRecord(self.handle, _handle(stream))
        return self

    def synchronize(self) -> None:
        """Wait for the mark."""
        self.card.enter().cuEventSynchronize(self.handle)

    def milliseconds_since(self, earlier: Event) -> float:
        """Device time between two marks; waits for this one."""
        self.synchronize()
        return float(self.card.enter().get(ctypes.c_float, "cuEventElapsedTime", earlier.handle, self.handle))


def _pinned(card: Card, shape: Sequence[int], dtype: Any) -> Array:
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    try:
        address = card.enter().get(_PTR, "cuMemHostAlloc", max(size, 1), _PORTABLE)
    except ResourceError as error:
        error.message, error.expected = "no page-locked host memory left", f"{size} bytes"
        raise
    memory = (ctypes.c_ubyte * size).from_address(address)
    weakref.finalize(memory, _release, card, "cuMemFreeHost", address)
    return np.frombuffer(memory, dtype).reshape(shape)
