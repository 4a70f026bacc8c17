"""Sums of many affine points: pairwise trees of additions that share inversions (batch-affine addition).

`tree(curve)` is one compiled kernel. It is given *groups*: LANES runs of equally many entries, one run a lane, interleaved. An
entry names a row and a sign. The kernel sums each run as a binary tree, level by level; the additions of a block share one
inversion by Montgomery's trick (product of all denominators forward, single inverses backward), so an affine addition costs
5 M + 1 S. Each group's sums go to the rows that `dest` names.

Rows are affine points: x then y in the limbs of this path's lanes, Montgomery, below 2p (IFMA) or p; infinity is all zeros.
Slots are LANES points in lane layout. A block in which a denominator is 0 (equal or opposite points), or whose operands may be
infinite, is done again on a rare path that classifies each lane. No point has y = 0 (the group orders are odd), so that infinity
is told by y, and doubling never divides by 0.

Bounds: with B the bound of a product, a sum has x < (2 BX + B) p and |y| < (2 BY + B) p where BX, BY are its operands' bounds;
the table of constants gives each level the multiples of p that keep its differences positive.

Source  Montgomery's trick: Cohen, A Course in Computational Algebraic Number Theory, algorithm 10.3.4.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from llvmlite import ir

from cuzk import pages
from cuzk.field import lanes
from cuzk.field.coordinates import BOUNDS, DEGREES, Coordinates, coordinates
from cuzk.field.emit import I32, I64, Emitter, function_in
from cuzk.field.lanes import LANES
from cuzk.field.limbs import U64
from cuzk.field.params import P
from cuzk.jit import kernel, shared
from cuzk.kernels.inverse_cpu import inverse

FP_WORDS = lanes.limb_count("fp")
BLOCK = 1024 // LANES  # additions of a lane that share an inversion, first level
LATER_BLOCK = 4096 // LANES  # ... later levels
RUN = 512  # longest run
PREFETCH = 8 if LANES > 1 else 4  # additions ahead
ENTRY_PADDING = 2 * LANES * (PREFETCH + 1)  # entries that may be read (not used) past the last
_LEVELS, _CONSTANTS = 12, 6

SAME, OPPOSITE, FIRST_INFINITE, SECOND_INFINITE = 1, 2, 3, 4


def row_words(curve: str) -> int:
    """64-bit words of a row."""
    return 2 * DEGREES[curve] * FP_WORDS


def chunk(curve: str) -> int:
    """Entries of a lane that go through all levels before the next chunk starts: slots of the same size in all for each curve."""
    return 16384 // DEGREES[curve] // LANES


def level_constants(curve: str) -> U64:
    """Multiples of p for each level: BX, 2 BY, 3 BX, the sum's BX, BY, 2 BX; see the module."""
    emitter = lanes.emitter_class()
    rows = []
    x = y = 2
    for _ in range(_LEVELS):
        next_x = 2 * x + BOUNDS[curve]
        for k in (x, 2 * y, 3 * x, next_x, y, 2 * x):
            value = k * P if LANES > 1 else 0
            rows.append([(value >> (emitter.BITS * j)) & ((1 << emitter.BITS) - 1) for j in range(FP_WORDS)])
        x, y = next_x, 2 * y + BOUNDS[curve]
    return np.array(rows, np.uint64).reshape(-1)


class _Bodies:
    """What the field kernels of one curve do; each method is a body for `lanes.operation`."""

    def __init__(self, curve: str) -> None:
        self.curve = curve

    def row_bytes(self, e: Emitter) -> int:
        """Bytes of a row."""
        return 16 * self.field(e).width

    def field(self, e: Emitter) -> Coordinates:
        """The coordinate field over `e`."""
        return coordinates(self.curve, e)

    def constant(self, e: Emitter, table: Any, k: int) -> Any:
        """Constant k of a level."""
        return e.broadcast(table, k * e.limbs)

    def rows_of(self, e: Emitter, entries: Any, rows: Any) -> tuple[list[Any], list[Any]]:
        """Byte addresses and sign bits of LANES entries."""
        b = e.b
        items, base = b.bitcast(entries, I32.as_pointer()), b.ptrtoint(rows, I64)
        words = [b.load(b.gep(items, [I64(k)])) for k in range(e.LANES)]
        step = I64(self.row_bytes(e))
        addresses = [b.add(base, b.mul(b.zext(b.lshr(w, I32(1)), I64), step)) for w in words]
        return addresses, words

    def prefetch(self, e: Emitter, a: list[Any]) -> None:
        """entries, rows"""
        b, byte = e.b, ir.IntType(8).as_pointer()
        function = function_in(b.module, "llvm.prefetch.p0", ir.VoidType(), [byte, I32, I32, I32])
        for address in self.rows_of(e, a[0], a[1])[0]:
            for line in range(0, self.row_bytes(e), 64):
                b.call(function, [b.inttoptr(b.add(address, I64(line)), byte), I32(0), I32(2), I32(1)])

    def gather(self, e: Emitter, a: list[Any]) -> None:
        """entries, rows, out slot"""
        f, b = self.field(e), e.b
        addresses, words = self.rows_of(e, a[0], a[1])
        f.store(a[2], f.load_rows(addresses, 0))
        y = f.load_rows(addresses, f.width)
        if e.LANES == 1:
            odd = b.trunc(words[0], ir.IntType(1))
            negative = f.lin([], [y])
        else:
            vector = ir.VectorType(I32, e.LANES)
            bits = b.load(b.bitcast(a[0], vector.as_pointer()), align=4)
            odd = b.trunc(bits, ir.VectorType(ir.IntType(1), e.LANES))
            negative = [b.sub(e.splat(0), v) for v in y]  # limbs not carried: y is only an operand of `lin`
        f.store(a[2], f.select(odd, negative, y), f.width)

    def forward(self, e: Emitter, a: list[Any]) -> None:
        """first slot, second slot, constants, difference, prefix, product: difference = x2 - x1; product *= difference"""
        f = self.field(e)
        d = f.lin([f.load(a[1])], [f.load(a[0])], self.constant(e, a[2], 0))
        f.store(a[3], d)
        product = f.load(a[5])
        f.store(a[4], product)
        f.store(a[5], f.mul(product, d))

    def chain(self, e: Emitter, a: list[Any]) -> None:
        """difference, prefix, product: as `forward` with a given difference"""
        f = self.field(e)
        product = f.load(a[2])
        f.store(a[1], product)
        f.store(a[2], f.mul(product, f.load(a[0])))

    def backward(self, e: Emitter, a: list[Any]) -> None:
        """first slot, second slot, constants, difference, prefix, inverse, out slot (may be the first)"""
        f, w = self.field(e), self.field(e).width
        inv, d = f.load(a[5]), f.load(a[3])
        di = f.mul(inv, f.load(a[4]))
        f.store(a[5], f.mul(inv, d))
        x1, y1, y2 = f.load(a[0]), f.load(a[0], w), f.load(a[1], w)
        slope = f.mul(f.lin([y2], [y1], self.constant(e, a[2], 1)), di)
        x3 = f.lin([f.sqr(slope, f.BOUND)], [x1, x1, d], self.constant(e, a[2], 2))
        t = f.mul(slope, f.lin([x1], [x3], self.constant(e, a[2], 3)))
        f.store(a[6], x3)
        f.store(a[6], f.lin([t], [y1], self.constant(e, a[2], 4)), w)

    def classify(self, e: Emitter, a: list[Any]) -> None:
        """first slot, second slot, constants, difference, codes: the difference becomes 2y (same) or 1 (no slope needed)"""
        f, w, b = self.field(e), self.field(e).width, e.b
        y1, y2, d = f.load(a[0], w), f.load(a[1], w), f.load(a[3])
        k = [e.splat(code) for code in range(5)]
        total = f.lin([y1, y2], [], self.constant(e, a[2], 1))
        code = b.select(f.is_zero(total), k[OPPOSITE], k[SAME])
        code = b.select(f.is_zero(d), code, k[0])
        code = b.select(e.all_zero(y2), k[SECOND_INFINITE], code)
        code = b.select(e.all_zero(y1), k[FIRST_INFINITE], code)
        b.store(code, a[4], align=8)
        d = f.select(b.icmp_unsigned("==", code, k[SAME]), f.reduced(total), d)
        f.store(a[3], f.select(b.icmp_unsigned(">", code, k[SAME]), f.one(), d))

    def backward_rare(self, e: Emitter, a: list[Any]) -> None:
        """As `backward`, then codes"""
        f, w, b = self.field(e), self.field(e).width, e.b
        inv = f.load(a[5])
        di = f.mul(inv, f.load(a[4]))
        f.store(a[5], f.mul(inv, f.load(a[3])))
        code = b.load(a[7], align=8)
        case = [b.icmp_unsigned("==", code, e.splat(k)) for k in range(5)]
        x1, x2, y1, y2 = f.load(a[0]), f.load(a[1]), f.load(a[0], w), f.load(a[1], w)
        square = f.mul(x1, x1)
        rise = f.select(case[SAME], f.lin([square, square, square]), f.lin([y2], [y1], self.constant(e, a[2], 1)))
        slope = f.mul(rise, di)
        x3 = f.lin([f.sqr(slope, f.BOUND)], [x1, x2], self.constant(e, a[2], 5))
        t = f.mul(slope, f.lin([x1], [x3], self.constant(e, a[2], 3)))
        y3 = f.lin([t], [y1], self.constant(e, a[2], 4))
        for value, one, two, first in ((x3, x1, x2, 0), (y3, y1, y2, w)):
            value = f.select(case[FIRST_INFINITE], two, f.select(case[SECOND_INFINITE], one, value))
            f.store(a[6], f.select(case[OPPOSITE], f.zero(), value), first)

    def finish(self, e: Emitter, a: list[Any]) -> None:
        """slot, constants, LANES rows: reduced"""
        f, b = self.field(e), e.b
        x, y = f.load(a[0]), f.load(a[0], f.width)
        if e.LANES > 1:
            infinite = e.all_zero(y)
            y = f.reduced(f.lin([y], [], self.constant(e, a[1], 4)))
            x, y = f.reduced(x), f.select(infinite, f.zero(), y)
        base = b.ptrtoint(a[2], I64)
        addresses = [b.add(base, I64(k * self.row_bytes(e))) for k in range(e.LANES)]
        f.store_rows(addresses, 0, x)
        f.store_rows(addresses, f.width, y)

    def fold(self, e: Emitter, a: list[Any]) -> None:
        """product, partial products, norm: the norm to Fp of the product of all lanes"""
        f = self.field(e)
        x, s, k = f.load(a[0]), e.LANES // 2, 0
        while s:
            other = f.rotate(x, s)
            f.store(a[1], other, k * f.width)
            x, s, k = f.mul(x, other), s // 2, k + 1
        f.store(a[1], x, k * f.width)
        e.store(a[2], f.norm(x))

    def unfold(self, e: Emitter, a: list[Any]) -> None:
        """inverse of every lane, partial products, words of 1/(norm as stored)"""
        f, k = self.field(e), e.LANES.bit_length() - 1
        # The stored norm is n R, its inverse as a plain number n^-1 R^-1; the product with R^3 is n^-1 R.
        inverse_norm = e.mul(e.broadcast(a[2]), e.const(pow(e.radix, 3, e.modulus)))
        x = f.inverse_from_norm(f.load(a[1], k * f.width), inverse_norm)
        while k:
            k -= 1
            x = f.mul(x, f.load(a[1], k * f.width))
        f.store(a[0], x)


class Workspace:
    """Scratch memory of one thread for one curve's trees."""

    def __init__(self, curve: str) -> None:
        slot = row_words(curve) * LANES
        element = slot // 2
        lanes_of_slots = chunk(curve) + 2 * RUN + 2 * BLOCK
        self.words = pages.zeros(lanes_of_slots * slot)
        self.difference, self.prefix = pages.zeros(LATER_BLOCK * element), pages.zeros(LATER_BLOCK * element)
        self.codes = np.zeros(LATER_BLOCK * LANES, np.uint64)
        self.small = np.zeros(12 * element, np.uint64)
        self.plan = np.zeros((5, chunk(curve) + 2 * RUN), np.int64)
        self.numbers = np.zeros((6, 16), np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the kernel takes."""
        return self.words, self.difference, self.prefix, self.codes, self.small, self.plan, self.numbers


@shared
def _next_level(plan, groups, slot_words):
    """Plan additions of a later level: the second half of a group's slots to the first. Returns how many additions."""
    left, right, into, start, live = plan[0], plan[1], plan[2], plan[3], plan[4]
    ops = 0
    for g in range(groups):
        half = live[g] >> 1
        rest = live[g] - half
        for j in range(half):
            into[ops] = start[g] + j
            left[ops] = into[ops] * slot_words
            right[ops] = (start[g] + rest + j) * slot_words
            ops += 1
        live[g] = rest
    return ops


@functools.cache
def tree(curve: str) -> Any:
    """The kernel `tree(out, dest, entries, first, length, rows, infinite, constants, work) -> flags` of a curve.

    Meaning  out[dest[LANES g + l]] = sum over j < length[g] of ± rows[entries[first[g] + LANES j + l] >> 1]; the sign is the low
             bit; negative destinations are dropped.
    Shape    out, rows: flat uint64, rows of `row_words`; dest int64[LANES n]; entries uint32 with ENTRY_PADDING more at the
             end, first[g] a multiple of LANES; first, length int64[n], 1 <= length <= RUN.
    Range    rows below 2p; `infinite`: whether a row may be infinity (slow path for all, else an infinite row is wrong).
    Alias    out may be rows if no destination is among the rows read.
    Returns  bit 0: a sum may be infinity; bits 1 and up: how many blocks took the rare path.
    Cost     5 M + 1 S an addition, an inversion a block.
    """
    bodies = _Bodies(curve)

    def operation(name: str, pointers: int) -> Any:
        return lanes.operation(f"tree_{name}_{curve}", "fp", pointers, getattr(bodies, name))

    prefetch, gather, forward = operation("prefetch", 2), operation("gather", 3), operation("forward", 6)
    chain, backward, classify = operation("chain", 3), operation("backward", 7), operation("classify", 5)
    backward_rare, finish = operation("backward_rare", 8), operation("finish", 3)
    fold, unfold = operation("fold", 3), operation("unfold", 3)
    SLOT, ELEMENT, ROW = row_words(curve) * LANES, row_words(curve) * LANES // 2, row_words(curve)
    LEVEL = _CONSTANTS * FP_WORDS
    CHUNK = chunk(curve)
    PAIRS = (CHUNK + 2 * RUN) * SLOT
    NORM = ELEMENT * 6

    @kernel(variant=curve)
    def tree_kernel(out, dest, entries, first, length, rows, infinite, constants, one, work):
        slots, difference, prefix, codes, small, plan, numbers = work
        left, right, into, start, live = plan[0], plan[1], plan[2], plan[3], plan[4]
        flags = 0
        groups = first.shape[0]
        g0 = 0
        while g0 < groups:
            # Plan the first level of a chunk: pairs of entries; the odd one out goes to a slot as it is.
            g1, slot, ops, taken = g0, 0, 0, 0
            while g1 < groups and (g1 == g0 or taken + length[g1] <= CHUNK):
                m, o = length[g1], first[g1]
                half = m >> 1
                start[g1 - g0] = slot
                for j in range(half):
                    left[ops] = o + 2 * LANES * j
                    into[ops] = slot + j
                    ops += 1
                if m & 1:
                    gather(entries, o + LANES * (m - 1), rows, 0, slots, (slot + half) * SLOT)
                live[g1 - g0] = half + (m & 1)
                slot += half + (m & 1)
                taken += m
                g1 += 1
            level, rare_only = 0, infinite
            while ops:
                K = level * LEVEL
                v0 = 0
                while v0 < ops:
                    v1 = min(ops, v0 + (LATER_BLOCK if level else BLOCK))
                    for j in range(ELEMENT):
                        small[j] = one[j]
                    for v in range(v0, v1):
                        e = (v - v0) * ELEMENT
                        if level == 0:
                            prefetch(entries, left[v] + 2 * LANES * PREFETCH, rows, 0)
                            prefetch(entries, left[v] + 2 * LANES * PREFETCH + LANES, rows, 0)
                            a = PAIRS + 2 * (v - v0) * SLOT
                            gather(entries, left[v], rows, 0, slots, a)
                            gather(entries, left[v] + LANES, rows, 0, slots, a + SLOT)
                            left[v], right[v] = a, a + SLOT
                        forward(slots, left[v], slots, right[v], constants, K, difference, e, prefix, e, small, 0)
                    fold(small, 0, small, 2 * ELEMENT, small, NORM)
                    rare = rare_only
                    if not rare and not inverse(small, NORM, numbers):
                        rare = True
                    if rare:
                        flags += 2
                        for j in range(ELEMENT):
                            small[j] = one[j]
                        for v in range(v0, v1):
                            e = (v - v0) * ELEMENT
                            c = (v - v0) * LANES
                            classify(slots, left[v], slots, right[v], constants, K, difference, e, codes, c)
                            chain(difference, e, prefix, e, small, 0)
                            for l in range(LANES):
                                if codes[c + l] > np.uint64(SAME):
                                    rare_only = True
                                    flags |= 1
                        fold(small, 0, small, 2 * ELEMENT, small, NORM)
                        inverse(small, NORM, numbers)
                    unfold(small, ELEMENT, small, 2 * ELEMENT, small, NORM)
                    for v in range(v1 - 1, v0 - 1, -1):
                        e = (v - v0) * ELEMENT
                        s = into[v] * SLOT
                        if rare:
                            c = (v - v0) * LANES
                            backward_rare(
                                slots,
                                left[v],
                                slots,
                                right[v],
                                constants,
                                K,
                                difference,
                                e,
                                prefix,
                                e,
                                small,
                                ELEMENT,
                                slots,
                                s,
                                codes,
                                c,
                            )
                        else:
                            backward(
                                slots, left[v], slots, right[v], constants, K, difference, e, prefix, e, small, ELEMENT, slots, s
                            )
                    v0 = v1
                level += 1
                ops = _next_level(plan, g1 - g0, SLOT)
            for g in range(g1 - g0):
                finish(slots, start[g] * SLOT, constants, level * LEVEL, small, 0)
                for l in range(LANES):
                    r = dest[(g0 + g) * LANES + l]
                    if r >= 0:
                        for j in range(ROW):
                            out[r * ROW + j] = small[l * ROW + j]
            g0 = g1
        return flags

    return tree_kernel
