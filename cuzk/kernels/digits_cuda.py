"""Scalars cut into digits on CUDA: signed digits for buckets, odd digits for fixed-base multiples; CPU twins in `msm_cpu`."""

from __future__ import annotations

from collections.abc import Sequence

from numba import cuda
from numba import uint32 as word_type

from cuzk import config
from cuzk.cuda import memory
from cuzk.cuda.inline import Block, inline, join, split
from cuzk.cuda.words import uint32, uint64
from cuzk.field.params import R
from cuzk.field.ptx import Code, literals
from cuzk.jit import cuda_kernel, cuda_shared
from cuzk.kernels.tree_cuda import NONE, SIGN

WORDS = 8  # of a scalar
BIASED = 9  # words of a scalar with the bias added: below 2^288
THREADS = 4 if config.cuda_simulated() else 512
HELD = (BIASED + 1) * THREADS
COUNTERS = 128 if config.cuda_simulated() else 16384  # partitions of all windows that one launch cuts
SMALLEST_WIDTH = 4

load_scalar, load_bias = memory.load(WORDS), memory.load(1)
load_word, store_word = memory.load(1), memory.store(1)
u0, u1 = uint32(0), uint32(1)


def bias(first: int, c: int, windows: int) -> int:
    """The sum of half of 2^c at each of the windows from bit `first` on: added to a scalar, it makes digits independent."""
    return sum(1 << (first + c * w + c - 1) for w in range(windows))


def _smaller_residue(code: Code, words: list[str]) -> tuple[list[str], str]:
    """Registers of the smaller of s and r − s modulo r for any s below 2^256, and of the flag that it is r − s."""
    value, spare = code.registers("v", WORDS), code.registers("t", WORDS)
    borrow = code.register("low")
    code.move(value, words)
    for modulus in (R, R):
        _keep_if_below(code, value, spare, borrow, modulus)
    code.chain("sub", spare, value, literals((R + 1) // 2, WORDS), keep=True)
    code.emit("subc.u32", borrow, "0", "0")
    code.emit("setp.eq.u32", "take", borrow, "0")
    code.chain("sub", spare, literals(R, WORDS), value)
    for target, other in zip(value, spare, strict=True):
        code.emit("selp.b32", target, other, target, "take")
    code.emit("selp.b32", borrow, "1", "0", "take")
    return value, borrow


def _keep_if_below(code: Code, value: list[str], spare: list[str], borrow: str, modulus: int) -> None:
    code.chain("sub", spare, value, literals(modulus, WORDS), keep=True)
    code.emit("subc.u32", borrow, "0", "0")
    code.emit("setp.eq.u32", "take", borrow, "0")
    for target, less in zip(value, spare, strict=True):
        code.emit("selp.b32", target, less, target, "take")


def biased() -> Block:
    """(scalar, bias) ↦ the smaller residue plus the bias, 9 words, and whether it is negated. Range: any scalar below 2^256."""
    code = Code(BIASED + 1, WORDS, BIASED)
    value, flag = _smaller_residue(code, code.argument(0))
    total = code.registers("s", BIASED)
    code.chain("add", total, [*value, "0"], code.argument(1))
    code.move(code.result, [*total, flag])
    return code.block()


def biased_meaning(scalar: Sequence[int], offset: Sequence[int]) -> tuple[int, ...]:
    """What `biased` computes, on integers."""
    s = join(scalar) % R
    negative = s > R // 2
    return (*split((R - s if negative else s) + join(offset), BIASED), int(negative))


_biased = inline(biased().text, ("u32", BIASED + 1), [("u32", WORDS), ("u32", BIASED)], biased_meaning)


@cuda_shared
def _load_bias(at):
    return (
        load_word(at),
        load_word(uint64(at + uint64(4))),
        load_word(uint64(at + uint64(8))),
        load_word(uint64(at + uint64(12))),
        load_word(uint64(at + uint64(16))),
        load_word(uint64(at + uint64(20))),
        load_word(uint64(at + uint64(24))),
        load_word(uint64(at + uint64(28))),
        load_word(uint64(at + uint64(32))),
    )


@cuda_shared
def _keep(held, thread, words):
    """Put words where their place may be computed: column `thread` of shared memory, with a zero below."""
    held[uint32(thread)] = words[0]
    held[uint32(thread + uint32(THREADS))] = words[1]
    held[uint32(thread + uint32(2 * THREADS))] = words[2]
    held[uint32(thread + uint32(3 * THREADS))] = words[3]
    held[uint32(thread + uint32(4 * THREADS))] = words[4]
    held[uint32(thread + uint32(5 * THREADS))] = words[5]
    held[uint32(thread + uint32(6 * THREADS))] = words[6]
    held[uint32(thread + uint32(7 * THREADS))] = words[7]
    held[uint32(thread + uint32(8 * THREADS))] = words[8]
    held[uint32(thread + uint32(9 * THREADS))] = u0


@cuda_shared
def _window(held, thread, position, mask):
    """The bits of a kept number from a position on."""
    at = uint32(uint32(uint32(position >> uint32(5)) * uint32(THREADS)) + thread)
    pair = uint64(uint64(held[at]) | uint64(uint64(held[uint32(at + uint32(THREADS))]) << uint64(32)))
    return uint32(uint32(uint64(pair >> uint64(position & uint32(31))) & uint64(0xFFFFFFFF)) & mask)


@cuda_kernel(threads=THREADS, dynamic_shared=4 * (HELD + COUNTERS))
def signed_digits(scalars_canon, n, c, first, count, low, apart, bias_words, digits, totals):
    """Signed digits of `count` windows of c bits from bit `first` on, and how many fall into each partition of buckets.

    digits[w][i] is |digit| − 1, the bucket, with the sign in bit 31, or NONE for 0. A partition is all buckets that agree
    above their `low` lowest bits; partitions of window w count from w `apart`. `totals` is added to. s = ± the sum over all
    windows of digit 2^first, |digit| <= 2^(c − 1); widths may differ, and the bias says them all.

    Shape   scalars uint32[n, 8], bias uint32[9], digits uint32[count, n], totals uint32[partitions], at most COUNTERS
    Range   any scalar below 2^256, taken modulo r; 4 <= c, all windows together 255 to 288 bits
    Cost    reads 32 bytes, writes 4 count bytes a scalar
    """
    held = cuda.shared.array(0, word_type)  # words of scalars, then the counters of partitions
    thread, step = uint32(cuda.threadIdx.x), uint32(uint32(cuda.gridDim.x) * uint32(THREADS))
    half, mask = uint32(u1 << uint32(uint32(c) - u1)), uint32(uint32(u1 << uint32(c)) - u1)
    used = uint32(uint32(apart) * uint32(count))
    k = thread
    while k < used:
        held[uint32(uint32(HELD) + k)] = u0
        k = uint32(k + uint32(THREADS))
    cuda.syncthreads()
    offset = _load_bias(bias_words)
    i = uint32(uint32(uint32(cuda.blockIdx.x) * uint32(THREADS)) + thread)
    while i < uint32(n):
        words = _biased(load_scalar(uint64(scalars_canon + uint64(i) * uint64(32))), offset)
        _keep(held, thread, words)
        negated = words[BIASED]
        at = uint64(digits + uint64(i) * uint64(4))
        w = u0
        while w < uint32(count):
            v = _window(held, thread, uint32(uint32(first) + uint32(w * uint32(c))), mask)
            digit = uint32(NONE)
            if v != half:
                sign = negated
                bucket = uint32(uint32(v - half) - u1)
                if v < half:
                    sign = uint32(negated ^ u1)
                    bucket = uint32(uint32(half - v) - u1)
                digit = uint32(bucket | uint32(sign << uint32(31)))
                place = uint32(uint32(w * uint32(apart)) + uint32(bucket >> uint32(low)))
                cuda.atomic.add(held, uint32(uint32(HELD) + place), u1)
            store_word(at, digit)
            at = uint64(at + uint64(n) * uint64(4))
            w = uint32(w + u1)
        i = uint32(i + step)
    cuda.syncthreads()
    k = thread
    while k < used:
        total = held[uint32(uint32(HELD) + k)]
        if total != u0:
            memory.atomic_add(uint64(totals + uint64(k) * uint64(4)), total)
        k = uint32(k + uint32(THREADS))


def halved_odd() -> Block:
    """(scalar, top) ↦ s' >> 1 plus top, 9 words, and whether s' is −s, where s' is the odd one of s and r − s modulo r."""
    code = Code(BIASED + 1, WORDS, BIASED)
    value, spare, borrow = code.registers("v", WORDS), code.registers("t", WORDS), code.register("low")
    code.move(value, code.argument(0))
    for modulus in (R, R):
        _keep_if_below(code, value, spare, borrow, modulus)
    code.emit("and.b32", borrow, value[0], "1")
    code.emit("setp.eq.u32", "take", borrow, "0")
    code.chain("sub", spare, literals(R, WORDS), value)
    for target, other in zip(value, spare, strict=True):
        code.emit("selp.b32", target, other, target, "take")
    code.emit("selp.b32", borrow, "1", "0", "take")
    for i in range(WORDS):
        code.emit("shr.u32", spare[i], value[i], "1")
        if i + 1 < WORDS:
            code.emit("shl.b32", value[i], value[i + 1], "31")
            code.emit("or.b32", spare[i], spare[i], value[i])
    total = code.registers("s", BIASED)
    code.chain("add", total, [*spare, "0"], code.argument(1))
    code.move(code.result, [*total, borrow])
    return code.block()


def halved_odd_meaning(scalar: Sequence[int], top: Sequence[int]) -> tuple[int, ...]:
    """What `halved_odd` computes, on integers."""
    s = join(scalar) % R
    even = s % 2 == 0
    return (*split(((R - s if even else s) >> 1) + join(top), BIASED), int(even))


_halved_odd = inline(halved_odd().text, ("u32", BIASED + 1), [("u32", WORDS), ("u32", BIASED)], halved_odd_meaning)


@cuda_kernel(threads=THREADS)
def odd_digits(scalars_canon, n, c, windows, top_words, references, capacity):
    """References of fixed-base multiples: s = ± sum of digit_w 2^(c w) with odd digits, |digit_w| < 2^c, never 0.

    The digit ±(2 t + 1) of window w refers to row w 2^(c − 1) + t of the table, with its sign in bit 31. References stand in
    pairs of windows: those of windows 2 j and 2 j + 1 of scalar i at 2 (j capacity + i), the last window alone with NONE.

    Shape   scalars uint32[n, 8], n at most `capacity`; references uint32[ceil(windows/2), capacity, 2]; top_words uint32[9]:
            2^(c windows − 1)
    Range   any scalar below 2^256, taken modulo r; c windows >= 255
    Cost    reads 32 bytes, writes 4 windows bytes a scalar

    An odd number below 2^L is the sum over j < L of s_j 2^j with all s_j = ±1, s_j > 0 if bit j + 1 is set and s_(L−1) = 1.
    """
    held = cuda.shared.array(HELD, word_type)
    thread, step = uint32(cuda.threadIdx.x), uint32(uint32(cuda.gridDim.x) * uint32(THREADS))
    half, mask = uint32(u1 << uint32(uint32(c) - u1)), uint32(uint32(u1 << uint32(c)) - u1)
    top = _load_bias(top_words)
    i = uint32(uint32(uint32(cuda.blockIdx.x) * uint32(THREADS)) + thread)
    while i < uint32(n):
        words = _halved_odd(load_scalar(uint64(scalars_canon + uint64(i) * uint64(32))), top)
        _keep(held, thread, words)
        w = u0
        while w < uint32(windows):
            v = _window(held, thread, uint32(w * uint32(c)), mask)
            sign = words[BIASED]
            t = uint32(v - half)
            if v < half:
                sign = uint32(sign ^ u1)
                t = uint32(uint32(half - u1) - v)
            row = uint32(uint32(w << uint32(uint32(c) - u1)) + t)
            place = uint64(uint64(uint64(uint32(w >> u1)) * uint64(capacity) + uint64(i)) * uint64(2) + uint64(uint32(w & u1)))
            store_word(uint64(references + place * uint64(4)), uint32(row | uint32(sign << uint32(31))))
            w = uint32(w + u1)
        if w & u1:
            place = uint64(uint64(uint64(uint32(w >> u1)) * uint64(capacity) + uint64(i)) * uint64(2) + uint64(1))
            store_word(uint64(references + place * uint64(4)), uint32(NONE))
        i = uint32(i + step)


assert SIGN == 1 << 31
