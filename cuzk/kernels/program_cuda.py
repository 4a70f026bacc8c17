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
    COLUMN_BYTES,
    COPIES,
    ELEMS,
    FIRST_LEVEL,
    FLIPPED,
    INPUTS,
    IS_SLOT,
    LAST,
    LEVELS,
    LOGIC,
    MORE,
    NEGATED,
    NEW,
    NO_PRODUCT,
    PORT_ELEMS,
    PRODUCTS,
    RUN,
    SEG_HINT_BIT,
    SEG_HINT_ELEM,
    SEG_VARIANT,
    SOLVES,
    SUMS,
    TEMPS,
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
_NOTHING = constants([0] * 4)
_PLAIN_ONE, _ZERO = constants([1] + [0] * (fr.LIMBS - 1)), constants([0] * fr.LIMBS)
_WARP = warp.SIZE
_HINT_BITS, _HINT_ELEM = int(Copy.HINT_BITS), int(Copy.HINT_ELEM)
_CONST, _BIT, _ONE, _MINUS = int(Term.CONST), int(Term.BIT), int(Term.ONE), int(Term.MINUS)
_ROW_BYTES = 16 * RUN
_SUM_BYTES = 32 * COLUMN_BYTES
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
def _bit_of(held, s):
    """One bit of a word to sum, from its slot."""
    return uint32(load_byte(byte_at(held, uint32(s & uint32(FLIPPED - 1)))) ^ uint32(uint32(s >> uint32(15)) & u1))


@cuda_shared
def _eight_words(held, x, at, lane):
    """The sum of eight words, by one warp; x are the slots of this lane's bit, `at` where those of bit 0 stand."""
    total, k = uint64(0), u0
    while k < uint32(32):
        b0, b1, b2, b3 = _bit_of(held, x[0]), _bit_of(held, x[0] >> u16), _bit_of(held, x[1]), _bit_of(held, x[1] >> u16)
        b4, b5, b6, b7 = _bit_of(held, x[2]), _bit_of(held, x[2] >> u16), _bit_of(held, x[3]), _bit_of(held, x[3] >> u16)
        part = uint64(uint64(uint64(_ballot(b0)) + uint64(_ballot(b1))) + uint64(uint64(_ballot(b2)) + uint64(_ballot(b3))))
        more = uint64(uint64(uint64(_ballot(b4)) + uint64(_ballot(b5))) + uint64(uint64(_ballot(b6)) + uint64(_ballot(b7))))
        total = uint64(total + uint64(uint64(part + more) << uint64(k)))
        k = uint32(k + uint32(_WARP))
        if k < uint32(32):  # warps of the simulator are smaller
            x = load_4_static(record_at(at, uint32(k + lane), COLUMN_BYTES))
    return total


@cuda_shared
def _sum_item(held, x, slots, at, further, lane):
    """The bits of a constant and a sum of words, by one warp."""
    total = uint64(uint64(x[1]) | uint64(uint64(x[2]) << uint64(32)))
    total = uint64(total + _eight_words(held, slots, at, lane))
    k, end = uint32(x[3] & uint32(0xFFFFFF)), uint32(uint32(x[3] & uint32(0xFFFFFF)) + uint32(x[3] >> uint32(24)))
    while k < end:
        at = record_at(further, k, _SUM_BYTES)
        total = uint64(total + _eight_words(held, load_4_static(record_at(at, lane, COLUMN_BYTES)), at, lane))
        k = uint32(k + u1)
    first, width = uint32(x[0] & u0xffff), uint32(x[0] >> u16)
    k = u0
    while k < width:
        i = uint32(k + lane)
        if i < width:
            store_byte(byte_at(held, uint32(first + i)), uint32(uint64(uint64(total >> uint64(i)) & uint64(1))))
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
def _copy_item(base, held, x, hints):
    """Hints, and bits of elements."""
    hint_bits, hint_elems, first_bit, first_elem = hints
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
def _term(base, held, head, slot, coeffs):
    """The value of a term of a linear form."""
    kind = uint32(uint32(head >> u16) & uint32(255))
    if kind == uint32(_ONE):
        return load_shared(elem_at(base, slot))
    if kind == uint32(_MINUS):
        return _sub(_ZERO, load_shared(elem_at(base, slot)))
    coeff = _load_constant(record_at(coeffs, uint32(head & u0xffff), fr.BYTES))
    if kind == uint32(_CONST):
        return coeff
    if kind == uint32(_BIT):
        return coeff if load_byte(byte_at(held, slot)) != u0 else _ZERO
    return _mul(coeff, load_shared(elem_at(base, slot)))


@cuda_shared
def _product_item(base, temps, held, x, terms, coeffs):
    """A few terms of a linear form, into or onto a temporary element."""
    value = _term(base, held, x[0], uint32(x[1] & u0xffff), coeffs)
    k, end = x[2], uint32(x[2] + x[3])
    while k < end:
        y = load_2_static(record_at(terms, k, 8))
        value = _add(value, _term(base, held, y[0], y[1], coeffs))
        k = uint32(k + u1)
    to = elem_at(temps, uint32(x[1] >> u16))
    if uint32(x[0] & uint32(NEW)) == u0:
        value = _add(value, load_shared(to))
    store_shared(to, value)


@cuda_shared
def _operand(base, temps, x):
    """A linear form of a solve: the sum of its temporary elements, or an element itself."""
    if uint32(x & uint32(IS_SLOT)) != u0:
        return load_shared(elem_at(base, uint32(x & u0xffff)))
    k, end = uint32(x & u0xffff), uint32(uint32(x & u0xffff) + uint32(x >> u16))
    total = _ZERO
    while k < end:
        total = _add(total, load_shared(elem_at(temps, k)))
        k = uint32(k + u1)
    return total


@cuda_shared
def _solve_row(base, temps, at, x):
    """±(P · Q − S) into its slot, solve after solve; x is the first."""
    left = u1
    while left != u0:
        at = uint64(at + uint64(16))
        following = load_4_static(at)
        value = _operand(base, temps, x[0])
        if uint32(x[3] & uint32(NO_PRODUCT)) == u0:
            value = _mul(value, _operand(base, temps, x[1]))
        value = _sub(value, _operand(base, temps, x[2]))
        if uint32(x[3] & uint32(NEGATED)) != u0:
            value = _sub(_ZERO, value)
        store_shared(elem_at(base, uint32(x[3] & u0xffff)), value)
        left = uint32(uint32(x[3] & uint32(LAST)) ^ uint32(LAST))
        x = following


@cuda_shared
def _more(base, temps, held, here, end, items, hints, thread, product):
    """Logic and sums beyond the first of this thread, copies, and products, of which the first is there, of a level."""
    logic, sums, columns, further, copies, products, terms, coeffs = items
    k = uint32(uint32(here[LOGIC] + thread) + uint32(THREADS))
    while k < end[LOGIC]:
        _logic_item(held, load_4_static(record_at(logic, k, 16)))
        k = uint32(k + uint32(THREADS))
    warp, lane = uint32(thread // uint32(_WARP)), uint32(thread % uint32(_WARP))
    k = uint32(uint32(here[SUMS] + warp) + uint32(THREADS // _WARP))
    while k < end[SUMS]:
        at = record_at(columns, k, _SUM_BYTES)
        slots = load_4_static(record_at(at, lane, COLUMN_BYTES))
        _sum_item(held, load_4_static(record_at(sums, k, 16)), slots, at, further, lane)
        k = uint32(k + uint32(THREADS // _WARP))
    k = uint32(here[COPIES] + thread)
    while k < end[COPIES]:
        _copy_item(base, held, load_4_static(record_at(copies, k, 16)), hints)
        k = uint32(k + uint32(THREADS))
    k = uint32(here[PRODUCTS] + thread)
    if k < end[PRODUCTS]:
        _product_item(base, temps, held, product, terms, coeffs)
    k = uint32(k + uint32(THREADS))
    while k < end[PRODUCTS]:
        _product_item(base, temps, held, load_4_static(record_at(products, k, 16)), terms, coeffs)
        k = uint32(k + uint32(THREADS))


@cuda_shared
def _second_step(base, temps, here, end, solves, thread, solved):
    """Solves of a level, those beyond the first of this thread too; for all threads of the block."""
    if here[SOLVES] != end[SOLVES]:
        k = uint32(here[SOLVES] + thread)
        if k < end[SOLVES]:
            _solve_row(base, temps, record_at(solves, k, _ROW_BYTES), solved)
        k = uint32(k + uint32(THREADS))
        while k < end[SOLVES]:
            at = record_at(solves, k, _ROW_BYTES)
            _solve_row(base, temps, at, load_4_static(at))
            k = uint32(k + uint32(THREADS))
        cuda.syncthreads()


@cuda_shared
def _first_items(here, end, logic, sums, columns, products, solves, thread):
    """The first items of a level that this thread has, zeros where it has none."""
    mine, summed, slots, product, solved = _NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING
    k = uint32(here[LOGIC] + thread)
    if k < end[LOGIC]:
        mine = load_4_static(record_at(logic, k, 16))
    k = uint32(here[SUMS] + uint32(thread // uint32(_WARP)))
    if k < end[SUMS]:
        summed = load_4_static(record_at(sums, k, 16))
        slots = load_4_static(record_at(record_at(columns, k, _SUM_BYTES), uint32(thread % uint32(_WARP)), COLUMN_BYTES))
    k = uint32(here[PRODUCTS] + thread)
    if k < end[PRODUCTS]:
        product = load_4_static(record_at(products, k, 16))
    k = uint32(here[SOLVES] + thread)
    if k < end[SOLVES]:
        solved = load_4_static(record_at(solves, k, _ROW_BYTES))
    return mine, summed, slots, product, solved


@cuda_shared
def _headers(heads, levels, first, count, thread):
    """The headers of `count` levels from `first` on into shared memory."""
    k = thread
    while k < count:
        store_shared(elem_at(heads, k), load_8_static(record_at(levels, uint32(first + k), 32)))
        k = uint32(k + uint32(THREADS))


@cuda_kernel(threads=THREADS, blocks=3, dynamic_shared=SHARED)
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
    columns,
    further,
    copies,
    products,
    terms,
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
    Cost    a table lookup for each bit; for each solve its terms, at most 1 M each, and 1 M; one or two barriers a level
    """
    shared = cuda.shared.array(0, word_type)
    base = _shared_address(shared)
    thread = uint32(cuda.threadIdx.x)
    items = logic, sums, columns, further, copies, products, terms, coeffs
    warp, lane = uint32(thread // uint32(_WARP)), uint32(thread % uint32(_WARP))
    stamp = load_8_static(record_at(stamps, uint32(cuda.blockIdx.y), 32))
    chain = uint32(uint32(first_chain) + uint32(cuda.blockIdx.x))
    c, end = load_static(word_at(chain_ptr, chain)), load_static(word_at(chain_ptr, uint32(chain + u1)))
    while c < end:
        segment = load_8_static(record_at(segments, load_static(word_at(chains, c)), 32))
        variant = load_8_static(record_at(variants, segment[SEG_VARIANT], 64))
        elems = uint32(uint32(u1 + variant[PORT_ELEMS]) + uint32(variant[INPUTS] + variant[ELEMS]))
        temps = elem_at(base, elems)
        # Headers come from shared memory: what all threads load from afar, all wait for at once.
        heads, count = elem_at(temps, variant[TEMPS]), uint32(variant[LEVELS] + u1)
        room = uint32(uint32(uint32(elems + variant[TEMPS]) + count) + u1)
        _headers(heads, levels, variant[FIRST_LEVEL], uint32(count + u1), thread)
        held = bits_base(base, room, variant, segment, stamp)
        gather_ports(base, held, variant, segment, stamp, ports, bits, values, inputs, thread)
        first_bit = uint32(stamp[AT_HINT_BIT] + segment[SEG_HINT_BIT])
        hints = hint_bits, hint_elems, first_bit, uint32(stamp[AT_HINT_ELEM] + segment[SEG_HINT_ELEM])
        cuda.syncthreads()
        here, following, level = load_shared(heads), load_shared(elem_at(heads, u1)), u1
        mine, summed, slots, product, solved = _first_items(here, following, logic, sums, columns, products, solves, thread)
        while level < count:
            # What the next level starts with is on its way during this one.
            after = load_shared(elem_at(heads, uint32(level + u1)))
            then = _first_items(following, after, logic, sums, columns, products, solves, thread)
            if uint32(here[LOGIC] + thread) < following[LOGIC]:
                _logic_item(held, mine)
            k = uint32(here[SUMS] + warp)
            if k < following[SUMS]:
                _sum_item(held, summed, slots, record_at(columns, k, _SUM_BYTES), further, lane)
            if here[MORE] != u0:
                _more(base, temps, held, here, following, items, hints, thread, product)
            cuda.syncthreads()
            _second_step(base, temps, here, following, solves, thread, solved)
            here, following = following, after
            mine, summed, slots, product, solved = then
            level = uint32(level + u1)
        give_own(base, room, variant, segment, stamp, bits, values, inputs, thread)
        cuda.syncthreads()
        c = uint32(c + u1)
