"""A reference string whose points a card makes block by block, to be written to a file; the CPU twin is `setup.Setup`.

While the host encodes, digests and writes a block, the card makes the next one. Whoever knows the waste can prove anything:
these parameters are for tests.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk import config, signals
from cuzk.circuits.template import Shape
from cuzk.cuda import compiler
from cuzk.curve import encoding
from cuzk.device import named
from cuzk.errors import DeviceError, ResourceError
from cuzk.field.coordinates_cuda import FIELDS
from cuzk.field.limbs import FR_BYTES, U8, U64
from cuzk.groth16.crs import GROUP, POINT_BYTES, VECTORS, Lengths
from cuzk.groth16.logarithms import Logarithms, ToxicWaste
from cuzk.groth16.setup import GENERATORS, bases, multiples_be, vk_be
from cuzk.kernels.tree_cuda import point_bytes
from cuzk.msm.cuda_scratch import DevicePoints, Scratch
from cuzk.msm.fixed_base_cuda import KERNELS, FixedBase, memory, window_bits
from cuzk.msm.rows import point_limbs
from cuzk.sizes import size_text
from cuzk.timing import Timer

BLOCK_POINTS = 1 << 19  # points that are made at a time, where device memory allows
HOST_BYTES = 4 * BLOCK_POINTS * POINT_BYTES["g2"]  # host memory beside `logarithms.memory_need`: blocks on their way
CHECKED = 4  # points of each block that the CPU makes too
_RESERVE = 256 << 20  # device memory that is left to the driver: code of kernels, stacks of threads


@dataclass(frozen=True)
class Plan:
    """How a vector is made: windows of `bits`, `block` points at a time, in `bytes` of device memory."""

    bits: int
    block: int
    bytes: int


def plan(curve: str, count: int, free: int, multiprocessors: int) -> Plan:
    """The quickest way to make `count` points in `free` bytes of device memory.

    Raises  ResourceError if none fits
    """
    widest, size = window_bits(curve, max(1, count)), FR_BYTES + point_bytes(FIELDS[curve])
    for bits in (widest, *(c for c in (16, 12, 8) if c < widest)):
        for shift in (0, 2, 4, 6):
            block = min(count, BLOCK_POINTS >> shift)
            made = Plan(bits, block, memory(curve, block, multiprocessors, bits) + 2 * block * size)
            if made.bytes <= free:
                return made
    raise ResourceError(
        "not enough device memory to make parameters",
        expected=f"at least {size_text(made.bytes)}",
        got=f"{size_text(max(0, free))}, beside {size_text(_RESERVE)} left to the driver",
        hint="free the card, use another one, or --device cpu",
    )


def check(lengths: Lengths, card: Any) -> None:
    """Raise ResourceError unless the card has the memory to make as many points."""
    for name, curve in VECTORS:
        _plan_of(card, curve, lengths.vector(name))


def _plan_of(card: Any, curve: str, count: int) -> Plan:
    try:
        return plan(curve, count, card.free_memory() - _RESERVE, card.multiprocessors)
    except ResourceError as error:
        error.where = named(card)
        raise


class _Turn:
    """One of two blocks on their way: scalars and points on the card, points in page-locked memory."""

    def __init__(self, card: Any, curve: str, block: int) -> None:
        self.scalars = card.buffer(FR_BYTES * block)
        self.points = card.buffer(point_bytes(FIELDS[curve]) * block)
        self.host = card.pinned((block, point_limbs(curve)), np.uint64)
        self.first = self.count = 0
        self.logarithms: U64
        self.done: Any = None


class CardSetup:
    """A reference string whose points a card makes block by block, as `formats.srs.write` takes it."""

    def __init__(self, shape: Shape, waste: ToxicWaste, card: Any, timer: Timer | None = None) -> None:
        """As `Logarithms`; the code of kernels is made where it is not kept.

        Cost    `memory_need` bytes and `HOST_BYTES` of the host
        """
        timer = timer or Timer()
        if not config.cuda_simulated():
            with timer.phase("compile"):
                compiler.compile_all(KERNELS, card.capability)
        self.card = card
        self.logarithms = Logarithms(shape, waste, timer)
        self.lengths = self.logarithms.lengths
        few = CHECKED * (self.lengths.points // BLOCK_POINTS + len(VECTORS))
        with timer.phase("prepare"):
            self._bases = bases(few + self.lengths.ic, few)

    def vk_be(self) -> bytes:
        """The verifying key as a file; the CPU makes it."""
        return vk_be(self.logarithms, self._bases)

    def blocks(self, name: str) -> Generator[U8]:
        """The points of h, l, a, b_g1, b_g2 in order, big-endian and uncompressed, uint8[n, 96 or 192].

        Cost    as `setup_cuda.Points.fill`, beside what the caller does with the block before
        Raises  DeviceError if the card fails or computes wrong points; ResourceError if it has too little memory
        """
        curve, total, card = GROUP[name], self.lengths.vector(name), self.card
        if not total:
            return
        way = _plan_of(card, curve, total)
        scratch, copying = Scratch(card), card.stream()
        held: list[Any] = []
        try:
            base = FixedBase(scratch, curve, GENERATORS[curve], way.block, way.bits)
            held.append(base)
            turns = [_Turn(card, curve, way.block) for _ in range(2)]
            held += [buffer for turn in turns for buffer in (turn.scalars, turn.points)]
            waiting: _Turn | None = None
            for k, first in enumerate(range(0, total, way.block)):
                signals.check()
                turn = turns[k % 2]
                turn.first, turn.count = first, min(way.block, total - first)
                turn.logarithms = self.logarithms.scalars(name, first, turn.count)
                turn.scalars.write(turn.logarithms, 0, copying)
                copying.synchronize()
                base.multiples_into(DevicePoints(curve, turn.points, turn.count), turn.scalars.address, turn.count)
                turn.points.read_into(turn.host[: turn.count], 0, scratch.stream)
                turn.done = card.event().record(scratch.stream)
                if waiting is not None:
                    yield self._encoded(name, waiting)
                waiting = turn
            assert waiting is not None
            yield self._encoded(name, waiting)
        finally:
            scratch.free()
            for buffer in held:
                buffer.free()

    def _encoded(self, name: str, turn: _Turn) -> U8:
        """A block as it stands in a file, some of its points compared with the CPU's."""
        curve = GROUP[name]
        turn.done.synchronize()
        be = encoding.encode(curve, turn.host[: turn.count], compressed=False)
        chosen = np.unique(np.linspace(0, turn.count - 1, CHECKED).astype(np.int64))
        want = multiples_be(self._bases, curve, np.ascontiguousarray(turn.logarithms[chosen]))
        for i in chosen[(be[chosen] != want).any(axis=1)].tolist():
            raise DeviceError(
                "a card computes wrong points",
                where=f"{named(self.card)}, {name}[{turn.first + i}]",
                expected="the multiple of the generator that the CPU makes",
                got="another point",
                hint="use another card, or --device cpu",
            )
        return be
