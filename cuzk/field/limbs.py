"""The one element layout: little-endian 64-bit limbs, C-contiguous, in NumPy `uint64[..., LIMBS]`.

Fr has 4 limbs and Montgomery radix 2^256, Fp 6 limbs and 2^384. `_mont` names Montgomery form, `_canon` plain integers below
the modulus. An affine G1 point is x then y, `uint64[12]`; an affine G2 point x.c0, x.c1, y.c0, y.c1, `uint64[24]`; the point
at infinity is all zeros. Byte order is another matter: see `curve.encoding` and `formats`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from cuzk.field.params import P, R

U64 = npt.NDArray[np.uint64]
U8 = npt.NDArray[np.uint8]

LIMB_BITS = 64
FR_LIMBS, FP_LIMBS = 4, 6
FR_BYTES, FP_BYTES = 32, 48
G1_LIMBS, G2_LIMBS = 2 * FP_LIMBS, 4 * FP_LIMBS
FR_RADIX = 1 << (LIMB_BITS * FR_LIMBS)  # Montgomery R of Fr
FP_RADIX = 1 << (LIMB_BITS * FP_LIMBS)  # Montgomery R of Fp


def to_limbs(values: Iterable[int], limbs: int) -> U64:
    """Integers below 2**(64 limbs) as uint64[n, limbs]."""
    data = b"".join(v.to_bytes(8 * limbs, "little") for v in values)
    return np.frombuffer(bytearray(data), np.uint64).reshape(-1, limbs)


def from_limbs(array: U64) -> list[int]:
    """uint64[n, limbs] as integers."""
    width = 8 * array.shape[-1]
    data = np.ascontiguousarray(array).tobytes()
    return [int.from_bytes(data[i : i + width], "little") for i in range(0, len(data), width)]


def fr_mont(values: Iterable[int]) -> U64:
    """Integers as Fr elements in Montgomery form, uint64[n, 4]."""
    return to_limbs((v * FR_RADIX % R for v in values), FR_LIMBS)


def fp_mont(values: Iterable[int]) -> U64:
    """Integers as Fp elements in Montgomery form, uint64[n, 6]."""
    return to_limbs((v * FP_RADIX % P for v in values), FP_LIMBS)


_FR_UNRADIX, _FP_UNRADIX = pow(FR_RADIX, -1, R), pow(FP_RADIX, -1, P)


def fr_ints(array_mont: U64) -> list[int]:
    """Fr elements in Montgomery form as integers."""
    return [v * _FR_UNRADIX % R for v in from_limbs(array_mont)]


def fp_ints(array_mont: U64) -> list[int]:
    """Fp elements in Montgomery form as integers."""
    return [v * _FP_UNRADIX % P for v in from_limbs(array_mont)]
