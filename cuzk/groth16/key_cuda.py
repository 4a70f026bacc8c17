"""The proving key of one circuit on a card: points, where the variables stand in them, and the memory that proofs need.

Everything that a proof's sums use is allocated at the start, so that what a run needs is known before it begins, does not grow
from proof to proof, and shrinks to what a card has: fewer windows at a time, sums in pieces.
"""

from __future__ import annotations

import functools
from typing import Any, Protocol

import numpy as np

from cuzk.circuits.template import Shape
from cuzk.field import fr_cuda
from cuzk.field.limbs import U64
from cuzk.groth16.needs_cuda import GROUP, POSITIONS, Positions, needs
from cuzk.groth16.prove import ProvingKey
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.kernels import ntt_cuda as ntt_kernels
from cuzk.kernels import queries_cuda
from cuzk.kernels.launch import launch_over
from cuzk.msm import cuda
from cuzk.msm.cuda import DevicePoints, Msm, Scratch, Selection
from cuzk.msm.cuda_scratch import upload_bytes
from cuzk.msm.rows import point_limbs


class Load(Protocol):
    """A source of points: from a file, or made on the card."""

    def __call__(self, card: Any, name: str, first: int = 0, count: int | None = None) -> DevicePoints:
        """Points first .. first + count of a vector (all from `first` on, if not given) on a card, in the order of the file."""

    def scratch_bytes(self, multiprocessors: int) -> int:
        """Device memory that a call takes beside the points, at most, and gives back."""


class _FromFile:
    def __init__(self, key: ProvingKey) -> None:
        self.key = key

    def __call__(self, card: Any, name: str, first: int = 0, count: int | None = None) -> DevicePoints:
        points_be = getattr(self.key, f"{name}_be")
        return cuda.upload_be(card, GROUP[name], points_be[first:] if count is None else points_be[first : first + count])

    def scratch_bytes(self, multiprocessors: int) -> int:
        return max(upload_bytes(curve, len(getattr(self.key, f"{name}_be"))) for name, curve in GROUP.items())


def load_from(key: ProvingKey) -> Load:
    """Points from the bytes of a parameter file."""
    return _FromFile(key)


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
        self.needs.making = load.scratch_bytes(card.multiprocessors)
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
