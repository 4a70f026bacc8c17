"""The simulator's memory ranges, where a collection of garbage comes at the worst moment."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from cuzk.cuda.memory import Ranges


class Held:
    """A range that goes when this is collected."""

    def __init__(self, ranges: Ranges, address: int) -> None:
        self.ranges, self.address, self.cycle = ranges, address, self
        ranges.allow(address, 16)

    def __del__(self) -> None:
        self.ranges.forbid(self.address)


def test_a_buffer_that_is_collected_within_a_check() -> None:
    ranges = Ranges()
    ranges.allow(1 << 20, 64)
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for k in range(1, 100):
            Held(ranges, 64 * k)
            ranges.check((1 << 20) + 16, 16)
    finally:
        gc.set_threshold(*before)
    gc.collect()
    for address in (64, 64 * 99, (1 << 20) + 64, (1 << 20) - 16):
        with pytest.raises(IndexError, match="outside"):
            ranges.check(address, 16)
    with pytest.raises(IndexError, match="misaligned"):
        ranges.check((1 << 20) + 8, 16)


def test_shared_memory_ends_with_its_launch() -> None:
    ranges = Ranges()
    ranges.allow(1 << 20, 64)
    arrays = [np.zeros(24, np.uint64) for _ in range(2)]
    places = [ranges.allow_shared(array) for array in arrays for _ in range(2)]
    for address in places:
        ranges.check(address, 16)
    ranges.end_launch()
    for address in places:
        with pytest.raises(IndexError, match="outside"):
            ranges.check(address, 8)
    ranges.check(1 << 20, 16)
