"""One segment in shared memory, for kernels that walk the levelled form of a shape (`kernels.levels`).

Elements lie in front, 32 bytes each, then room for temporary ones, then bits, a byte each. The bits stand so that the segment's
own start at the place that they have in their word of the witness: 32 bytes in a row are one word of it.
"""

from __future__ import annotations

from cuzk import config
from cuzk.circuits.template import INDEX_MASK
from cuzk.cuda import memory
from cuzk.cuda.constants import constants
from cuzk.cuda.words import shared_word, uint32, uint64
from cuzk.field import fr_cuda as fr
from cuzk.field.limbs import FR_RADIX
from cuzk.field.params import R
from cuzk.jit import cuda_shared
from cuzk.kernels.flat import FIRST_BIT, FIRST_ELEM
from cuzk.kernels.levels import (
    AT_BIT,
    AT_ELEM,
    AT_INPUT,
    BITS,
    ELEMS,
    INPUTS,
    PORT_BITS,
    PORT_ELEMS,
    PORT_IS_ELEM,
    PORT_OF_PROLOGUE,
    SEG_BIT,
    SEG_ELEM,
    SEG_INPUT,
    SEG_PORT,
)

THREADS = 8 if config.cuda_simulated() else 256
PAD = 64  # bytes of bits beyond the slots
_MONT_ONE = constants([(FR_RADIX % R) >> (32 * i) & 0xFFFFFFFF for i in range(fr.LIMBS)])
_BYTES_ONE, _NIBBLE = 0x01010101, 15

load_word, load_static, load_word_relaxed = memory.load(1), memory.load(1, constant=True), memory.load_relaxed(1)
load_8_static, load_4_static, load_2_static = (memory.load(n, constant=True) for n in (8, 4, 2))
load_byte, store_byte = memory.load_byte, memory.store_byte
load_shared, store_shared = memory.load_shared(fr.LIMBS), memory.store_shared(fr.LIMBS)
_store_word, _atomic_add, _load, _store = memory.store(1), memory.atomic_add, fr.load, fr.store


@cuda_shared
def word_at(base, index):
    """Address of word `index` of an array."""
    return uint64(base + uint64(index) * uint64(4))


@cuda_shared
def record_at(base, index, size):
    """Address of record `index` of `size` bytes."""
    return uint64(base + uint64(index) * uint64(size))


@cuda_shared
def elem_at(base, slot):
    """Address in shared memory of an element."""
    return shared_word(base + shared_word(uint32(slot << uint32(5))))


@cuda_shared
def byte_at(base, slot):
    """Address in shared memory of a bit."""
    return shared_word(base + shared_word(slot))


@cuda_shared
def bits_base(base, elems, variant, segment, stamp):
    """Where slot 0 of the bits stands, behind `elems` elements."""
    first = uint32(stamp[AT_BIT] + segment[SEG_BIT])
    shift = uint32(uint32(first - uint32(uint32(FIRST_BIT) + variant[PORT_BITS])) & uint32(31))
    return byte_at(elem_at(base, elems), shift)


@cuda_shared
def _own_words(base, elems, variant, segment, stamp):
    """Where the 32 bytes of the first word that has bits of the segment's own start."""
    first, slot = uint32(stamp[AT_BIT] + segment[SEG_BIT]), uint32(uint32(FIRST_BIT) + variant[PORT_BITS])
    shift = uint32(uint32(first - slot) & uint32(31))
    return byte_at(elem_at(base, elems), uint32(uint32(shift + slot) - uint32(first & uint32(31))))


@cuda_shared
def gather_ports(base, held, variant, segment, stamp, ports, bits, values, inputs, thread):
    """Constants and ports of a segment into shared memory: elements from `base`, bits from `held` on."""
    if thread == uint32(0):
        store_byte(held, uint32(0))
        store_byte(byte_at(held, uint32(1)), uint32(1))
        store_shared(base, _MONT_ONE)
    n_bits = variant[PORT_BITS]
    n = uint32(n_bits + variant[PORT_ELEMS])
    p = thread
    while p < n:
        ref = load_static(word_at(ports, uint32(segment[SEG_PORT] + p)))
        local, index = uint32(ref & uint32(PORT_OF_PROLOGUE)) == uint32(0), uint32(ref & uint32(INDEX_MASK))
        if uint32(ref & uint32(PORT_IS_ELEM)) != uint32(0):
            if local:
                index = uint32(index + stamp[AT_ELEM])
            slot = uint32(uint32(FIRST_ELEM) + uint32(p - n_bits))
            found = _load(record_at(values, uint32(uint32(inputs) + index), fr.BYTES))
            store_shared(elem_at(base, slot), found)
        else:
            if local:
                index = uint32(index + stamp[AT_BIT])
            word = load_word_relaxed(word_at(bits, uint32(index >> uint32(5))))
            bit = uint32(uint32(word >> uint32(index & uint32(31))) & uint32(1))
            store_byte(byte_at(held, uint32(uint32(FIRST_BIT) + p)), bit)
        p = uint32(p + uint32(THREADS))


@cuda_shared
def _spread(word, shift):
    """Four bits of a word, from `shift` on, as four bytes."""
    x = uint32(uint32(word >> uint32(shift)) & uint32(_NIBBLE))
    x = uint32(uint32(x | uint32(x << uint32(7))) | uint32(uint32(x << uint32(14)) | uint32(x << uint32(21))))
    return uint32(x & uint32(_BYTES_ONE))


@cuda_shared
def _packed(x, shift):
    """Four bytes that are 0 or 1 as four bits, from `shift` on; other bits of the bytes do not count."""
    x = uint32(x & uint32(_BYTES_ONE))
    x = uint32(uint32(x | uint32(x >> uint32(7))) | uint32(uint32(x >> uint32(14)) | uint32(x >> uint32(21))))
    return uint32(uint32(x & uint32(_NIBBLE)) << uint32(shift))


@cuda_shared
def gather_own_bits(base, elems, variant, segment, stamp, bits, thread):
    """A segment's own bits into shared memory, whole words; before its ports, which lie beside them."""
    n = variant[BITS]
    if n == uint32(0):
        return
    first = uint32(stamp[AT_BIT] + segment[SEG_BIT])
    w0, last = uint32(first >> uint32(5)), uint32(uint32(uint32(first + n) - uint32(1)) >> uint32(5))
    own, w = _own_words(base, elems, variant, segment, stamp), uint32(w0 + thread)
    while w <= last:
        x = load_static(word_at(bits, w))
        to = elem_at(own, uint32(w - w0))
        low = _spread(x, 0), _spread(x, 4), _spread(x, 8), _spread(x, 12)
        high = _spread(x, 16), _spread(x, 20), _spread(x, 24), _spread(x, 28)
        store_shared(to, (low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]))
        w = uint32(w + uint32(THREADS))


@cuda_shared
def gather_own_elems(base, variant, segment, stamp, values, inputs, thread):
    """A segment's own inputs and elements into shared memory."""
    first = uint32(uint32(FIRST_ELEM) + variant[PORT_ELEMS])
    n = uint32(variant[INPUTS] + variant[ELEMS])
    k = thread
    while k < n:
        store_shared(elem_at(base, uint32(first + k)), _load(_own_at(variant, segment, stamp, values, inputs, k)))
        k = uint32(k + uint32(THREADS))


@cuda_shared
def _own_at(variant, segment, stamp, values, inputs, k):
    """Address in the witness of a segment's own input or element k."""
    place = uint32(uint32(stamp[AT_INPUT] + segment[SEG_INPUT]) + k)
    if k >= variant[INPUTS]:
        place = uint32(uint32(uint32(inputs) + uint32(stamp[AT_ELEM] + segment[SEG_ELEM])) + uint32(k - variant[INPUTS]))
    return record_at(values, place, fr.BYTES)


@cuda_shared
def give_own(base, elems, variant, segment, stamp, bits, values, inputs, thread):
    """A segment's own variables to the witness. Words of bits that it shares with others must be zero there before."""
    first_slot = uint32(uint32(FIRST_ELEM) + variant[PORT_ELEMS])
    n = uint32(variant[INPUTS] + variant[ELEMS])
    k = thread
    while k < n:
        value = load_shared(elem_at(base, uint32(first_slot + k)))
        _store(_own_at(variant, segment, stamp, values, inputs, k), value)
        k = uint32(k + uint32(THREADS))
    if variant[BITS] == uint32(0):
        return
    first = uint32(stamp[AT_BIT] + segment[SEG_BIT])
    end = uint32(first + variant[BITS])
    w0, last = uint32(first >> uint32(5)), uint32(uint32(end - uint32(1)) >> uint32(5))
    own, w = _own_words(base, elems, variant, segment, stamp), uint32(w0 + thread)
    while w <= last:
        x = load_shared(elem_at(own, uint32(w - w0)))
        low = uint32(uint32(_packed(x[0], 0) | _packed(x[1], 4)) | uint32(_packed(x[2], 8) | _packed(x[3], 12)))
        high = uint32(uint32(_packed(x[4], 16) | _packed(x[5], 20)) | uint32(_packed(x[6], 24) | _packed(x[7], 28)))
        word = uint32(low | high)
        mask = uint32(0xFFFFFFFF)
        if uint32(w << uint32(5)) < first:
            mask = uint32(mask << uint32(first & uint32(31)))
        if uint32(end - uint32(w << uint32(5))) < uint32(32):
            mask = uint32(mask & uint32(uint32(0xFFFFFFFF) >> uint32(uint32(32) - uint32(end & uint32(31)))))
        if mask == uint32(0xFFFFFFFF):
            _store_word(word_at(bits, w), word)
        else:
            _atomic_add(word_at(bits, w), uint32(word & mask))
        w = uint32(w + uint32(THREADS))
