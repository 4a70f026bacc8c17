"""Rows of a constraint system on a card: A·z, B·z, C·z from a witness there, a block a segment (`kernels.levels`)."""

from __future__ import annotations

import numba
from numba import cuda

from cuzk import config
from cuzk.cuda import memory
from cuzk.cuda.constants import constants
from cuzk.cuda.words import uint32, uint64
from cuzk.field import fr_cuda as fr
from cuzk.jit import cuda_kernel, cuda_shared
from cuzk.kernels.flat import PATTERN_B, PATTERN_C, PATTERN_VALUES
from cuzk.kernels.levels import (
    AT_ROW,
    ELEMS,
    FORM,
    GENERAL,
    GENERAL_ROWS,
    INPUTS,
    NONE,
    PORT_ELEMS,
    ROW,
    ROWS,
    SEG_ROW,
    SEG_VARIANT,
    SHORT_FORMS,
)
from cuzk.kernels.program_cuda import SHARED
from cuzk.kernels.segment_cuda import (
    THREADS,
    bits_base,
    byte_at,
    elem_at,
    gather_own_bits,
    gather_own_elems,
    gather_ports,
    load_4_static,
    load_8_static,
    load_byte,
    load_shared,
    load_static,
    record_at,
    store_shared,
    word_at,
)

# Shared memory of a block for rows of bits: so many blocks a multiprocessor that stores never wait.
PATTERN_SHARED = 28 << 10
LANES = 4 if config.cuda_simulated() else 8  # threads that share a linear form
_ZERO = constants([0] * fr.LIMBS)
_load_constant, _store, _shared_address = fr.load_constant, fr.store, memory.shared_address
_store_piece, _load_piece = memory.store(4), memory.load(4, constant=True)
_mul, _add, _sub = fr.mul, fr.add, fr.sub
word_type = numba.uint32
u0, u1, u16, u0xffff = uint32(0), uint32(1), uint32(16), uint32(0xFFFF)


@cuda_shared
def _gather_bits(base, elems, held, variant, segment, stamp, ports, bits, values, inputs, thread):
    """A segment's bits and ports."""
    gather_own_bits(base, elems, variant, segment, stamp, bits, thread)
    cuda.syncthreads()
    gather_ports(base, held, variant, segment, stamp, ports, bits, values, inputs, thread)


@cuda_shared
def _records(chosen, segments, stamps, variants):
    """The block's stamp, its segment, and the two halves of the segment's variant, the second about its rows."""
    stamp = load_8_static(record_at(stamps, uint32(cuda.blockIdx.y), 32))
    segment = load_8_static(record_at(segments, load_static(word_at(chosen, uint32(cuda.blockIdx.x))), 32))
    variant = load_8_static(record_at(variants, segment[SEG_VARIANT], 64))
    places = load_8_static(uint64(record_at(variants, segment[SEG_VARIANT], 64) + uint64(32)))
    return stamp, segment, variant, places


@cuda_shared
def _two(held, x):
    """Two bits whose slots stand in one word."""
    low, high = load_byte(byte_at(held, uint32(x & u0xffff))), load_byte(byte_at(held, uint32(x >> u16)))
    return uint32(low | uint32(high << u1))


@cuda_kernel(threads=THREADS, dynamic_shared=PATTERN_SHARED)
def pattern_rows(chosen, segments, ports, stamps, variants, rows, patterns, pattern_values, bits, values, inputs, a, b, c):
    """Rows of bits of segment chosen[blockIdx.x] in stamp blockIdx.y; rows of the zero pattern are left alone.

    Shape   tables as `levels.RowItems`; bits packed; a, b, c Fr[·]
    Domain  Montgomery
    Cost    96 bytes written a row, by two neighbouring threads each half of an element; no field operation
    """
    shared = cuda.shared.array(0, word_type)
    base = _shared_address(shared)
    thread = uint32(cuda.threadIdx.x)
    stamp, segment, variant, places = _records(chosen, segments, stamps, variants)
    elems = uint32(u1 + variant[PORT_ELEMS])
    held = bits_base(base, elems, variant, segment, stamp)
    _gather_bits(base, elems, held, variant, segment, stamp, ports, bits, values, inputs, thread)
    cuda.syncthreads()
    first, to = places[ROW - 8], uint32(stamp[AT_ROW] + segment[SEG_ROW])
    half = uint64(uint64(thread & u1) << uint64(4))
    i, n, step = uint32(thread >> u1), places[ROWS - 8], uint32(THREADS // 2)
    record = load_4_static(record_at(rows, uint32(first + i), 16))
    while i < n:
        ahead = load_4_static(record_at(rows, uint32(uint32(first + i) + step), 16))
        pattern = uint32(record[3] >> u16)
        if pattern != u0:
            third, fifth = record[1], record[2]
            x = uint32(_two(held, record[0]) | uint32(load_byte(byte_at(held, uint32(third & u0xffff))) << uint32(2)))
            y = load_byte(byte_at(held, uint32(third >> u16)))
            z = uint32(_two(held, fifth) | uint32(load_byte(byte_at(held, uint32(record[3] & u0xffff))) << uint32(2)))
            row = uint32(pattern * uint32(PATTERN_VALUES))
            x = load_static(word_at(patterns, uint32(row + x)))
            y = load_static(word_at(patterns, uint32(uint32(row + uint32(PATTERN_B)) + y)))
            z = load_static(word_at(patterns, uint32(uint32(row + uint32(PATTERN_C)) + z)))
            at = uint64(record_at(half, uint32(to + i), fr.BYTES))
            _store_piece(uint64(a + at), _load_piece(uint64(pattern_values + uint64(half + uint64(x)))))
            _store_piece(uint64(b + at), _load_piece(uint64(pattern_values + uint64(half + uint64(y)))))
            _store_piece(uint64(c + at), _load_piece(uint64(pattern_values + uint64(half + uint64(z)))))
        record = ahead
        i = uint32(i + step)


@cuda_shared
def _bit_terms(held, terms, first, end, step, coeffs, total):
    """`total` plus the coefficients of every `step`-th term whose bit is set."""
    k = first
    while k < end:
        x = load_static(word_at(terms, k))
        if load_byte(byte_at(held, uint32(x & u0xffff))) != u0:
            total = _add(total, _load_constant(record_at(coeffs, uint32(x >> u16), fr.BYTES)))
        k = uint32(k + uint32(step))
    return total


@cuda_shared
def _elem_terms(base, terms, first, end, step, coeffs, total):
    """`total` plus every `step`-th element times its coefficient."""
    k = first
    while k < end:
        x = load_static(word_at(terms, k))
        value, coeff = load_shared(elem_at(base, uint32(x & u0xffff))), uint32(x >> u16)
        if coeff == u0:  # COEFF_ONE
            total = _add(total, value)
        elif coeff == u1:  # COEFF_MINUS_ONE
            total = _sub(total, value)
        else:
            total = _add(total, _mul(_load_constant(record_at(coeffs, coeff, fr.BYTES)), value))
        k = uint32(k + uint32(step))
    return total


@cuda_shared
def _part(base, held, form, lane, lanes, tables):
    """A lane's part of a linear form: every `lanes`-th of its terms, the constant with the first lane's."""
    bit_ptr, elem_ptr, const, bit_terms, elem_terms, coeffs = tables
    total, coeff = _ZERO, load_static(word_at(const, form))
    first, end = load_static(word_at(bit_ptr, form)), load_static(word_at(bit_ptr, uint32(form + u1)))
    start, stop = load_static(word_at(elem_ptr, form)), load_static(word_at(elem_ptr, uint32(form + u1)))
    if (lane == u0) & (coeff != uint32(NONE)):
        total = _load_constant(record_at(coeffs, coeff, fr.BYTES))
    total = _bit_terms(held, bit_terms, uint32(first + lane), end, lanes, coeffs, total)
    return _elem_terms(base, elem_terms, uint32(start + lane), stop, lanes, coeffs, total)


@cuda_shared
def _joined(parts, thread):
    """The sum of the parts of a form, of which this thread has the first."""
    total, k = load_shared(elem_at(parts, thread)), u1
    while k < uint32(LANES):
        total = _add(total, load_shared(elem_at(parts, uint32(thread + k))))
        k = uint32(k + u1)
    return total


@cuda_shared
def _give(a, b, c, rows, form, to, value):
    """The value of form `form` of those of general rows to its row of A·z, B·z or C·z."""
    which = uint32(form // uint32(3))
    row = load_static(word_at(rows, which))
    which = uint32(form - uint32(which * uint32(3)))
    out = uint64(a)
    if which == u1:
        out = uint64(b)
    if which == uint32(2):
        out = uint64(c)
    _store(record_at(out, uint32(to + row), fr.BYTES), value)


@cuda_kernel(threads=THREADS, dynamic_shared=SHARED)
def general_rows(
    chosen,
    segments,
    ports,
    stamps,
    variants,
    rows,
    forms,
    bit_ptr,
    elem_ptr,
    const,
    bit_terms,
    elem_terms,
    coeffs,
    bits,
    values,
    inputs,
    a,
    b,
    c,
):
    """All other rows of segment chosen[blockIdx.x] in stamp blockIdx.y, a thread a linear form of few terms, LANES one of many.

    Shape   tables as `levels.RowItems`; bits packed; values Fr[inputs + elements]; a, b, c Fr[·]
    Domain  Montgomery
    Cost    an addition for each bit term that is set, 1 M for each element term
    """
    shared = cuda.shared.array(0, word_type)
    base = _shared_address(shared)
    thread = uint32(cuda.threadIdx.x)
    stamp, segment, variant, places = _records(chosen, segments, stamps, variants)
    elems = uint32(uint32(u1 + variant[PORT_ELEMS]) + uint32(variant[INPUTS] + variant[ELEMS]))
    parts = elem_at(base, elems)
    elems = uint32(elems + uint32(THREADS))
    held = bits_base(base, elems, variant, segment, stamp)
    _gather_bits(base, elems, held, variant, segment, stamp, ports, bits, values, inputs, thread)
    gather_own_elems(base, variant, segment, stamp, values, inputs, thread)
    cuda.syncthreads()
    tables = bit_ptr, elem_ptr, const, bit_terms, elem_terms, coeffs
    to, mine = uint32(stamp[AT_ROW] + segment[SEG_ROW]), word_at(rows, places[GENERAL - 8])
    order, first = word_at(forms, uint32(places[GENERAL - 8] * uint32(3))), places[FORM - 8]
    short, n = places[SHORT_FORMS - 8], uint32(places[GENERAL_ROWS - 8] * uint32(3))
    i = thread
    while i < short:
        f = load_static(word_at(order, i))
        _give(a, b, c, mine, f, to, _part(base, held, uint32(first + f), u0, u1, tables))
        i = uint32(i + uint32(THREADS))
    lane = uint32(thread % uint32(LANES))
    while short < n:
        i, f = uint32(short + uint32(thread // uint32(LANES))), u0
        if i < n:
            f = load_static(word_at(order, i))
            store_shared(elem_at(parts, thread), _part(base, held, uint32(first + f), lane, uint32(LANES), tables))
        cuda.syncthreads()
        if (i < n) & (lane == u0):
            _give(a, b, c, mine, f, to, _joined(parts, thread))
        cuda.syncthreads()
        short = uint32(short + uint32(THREADS // LANES))
