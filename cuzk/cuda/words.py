"""Integer types of kernels: Numba's on a device, functions with the same wrapping under the simulator.

Every index, count and constant in a kernel is wrapped in one of them: Numba types `uint32 + uint32` as uint64 and
`uint64 + 1` as int64 or float64.
"""

from __future__ import annotations

from typing import Any

from cuzk import config


def _unsigned(bits: int) -> Any:
    mask = (1 << bits) - 1
    return lambda x: int(x) & mask


def _signed(bits: int) -> Any:
    def wrap(x: Any) -> int:
        x = int(x) & ((1 << bits) - 1)
        return x - (1 << bits) if x >> (bits - 1) else x

    return wrap


__all__ = ["int32", "int64", "shared_word", "uint32", "uint64"]


def _types() -> tuple[Any, ...]:
    if config.cuda_simulated():
        return _unsigned(32), _unsigned(64), _signed(32), _signed(64), _unsigned(64)
    from numba.cuda import types

    return types.uint32, types.uint64, types.int32, types.int64, types.uint32


# `shared_word`: an address in shared memory; under the simulator one of the host.
uint32, uint64, int32, int64, shared_word = _types()
