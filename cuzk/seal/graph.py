"""The stacked depth-robust graph: which nodes a node's label depends on.

Six DRG parents in the same layer, five drawn by DRSample (Alwen, Blocki, Harsha, CCS 2017) and the immediate
predecessor; eight expander parents in the previous layer from Chung's construction, whose permutation is a three-round
Feistel network.

Source  rust-fil-proofs at 87348a7: storage-proofs-core/src/drgraph.rs and src/crypto/feistel.rs,
        storage-proofs-porep/src/stacked/vanilla/graph.rs.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from cuzk.seal import chacha
from cuzk.seal.sector import DRG_DEGREE, EXPANDER_DEGREE, PARENTS

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

API_VERSIONS = ("1.0.0", "1.1.0", "1.2.0")
_DRAWN = DRG_DEGREE - 1
_FEISTEL_ROUNDS = 3


def drg_parents(nodes: U64, porep_id: bytes, api_version: str) -> U64:
    """The six DRG parents of each node, in slot order.

    The predecessor's slot is the last at API version 1.0.0, the first later. All parents of nodes 0 and 1 are node 0.

    Shape   nodes: (n,); result (n, 6)
    Source  drgraph.rs 138-200; rand_chacha ChaCha8Rng::from_seed
    """
    v = np.maximum(nodes.astype(np.uint64), np.uint64(2))
    keys = np.empty((len(v), 8), np.uint32)
    keys[:, :7] = np.frombuffer(hashlib.sha256(b"Filecoin_DRSample" + porep_id).digest()[:28], "<u4")
    keys[:, 7] = v
    draws = np.hstack([_chacha8(keys, counter) for counter in range(2)])  # 16 of which 10 are used

    # Node v of the graph is nodes 5v .. 5v + 4 of the metagraph, of in-degree two.
    g = v * np.uint64(_DRAWN)
    buckets = np.frexp(g.astype(np.float64))[1].astype(np.uint64)  # ceil(log2 g): 5v is no power of two
    drawn = np.empty((len(v), _DRAWN), np.uint64)
    for k in range(_DRAWN):
        bucket = draws[:, 2 * k] % buckets + np.uint64(1)
        high = np.minimum(g, np.uint64(1) << bucket)
        low = np.maximum(np.uint64(2), high >> np.uint64(1))
        distance = low + draws[:, 2 * k + 1] % (high - low + np.uint64(1))
        drawn[:, k] = (g - distance) // np.uint64(_DRAWN)
    predecessor = v - np.uint64(1)
    drawn = np.where(drawn == v[:, None], predecessor[:, None], drawn)
    order = (drawn, predecessor[:, None]) if api_version == "1.0.0" else (predecessor[:, None], drawn)
    parents = np.hstack(order)
    parents[nodes < 2] = 0
    return parents


def _chacha8(keys: U32, counter: int) -> U64:
    """Block `counter` of ChaCha8Rng as eight 64-bit outputs, low word first. Shape: keys (n, 8), result (n, 8)."""
    tails = np.zeros((len(keys), 4), np.uint32)
    tails[:, 0] = counter
    return chacha.blocks(keys, tails, 8).astype("<u4").view("<u8").astype(np.uint64)


def _feistel_keys(porep_id: bytes) -> list[bytes]:
    digest = hashlib.sha256(b"Filecoin_Feistel" + porep_id).digest()
    # Keys are read little-endian and hashed big-endian.
    return [digest[8 * i : 8 * i + 8][::-1] for i in range(_FEISTEL_ROUNDS)]


def _permute(index: int, count: int, half_bits: int, keys: list[bytes]) -> int:
    """The Feistel permutation of range(2**(2 half_bits)), repeated until it falls below `count` (cycle walking)."""
    mask = (1 << half_bits) - 1
    while True:
        left, right = index >> half_bits, index & mask
        for key in keys:
            image = hashlib.blake2b(right.to_bytes(8, "big") + key).digest()
            left, right = right, left ^ (int.from_bytes(image[:8], "big") & mask)
        index = left << half_bits | right
        if index < count:
            return index


def expander_parents(nodes: U64, sector_nodes: int, porep_id: bytes, api_version: str) -> U64:
    """The eight expander parents of each node; any node may be one, the node itself too.

    API version 1.0.0 cuts the permuted value to 32 bits before the division, which shows from 32 GiB on.

    Shape   nodes: (n,); result (n, 8)
    Cost    24 BLAKE2b a node, twice that where the sector's node count is an odd power of two
    Source  graph.rs 341-393, feistel.rs
    """
    count = EXPANDER_DEGREE * sector_nodes
    half_bits = max(1, -(-(count - 1).bit_length() // 2))  # smallest with 4**half_bits >= count
    keys = _feistel_keys(porep_id)
    kept = (1 << 32) - 1 if api_version == "1.0.0" else -1
    parents = [
        (_permute(EXPANDER_DEGREE * v + i, count, half_bits, keys) & kept) // EXPANDER_DEGREE
        for v in nodes.tolist()
        for i in range(EXPANDER_DEGREE)
    ]
    return np.array(parents, np.uint64).reshape(-1, EXPANDER_DEGREE)


def parents(nodes: U64, sector_nodes: int, porep_id: bytes, api_version: str) -> U64:
    """The fourteen parents of each node: six DRG, then eight expander. Shape: nodes (...,), result (..., 14)."""
    flat = np.ascontiguousarray(nodes, np.uint64).reshape(-1)
    drg = drg_parents(flat, porep_id, api_version)
    expander = expander_parents(flat, sector_nodes, porep_id, api_version)
    return np.hstack([drg, expander]).reshape(*nodes.shape, PARENTS)
