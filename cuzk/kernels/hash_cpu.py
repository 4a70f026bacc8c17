"""Poseidon over Fr on the CPU, one permutation after the other."""

from __future__ import annotations

from typing import NamedTuple

from cuzk.field import fr
from cuzk.field.fr_sums import products_add, products_montgomery, products_zero, sum_reduce
from cuzk.field.limbs import U64
from cuzk.jit import kernel, shared
from cuzk.kernels.rows_cpu import copy_elements

# Full rounds before and after the partial ones.
HALF = 4


class Permutation(NamedTuple):
    """Constants of one width t in Montgomery form, in the compressed form of `circuits.poseidon_constants`."""

    tag: U64  # (1, 4) the first element
    keys: U64  # (8 t + RP, 4) in the order in which rounds take them
    mds: U64  # (t t, 4) column after column
    pre_sparse: U64  # (t t, 4) likewise
    sparse: U64  # (RP (2 t - 1), 4) of each partial round: column 0, then the rest of row 0


@shared
def _fifth(x):
    """x^5. Cost 3 M."""
    square = fr.mul(x, x)
    return fr.mul(fr.mul(square, square), x)


@shared
def _dot(state, matrix, first, t):
    """Σ state[i] · matrix[first + i]."""
    products = products_zero()
    for i in range(t):
        products = products_add(products, fr.load(state, i), fr.load(matrix, first + i))
    return sum_reduce(products_montgomery(products))


@shared
def _dense(state, other, matrix, t):
    """state = state · matrix; `other` is working memory."""
    for j in range(t):
        fr.store(other, j, _dot(state, matrix, j * t, t))
    copy_elements(state, 0, other, 0, t)


@shared
def _sparse(state, matrix, first, t):
    """state = state · sparse matrix whose parts start at `first`."""
    old = fr.load(state, 0)
    new = _dot(state, matrix, first, t)
    for j in range(1, t):
        product = fr.mul(old, fr.load(matrix, first + t + j - 1))
        fr.store(state, j, fr.add(fr.load(state, j), product))
    fr.store(state, 0, new)


@shared
def _full_round(state, other, keys, key, last, matrix, t):
    """S-box and key on every element, then the linear layer."""
    for i in range(t):
        x = _fifth(fr.load(state, i))
        fr.store(state, i, x if last else fr.add(x, fr.load(keys, key + i)))
    _dense(state, other, matrix, t)


@kernel
def poseidon(out_mont, preimages_mont, permutation, state, other):
    """out[n] = Poseidon(tag, preimages[n, 0], …): element 1 of the permutation.

    Shape   out uint64[n, 4], preimages uint64[n * arity, 4]; state, other uint64[t, 4] working memory.
    Domain  Montgomery.
    Cost    24 t + 3 RP multiplications in S-boxes, 8 t² + RP (2 t − 1) in linear layers, most of them without reduction.
    """
    t = len(state)
    mds, keys = permutation.mds, permutation.keys
    partial = len(keys) - 2 * HALF * t
    for n in range(len(out_mont)):
        copy_elements(state, 0, permutation.tag, 0, 1)
        copy_elements(state, 1, preimages_mont, n * (t - 1), t - 1)
        for i in range(t):
            fr.store(state, i, fr.add(fr.load(state, i), fr.load(keys, i)))
        key = t
        for r in range(2 * HALF + partial):
            if HALF <= r < HALF + partial:
                fr.store(state, 0, fr.add(_fifth(fr.load(state, 0)), fr.load(keys, key)))
                _sparse(state, permutation.sparse, (r - HALF) * (2 * t - 1), t)
                key += 1
            else:
                last = r == 2 * HALF + partial - 1
                _full_round(state, other, keys, key, last, permutation.pre_sparse if r == HALF - 1 else mds, t)
                key += t
        fr.store(out_mont, n, fr.load(state, 1))
