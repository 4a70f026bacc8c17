"""Affine points in the form that the tree kernels read: one row a point, in the limbs of this path's lanes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk import pages, workers
from cuzk.errors import InternalError
from cuzk.field.coordinates import DEGREES
from cuzk.field.lanes import LANES
from cuzk.field.limbs import FP_BYTES, FP_LIMBS, U8, U64
from cuzk.kernels.points_cpu import from_rows, to_rows
from cuzk.kernels.tree_cpu import row_words

_BLOCK = 4096  # points converted at a time by a thread
assert _BLOCK % LANES == 0


@dataclass(frozen=True)
class Rows:
    """n points of one curve.

    Shape   array: uint64[n, words], private to the kernels; infinite: indices of the points at infinity, uint32
    """

    curve: str
    array: U64
    infinite: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return int(self.array.shape[0])


def point_limbs(curve: str) -> int:
    """Container limbs of an affine point: 12 ("g1") or 24 ("g2")."""
    return 2 * DEGREES[curve] * FP_LIMBS


def point_bytes(curve: str) -> int:
    """Bytes of an uncompressed point: 96 ("g1") or 192 ("g2")."""
    return 2 * DEGREES[curve] * FP_BYTES


class Reader:
    """Buffers of one thread for reading points, all or those named by an index, into rows."""

    def __init__(self, curve: str, source: npt.NDArray[Any], index: npt.NDArray[Any] | None, big_endian: bool) -> None:
        """`source`: big-endian bytes as for `rows_from_be`, or containers as for `rows_from_mont`."""
        self._source, self._index = source, index
        self._kernel = to_rows(curve, big_endian)
        self._words = np.zeros((_BLOCK, point_limbs(curve)), np.uint64)
        self._points = self._words.view(source.dtype)
        self._infinite = np.zeros(_BLOCK, np.uint32)

    def read(self, array: U64, start: int, stop: int) -> npt.NDArray[np.uint32]:
        """Points start..stop to array[0..]; returns the places in `array` of points at infinity.

        Shape   array uint64[n, row_words], with room for the next multiple of LANES
        """
        found = [np.zeros(0, np.uint32)]
        for k in range(start, stop, _BLOCK):
            m, to = min(stop - k, _BLOCK), k - start
            if self._index is None:
                self._points[:m] = self._source[k : k + m]
            else:
                np.take(self._source, self._index[k : k + m], axis=0, out=self._points[:m], mode="clip")
            count = self._kernel(array[to : to + -(-m // LANES) * LANES], self._words, self._infinite)
            infinite = self._infinite[:count]
            found.append(infinite[infinite < m] + np.uint32(to))
        return np.concatenate(found)


def _convert(curve: str, source: npt.NDArray[Any], index: npt.NDArray[Any] | None, big_endian: bool, threads: int | None) -> Rows:
    n = len(source) if index is None else len(index)
    array = pages.zeros((-(-n // LANES) * LANES, row_words(curve)))

    def block(start: int, stop: int) -> npt.NDArray[np.uint32]:
        infinite = Reader(curve, source, index, big_endian).read(array[start:], start, stop)
        return infinite + np.uint32(start)

    infinite = workers.over_ranges(block, n, _BLOCK, threads=threads)
    return Rows(curve, array[:n], np.concatenate(infinite) if infinite else np.zeros(0, np.uint32))


def check_bytes(curve: str, be_bytes: U8) -> None:
    """Raises InternalError unless the array is uint8[n, 96] (G1) or uint8[n, 192] (G2)."""
    if be_bytes.ndim != 2 or be_bytes.shape[1] != point_bytes(curve) or be_bytes.dtype != np.uint8:
        raise InternalError("points of a wrong shape", expected=f"uint8[n, {point_bytes(curve)}]", got=str(be_bytes.shape))


def rows_from_be(curve: str, be_bytes: U8, index: npt.NDArray[Any] | None = None, threads: int | None = None) -> Rows:
    """Points from uncompressed big-endian bytes, those named by `index` or all.

    Shape   be_bytes uint8[n, 96] (G1: x, y) or uint8[n, 192] (G2: x.c1, x.c0, y.c1, y.c0); may be a read-only memory map
    Range   canonical coordinates; the flag bits of the first byte are ignored (infinity: all other bits zero)
    Cost    2 (G2: 4) M a point, on all threads
    """
    check_bytes(curve, be_bytes)
    return _convert(curve, be_bytes, index, True, threads)


def rows_from_mont(curve: str, points_mont: U64, threads: int | None = None) -> Rows:
    """Points from containers.

    Shape   points_mont uint64[n, 12] (G1) or uint64[n, 24] (G2), infinity all zeros
    """
    if points_mont.ndim != 2 or points_mont.shape[1] != point_limbs(curve) or points_mont.dtype != np.uint64:
        raise InternalError("points of a wrong shape", expected=f"uint64[n, {point_limbs(curve)}]", got=str(points_mont.shape))
    return _convert(curve, points_mont, None, False, threads)


def rows_to_mont(curve: str, array: U64) -> U64:
    """Containers uint64[n, 12 or 24] from rows uint64[n, words]; infinity all zeros."""
    return _unconvert(curve, array, False)


def rows_to_be(curve: str, array: U64) -> U8:
    """Uncompressed big-endian bytes uint8[n, 96 or 192] from rows; infinity is 0x40 and zeros."""
    return _unconvert(curve, array, True).view(np.uint8)


def rows_into_words(curve: str, array: U64, words: U64, big_endian: bool) -> None:
    """As `rows_to_mont` or `rows_to_be` (whose bytes lie in the words), into `words`; as many rows as a multiple of LANES."""
    from_rows(curve, big_endian)(words, array)


def _unconvert(curve: str, array: U64, big_endian: bool) -> U64:
    n = len(array)
    padded = -(-n // LANES) * LANES
    if padded != n:
        array = np.concatenate([array, np.zeros((padded - n, array.shape[1]), np.uint64)])
    words = np.empty((padded, point_limbs(curve)), np.uint64)
    rows_into_words(curve, array, words, big_endian)
    return words[:n]
