"""Poseidon's round constants and matrices over Fr, derived.

Width t = arity + 1, S-box x⁵, RF = 8 full and RP partial rounds. Constants come from the Grain LFSR, the matrix is
Cauchy:
M[i][j] = 1/(i + t + j). A row vector times a matrix everywhere: (v·M)[j] = Σ v[i]·M[i][j]. The circuit uses the
compressed form: keys moved behind the linear layer, partial rounds with sparse matrices.

Source  Grassi et al., Poseidon (USENIX Security 2021), appendices B and F; argumentcomputer/neptune
        src/round_constants.rs, round_numbers.rs, mds.rs, preprocessing.rs at v11.0.0.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuzk.field.params import R

Vector = list[int]
Square = list[list[int]]

FULL_ROUNDS = 8
# Standard strength. The numbers come from a search in 32-bit floating point (round_numbers.rs), so they are listed.
PARTIAL_ROUNDS = {2: 55, 4: 56, 8: 57, 11: 57, 16: 59, 24: 59, 36: 60}

FIELD_BITS = R.bit_length()
_STATE_BITS = 80
_TAPS = (0, 13, 23, 38, 51, 62)
_STRIDE = _STATE_BITS - max(_TAPS)  # so many steps do not depend on each other
_MIXING = 160  # first bits, which are not used


def merkle_tag(arity: int) -> int:
    """Domain tag of Merkle-tree nodes, columns and comm_r."""
    return (1 << arity) - 1


def _grain(arity: int, count: int) -> npt.NDArray[np.uint8]:
    """The first `count` bits of the Grain LFSR after those that only mix."""
    fields = (
        (2, 1),
        (4, 1),
        (12, FIELD_BITS),
        (12, arity + 1),
        (10, FULL_ROUNDS),
        (10, PARTIAL_ROUNDS[arity]),
        (30, (1 << 30) - 1),
    )
    text = "".join(f"{value:0{width}b}" for width, value in fields)
    bits, have, apart = int(text[::-1], 2), _STATE_BITS, 1  # bit i is element i, the state first
    wanted = _STATE_BITS + _MIXING + count
    while have < wanted:
        # Squaring the polynomial gives a recurrence with all distances doubled, and so on: many bits in one step.
        while 2 * apart * _STATE_BITS <= have:
            apart *= 2
        new, first = 0, have - apart * _STATE_BITS
        for tap in _TAPS:
            new ^= bits >> (first + apart * tap)
        bits |= (new & ((1 << apart * _STRIDE) - 1)) << have
        have += apart * _STRIDE
    octets = np.frombuffer(bits.to_bytes(have // 8 + 1, "little"), np.uint8)
    return np.unpackbits(octets, bitorder="little")[wanted - count : wanted]


def round_constants(arity: int) -> Vector:
    """(RF + RP)·t elements; number R·t + i is for round R, element i. Values ≥ r are thrown away."""
    constants: Vector = []
    wanted = draws = (FULL_ROUNDS + PARTIAL_ROUNDS[arity]) * (arity + 1)
    while len(constants) < wanted:
        draws += draws // 4  # a tenth of the values is thrown away
        pairs = _grain(arity, 4 * FIELD_BITS * draws).reshape(-1, 2)
        # Of each pair of bits the second is taken if the first is one.
        taken = pairs[pairs[:, 0] == 1, 1]
        values = taken[: len(taken) // FIELD_BITS * FIELD_BITS].reshape(-1, FIELD_BITS)
        octets = np.packbits(values[:, ::-1], axis=1, bitorder="little")
        constants = [v for row in octets if (v := int.from_bytes(row.tobytes(), "little")) < R]
    return constants[:wanted]


def _vec_mat(v: Sequence[int], m: Square) -> Vector:
    return [sum(x * row[j] for x, row in zip(v, m, strict=True)) % R for j in range(len(m))]


def _mul(a: Square, b: Square) -> Square:
    return [_vec_mat(row, b) for row in a]


def _power(m: Square, n: int) -> Square:
    result = [[int(i == j) for j in range(len(m))] for i in range(len(m))]
    while n:
        if n & 1:
            result = _mul(result, m)
        m, n = _mul(m, m), n >> 1
    return result


def _inverse(m: Square) -> Square:
    n = len(m)
    rows = [[*row, *(int(i == j) for j in range(n))] for i, row in enumerate(m)]
    for col in range(n):
        pivot = next(i for i in range(col, n) if rows[i][col])
        rows[col], rows[pivot] = rows[pivot], rows[col]
        scale = pow(rows[col][col], -1, R)
        rows[col] = [x * scale % R for x in rows[col]]
        for i in range(n):
            if i != col and (factor := rows[i][col]):
                rows[i] = [(x - factor * y) % R for x, y in zip(rows[i], rows[col], strict=True)]
    return [row[n:] for row in rows]


@dataclass(frozen=True, slots=True)
class PoseidonConstants:
    """Constants of one arity."""

    arity: int
    partial_rounds: int
    round_keys: list[Vector]  # RF + RP vectors of t, as drawn
    compressed: Vector  # RF·t + RP values in the order in which the circuit takes them
    mds: Square
    pre_sparse: Square
    sparse: list[tuple[Vector, Vector]]  # RP pairs: column 0 (t values), rest of row 0 (t − 1 values)


def _compressed(keys: list[Vector], partial: int, mds: Square) -> Vector:
    """Keys moved back through the linear layer; those of the partial rounds gathered into one each."""
    half = FULL_ROUNDS // 2
    inverse = _inverse(mds)
    out = list(keys[0])
    for key in keys[1:half]:
        out += _vec_mat(key, inverse)
    gathered: Vector = []
    acc = keys[half + partial]
    for key in reversed(keys[half : half + partial]):
        moved = _vec_mat(acc, inverse)
        gathered.append(moved[0])
        acc = [(x + y) % R for x, y in zip(key, [0, *moved[1:]], strict=True)]
    out += _vec_mat(acc, inverse)
    out += reversed(gathered)
    for key in keys[half + partial + 1 :]:
        out += _vec_mat(key, inverse)
    return out


@functools.cache
def poseidon_constants(arity: int) -> PoseidonConstants:
    """Everything of one arity, standard strength. Sparse matrices by the closed form that neptune's factorisation
    has."""
    t, partial = arity + 1, PARTIAL_ROUNDS[arity]
    flat = round_constants(arity)
    keys = [flat[i : i + t] for i in range(0, len(flat), t)]
    mds = [[pow(i + t + j, -1, R) for j in range(t)] for i in range(t)]
    # With M̂ = M without row and column 0: v = row₀·M̂^k and ŵ = col₀·M̂^−(k+1), k = RP − 1 − i for partial round i.
    hat = [row[1:] for row in mds[1:]]
    hat_inverse = _inverse(hat)
    row, col = mds[0][1:], [r[0] for r in mds[1:]]
    columns, rows = [], []
    for _ in range(partial):
        col = _vec_mat(col, hat_inverse)
        columns.append([mds[0][0], *col])
        rows.append(row)
        row = _vec_mat(row, hat)
    power = _power(hat, partial)
    block = [[1, *[0] * arity], *([0, *r] for r in power)]
    return PoseidonConstants(
        arity=arity,
        partial_rounds=partial,
        round_keys=keys,
        compressed=_compressed(keys, partial, mds),
        mds=mds,
        pre_sparse=_mul(mds, block),
        sparse=list(zip(reversed(columns), reversed(rows), strict=True)),
    )
