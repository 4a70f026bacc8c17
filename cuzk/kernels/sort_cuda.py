"""Sorting references by bucket on CUDA, in two steps whose inner order does not matter, since bucket sums commute.

A *partition* is a run of 2^low neighbouring buckets of a window. First every block cuts a tile of digits into partitions in
shared memory and appends each part to its partition (`partition`); then partitions, cut in *stripes* of bounded length so that
no skew of the scalars makes a block slow, are counted by bucket (`count_buckets`), every bucket gets its place
(`measure_buckets`, `scan`, `place_buckets`), and each stripe puts its references there (`fill_buckets`).

A bucket's references begin at an even place; an odd bucket is filled up with NONE. So what comes out is the list of pairs
of the first wave of additions, and slot start[b] is where bucket b's first sum goes.
"""

from __future__ import annotations

from numba import cuda
from numba import uint32 as word_type

from cuzk import config
from cuzk.cuda import memory
from cuzk.cuda.words import uint32, uint64
from cuzk.jit import cuda_kernel, cuda_shared
from cuzk.kernels.blocks_cuda import running_sum
from cuzk.kernels.tree_cuda import NONE, SIGN

_SIMULATED = config.cuda_simulated()
THREADS = 4 if _SIMULATED else 1024
TILE = 4 * THREADS if _SIMULATED else 16 * THREADS  # digits that a block cuts together
PARTITIONS = 64 if _SIMULATED else 4096  # of one window
LOW_BUCKETS = 64 if _SIMULATED else 4096  # of one partition
SCAN = 4 if _SIMULATED else 1024  # threads and items of a block that scans
STAGE = 16 if _SIMULATED else 40960  # references that a block puts in order in shared memory
TILE_BYTES = 4 * (2 * PARTITIONS + THREADS + 2 * TILE)
STAGE_BYTES = 4 * (LOW_BUCKETS + STAGE)

load_word, load_pair, store_word, store_pair = memory.load(1), memory.load(2), memory.store(1), memory.store(2)
load_stripe, store_stripe = memory.load(4), memory.store(4)
u0, u1 = uint32(0), uint32(1)
_scan, _scan_tile = running_sum(SCAN), running_sum(THREADS)


@cuda_shared
def _word_at(base, index):
    return uint64(base + uint64(index) * uint64(4))


@cuda_kernel(threads=THREADS, dynamic_shared=TILE_BYTES)
def partition(digits, n, low, partitions, index, cursors, entries):
    """Append the references of a tile of digits of window blockIdx.y to their partitions, as entries (low bits of bucket, ref).

    Digit i refers to point index[i], or i if `index` is 0. `cursors`: where the next entry of each partition goes; they
    advance. A window has `partitions` of them.

    Shape   digits uint32[windows, n] (`digits_cuda.signed_digits`); entries uint32[all, 2]
    Cost    reads 8 (from cache 4 of it), writes 8 bytes a digit
    """
    shared = cuda.shared.array(0, word_type)
    thread, w = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.y)
    # Counters, later cursors within the tile; what turns a place in the tile into one among the entries; scan; the tile sorted.
    delta, held = uint32(partitions), uint32(uint32(2) * uint32(partitions))
    stage = uint32(2 * PARTITIONS + THREADS)
    k = thread
    while k < uint32(partitions):
        shared[uint32(k)] = u0
        k = uint32(k + uint32(THREADS))
    cuda.syncthreads()
    begin = uint32(uint32(cuda.blockIdx.x) * uint32(TILE))
    end = min(uint32(n), uint32(begin + uint32(TILE)))
    row = uint64(digits + uint64(w) * uint64(n) * uint64(4))
    i = uint32(begin + thread)
    while i < end:
        d = load_word(_word_at(row, i))
        if d != uint32(NONE):
            cuda.atomic.add(shared, uint32(uint32(uint32(d & uint32(SIGN - 1)) >> uint32(low))), u1)
        i = uint32(i + uint32(THREADS))
    cuda.syncthreads()
    # Each thread takes neighbouring partitions: `each` of them.
    each = uint32(uint32(uint32(partitions) + uint32(THREADS - 1)) // uint32(THREADS))
    first = uint32(thread * each)
    last = min(uint32(partitions), uint32(first + each))
    own = u0
    k = first
    while k < last:
        own = uint32(own + shared[uint32(k)])
        k = uint32(k + u1)
    before = uint32(_scan_tile(shared, held, thread, own) - own)
    total = shared[uint32(held + uint32(THREADS - 1))]
    k = first
    while k < last:
        size = shared[uint32(k)]
        shared[uint32(k)] = before
        if size != u0:
            start = memory.atomic_add(_word_at(cursors, uint32(uint32(w * uint32(partitions)) + k)), size)
            shared[uint32(delta + k)] = uint32(start - before)
        before = uint32(before + size)
        k = uint32(k + u1)
    cuda.syncthreads()
    i = uint32(begin + thread)
    while i < end:
        d = load_word(_word_at(row, i))
        if d != uint32(NONE):
            bucket = uint32(d & uint32(SIGN - 1))
            point = i
            if index != uint64(0):
                point = load_word(_word_at(index, i))
            at = cuda.atomic.add(shared, uint32(uint32(bucket >> uint32(low))), u1)
            at = uint32(stage + uint32(uint32(at) << u1))
            shared[at] = bucket
            shared[uint32(at + u1)] = uint32(point | uint32(d & uint32(SIGN)))
        i = uint32(i + uint32(THREADS))
    cuda.syncthreads()
    mask = uint32(uint32(u1 << uint32(low)) - u1)
    i = thread
    while i < total:
        at = uint32(stage + uint32(i << u1))
        bucket = shared[at]
        to = uint32(i + shared[uint32(delta + uint32(bucket >> uint32(low)))])
        store_pair(uint64(entries + uint64(to) * uint64(8)), (uint32(bucket & mask), shared[uint32(at + u1)]))
        i = uint32(i + uint32(THREADS))


@cuda_kernel(threads=SCAN)
def cut_stripes(totals, partitions, longest, cursors, first_stripe, stripes):
    """Where each partition begins, and its stripes of at most `longest` entries. One block.

    Writes cursors[p], the first entry of partition p, first_stripe[p] for p = 0 .. partitions, and each stripe as (partition,
    first entry, end, 0).
    """
    held = cuda.shared.array(SCAN, word_type)
    thread = uint32(cuda.threadIdx.x)
    entries_before, stripes_before = u0, u0
    base = u0
    while base < uint32(partitions):
        p = uint32(base + thread)
        size = u0
        if p < uint32(partitions):
            size = load_word(_word_at(totals, p))
        begin = uint32(uint32(_scan(held, u0, thread, size) - size) + entries_before)
        entries_before = uint32(entries_before + held[SCAN - 1])
        cuda.syncthreads()
        count = uint32(uint32(size + uint32(uint32(longest) - u1)) // uint32(longest))
        first = uint32(uint32(_scan(held, u0, thread, count) - count) + stripes_before)
        stripes_before = uint32(stripes_before + held[SCAN - 1])
        cuda.syncthreads()
        if p < uint32(partitions):
            store_word(_word_at(cursors, p), begin)
            store_word(_word_at(first_stripe, p), first)
            end = uint32(begin + size)
            while begin < end:
                stop = min(end, uint32(begin + uint32(longest)))
                store_stripe(uint64(stripes + uint64(first) * uint64(16)), (p, begin, stop, u0))
                first = uint32(first + u1)
                begin = stop
        base = uint32(base + uint32(SCAN))
    if thread == u0:
        store_word(_word_at(first_stripe, uint32(partitions)), stripes_before)


@cuda_kernel(threads=THREADS)
def count_buckets(entries, stripes, stripe_count, low, local):
    """local[s][b] = entries of stripe s in the b-th bucket of its partition, for every stripe s below *stripe_count."""
    counters = cuda.shared.array(LOW_BUCKETS, word_type)
    thread, s = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    if s < load_word(stripe_count):
        buckets = uint32(u1 << uint32(low))
        k = thread
        while k < buckets:
            counters[uint32(k)] = u0
            k = uint32(k + uint32(THREADS))
        cuda.syncthreads()
        stripe = load_stripe(uint64(stripes + uint64(s) * uint64(16)))
        i = uint32(stripe[1] + thread)
        while i < stripe[2]:
            cuda.atomic.add(counters, uint32(load_word(uint64(entries + uint64(i) * uint64(8)))), u1)
            i = uint32(i + uint32(THREADS))
        cuda.syncthreads()
        k = thread
        while k < buckets:
            store_word(_word_at(local, uint32(uint32(s << uint32(low)) + k)), counters[uint32(k)])
            k = uint32(k + uint32(THREADS))


@cuda_kernel(threads=SCAN)
def measure_buckets(local, first_stripe, buckets, low, counts, sums, most):
    """counts[b] = references of bucket b; local[s][b] becomes how many of them earlier stripes have.

    sums[block] = slots of the block's SCAN buckets, a slot for two references; *most, 0 at first, becomes the largest count.
    """
    held = cuda.shared.array(SCAN, word_type)
    thread, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    b = uint32(uint32(block * uint32(SCAN)) + thread)
    count = u0
    if b < uint32(buckets):
        p = uint32(b >> uint32(low))
        s, end = load_word(_word_at(first_stripe, p)), load_word(_word_at(first_stripe, uint32(p + u1)))
        place = uint32(b & uint32(uint32(u1 << uint32(low)) - u1))
        while s < end:
            at = _word_at(local, uint32(uint32(s << uint32(low)) + place))
            own = load_word(at)
            store_word(at, count)
            count = uint32(count + own)
            s = uint32(s + u1)
        store_word(_word_at(counts, b), count)
        if count > load_word(most):
            memory.atomic_max(most, count)
    _scan(held, u0, thread, uint32(uint32(count + u1) >> u1))
    if thread == u0:
        store_word(_word_at(sums, block), held[SCAN - 1])


@cuda_kernel(threads=SCAN)
def scan(sums, n, total):
    """Replace each of n sums by the sum of those before it; *total = the sum of all. One block."""
    held = cuda.shared.array(SCAN, word_type)
    thread = uint32(cuda.threadIdx.x)
    before = u0
    base = u0
    while base < uint32(n):
        i = uint32(base + thread)
        value = u0
        if i < uint32(n):
            value = load_word(_word_at(sums, i))
        upto = _scan(held, u0, thread, value)
        if i < uint32(n):
            store_word(_word_at(sums, i), uint32(uint32(upto - value) + before))
        before = uint32(before + held[SCAN - 1])
        cuda.syncthreads()
        base = uint32(base + uint32(SCAN))
    if thread == u0:
        store_word(total, before)


@cuda_kernel(threads=SCAN)
def place_buckets(counts, buckets, sums, start, references):
    """start[b] = the first slot of bucket b, from the scanned `sums`; references[2 start[b] + counts[b]] = NONE where odd."""
    held = cuda.shared.array(SCAN, word_type)
    thread, block = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    b = uint32(uint32(block * uint32(SCAN)) + thread)
    count = u0
    if b < uint32(buckets):
        count = load_word(_word_at(counts, b))
    slots = uint32(uint32(count + u1) >> u1)
    first = uint32(uint32(_scan(held, u0, thread, slots) - slots) + load_word(_word_at(sums, block)))
    if b < uint32(buckets):
        store_word(_word_at(start, b), first)
        if count & u1:
            store_word(_word_at(references, uint32(uint32(first << u1) + count)), uint32(NONE))


@cuda_shared
def _region(partition_number, buckets, counts, start):
    """Where the references of a partition begin and end."""
    first = uint32(partition_number * buckets)
    last = uint32(uint32(first + buckets) - u1)
    slots = uint32(uint32(load_word(_word_at(counts, last)) + u1) >> u1)
    begin = uint32(load_word(_word_at(start, first)) << u1)
    return begin, uint32(uint32(load_word(_word_at(start, last)) + slots) << u1)


@cuda_kernel(threads=THREADS, dynamic_shared=STAGE_BYTES)
def fill_buckets(entries, stripes, first_stripe, stripe_count, low, local, counts, start, references):
    """Put the references of every stripe into their buckets.

    A partition of one stripe, if it is not too long, is put in order in shared memory and written as a whole, with NONE after odd
    buckets; of others each reference goes to its place in memory.

    Cost    reads 8 bytes a reference, writes 4; scattered over the partition's buckets where it has several stripes
    """
    shared = cuda.shared.array(0, word_type)
    thread, s = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x)
    if s < load_word(stripe_count):
        buckets, stage = uint32(u1 << uint32(low)), uint32(LOW_BUCKETS)
        stripe = load_stripe(uint64(stripes + uint64(s) * uint64(16)))
        begin, end = _region(stripe[0], buckets, counts, start)
        base = u0
        alone = load_word(_word_at(first_stripe, uint32(stripe[0] + u1))) == uint32(
            load_word(_word_at(first_stripe, stripe[0])) + u1
        )
        if alone and uint32(end - begin) <= uint32(STAGE):
            base = begin
        else:
            end = begin
        k = thread
        while k < buckets:
            b = uint32(uint32(stripe[0] * buckets) + k)
            first = uint32(load_word(_word_at(start, b)) << u1)
            if end > begin:
                count = load_word(_word_at(counts, b))
                shared[k] = uint32(first - base)
                if count & u1:
                    shared[uint32(stage + uint32(uint32(first - base) + count))] = uint32(NONE)
            else:
                shared[k] = uint32(first + load_word(_word_at(local, uint32(uint32(s << uint32(low)) + k))))
            k = uint32(k + uint32(THREADS))
        cuda.syncthreads()
        i = uint32(stripe[1] + thread)
        while i < stripe[2]:
            entry = load_pair(uint64(entries + uint64(i) * uint64(8)))
            to = uint32(cuda.atomic.add(shared, uint32(entry[0]), u1))
            if end > begin:
                shared[uint32(stage + to)] = entry[1]
            else:
                store_word(_word_at(references, to), entry[1])
            i = uint32(i + uint32(THREADS))
        cuda.syncthreads()
        # Both ends are even: pairs of references.
        i = uint32(begin + uint32(thread << u1))
        while i < end:
            at = uint32(stage + uint32(i - begin))
            store_pair(_word_at(references, i), (shared[at], shared[uint32(at + u1)]))
            i = uint32(i + uint32(2 * THREADS))
