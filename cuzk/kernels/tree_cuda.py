"""Many additions of affine points at once, with shared inversions: the kernel that trees of sums are made of.

A thread (G2: two, see `coordinates_cuda`) chains up to `chain` additions: forward it multiplies up the denominators x2 − x1 and
keeps the prefix products in memory, a block inverts the products of all its chains together, and backward each addition takes
its own inverse out of the chain's. An addition costs 5 M + 1 S. The forward pass waits for memory, the backward pass for the
multiplier, so that blocks begin with chunks of different lengths, to be in different passes.

Points are affine with coordinates below 2 p (`coordinates_cuda`), x first. Infinity has x = 0, which no other point of order r
has; its y means nothing. A reference is an index of a point with the sign in bit 31, or NONE, a reference to infinity.

Source  Montgomery's trick: Cohen, A Course in Computational Algebraic Number Theory, algorithm 10.3.4.
"""

from __future__ import annotations

from typing import Any

from numba import cuda
from numba import uint32 as word_type

from cuzk import config
from cuzk.cuda import memory, warp
from cuzk.cuda.words import uint32, uint64
from cuzk.field import fp_cuda as fp
from cuzk.field.coordinates_cuda import FIELDS, ZERO, Coordinates, is_zero
from cuzk.jit import cuda_kernel, cuda_shared

NONE = 0xFFFFFFFF
SIGN = 1 << 31
HEAD = 256  # zero bytes before the prefix products: a stored infinity

# Threads of a block for long and for short lists: long ones share an inversion among more additions, and fewer of them are
# resident, with the registers that additions take without spilling. Blocks of a multiprocessor:
LONG, SHORT = (16, 8) if config.cuda_simulated() else (384, 128)
RESIDENT = {LONG: 1, SHORT: 4}
_STAGGERED = 48  # rounds from which chunks of different lengths pay

load_word, load_pair, store_word, store_pair = memory.load(1), memory.load(2), memory.store(1), memory.store(2)
u0, u1 = uint32(0), uint32(1)


@cuda_shared
def is_none(reference):
    """Whether a reference is NONE."""
    return reference == uint32(NONE)


@cuda_shared
def get(array, at):
    """12 words of an array in shared memory."""
    return (
        array[at],
        array[uint32(at + uint32(1))],
        array[uint32(at + uint32(2))],
        array[uint32(at + uint32(3))],
        array[uint32(at + uint32(4))],
        array[uint32(at + uint32(5))],
        array[uint32(at + uint32(6))],
        array[uint32(at + uint32(7))],
        array[uint32(at + uint32(8))],
        array[uint32(at + uint32(9))],
        array[uint32(at + uint32(10))],
        array[uint32(at + uint32(11))],
    )


@cuda_shared
def put(array, at, value):
    """Set 12 words of an array in shared memory."""
    array[at] = value[0]
    array[uint32(at + uint32(1))] = value[1]
    array[uint32(at + uint32(2))] = value[2]
    array[uint32(at + uint32(3))] = value[3]
    array[uint32(at + uint32(4))] = value[4]
    array[uint32(at + uint32(5))] = value[5]
    array[uint32(at + uint32(6))] = value[6]
    array[uint32(at + uint32(7))] = value[7]
    array[uint32(at + uint32(8))] = value[8]
    array[uint32(at + uint32(9))] = value[9]
    array[uint32(at + uint32(10))] = value[10]
    array[uint32(at + uint32(11))] = value[11]


def point_bytes(field: Coordinates) -> int:
    """Bytes of an affine point."""
    return 2 * fp.BYTES * field.parts


def _references(field: Coordinates) -> tuple[Any, Any]:
    """Device functions on references: `address(base, reference, zero)` of this thread's part of x, `signed(reference, y)`."""
    size = point_bytes(field)

    @cuda_shared
    def address(base, reference, zero):
        # NONE is at `zero`, where infinity is stored: no load needs a branch.
        at = uint64(base + uint64(uint32(reference & uint32(SIGN - 1))) * uint64(size))
        if is_none(reference):
            at = zero
        return at

    @cuda_shared
    def signed(reference, y):
        if reference >> uint32(31):
            y = fp.neg_lazy(y)
        return y

    return address, signed


def _rare_denominator(field: Coordinates, signed: Any) -> Any:
    vanishes, both, difference, add, one = field.vanishes, field.same_for_all_parts, field.difference, field.add, field.one
    y_offset = fp.BYTES * field.parts

    @cuda_shared
    def denominator(d, a, b, first, second, x1, x2):
        """What stands for d = x2 − x1 in rare cases: 2 y of equal points; 1 for opposite ones and where one is infinite."""
        y1 = signed(a, fp.load(uint64(first + uint64(y_offset))))
        y2 = signed(b, fp.load(uint64(second + uint64(y_offset))))
        infinite = both(is_zero(x1)) | both(is_zero(x2))
        same_x = vanishes(d)
        same_y = vanishes(difference(y1, y2))
        if infinite | (same_x & (not same_y)):
            d = one()
        elif same_x:
            d = add(y1, y1)
        return d

    return denominator


def _block_inversion(field: Coordinates, threads: int) -> Any:
    mul, inverse = field.mul, field.inverse
    warps, stride = threads // warp.SIZE, 12 * warp.SIZE
    lanes = warp.SIZE

    @cuda_shared
    def block_inverse(value, held, prefix, thread):
        """1/value in every thread, none 0: the first warp multiplies up over the warps and inverts once a lane."""
        mine = uint32(thread * uint32(12))
        put(held, mine, value)
        cuda.syncthreads()
        if thread < uint32(lanes):
            run = value
            at, last = uint32(mine + uint32(stride)), uint32(mine + uint32(warps * stride))
            while at < last:
                put(prefix, at, run)
                run = mul(run, get(held, at))
                at = uint32(at + uint32(stride))
            run = inverse(run)
            at = uint32(at - uint32(stride))
            while at > mine:
                own = get(held, at)
                put(held, at, mul(run, get(prefix, at)))
                run = mul(run, own)
                at = uint32(at - uint32(stride))
            put(held, mine, run)
        cuda.syncthreads()
        return get(held, mine)

    return block_inverse


def _entries(field: Coordinates) -> Any:
    """`entry(list, p, n)`: the pair at position p, two references to infinity from n on."""
    checked = field.parts > 1

    @cuda_shared
    def entry(pairs, p, n):
        # Threads of a warp that work together go on until the last of them is done.
        if checked:
            pair = uint32(NONE), uint32(NONE)
            if p < n:
                pair = load_pair(uint64(pairs + uint64(p) * uint64(8)))
            return pair
        return load_pair(uint64(pairs + uint64(p) * uint64(8)))

    return entry


def _forward(field: Coordinates, threads: int, address: Any, denominator: Any, entry: Any) -> Any:
    mul, difference, may_vanish = field.mul, field.difference, field.may_vanish
    anywhere, one = field.anywhere, field.one
    step, scratch_step = threads // field.parts, fp.BYTES * threads

    @cuda_shared
    def forward(src, pairs, p, n, m, zero, scratch):
        """The product of the m denominators at p, p + step, …; what was before each goes to scratch."""
        product = one()
        if m > u0:
            # References run two pairs ahead, points one.
            a, b = entry(pairs, p, n)
            x1_next = fp.load(address(src, a, zero))
            x2_next = fp.load(address(src, b, zero))
            a_next, b_next, b_now = a, b, b
            q = uint32(p + uint32(step))
            if m > u1:
                a_next, b_next = entry(pairs, q, n)
            j = u0
            while j < m:
                x1, x2, b_here = x1_next, x2_next, b_now
                a, b = a_next, b_next
                b_now = b
                q = uint32(q + uint32(step))
                if uint32(j + u1) < m:
                    x1_next = fp.load(address(src, a, zero))
                    x2_next = fp.load(address(src, b, zero))
                    if uint32(j + uint32(2)) < m:
                        a_next, b_next = entry(pairs, q, n)
                fp.store(scratch, product)
                d = difference(x2, x1)
                single = is_none(b_here)
                rare = may_vanish(d) | ((x1[0] | x1[1]) == u0) | ((x2[0] | x2[1]) == u0)
                if anywhere(rare & (not single)):
                    a_rare, b_rare = entry(pairs, uint32(q - uint32(2 * step)), n)
                    first, second = address(src, a_rare, zero), address(src, b_rare, zero)
                    d = denominator(d, a_rare, b_rare, first, second, x1, x2)
                if single:
                    d = one()
                product = mul(product, d)
                scratch = uint64(scratch + uint64(scratch_step))
                j = uint32(j + u1)
        return product

    return forward


def _backward(field: Coordinates, threads: int, address: Any, signed: Any, denominator: Any, entry: Any, ahead: bool) -> Any:
    """`ahead`: the next pair's x and prefix are loaded before the last product of this one, if registers allow."""
    mul, sqr, sub, triple = field.mul, field.sqr, field.sub, field.triple
    vanishes, both, parts = field.vanishes, field.same_for_all_parts, field.parts
    difference, may_vanish, anywhere, one = field.difference, field.may_vanish, field.anywhere, field.one
    y_offset, size, part, checked = fp.BYTES * field.parts, point_bytes(field), field.part, field.parts > 1
    step, scratch_step = threads // field.parts, fp.BYTES * threads

    @cuda_shared
    def backward(src, dst, pairs, p, n, m, zero, scratch, inverse, base, in_place):
        """The m sums at p, p − step, … from the inverse of the product of their denominators."""
        a_next, b_next = entry(pairs, p, n)
        x1_next, x2_next, before_next = ZERO, ZERO, ZERO
        if ahead:
            x1_next, x2_next = fp.load(address(src, a_next, zero)), fp.load(address(src, b_next, zero))
            before_next = fp.load(scratch)
        while m > u0:
            m = uint32(m - u1)
            a, b = a_next, b_next
            first, second = address(src, a, zero), address(src, b, zero)
            x1, x2, before = x1_next, x2_next, before_next
            if not ahead:
                x1, x2, before = fp.load(first), fp.load(second), fp.load(scratch)
            if m > u0:
                a_next, b_next = entry(pairs, uint32(p - uint32(step)), n)
            d = difference(x2, x1)
            single = is_none(b)
            rare = (may_vanish(d) | ((x1[0] | x1[1]) == u0) | ((x2[0] | x2[1]) == u0)) & (not single)
            together = anywhere(rare)
            if together:
                d = denominator(d, a, b, first, second, x1, x2)
            if single:
                d = one()
            y1 = fp.load(uint64(first + uint64(y_offset)))
            y2 = fp.load(uint64(second + uint64(y_offset)))
            t = mul(inverse, before)
            inverse = mul(inverse, d)
            y1 = signed(a, y1)
            rise = difference(signed(b, y2), y1)
            if together:
                if parts == 1:
                    if vanishes(rise) and vanishes(difference(x1, x2)):
                        rise = triple(sqr(x1))
                else:
                    tangent = triple(sqr(x1))  # by all threads of the warp
                    if vanishes(rise) & vanishes(difference(x1, x2)):
                        rise = tangent
            slope = mul(rise, t)
            x3 = sub(sub(sqr(slope), x1), x2)
            slot = a if in_place != uint64(0) else uint32(uint32(base) + p)
            out = uint64(dst + uint64(slot) * uint64(size) + uint64(part() * uint32(fp.BYTES)))
            scratch = uint64(scratch - uint64(scratch_step))
            e = difference(x1, x3)
            if ahead and m > u0:
                x1_next, x2_next = fp.load(address(src, a_next, zero)), fp.load(address(src, b_next, zero))
                before_next = fp.load(scratch)
            y3 = sub(mul(slope, e), y1)
            if together:
                y2 = signed(b, fp.load(uint64(second + uint64(y_offset))))
                opposite = vanishes(difference(x1, x2)) & (not vanishes(difference(y2, y1)))
                no_first, no_second = both(is_zero(x1)), both(is_zero(x2))
                if no_first:
                    x3, y3 = x2, y2
                elif no_second:
                    x3, y3 = x1, y1
                elif opposite:
                    x3, y3 = ZERO, ZERO
            if single:
                x3, y3 = x1, y1
            if not checked or p < n:
                fp.store(out, x3)
                fp.store(uint64(out + uint64(y_offset)), y3)
            p = uint32(p - uint32(step))

    return backward


def _pair_add(field: Coordinates, threads: int, name: str, ahead: bool = False) -> Any:
    address, signed = _references(field)
    denominator, entry = _rare_denominator(field, signed), _entries(field)
    forward = _forward(field, threads, address, denominator, entry)
    backward = _backward(field, threads, address, signed, denominator, entry, ahead)
    block_inverse = _block_inversion(field, threads)
    part, parts = field.part, field.parts
    step, scratch_step, lanes = threads // parts, fp.BYTES * threads, warp.SIZE // parts
    words = 12 * threads
    blocks = 0 if config.cuda_simulated() else RESIDENT.get(threads, 1)

    @cuda_kernel(threads=threads, blocks=blocks, variant=name)
    def pair_add(src, dst, pairs, count, fixed, scratch, base, in_place, chain):
        """dst[.] = src[a] + src[b] for each pair of references (a, b).

        Pair p's sum goes to slot base + p, or with `in_place` to slot a. `count`: address of the number of pairs,
        or 0: there are `fixed`. `scratch`: HEAD zero bytes, then 48 chain bytes a thread of the grid. Blocks each take a run of
        the list.

        Domain  Montgomery; coordinates below 2 p in and out
        Alias   dst may be src if no slot is written that another pair reads
        Cost    5 M + 1 S and, of memory, 8 + 7 coordinates of 48 bytes (G2: 96) an addition
        """
        held = cuda.shared.array(words, word_type)
        prefix = cuda.shared.array(words, word_type)
        thread, block, grid = uint32(cuda.threadIdx.x), uint32(cuda.blockIdx.x), uint32(cuda.gridDim.x)
        n = uint32(fixed)
        if count != uint64(0):
            n = load_word(count)
        share = uint32(uint32(step) * grid)
        rounds = uint32(uint32(n + share - u1) // share)
        own = uint64(part() * uint32(fp.BYTES))
        zero = uint64(scratch + own)
        mine = uint64(
            scratch + uint64(HEAD) + uint64(uint32(block * uint32(chain)) * uint32(threads) + thread) * uint64(fp.BYTES)
        )
        src = uint64(src + own)
        item = uint32(thread // uint32(parts))
        start = uint32(uint32(block * uint32(uint32(step) * rounds)) + item)
        k = min(rounds, uint32(chain))
        if rounds >= uint32(_STAGGERED):
            k = uint32(uint32(k * uint32(uint32(uint32(block << uint32(2)) // grid) + u1)) >> uint32(2))
        done = u0
        while done < rounds:
            k = min(k, uint32(rounds - done))
            p = uint32(start + uint32(done * uint32(step)))
            done = uint32(done + k)
            # Threads that act together count as the first of their warp.
            lead = p if parts == 1 else uint32(p - uint32(item & uint32(lanes - 1)))
            m = u0
            if lead < n:
                m = min(uint32(uint32(uint32(n - lead) + uint32(step - 1)) // uint32(step)), k)
            k = uint32(chain)
            product = forward(src, pairs, p, n, m, zero, mine)
            inverse = block_inverse(product, held, prefix, thread)
            if m > u0:
                last = uint32(m - u1)
                at = uint64(mine + uint64(last) * uint64(scratch_step))
                backward(src, dst, pairs, uint32(p + uint32(last * uint32(step))), n, m, zero, at, inverse, base, in_place)
            cuda.syncthreads()

    return pair_add


# By curve: for long lists, for short ones.
pair_add: dict[str, tuple[Any, Any]] = {
    curve: (_pair_add(field, LONG, f"{curve}_long"), _pair_add(field, SHORT, f"{curve}_short")) for curve, field in FIELDS.items()
}


def scratch_bytes(multiprocessors: int, chain: int) -> int:
    """Bytes that `scratch` of `pair_add` needs for grids that fill a card."""
    threads = max(size * blocks for size, blocks in RESIDENT.items())
    return HEAD + multiprocessors * threads * chain * fp.BYTES
