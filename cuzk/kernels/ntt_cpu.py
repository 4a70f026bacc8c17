"""Passes of a number theoretic transform over Fr: small transforms of many columns side by side, in a cache-sized block.

A transform of m = N1 N2 … elements is one pass for each factor. A pass cuts the array into blocks of GROUP columns, brings
each block to scratch, transforms its 2^k rows there and multiplies by the twiddles between passes, which are generated, not
stored: T(column, row index k) = start(column) * base(column)^k.

Two orders: DIF (decimation in frequency) takes natural order and leaves every digit of the index bit-reversed; DIT is its
mirror image. What lies between passes is `packed`: GROUP elements as four words each, in the lanes of this path, below
2.2 r; a group takes the space of its elements in the container, so that passes work in place. Scratch has one row of GROUP
elements in limbs. Roots and other tables are fixed factors (`Emitter.mul_fixed`), what is in lanes is in the Montgomery
form of the path; a linear transform leaves the Montgomery factor of the data as it was.

Range   IFMA: a block is below 2.5 r between the stages of DIF, below 10.6 r between those of DIT; a product by a fixed factor
        is below 2.5 r, and any product takes factors whose bounds multiply to 35 at most.
Source  D. H. Bailey, FFTs in external or hierarchical memory, 1990 (passes); C. Van Loan, Computational frameworks for the
        fast Fourier transform, 1992, sections 1.2 and 1.9 (DIT, DIF).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cuzk.field.emit import I64, Element, Emitter
from cuzk.field.fr_vector import FIXED
from cuzk.field.lanes import LANES, limb_count, operation
from cuzk.field.limbs import FR_LIMBS
from cuzk.jit import kernel, shared

GROUP = max(LANES, 4)  # columns of a block: a cache line at least
PER = GROUP // LANES  # lane vectors of a row
LIMBS = limb_count("fr")
ELEMENT = LIMBS * LANES  # words of a lane vector of elements in scratch
ROW = PER * ELEMENT  # words of a row of scratch
PACKED = FR_LIMBS * LANES  # words of a lane vector of elements in memory
LEAF = 64  # rows that are finished while they are in the first-level cache
POWERS = 64  # powers of a base that are held to make the twiddles between passes
HELD = FIXED // LIMBS  # rows of scratch that a fixed factor takes
SPARE = (POWERS + 1) * HELD + 8  # rows of scratch after the block


# Bodies. Twiddles w, w^2, w^3 come as three consecutive elements, to be broadcast; the fourth root of unity has its own.


def _twiddles(e: Emitter, pointer: Any) -> list[Element]:
    return [e.broadcast_fixed(pointer, FIXED * k) for k in range(3)]


def _dif4(e: Emitter, p: list[Any]) -> None:
    """Two levels of DIF: (x0, x1, x2, x3), a quarter of a block apart, against w^0, w^2, w^1, w^3 of their row."""
    x0, x1, x2, x3 = (e.load(q) for q in p[:4])
    w1, w2, w3 = _twiddles(e, p[4])
    y = e.mul_fixed(e.lin([x1], [x3], k=3), e.broadcast_fixed(p[5]))
    u, v, d = e.partial([x0, x2]), e.partial([x1, x3]), e.partial([x0], [x2])
    e.store(p[0], e.settle([u, v]))
    e.store(p[1], e.mul_fixed(e.lin([u], [v], k=6), w2))
    e.store(p[2], e.mul_fixed(e.lin([d, y], k=3), w1))
    e.store(p[3], e.mul_fixed(e.lin([d], [y], k=6), w3))


def _dif4_first(e: Emitter, p: list[Any]) -> None:
    """As `_dif4` for the first row, whose twiddles are 1."""
    x0, x1, x2, x3 = (e.load(q) for q in p[:4])
    y = e.mul_fixed(e.lin([x1], [x3], k=3), e.broadcast_fixed(p[4]))
    u, v, d = e.partial([x0, x2]), e.partial([x1, x3]), e.partial([x0], [x2])
    e.store(p[0], e.settle([u, v]))
    e.store(p[1], e.settle([u], [v], k=6))
    e.store(p[2], e.settle([d, y], k=3))
    e.store(p[3], e.settle([d], [y], k=6))


def _dit4(e: Emitter, p: list[Any]) -> None:
    """Two levels of DIT, the transpose of `_dif4`."""
    w1, w2, w3 = _twiddles(e, p[4])
    x0 = e.settle([e.load(p[0])])
    x1, x2, x3 = e.mul_fixed(e.load(p[1]), w2), e.mul_fixed(e.load(p[2]), w1), e.mul_fixed(e.load(p[3]), w3)
    _dit4_end(e, p, x0, x1, x2, x3, p[5])


def _dit4_first(e: Emitter, p: list[Any]) -> None:
    """As `_dit4` for the first row."""
    x0, x1, x2, x3 = (e.settle([e.load(q)]) for q in p[:4])
    _dit4_end(e, p, x0, x1, x2, x3, p[4])


def _dit4_end(e: Emitter, p: list[Any], x0: Element, x1: Element, x2: Element, x3: Element, root: Any) -> None:
    y = e.mul_fixed(e.lin([x2], [x3], k=3), e.broadcast_fixed(root))
    u, v, d = e.partial([x0, x1]), e.partial([x2, x3]), e.partial([x0], [x1])
    e.store(p[0], e.lin([u, v]))
    e.store(p[1], e.lin([d, y], k=3))
    e.store(p[2], e.lin([u], [v], k=6))
    e.store(p[3], e.lin([d], [y], k=6))


def _butterfly(e: Emitter, p: list[Any]) -> None:
    """(x, y) -> (x + y, x − y)."""
    x, y = e.load(p[0]), e.load(p[1])
    e.store(p[0], e.settle([x, y]))
    e.store(p[1], e.settle([x], [y], k=3))


def _mul(e: Emitter, p: list[Any]) -> None:
    e.store(p[0], e.mul(e.load(p[1]), e.load(p[2])))


def _scale(e: Emitter, p: list[Any]) -> None:
    """x * the broadcast w."""
    e.store(p[0], e.mul_fixed(e.load(p[0]), e.broadcast_fixed(p[1])))


def _fix(e: Emitter, p: list[Any]) -> None:
    """The fixed factor x."""
    e.store(p[0], e.fixed(e.load(p[1])))


def _twist_once(e: Emitter, p: list[Any]) -> None:
    """x * the fixed factor u."""
    e.store(p[0], e.mul_fixed(e.load(p[0]), e.load_fixed(p[1])))


def _twist(e: Emitter, p: list[Any]) -> None:
    """x * the fixed factors u and v."""
    e.store(p[0], e.mul_fixed(e.mul_fixed(e.load(p[0]), e.load_fixed(p[1])), e.load_fixed(p[2])))


def _words(e: Emitter, p: Any, first: int = 0) -> Element:
    return [e.b.load(e.b.gep(p, [I64(first + j)]), align=8) for j in range(FR_LIMBS)]


def _load_packed(e: Emitter, p: list[Any]) -> None:
    e.store(p[0], e.from_words(_words(e, p[1])))


def _load_container(e: Emitter, p: list[Any]) -> None:
    e.store(p[0], e.from_words(e.deinterleave(_words(e, p[1]))))


def _store_packed(e: Emitter, p: list[Any]) -> None:
    e.store(p[0], e.to_words(e.settle([e.load(p[1])]), FR_LIMBS))


def _store_container(e: Emitter, p: list[Any]) -> None:
    """x * the broadcast w, fully reduced, to the container."""
    x = e.reduce_once(e.reduce_once(e.mul_fixed(e.load(p[1]), e.broadcast_fixed(p[2]))))
    e.store(p[0], e.interleave(e.to_words(x, FR_LIMBS)))


def _mul_packed(e: Emitter, p: list[Any]) -> None:
    """x times the packed elements."""
    e.store(p[0], e.mul(e.load(p[0]), e.from_words(_words(e, p[1]))))


def reversed_bits(value: int, bits: int) -> int:
    """The bits of value in the opposite order."""
    return int(f"{value:0{bits}b}"[::-1], 2) if bits else 0


def _tile_rows(e: Emitter, data: Any, stride: Any) -> list[Any]:
    """Pointers to the LANES rows of a tile: lane l is the row whose number has the reversed bits of l."""
    b, bits = e.b, LANES.bit_length() - 1
    step = b.load(b.bitcast(stride, I64.as_pointer()))
    words = b.bitcast(data, I64.as_pointer())
    rows = [b.gep(words, [b.mul(step, I64(reversed_bits(lane, bits)))]) for lane in range(LANES)]
    return [b.bitcast(row, e.vector.as_pointer()) for row in rows]


def _tile(e: Emitter, data: Any, stride: Any) -> list[Element]:
    """LANES columns of LANES packed rows: an element for each column, lane l from row l."""
    rows = [_words(e, row) for row in _tile_rows(e, data, stride)]
    words = [e.transpose([row[q] for row in rows]) for q in range(FR_LIMBS)]
    return [e.from_words([w[column] for w in words]) for column in range(LANES)]


def _load_tile(e: Emitter, p: list[Any]) -> None:
    """A tile to scratch, one row for each column."""
    for column, x in enumerate(_tile(e, p[1], p[2])):
        e.store(p[0], x, first=column * LIMBS)


def _sub_tile(e: Emitter, p: list[Any]) -> None:
    """Scratch minus a tile."""
    for column, x in enumerate(_tile(e, p[1], p[2])):
        e.store(p[0], e.settle([e.load(p[0], first=column * LIMBS)], [x], k=3), first=column * LIMBS)


def _store_tile(e: Emitter, p: list[Any]) -> None:
    """The inverse of `_load_tile`."""
    columns = [e.to_words(e.settle([e.load(p[1], first=c * LIMBS)]), FR_LIMBS) for c in range(LANES)]
    words = [e.transpose([column[q] for column in columns]) for q in range(FR_LIMBS)]
    for lane, row in enumerate(_tile_rows(e, p[0], p[2])):
        e.store(row, [w[lane] for w in words])


dif4 = operation("ntt_dif4", "fr", 6, _dif4)
dif4_first = operation("ntt_dif4_first", "fr", 5, _dif4_first)
dit4 = operation("ntt_dit4", "fr", 6, _dit4)
dit4_first = operation("ntt_dit4_first", "fr", 5, _dit4_first)
butterfly = operation("ntt_butterfly", "fr", 2, _butterfly)
mul = operation("ntt_mul", "fr", 3, _mul)
scale = operation("ntt_scale", "fr", 2, _scale)
fix = operation("ntt_fix", "fr", 2, _fix)
twist_once = operation("ntt_twist_once", "fr", 2, _twist_once)
twist = operation("ntt_twist", "fr", 3, _twist)
load_packed = operation("ntt_load_packed", "fr", 2, _load_packed)
load_container = operation("ntt_load_container", "fr", 2, _load_container)
store_packed = operation("ntt_store_packed", "fr", 2, _store_packed)
store_container = operation("ntt_store_container", "fr", 3, _store_container)
mul_packed = operation("ntt_mul_packed", "fr", 2, _mul_packed)
load_tile = operation("ntt_load_tile", "fr", 3, _load_tile)
sub_tile = operation("ntt_sub_tile", "fr", 3, _sub_tile)
store_tile = operation("ntt_store_tile", "fr", 3, _store_tile)


# Transforms of a block in scratch. A table of roots is: the fourth root, then for each h ascending (1, 4, 16, … or 2, 8, 32, …)
# and each j < h the elements w^j, w^2j, w^3j with w of order 4 h. Before those of h come h − 1 or h − 2 elements of triples and
# the fourth root: h or h − 1 elements.


@shared
def _stage_dif(s: Any, first: int, h: int, roots: Any, t: int) -> None:
    for v in range(0, ROW, ELEMENT):
        a = first * ROW + v
        dif4_first(s, a, s, a + h * ROW, s, a + 2 * h * ROW, s, a + 3 * h * ROW, roots, 0)
    for j in range(1, h):
        for v in range(0, ROW, ELEMENT):
            a = (first + j) * ROW + v
            dif4(s, a, s, a + h * ROW, s, a + 2 * h * ROW, s, a + 3 * h * ROW, roots, t + 3 * j * FIXED, roots, 0)


@shared
def _stage_dit(s: Any, first: int, h: int, roots: Any, t: int) -> None:
    for v in range(0, ROW, ELEMENT):
        a = first * ROW + v
        dit4_first(s, a, s, a + h * ROW, s, a + 2 * h * ROW, s, a + 3 * h * ROW, roots, 0)
    for j in range(1, h):
        for v in range(0, ROW, ELEMENT):
            a = (first + j) * ROW + v
            dit4(s, a, s, a + h * ROW, s, a + 2 * h * ROW, s, a + 3 * h * ROW, roots, t + 3 * j * FIXED, roots, 0)


@shared
def _pairs(s: Any, first: int, stop: int) -> None:
    for row in range(first, stop, 2):
        for v in range(0, ROW, ELEMENT):
            butterfly(s, row * ROW + v, s, (row + 1) * ROW + v)


@shared
def _dif(s: Any, k: int, roots: Any) -> None:
    """Transform 2^k rows of scratch, natural to bit-reversed, depth first: a part is finished while it is in cache."""
    n, odd = 1 << k, k & 1
    leaf = min(n, LEAF)
    for first in range(0, n, leaf):
        h = n >> 2
        while h > odd:
            t = (h - odd) * FIXED
            if 4 * h > leaf:
                if first % (4 * h) == 0:
                    _stage_dif(s, first, h, roots, t)
            else:
                for part in range(first, first + leaf, 4 * h):
                    _stage_dif(s, part, h, roots, t)
            h >>= 2
        if odd:
            _pairs(s, first, first + leaf)


@shared
def _dit(s: Any, k: int, roots: Any) -> None:
    """Transform 2^k rows of scratch, bit-reversed to natural."""
    n, odd = 1 << k, k & 1
    leaf = min(n, LEAF)
    for first in range(0, n, leaf):
        if odd:
            _pairs(s, first, first + leaf)
        h = 1 + odd
        while h <= n >> 2:
            t = (h - odd) * FIXED
            if 4 * h > leaf:
                if (first + leaf) % (4 * h) == 0:
                    _stage_dit(s, first + leaf - 4 * h, h, roots, t)
            else:
                for part in range(first, first + leaf, 4 * h):
                    _stage_dit(s, part, h, roots, t)
            h <<= 2


@shared
def _reverse(value: int, bits: int) -> int:
    reversed_value = 0
    for _ in range(bits):
        reversed_value = reversed_value << 1 | value & 1
        value >>= 1
    return reversed_value


# What lies behind a block in scratch, in rows: the powers and a high power as fixed factors; base and start for DIF and DIT; the
# next power, the next high power, their ratio; a tail.
_HIGH = POWERS * HELD
_STATE = _HIGH + HELD
_NEXT, _NEXT_HIGH, _STEP, _TAIL = range(_STATE + 4, _STATE + 8)


@shared
def _advance(s: Any, state: int, lanes: Any, which: int) -> None:
    """Base and start of the next group of columns. `which`: 0 the first of this range, 1 the first of a part, 2 the next one.

    `lanes` has rows: base and start of the range's first group, those of column 0, and the factors to the next group.
    """
    for a in range(0, 2 * ROW, ELEMENT):
        if which == 2:
            mul(s, state + a, s, state + a, lanes, 4 * ROW + a)
        else:
            for i in range(ELEMENT):
                s[state + a + i] = lanes[which * 2 * ROW + a + i]


@shared
def _copy(s: Any, target: int, source: int) -> None:
    for i in range(ELEMENT):
        s[target + i] = s[source + i]


@shared
def _twist_rows(s: Any, k: int, state: int) -> None:
    """Multiply the row of bit-reversed number i by start * base^i: a table of low powers, then one high power after the other."""
    low = (k + 1) >> 1
    powers = ROW << k
    for v in range(0, ROW, ELEMENT):
        base, held = state + v, powers + v * HELD
        high, power = powers + _HIGH * ROW + v * HELD, powers + _NEXT * ROW + v
        next_high, step = powers + _NEXT_HIGH * ROW + v, powers + _STEP * ROW + v
        _copy(s, power, base + ROW)
        for e in range(1 << low):
            fix(s, held + e * HELD * ROW, s, power)
            mul(s, power, s, power, s, base)
            twist_once(s, _reverse(e, k) * ROW + v, s, held + e * HELD * ROW)
        mul(s, step, s, base, s, base)
        for _ in range(low - 1):
            mul(s, step, s, step, s, step)
        _copy(s, next_high, step)
        for f in range(1, 1 << (k - low)):
            fix(s, high, s, next_high)
            mul(s, next_high, s, next_high, s, step)
            for e in range(1 << low):
                twist(s, _reverse(e + (f << low), k) * ROW + v, s, held + e * HELD * ROW, s, high)


@shared
def _load_rows(s: Any, k: int, data: Any, first: int, stride: int, size: int) -> None:
    """GROUP columns of 2^k rows, packed (size < 0) or from a container of `size` elements, zeros after them."""
    tail = (ROW << k) + _TAIL * ROW
    for row in range(1 << k):
        element = first + row * stride
        for v in range(PER):
            target, source = row * ROW + v * ELEMENT, element * FR_LIMBS + v * PACKED
            if size < 0:
                load_packed(s, target, data, source)
            elif element + GROUP <= size:
                load_container(s, target, data, source)
            else:
                for i in range(PACKED):
                    s[tail + i] = data[source + i] if source + i < size * FR_LIMBS else np.uint64(0)
                load_container(s, target, s, tail)


DIF, DIT, DIT_MUL_DIF = range(3)


@kernel
def columns(out, data, mate, s, dif_roots, dit_roots, lanes, pre, shape, span):
    """One pass over the blocks span[0] … span[1] of columns, in place if out is data.

    shape is (k, stride, groups, size, mode): 2^k rows `stride` elements apart, `groups` blocks in each part of 2^k * stride
    elements, and data packed (size < 0) or a container of `size` elements, padded with zeros. Modes:

    DIF          x_i pre_i, DIF, times the first set of twiddles, to out (pre may be empty)
    DIT          times the second set of twiddles, DIT, to out
    DIT_MUL_DIF  as DIT, then the product of mate and the result goes through DIF

    Shape   out, data, mate: flat words; s: ((2^k) + SPARE) * ROW words; lanes: two sets of six rows; pre: 2^k elements or none
    Range   out below 2.2 r
    """
    k, stride, groups, size, mode = shape[0], shape[1], shape[2], shape[3], shape[4]
    state = (ROW << k) + _STATE * ROW
    for item in range(span[0], span[1]):
        first = (item // groups) * (stride << k) + (item % groups) * GROUP
        which = 0 if item == span[0] else 1 if item % groups == 0 else 2
        _advance(s, state, lanes[0], which)
        _advance(s, state + 2 * ROW, lanes[1], which)
        _load_rows(s, k, data, first, stride, size)
        if mode != DIF:
            _twist_rows(s, k, state + 2 * ROW)
            _dit(s, k, dit_roots)
        for a in range(PER << k):
            place = (first + (a // PER) * stride) * FR_LIMBS + (a % PER) * PACKED
            if mode == DIT_MUL_DIF:
                mul_packed(s, a * ELEMENT, mate, place)
            elif mode == DIF and pre.size > 0:
                scale(s, a * ELEMENT, pre, (a // PER) * FIXED)
        if mode != DIT:
            _dif(s, k, dif_roots)
            _twist_rows(s, k, state)
        for a in range(PER << k):
            place = (first + (a // PER) * stride) * FR_LIMBS + (a % PER) * PACKED
            store_packed(out, place, s, a * ELEMENT)


TO_CONTAINER, THERE, THERE_AND_BACK = range(3)


@kernel
def rows(out, data, mate, s, dif_roots, dit_roots, table, shape, span):
    """The last pass of DIF over groups span[0] … span[1] of rows of 2^k elements; data is packed.

    shape is (k, bits, mode, step): 2^bits rows; step is the distance in words of the rows of adjacent bit-reversed numbers in
    a group. The group g has the rows of bit-reversed numbers g GROUP …; each is transformed, and element i multiplied by
    table_i. Modes:

    TO_CONTAINER    elements, less those of mate if there is one, then times table_i, go to natural order in the container out,
                    fully reduced
    THERE           the row goes back to its place, packed, element i where mate has it
    THERE_AND_BACK  the row goes through DIT and back to its place, packed
    """
    k, bits, mode = shape[0], shape[1], shape[2]
    n = 1 << k
    for item in range(span[0], span[1]):
        for v in range(PER):
            row = _reverse(item * GROUP + v * LANES, bits)
            for c in range(0, n, LANES):
                load_tile(s, c * ROW + v * ELEMENT, data, ((row << k) + c) * FR_LIMBS, shape, 3)
        _dif(s, k, dif_roots)
        if mate.size > 0:
            for v in range(PER):
                row = _reverse(item * GROUP + v * LANES, bits)
                for c in range(0, n, LANES):
                    sub_tile(s, c * ROW + v * ELEMENT, mate, ((row << k) + c) * FR_LIMBS, shape, 3)
        for i in range(n):
            for v in range(PER):
                source = _reverse(i, k) * ROW + v * ELEMENT
                if mode == TO_CONTAINER:
                    target = ((i << bits) + item * GROUP + v * LANES) * FR_LIMBS
                    store_container(out, target, s, source, table, i * FIXED)
                else:
                    scale(s, source, table, i * FIXED)
        if mode == THERE_AND_BACK:
            _dit(s, k, dit_roots)
        if mode != TO_CONTAINER:
            for v in range(PER):
                row = _reverse(item * GROUP + v * LANES, bits)
                for c in range(0, n, LANES):
                    store_tile(out, ((row << k) + c) * FR_LIMBS, s, c * ROW + v * ELEMENT, shape, 3)
