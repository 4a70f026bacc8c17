"""Which nodes of the replica a seal proof must open: interactive, synthetic and non-interactive derivation.

Challenge j of a proof lies in range(1, nodes); node 0 is never challenged. Duplicates are kept. Partition k holds
challenges c·k to c·k + c - 1.

Source  rust-fil-proofs at 87348a7: storage-proofs-porep/src/stacked/vanilla/challenges.rs.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from cuzk.seal import chacha
from cuzk.seal.sector import NODE_BYTES

U64 = npt.NDArray[np.uint64]

FEATURES = ("interactive", "synthetic", "non-interactive")
MAX_SYNTHETIC = 1 << 18  # size of the synthetic challenge set, smaller sectors: one per node
_SYNTHETIC_NONCE = np.frombuffer(b"synth-porep\0", "<u4").astype(np.uint32)


def _reduce(digest: bytes, nodes: int) -> int:
    return int.from_bytes(digest, "little") % (nodes - 1) + 1


def _hashed(prefix: bytes, nodes: int, count: int) -> U64:
    digests = (hashlib.sha256(prefix + j.to_bytes(4, "little")).digest() for j in range(count))
    return np.array([_reduce(d, nodes) for d in digests], np.uint64)


def interactive(replica_id: bytes, seed: bytes, nodes: int, count: int) -> U64:
    """The first `count` challenges: SHA-256(replica_id, seed, j) mod (nodes - 1) + 1. Source: challenges.rs 8-57."""
    return _hashed(replica_id + seed, nodes, count)


def non_interactive(replica_id: bytes, comm_r: bytes, nodes: int, count: int) -> U64:
    """As `interactive`, from comm_r under a domain tag instead of a seed. Source: challenges.rs 134-156."""
    return _hashed(b"filecoin.io|PoRep|1|NonInteractive|1" + replica_id + comm_r, nodes, count)


def _keystream(key: bytes, counters: U64) -> bytes:
    """IETF ChaCha20 keystream blocks at the given 32-bit counters, under the nonce of synthetic PoRep."""
    tails = np.empty((len(counters), 4), np.uint32)
    tails[:, 0] = counters
    tails[:, 1:] = _SYNTHETIC_NONCE
    return chacha.blocks(np.frombuffer(key, "<u4").astype(np.uint32), tails, 20).astype("<u4").tobytes()


def synthetic_set(replica_id: bytes, comm_r: bytes, nodes: int, indices: U64) -> U64:
    """Members of the synthetic challenge set, by index. Source: challenges.rs 199-391."""
    label = b"filecoin.io|PoRep|1|Synthetic|1|Generation"
    key = hashlib.blake2b(replica_id + comm_r, digest_size=32, key=label).digest()
    indices = np.ascontiguousarray(indices, np.uint64)
    stream = _keystream(key, indices // np.uint64(2))  # 32 bytes each, two to a block of 64
    starts = [64 * i + NODE_BYTES * (index & 1) for i, index in enumerate(indices.tolist())]
    return np.array([_reduce(stream[s : s + NODE_BYTES], nodes) for s in starts], np.uint64)


def synthetic(replica_id: bytes, comm_r: bytes, seed: bytes, nodes: int, count: int, set_size: int | None = None) -> U64:
    """The first `count` challenges: synthetic set members selected by the seed. Source: challenges.rs 199-391."""
    label = b"filecoin.io|PoRep|1|Synthetic|1|Selection"
    key = hashlib.blake2b(replica_id + seed, digest_size=32, key=label).digest()
    stream = _keystream(key, np.arange(-(-4 * count // 64), dtype=np.uint64))
    selected = np.frombuffer(stream, "<u4")[:count].astype(np.uint64)
    return synthetic_set(replica_id, comm_r, nodes, selected % np.uint64(set_size or min(nodes, MAX_SYNTHETIC)))
