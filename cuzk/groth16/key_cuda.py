"""The proving key of one circuit on a card: points, where the variables stand in them, and the memory that proofs need.

Everything that a proof's sums use is allocated at the start, so that what a run needs is known before it begins, does not grow
from proof to proof, and shrinks to what a card has: fewer windows at a time, sums in pieces, points that pass through the card
from host memory (`needs_cuda`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from cuzk.circuits.template import Shape
from cuzk.field import fr_cuda
from cuzk.field.limbs import U64
from cuzk.groth16.crs import GROUP
from cuzk.groth16.host_points import HostPoints
from cuzk.groth16.needs_cuda import POSITIONS, Load, Needs, Positions
from cuzk.groth16.prove import ProvingKey
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.kernels import ntt_cuda as ntt_kernels
from cuzk.kernels import queries_cuda
from cuzk.kernels.launch import launch_over
from cuzk.msm import cuda, cuda_stream
from cuzk.msm.cuda import DevicePoints, Msm, Scratch, Selection
from cuzk.msm.cuda_scratch import upload_bytes
from cuzk.msm.rows import point_limbs


class _FromFile:
    folded = False

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
        self._held: list[Any] = []
        try:
            for array in (held.source, held.which, held.index):
                self._held.append(card.upload(array))
        except BaseException:
            self.free()
            raise
        self.source, self.which, self.index = (buffer.address for buffer in self._held)

    def free(self) -> None:
        """Give the memory back."""
        while self._held:
            self._held.pop().free()


class DeviceKey:
    """Points, positions, transforms and scratch of one circuit on one card."""

    def __init__(
        self,
        card: Any,
        shape: Shape,
        where: dict[str, Positions],
        load: Load,
        plan: Needs,
        host: HostPoints,
    ) -> None:
        """Put everything on the card as planned; the points that are streamed are those of `host`, copied there if need be."""
        self.card, self.shape, self.needs = card, shape, plan
        self._held: list[Any] = []
        self.points: dict[str, DevicePoints] = {}
        self.streamed: dict[str, U64] = {}  # points in host memory
        self.tails: dict[str, DevicePoints] = {}  # those of them that belong to scalars
        self.stream = card.stream()
        self.scratch = Scratch(card, self.stream)
        try:
            for name in self.needs.streamed:
                self.streamed[name] = host.vector(card, name, self.needs.counts[name], load, self.needs.total // 4)
            self._fill(where, load)
        except BaseException:
            self.free()
            raise

    def _fill(self, where: dict[str, Positions], load: Load) -> None:
        card, shape = self.card, self.shape
        for name in GROUP:
            if name not in self.streamed:
                self.points[name] = load(card, name)
                self._held.append(self.points[name].buffer)
            elif name in POSITIONS:
                rows = self.streamed[name][where[POSITIONS[name]].index]
                self.tails[name] = cuda.upload(card, GROUP[name], rows)
                self._held.append(self.tails[name].buffer)
        if "h" in self.points and (h := self.points["h"]).count and not self.needs.folded:
            # The quotient leaves its coefficients in bit-reversed order.
            pieces = h.size // 16
            arguments = (h.address, pieces, h.count, shape.domain_log2)
            launch_over(card, queries_cuda.reverse_points, pieces * h.count, None, *arguments)
            card.synchronize()
        self.queries = {of: self._keep(Query(card, where[of])) for of in dict.fromkeys(POSITIONS.values())}
        self.quotient: Quotient | None = None
        if shape.domain_log2 >= ntt_kernels.MIN_LOG_PASS:
            self.quotient = self._keep(Quotient(card, shape.domain_log2, shared=self.needs.shared, folded=self.needs.folded))
        self.bitmap = self._keep(card.buffer(max(4 * -(-q.count // 32) for q in self.queries.values())))
        self.scalars = self._keep(card.buffer(max(fr_cuda.BYTES * q.dense for q in self.queries.values())))
        for name, size in self.needs.scratch.items():
            self.scratch.buffer(name, size)
        cuts = self.needs.cuts
        self.msm_h = None if self.needs.h is None else Msm(self.scratch, self.needs.h)
        self.dense = {name: None if cut.dense is None else Msm(self.scratch, cut.dense) for name, cut in cuts.items()}
        self.selections = {name: Selection(self.scratch, GROUP[name]) for name in cuts}

    def _keep(self, made: Any) -> Any:
        self._held.append(made)
        return made

    def free(self) -> None:
        """Give everything back; the key is dead."""
        self.scratch.free()
        while self._held:
            self._held.pop().free()
        self.streamed.clear()

    def prepare(self, name: str, bits: int, values: int) -> None:
        """The bitmap and the scalars of a query (l, a, b) from a witness on the card."""
        query = self.queries[name]
        self.scratch.over(queries_cuda.spread_bits, -(-query.count // 32), bits, query.source, query.count, self.bitmap.address)
        self.scratch.over(queries_cuda.gather_scalars, query.dense, values, query.which, query.dense, self.scalars.address)

    def sum(self, name: str) -> U64:
        """The sum over a vector (l, a, b_g1, b_g2) with the bitmap and the scalars that were prepared last."""
        job, query = self.selections[name], self.queries[POSITIONS[name]]
        pieces = self._pieces(name, self.needs.cuts[name].piece)
        sums = [job.run(part, self.bitmap.address + first // 8, part.count) for first, part in pieces]
        if (dense := self.dense[name]) is not None:
            tail = self.tails.get(name)
            for first in range(0, query.dense, dense.plan.n):
                m = min(dense.plan.n, query.dense - first)
                scalars = self.scalars.address + fr_cuda.BYTES * first
                if tail is None:
                    dense.start(self.points[name], scalars, m, query.index + 4 * first)
                else:
                    dense.start(tail.part(first, m), scalars, m)
                sums.append(dense.finish())
        return self._added(name, sums)

    def sum_h(self, coefficients: int) -> U64:
        """The sum over h. `coefficients`: address of those of the quotient, as it leaves them, or of its values if folded."""
        sums, job = [], self.msm_h
        if job is not None:
            if "h" in self.streamed and not self.needs.folded:  # in the order of the file
                log_size = self.shape.domain_log2
                self.scratch.over(ntt_kernels.bit_reverse, 1 << log_size, coefficients, log_size)
            for first, part in self._pieces("h", job.plan.n):
                job.start(part, coefficients + fr_cuda.BYTES * first, part.count)
                sums.append(job.finish())
        return self._added("h", sums)

    def _pieces(self, name: str, size: int) -> Iterator[tuple[int, DevicePoints]]:
        """The points of a vector, `size` at a time, and the number of each piece's first."""
        if name in self.streamed:
            yield from cuda_stream.pieces(self.scratch, GROUP[name], self.streamed[name], size)
            return
        points = self.points[name]
        for first in range(0, points.count, size):
            yield first, points.part(first, min(size, points.count - first))

    @staticmethod
    def _added(name: str, sums: list[U64]) -> U64:
        nothing: U64 = np.zeros(point_limbs(GROUP[name]), np.uint64)
        return functools.reduce(cuda.GROUPS[GROUP[name]].add, sums, nothing)
