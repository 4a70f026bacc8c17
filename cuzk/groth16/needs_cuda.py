"""What the proofs of one circuit take on a card: where the variables stand among the points, and how sums are cut for the memory.

Predicted from the shape and the memory before anything is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cuzk.circuits.template import Shape
from cuzk.errors import ResourceError
from cuzk.field import fr_cuda
from cuzk.groth16.crs import VECTORS
from cuzk.groth16.prove import Queries
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.kernels import ntt_cuda as ntt_kernels
from cuzk.kernels.tree_cuda import NONE
from cuzk.msm import cuda_plan
from cuzk.msm.cuda import Selection

U32 = npt.NDArray[np.uint32]
GROUP = dict(VECTORS)
# Which positions the points of a vector have.
POSITIONS = {"l": "l", "a": "a", "b_g1": "b", "b_g2": "b"}
SMALLEST_SCRATCH = 64 << 20
# Device memory is given out in pages of this size; smaller pieces share one.
PAGE = 2 << 20


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
    making: int = 0  # beside the points, while they are made; given back before the rest is allocated

    @property
    def total(self) -> int:
        """What a run allocates at its peak, in whole pages."""
        whole = _paged([*self.fixed.values(), *[self.staged] * self.slots, *self.scratch.values()])
        return max(whole, _paged([self.fixed["points"], self.making]))

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
