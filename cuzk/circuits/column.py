"""Columns: the labels of one node in all layers, and their hash.

Source  rust-fil-proofs storage-proofs-porep/src/stacked/circuit/{column,hash}.rs.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.circuits import num
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.system import Recorder

COLUMN_SIZES = (2, 11)


def alloc(cs: Recorder, layers: int) -> list[int]:
    """The rows of a column, layer 1 first, given from outside."""
    return [num.alloc(cs) for _ in range(layers)]


def hash_single_column(cs: Recorder, column: Sequence[int]) -> int:
    """Poseidon of the rows, layer 1 first."""
    assert len(column) in COLUMN_SIZES
    return poseidon_hash(cs, column)
