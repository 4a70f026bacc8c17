"""Poseidon against neptune's values."""

from __future__ import annotations

import json

import pytest

from cuzk.spec.field import R
from cuzk.spec.poseidon import PARTIAL_ROUNDS, compressed, inverse, mds, poseidon, poseidon_compressed, times
from tests.conftest import VECTORS

DATA = json.loads((VECTORS / "hash" / "poseidon.json").read_text())


@pytest.mark.parametrize("case", DATA["hashes"], ids=lambda c: f"{c['arity']}{c.get('tag', '')}")
def test_hashes(case: dict) -> None:
    tag = int(case["tag"], 16) if "tag" in case else None
    preimage = range(case["arity"])
    assert f"{poseidon(preimage, tag):064x}" == case["hash"]
    assert f"{poseidon_compressed(preimage, tag):064x}" == case["hash"]


@pytest.mark.parametrize("case", DATA["anchors"], ids=lambda c: str(c["arity"]))
def test_constants_of_the_optimised_form(case: dict) -> None:
    c = compressed(case["arity"])
    width, partial = case["arity"] + 1, PARTIAL_ROUNDS[case["arity"]]
    assert (len(c.keys), len(c.sparse)) == (8 * width + partial, partial)
    assert f"{c.keys[0]:064x}" == case["first_key"]
    assert f"{c.keys[1]:064x}" == case["second_key"]
    assert f"{c.keys[-1]:064x}" == case["last_key"]
    assert f"{c.sparse[0][0][1]:064x}" == case["sparse_0_column_1"]
    assert f"{c.pre_sparse[1][1]:064x}" == case["pre_sparse_1_1"]


@pytest.mark.parametrize("arity", [2, 4, 8, 11])
def test_both_forms_agree(arity: int, draw) -> None:
    preimage = draw.many(R, arity)
    tag = draw.below(R)
    assert poseidon(preimage) == poseidon_compressed(preimage), draw
    assert poseidon(preimage, tag) == poseidon_compressed(preimage, tag), draw


def test_every_input_counts() -> None:
    preimage = list(range(8))
    digest = poseidon(preimage)
    for i in range(8):
        changed = [*preimage]
        changed[i] += 1
        assert poseidon(changed) != digest
    assert poseidon(preimage, 1 << 40) != digest
    assert poseidon([1, 0, *preimage[2:]]) != digest


def test_unknown_arity_is_refused() -> None:
    with pytest.raises(KeyError):
        poseidon([1, 2, 3])


def test_matrix_inverse() -> None:
    m = mds(4)
    assert [times(row, inverse(m)) for row in m] == [[int(i == j) for j in range(5)] for i in range(5)]
