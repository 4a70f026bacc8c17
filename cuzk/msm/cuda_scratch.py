"""Points and scratch memory on a card, and the launches that trees of additions are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.errors import InternalError
from cuzk.field import fp_cuda
from cuzk.field.coordinates_cuda import FIELDS
from cuzk.field.limbs import U8, U64
from cuzk.kernels import msm_cuda, points_cuda, xyzz_cpu
from cuzk.kernels.launch import blocks_for, launch, launch_over
from cuzk.kernels.sort_cuda import SCAN, scan
from cuzk.kernels.tree_cuda import HEAD, LONG, RESIDENT, SHORT, pair_add, point_bytes
from cuzk.msm.cuda_plan import CHAIN, chain, tree_scratch
from cuzk.msm.rows import point_limbs

_SHORT_LIST = 1 << 21  # threads' worth of additions from which long blocks pay
_BLOCK = 1 << 20  # points converted at a time
_FEW = 1 << 14  # points that are summed without shared inversions
_GATHERERS = 128  # blocks that do so


@dataclass(frozen=True)
class DevicePoints:
    """n affine points on a card, Montgomery, coordinates below 2 p, infinity zeros. Shape: uint32[n, 24] (G1), [n, 48] (G2)."""

    curve: str
    buffer: Any
    count: int
    offset: int = 0

    @property
    def size(self) -> int:
        """Bytes of a point."""
        return point_bytes(FIELDS[self.curve])

    @property
    def address(self) -> int:
        return int(self.buffer.address) + self.offset

    def part(self, first: int, count: int) -> DevicePoints:
        """Points first .. first + count; same memory."""
        assert first >= 0 and first + count <= self.count
        return replace(self, count=count, offset=self.offset + first * self.size)

    def read(self) -> U64:
        """The points as containers, coordinates below p: uint64[n, 12 or 24]. Waits for all work on the card."""
        card, coordinates = self.buffer.card, self.count * self.size // fp_cuda.BYTES
        card.synchronize()
        launch_over(card, points_cuda.reduce_points, coordinates, None, self.address, coordinates)
        out = np.empty((self.count, point_limbs(self.curve)), np.uint64)
        card.read_at(self.address, out)
        return out


def upload(card: Any, curve: str, points_mont: U64) -> DevicePoints:
    """Containers uint64[n, 12] (G1) or uint64[n, 24] (G2) to a card."""
    if points_mont.ndim != 2 or points_mont.shape[1] != point_limbs(curve) or points_mont.dtype != np.uint64:
        raise InternalError("points of a wrong shape", expected=f"uint64[n, {point_limbs(curve)}]", got=str(points_mont.shape))
    return DevicePoints(curve, card.upload(points_mont), len(points_mont))


def upload_be(card: Any, curve: str, be_bytes: U8, index: npt.NDArray[Any] | None = None) -> DevicePoints:
    """Points from uncompressed big-endian bytes, those named by `index` or all, a block at a time.

    Shape   be_bytes uint8[n, 96] (G1: x, y) or uint8[n, 192] (G2: x.c1, x.c0, y.c1, y.c0); may be a read-only memory map
    Range   canonical coordinates; the flag bits of the first byte are ignored (infinity: all other bits zero)
    """
    size = point_bytes(FIELDS[curve])
    if be_bytes.ndim != 2 or be_bytes.shape[1] != size or be_bytes.dtype != np.uint8:
        raise InternalError("points of a wrong shape", expected=f"uint8[n, {size}]", got=str(be_bytes.shape))
    n = len(be_bytes) if index is None else len(index)
    out = DevicePoints(curve, card.buffer(n * size), n)
    block = min(n, _BLOCK)
    elements = size // fp_cuda.BYTES
    try:
        with card.buffer(block * size) as staged:
            for first in range(0, n, block or 1):
                m = min(block, n - first)
                chosen = slice(first, first + m) if index is None else index[first : first + m]
                staged.write(np.ascontiguousarray(be_bytes[chosen]))
                to = out.address + first * size
                launch_over(card, points_cuda.from_bytes[curve], m * elements, None, to, staged.address, m * elements)
            card.synchronize()
    except BaseException:
        out.buffer.free()
        raise
    return out


def upload_bytes(curve: str, n: int) -> int:
    """Device memory that `upload_be` of n points takes beside them while it runs."""
    return min(n, _BLOCK) * point_bytes(FIELDS[curve])


class Scratch:
    """Named buffers on a card that grow to what is asked of them and stay for the next sum; one stream's work at a time."""

    def __init__(self, card: Any, stream: Any = None) -> None:
        self.card, self.stream = card, stream or card.stream()
        self._held: dict[str, Any] = {}
        self._word = card.pinned((1,), np.uint32)

    def buffer(self, name: str, size: int) -> Any:
        """A buffer of at least `size` bytes; its content is left over from before."""
        held = self._held.get(name)
        if held is None or held.size < size:
            if held is not None:
                # Work that still uses it must be done before it goes.
                self.synchronize()
                held.free()
                del self._held[name]
            held = self._held[name] = self.card.buffer(size)
        return held

    def constant(self, name: str, array: Any) -> int:
        """Address of an array's bytes, which are written when the buffer is made."""
        if name not in self._held:
            self.buffer(name, array.nbytes).write(array)
        return int(self._held[name].address)

    def synchronize(self) -> None:
        """Wait for the work of this stream."""
        self.stream.synchronize()

    @property
    def bytes(self) -> int:
        """Bytes held."""
        return sum(b.size for b in self._held.values())

    def free(self) -> None:
        """Give everything back."""
        self.synchronize()
        while self._held:
            self._held.popitem()[1].free()

    def launch(self, kernel: Any, blocks: int | tuple[int, int], *arguments: int) -> None:
        """Start a kernel in this stream."""
        launch(self.card, kernel, blocks, self.stream, *arguments)

    def over(self, kernel: Any, items: int, *arguments: int) -> None:
        """Start a kernel with a thread an item in this stream."""
        launch(self.card, kernel, blocks_for(items, kernel.threads), self.stream, *arguments)

    def word_later(self, address: int) -> Callable[[], int]:
        """A word on the card as it is at this point of the stream; the function waits for that point only."""
        self.card.read_at(address, self._word, self.stream)
        event = self.card.event().record(self.stream)

        def value() -> int:
            event.synchronize()
            return int(self._word[0])

        return value

    def word(self, address: int) -> int:
        """A word on the card, once everything before is done."""
        return self.word_later(address)()


class Trees:
    """Additions of points of one curve with the scratch of one stream."""

    def __init__(self, scratch: Scratch, curve: str) -> None:
        self.scratch, self.curve = scratch, curve
        self.field = FIELDS[curve]
        self.size = point_bytes(self.field)
        self.multiprocessors = scratch.card.multiprocessors
        self.chain = self._bytes = 0
        self._prepared: Any = None

    def prepare(self, pairs: int) -> None:
        """Make room for lists of at most `pairs` additions."""
        self.chain = max(self.chain, chain(self.curve, pairs, self.multiprocessors))
        self._bytes = max(self._bytes, tree_scratch(self.curve, pairs, self.multiprocessors))
        assert self.chain <= CHAIN

    def _products(self) -> int:
        """Address of the room for prefix products, with an infinity before it."""
        buffer = self.scratch.buffer("scratch", self._bytes)
        if buffer is not self._prepared:
            buffer.fill(0, HEAD, 0, self.scratch.stream)
            self._prepared = buffer
        return int(buffer.address)

    def add(self, src: int, dst: int, pairs: int, most: int, *, count: int = 0, base: int = 0, in_place: bool = False) -> None:
        """dst[.] = src[a] + src[b] over a list of `most` pairs, or about as many where `count` is the address of their number.

        Pair p's sum goes to slot base + p, or to slot a with `in_place`; see `tree_cuda.pair_add`.
        """
        if most <= 0:
            return
        parts = self.field.parts
        long = most * parts >= _SHORT_LIST
        threads = LONG if long else SHORT
        blocks = self.multiprocessors * RESIDENT[threads]
        if not long:
            blocks = min(blocks, blocks_for(most * parts, threads))
        kernel = pair_add[self.curve][0 if long else 1]
        arguments = (src, dst, pairs, count, most, self._products(), base, int(in_place), self.chain)
        self.scratch.launch(kernel, blocks, *arguments)

    def gathered(self, points: int, count: int, pairs: int) -> U64:
        """The affine sum of points 0 .. count at an address, which are used up; `pairs`: room for a list, 4 bytes a point."""
        while count > _FEW:
            half = count // 2
            self.scratch.over(msm_cuda.list_gap, half, 0, count - half, 1, half, pairs)
            self.add(points, points, pairs, half, in_place=True)
            count -= half
        # One block sums 2^bits points; what is missing in the last block is infinity.
        bits = max(1, (-(-count // _GATHERERS) - 1).bit_length())
        blocks = -(-count // (1 << bits))
        missing = (blocks << bits) - count
        out = self.scratch.buffer("gathered", _GATHERERS * 2 * self.size)
        self.scratch.over(
            points_cuda.clear_points,
            missing * self.size // fp_cuda.BYTES,
            points + count * self.size,
            missing * self.size // fp_cuda.BYTES,
        )
        self.scratch.launch(msm_cuda.bit_sums[self.curve], (1, blocks), points, bits, 0, 0, 0, 0, bits, bits, out.address)
        sums = np.empty((blocks, 2 * point_limbs(self.curve)), np.uint64)
        out.read_into(sums, 0, self.scratch.stream)
        self.scratch.synchronize()
        return combined(self.curve, sums, np.zeros(blocks, np.int64))


def scanned(scratch: Scratch, sums: int, n: int, total: int) -> None:
    """Scan n block sums in place; *total = their sum."""
    scratch.launch(scan, 1, sums, n, total)


def scan_blocks(items: int) -> int:
    """Blocks of a kernel that scans `items`."""
    return blocks_for(items, SCAN)


def combined(curve: str, xyzz: U64, exponents: Any) -> U64:
    """The affine sum of 2^e P over points as kernels leave them; any order of exponents."""
    out = np.zeros(point_limbs(curve), np.uint64)
    if len(exponents):
        order = np.argsort(-np.asarray(exponents, np.int64), kind="stable")
        points = np.ascontiguousarray(xyzz.reshape(len(exponents), -1)[order])
        xyzz_cpu.combine[curve](out, points.reshape(-1), np.ascontiguousarray(np.asarray(exponents, np.int64)[order]))
    return out
