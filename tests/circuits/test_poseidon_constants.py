"""Poseidon's constants against published values and the specification's own derivation."""

from __future__ import annotations

import pytest

from cuzk.circuits.poseidon_constants import merkle_tag, poseidon_constants
from cuzk.field.params import R
from cuzk.spec import poseidon as spec

# H(0, 1, …, arity − 1): neptune src/poseidon.rs at v11.0.0.
HASHES = {
    2: "396508d75e76a56b739e0fd902efe161a6fba9339d05a69d2e203c369a02e7ff",
    4: "58a54b10a9e5848a00db3c6579229399fb6b4605bf1327ec019814ff6662075d",
    8: "2394611da3a5de5512010042116770774b682e9d9cc4aed92a9934f56d38a5e6",
    11: "0c0fc1b2e5227f286ca537e232ebe87a09f3dcd8ccb08fc1cee3bbc32b693163",
}
# First two and last compressed constants.
ANCHORS = {
    2: (
        "669f064bfa3ae17a23bd51861dbb4a24501eac92a2758b36a7320a009d6ed3d8",
        "0a61a8defbacca36e4537ff2c84fa66ceee67c9645ac27346e72ab842b9d3f15",
        "1c84e3e9450113a4b5489decd8dcc8b25f057797f37899354931a0eea88d7d5d",
    ),
    8: (
        "6ce90d12c4045fe08c3caddb776dd84ac52b4ae7e48cd49443984154f2f4c2f9",
        "0ccd9b480c84022b25a75b52c8e89d80b4fa6378d32e58f3a175504940bcec39",
        "1ef936f03c337433c2e5f3570555397ed790517b32bebaa823ab1c9d7f374cb3",
    ),
    11: (
        "1f6c9576e648b5047399bfc5f38902e0d506f18e0f3ab77de6de096bd089bce4",
        "06deba7028df3debd71993e243a5a74768fdf04db7ede8b2258be924c8f08ca9",
        "09bb1cbe3152cbfb7eaccdd4be6a977e2b4985915f147b902f7c73bf6b0e4ca1",
    ),
}


@pytest.mark.parametrize("arity", HASHES)
def test_plain_hash_of_these_constants(arity):
    c = poseidon_constants(arity)
    state = [merkle_tag(arity), *range(arity)]
    for number, key in enumerate(c.round_keys):
        state = [(x + k) % R for x, k in zip(state, key, strict=True)]
        full = not 4 <= number < 4 + c.partial_rounds
        state = [pow(x, 5, R) if full or i == 0 else x for i, x in enumerate(state)]
        state = [sum(x * row[j] for x, row in zip(state, c.mds, strict=True)) % R for j in range(arity + 1)]
    assert f"{state[1]:064x}" == HASHES[arity] == f"{spec.poseidon(list(range(arity))):064x}"


@pytest.mark.parametrize("arity", ANCHORS)
def test_compressed_constants(arity):
    k = poseidon_constants(arity).compressed
    assert len(k) == 8 * (arity + 1) + poseidon_constants(arity).partial_rounds
    assert tuple(f"{k[i]:064x}" for i in (0, 1, -1)) == ANCHORS[arity]


@pytest.mark.parametrize("arity", [2, 4, 8, 11])
def test_equal_to_the_specification(arity):
    assert poseidon_constants(arity).round_keys == spec.round_constants(arity)
    assert poseidon_constants(arity).mds == spec.mds(arity)


@pytest.mark.parametrize("arity", [2, 4, 8])
def test_sparse_matrices_multiply_to_the_dense_ones(arity):
    """Pre · S₀ ⋯ S_(RP−1) = M^(RP+1): what linear layers 3 … 3 + RP do if no S-box stands between."""
    c = poseidon_constants(arity)
    t = arity + 1

    def times(v, m):
        return [sum(x * row[j] for x, row in zip(v, m, strict=True)) % R for j in range(t)]

    v = w = list(range(1, t + 1))
    v = times(v, c.pre_sparse)
    for column, row in c.sparse:
        v = [sum(x * k for x, k in zip(v, column, strict=True)) % R] + [
            (x + k * v[0]) % R for x, k in zip(v[1:], row, strict=True)
        ]
    for _ in range(c.partial_rounds + 1):
        w = times(w, c.mds)
    assert v == w


@pytest.mark.parametrize("arity", [0, 1, 3, 5, 12])
def test_other_arities_are_refused(arity):
    with pytest.raises(KeyError):
        poseidon_constants(arity)
