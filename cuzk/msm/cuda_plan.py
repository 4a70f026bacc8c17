"""How an MSM on a card is cut: widths of windows, windows at a time, partitions of buckets; and the memory that takes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from cuzk.errors import ResourceError
from cuzk.field.coordinates_cuda import FIELDS
from cuzk.kernels.digits_cuda import COUNTERS, SMALLEST_WIDTH
from cuzk.kernels.sort_cuda import LOW_BUCKETS, PARTITIONS, SCAN
from cuzk.kernels.tree_cuda import LONG, RESIDENT, point_bytes, scratch_bytes

SCALAR_BITS = 255  # r and the sign of its smaller residue
CHAIN = 512  # additions that a thread chains at most
_LARGEST_WIDTH = LOW_BUCKETS.bit_length() + PARTITIONS.bit_length() - 1
_PARTITION_SIZE = 15  # log2 of the entries that a block sorts well
_SPREAD = 512  # partitions that keep all multiprocessors busy
_TOGETHER = 1 << 29  # references at a time beyond which more windows together gain nothing
_BUCKET_COST = 2.2  # additions of rows and columns a bucket
_RUN_COST = 3 << 20  # additions that the last, short lists of windows of one more width are worth


@dataclass(frozen=True)
class Windows:
    """`count` windows of `c` bits from bit `first` on, `group` of them at a time; partitions of 2^low buckets."""

    curve: str
    n: int
    first: int
    count: int
    c: int
    group: int
    low: int
    multiprocessors: int

    @property
    def partitions(self) -> int:
        """Partitions of one window."""
        return 1 << (self.c - 1 - self.low)

    @property
    def buckets(self) -> int:
        """Buckets at a time."""
        return self.group << (self.c - 1)

    @property
    def entries(self) -> int:
        """References at a time."""
        return self.n * self.group

    @property
    def slots(self) -> int:
        """First sums of pairs at a time, at most."""
        return (self.entries + self.buckets) // 2 + 1

    @property
    def stripe(self) -> int:
        """Entries that one block counts and places at most."""
        mean = self.entries // (self.group * self.partitions)
        return max(SCAN, 1 << (2 * mean).bit_length())

    @property
    def stripes(self) -> int:
        """Stripes at most."""
        return self.entries // self.stripe + self.group * self.partitions

    @property
    def row_bits(self) -> int:
        """Bits of a bucket's number that tell its row; the rest tell its column."""
        return self.c - 1 - (self.c - 1) // 2

    @property
    def column_bits(self) -> int:
        return (self.c - 1) // 2

    @property
    def sums(self) -> int:
        """Sums of a window that are left for the host."""
        return self.row_bits + self.column_bits + 1

    def exponents(self) -> list[int]:
        """The powers of 2 that the sums of all these windows are multiplied by, in the order in which they are left."""
        within = [*(self.column_bits + j for j in range(self.row_bits)), *range(self.column_bits), 0]
        return [self.first + self.c * w + e for w in range(self.count) for e in within]

    def sizes(self) -> dict[str, int]:
        """Bytes of scratch by name, without points, scalars and what is left for the host."""
        parts = self.group * self.partitions
        return {
            # Sums of pairs, then rows and columns; before that the entries.
            "slots": max((self.slots + self.buckets) * point_bytes(FIELDS[self.curve]), 8 * self.entries),
            # References of the first wave, later lists of pairs; before that digits.
            "references": max(8 * self.slots, 8 * self.buckets),
            "scratch": tree_scratch(self.curve, self.slots, self.multiprocessors),
            "local": 4 * self.stripes << self.low,
            "stripes": 16 * self.stripes,
            "partitions": 4 * (3 * parts + 1),
            "buckets": 8 * self.buckets,
            "scans": 4 * -(-self.buckets // SCAN),
            "words": 256,
        }


@dataclass(frozen=True)
class Plan:
    """An MSM of at most `n` points: all windows of a scalar, those of one width together."""

    curve: str
    n: int
    runs: tuple[Windows, ...]

    @property
    def windows(self) -> int:
        return sum(run.count for run in self.runs)

    @property
    def c(self) -> int:
        """Bits of the widest window."""
        return max(run.c for run in self.runs)

    @property
    def group(self) -> int:
        """Windows at a time, at most."""
        return max(run.group for run in self.runs)

    @property
    def slots(self) -> int:
        """First sums of pairs at a time, at most."""
        return max(run.slots for run in self.runs)

    def sizes(self) -> dict[str, int]:
        """Bytes of scratch by name, without points and scalars."""
        each = [run.sizes() for run in self.runs]
        sums = sum(run.count * run.sums for run in self.runs)
        return {name: max(sizes[name] for sizes in each) for name in each[0]} | {
            "out": sums * 2 * point_bytes(FIELDS[self.curve])
        }

    @property
    def bytes(self) -> int:
        """Bytes of scratch in all, without points and scalars."""
        return sum(self.sizes().values())


def tree_scratch(curve: str, pairs: int, multiprocessors: int) -> int:
    """Bytes of scratch for lists of at most `pairs` additions."""
    return scratch_bytes(multiprocessors, chain(curve, pairs, multiprocessors))


def chain(curve: str, pairs: int, multiprocessors: int) -> int:
    """Additions that a thread chains at most: no more than long lists have for it."""
    step = multiprocessors * RESIDENT[LONG] * LONG // FIELDS[curve].parts
    return max(1, min(CHAIN, -(-pairs // step)))


def _low(n: int, c: int, group: int) -> int:
    """log2 of the buckets of a partition, for windows of n entries: partitions of some 2^15 entries, enough of them, no more than
    kernels hold."""
    bits, most, least = c - 1, PARTITIONS.bit_length() - 1, c - LOW_BUCKETS.bit_length()
    wanted = max((n - 1).bit_length() - _PARTITION_SIZE, (_SPREAD // group).bit_length() - 1)
    high = min(max(wanted, least, 0), most, bits, COUNTERS.bit_length() - 1)
    return bits - high


def _widths(n: int) -> list[int]:
    """The widths of windows with the fewest additions, narrow ones first: all the same, or of two neighbouring widths."""

    def cost(widths: list[int]) -> float:
        return len(widths) * n + _BUCKET_COST * sum(1 << (c - 1) for c in widths) + len(set(widths)) * _RUN_COST

    tried = []
    for windows in range(1, SCALAR_BITS // SMALLEST_WIDTH + 1):
        narrow, wide = divmod(SCALAR_BITS, windows)
        tried += [[narrow] * (windows - wide) + [narrow + 1] * wide, [narrow + (wide > 0)] * windows]
    return min((w for w in tried if max(w) <= _LARGEST_WIDTH), key=cost)


def plan(curve: str, n: int, memory: int, multiprocessors: int, *, c: int | None = None, group: int | None = None) -> Plan:
    """The plan for `n` points in at most `memory` bytes of scratch: as many windows at a time as fit; see `chunked` for less.

    `c` and `group` set the width of all windows and how many of them are at a time.
    Raises  ResourceError if one window at a time does not fit
    """
    widths = _widths(n) if c is None else [c] * -(-SCALAR_BITS // c)
    groups = [group] if group else [g for g in range(len(widths), 0, -1) if g * n <= _TOGETHER or g == 1]
    made = None
    for most in groups:
        made = Plan(curve, n, tuple(_runs(curve, n, widths, most, multiprocessors)))
        if made.bytes <= memory and made.slots < 1 << 31:
            return made
    assert made is not None
    raise ResourceError(
        "too little device memory for a sum of points",
        where=f"{n} points of {curve.upper()}",
        expected=f"{made.bytes} bytes",
        got=f"{memory} bytes",
        hint="give it more device memory, or --device cpu",
    )


def _runs(curve: str, n: int, widths: list[int], most: int, multiprocessors: int) -> Iterator[Windows]:
    """Windows of each width, cut into groups of at most `most` that are as even as can be."""
    first = 0
    for c, same in itertools.groupby(widths):
        count = len(list(same))
        group = -(-count // -(-count // most))
        yield Windows(curve, n, first, count, c, group, _low(n, c, group), multiprocessors)
        first += c * count


def chunked(curve: str, n: int, memory: int, multiprocessors: int, *, per_point: int = 0) -> Plan:
    """The plan for the largest equal pieces of n points that fit in `memory`, of which a point takes `per_point` bytes itself."""
    pieces = 1
    while True:
        size = -(-n // pieces)
        try:
            return plan(curve, size, memory - size * per_point, multiprocessors)
        except ResourceError:
            if size <= 1 << 10:
                raise
            pieces *= 2


def resized(old: Plan, n: int) -> Plan:
    """The same plan for another number of points, no larger."""
    assert n <= old.n
    return replace(old, n=n, runs=tuple(replace(run, n=n) for run in old.runs))
