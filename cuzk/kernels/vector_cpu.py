"""Element-wise operations on arrays of Fr on the CPU."""

from __future__ import annotations

import numpy as np

from cuzk.field import fr
from cuzk.field.limbs import U64
from cuzk.jit import kernel

_0, _1 = np.uint64(0), np.uint64(1)


def to_montgomery(x_canon: U64) -> U64:
    """x · 2^256 mod r. Shape uint64[n, 4]. Range below r. Cost 1 M an element."""
    out = np.empty(x_canon.shape, np.uint64)
    to_mont(out, np.require(x_canon, np.uint64, ["C", "W"]))
    return out


def to_canonical(x_mont: U64) -> U64:
    """x / 2^256 mod r. Shape uint64[n, 4]. Cost 1 M an element."""
    out = np.empty(x_mont.shape, np.uint64)
    from_mont(out, np.require(x_mont, np.uint64, ["C", "W"]))
    return out


@kernel
def to_mont(out_mont, x_canon):
    """out = x · 2^256 mod r. Shape uint64[n, 4]. Range below r. Alias out may be x. Cost 1 M an element."""
    for i in range(len(x_canon)):
        j = np.uint64(i)
        fr.store(out_mont, j, fr.from_canon(fr.load(x_canon, j)))


@kernel
def from_mont(out_canon, x_mont):
    """out = x / 2^256 mod r. Shape uint64[n, 4]. Alias out may be x. Cost 1 M an element."""
    for i in range(len(x_mont)):
        j = np.uint64(i)
        fr.store(out_canon, j, fr.to_canon(fr.load(x_mont, j)))


@kernel
def all_reduced(x):
    """Whether every element is below r. Shape uint64[n, 4]."""
    reduced = True
    for i in range(len(x)):
        reduced &= fr.is_reduced(fr.load(x, np.uint64(i)))
    return reduced


@kernel
def interleave(out_canon, is_bit, bits, elems_mont):
    """Aux values in order: where is_bit, the next bit, else the next element, canonical.

    Shape   out uint64[n, 4], is_bit uint8[n]; bits and elems_mont hold at least as many as are taken.
    """
    bit = elem = 0
    for i in range(len(is_bit)):
        j = np.uint64(i)
        if is_bit[i]:
            out_canon[j, 0] = np.uint64(bits[bit])
            out_canon[j, 1] = _0
            out_canon[j, 2] = _0
            out_canon[j, 3] = _0
            bit += 1
        else:
            fr.store(out_canon, j, fr.to_canon(fr.load(elems_mont, np.uint64(elem))))
            elem += 1


@kernel
def count_zeros_ones(x_canon):
    """How many elements are 0 and how many are 1. Shape uint64[n, 4]. Domain canonical."""
    zeros = ones = 0
    for i in range(len(x_canon)):
        j = np.uint64(i)
        if (x_canon[j, 1] | x_canon[j, 2] | x_canon[j, 3]) == _0:
            if x_canon[j, 0] == _0:
                zeros += 1
            elif x_canon[j, 0] == _1:
                ones += 1
    return zeros, ones
