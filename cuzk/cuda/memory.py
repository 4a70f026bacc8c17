"""Device functions on memory by address: global (64-bit addresses) and shared (32-bit), in vectors of 16 bytes where possible.

Kernels take addresses, not arrays: launches stay cheap and address arithmetic is 64-bit only where it must be. Under the
simulator addresses are those of host memory, and each access is checked against the ranges that are known to be allocated.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from cuzk import config
from cuzk.cuda.inline import inline


class Ranges:
    """Allocated ranges of host memory, for the simulator: an access outside them is an error as on a device.

    There is no lock: a buffer may be collected, and its range removed, at any allocation of any thread, one within `check` too.
    Setting, removing and copying are each one step of the interpreter.
    """

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        self._shared: dict[int, Any] = {}

    def allow(self, address: int, size: int) -> None:
        """Add a range."""
        self._sizes[address] = size

    def forbid(self, address: int) -> None:
        """Remove the range that starts at an address."""
        self._sizes.pop(address, None)

    def allow_shared(self, array: Any) -> int:
        """Add an array in shared memory, until the launch ends, and say where it is."""
        address = int(array.ctypes.data)
        # Held, so that no buffer can come to lie there before the range is removed.
        self._shared[address] = array
        self.allow(address, array.nbytes)
        return address

    def end_launch(self) -> None:
        """Remove all arrays in shared memory."""
        for address in self._shared:
            self.forbid(address)
        self._shared = {}

    def check(self, address: int, size: int) -> None:
        """Raises  IndexError outside all ranges, or if the address is no multiple of the vector size."""
        if address % min(size & -size, 16):
            raise IndexError(f"misaligned access of {size} bytes at {address:#x}")
        if not any(start <= address and address + size <= start + length for start, length in self._sizes.copy().items()):
            raise IndexError(f"access of {size} bytes at {address:#x} outside allocated memory")


ranges = Ranges()
_atomic = threading.Lock()


def _words(address: int, count: int) -> Any:
    ranges.check(int(address), 4 * count)
    return (ctypes.c_uint32 * count).from_address(int(address))


def _vectors(verb: str, registers: list[str], address: str, offset: int, second: int) -> str:
    """Loads or stores of consecutive registers, 16 bytes at a time if they fill vectors; from byte `second` on if not 0 for the
    second half."""
    count = len(registers)
    width = 4 if count % 4 == 0 else 2 if count % 2 == 0 else 1
    lines = []
    for k in range(0, count, width):
        place = offset + 4 * k if not second or 2 * k < count else offset + second + 4 * k - 2 * count
        named = ",".join(registers[k : k + width])
        named = f"{{{named}}}" if width > 1 else named
        kind = f"{verb}.v{width}.u32" if width > 1 else f"{verb}.u32"
        pair = (named, f"[{address}+{place}]") if verb.startswith("ld") else (f"[{address}+{place}]", named)
        lines.append(f"{kind} {pair[0]}, {pair[1]};")
    return "\n".join(lines)


def _load(space: str, address: str, words: int, offset: int, second: int, effect: bool) -> Any:
    text = _vectors(f"ld.{space}", [f"${i}" for i in range(words)], f"${words}", offset, second)
    half = words // 2

    def twin(start: int) -> Any:
        at = int(start) + offset
        if second:
            return (*_words(at, half), *_words(at + second, half))
        found = tuple(_words(at, words))
        return found[0] if words == 1 else found

    return inline(text, ("u32", words), [(address, 1)], twin, effect=effect)


def _store(space: str, address: str, words: int, offset: int, second: int) -> Any:
    text = _vectors(f"st.{space}", [f"${i + 1}" for i in range(words)], "$0", offset, second)
    half = words // 2

    def twin(start: int, value: Any) -> None:
        at = int(start) + offset
        values = (value,) if words == 1 else tuple(value)
        parts = [(at, values[:half]), (at + second, values[half:])] if second else [(at, values)]
        for place, part in parts:
            _words(place, len(part))[:] = [int(v) for v in part]

    return inline(text, None, [(address, 1), ("u32", words)], twin, effect=True)


def load(words: int, *, constant: bool = False, offset: int = 0) -> Any:
    """address ↦ the words `offset` bytes behind it, a tuple of uint32 (one word: the word). `constant`: nothing writes there
    during the kernel."""
    return _load("global.nc" if constant else "global", "u64", words, offset, 0, not constant)


def store(words: int) -> Any:
    """(address, words) ↦ nothing: write them there."""
    return _store("global", "u64", words, 0, 0)


def load_relaxed(words: int) -> Any:
    """As `load`, of what other blocks change meanwhile by atomics: past the first cache."""
    return _load("relaxed.gpu.global", "u64", words, 0, 0, True)


def load_planes(words: int, offset: int, plane: int) -> Any:
    """address ↦ words whose second half lies `plane` bytes after the first, all `offset` bytes further on; never written to."""
    return _load("global.nc", "u64", words, offset, plane, False)


def load_shared(words: int, offset: int = 0, plane: int = 0) -> Any:
    """Address in shared memory ↦ words whose second half lies `plane` bytes after the first (0: right after it)."""
    return _load("shared", "u32", words, offset, plane, True)


def store_shared(words: int, offset: int = 0, plane: int = 0) -> Any:
    """(address in shared memory, words) ↦ nothing; planes as in `load_shared`."""
    return _store("shared", "u32", words, offset, plane)


def _byte(address: int) -> Any:
    ranges.check(int(address), 1)
    return ctypes.c_uint8.from_address(int(address))


def _store_byte(address: int, value: int) -> None:
    _byte(address).value = int(value) & 0xFF


# Address in shared memory ↦ the byte there. (address, value) ↦ nothing: write its low byte there.
load_byte = inline("ld.shared.u8 $0, [$1];", ("u32", 1), [("u32", 1)], lambda address: int(_byte(address).value), effect=True)
store_byte = inline("st.shared.u8 [$0], $1;", None, [("u32", 1), ("u32", 1)], _store_byte, effect=True)


def _load_half_planes(address: int, plane: int) -> tuple[int, ...]:
    return (*_words(int(address), 4), *_words(int(address) + int(plane), 4))


# (address, plane) ↦ 8 words whose second half lies `plane` bytes after the first; never written to during the kernel.
load_8_planes = inline(
    "{\n.reg .u64 other;\nadd.u64 other, $8, $9;\n"
    + _vectors("ld.global.nc", [f"${i}" for i in range(4)], "$8", 0, 0)
    + "\n"
    + _vectors("ld.global.nc", [f"${i}" for i in range(4, 8)], "other", 0, 0)
    + "\n}",
    ("u32", 8),
    [("u64", 1), ("u64", 1)],
    _load_half_planes,
)


def _atomic_add(address: int, value: int) -> int:
    with _atomic:
        word = _words(address, 1)
        before = word[0]
        word[0] = (before + int(value)) & 0xFFFFFFFF
        return before


# (address, value) ↦ the word that was there; value is added to it.
atomic_add = inline("atom.global.add.u32 $0, [$1], $2;", ("u32", 1), [("u64", 1), ("u32", 1)], _atomic_add, effect=True)


def _atomic_max(address: int, value: int) -> int:
    with _atomic:
        word = _words(address, 1)
        before = word[0]
        word[0] = max(before, int(value))
        return before


# (address, value) ↦ the word that was there; it becomes the larger of the two.
atomic_max = inline("atom.global.max.u32 $0, [$1], $2;", ("u32", 1), [("u64", 1), ("u32", 1)], _atomic_max, effect=True)


def _shared_address_twin(array: Any) -> int:
    return ranges.allow_shared(getattr(array, "_ary", array))


def _shared_address() -> Callable[..., Any]:
    if config.cuda_simulated():
        return _shared_address_twin
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic
    from numba.cuda.np import arrayobj

    wide, narrow = ir.IntType(64), ir.IntType(32)
    text = "{ .reg .u64 inside; cvta.to.shared.u64 inside, $1; cvt.u32.u64 $0, inside; }"
    assembly = ir.InlineAsm(ir.FunctionType(narrow, [wide]), text, "=r,l")

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = arrayobj.make_array(signature.args[0])(context, builder, values[0])
        return builder.call(assembly, [builder.ptrtoint(array.data, wide)])

    return intrinsic(lambda context, array: (types.uint32(array), generate))


# An array in shared memory ↦ its address there.
shared_address = _shared_address()
