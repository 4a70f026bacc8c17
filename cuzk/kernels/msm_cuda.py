"""Lists of additions and the last sums of an MSM on CUDA; `sort_cuda` fills the buckets, `tree_cuda` does the additions.

Waves: after the first, element i of bucket b is in slot start[b] + i. In wave w >= 2 elements stand 2^(w − 2) slots apart and
neighbours are added in place, until every bucket is one slot. Then the buckets of a window are a rectangle, b = high 2^k + low,
whose rows and columns are summed by halves, in place as well. What is left of a window, the sum of (b + 1) B_b, is
2^k sum of high Row_high + sum of low Col_low + sum of Col_low: for each bit of high and of low, one sum of the rows or columns
that have it (`bit_sums`), and the host adds those, times powers of two.
"""

from __future__ import annotations

from typing import Any

from numba import cuda
from numba import uint32 as word_type

from cuzk import config
from cuzk.cuda import memory
from cuzk.cuda.words import uint32, uint64
from cuzk.field import fp_cuda as fp
from cuzk.field.coordinates_cuda import FIELDS, ZERO, Coordinates, is_zero
from cuzk.jit import cuda_kernel, cuda_shared
from cuzk.kernels.blocks_cuda import running_sum
from cuzk.kernels.sort_cuda import SCAN
from cuzk.kernels.tree_cuda import NONE, get, point_bytes, put

_SIMULATED = config.cuda_simulated()
THREADS = 4 if _SIMULATED else 256
BIT_THREADS = 4 if _SIMULATED else 128
_BIT_WORDS = 48 * BIT_THREADS

load_word, store_word, store_pair = memory.load(1), memory.store(1), memory.store(2)
u0, u1 = uint32(0), uint32(1)
_scan = running_sum(SCAN)


@cuda_shared
def _word_at(base, index):
    return uint64(base + uint64(index) * uint64(4))


@cuda_shared
def _pairs_of(count, wave):
    """Additions of a bucket of `count` references in a wave from the second on."""
    shift = uint32(uint32(wave) - uint32(2))
    slots = uint32(uint32(count + u1) >> u1)
    elements = uint32(uint32(slots + uint32(uint32(u1 << shift) - u1)) >> shift)
    return uint32(elements >> u1)


@cuda_kernel(threads=SCAN)
def count_pairs(counts, buckets, wave, sums):
    """sums[block] = additions of wave `wave` >= 2 in the block's SCAN buckets."""
    held = cuda.shared.array(SCAN, word_type)
    thread, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    b = uint32(uint32(block * uint32(SCAN)) + thread)
    pairs = u0
    if b < uint32(buckets):
        pairs = _pairs_of(load_word(_word_at(counts, b)), wave)
    _scan(held, u0, thread, pairs)
    if thread == u0:
        store_word(_word_at(sums, block), held[SCAN - 1])


@cuda_kernel(threads=SCAN)
def list_pairs(counts, start, buckets, wave, sums, pairs):
    """The pairs of slots of wave `wave` >= 2, from the scanned `sums`.

    gridDim.y blocks share the work for SCAN buckets, so that one large bucket does not keep a single block busy.
    """
    held = cuda.shared.array(SCAN, word_type)
    firsts = cuda.shared.array(SCAN, word_type)
    thread, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    b = uint32(uint32(block * uint32(SCAN)) + thread)
    own, first = u0, u0
    if b < uint32(buckets):
        own = _pairs_of(load_word(_word_at(counts, b)), wave)
        first = load_word(_word_at(start, b))
    firsts[uint32(thread)] = first
    _scan(held, u0, thread, own)
    shift = uint32(uint32(wave) - uint32(2))
    total, to = held[SCAN - 1], load_word(_word_at(sums, block))
    share = uint32(uint32(total + uint32(uint32(cuda.gridDim.y) - u1)) // uint32(cuda.gridDim.y))
    t = uint32(uint32(uint32(cuda.blockIdx.y) * share) + thread)
    end = min(total, uint32(uint32(uint32(cuda.blockIdx.y) + u1) * share))
    while t < end:
        # The first bucket whose running sum exceeds t.
        low, gap = u0, uint32(SCAN // 2)
        while gap > u0:
            if held[uint32(uint32(uint32(low + gap) - u1))] <= t:
                low = uint32(low + gap)
            gap = uint32(gap >> u1)
        before = u0
        if low > u0:
            before = held[uint32(uint32(low - u1))]
        slot = uint32(firsts[uint32(low)] + uint32(uint32(uint32(t - before) << u1) << shift))
        store_pair(uint64(pairs + uint64(uint32(to + t)) * uint64(8)), (slot, uint32(slot + uint32(u1 << shift))))
        t = uint32(t + uint32(SCAN))


@cuda_kernel(threads=THREADS)
def list_rectangle(counts, start, buckets, bits, low_bits, pairs):
    """The first additions of rows, then of columns: halves of each. Bucket number: window, high, low bits; `bits`: high and low.

    Shape   pairs uint32[buckets, 2]; `buckets`: of all windows
    """
    p = uint32(cuda.grid(1))
    if p < uint32(buckets):
        half = uint32(uint32(buckets) >> u1)
        q, width = p, uint32(low_bits)
        if p >= half:
            q, width = uint32(p - half), uint32(bits)
        gap = uint32(u1 << uint32(width - u1))
        a = uint32(uint32(uint32(q >> uint32(width - u1)) << width) + uint32(q & uint32(gap - u1)))
        b = uint32(a + gap)
        first, second = uint32(NONE), uint32(NONE)
        if load_word(_word_at(counts, a)) != u0:
            first = load_word(_word_at(start, a))
        if load_word(_word_at(counts, b)) != u0:
            second = load_word(_word_at(start, b))
        # A pair's second reference marks it as single.
        if first == uint32(NONE):
            first, second = second, first
        store_pair(uint64(pairs + uint64(p) * uint64(8)), (first, second))


@cuda_kernel(threads=THREADS)
def list_halves(first_base, first_count, first_width, first_half, base, count, width, half, pairs):
    """Further additions of rows and columns, two trees in one list.

    A tree has groups of 2^width slots and in each the pairs (i, i + 2^half) for i < 2^half; `first_count` and `count` are the
    pairs of each tree.
    """
    p = uint32(cuda.grid(1))
    if p < uint32(uint32(first_count) + uint32(count)):
        q, log_half, log_width, begin = p, uint32(first_half), uint32(first_width), uint32(first_base)
        if p >= uint32(first_count):
            q = uint32(p - uint32(first_count))
            log_half, log_width, begin = uint32(half), uint32(width), uint32(base)
        gap = uint32(u1 << log_half)
        a = uint32(begin + uint32(uint32(uint32(q >> log_half) << log_width) + uint32(q & uint32(gap - u1))))
        store_pair(uint64(pairs + uint64(p) * uint64(8)), (a, uint32(a + gap)))


@cuda_kernel(threads=THREADS)
def list_gap(first, gap, step, n, pairs):
    """Pairs (first + i, gap + i step) for i < n."""
    p = uint32(cuda.grid(1))
    if p < uint32(n):
        pair = (uint32(uint32(first) + p), uint32(uint32(gap) + uint32(p * uint32(step))))
        store_pair(uint64(pairs + uint64(p) * uint64(8)), pair)


@cuda_kernel(threads=SCAN)
def count_bits(bits, words, sums):
    """sums[block] = bits that are set in the block's SCAN words."""
    held = cuda.shared.array(SCAN, word_type)
    thread, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    i = uint32(uint32(block * uint32(SCAN)) + thread)
    own = u0
    if i < uint32(words):
        own = uint32(cuda.popc(load_word(_word_at(bits, i))))
    _scan(held, u0, thread, own)
    if thread == u0:
        store_word(_word_at(sums, block), held[SCAN - 1])


@cuda_kernel(threads=SCAN)
def list_bits(bits, words, sums, index, references):
    """The positions of the set bits in order, or index[position] if `index` is not 0, from the scanned `sums`."""
    held = cuda.shared.array(SCAN, word_type)
    thread, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    i = uint32(uint32(block * uint32(SCAN)) + thread)
    word = u0
    if i < uint32(words):
        word = load_word(_word_at(bits, i))
    own = uint32(cuda.popc(word))
    to = uint32(uint32(_scan(held, u0, thread, own) - own) + load_word(_word_at(sums, block)))
    position = uint32(i << uint32(5))
    while word != u0:
        if word & u1:
            reference = position
            if index != uint64(0):
                reference = load_word(_word_at(index, position))
            store_word(_word_at(references, to), reference)
            to = uint32(to + u1)
        word = uint32(word >> u1)
        position = uint32(position + u1)


def _xyzz_addition(field: Coordinates) -> Any:
    mul, sqr, sub, add, triple = field.mul, field.sqr, field.sub, field.add, field.triple
    vanishes, anywhere = field.vanishes, field.anywhere

    @cuda_shared
    def doubled(x1, y1, zz1, zzz1):
        u = add(y1, y1)
        v = sqr(u)
        w = mul(u, v)
        s = mul(x1, v)
        m = triple(sqr(x1))
        x3 = sub(sub(sqr(m), s), s)
        return x3, sub(mul(m, sub(s, x3)), mul(w, y1)), mul(v, zz1), mul(w, zzz1)

    @cuda_shared
    def xyzz_add(x1, y1, zz1, zzz1, x2, y2, zz2, zzz2):
        """Sum of any two points (x/zz, y/zzz) with zz^3 = zzz^2, zz = 0 at infinity: add-2008-s, dbl-2008-s-1. 12 M + 2 S."""
        no_first, no_second = vanishes(zz1), vanishes(zz2)
        u1_, s1 = mul(x1, zz2), mul(y1, zzz2)
        p, r = sub(mul(x2, zz1), u1_), sub(mul(y2, zzz1), s1)
        same_x = vanishes(p) & (not no_first) & (not no_second)
        pp = sqr(p)
        ppp = mul(p, pp)
        q = mul(u1_, pp)
        x3 = sub(sub(sub(sqr(r), ppp), q), q)
        y3 = sub(mul(r, sub(q, x3)), mul(s1, ppp))
        zz3, zzz3 = mul(mul(zz1, zz2), pp), mul(mul(zzz1, zzz2), ppp)
        if anywhere(same_x):
            # Opposite points have zz3 = 0 already.
            same_y = vanishes(r)
            x4, y4, zz4, zzz4 = doubled(x1, y1, zz1, zzz1)
            if same_x & same_y:
                x3, y3, zz3, zzz3 = x4, y4, zz4, zzz4
        if no_first:
            x3, y3, zz3, zzz3 = x2, y2, zz2, zzz2
        elif no_second:
            x3, y3, zz3, zzz3 = x1, y1, zz1, zzz1
        return x3, y3, zz3, zzz3

    return xyzz_add


def _bit_sums(curve: str, field: Coordinates) -> Any:
    xyzz_add = _xyzz_addition(field)
    part, parts, one, both = field.part, field.parts, field.one, field.same_for_all_parts
    size, y_offset = point_bytes(field), fp.BYTES * field.parts
    items = BIT_THREADS // parts

    @cuda_shared
    def point_at(at, there):
        # Every thread loads and takes part; what is not there is infinity.
        x, y, z = ZERO, ZERO, ZERO
        if there:
            x, y = fp.load(at), fp.load(uint64(at + uint64(y_offset)))
        infinite = both(is_zero(x))
        unit = one()
        if not infinite:
            z = unit
        return x, y, z

    @cuda_kernel(threads=BIT_THREADS, variant=curve)
    def bit_sums(points, first, rows, row_gap, row_bits, columns, column_stride, column_bits, out):
        """Block (j − first, window): the sum of the rows with bit j for j < row_bits, then of the columns with bit j − row_bits;
        for j = row_bits + column_bits of all columns.

        Row i of a window is at slot rows + (window 2^row_bits + i) 2^row_gap, column i at columns + window 2^column_stride + i.

        Shape   out Fp[windows, gridDim.x, 4 coordinates]: x, y, zz, zzz, reduced
        """
        held = cuda.shared.array(_BIT_WORDS, word_type)
        thread, window = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.y)
        j = uint32(uint32(cuda.blockIdx.x) + uint32(first))
        base = uint32(uint32(columns) + uint32(window << uint32(column_stride)))
        gap, bit, count = u0, uint32(j - uint32(row_bits)), uint32(u1 << uint32(uint32(column_bits) - u1))
        every = bit == uint32(column_bits)
        if j < uint32(row_bits):
            base = uint32(uint32(rows) + uint32(uint32(window << uint32(row_bits)) << uint32(row_gap)))
            gap, bit, count = uint32(row_gap), j, uint32(u1 << uint32(uint32(row_bits) - u1))
            every = False
        if every:
            count = uint32(count << u1)
        own = uint64(part() * uint32(fp.BYTES))
        x, y, zz, zzz = ZERO, ZERO, ZERO, ZERO
        mine, half, k = uint32(thread * uint32(48)), uint32(BIT_THREADS // 2), u0
        # Points from memory first, then sums of other threads: one addition in the code for both.
        while k < count or half >= uint32(parts):
            if k < count:
                q = uint32(k + uint32(thread // uint32(parts)))
                i = q
                if not every:
                    above = uint32(uint32(uint32(q >> bit) << u1) << bit)
                    i = uint32(above | uint32(uint32(u1 << bit) | uint32(q & uint32(uint32(u1 << bit) - u1))))
                slot = uint32(base + uint32(i << gap))
                x2, y2, zz2 = point_at(uint64(uint64(points + own) + uint64(slot) * uint64(size)), q < count)
                zzz2 = zz2
                k = uint32(k + uint32(items))
            else:
                put(held, mine, x)
                put(held, uint32(mine + uint32(12)), y)
                put(held, uint32(mine + uint32(24)), zz)
                put(held, uint32(mine + uint32(36)), zzz)
                cuda.syncthreads()
                # All threads take part; the upper half's sums are not used.
                other = uint32(uint32(thread ^ half) * uint32(48))
                x2, y2 = get(held, other), get(held, uint32(other + uint32(12)))
                zz2, zzz2 = get(held, uint32(other + uint32(24))), get(held, uint32(other + uint32(36)))
                cuda.syncthreads()
                half = uint32(half >> u1)
            x, y, zz, zzz = xyzz_add(x, y, zz, zzz, x2, y2, zz2, zzz2)
        if thread < uint32(parts):
            place = uint64(uint32(uint32(window * uint32(cuda.gridDim.x)) + uint32(cuda.blockIdx.x)))
            at = uint64(uint64(out + own) + place * uint64(2 * size))
            fp.store(at, fp.reduce(x))
            fp.store(uint64(at + uint64(y_offset)), fp.reduce(y))
            fp.store(uint64(at + uint64(2 * y_offset)), fp.reduce(zz))
            fp.store(uint64(at + uint64(3 * y_offset)), fp.reduce(zzz))

    return bit_sums


bit_sums: dict[str, Any] = {curve: _bit_sums(curve, field) for curve, field in FIELDS.items()}
