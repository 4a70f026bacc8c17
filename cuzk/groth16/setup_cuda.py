"""The points of a reference string made on a card, from the logarithms on the host; the CPU twin is `setup.Setup`.

A source of points for `key_cuda.DeviceKey`: nothing is written anywhere, and what the making needs beside the points is given
back before the next vector. Whoever knows the waste can prove anything: these parameters are for tests.
"""

from __future__ import annotations

from typing import Any

from cuzk.field.coordinates_cuda import FIELDS
from cuzk.field.limbs import FR_BYTES
from cuzk.groth16.crs import GROUP, VECTORS
from cuzk.groth16.logarithms import Logarithms
from cuzk.groth16.setup import GENERATORS
from cuzk.kernels.tree_cuda import point_bytes
from cuzk.msm.cuda_scratch import DevicePoints, Scratch
from cuzk.msm.fixed_base_cuda import FixedBase, block_size, memory, window_bits
from cuzk.timing import Timer


def _scratch_bytes(curve: str, count: int, multiprocessors: int) -> int:
    block = min(count, block_size(curve, count, window_bits(curve, max(1, count))))
    return memory(curve, count, multiprocessors) + 2 * FR_BYTES * block


class Points:
    """The vectors h, l, a, b_g1 and b_g2 of a reference string, for any card."""

    def __init__(self, logarithms: Logarithms, timer: Timer | None = None) -> None:
        self.logarithms, self.folded, self._timer = logarithms, logarithms.folded, timer or Timer()

    def count(self, name: str) -> int:
        """Points of a vector."""
        return self.logarithms.count(name)

    def scratch_bytes(self, multiprocessors: int) -> int:
        """Device memory that the making of one vector needs beside its points, at most."""
        return max(_scratch_bytes(group, self.count(name), multiprocessors) for name, group in VECTORS)

    def __call__(self, card: Any, name: str, first: int = 0, count: int | None = None) -> DevicePoints:
        """Points first .. first + count of a vector (all from `first` on, if not given), in the order of a parameter file."""
        curve, n = GROUP[name], self.count(name) - first if count is None else count
        out = DevicePoints(curve, card.buffer(n * point_bytes(FIELDS[curve])), n)
        try:
            with self._timer.phase(f"points_{name}"):
                self.fill(out, name, first)
        except BaseException:
            out.buffer.free()
            raise
        return out

    def fill(self, out: DevicePoints, name: str, first: int) -> None:
        """The points first .. first + out.count of a vector; done when this returns.

        Cost    a table of 1 GiB at most, then 12 additions (G1) or 13 (G2) a point; the host's scalars are copied meanwhile
        """
        n, card = out.count, out.buffer.card
        assert first >= 0 and first + n <= self.count(name)
        if not n:
            return
        scratch, copying = Scratch(card), card.stream()
        held: list[Any] = []
        try:
            base = FixedBase(scratch, out.curve, GENERATORS[out.curve], n)
            held.append(base)
            block = min(n, base.block)
            rooms = [card.buffer(FR_BYTES * block) for _ in range(2)]
            held.extend(rooms)
            done: list[Any] = [None, None]
            for k, start in enumerate(range(0, n, block)):
                m, room = min(block, n - start), rooms[k % 2]
                scalars = self.logarithms.scalars(name, first + start, m)
                if (event := done[k % 2]) is not None:
                    event.synchronize()
                room.write(scalars, 0, copying)
                copying.synchronize()
                base.multiples_into(out.part(start, m), room.address, m)
                done[k % 2] = card.event().record(scratch.stream)
            scratch.synchronize()
        finally:
            scratch.free()
            for buffer in held:
                buffer.free()
