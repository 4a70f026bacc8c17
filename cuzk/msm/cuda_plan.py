"""How an MSM on a card is cut: window width, windows at a time, partitions of buckets; and the memory that takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cuzk.errors import ResourceError
from cuzk.field.coordinates_cuda import FIELDS
from cuzk.kernels.digits_cuda import COUNTERS, SMALLEST_WIDTH
from cuzk.kernels.sort_cuda import LOW_BUCKETS, PARTITIONS, SCAN
from cuzk.kernels.tree_cuda import LONG, RESIDENT, point_bytes, scratch_bytes

SCALAR_BITS = 255  # r and the sign of its smaller residue
CHAIN = 256  # additions that a thread chains at most
_LARGEST_WIDTH = LOW_BUCKETS.bit_length() + PARTITIONS.bit_length() - 1
_PARTITION_SIZE = 15  # log2 of the entries that a block sorts well
_SPREAD = 512  # partitions that keep all multiprocessors busy
_TOGETHER = 1 << 29  # references at a time beyond which more windows together gain nothing
_BUCKET_COST = 2.2  # additions of rows and columns a bucket


@dataclass(frozen=True)
class Plan:
    """An MSM of at most `n` points: `windows` of `c` bits, `group` of them at a time, partitions of 2^low buckets.

    With `tables` the points are all multiples 2^(c w) P, window by window, and all windows share one set of buckets.
    """

    curve: str
    n: int
    c: int
    group: int
    low: int
    tables: bool
    multiprocessors: int

    @property
    def windows(self) -> int:
        return -(-SCALAR_BITS // self.c)

    @property
    def sets(self) -> int:
        """Sets of buckets at a time."""
        return 1 if self.tables else self.group

    @property
    def partitions(self) -> int:
        """Partitions of one set."""
        return 1 << (self.c - 1 - self.low)

    @property
    def buckets(self) -> int:
        """Buckets at a time."""
        return self.sets << (self.c - 1)

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
        mean = self.entries // (self.sets * self.partitions)
        return max(SCAN, 1 << (2 * mean).bit_length())

    @property
    def stripes(self) -> int:
        """Stripes at most."""
        return self.entries // self.stripe + self.sets * self.partitions

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

    def sizes(self) -> dict[str, int]:
        """Bytes of scratch by name, without points and scalars."""
        scans = -(-self.buckets // SCAN)
        parts = self.sets * self.partitions
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
            "scans": 4 * scans,
            "out": (1 if self.tables else self.windows) * self.sums * 2 * point_bytes(FIELDS[self.curve]),
            "words": 256,
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


def _low(entries: int, c: int, sets: int) -> int:
    """log2 of the buckets of a partition, for sets of so many entries: partitions of some 2^15 entries, enough of them, no more
    than kernels hold."""
    bits, most, least = c - 1, PARTITIONS.bit_length() - 1, c - LOW_BUCKETS.bit_length()
    wanted = max((entries - 1).bit_length() - _PARTITION_SIZE, (_SPREAD // sets).bit_length() - 1)
    high = min(max(wanted, least, 0), most, bits, COUNTERS.bit_length() - 1)
    return bits - high


def _width(n: int, tables: bool) -> int:
    """The window width with the fewest additions."""

    def cost(c: int) -> float:
        windows = -(-SCALAR_BITS // c)
        return windows * n + (1 if tables else windows) * _BUCKET_COST * (1 << (c - 1))

    return min(range(SMALLEST_WIDTH, _LARGEST_WIDTH + 1), key=cost)


def plan(
    curve: str,
    n: int,
    memory: int,
    multiprocessors: int,
    *,
    tables: bool = False,
    c: int | None = None,
    group: int | None = None,
) -> Plan:
    """The plan for `n` points in at most `memory` bytes of scratch: as many windows at a time as fit; see `chunked` for less.

    Raises  ResourceError if one window at a time does not fit
    """
    c = c or _width(n, tables)
    windows = -(-SCALAR_BITS // c)
    shares = {-(-windows // k) for k in range(1, windows + 1)}
    groups = [windows] if tables else sorted((g for g in shares if g * n <= _TOGETHER or g == 1), reverse=True)
    if group:
        groups = [group]
    made = None
    for g in groups:
        low = _low(n * g, c, 1) if tables else _low(n, c, g)
        made = Plan(curve, n, c, g, low, tables, multiprocessors)
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
    return replace(old, n=n)
