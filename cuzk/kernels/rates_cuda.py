"""Chains of field products in registers: what they measure is the rate of the multiplier, not of memory."""

from __future__ import annotations

from typing import Any

from numba import cuda

from cuzk.cuda.words import uint32, uint64
from cuzk.field import fp_cuda, fr_cuda
from cuzk.jit import cuda_kernel

CHAINS = 2  # independent chains a thread
PRODUCTS = 2 * CHAINS  # products a round and thread


def _chains(name: str, field: Any, mul: Any, threads: int, blocks: int) -> Any:
    load, store, size = field.load, field.store, field.BYTES

    @cuda_kernel(threads=threads, blocks=blocks, variant=name)
    def products(out, rounds):
        """Two chains a thread: x ← x y, y ← y x, `rounds` times. Shape out Field[2 threads]. Alias in place."""
        start = uint64(out + uint64(cuda.grid(1)) * uint64(2 * size))
        a, b = load(start), load(uint64(start + uint64(size)))
        c, d = b, a
        left = uint32(rounds)
        while left > uint32(0):
            a, c = mul(a, b), mul(c, d)
            b, d = mul(b, a), mul(d, c)
            left = uint32(left - uint32(1))
        store(start, mul(a, c))
        store(uint64(start + uint64(size)), mul(b, d))

    return products


fp_products = _chains("fp", fp_cuda, fp_cuda.mul, 128, 4)
fr_products = _chains("fr", fr_cuda, fr_cuda.mul, 128, 4)
