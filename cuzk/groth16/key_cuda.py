"""The proving key of one circuit on a card: points, where the variables stand in them, and the memory that proofs need.

Everything that a proof's sums use is allocated at the start, so that what a run needs is known before it begins, does not grow
from proof to proof, and shrinks to what a card has: fewer windows at a time, sums in pieces.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.circuits.template import Shape
from cuzk.errors import ResourceError
from cuzk.field import fr_cuda
from cuzk.field.limbs import U64
from cuzk.groth16.crs import VECTORS
from cuzk.groth16.prove import ProvingKey, Queries
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.kernels import ntt_cuda as ntt_kernels
from cuzk.kernels import queries_cuda
from cuzk.kernels.launch import launch_over
from cuzk.kernels.tree_cuda import NONE
from cuzk.msm import cuda, cuda_plan
from cuzk.msm.cuda import DevicePoints, Msm, Scratch, Selection
from cuzk.msm.rows import point_limbs

U32 = npt.NDArray[np.uint32]
GROUP = dict(VECTORS)
# Which positions the points of a vector have.
POSITIONS = {"l": "l", "a": "a", "b_g1": "b", "b_g2": "b"}
SMALLEST_SCRATCH = 64 << 20
# Device memory is given out in pages of this size; smaller pieces share one.
PAGE = 2 << 20
# A source of points: (card, name of a vector) ↦ its points in the order of the file.
Load = Callable[[Any, str], DevicePoints]


def load_from(key: ProvingKey) -> Load:
    """Points from the bytes of a parameter file."""
    return lambda card, name: cuda.upload_be(card, GROUP[name], getattr(key, f"{name}_be"))


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


def positions(shape: Shape, where: Queries) -> dict[str, Positions]:
    """Those of the queries l, a and b. Cost: 4 bytes a point."""
    every = np.arange(shape.num_inputs, dtype=np.uint32)
    return {
        "l": _positions(where.bit_aux, where.elem_aux, every[:0], shape.num_inputs),
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


@dataclass(frozen=True)
class Cut:
    """How one query's sum is cut: the plan for its scalars (None: no scalars), points of a bitmap at a time."""

    dense: cuda_plan.Plan | None
    piece: int


@dataclass
class Needs:
    """Bytes of device memory by purpose, how the sums are cut for it, and how many partitions may be on the card at a time."""

    fixed: dict[str, int]
    staged: int  # of one partition
    slots: int = 1
    h: cuda_plan.Plan | None = None
    cuts: dict[str, Cut] = field(default_factory=dict)
    scratch: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """What a run allocates, in whole pages."""
        return _paged([*self.fixed.values(), *[self.staged] * self.slots, *self.scratch.values()])

    def __str__(self) -> str:
        scratch = sum(self.scratch.values())
        parts = self.fixed | {f"{self.slots} partition(s)": self.staged * self.slots, "scratch": scratch}
        return ", ".join(f"{name} {size / (1 << 30):.2f}" for name, size in parts.items())


def _paged(sizes: list[int]) -> int:
    large = sum(-(-size // PAGE) * PAGE for size in sizes if size > PAGE // 2)
    return large + -(-sum(size for size in sizes if size <= PAGE // 2) // PAGE) * PAGE


def needs(shape: Shape, held: dict[str, Positions], memory: int, multiprocessors: int, partitions: int) -> Needs:
    """What proofs of a shape take within `memory` bytes.

    Raises  ResourceError with need, have and the option, if the smallest plan does not fit
    """
    m = 1 << shape.domain_log2
    counts = {"h": m - 1} | {name: len(held[of].source) for name, of in POSITIONS.items()}
    values = fr_cuda.BYTES * (shape.num_inputs + shape.num_elems)
    fixed = {
        "points": sum(n * (192 if GROUP[name] == "g2" else 96) for name, n in counts.items()),
        "positions": sum(p.nbytes for p in held.values()),
        "transforms": Quotient.table_bytes(shape.domain_log2) if shape.domain_log2 >= ntt_kernels.MIN_LOG_PASS else 0,
        "query": max(4 * -(-len(p.source) // 32) + fr_cuda.BYTES * len(p.which) for p in held.values()),
    }
    staged = 3 * fr_cuda.BYTES * m + values + 4 * -(-shape.num_bits // 32)
    base = Needs(fixed, staged)
    left = memory - base.total
    budget = left
    while budget >= SMALLEST_SCRATCH:
        try:
            _cut(base, counts, held, budget, multiprocessors)
        except ResourceError:
            break
        if base.total <= memory:
            base.slots = 2 if partitions > 1 and base.total + staged + PAGE <= memory else 1
            return base
        budget = min(budget, sum(base.scratch.values())) * 7 // 8
    least = _paged([*fixed.values(), staged]) + 2 * SMALLEST_SCRATCH
    raise ResourceError(
        "not enough device memory for this proof",
        where="--device-memory",
        expected=f"at least {least} bytes ({least / (1 << 30):.1f} GiB)",
        got=f"{memory} bytes ({memory / (1 << 30):.1f} GiB)",
        hint="free the card, raise --device-memory, take a larger card, or use --device cpu",
    )


def _cut(to: Needs, counts: dict[str, int], held: dict[str, Positions], budget: int, multiprocessors: int) -> None:
    """Plans of all sums in at most `budget` bytes each, and the scratch that they need together."""
    to.scratch = {}

    def take(sizes: dict[str, int]) -> None:
        for name, size in sizes.items():
            to.scratch[name] = max(to.scratch.get(name, 0), size)

    def dense(curve: str, n: int) -> cuda_plan.Plan | None:
        if not n:
            return None
        made = cuda_plan.chunked(curve, n, budget, multiprocessors)
        take(made.sizes())
        return made

    to.h = dense("g1", counts["h"])
    for name, of in POSITIONS.items():
        curve, n = GROUP[name], counts[name]
        piece = -(-max(n, 1) // 32) * 32
        while sum(Selection.sizes(curve, piece, multiprocessors).values()) > budget:
            if piece <= 1 << 12:
                raise ResourceError("no room for a bitmap's sum")
            piece = -(-piece // 64) * 32
        take(Selection.sizes(curve, piece, multiprocessors))
        to.cuts[name] = Cut(dense(curve, len(held[of].which)), piece)


class Query:
    """One query on a card: its positions, and the room for its bitmap and scalars."""

    def __init__(self, card: Any, held: Positions) -> None:
        self.count, self.dense = len(held.source), len(held.which)
        self._source, self._which, self._index = (card.upload(x) for x in (held.source, held.which, held.index))
        self.source, self.which, self.index = (b.address for b in (self._source, self._which, self._index))

    def free(self) -> None:
        """Give the memory back."""
        for buffer in (self._source, self._which, self._index):
            buffer.free()


class DeviceKey:
    """Points, positions, transforms and scratch of one circuit on one card."""

    def __init__(
        self, card: Any, shape: Shape, where: dict[str, Positions], load: Load, memory: int, partitions: int = 1
    ) -> None:
        """Put everything on the card, within `memory` bytes.

        Raises  ResourceError before anything is allocated, if it cannot fit
        """
        self.card, self.shape = card, shape
        self.needs = needs(shape, where, memory, card.multiprocessors, partitions)
        self.stream = card.stream()
        self.scratch = Scratch(card, self.stream)
        self._held: list[Any] = []
        self.points: dict[str, DevicePoints] = {}
        try:
            self._fill(where, load)
        except BaseException:
            self.free()
            raise

    def _fill(self, where: dict[str, Positions], load: Load) -> None:
        card, shape = self.card, self.shape
        for name in GROUP:
            self.points[name] = load(card, name)
            self._held.append(self.points[name].buffer)
        h = self.points["h"]
        if h.count:
            # The quotient leaves its coefficients in bit-reversed order.
            pieces = h.size // 16
            arguments = (h.address, pieces, h.count, shape.domain_log2)
            launch_over(card, queries_cuda.reverse_points, pieces * h.count, None, *arguments)
            card.synchronize()
        self.queries = {of: Query(card, where[of]) for of in dict.fromkeys(POSITIONS.values())}
        self._held.extend(self.queries.values())
        self.quotient: Quotient | None = None
        if shape.domain_log2 >= ntt_kernels.MIN_LOG_PASS:
            self.quotient = Quotient(card, shape.domain_log2)
            self._held.append(self.quotient)
        self.bitmap = self._buffer(max(4 * -(-q.count // 32) for q in self.queries.values()))
        self.scalars = self._buffer(max(fr_cuda.BYTES * q.dense for q in self.queries.values()))
        for name, size in self.needs.scratch.items():
            self.scratch.buffer(name, size)
        cuts = self.needs.cuts
        self.msm_h = None if self.needs.h is None else Msm(self.scratch, self.needs.h)
        self.dense = {name: None if cut.dense is None else Msm(self.scratch, cut.dense) for name, cut in cuts.items()}
        self.selections = {name: Selection(self.scratch, GROUP[name]) for name in cuts}

    def _buffer(self, size: int) -> Any:
        made = self.card.buffer(size)
        self._held.append(made)
        return made

    def free(self) -> None:
        """Give everything back; the key is dead."""
        self.scratch.free()
        while self._held:
            self._held.pop().free()

    def prepare(self, name: str, bits: int, values: int) -> None:
        """The bitmap and the scalars of a query (l, a, b) from a witness on the card."""
        query = self.queries[name]
        self.scratch.over(queries_cuda.spread_bits, -(-query.count // 32), bits, query.source, query.count, self.bitmap.address)
        self.scratch.over(queries_cuda.gather_scalars, query.dense, values, query.which, query.dense, self.scalars.address)

    def sum(self, name: str) -> U64:
        """The sum over a vector (l, a, b_g1, b_g2) with the bitmap and the scalars that were prepared last."""
        points, piece, job = self.points[name], self.needs.cuts[name].piece, self.selections[name]
        sums = [
            job.run(points.part(i, n), self.bitmap.address + i // 8, n)
            for i in range(0, points.count, piece)
            if (n := min(piece, points.count - i))
        ]
        query = self.queries[POSITIONS[name]]
        sums.append(self.msm(name, self.dense[name], self.scalars.address, query.dense, query.index))
        return self._added(name, sums)

    def msm(self, name: str, job: Msm | None, scalars: int, n: int, index: int = 0) -> U64:
        """The sum of n scalars times points of a vector, in as many pieces as the plan has."""
        points, sums = self.points[name], []
        if job is not None:
            for first in range(0, n, job.plan.n):
                m = min(job.plan.n, n - first)
                where = (points, index + 4 * first) if index else (points.part(first, m), 0)
                job.start(where[0], scalars + fr_cuda.BYTES * first, m, where[1])
                sums.append(job.finish())
        return self._added(name, sums)

    @staticmethod
    def _added(name: str, sums: list[U64]) -> U64:
        nothing: U64 = np.zeros(point_limbs(GROUP[name]), np.uint64)
        return functools.reduce(cuda.GROUPS[GROUP[name]].add, sums, nothing)
