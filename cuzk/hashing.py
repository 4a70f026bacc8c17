"""Batched Poseidon. SHA-256 is hashlib's."""

from __future__ import annotations

import functools
from itertools import chain

import numpy as np

from cuzk import workers
from cuzk.circuits.poseidon_constants import PARTIAL_ROUNDS, merkle_tag, poseidon_constants
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_BYTES, FR_LIMBS, U8, U64, fr_mont
from cuzk.kernels import hash_cpu, vector_cpu


def poseidon(arity: int, preimages_mont: U64, tag: int | None = None, threads: int | None = None) -> U64:
    """Poseidon of each preimage: neptune's hash of `arity` elements with the tag of Merkle trees (or another).

    Shape   uint64[n, arity, 4] to uint64[n, 4].
    Domain  Montgomery.
    Cost    one permutation a preimage; threads share a batch.
    Source  Grassi et al., Poseidon (USENIX Security 2021); argumentcomputer/neptune src/poseidon.rs at v11.0.0.
    Raises  InternalError for an arity without constants or another shape.
    """
    if arity not in PARTIAL_ROUNDS or preimages_mont.shape[1:] != (arity, FR_LIMBS):
        raise InternalError("no such Poseidon", expected=f"arity in {sorted(PARTIAL_ROUNDS)}", got=preimages_mont.shape)
    n = len(preimages_mont)
    out = np.empty((n, FR_LIMBS), np.uint64)
    flat = np.require(preimages_mont, np.uint64, ["C", "W"]).reshape(-1, FR_LIMBS)
    permutation = _permutation(arity, merkle_tag(arity) if tag is None else tag)

    def hash_range(start: int, stop: int) -> None:
        state, other = (np.empty((arity + 1, FR_LIMBS), np.uint64) for _ in range(2))
        hash_cpu.poseidon(out[start:stop], flat[start * arity : stop * arity], permutation, state, other)

    workers.over_ranges(hash_range, n, multiple=16, threads=threads)
    return out


def poseidon_bytes(preimages: U8) -> U8:
    """The same hash of elements as files hold them: 32 bytes, little-endian, below r.

    Shape   uint8[n, arity, 32] to uint8[n, 32].
    Domain  canonical.
    """
    arity = preimages.shape[1]
    limbs = np.ascontiguousarray(preimages).view("<u8").astype(np.uint64)
    hashes_mont = poseidon(arity, vector_cpu.to_montgomery(limbs.reshape(-1, FR_LIMBS)).reshape(-1, arity, FR_LIMBS))
    return vector_cpu.to_canonical(hashes_mont).astype("<u8").view(np.uint8).reshape(-1, FR_BYTES)


@functools.cache
def _permutation(arity: int, tag: int) -> hash_cpu.Permutation:
    constants = poseidon_constants(arity)
    # A linear layer takes column after column.
    mds, pre_sparse = (fr_mont(chain.from_iterable(zip(*m, strict=True))) for m in (constants.mds, constants.pre_sparse))
    sparse = fr_mont(v for column, row in constants.sparse for v in (*column, *row))
    return hash_cpu.Permutation(fr_mont([tag]), fr_mont(constants.compressed), mds, pre_sparse, sparse)
