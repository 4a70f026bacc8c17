"""A tree of some leaves: one root under every opening, equal to the whole tree where all leaves exist."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from cuzk.sparse_tree import SparseTree


def sha(children):
    """SHA-256 of all children, row by row, so that these tests need no field."""
    digests = b"".join(hashlib.sha256(row.tobytes()).digest() for row in children)
    return np.frombuffer(digests, np.uint8).reshape(-1, 32)


def filler(name, count):
    drawn = hashlib.shake_128(name.encode()).digest(32 * count)
    return np.frombuffer(bytearray(drawn), np.uint8).reshape(count, 32)


def leaves(draw, count):
    return np.frombuffer(bytearray(draw.random.randbytes(32 * count)), np.uint8).reshape(count, 32)


def walk(leaf: bytes, siblings: list[list[bytes]], index: list[int]) -> bytes:
    """Root of one path, element by element."""
    for others, i in zip(siblings, index, strict=True):
        leaf = hashlib.sha256(b"".join([*others[:i], leaf, *others[i:]])).digest()
    return leaf


def check_opening(tree, position, leaf):
    opened = tree.open(np.array([position], np.uint64))
    siblings = [[bytes(h) for h in opened.level_siblings(level)[0]] for level in range(len(tree.arities))]
    assert opened.leaf[0].tobytes() == leaf
    assert opened.node_index().tolist() == [position]
    assert walk(leaf, siblings, opened.index[0].tolist()) == opened.root[0].tobytes() == tree.root.tobytes()


@pytest.mark.parametrize("arities", [(2, 2, 2), (8,), (8, 2), (8, 8, 2), (2, 8)])
def test_whole_tree(arities, draw):
    count = int(np.prod(arities))
    values = leaves(draw, count)
    tree = SparseTree("t", arities, np.arange(count, dtype=np.uint64), values, sha, filler)
    level = [v.tobytes() for v in values]
    for arity in arities:
        level = [hashlib.sha256(b"".join(level[i : i + arity])).digest() for i in range(0, len(level), arity)]
    assert level == [tree.root.tobytes()]
    for position in draw.random.sample(range(count), min(count, 8)):
        check_opening(tree, position, values[position].tobytes())


def test_some_leaves(draw):
    arities = (8,) * 9 + (8, 2)
    count = 2 * 8**10
    # Neighbours, leaves that meet halfway and only at the root, both ends.
    wanted = {0, 1, 7, 8, 63, 64, 8**5, 8**5 + 1, 8**10 - 1, 8**10, count - 1, *(draw.below(count) for _ in range(20))}
    positions = np.array(sorted(wanted), np.uint64)
    values = leaves(draw, len(positions))
    tree = SparseTree("t", arities, positions, values, sha, filler)
    for position, value in zip(positions.tolist(), values, strict=True):
        check_opening(tree, position, value.tobytes())


def test_one_leaf(draw):
    tree = SparseTree("t", (2, 8), np.array([11], np.uint64), leaf := leaves(draw, 1), sha, filler)
    check_opening(tree, 11, leaf[0].tobytes())


def test_openings_of_any_shape_and_order(draw):
    positions = np.array([3, 5, 60], np.uint64)
    values = leaves(draw, 3)
    tree = SparseTree("t", (8, 8), positions, values, sha, filler)
    order = np.array([[60, 3], [3, 5], [5, 5]], np.uint64)
    opened = tree.open(order)
    assert opened.leaf.shape == opened.root.shape == (3, 2, 32)
    assert opened.siblings.shape == (3, 2, 14, 32)
    assert opened.index.shape == (3, 2, 2)
    assert opened.node_index().tolist() == order.tolist()
    for at in np.ndindex(3, 2):
        alone = tree.open(order[at].reshape(1))
        assert np.array_equal(opened.siblings[at], alone.siblings[0])


def test_names_tell_fillers_apart(draw):
    values = leaves(draw, 1)
    one, other = (SparseTree(name, (8, 8), np.array([9], np.uint64), values, sha, filler) for name in ("one", "other"))
    assert one.root.tobytes() != other.root.tobytes()
