"""Poseidon over Fr with neptune's constants: width t = arity + 1, S-box x^5, 8 full rounds, standard strength.

Source  Grassi, Khovratovich, Rechberger, Roy, Schofnegger, Poseidon: a new hash function for zero-knowledge proof
        systems, USENIX Security 2021, appendices B and F; argumentcomputer/neptune
        src/{round_constants,round_numbers,mds,preprocessing}.rs
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from cuzk.spec.field import Fr

FULL_ROUNDS = 8
# Cheapest secure number of partial rounds with the authors' margin, by arity (neptune round_numbers.rs).
PARTIAL_ROUNDS = {2: 55, 4: 56, 8: 57, 11: 57, 16: 59, 24: 59, 36: 60}

Matrix = list[list[int]]


def grain_bits(width: int, partial_rounds: int) -> Iterator[int]:
    """The pseudo-random bits from which the constants are drawn: an 80-bit shift register that describes the instance.

    Bits come in pairs; the second counts if the first is one.
    """
    fields = [(1, 2), (1, 4), (255, 12), (width, 12), (FULL_ROUNDS, 10), (partial_rounds, 10), ((1 << 30) - 1, 30)]
    state = [value >> i & 1 for value, size in fields for i in range(size - 1, -1, -1)]

    def step() -> int:
        new = state[62] ^ state[51] ^ state[38] ^ state[23] ^ state[13] ^ state[0]
        state.append(new)
        del state[0]
        return new

    for _ in range(160):
        step()
    while True:
        keep, bit = step(), step()
        if keep:
            yield bit


@cache
def round_constants(arity: int) -> list[list[int]]:
    """One row of t constants a round: 255 bits each, most significant first, values of r and above thrown away."""
    width = arity + 1
    bits = grain_bits(width, PARTIAL_ROUNDS[arity])

    def draw() -> int:
        while True:
            candidate = 0
            for _ in range(255):
                candidate = 2 * candidate + next(bits)
            if candidate < Fr.modulus:
                return candidate

    return [[draw() for _ in range(width)] for _ in range(FULL_ROUNDS + PARTIAL_ROUNDS[arity])]


@cache
def mds(arity: int) -> Matrix:
    """The Cauchy matrix M[i][j] = 1 / (i + t + j)."""
    width = arity + 1
    return [[Fr.inv(i + width + j) for j in range(width)] for i in range(width)]


def times(v: Sequence[int], m: Matrix) -> list[int]:
    """Row vector times matrix."""
    return [sum(x * row[j] for x, row in zip(v, m, strict=True)) % Fr.modulus for j in range(len(m[0]))]


def merkle_tag(arity: int) -> int:
    """Domain tag of Merkle tree nodes, columns and comm_r: 2^arity - 1."""
    return (1 << arity) - 1


def poseidon(preimage: Sequence[int], tag: int | None = None) -> int:
    """The hash of `arity` elements; the tag is that of Merkle trees unless given.

    State (tag, preimage); every round adds its constants, raises to the fifth power (all elements in the first and
    last four rounds, the first element in the others) and multiplies by M. The result is element 1.
    """
    arity = len(preimage)
    state = [merkle_tag(arity) if tag is None else tag, *preimage]
    rounds = round_constants(arity)
    for n, constants in enumerate(rounds):
        state = [Fr.add(x, k) for x, k in zip(state, constants, strict=True)]
        is_full = n < FULL_ROUNDS // 2 or n >= len(rounds) - FULL_ROUNDS // 2
        state = [Fr.pow(x, 5) if is_full or i == 0 else x for i, x in enumerate(state)]
        state = times(state, mds(arity))
    return state[1]


class Compressed(NamedTuple):
    """The constants of the optimised form, which is the one that neptune's circuit follows."""

    keys: list[int]  # 8 t + partial rounds values, in the order of use
    pre_sparse: Matrix  # the linear layer of the last of the first full rounds
    sparse: list[tuple[list[int], list[int]]]  # (first column, rest of the first row) of each partial round's layer


def inverse(m: Matrix) -> Matrix:
    """Matrix inverse by Gauss and Jordan."""
    n = len(m)
    rows = [[*row, *(int(i == j) for j in range(n))] for i, row in enumerate(m)]
    for c in range(n):
        pivot = next(i for i in range(c, n) if rows[i][c] != 0)
        rows[c], rows[pivot] = rows[pivot], rows[c]
        scale = Fr.inv(rows[c][c])
        rows[c] = [Fr.mul(x, scale) for x in rows[c]]
        for i in range(n):
            if i != c and rows[i][c] != 0:
                rows[i] = [Fr.sub(x, rows[i][c] * y) for x, y in zip(rows[i], rows[c], strict=True)]
    return [row[n:] for row in rows]


@cache
def compressed(arity: int) -> Compressed:
    """The optimised form: constants moved through the linear layers, and M factored into sparse matrices.

    With Mhat = M without its first row and column, partial round i has the layer with first row (M00, v Mhat^k) and
    first column (M00, w Mhat^-(k+1)), k = rounds - 1 - i, and identity elsewhere; the full round before them has M
    diag(1, Mhat^rounds).
    """
    m, rounds, partial = mds(arity), round_constants(arity), PARTIAL_ROUNDS[arity]
    half = FULL_ROUNDS // 2
    m_inv = inverse(m)
    keys = [*rounds[0], *(k for n in range(1, half) for k in times(rounds[n], m_inv))]
    # From the last partial round back: what a constant adds to elements other than the first is moved one round
    # earlier.
    acc, partial_keys = rounds[half + partial], []
    for n in range(half + partial - 1, half - 1, -1):
        first, *rest = times(acc, m_inv)
        partial_keys.append(first)
        acc = [Fr.add(x, k) for x, k in zip([0, *rest], rounds[n], strict=True)]
    keys += times(acc, m_inv) + partial_keys[::-1]
    keys += [k for n in range(half + partial + 1, FULL_ROUNDS + partial) for k in times(rounds[n], m_inv)]
    m_hat = [row[1:] for row in m[1:]]
    m_hat_inv = inverse(m_hat)
    v, w = m[0][1:], [row[0] for row in m[1:]]
    sparse = []
    for _ in range(partial):
        w = times(w, m_hat_inv)
        sparse.append(([m[0][0], *w], v))
        v = times(v, m_hat)
    pre = [[row[0], *rest] for row, rest in zip(m, _times_power(m, m_hat, partial), strict=True)]
    return Compressed(keys, pre, sparse[::-1])


def _times_power(m: Matrix, m_hat: Matrix, n: int) -> Matrix:
    """The rows of M without their first element, each times Mhat^n."""
    rows = [row[1:] for row in m]
    for _ in range(n):
        rows = [times(row, m_hat) for row in rows]
    return rows


def poseidon_compressed(preimage: Sequence[int], tag: int | None = None) -> int:
    """The same hash as `poseidon`, computed in the optimised form. Keys are added after the S-box."""
    arity = len(preimage)
    partial = PARTIAL_ROUNDS[arity]
    constants = compressed(arity)
    keys = iter(constants.keys)
    state = [merkle_tag(arity) if tag is None else tag, *preimage]
    state = [Fr.add(x, next(keys)) for x in state]
    for n in range(FULL_ROUNDS + partial):
        if FULL_ROUNDS // 2 <= n < FULL_ROUNDS // 2 + partial:
            head = Fr.add(Fr.pow(state[0], 5), next(keys))
            column, row = constants.sparse[n - FULL_ROUNDS // 2]
            dot = sum(x * k for x, k in zip([head, *state[1:]], column, strict=True)) % Fr.modulus
            state = [dot, *(Fr.add(x, k * head) for x, k in zip(state[1:], row, strict=True))]
            continue
        is_last = n == FULL_ROUNDS + partial - 1
        state = [Fr.add(Fr.pow(x, 5), 0 if is_last else next(keys)) for x in state]
        state = times(state, constants.pre_sparse if n == FULL_ROUNDS // 2 - 1 else mds(arity))
    assert next(keys, None) is None
    return state[1]
