"""Replica encoding: the key (last label) is added to the data.

Source  rust-fil-proofs storage-proofs-core/src/gadgets/encode.rs.
"""

from __future__ import annotations

from cuzk.circuits import num
from cuzk.circuits.system import Recorder


def encode(cs: Recorder, key: int, value: int) -> int:
    """key + value, a node of the replica."""
    return num.add(cs, key, value)
