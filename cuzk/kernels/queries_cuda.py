"""From a witness on a card to what its sums of points take, and the check of its rows: bitmaps, scalars, order of points."""

from __future__ import annotations

from numba import cuda

from cuzk import config
from cuzk.cuda import memory
from cuzk.cuda.constants import constants
from cuzk.cuda.words import uint32, uint64
from cuzk.field import fr_cuda as fr
from cuzk.jit import cuda_kernel, cuda_shared
from cuzk.kernels.tree_cuda import NONE

THREADS = 4 if config.cuda_simulated() else 256
_PLAIN_ONE = constants([1] + [0] * (fr.LIMBS - 1))
_load_word, _load_static, _store_word = memory.load(1), memory.load(1, constant=True), memory.store(1)
_load_piece, _store_piece, _atomic_max = memory.load(4), memory.store(4), memory.atomic_max
u0, u1 = uint32(0), uint32(1)


@cuda_shared
def _word_at(base, index):
    return uint64(base + uint64(index) * uint64(4))


@cuda_shared
def _element_at(base, index):
    return uint64(base + uint64(index) * uint64(fr.BYTES))


@cuda_shared
def _differ(x, y):
    low = uint32(uint32(uint32(x[0] ^ y[0]) | uint32(x[1] ^ y[1])) | uint32(x[2] ^ y[2]))
    low = uint32(uint32(low | uint32(x[3] ^ y[3])) | uint32(x[4] ^ y[4]))
    high = uint32(uint32(uint32(x[5] ^ y[5]) | uint32(x[6] ^ y[6])) | uint32(x[7] ^ y[7]))
    return uint32(low | high) != u0


@cuda_kernel(threads=THREADS)
def spread_bits(bits, source, n, out):
    """A bitmap over the points of a query: bit p is that of variable source[p], 0 where source[p] is NONE.

    Shape   bits: packed, uint32; source uint32[n]; out uint32[ceil(n/32)], no bit set from n on
    Cost    4 bytes a point, and its bit from the L2 cache
    """
    w = uint32(cuda.grid(1))
    first = uint32(w << uint32(5))
    if first < uint32(n):
        count = min(uint32(32), uint32(uint32(n) - first))
        word, k = u0, u0
        while k < count:
            s = _load_static(_word_at(source, uint32(first + k)))
            if s != uint32(NONE):
                found = _load_word(_word_at(bits, uint32(s >> uint32(5))))
                word = uint32(word | uint32(uint32(uint32(found >> uint32(s & uint32(31))) & u1) << k))
            k = uint32(k + u1)
        _store_word(_word_at(out, w), word)


@cuda_kernel(threads=THREADS)
def gather_scalars(values, which, n, out):
    """out[i] = values[which[i]], from Montgomery form to plain integers below r.

    Shape   values Fr[·]; which uint32[n]; out uint32[n, 8]; not in place
    Cost    1 M and 68 bytes an element
    """
    i = uint32(cuda.grid(1))
    if i < uint32(n):
        value = fr.load(_element_at(values, _load_static(_word_at(which, i))))
        fr.store(_element_at(out, i), fr.mul(value, _PLAIN_ONE))


@cuda_kernel(threads=THREADS)
def reverse_points(points, pieces, n, log_size):
    """Swap points i and brev(i), where both are below n, in place; a thread moves 16 bytes.

    Shape   n ≥ 2^log_size − 1 points of `pieces` times 16 bytes
    """
    t = uint32(cuda.grid(1))
    i = uint32(t // uint32(pieces))
    if i < uint32(n):
        k = uint64(uint32(t - uint32(i * uint32(pieces))))
        j = uint32(uint32(cuda.brev(i)) >> uint32(uint32(32) - uint32(log_size)))
        if (i < j) & (j < uint32(n)):
            here = uint64(points + uint64(uint64(uint64(uint64(i) * uint64(pieces)) + k) * uint64(16)))
            there = uint64(points + uint64(uint64(uint64(uint64(j) * uint64(pieces)) + k) * uint64(16)))
            x, y = _load_piece(here), _load_piece(there)
            _store_piece(here, y)
            _store_piece(there, x)


@cuda_kernel(threads=THREADS)
def find_false(a, b, c, n, out):
    """out[0] = max(out[0], n − i) over all i < n with a[i] b[i] ≠ c[i]: the first false row, if any.

    Shape   a, b, c Fr[n], below r; out uint32[1], 0 before
    Domain  Montgomery
    Cost    1 M and 96 bytes a row
    """
    i = uint32(cuda.grid(1))
    if i < uint32(n):
        product = fr.mul(fr.load(_element_at(a, i)), fr.load(_element_at(b, i)))
        if _differ(product, fr.load(_element_at(c, i))):
            _atomic_max(out, uint32(uint32(n) - i))


@cuda_kernel(threads=THREADS)
def find_difference(x, y, n, out):
    """out[0] = max(out[0], n − i) over all i < n where 32 bytes of x and y differ: the first place, if any.

    Shape   x, y uint32[n, 8]; out uint32[1], 0 before
    """
    i = uint32(cuda.grid(1))
    if i < uint32(n) and _differ(fr.load(_element_at(x, i)), fr.load(_element_at(y, i))):
        _atomic_max(out, uint32(uint32(n) - i))
