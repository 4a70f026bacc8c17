"""Products in Fp and Fr on a card, in chains that stay in registers: the rate of the multiplier."""

from __future__ import annotations

import functools
import random
from typing import Any

import numpy as np

from cuzk.bench import cuda_measure, measure
from cuzk.bench.measure import Request
from cuzk.errors import InternalError
from cuzk.field.limbs import FP_LIMBS, FP_RADIX, FR_LIMBS, FR_RADIX, U64, fp_mont, fr_mont, from_limbs
from cuzk.field.params import P, R
from cuzk.kernels import rates_cuda
from cuzk.kernels.launch import launch

KERNELS = ("rates_cuda",)
FIELDS: dict[str, tuple[int, Any, int, int]] = {
    "fp": (P, fp_mont, FP_LIMBS, FP_RADIX),
    "fr": (R, fr_mont, FR_LIMBS, FR_RADIX),
}
ROUNDS, FEW = 5000, 3  # timed, and where a check alone asks for some
AGAINST = "the end of every chain of products in plain integers, the same in every block; after every timed run the same"
DISTINCT = 64  # values; every block works on the same ones
_BLOCKS = 16  # a multiprocessor


class Products:
    """Chains of products of one field on as many blocks as keep a card busy."""

    def __init__(self, card: Any, stream: Any, field: str, blocks: int = 0) -> None:
        self.card, self.stream, self.field = card, stream, field
        self.modulus, encode, self.limbs, self.radix = FIELDS[field]
        self.kernel = getattr(rates_cuda, f"{field}_products")
        self.blocks = blocks or _BLOCKS * card.multiprocessors
        draw = random.Random(1)
        self._values = [draw.randrange(self.modulus) for _ in range(DISTINCT)]
        self.count = 2 * self.kernel.threads * self.blocks
        self._data: U64 = encode(self._values * (self.count // DISTINCT))
        self.buffer = card.upload(self._data)

    def run(self, rounds: int) -> None:
        """Queue so many rounds."""
        launch(self.card, self.kernel, self.blocks, self.stream, self.buffer.address, rounds)

    def products(self, rounds: int) -> int:
        """Products that `rounds` rounds take."""
        return int(self.kernel.threads * self.blocks * (rounds * rates_cuda.PRODUCTS + 2))

    def reset(self) -> None:
        """The values that chains begin with."""
        self.buffer.write(self._data)

    def left(self) -> U64:
        """What the last run left."""
        self.stream.synchronize()
        return np.asarray(self.buffer.read((self.count, self.limbs), self._data.dtype))

    def checked(self, rounds: int = FEW) -> U64:
        """What so many rounds leave. Raises InternalError if a value is not as in plain integers."""
        self.reset()
        self.run(rounds)
        got = self.left()
        back, p = pow(self.radix, -1, self.modulus), self.modulus
        want = [x for i in range(0, DISTINCT, 2) for x in self._chained(self._values[i], self._values[i + 1], rounds)]
        if [x * back % p for x in from_limbs(got[:DISTINCT])] != want:
            raise InternalError(f"{self.field} products are wrong", phase="bench")
        if not (got.reshape(-1, DISTINCT, self.limbs) == got[:DISTINCT]).all():
            raise InternalError(f"{self.field} products differ between blocks", phase="bench")
        return got

    def _chained(self, a: int, b: int, rounds: int) -> list[int]:
        """What one thread leaves after so many rounds."""
        p = self.modulus
        c, d = b, a
        for _ in range(rounds):
            a, c = a * b % p, c * d % p
            b, d = b * a % p, d * c % p
        return [a * c % p, b * d % p]


def run(request: Request, rounds: int = ROUNDS, blocks: int = 0) -> list[dict[str, Any]]:
    """Fp and Fr on the request's first card."""
    card, rows = request.cards[0], []
    stream = card.stream()
    for field in FIELDS:
        job, name = Products(card, stream, field, blocks), f"{field} mul"
        got = job.checked(rounds)

        def look(job: Products = job, got: U64 = got, name: str = name) -> None:
            measure.same_again(np.array_equal(job.left(), got), name)

        timing = cuda_measure.timed(card, stream, functools.partial(job.run, rounds), request.runs, before=job.reset, look=look)
        row = cuda_measure.row(card, name, timing, result=measure.result(got[:DISTINCT], AGAINST, True, name))
        row["per_ns"] = cuda_measure.per_ns(row, job.products(rounds))
        rows.append(row)
        job.buffer.free()
    return rows
