"""Fabricated C1s hold: by the native check, and by a plain walk that shares no code with their making."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cuzk import fixture, fixture_command, graph
from cuzk.circuits import porep
from cuzk.circuits import witness as witnesses
from cuzk.circuits.hints import hints
from cuzk.errors import UsageError
from cuzk.formats import c1_resolve
from cuzk.formats.c1 import loads
from cuzk.formats.c1_check import check
from cuzk.r1cs import evaluate, first_false_row
from cuzk.replica import MAX_ID
from cuzk.sector import SECTORS, parse
from cuzk.spec.field import Fr
from cuzk.spec.poseidon import poseidon

SMALL = [s.name for s in SECTORS if s.layers == 2]
LARGE = [s.name for s in SECTORS if s.layers != 2]
ZERO_PIECES = {  # piece CIDs of zeros: filecoin-project/go-fil-commcid, commcid_test.go
    "32GiB": "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq",
    "64GiB": "baga6ea4seaqomqafu276g53zko4k23xzh4h4uecjwicbmvhsuqi7o4bhthhm4aq",
}


@cache
def made(size: str, seed: int = 0):
    return fixture.fabricate(parse(size), seed=seed)


def resolved(c1, miner=fixture.MINER, number=fixture.SECTOR_NUMBER):
    return c1_resolve.resolve(c1, miner, number, porep_id=fixture.porep_id(c1.sector), api_version="1.1.0")


def number(data) -> int:
    return int.from_bytes(bytes(data), "little")


def trimmed_sha(data: bytes) -> bytes:
    digest = bytearray(hashlib.sha256(data).digest())
    digest[31] &= 0b00111111
    return bytes(digest)


@cache
def poseidon_of(*preimage: int) -> int:
    return poseidon(preimage)


def climb(paths, at, hash_children):
    """Root and leaf index of the path at one place, in plain integers and lists."""
    node, index, weight = bytes(paths.leaf[at]), 0, 1
    for level, arity in enumerate(paths.arities):
        children = [bytes(h) for h in paths.level_siblings(level)[at]]
        position = int(paths.index[at][level])
        children.insert(position, node)
        node, index, weight = hash_children(children), index + position * weight, weight * arity
    return node, index


def poseidon_bytes(children) -> bytes:
    return poseidon_of(*map(number, children)).to_bytes(32, "little")


def arrays(c1):
    v = c1.vanilla
    trees = [a for p in (v.comm_d_proofs, v.comm_r_last_proof, v.column_proof) for a in (p.leaf, p.root, p.siblings, p.index)]
    return [*trees, v.column_index, v.column_rows, v.label_parents, v.label_node, v.encoding_parents]


@pytest.mark.parametrize("size", ["2KiB", "16KiB", "32KiB"])
def test_plain_walk(size):
    c1 = made(size)
    v, nodes = c1.vanilla, c1.sector.nodes
    roots_c, roots_r = set(), set()
    for i in range(c1.sector.challenges):
        h = hashlib.sha256(c1.replica_id + c1.seed + i.to_bytes(4, "little")).digest()
        x = number(h) % (nodes - 1) + 1
        parents = graph.parents(np.array([x], np.uint64), nodes, fixture.porep_id(c1.sector), "1.1.0")[0].tolist()
        assert climb(v.comm_d_proofs, (0, i), lambda children: trimmed_sha(b"".join(children))) == (c1.comm_d, x)
        root, index = climb(v.comm_r_last_proof, (0, i), poseidon_bytes)
        roots_r.add(root)
        assert index == x
        labels = [[bytes(row) for row in v.column_rows[0, i, k]] for k in range(15)]
        for k, node in enumerate([x, *parents]):
            root, index = climb(v.column_proof, (0, i, k), poseidon_bytes)
            roots_c.add(root)
            assert index == node == v.column_index[0, i, k]
            assert bytes(v.column_proof.leaf[0, i, k]) == poseidon_bytes(labels[k])
        for layer in (1, 2):
            drg = [labels[1 + k][layer - 1] for k in range(6)]
            slots = drg if layer == 1 else drg + [labels[7 + k][0] for k in range(8)]
            preimage = (slots * 7)[:37]
            head = c1.replica_id + layer.to_bytes(4, "big") + x.to_bytes(8, "big") + bytes(20)
            assert labels[0][layer - 1] == trimmed_sha(head + b"".join(preimage))
            assert [bytes(p) for p in v.label_parents[0, i, layer - 1]] == preimage
        encoded = Fr.add(number(labels[0][1]), number(v.comm_d_proofs.leaf[0, i]))
        assert number(v.comm_r_last_proof.leaf[0, i]) == encoded
        assert [bytes(p) for p in v.encoding_parents[0, i]] == preimage
        assert v.encoding_layer[0, i] == 2
        assert v.label_layer[0, i].tolist() == [1, 2]
        assert {v.encoding_node[0, i], *v.label_node[0, i]} == {x}
    assert len(roots_c) == len(roots_r) == 1
    assert c1.comm_r == poseidon_bytes([*roots_c, *roots_r])


@pytest.mark.parametrize("size", SMALL + LARGE)
def test_native_check(size):
    c1 = made(size)
    replica = resolved(c1)
    check(c1, replica)
    assert replica.ids_checked
    assert (c1.vanilla.partitions, c1.vanilla.challenges) == (replica.partitions, c1.sector.challenges)
    assert c1.registered_proof is None or c1.registered_proof.name == f"StackedDrg{size}V1_1"
    assert (c1.registered_proof is None) == (size in ("4KiB", "16KiB", "32KiB", "16MiB", "1GiB"))


@pytest.mark.parametrize("size", SMALL + LARGE)
def test_a_node_has_one_column(size):
    v = made(size).vanilla
    index, rows = v.column_index.ravel(), v.column_rows.reshape(v.column_index.size, -1)
    whole = np.concatenate([index[:, None].astype("<u4").view(np.uint8), rows], axis=1)
    assert len(np.unique(whole, axis=0)) == len(np.unique(index))
    # No two nodes share a label: nothing is drawn twice.
    labels = np.unique(whole, axis=0)[:, 4:].reshape(-1, 32)
    assert len(np.unique(labels, axis=0)) == len(labels)


@pytest.mark.parametrize("size", LARGE)
def test_root_of_zeros_is_the_published_one(size):
    cid = base64.b32decode(ZERO_PIECES[size][1:].upper() + "=" * (-len(ZERO_PIECES[size][1:]) % 8))
    assert made(size).comm_d == cid[-32:]


@pytest.mark.parametrize("size", LARGE)
def test_large_files_hold_what_memory_holds(size):
    c1 = made(size)
    read = loads(fixture_command.encode(c1, "B"))
    assert all(np.array_equal(a, b) for a, b in zip(arrays(c1), arrays(read), strict=True))
    assert resolved(read).public_inputs(9) == resolved(c1).public_inputs(9)
    assert len(resolved(read).public_inputs(9)) == 327


def kinds_of(c1) -> set[str]:
    """Where the order of making matters in this C1."""
    challenged = c1.vanilla.label_node[0, :, 0].tolist()
    found = {"same challenge twice"} if len(set(challenged)) < len(challenged) else set()
    for x, columns in zip(challenged, c1.vanilla.column_index[0].tolist(), strict=True):
        drg, expander = columns[1:7], columns[7:]
        found |= {"challenged DRG parent"} if set(drg) & set(challenged) else set()
        found |= {"challenged expander parent"} if set(expander) & set(challenged) - {x} else set()
        found |= {"own expander parent"} if x in expander else set()
        found |= {"both kinds of parent"} if set(drg) & set(expander) else set()
        found |= {"node 1"} if x == 1 else set()
    return found


def test_every_order_of_dependence():
    """Over some seeds all the cases occur in which labels depend on other challenged nodes, and all of them hold."""
    found: set[str] = set()
    for seed in range(1, 120):
        c1 = made("2KiB", seed)
        new = kinds_of(c1) - found
        found |= new
        if new:
            check(c1, resolved(c1))
    assert found == {
        "same challenge twice",
        "challenged DRG parent",
        "challenged expander parent",
        "own expander parent",
        "both kinds of parent",
        "node 1",
    }


def test_same_arguments_same_c1():
    one, again = made("16KiB"), fixture.fabricate(parse("16KiB"))
    assert all(np.array_equal(a, b) for a, b in zip(arrays(one), arrays(again), strict=True))
    assert (one.comm_r, one.replica_id, one.seed, one.ticket) == (again.comm_r, again.replica_id, again.seed, again.ticket)


def test_another_seed_is_another_sector():
    one, other = made("16KiB"), made("16KiB", 1)
    for name in ("comm_r", "replica_id", "seed", "ticket"):
        assert getattr(one, name) != getattr(other, name)
    assert one.comm_d == other.comm_d
    filler, others = (c.vanilla.column_proof.siblings.reshape(-1, 32) for c in (one, other))
    assert not set(map(bytes, filler)) & set(map(bytes, others))


@pytest.mark.parametrize(("miner", "sector_number"), [(0, 0), (127, 1), (128, 2), (MAX_ID, MAX_ID)])
def test_ids(miner, sector_number):
    c1 = fixture.fabricate(parse("2KiB"), miner, sector_number)
    check(c1, resolved(c1, miner, sector_number))
    assert c1.sector_number == sector_number


@pytest.mark.parametrize("arguments", [{"miner": -1}, {"sector_number": -1}, {"seed": -1}, {"miner": 1 << 63}, {"seed": 1 << 64}])
def test_ids_out_of_range(arguments):
    with pytest.raises(UsageError, match="out of range"):
        fixture.fabricate(parse("2KiB"), **arguments)


def test_circuit_is_satisfied():
    c1 = made("2KiB")
    shape = porep.record(c1.sector.size)
    values = witnesses.fill(shape, *hints(c1, 0))
    a, b, c = evaluate(shape, values)
    assert first_false_row(shape, a, b, c) is None


@pytest.mark.slow
@pytest.mark.parametrize("size", LARGE)
def test_one_challenge_of_a_large_circuit_is_satisfied(size):
    c1 = made(size)
    shape = replace(porep.record(c1.sector.size), repeats=1)
    prologue, repeated = hints(c1, 9)
    values = witnesses.fill(shape, prologue, witnesses.Hints(repeated.bits[17:], repeated.elems_canon[17:]))
    a, b, c = evaluate(shape, values)
    assert first_false_row(shape, a, b, c) is None
