"""What the proofs of one circuit take on a card: where the variables stand among the points, and which plan fits the memory.

Predicted from the shape and the memory before anything is allocated. A plan says which vectors of points are on the card and
which pass through it from host memory in pieces, whether transforms share the memory of their tables, and how sums are cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cuzk.circuits.template import Shape
from cuzk.errors import ResourceError
from cuzk.field import fr_cuda
from cuzk.groth16.crs import GROUP
from cuzk.groth16.prove import Queries
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.kernels import ntt_cuda as ntt_kernels
from cuzk.kernels.tree_cuda import NONE
from cuzk.msm import cuda_plan, cuda_stream
from cuzk.msm.cuda import DevicePoints, Selection
from cuzk.msm.rows import point_limbs
from cuzk.r1cs.density import densities
from cuzk.r1cs.packing import aux_is_bit
from cuzk.sizes import short_size, size_text

U32 = npt.NDArray[np.uint32]
# Which positions the points of a vector have.
POSITIONS = {"l": "l", "a": "a", "b_g1": "b", "b_g2": "b"}
SMALLEST_SCRATCH = 64 << 20
# Device memory is given out in pages of this size; smaller pieces share one.
PAGE = 2 << 20


class Load(Protocol):
    """A source of points: from a file, or made on the card. Those of h and l may be `folded`, see `logarithms`."""

    folded: bool

    def __call__(self, card: Any, name: str, first: int = 0, count: int | None = None) -> DevicePoints:
        """Points first .. first + count of a vector (all from `first` on, if not given) on a card, in the order of the file."""

    def scratch_bytes(self, multiprocessors: int) -> int:
        """Device memory that a call takes beside the points, at most, and gives back."""


@dataclass(frozen=True)
class Positions:
    """Which variables the points of a query belong to.

    `source[p]` is the bit variable of point p, NONE where it is none; scalar `which[i]` (inputs, then elements) is that of point
    `index[i]`.
    """

    source: U32
    which: U32
    index: U32

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + self.which.nbytes + self.index.nbytes


def positions(shape: Shape, where: Queries, folded: bool = False) -> dict[str, Positions]:
    """Those of the queries l (with the inputs first if `folded`), a and b. Cost: 4 bytes a point."""
    every = np.arange(shape.num_inputs, dtype=np.uint32)
    before = every if folded else every[:0]
    l_bits, l_elems = (x + np.uint32(len(before)) for x in (where.bit_aux, where.elem_aux))
    return {
        "l": _positions(l_bits, l_elems, before, shape.num_inputs),
        "a": _positions(where.bit_a, where.elem_a, every, shape.num_inputs),
        "b": _positions(where.bit_b, where.elem_b, where.b_inputs, shape.num_inputs),
    }


def _positions(bits: np.ndarray, elems: np.ndarray, inputs: U32, num_inputs: int) -> Positions:
    bit, elem = (np.flatnonzero(x.view(np.int32) >= 0).astype(np.uint32) for x in (bits, elems))
    source = np.full(len(inputs) + len(bit) + len(elem), NONE, np.uint32)
    source[bits[bit]] = bit
    which = np.concatenate([inputs, elem + np.uint32(num_inputs)])
    index = np.concatenate([np.arange(len(inputs), dtype=np.uint32), elems[elem].astype(np.uint32)])
    return Positions(source, which, index)


def positions_of(shape: Shape, folded: bool = False) -> dict[str, Positions]:
    """The same from the shape, a stamp's once for all of them.

    Cost    4 bytes a point
    Spec    positions, with the queries of the shape
    """
    a_aux, b_inputs, b_aux = densities(shape)
    every, first = np.arange(shape.num_inputs, dtype=np.uint32), shape.prologue.aux_total
    chosen = {
        "l": (every if folded else every[:0], np.ones(first + shape.repeated.aux_total, np.bool_)),
        "a": (every, a_aux),
        "b": (np.flatnonzero(b_inputs).astype(np.uint32), b_aux),
    }
    kinds = [aux_is_bit(shape, stage) == 1 for stage in (shape.prologue, shape.repeated)]
    found = {}
    for name, (inputs, dense) in chosen.items():
        stages = [
            _of_stage(is_bit, dense[start : start + len(is_bit)])
            for is_bit, start in zip(kinds, (0, first), strict=True)
            if start == 0 or shape.repeats
        ]
        found[name] = _stamped(shape, inputs, stages)
    return found


def _of_stage(is_bit: npt.NDArray[np.bool_], dense: npt.NDArray[np.bool_]) -> Positions:
    """For the variables of one stage that have points: bit ranks (NONE for elements), element ranks and their points."""
    rank = np.where(is_bit, np.cumsum(is_bit, dtype=np.uint32), np.cumsum(~is_bit, dtype=np.uint32))[dense] - np.uint32(1)
    bits = is_bit[dense]
    return Positions(np.where(bits, rank, np.uint32(NONE)), rank[~bits], np.flatnonzero(~bits).astype(np.uint32))


def _stamped(shape: Shape, inputs: U32, stages: list[Positions]) -> Positions:
    """Positions of the prologue and of all stamps, one after the other behind the inputs."""
    n, many = len(inputs), [1, shape.repeats]
    total = n + sum(k * len(x.source) for k, x in zip(many, stages, strict=False))
    source, which, index = np.full(total, NONE, np.uint32), [inputs], [np.arange(n, dtype=np.uint32)]
    point, bit, elem = n, 0, shape.num_inputs
    sizes = [(s.bits, s.elems) for s in (shape.prologue, shape.repeated)]
    for stage, k, (bits, elems) in zip(stages, many, sizes, strict=False):
        for _ in range(k):
            part = source[point : point + len(stage.source)]
            np.add(stage.source, np.uint32(bit), out=part)
            part[stage.index] = NONE
            which.append(stage.which + np.uint32(elem))
            index.append(stage.index + np.uint32(point))
            point, bit, elem = point + len(part), bit + bits, elem + elems
    return Positions(source, np.concatenate(which), np.concatenate(index))


@dataclass(frozen=True)
class Cut:
    """How one query's sum is cut: the plan for its scalars (None: no scalars), points of a bitmap at a time."""

    dense: cuda_plan.Plan | None
    piece: int


@dataclass
class Needs:
    """Bytes of device memory by purpose, how the sums are cut for it, and how many partitions may be on the card at a time.

    The vectors `streamed` stay in `host` bytes of host memory; with `shared` one transform's tables are there at a time.
    """

    fixed: dict[str, int]
    staged: int  # of one partition
    counts: dict[str, int]  # points by vector
    folded: bool = False  # see `Load`
    streamed: tuple[str, ...] = ()
    shared: bool = False
    slots: int = 1
    h: cuda_plan.Plan | None = None
    cuts: dict[str, Cut] = field(default_factory=dict)
    scratch: dict[str, int] = field(default_factory=dict)
    making: int = 0  # beside the points, while they are made; given back before the rest is allocated

    @property
    def total(self) -> int:
        """What a run allocates on the card at its peak, in whole pages."""
        return max(self.whole, _paged([self.fixed["points"], self.making]))

    @property
    def whole(self) -> int:
        """What it allocates once the points are made."""
        return _paged([*self.fixed.values(), *[self.staged] * self.slots, *self.scratch.values()])

    @property
    def host(self) -> int:
        """Bytes of host memory for the points that are not on the card."""
        return sum(point_size(name) * self.counts[name] for name in self.streamed)

    def as_dict(self) -> dict[str, Any]:
        """The plan, for JSON."""
        return {
            "predicted": self.total,
            "scratch": sum(self.scratch.values()),
            "slots": self.slots,
            "streamed": list(self.streamed),
            "host_points": self.host,
            "shared_tables": self.shared,
        }

    def __str__(self) -> str:
        scratch = sum(self.scratch.values())
        parts = self.fixed | {f"{self.slots} partition(s)": self.staged * self.slots, "scratch": scratch}
        text = ", ".join(f"{name} {short_size(size)}" for name, size in parts.items())
        if self.streamed:
            text += f"; from {short_size(self.host)} of host memory: {', '.join(self.streamed)}"
        return text


def point_size(name: str) -> int:
    """Bytes of a point of a vector on a card."""
    return 8 * point_limbs(GROUP[name])


def _paged(sizes: list[int]) -> int:
    large = sum(-(-size // PAGE) * PAGE for size in sizes if size > PAGE // 2)
    return large + -(-sum(size for size in sizes if size <= PAGE // 2) // PAGE) * PAGE


# From the fastest to the smallest: vectors that are streamed, and whether transforms share their tables' memory. The sum over h
# takes longer than its points' way to the card, so h goes first.
PLANS: tuple[tuple[tuple[str, ...], bool], ...] = (
    ((), False),
    ((), True),
    (("h",), True),
    (("h", "l"), True),
    (("h", "l", "a"), True),
    (("h", "l", "a", "b_g2"), True),
    (("h", "l", "a", "b_g2", "b_g1"), True),
)


def needs(
    shape: Shape, held: dict[str, Positions], memory: int, multiprocessors: int, partitions: int, making: int = 0, tables: int = 0
) -> Needs:
    """What proofs of a shape take within `memory` bytes: the first of `PLANS` that fits. `making`: see `Load.scratch_bytes`;
    `tables`: bytes of `synthesis_cuda.Tables`.

    Raises  ResourceError with need and have, if the smallest plan does not fit
    """

    def first_that_fits(memory: int) -> Needs | None:
        points = _blank(shape, held, *PLANS[0], making, tables).fixed["points"]
        for streamed, shared in PLANS:
            made = _blank(shape, held, streamed, shared, making, tables)
            last = (streamed, shared) == PLANS[-1]
            if _fitted(made, held, memory, multiprocessors, SMALLEST_SCRATCH if last else max(SMALLEST_SCRATCH, points // 32)):
                return made
        return None

    found = first_that_fits(memory)
    if found is not None:
        if partitions > 1 and found.whole + found.staged + PAGE <= memory:
            found.slots = 2
        return found
    # The least in whole pages, between what is too little and what suffices.
    low, high = memory // PAGE, max(1, memory // PAGE)
    while first_that_fits(high * PAGE) is None:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if first_that_fits(middle * PAGE) else (middle, high)
    raise ResourceError(
        "not enough device memory for this proof",
        expected=f"at least {size_text(high * PAGE)}",
        got=size_text(memory),
        hint="free the card, take a larger one, or use --device cpu",
    )


def _blank(shape: Shape, held: dict[str, Positions], streamed: tuple[str, ...], shared: bool, making: int, tables: int) -> Needs:
    """What a plan takes without scratch."""
    m = 1 << shape.domain_log2
    folded = len(held["l"].source) > shape.num_bits + shape.num_elems
    counts = {"h": m - 1 + folded} | {name: len(held[of].source) for name, of in POSITIONS.items()}
    values = fr_cuda.BYTES * (shape.num_inputs + shape.num_elems)
    small = shape.domain_log2 < ntt_kernels.MIN_LOG_PASS
    fixed = {
        "points": sum(n * point_size(name) for name, n in counts.items() if name not in streamed),
        "tails": sum(len(held[of].which) * point_size(name) for name, of in POSITIONS.items() if name in streamed),
        "positions": sum(p.nbytes for p in held.values()),
        "transforms": 0 if small else Quotient.table_bytes(shape.domain_log2, shared, folded),
        "query": max(4 * -(-len(p.source) // 32) + fr_cuda.BYTES * len(p.which) for p in held.values()),
    }
    if tables:
        fixed["shape"] = tables
    staged = 3 * fr_cuda.BYTES * m + values + 4 * -(-shape.num_bits // 32)
    return Needs(fixed, staged, counts, folded, streamed, shared, making=making)


def _fitted(to: Needs, held: dict[str, Positions], memory: int, multiprocessors: int, least: int) -> bool:
    """Cut the sums for what `memory` leaves; false if that is less than `least`, or too little for sums of points."""
    budget = memory - to.whole
    while budget >= least:
        try:
            _cut(to, held, budget, multiprocessors)
        except ResourceError:
            return False
        if to.whole <= memory:
            return to.total <= memory
        budget = min(budget, sum(to.scratch.values())) * 7 // 8
    return False


def _cut(to: Needs, held: dict[str, Positions], budget: int, multiprocessors: int) -> None:
    """Plans of all sums in at most `budget` bytes each, and the scratch that they need together."""
    to.scratch = {}

    def take(sizes: dict[str, int]) -> None:
        for name, size in sizes.items():
            to.scratch[name] = max(to.scratch.get(name, 0), size)

    def dense(curve: str, n: int, streamed: bool) -> cuda_plan.Plan | None:
        if not n:
            return None
        made = cuda_plan.chunked(curve, n, budget, multiprocessors, per_point=16 * point_limbs(curve) if streamed else 0)
        take(made.sizes() | (cuda_stream.sizes(curve, n, made.n) if streamed else {}))
        return made

    to.h = dense("g1", to.counts["h"], "h" in to.streamed)
    for name, of in POSITIONS.items():
        curve, n, streamed = GROUP[name], to.counts[name], name in to.streamed
        piece = -(-max(n, 1) // 32) * 32
        while sum((sizes := _selection(curve, n, piece, multiprocessors, streamed)).values()) > budget:
            if piece <= 1 << 12:
                raise ResourceError("no room for a bitmap's sum")
            piece = -(-piece // 64) * 32
        take(sizes)
        # The points of scalars are few: they are on the card, side by side, also where the others are streamed.
        to.cuts[name] = Cut(dense(curve, len(held[of].which), False), piece)


def _selection(curve: str, n: int, piece: int, multiprocessors: int, streamed: bool) -> dict[str, int]:
    """Bytes of scratch by name for the sum of selected points, `piece` of n at a time."""
    return Selection.sizes(curve, piece, multiprocessors) | (cuda_stream.sizes(curve, n, piece) if streamed else {})
