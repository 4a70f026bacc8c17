"""Merkle inclusion: an authentication path from a leaf to a root.

A path is a list of arities from the leaf upwards: base levels, then at most one level of sub-trees and one top level.

Source  rust-fil-proofs storage-proofs-core/src/gadgets/por.rs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cuzk.circuits import boolean, num, pack
from cuzk.circuits.insertion import insert
from cuzk.circuits.params import TreeShape
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.sha256 import hash2_circuit
from cuzk.circuits.system import Recorder

NodeHash = Callable[[Recorder, Sequence[int]], int]


def poseidon_node(cs: Recorder, children: Sequence[int]) -> int:
    """A node of tree C or R."""
    return poseidon_hash(cs, children)


def sha256_node(cs: Recorder, children: Sequence[int]) -> int:
    """A node of tree D."""
    return hash2_circuit(cs, children)


def _ascend(cs: Recorder, shape: TreeShape, leaf: int, node: NodeHash) -> tuple[int, list[int]]:
    """Climb to the root; returns it and all index bits, least first."""
    current, all_bits, level, previous = leaf, [], 0, ""
    for part, arity in shape.path:
        level, previous = level + 1 if part == previous else 0, part
        with cs.namespace(part), cs.namespace(f"merkle tree hash {level}"):
            bits = [boolean.alloc(cs) for _ in range(arity.bit_length() - 1)]
            siblings = [num.alloc(cs) for _ in range(arity - 1)]
            children = insert(cs, current, bits, siblings)
            with cs.namespace("computation of commitment hash"):
                current = node(cs, children)
        all_bits += bits
    return current, all_bits


def enforce_inclusion(
    cs: Recorder,
    shape: TreeShape,
    leaf: int | None,
    root: int | None,
    node: NodeHash = poseidon_node,
    private: bool = True,
) -> None:
    """The leaf stands under the root, at the position that becomes a public input (PoRCircuit).

    A leaf or root of None is allocated where it is needed. If not `private`, the root becomes a public input too.
    """
    if leaf is None:
        with cs.namespace("value"):
            leaf = num.alloc(cs)
    computed, bits = _ascend(cs, shape, leaf, node)
    with cs.namespace("path"):
        pack.pack_into_inputs(cs, bits)
    if root is None:
        with cs.namespace("root_value"):
            root = num.alloc(cs)
    with cs.namespace("enforce root is correct"):
        num.equal(cs, computed, root)
    if not private:
        with cs.namespace("root"):
            num.inputize(cs, root)
