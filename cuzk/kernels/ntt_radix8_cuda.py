"""Passes of transforms whose size is a power of 8, each made for its place in a transform of several passes.

As the passes of `ntt_cuda`, with less decided while they run: all steps are whole steps of radix 8, and what a pass multiplies
by beside the twiddles of its steps depends on where it stands.

- outer: a full table in Montgomery form, 32 bytes an element of the transform.
- middle: the same values plain, and their quotients right after them, for `fr_cuda.mul_quotient`. The table is small.
- inner: powers of a shift at the positions of the pass. They are products of a factor for each step, which is in the tables of
  the steps; the last step, which otherwise has no twiddles, takes its own from m = 3.

Only the last pass of a transform leaves values below r: the inner one of `dif`, the outer one of `dit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import cuda

from cuzk.cuda.inline import inline
from cuzk.cuda.words import uint32, uint64
from cuzk.field import fr_cuda as fr
from cuzk.jit import cuda_kernel, cuda_shared
from cuzk.kernels.ntt_cuda import (
    THREADS,
    WORDS,
    dif8,
    dit8,
    far_points,
    first_point,
    give,
    near_points,
    read8,
    read_quotient8,
    reduce8,
    scale8,
    stand,
    take,
    twiddle8,
    write8,
)

PLACES = ("outer", "middle", "inner")
_word = numba.uint32
# A zero that the compiler does not know, so that it makes no second copy of a loop's body for the first step.
_zero = inline("mov.u32 $0, 0;", ("u32", 1), [], lambda: 0, effect=True)
_load, _store, _load_constant, _mul_quotient = fr.load, fr.store, fr.load_constant, fr.mul_quotient


@cuda_shared
def _dif_steps(x, base, inner, t, k, scaled):
    """The steps of `dif` on the points of one column, from points 2^(k − 3) apart to neighbours."""
    d = uint32(k - uint32(3))
    left = uint32(k)
    while left > uint32(0):
        left = d
        x = dif8(x, uint32(0))
        if uint32(d | scaled) != uint32(0):
            x = twiddle8(x, inner, t, d)
        if left > uint32(0):
            give(base, first_point(t, d), uint32(uint32(1) << d), x)
            cuda.syncthreads()
            d = uint32(d - uint32(3))
            x = take(base, first_point(t, d), uint32(uint32(1) << d))
    return x


@cuda_shared
def _dit_steps(x, base, inner, t, k, scaled):
    """The steps of `dit` on the points of one column, from neighbours to points 2^(k − 3) apart."""
    if scaled != uint32(0):
        x = twiddle8(x, inner, t, uint32(0))
    d = _zero()
    while d < k:
        if d > uint32(0):
            before = uint32(d - uint32(3))
            give(base, first_point(t, before), uint32(uint32(1) << before), x)
            cuda.syncthreads()
            x = take(base, first_point(t, d), uint32(uint32(1) << d))
            x = twiddle8(x, inner, t, d)
        x = dit8(x, uint32(0))
        d = uint32(d + uint32(3))
    return x


@cuda_shared
def _scale_quotient8(x, at, step, gap):
    """Eight elements times entries of a table of plain values, `step` bytes apart, whose quotients lie `gap` bytes further on."""
    x0 = _mul_quotient(x[0], _load_constant(at), _load_constant(uint64(at + gap)))
    at = uint64(at + step)
    x1 = _mul_quotient(x[1], _load_constant(at), _load_constant(uint64(at + gap)))
    at = uint64(at + step)
    x2 = _mul_quotient(x[2], _load_constant(at), _load_constant(uint64(at + gap)))
    at = uint64(at + step)
    x3 = _mul_quotient(x[3], _load_constant(at), _load_constant(uint64(at + gap)))
    at = uint64(at + step)
    x4 = _mul_quotient(x[4], _load_constant(at), _load_constant(uint64(at + gap)))
    at = uint64(at + step)
    x5 = _mul_quotient(x[5], _load_constant(at), _load_constant(uint64(at + gap)))
    at = uint64(at + step)
    x6 = _mul_quotient(x[6], _load_constant(at), _load_constant(uint64(at + gap)))
    at = uint64(at + step)
    x7 = _mul_quotient(x[7], _load_constant(at), _load_constant(uint64(at + gap)))
    return x0, x1, x2, x3, x4, x5, x6, x7


def _scaling(where: str) -> Callable[..., Any]:
    """(x, table, row, column, log_stride, step, k) ↦ the points of one thread times their entries of the table between passes."""

    @cuda_shared
    def outer(x, table, row, column, log_stride, step, k):
        j = uint64(uint32(column & uint32(uint32(uint32(1) << log_stride) - uint32(1))))
        return scale8(x, uint64(table + uint64(uint64(row + j) * uint64(fr.BYTES))), step)

    @cuda_shared
    def middle(x, table, row, column, log_stride, step, k):
        j = uint64(uint32(column & uint32(uint32(uint32(1) << log_stride) - uint32(1))))
        gap = uint64(uint64(fr.BYTES) << uint64(uint32(k + log_stride)))
        return _scale_quotient8(x, uint64(table + uint64(uint64(row + j) * uint64(fr.BYTES))), step, gap)

    @cuda_shared
    def inner(x, table, row, column, log_stride, step, k):
        return x

    return {"outer": outer, "middle": middle, "inner": inner}[where]


def _reduction(wanted: bool) -> Callable[..., Any]:
    @cuda_shared
    def none(x):
        return x

    return reduce8 if wanted else none


def _dif(where: str, level: int) -> Any:
    scale, finish = _scaling(where), _reduction(where == "inner")

    @cuda_kernel(threads=THREADS, blocks=4, level=level, variant=where)
    def dif(data, table, inner, k, log_stride, log_columns, scaled):
        """`ntt_cuda.dif` for k = 3, 6, 9 and a place in the transform; `scaled`, for inner passes: the shift is not 1.

        Shape   data Fr[2^log_size]; table by place; inner as `ntt_cuda` says, for inverse roots
        Range   below 2 r in; below 2 r out, below r from an inner pass
        Alias   in place
        """
        shared = cuda.shared.array(WORDS, _word)
        k, log_stride, log_columns = uint32(k), uint32(log_stride), uint32(log_columns)
        t, column, top, base = stand(shared, cuda.threadIdx.x, cuda.blockIdx.x, k, log_stride, log_columns)
        at, step = far_points(data, top, t, k, log_stride)
        x = _dif_steps(read8(at, step), base, inner, t, k, uint32(scaled) if where == "inner" else uint32(0))
        row, step = near_points(t, log_stride)
        x = finish(scale(x, table, row, column, log_stride, step, k))
        write8(uint64(data + uint64(uint64(top + row) * uint64(fr.BYTES))), step, x)

    return dif


def _dif_of_quotient(level: int) -> Any:
    scale = _scaling("outer")

    @cuda_kernel(threads=THREADS, blocks=4, level=level, variant="outer")
    def dif_of_quotient(data, b, c, table, inner, k, log_stride, log_columns, scaled):
        """The outer `dif` of data·b − c, into data; b and c are left as they are. Range: data and b below r, c below 2 r in."""
        shared = cuda.shared.array(WORDS, _word)
        k, log_stride, log_columns = uint32(k), uint32(log_stride), uint32(log_columns)
        t, column, top, base = stand(shared, cuda.threadIdx.x, cuda.blockIdx.x, k, log_stride, log_columns)
        at, step = far_points(data, top, t, k, log_stride)
        x = read_quotient8(at, step, uint64(b - data), uint64(c - data))
        x = _dif_steps(x, base, inner, t, k, uint32(0))
        row, step = near_points(t, log_stride)
        x = scale(x, table, row, column, log_stride, step, k)
        write8(uint64(data + uint64(uint64(top + row) * uint64(fr.BYTES))), step, x)

    return dif_of_quotient


def _dit(where: str, level: int) -> Any:
    scale, finish = _scaling(where), _reduction(where == "outer")

    @cuda_kernel(threads=THREADS, blocks=4, level=level, variant=where)
    def dit(data, table, inner, k, log_stride, log_columns, scaled):
        """`ntt_cuda.dit` for k = 3, 6, 9 and a place in the transform: the mirror image of `dif`.

        Shape   as `dif`, inner for forward roots
        Range   below 2 r in; below 2 r out, below r from an outer pass
        Alias   in place
        """
        shared = cuda.shared.array(WORDS, _word)
        k, log_stride, log_columns = uint32(k), uint32(log_stride), uint32(log_columns)
        t, column, top, base = stand(shared, cuda.threadIdx.x, cuda.blockIdx.x, k, log_stride, log_columns)
        row, step = near_points(t, log_stride)
        x = read8(uint64(data + uint64(uint64(top + row) * uint64(fr.BYTES))), step)
        x = scale(x, table, row, column, log_stride, step, k)
        x = finish(_dit_steps(x, base, inner, t, k, uint32(scaled) if where == "inner" else uint32(0)))
        at, step = far_points(data, top, t, k, log_stride)
        write8(at, step, x)

    return dit


dif = {where: _dif(where, 1) for where in PLACES}
dit = {where: _dit(where, 1) for where in PLACES}
dif_of_quotient = _dif_of_quotient(1)


@cuda_kernel(threads=256)
def with_quotients(table, count):
    """Montgomery values to plain ones, and after them their quotients (`fr_cuda.quotient_of`). Shape: table Fr[2 count]."""
    i = uint64(uint64(uint64(cuda.blockIdx.x) * uint64(256)) + uint64(cuda.threadIdx.x))
    if i >= count:
        return
    at = uint64(table + uint64(i * uint64(fr.BYTES)))
    value = _load(at)
    _store(uint64(at + uint64(count * uint64(fr.BYTES))), fr.quotient_of_mont(value))
    _store(at, fr.from_mont(value))
