"""Passes of number theoretic transforms over Fr on CUDA.

A pass transforms 2^k points (3 ≤ k ≤ 9) down every column of a matrix whose neighbouring rows are 2^log_stride elements apart.
A thread holds 8 points of a column; a block of 128 threads holds 1024 points, so several columns. The transform of a column
is ⌈k/3⌉ steps of radix 8; between two steps the points change hands through shared memory. `dif` runs natural order to
bit-reversed, with inverse roots; `dit` is its mirror image with forward roots. Evaluations so stay in natural order,
coefficients bit-reversed, and nothing is permuted between.

Values lie in [0, 2 r) throughout; twiddles are canonical. Inside a pass they are fixed, so that a product takes a quotient
precomputed for each (`fr_cuda.mul_quotient`); the twiddles between passes, and with them every constant factor and the powers of
a coset, are full tables in Montgomery form. The steps are a loop whose code fits the instruction cache; only addresses change.

Tables of a pass: for every m from 3 to 9, with D = 2^(m − 3): w_m^(rev(i) o) at index i D + o, where w_m has order 2^m, rev
reverses the 3 bits of i < 8 and o < D; plain, in planes of 16 bytes: low half, high half, and the same of the quotients.

The large kernels are assembled at level 1: above it the assembler spills at the 128 registers that four blocks leave a thread.
"""

from __future__ import annotations

from typing import Any

import numba
from numba import cuda

from cuzk.cuda import memory
from cuzk.cuda.words import shared_word, uint32, uint64
from cuzk.field import fr_cuda as fr
from cuzk.field.params import R, omega
from cuzk.jit import cuda_kernel, cuda_shared

THREADS = 128
POINTS = 8 * THREADS  # a block
MIN_LOG_PASS, MAX_LOG_PASS = 3, 9
# Shared memory: two planes of 16-byte units, for 64 columns of 16 points with 9 units for 8 points and one more a column.
_PLANE_UNITS = 64 * (9 * 2 + 1)
_PLANE = 16 * _PLANE_UNITS
WORDS = 2 * _PLANE // 4
_STORE, _LOAD = memory.store_shared(8, 0, _PLANE), memory.load_shared(8, 0, _PLANE)
_word = numba.uint32

_add, _sub, _mul_lazy, _mul_quotient, _reduce = fr.add_lazy, fr.sub_lazy, fr.mul_lazy, fr.mul_quotient, fr.reduce
_load, _store, _load_constant, _load_planes = fr.load, fr.store, fr.load_constant, memory.load_8_planes
shared_address = memory.shared_address


def skew(log_columns: int) -> int:
    """Units of 16 bytes between columns in shared memory beyond their points, so that a quarter warp hits different banks."""
    return max(1, 8 >> log_columns)


@cuda_shared
def _unit(base, p):
    """Address in shared memory of point p of a column: 9 units for 8 points."""
    return shared_word(base + shared_word(uint32(uint32(p + uint32(p >> uint32(3))) << uint32(4))))


@cuda_shared
def give(base, p, step, x):
    """Points p, p + step, … to shared memory."""
    _STORE(_unit(base, p), x[0])
    p = uint32(p + step)
    _STORE(_unit(base, p), x[1])
    p = uint32(p + step)
    _STORE(_unit(base, p), x[2])
    p = uint32(p + step)
    _STORE(_unit(base, p), x[3])
    p = uint32(p + step)
    _STORE(_unit(base, p), x[4])
    p = uint32(p + step)
    _STORE(_unit(base, p), x[5])
    p = uint32(p + step)
    _STORE(_unit(base, p), x[6])
    p = uint32(p + step)
    _STORE(_unit(base, p), x[7])


@cuda_shared
def take(base, p, step):
    """Points p, p + step, … from shared memory."""
    x0 = _LOAD(_unit(base, p))
    p = uint32(p + step)
    x1 = _LOAD(_unit(base, p))
    p = uint32(p + step)
    x2 = _LOAD(_unit(base, p))
    p = uint32(p + step)
    x3 = _LOAD(_unit(base, p))
    p = uint32(p + step)
    x4 = _LOAD(_unit(base, p))
    p = uint32(p + step)
    x5 = _LOAD(_unit(base, p))
    p = uint32(p + step)
    x6 = _LOAD(_unit(base, p))
    p = uint32(p + step)
    x7 = _LOAD(_unit(base, p))
    return x0, x1, x2, x3, x4, x5, x6, x7


@cuda_shared
def first_point(t, d):
    """The first point of thread t where its points are 2^d apart."""
    return uint32(uint32(uint32(t >> d) << uint32(d + uint32(3))) + uint32(t & uint32(uint32(uint32(1) << d) - uint32(1))))


@cuda_shared
def twiddle8(x, inner, t, d):
    """Points 1 to 7 times their twiddles of the step whose points are 2^d apart, m = d + 3."""
    size = uint64(uint64(1) << uint64(d))
    plane = uint64(size << uint64(7))
    q = uint64(inner + uint64(uint64(size - uint64(1)) << uint64(9)))
    q = uint64(q + uint64(uint64(uint64(t) & uint64(size - uint64(1))) << uint64(4)))
    step = uint64(size << uint64(4))
    other = uint64(plane + plane)
    q = uint64(q + step)
    x1 = _mul_quotient(x[1], _load_planes(q, plane), _load_planes(uint64(q + other), plane))
    q = uint64(q + step)
    x2 = _mul_quotient(x[2], _load_planes(q, plane), _load_planes(uint64(q + other), plane))
    q = uint64(q + step)
    x3 = _mul_quotient(x[3], _load_planes(q, plane), _load_planes(uint64(q + other), plane))
    q = uint64(q + step)
    x4 = _mul_quotient(x[4], _load_planes(q, plane), _load_planes(uint64(q + other), plane))
    q = uint64(q + step)
    x5 = _mul_quotient(x[5], _load_planes(q, plane), _load_planes(uint64(q + other), plane))
    q = uint64(q + step)
    x6 = _mul_quotient(x[6], _load_planes(q, plane), _load_planes(uint64(q + other), plane))
    q = uint64(q + step)
    x7 = _mul_quotient(x[7], _load_planes(q, plane), _load_planes(uint64(q + other), plane))
    return x[0], x1, x2, x3, x4, x5, x6, x7


@cuda_shared
def read8(at, step):
    """Eight elements `step` bytes apart."""
    x0 = _load(at)
    at = uint64(at + step)
    x1 = _load(at)
    at = uint64(at + step)
    x2 = _load(at)
    at = uint64(at + step)
    x3 = _load(at)
    at = uint64(at + step)
    x4 = _load(at)
    at = uint64(at + step)
    x5 = _load(at)
    at = uint64(at + step)
    x6 = _load(at)
    at = uint64(at + step)
    x7 = _load(at)
    return x0, x1, x2, x3, x4, x5, x6, x7


@cuda_shared
def write8(at, step, x):
    """Eight elements `step` bytes apart."""
    _store(at, x[0])
    at = uint64(at + step)
    _store(at, x[1])
    at = uint64(at + step)
    _store(at, x[2])
    at = uint64(at + step)
    _store(at, x[3])
    at = uint64(at + step)
    _store(at, x[4])
    at = uint64(at + step)
    _store(at, x[5])
    at = uint64(at + step)
    _store(at, x[6])
    at = uint64(at + step)
    _store(at, x[7])


@cuda_shared
def scale8(x, at, step):
    """Eight elements times entries of a table of canonical values, `step` bytes apart."""
    x0 = _mul_lazy(_load_constant(at), x[0])
    at = uint64(at + step)
    x1 = _mul_lazy(_load_constant(at), x[1])
    at = uint64(at + step)
    x2 = _mul_lazy(_load_constant(at), x[2])
    at = uint64(at + step)
    x3 = _mul_lazy(_load_constant(at), x[3])
    at = uint64(at + step)
    x4 = _mul_lazy(_load_constant(at), x[4])
    at = uint64(at + step)
    x5 = _mul_lazy(_load_constant(at), x[5])
    at = uint64(at + step)
    x6 = _mul_lazy(_load_constant(at), x[6])
    at = uint64(at + step)
    x7 = _mul_lazy(_load_constant(at), x[7])
    return x0, x1, x2, x3, x4, x5, x6, x7


@cuda_shared
def reduce8(x):
    """Eight elements below r."""
    return (
        _reduce(x[0]),
        _reduce(x[1]),
        _reduce(x[2]),
        _reduce(x[3]),
        _reduce(x[4]),
        _reduce(x[5]),
        _reduce(x[6]),
        _reduce(x[7]),
    )


@cuda_shared
def place(thread, block, k, log_stride, log_columns):
    """A thread's index in its column, its column in the block, and its column in all."""
    tid = uint32(thread)
    if log_stride == uint32(0):  # a column is contiguous: neighbours in it are neighbours in the warp
        t = uint32(tid & uint32(uint32(uint32(1) << uint32(k - uint32(3))) - uint32(1)))
        c = uint32(tid >> uint32(k - uint32(3)))
    else:
        c = uint32(tid & uint32(uint32(uint32(1) << log_columns) - uint32(1)))
        t = uint32(tid >> log_columns)
    return t, c, uint32(uint32(uint32(block) << log_columns) + c)


@cuda_shared
def top_of(column, k, log_stride):
    """Index of the first element of a column."""
    part = uint64(uint64(uint32(column >> log_stride)) << uint64(uint32(k + log_stride)))
    return uint64(part + uint64(uint32(column & uint32(uint32(uint32(1) << log_stride) - uint32(1)))))


@cuda_shared
def shared_column(shared, c, k, log_columns):
    """Address in shared memory of a column of the block."""
    gap = uint32(uint32(8) >> log_columns)
    if gap == uint32(0):
        gap = uint32(1)
    pitch = uint32(uint32(uint32(9) << uint32(k - uint32(3))) + gap)
    return shared_word(shared + shared_word(uint32(uint32(c * pitch) << uint32(4))))


def _roots(inverse: bool) -> list[Any]:
    """Products by the first, second and third power of a root of order 8."""
    w = pow(omega(3), -1 if inverse else 1, R)
    return [fr.mul_by(pow(w, i, R)) for i in (1, 2, 3)]


# The forward root of order 4 is z³ for the parameter z of the curve, since r = z⁴ − z² + 1: 6 limbs, a cheaper product than by
# its inverse −z³.
_forward1, _by_z3, _forward3 = _roots(inverse=False)
_by1, _, _by3 = _roots(inverse=True)


@cuda_shared
def dif8(x, skip):
    """8-point transform by inverse roots, natural order to bit-reversed; with its first `skip` layers left out, transforms of
    8/2^skip neighbouring points."""
    x0, x1, x2, x3, x4, x5, x6, x7 = x
    if skip == uint32(0):
        x0, x4 = _add(x0, x4), _sub(x0, x4)
        x1, x5 = _add(x1, x5), _by1(_sub(x1, x5))
        x2, x6 = _add(x2, x6), _by_z3(_sub(x6, x2))
        x3, x7 = _add(x3, x7), _by3(_sub(x3, x7))
    if skip < uint32(2):
        x0, x2 = _add(x0, x2), _sub(x0, x2)
        x1, x3 = _add(x1, x3), _by_z3(_sub(x3, x1))
        x4, x6 = _add(x4, x6), _sub(x4, x6)
        x5, x7 = _add(x5, x7), _by_z3(_sub(x7, x5))
    return _add(x0, x1), _sub(x0, x1), _add(x2, x3), _sub(x2, x3), _add(x4, x5), _sub(x4, x5), _add(x6, x7), _sub(x6, x7)


@cuda_shared
def dit8(x, skip):
    """8-point transform by forward roots, bit-reversed order to natural; the mirror image of `dif8`."""
    x0, x1 = _add(x[0], x[1]), _sub(x[0], x[1])
    x2, x3 = _add(x[2], x[3]), _sub(x[2], x[3])
    x4, x5 = _add(x[4], x[5]), _sub(x[4], x[5])
    x6, x7 = _add(x[6], x[7]), _sub(x[6], x[7])
    if skip < uint32(2):
        x0, x2 = _add(x0, x2), _sub(x0, x2)
        x3 = _by_z3(x3)
        x1, x3 = _add(x1, x3), _sub(x1, x3)
        x4, x6 = _add(x4, x6), _sub(x4, x6)
        x7 = _by_z3(x7)
        x5, x7 = _add(x5, x7), _sub(x5, x7)
    if skip == uint32(0):
        x0, x4 = _add(x0, x4), _sub(x0, x4)
        x5 = _forward1(x5)
        x1, x5 = _add(x1, x5), _sub(x1, x5)
        x6 = _by_z3(x6)
        x2, x6 = _add(x2, x6), _sub(x2, x6)
        x7 = _forward3(x7)
        x3, x7 = _add(x3, x7), _sub(x3, x7)
    return x0, x1, x2, x3, x4, x5, x6, x7


@cuda_shared
def stand(shared, thread, block, k, log_stride, log_columns):
    """A thread's number in its column, the column, the index of its first point, and its address in the array `shared`."""
    t, c, column = place(thread, block, k, log_stride, log_columns)
    top = top_of(column, k, log_stride)
    return t, column, top, shared_column(shared_address(shared), c, k, log_columns)


@cuda_shared
def far_points(data, top, t, k, log_stride):
    """Address of the first of a thread's eight points 2^(k − 3) apart in their column, and the bytes between them."""
    step = uint64(uint64(fr.BYTES) << uint64(uint32(k - uint32(3) + log_stride)))
    return uint64(data + uint64(uint64(top + uint64(uint64(t) << uint64(log_stride))) * uint64(fr.BYTES))), step


@cuda_shared
def near_points(t, log_stride):
    """The first of a thread's eight neighbours in a column, counted from the column's first point; the bytes between them."""
    step = uint64(uint64(fr.BYTES) << uint64(log_stride))
    return uint64(uint64(uint64(t) << uint64(3)) << uint64(log_stride)), step


@cuda_shared
def _dif_steps(x, base, inner, t, k):
    """The steps of `dif` on the points of one column, from points 2^(k − 3) apart to neighbours."""
    steps = uint32(uint32(k + uint32(2)) // uint32(3))
    skip = uint32(uint32(steps * uint32(3)) - k)
    d = uint32(k - uint32(3))
    step = uint32(0)
    while step < steps:
        if step > uint32(0):
            x = twiddle8(x, inner, t, d)
            give(base, first_point(t, d), uint32(uint32(1) << d), x)
            cuda.syncthreads()
            d = uint32(d - min(d, uint32(3)))
            x = take(base, first_point(t, d), uint32(uint32(1) << d))
        step = uint32(step + uint32(1))
        x = dif8(x, skip if step == steps else uint32(0))
    return x


@cuda_shared
def _dit_steps(x, base, inner, t, k):
    """The steps of `dit` on the points of one column, from neighbours to points 2^(k − 3) apart."""
    steps = uint32(uint32(k + uint32(2)) // uint32(3))
    skip = uint32(uint32(steps * uint32(3)) - k)
    d = uint32(0)
    step = uint32(0)
    while step < steps:
        if step > uint32(0):
            give(base, first_point(t, d), uint32(uint32(1) << d), x)
            cuda.syncthreads()
            d = uint32(k - uint32(uint32(3) * uint32(steps - step)))
            x = take(base, first_point(t, d), uint32(uint32(1) << d))
            x = twiddle8(x, inner, t, d)
        x = dit8(x, skip if step == uint32(0) else uint32(0))
        step = uint32(step + uint32(1))
    return x


@cuda_shared
def _finish_dif(x, data, table, top, column, t, log_stride, canonical):
    """Scale by the table, reduce if asked, store in bit-reversed order: the same for all passes of `dif`."""
    row, step = near_points(t, log_stride)
    if table != uint64(0):
        j = uint64(uint32(column & uint32(uint32(uint32(1) << log_stride) - uint32(1))))
        x = scale8(x, uint64(table + uint64(uint64(row + j) * uint64(fr.BYTES))), step)
    if canonical != uint64(0):
        x = reduce8(x)
    write8(uint64(data + uint64(uint64(top + row) * uint64(fr.BYTES))), step, x)


@cuda_kernel(threads=THREADS, blocks=4, level=1)
def dif(data, table, inner, k, log_stride, log_columns, canonical):
    """X_pos = table_pos Σ_i x_i w^(−i brev(pos)) in every column, w of order 2^k, in place.

    Shape   data Fr[2^log_size]; table Fr[2^(k + log_stride)] or address 0 for ones; inner as the module says, for inverse roots
    Domain  Montgomery or canonical, table Montgomery
    Range   below 2 r in; below 2 r out, below r if `canonical`
    Alias   in place
    Cost    a point at k = 9: 1.875 + 1.75 products by fixed factors, 1 M with a table; 64 bytes moved, 32 more with a table
    """
    shared = cuda.shared.array(WORDS, _word)
    k, log_stride, log_columns = uint32(k), uint32(log_stride), uint32(log_columns)
    t, column, top, base = stand(shared, cuda.threadIdx.x, cuda.blockIdx.x, k, log_stride, log_columns)
    at, step = far_points(data, top, t, k, log_stride)
    x = _dif_steps(read8(at, step), base, inner, t, k)
    _finish_dif(x, data, table, top, column, t, log_stride, canonical)


@cuda_shared
def _quotient_at(at, b, c):
    """a b − c of one element. Range: a, b below r, c below 2 r in; below 2 r out."""
    return _sub(_mul_lazy(_load(at), _load(uint64(at + b))), _load(uint64(at + c)))


@cuda_shared
def read_quotient8(at, step, b, c):
    """Eight elements a b − c, `step` bytes apart; b and c lie at distances from a."""
    x0 = _quotient_at(at, b, c)
    at = uint64(at + step)
    x1 = _quotient_at(at, b, c)
    at = uint64(at + step)
    x2 = _quotient_at(at, b, c)
    at = uint64(at + step)
    x3 = _quotient_at(at, b, c)
    at = uint64(at + step)
    x4 = _quotient_at(at, b, c)
    at = uint64(at + step)
    x5 = _quotient_at(at, b, c)
    at = uint64(at + step)
    x6 = _quotient_at(at, b, c)
    at = uint64(at + step)
    x7 = _quotient_at(at, b, c)
    return x0, x1, x2, x3, x4, x5, x6, x7


@cuda_kernel(threads=THREADS, blocks=4, level=1)
def dif_of_quotient(data, b, c, table, inner, k, log_stride, log_columns, canonical):
    """`dif` of data·b − c, into data; b and c are left as they are. Range: data and b below r, c below 2 r in."""
    shared = cuda.shared.array(WORDS, _word)
    k, log_stride, log_columns = uint32(k), uint32(log_stride), uint32(log_columns)
    t, column, top, base = stand(shared, cuda.threadIdx.x, cuda.blockIdx.x, k, log_stride, log_columns)
    at, step = far_points(data, top, t, k, log_stride)
    x = read_quotient8(at, step, uint64(b - data), uint64(c - data))
    x = _dif_steps(x, base, inner, t, k)
    _finish_dif(x, data, table, top, column, t, log_stride, canonical)


@cuda_kernel(threads=THREADS, blocks=4, level=1)
def dit(data, table, inner, k, log_stride, log_columns, canonical):
    """X_j = Σ_pos table_pos x_pos w^(j brev(pos)) in every column, w of order 2^k, in place: the mirror image of `dif`.

    Shape   as `dif`, inner for forward roots
    Domain  Montgomery or canonical, table Montgomery
    Range   below 2 r in; below 2 r out, below r if `canonical`
    Alias   in place
    Cost    as `dif`
    """
    shared = cuda.shared.array(WORDS, _word)
    k, log_stride, log_columns = uint32(k), uint32(log_stride), uint32(log_columns)
    t, column, top, base = stand(shared, cuda.threadIdx.x, cuda.blockIdx.x, k, log_stride, log_columns)
    row, step = near_points(t, log_stride)
    x = read8(uint64(data + uint64(uint64(top + row) * uint64(fr.BYTES))), step)
    if table != uint64(0):
        j = uint64(uint32(column & uint32(uint32(uint32(1) << log_stride) - uint32(1))))
        x = scale8(x, uint64(table + uint64(uint64(row + j) * uint64(fr.BYTES))), step)
    x = _dit_steps(x, base, inner, t, k)
    if canonical != uint64(0):
        x = reduce8(x)
    at, step = far_points(data, top, t, k, log_stride)
    write8(at, step, x)


@cuda_kernel(threads=256)
def twiddle_table(out, low, high, row, k, log_stride, log_gap, count):
    """out[pos 2^log_stride + j] = w^(j brev(pos) 2^log_gap) row[pos], where brev reverses k bits.

    Shape   out Fr[2^(k + log_stride)], low Fr[2^13] = w^i, high Fr[…] = w^(i 2^13), row Fr[2^k]; `count` entries
    Domain  Montgomery
    Cost    2 M an entry
    """
    i = uint64(uint64(uint64(cuda.blockIdx.x) * uint64(256)) + uint64(cuda.threadIdx.x))
    if i >= count:
        return
    pos = uint32(i >> log_stride)
    j = uint64(i & uint64(uint64(uint64(1) << log_stride) - uint64(1)))
    turned = uint64(uint32(uint32(cuda.brev(pos)) >> uint32(uint32(32) - uint32(k))))
    exponent = uint64(uint64(j * turned) << log_gap)
    value = fr.mul(
        _load_constant(uint64(low + uint64(uint64(exponent & uint64(8191)) * uint64(fr.BYTES)))),
        _load_constant(uint64(high + uint64(uint64(exponent >> uint64(13)) * uint64(fr.BYTES)))),
    )
    value = fr.mul(value, _load_constant(uint64(row + uint64(uint64(pos) * uint64(fr.BYTES)))))
    _store(uint64(out + uint64(i * uint64(fr.BYTES))), value)


@cuda_kernel(threads=256)
def bit_reverse(data, log_size):
    """Swap elements i and brev(i), in place. Shape: data Fr[2^log_size], 1 ≤ log_size ≤ 32. Cost: 64 bytes moved an element."""
    i = uint64(uint64(uint64(cuda.blockIdx.x) * uint64(256)) + uint64(cuda.threadIdx.x))
    if i >= uint64(uint64(1) << log_size):
        return
    j = uint64(uint32(uint32(cuda.brev(uint32(i))) >> uint32(uint32(32) - uint32(log_size))))
    if i < j:
        here, there = uint64(data + uint64(i * uint64(fr.BYTES))), uint64(data + uint64(j * uint64(fr.BYTES)))
        x, y = _load(here), _load(there)
        _store(here, y)
        _store(there, x)


@cuda_kernel(threads=256)
def multiply(out, a, b, count):
    """out = a b / 2^256. Shape Fr[count] each. Range: below r. Alias: out may be a or b. Cost: 1 M, 96 bytes an element."""
    i = uint64(uint64(uint64(cuda.blockIdx.x) * uint64(256)) + uint64(cuda.threadIdx.x))
    if i >= count:
        return
    offset = uint64(i * uint64(fr.BYTES))
    _store(uint64(out + offset), fr.mul(_load(uint64(a + offset)), _load(uint64(b + offset))))
