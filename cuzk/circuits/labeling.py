"""The label of a node from its parents: SHA-256 of replica id, layer, node and 37 parent slots.

Preimage: replica id (32 bytes) ‖ layer (4, big-endian) ‖ node (8, big-endian) ‖ 20 zero bytes ‖ 37 × 32 bytes.

Source  rust-fil-proofs storage-proofs-porep/src/stacked/circuit/create_label.rs and params.rs.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.circuits.boolean import FALSE
from cuzk.circuits.sha256 import sha256_num
from cuzk.circuits.system import Recorder
from cuzk.circuits.uint import Word

PARENT_SLOTS = 37
SLOT_BITS = 256
HEAD_BITS = 512


def expand_parents(parents: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """The parents, repeated in order until 37 slots are full."""
    return [parents[i % len(parents)] for i in range(PARENT_SLOTS)]


def create_label(cs: Recorder, replica_id: Sequence[int], parents: Sequence[Sequence[int]], layer: Word, node: Word) -> int:
    """The label: the digest as a little-endian integer without its two top bits.

    Shape   replica_id and each of the 37 parents: at most 256 Booleans in SHA-256's bit order; layer 32, node 64, least
            first
    """
    assert len(parents) == PARENT_SLOTS
    preimage = [*replica_id, *[FALSE] * (SLOT_BITS - len(replica_id)), *reversed(layer), *reversed(node)]
    preimage += [FALSE] * (HEAD_BITS - len(preimage))
    for parent in parents:
        preimage += [*parent, *[FALSE] * (SLOT_BITS - len(parent))]
    return sha256_num(cs, preimage)
