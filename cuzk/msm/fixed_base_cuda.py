"""Many multiples of one point on a card: a table of odd multiples, then one short tree a scalar; the CPU twin is `fixed_base`."""

from __future__ import annotations

import numpy as np

from cuzk.curve.integers import doublings
from cuzk.errors import InternalError
from cuzk.field import fp_cuda
from cuzk.field.coordinates_cuda import FIELDS
from cuzk.field.limbs import FR_LIMBS, U64
from cuzk.kernels import digits_cuda, msm_cuda, points_cuda
from cuzk.kernels.tree_cuda import pair_add, point_bytes
from cuzk.msm.cuda_plan import SCALAR_BITS, tree_scratch
from cuzk.msm.cuda_scratch import DevicePoints, Scratch, Trees
from cuzk.msm.rows import point_limbs

# What runs here, to be compiled side by side.
KERNELS = (
    *(digits_cuda.odd_digits, msm_cuda.list_gap, points_cuda.reduce_points),
    *(kernel for both in pair_add.values() for kernel in both),
)
_TABLE_BYTES = 1 << 30
_BLOCK_BYTES = 3 << 30  # of sums that are made at a time
_WIDTHS = range(4, 23)


def window_bits(curve: str, count: int) -> int:
    """The window width with the fewest additions for `count` multiples, table included, within the memory for tables."""
    size = point_bytes(FIELDS[curve])

    def windows(c: int) -> int:
        return -(-SCALAR_BITS // c)

    def cost(c: int) -> int:
        return (windows(c) - 1) * count + windows(c) * (1 << (c - 1))

    fitting = [c for c in _WIDTHS if windows(c) * size << (c - 1) <= _TABLE_BYTES]
    return min(fitting, key=cost)


def block_size(curve: str, count: int, c: int) -> int:
    """Multiples that are made at a time."""
    return max(256, min(count, _BLOCK_BYTES // (_pairs(c) * (point_bytes(FIELDS[curve]) + 8))))


def _pairs(c: int) -> int:
    """Sums of two table rows that a multiple begins with."""
    windows = -(-SCALAR_BITS // c)
    return -(-windows // 2)


def memory(curve: str, count: int, multiprocessors: int, c: int | None = None) -> int:
    """Bytes of device memory for about `count` multiples, without scalars and results; in windows of c bits, if given."""
    c = c or window_bits(curve, max(1, count))
    windows, size, half = -(-SCALAR_BITS // c), point_bytes(FIELDS[curve]), 1 << (c - 1)
    sums = _pairs(c) * block_size(curve, count, c)
    table = (windows * half + c * windows) * size
    return table + 8 * max(half, sums) + sums * size + tree_scratch(curve, max(half, sums), multiprocessors)


class FixedBase:
    """Multiples s B of one point B of order r, which is not infinity."""

    def __init__(self, scratch: Scratch, curve: str, base_mont: U64, expected_count: int, c: int | None = None) -> None:
        """Make the table for about `expected_count` multiples.

        Shape   base_mont: uint64[12] ("g1") or uint64[24] ("g2"), affine, Montgomery
        Cost    255/c 2^(c − 1) additions and rows, at most 1 GiB; c as `window_bits` says
        """
        if base_mont.shape != (point_limbs(curve),) or not base_mont.any():
            raise InternalError(
                "no point to multiply", expected=f"uint64[{point_limbs(curve)}], not infinity", got=str(base_mont.shape)
            )
        self.scratch, self.curve = scratch, curve
        self.trees = Trees(scratch, curve)
        self.c = c or window_bits(curve, max(1, expected_count))
        self.windows = -(-SCALAR_BITS // self.c)
        self.block = block_size(curve, expected_count, self.c)
        top = (1 << (self.c * self.windows - 1)).to_bytes(4 * digits_cuda.BIASED, "little")
        self._top = scratch.card.upload(np.frombuffer(top, np.uint32))
        self._table = self._make_table(base_mont)

    def free(self) -> None:
        """Give the table back; the scratch is its owner's."""
        self._table.buffer.free()
        self._top.free()

    @property
    def pairs(self) -> int:
        """Sums of two table rows that a multiple begins with."""
        return _pairs(self.c)

    def _make_table(self, base_mont: U64) -> DevicePoints:
        """Row w 2^(c − 1) + t: (2 t + 1) 2^(c w) B; then the doublings 2^e B."""
        s, size = self.scratch, self.trees.size
        half, end = 1 << (self.c - 1), self.windows << (self.c - 1)
        powers = doublings(base_mont, self.c * self.windows)
        buffer = s.card.buffer((end + len(powers)) * size)
        buffer.write(powers, end * size)
        for w in range(self.windows):
            buffer.write(powers[w * self.c], w * half * size)
        self.trees.prepare(half)
        pairs = s.buffer("references", 8 * half).address
        for j in range(self.c - 1):
            # Rows m..2m of a window are rows 0..m plus 2 m 2^(c w) B.
            m = 1 << j
            for w in range(self.windows):
                s.over(msm_cuda.list_gap, m, w * half, end + w * self.c + j + 1, 0, m, pairs)
                self.trees.add(buffer.address, buffer.address, pairs, m, base=w * half + m)
        return DevicePoints(self.curve, buffer, end + len(powers))

    def multiples_into(self, out: DevicePoints, scalars: int, n: int) -> None:
        """out[k] = s_k B for k < n, in this scratch's stream; coordinates reduced.

        Shape   scalars: address of uint32[n, 8]
        Domain  scalars canonical; result affine, Montgomery, infinity zeros
        Range   any scalar below 2^256, taken modulo r
        Cost    255/c − 1 additions of 5 M + 1 S a multiple
        Spec    spec.curve.Curve.multiples
        """
        assert out.curve == self.curve and n <= out.count
        for first in range(0, n, self.block):
            self._block(out.address + first * self.trees.size, scalars + 32 * first, min(self.block, n - first))
        coordinates = n * self.trees.size // fp_cuda.BYTES
        self.scratch.over(points_cuda.reduce_points, coordinates, out.address, coordinates)

    def _block(self, out: int, scalars: int, m: int) -> None:
        s, rows = self.scratch, self.pairs
        references = s.buffer("references", 8 * rows * self.block).address
        slots = s.buffer("slots", rows * self.block * self.trees.size).address
        self.trees.prepare(rows * self.block)
        blocks = min(-(-m // digits_cuda.THREADS), 16 * s.card.multiprocessors)
        arguments = (scalars, m, self.c, self.windows, self._top.address, references, m)
        s.launch(digits_cuda.odd_digits, blocks, *arguments)
        self.trees.add(self._table.address, slots if rows > 1 else out, references, rows * m)
        while rows > 1:
            gone = rows // 2
            s.over(msm_cuda.list_gap, gone * m, 0, (rows - gone) * m, 1, gone * m, references)
            # The last sums go where they belong.
            into = {"dst": slots, "in_place": True} if rows > 2 else {"dst": out, "in_place": False}
            self.trees.add(slots, pairs=references, most=gone * m, **into)
            rows -= gone

    def multiples(self, scalars_canon: U64) -> U64:
        """s_k B for scalars uint64[n, 4] from the host: uint64[n, 12] (G1) or uint64[n, 24] (G2); see `multiples_into`."""
        n = len(scalars_canon)
        if scalars_canon.shape != (n, FR_LIMBS) or scalars_canon.dtype != np.uint64:
            raise InternalError("scalars of a wrong shape", expected=f"uint64[n, {FR_LIMBS}]", got=str(scalars_canon.shape))
        card = self.scratch.card
        with card.buffer(max(1, n) * self.trees.size) as out, card.upload(scalars_canon) as scalars:
            self.multiples_into(DevicePoints(self.curve, out, n), scalars.address, n)
            self.scratch.synchronize()
            return np.asarray(out.read((n, point_limbs(self.curve)), np.uint64))
