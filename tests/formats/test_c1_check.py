"""Every claim of a C1 is checked: genuine ones pass, and each kind of lie is named."""

from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from cuzk.errors import FalseInput
from cuzk.field.params import R
from cuzk.formats import c1_check, registry
from cuzk.formats.c1_check import check
from cuzk.formats.c1_resolve import resolve
from cuzk.seal.replica import Replica
from tests.formats import c1_cases as cases


def replica_of(case: str) -> Replica:
    wanted = cases.expected(case)
    ids = wanted["miner_id"], wanted["sector_number"]
    if "registered_proof" in wanted:
        return resolve(cases.load(case), *ids)
    return resolve(cases.load(case), *ids, porep_id=registry.porep_id(5), api_version="1.1.0")


def writable(value):
    """A deep copy whose arrays may be changed."""
    made = copy.copy(value)
    for f in fields(value):
        old = getattr(value, f.name)
        if isinstance(old, np.ndarray):
            object.__setattr__(made, f.name, old.copy())
        elif is_dataclass(old) and f.name in ("vanilla", "comm_d_proofs", "comm_r_last_proof", "column_proof"):
            object.__setattr__(made, f.name, writable(old))
    return made


@pytest.mark.parametrize("case", cases.CASES)
def test_genuine(case):
    check(cases.load(case), replica_of(case))


def caught(made, replica) -> FalseInput:
    with pytest.raises(FalseInput) as error:
        check(made, replica)
    assert error.value.code == 4
    assert error.value.expected != error.value.got
    return error.value


def flip(array, *at):
    array[(*at, 0)] ^= 1


def swap_columns(vanilla, i, j):
    """Put column j, as a whole genuine, in the place of column i."""
    for array in (vanilla.column_index, vanilla.column_rows):
        array[0, 1, i] = array[0, 1, j]
    tree = vanilla.column_proof
    for array in (tree.leaf, tree.root, tree.siblings, tree.index):
        array[0, 1, i] = array[0, 1, j]


# name -> (change of the vanilla proofs at partition 0, challenge 1; name of the proof; part of the message)
LIES = {
    "data leaf": (lambda v: flip(v.comm_d_proofs.leaf, 0, 1), "comm_d_proofs", "Merkle path"),
    "data sibling": (lambda v: flip(v.comm_d_proofs.siblings, 0, 1, 5), "comm_d_proofs", "Merkle path"),
    "data root": (lambda v: flip(v.comm_d_proofs.root, 0, 1), "comm_d_proofs", "Merkle path"),
    "replica leaf": (lambda v: flip(v.comm_r_last_proof.leaf, 0, 1), "comm_r_last_proof", "Merkle path"),
    "replica sibling": (lambda v: flip(v.comm_r_last_proof.siblings, 0, 1, 13), "comm_r_last_proof", "Merkle path"),
    "replica root": (lambda v: flip(v.comm_r_last_proof.root, 0, 1), "comm_r_last_proof", "Merkle path"),
    "own row": (lambda v: flip(v.column_rows, 0, 1, 0, 0), "c_x", "column's hash"),
    "own leaf": (lambda v: flip(v.column_proof.leaf, 0, 1, 0), "c_x", "column's hash"),
    "own sibling": (lambda v: flip(v.column_proof.siblings, 0, 1, 0, 0), "c_x", "Merkle path"),
    "drg row": (lambda v: flip(v.column_rows, 0, 1, 3, 1), "drg_parents[2]", "column's hash"),
    "drg sibling": (lambda v: flip(v.column_proof.siblings, 0, 1, 6, 7), "drg_parents[5]", "Merkle path"),
    "drg root": (lambda v: flip(v.column_proof.root, 0, 1, 6), "drg_parents[5]", "Merkle path"),
    "exp row": (lambda v: flip(v.column_rows, 0, 1, 7, 1), "exp_parents[0]", "column's hash"),
    "exp sibling": (lambda v: flip(v.column_proof.siblings, 0, 1, 14, 3), "exp_parents[7]", "Merkle path"),
    "column index": (lambda v: flip(v.column_index[..., None], 0, 1, 4), "drg_parents[3]", "column is of another node"),
    "drg column": (lambda v: swap_columns(v, 1, 14), "drg_parents[0]", "column is of another node"),
    "exp column": (lambda v: swap_columns(v, 9, 1), "exp_parents[2]", "column is of another node"),
    "layer": (lambda v: flip(v.label_layer[..., None], 0, 1, 1), "labeling_proofs[1]", "layer_index"),
    "challenge": (lambda v: flip(v.label_node[..., None], 0, 1, 0), "challenge", "not the one that seed and ids give"),
    "label node": (lambda v: flip(v.label_node[..., None], 0, 1, 1), "labeling_proofs[1]", "node is not the challenge"),
    "label parent": (lambda v: flip(v.label_parents, 0, 1, 0, 36), "labeling_proofs[0].parents[36]", "not the label"),
    "label parent 2": (lambda v: flip(v.label_parents, 0, 1, 1, 9), "labeling_proofs[1].parents[9]", "not the label"),
    "encoding parent": (lambda v: flip(v.encoding_parents, 0, 1, 20), "encoding_proof.parents[20]", "not the label"),
    "encoding layer": (lambda v: flip(v.encoding_layer[..., None], 0, 1), "encoding_proof", "layer_index"),
    "encoding node": (lambda v: flip(v.encoding_node[..., None], 0, 1), "encoding_proof", "node is not the challenge"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("case", ["2kib-v1_1", "32kib-v1_1"])
def test_one_lie_is_named(case, lie):
    change, proof, message = LIES[lie]
    made = writable(cases.load(case))
    change(made.vanilla)
    error = caught(cases.rewritten(made), replica_of(case))
    assert error.message.startswith(f"{proof}: ")
    assert message in error.message
    assert error.partition == 0
    node = int(replica_of(case).challenges()[0, 1])
    assert error.where == f"challenge 1 (node {node}), {proof}"


def test_partition_is_named():
    made = writable(cases.load("2kib-non-interactive"))
    flip(made.vanilla.comm_r_last_proof.siblings, 7, 0, 3)
    error = caught(made, replica_of("2kib-non-interactive"))
    assert error.partition == 7
    assert error.where.startswith("challenge 0 (node ")
    # Of several lies the first in order of partition and challenge.
    flip(made.vanilla.column_rows, 3, 1, 12, 0)
    assert caught(made, replica_of("2kib-non-interactive")).partition == 3


def test_wanted_and_computed_are_shown():
    made = writable(cases.load("2kib-v1_1"))
    flip(made.vanilla.comm_d_proofs.siblings, 0, 0, 0)
    error = caught(made, replica_of("2kib-v1_1"))
    assert error.expected == made.comm_d.hex()
    assert error.got == c1_check.sha256_roots(made.vanilla.comm_d_proofs)[0, 0].tobytes().hex()


@pytest.mark.parametrize("tree", ["comm_d_proofs", "comm_r_last_proof", "column_proof"])
def test_a_consistent_path_of_another_tree(tree):
    """Leaf, siblings and root fit one another, but the root is not the sector's."""
    made = writable(cases.load("2kib-v1_1"))
    paths = getattr(made.vanilla, tree)
    at = (0, 1) if tree != "column_proof" else (0, 1, 8)
    paths.siblings[(*at, 0)] = 0
    roots = c1_check.sha256_roots(paths) if tree == "comm_d_proofs" else c1_check.poseidon_roots(paths)
    paths.root[at] = roots[at]
    error = caught(made, replica_of("2kib-v1_1"))
    name = "exp_parents[1]" if tree == "column_proof" else tree
    assert error.where.endswith(name)
    assert "the root is not" in error.message


def test_labels_that_do_not_follow():
    """A replica whose columns are committed to but were not computed by the labeling function."""
    made = writable(cases.load("2kib-v1_1"))
    other = replace(replica_of("2kib-v1_1"))
    with pytest.raises(FalseInput, match="challenge"):
        check(made, replace(other, replica_id=bytes(32)))
    vanilla = made.vanilla
    nodes = other.challenges()
    claims = c1_check._label_claims(vanilla, bytes(32), nodes)
    failing = [c for c in claims if c.first_difference() is not None]
    assert [c.first_difference()[:2] for c in failing] == [(0, 0), (0, 0)]
    assert failing[0].proof(0) == "label of layer 1 (c_x.column.rows[0])"
    assert failing[1].proof == "encoding"


@pytest.mark.parametrize("name", ["comm_r", "comm_d", "seed", "replica_id"])
def test_other_commitments(name):
    made = replace(cases.load("2kib-v1_1"), **{name: b"\x05" * 32})
    error = caught(made, replace(replica_of("2kib-v1_1"), **{name: b"\x05" * 32}))
    wanted = {"comm_r": "comm_r is not", "comm_d": "the root is not comm_d"}.get(name, "challenge: not the one")
    assert wanted in error.message
    if name == "comm_r":
        assert (error.where, error.expected) == ("comm_r", "05" * 32)


@pytest.mark.parametrize("changed", [{"porep_id": registry.porep_id(0)}, {"api_version": "1.0.0"}])
def test_other_graph(changed):
    error = caught(cases.load("2kib-v1_1"), replace(replica_of("2kib-v1_1"), **changed))
    assert "parents[" in error.message
    assert "API version" in error.hint


@pytest.mark.parametrize("feature", ["synthetic"])
def test_other_challenge_rule(feature):
    error = caught(cases.load("2kib-v1_1"), replace(replica_of("2kib-v1_1"), feature=feature))
    assert error.message.startswith("challenge: ")


def test_sums_wrap_at_r():
    def raw(*values):
        return np.frombuffer(b"".join(v.to_bytes(32, "little") for v in values), np.uint8).reshape(-1, 32)

    sums = c1_check._sums(raw(R - 1, R - 1, 0, 1 << 254), raw(1, R - 1, 0, 1 << 254))
    assert (sums == raw(0, R - 2, 0, (1 << 255) % R)).all()


def test_parent_labels_repeat_as_published():
    rows = np.zeros((15, 2, 32), np.uint8)
    rows[..., 0] = 10 * np.arange(15)[:, None] + np.arange(2)
    slots = c1_check.parent_labels(rows)[..., 0].tolist()
    drg, expander = range(1, 7), range(7, 15)
    assert slots[0] == ([10 * i for i in drg] * 7)[:37]
    assert (
        slots[1]
        == ([10 * i + 1 for i in drg] + [10 * i for i in expander]) * 2
        + ([10 * i + 1 for i in drg] + [10 * i for i in expander])[:9]
    )
