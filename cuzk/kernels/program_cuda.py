"""Programs of templates on a card: values of new variables, a block a chain of segments, level by level (`kernels.levels`).

All stamps of a stage run side by side. Nothing is decided by values: which instructions run depends on the shape alone.
"""

from __future__ import annotations

import numba
from numba import cuda

from cuzk.cuda import memory, warp
from cuzk.cuda.constants import constants
from cuzk.cuda.words import uint32, uint64
from cuzk.field import fr_cuda as fr
from cuzk.jit import cuda_kernel, cuda_shared
from cuzk.kernels.levels import (
    AT_HINT_BIT,
    AT_HINT_ELEM,
    COPIES,
    ELEMS,
    FIRST_LEVEL,
    GROUPS,
    INPUTS,
    IS_SLOT,
    LEVELS,
    LOGIC,
    NEGATED,
    NO_PRODUCT,
    PORT_ELEMS,
    SEG_HINT_BIT,
    SEG_HINT_ELEM,
    SEG_VARIANT,
    SOLVES,
    SUMS,
    TEMPS,
    TERMS,
    WORDS,
    Copy,
    Term,
)
from cuzk.kernels.segment_cuda import (
    THREADS,
    bits_base,
    byte_at,
    elem_at,
    gather_ports,
    give_own,
    load_2_static,
    load_4_static,
    load_8_static,
    load_byte,
    load_shared,
    load_static,
    record_at,
    store_byte,
    store_shared,
    word_at,
)

# Shared memory of a block: four blocks a multiprocessor. Shapes that need more are none for a card.
SHARED = 52 << 10
_PLAIN_ONE, _ZERO = constants([1] + [0] * (fr.LIMBS - 1)), constants([0] * fr.LIMBS)
_WARP = warp.SIZE
_HINT_BITS, _HINT_ELEM = int(Copy.HINT_BITS), int(Copy.HINT_ELEM)
_CONST, _BIT, _ONE, _MINUS = int(Term.CONST), int(Term.BIT), int(Term.ONE), int(Term.MINUS)
_WORD_BYTES = 128  # 32 slots
_load_word_1, _load_word_2, _load_word_3, _load_word_4, _load_word_5, _load_word_6, _load_word_7 = (
    memory.load(1, constant=True, offset=_WORD_BYTES * k) for k in range(1, 8)
)
_ballot, _shared_address, _load, _load_constant = warp.ballot, memory.shared_address, fr.load, fr.load_constant
_mul, _add, _sub = fr.mul, fr.add, fr.sub
word_type = numba.uint32
u0, u1, u16, u31, u0xffff = uint32(0), uint32(1), uint32(16), uint32(31), uint32(0xFFFF)


@cuda_shared
def _logic_item(held, x):
    """One bit by its truth table."""
    a = load_byte(byte_at(held, uint32(x[0] & u0xffff)))
    b = load_byte(byte_at(held, uint32(x[0] >> u16)))
    c = load_byte(byte_at(held, uint32(x[1] & u0xffff)))
    index = uint32(uint32(a | uint32(b << u1)) | uint32(c << uint32(2)))
    store_byte(byte_at(held, uint32(x[1] >> u16)), uint32(uint32(x[2] >> index) & u1))


@cuda_shared
def _column(held, s):
    """One bit of a word to sum."""
    return uint32(load_byte(byte_at(held, uint32(s & u0xffff))) ^ uint32(s >> u16))


@cuda_shared
def _eight_words(held, at, lane):
    """Words `at` to `at` + 7 · 128 bytes, summed, by one warp: their slots are all asked for before the first is used."""
    total, k = uint64(0), u0
    while k < uint32(32):
        p = uint64(at + uint64(uint64(uint32(k + lane)) * uint64(4)))
        s0, s1, s2, s3 = load_static(p), _load_word_1(p), _load_word_2(p), _load_word_3(p)
        s4, s5, s6, s7 = _load_word_4(p), _load_word_5(p), _load_word_6(p), _load_word_7(p)
        b0, b1, b2, b3 = _column(held, s0), _column(held, s1), _column(held, s2), _column(held, s3)
        b4, b5, b6, b7 = _column(held, s4), _column(held, s5), _column(held, s6), _column(held, s7)
        part = uint64(uint64(uint64(_ballot(b0)) + uint64(_ballot(b1))) + uint64(uint64(_ballot(b2)) + uint64(_ballot(b3))))
        more = uint64(uint64(uint64(_ballot(b4)) + uint64(_ballot(b5))) + uint64(uint64(_ballot(b6)) + uint64(_ballot(b7))))
        total = uint64(total + uint64(uint64(part + more) << uint64(k)))
        k = uint32(k + uint32(_WARP))
    return total


@cuda_shared
def _sum_item(held, x, words, lane):
    """The bits of a constant and a sum of words, by one warp."""
    total = uint64(uint64(x[2]) | uint64(uint64(x[3]) << uint64(32)))
    w = x[5]
    while w < x[4]:
        total = uint64(total + _eight_words(held, record_at(words, w, _WORD_BYTES), lane))
        w = uint32(w + uint32(WORDS))
    k = u0
    while k < x[1]:
        i = uint32(k + lane)
        if i < x[1]:
            store_byte(byte_at(held, uint32(x[0] + i)), uint32(uint64(uint64(total >> uint64(i)) & uint64(1))))
        k = uint32(k + uint32(_WARP))


@cuda_shared
def _piece(x, which):
    """32 bits of a value: its limb `which`."""
    low = x[0]
    if which == u1:
        low = x[1]
    if which == uint32(2):
        low = x[2]
    if which == uint32(3):
        low = x[3]
    high = x[4]
    if which == uint32(5):
        high = x[5]
    if which == uint32(6):
        high = x[6]
    if which == uint32(7):
        high = x[7]
    return high if which >= uint32(4) else low


@cuda_shared
def _copy_item(base, held, x, hint_bits, hint_elems, first_bit, first_elem):
    """Hints, and bits of elements."""
    kind, count = uint32(x[0] & uint32(255)), uint32(x[0] >> u16)
    if kind == uint32(_HINT_ELEM):
        found = _load_constant(record_at(hint_elems, uint32(first_elem + x[2]), fr.BYTES))
        store_shared(elem_at(base, x[1]), found)
        return
    k = u0
    if kind == uint32(_HINT_BITS):
        while k < count:
            at = uint32(uint32(first_bit + x[2]) + k)
            word = load_static(word_at(hint_bits, uint32(at >> uint32(5))))
            store_byte(byte_at(held, uint32(x[1] + k)), uint32(uint32(word >> uint32(at & u31)) & u1))
            k = uint32(k + u1)
        return
    word = _piece(_mul(load_shared(elem_at(base, x[2])), _PLAIN_ONE), uint32(uint32(x[0] >> uint32(8)) & uint32(255)))
    while k < count:
        store_byte(byte_at(held, uint32(x[1] + k)), uint32(uint32(word >> k) & u1))
        k = uint32(k + u1)


@cuda_shared
def _term_item(base, held, x, coeffs):
    """The value of a term of a linear form."""
    kind = uint32(x[0] >> u16)
    if kind == uint32(_ONE):
        return load_shared(elem_at(base, x[1]))
    if kind == uint32(_MINUS):
        return _sub(_ZERO, load_shared(elem_at(base, x[1])))
    coeff = _load_constant(record_at(coeffs, uint32(x[0] & u0xffff), fr.BYTES))
    if kind == uint32(_CONST):
        return coeff
    if kind == uint32(_BIT):
        return coeff if load_byte(byte_at(held, x[1])) != u0 else _ZERO
    return _mul(coeff, load_shared(elem_at(base, x[1])))


@cuda_shared
def _range_sum(temps, x):
    """The sum of a range of temporary elements."""
    k, end = uint32(x & u0xffff), uint32(uint32(x & u0xffff) + uint32(x >> u16))
    total = _ZERO
    while k < end:
        total = _add(total, load_shared(elem_at(temps, k)))
        k = uint32(k + u1)
    return total


@cuda_shared
def _operand(base, temps, x):
    """A linear form of a solve: the sum of its temporary elements, or an element itself."""
    if uint32(x & uint32(IS_SLOT)) != u0:
        return load_shared(elem_at(base, uint32(x & u0xffff)))
    return _range_sum(temps, x)


@cuda_shared
def _solve_item(base, temps, x):
    """±(P · Q − S) into its slot."""
    value = _operand(base, temps, x[0])
    if uint32(x[3] & uint32(NO_PRODUCT)) == u0:
        value = _mul(value, _operand(base, temps, x[1]))
    value = _sub(value, _operand(base, temps, x[2]))
    if uint32(x[3] & uint32(NEGATED)) != u0:
        value = _sub(_ZERO, value)
    store_shared(elem_at(base, uint32(x[3] & u0xffff)), value)


@cuda_shared
def _first_step(base, temps, held, here, end, items, thread, summed):
    """Logic and sums beyond the first of this thread, and terms of a level."""
    logic, sums, words, terms, coeffs = items
    k = uint32(uint32(here[LOGIC] + thread) + uint32(THREADS))
    while k < end[LOGIC]:
        _logic_item(held, load_4_static(record_at(logic, k, 16)))
        k = uint32(k + uint32(THREADS))
    k = uint32(here[SUMS] + uint32(thread // uint32(_WARP)))
    if k < end[SUMS]:
        _sum_item(held, summed, words, uint32(thread % uint32(_WARP)))
    k = uint32(k + uint32(THREADS // _WARP))
    while k < end[SUMS]:
        _sum_item(held, load_8_static(record_at(sums, k, 32)), words, uint32(thread % uint32(_WARP)))
        k = uint32(k + uint32(THREADS // _WARP))
    k = uint32(here[TERMS] + thread)
    while k < end[TERMS]:
        value = _term_item(base, held, load_2_static(record_at(terms, k, 8)), coeffs)
        store_shared(elem_at(temps, uint32(k - here[TERMS])), value)
        k = uint32(k + uint32(THREADS))


@cuda_shared
def _later_steps(base, temps, here, end, groups, solves, thread, solved):
    """Groups and solves of a level; for all threads of the block."""
    if here[GROUPS] != end[GROUPS]:
        first, k = uint32(end[TERMS] - here[TERMS]), uint32(here[GROUPS] + thread)
        while k < end[GROUPS]:
            value = _range_sum(temps, load_static(word_at(groups, k)))
            store_shared(elem_at(temps, uint32(first + uint32(k - here[GROUPS]))), value)
            k = uint32(k + uint32(THREADS))
        cuda.syncthreads()
    if here[SOLVES] != end[SOLVES]:
        k = uint32(here[SOLVES] + thread)
        if k < end[SOLVES]:
            _solve_item(base, temps, solved)
        k = uint32(k + uint32(THREADS))
        while k < end[SOLVES]:
            _solve_item(base, temps, load_4_static(record_at(solves, k, 16)))
            k = uint32(k + uint32(THREADS))
        cuda.syncthreads()


@cuda_shared
def _first_items(here, logic, sums, solves, thread):
    """The first items of a level that this thread has, or some behind them."""
    return (
        load_4_static(record_at(logic, uint32(here[LOGIC] + thread), 16)),
        load_8_static(record_at(sums, uint32(here[SUMS] + uint32(thread // uint32(_WARP))), 32)),
        load_4_static(record_at(solves, uint32(here[SOLVES] + thread), 16)),
    )


@cuda_kernel(threads=THREADS, dynamic_shared=SHARED)
def run_chains(
    first_chain,
    chain_ptr,
    chains,
    segments,
    ports,
    stamps,
    variants,
    levels,
    logic,
    sums,
    words,
    copies,
    terms,
    groups,
    solves,
    coeffs,
    hint_bits,
    hint_elems,
    bits,
    values,
    inputs,
):
    """The variables of the segments of chain first_chain + blockIdx.x in stamp blockIdx.y, segment after segment.

    Shape   tables as `levels.Items` and `Stages`; hint_bits packed, uint32; hint_elems Fr[·]; bits packed, zero before; values
            Fr[inputs + elements]
    Domain  Montgomery
    Alias   bits, values: read where earlier phases or this chain wrote, written where this chain's segments stand
    Cost    a table lookup for each bit; for each solve its terms, at most 1 M each, and 1 M; a level takes two barriers or so
    """
    shared = cuda.shared.array(0, word_type)
    base = _shared_address(shared)
    thread = uint32(cuda.threadIdx.x)
    items = logic, sums, words, terms, coeffs
    stamp = load_8_static(record_at(stamps, uint32(cuda.blockIdx.y), 32))
    chain = uint32(uint32(first_chain) + uint32(cuda.blockIdx.x))
    c, end = load_static(word_at(chain_ptr, chain)), load_static(word_at(chain_ptr, uint32(chain + u1)))
    while c < end:
        segment = load_8_static(record_at(segments, load_static(word_at(chains, c)), 32))
        variant = load_8_static(record_at(variants, segment[SEG_VARIANT], 64))
        elems = uint32(uint32(u1 + variant[PORT_ELEMS]) + uint32(variant[INPUTS] + variant[ELEMS]))
        temps = elem_at(base, elems)
        room = uint32(elems + variant[TEMPS])
        held = bits_base(base, room, variant, segment, stamp)
        gather_ports(base, held, variant, segment, stamp, ports, bits, values, inputs, thread)
        level = variant[FIRST_LEVEL]
        last = uint32(level + variant[LEVELS])
        here, following = load_8_static(record_at(levels, level, 32)), load_8_static(record_at(levels, uint32(level + u1), 32))
        mine, summed, solved = _first_items(here, logic, sums, solves, thread)
        cuda.syncthreads()
        while level < last:
            # What the next level starts with is on its way during this one.
            ahead = load_8_static(record_at(levels, uint32(level + uint32(2)), 32))
            then = _first_items(following, logic, sums, solves, thread)
            if uint32(here[LOGIC] + thread) < following[LOGIC]:
                _logic_item(held, mine)
            k = uint32(here[COPIES] + thread)
            first_bit = uint32(stamp[AT_HINT_BIT] + segment[SEG_HINT_BIT])
            first_elem = uint32(stamp[AT_HINT_ELEM] + segment[SEG_HINT_ELEM])
            while k < following[COPIES]:
                x = load_4_static(record_at(copies, k, 16))
                _copy_item(base, held, x, hint_bits, hint_elems, first_bit, first_elem)
                k = uint32(k + uint32(THREADS))
            _first_step(base, temps, held, here, following, items, thread, summed)
            cuda.syncthreads()
            _later_steps(base, temps, here, following, groups, solves, thread, solved)
            here, following = following, ahead
            mine, summed, solved = then
            level = uint32(level + u1)
        give_own(base, room, variant, segment, stamp, bits, values, inputs, thread)
        cuda.syncthreads()
        c = uint32(c + u1)
