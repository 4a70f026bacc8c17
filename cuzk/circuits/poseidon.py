"""Poseidon permutation as rows: 311, 377, 505, 598 of them for 2, 4, 8, 11 inputs.

The state is a list of linear combinations; S-boxes allocate, linear layers do not. Element 0 starts as the domain tag,
a constant.

Source  argumentcomputer/neptune src/circuit.rs at v11.0.0 (`poseidon_hash`, `PoseidonCircuit`), not circuit2.rs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cuzk.circuits.poseidon_constants import FULL_ROUNDS, PoseidonConstants, Square, merkle_tag, poseidon_constants
from cuzk.circuits.system import LinearCombination, Recorder
from cuzk.circuits.template import ONE
from cuzk.field.params import R

State = list[LinearCombination]


def _dot(state: State, weights: Sequence[int]) -> LinearCombination:
    out: LinearCombination = {}
    for lc, weight in zip(state, weights, strict=True):
        for x, k in lc.items():
            out[x] = (out.get(x, 0) + k * weight) % R
    return out


def _dense(state: State, matrix: Square) -> State:
    return [_dot(state, column) for column in zip(*matrix, strict=True)]


def _sparse(state: State, column: Sequence[int], row: Sequence[int]) -> State:
    """e'₀ = Σ column[i]·eᵢ and e'ⱼ = eⱼ + row[j − 1]·e₀."""
    rest = [_dot([lc, state[0]], [1, k]) for lc, k in zip(state[1:], row, strict=True)]
    return [_dot(state, column), *rest]


def _square(cs: Recorder, base: LinearCombination) -> int:
    x = cs.solved_elem()
    cs.enforce(base, base, {x: 1})
    return x


def _fifth_power(cs: Recorder, base: LinearCombination, key: int) -> LinearCombination:
    """base⁵ + key. In the last row the base stands in A and its fourth power in B."""
    fourth = _square(cs, {_square(cs, base): 1})
    y = cs.solved_elem()
    cs.enforce(base, {fourth: 1}, {y: 1, ONE: -key})
    return {y: 1}


def _quintic_s_box(cs: Recorder, lc: LinearCombination, key: int) -> LinearCombination:
    l = cs.solved_elem()
    cs.enforce(lc, {ONE: 1}, {l: 1})
    return _fifth_power(cs, {l: 1}, key)


def _linear_layer(c: PoseidonConstants, state: State, number: int) -> State:
    half = FULL_ROUNDS // 2
    if number == half - 1:
        return _dense(state, c.pre_sparse)
    if half <= number < half + c.partial_rounds:
        return _sparse(state, *c.sparse[number - half])
    return _dense(state, c.mds)


def _permute(cs: Recorder, preimage: Sequence[int], tag: int) -> int:
    c = poseidon_constants(len(preimage))
    t, half = len(preimage) + 1, FULL_ROUNDS // 2
    keys: Iterator[int] = iter(c.compressed)
    pre, post = [next(keys) for _ in range(t)], [next(keys) for _ in range(t)]
    # Round 0: keys before and after. The tag stays a constant; nothing is allocated for it.
    state: State = [{ONE: (pow(tag + pre[0], 5, R) + post[0]) % R}]
    state += [_fifth_power(cs, {x: 1, ONE: pre[i]}, post[i]) for i, x in enumerate(preimage, 1)]
    state = _linear_layer(c, state, 0)
    for number in range(1, FULL_ROUNDS + c.partial_rounds):
        last = number == FULL_ROUNDS + c.partial_rounds - 1
        if half <= number < half + c.partial_rounds:
            state = [_quintic_s_box(cs, state[0], next(keys)), *state[1:]]
        else:
            state = [_quintic_s_box(cs, lc, 0 if last else next(keys)) for lc in state]
        state = _linear_layer(c, state, number)
    digest = cs.solved_elem()
    cs.enforce(state[1], {ONE: 1}, {digest: 1})
    return digest


def poseidon_hash(cs: Recorder, preimage: Sequence[int], tag: int | None = None) -> int:
    """The digest of 2, 4, 8, 11, 16, 24 or 36 elements; `tag` is the Merkle-tree one unless given."""
    arity = len(preimage)
    domain = merkle_tag(arity) if tag is None else tag
    return cs.stamp(("poseidon", arity, domain), lambda cs, inputs: [_permute(cs, inputs, domain)], preimage)[0]
