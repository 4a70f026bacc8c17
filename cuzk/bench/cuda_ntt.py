"""Transforms and the quotient on a card, data resident, each compared with the CPU's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk import ntt
from cuzk.bench import cuda_measure, measure
from cuzk.bench.cuda_measure import Kept
from cuzk.bench.measure import Request
from cuzk.field import fr_vector
from cuzk.field.limbs import FR_BYTES, FR_LIMBS, U64
from cuzk.field.params import FR_GENERATOR, R
from cuzk.groth16 import quotient as quotient_cpu
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.ntt_cuda import Domain

KERNELS = ("ntt_cuda", "ntt_radix8_cuda")
SIZES = (20, 22, 24, 27)
AGAINST = "the same transform by cuzk.ntt on the CPU, every element; after every timed run the same"
QUOTIENT_AGAINST = "the same by cuzk.groth16.quotient on the CPU, every coefficient; after every timed run the same"
_BESIDE = 1 << 30  # bytes left alone on a card


def memory(log2_size: int) -> int:
    """Bytes of device memory for one size: three vectors, the tables of three transforms."""
    return 3 * FR_BYTES * (1 << log2_size) + Quotient.table_bytes(log2_size)


class _Measured:
    """One size on one card: three vectors."""

    def __init__(self, request: Request, log2_size: int) -> None:
        self.request, self.log2_size, self.m = request, log2_size, 1 << log2_size
        self.card = request.cards[0]
        self.stream = self.card.stream()
        self.vectors = [self.card.buffer(FR_BYTES << log2_size) for _ in range(3)]

    def free(self) -> None:
        for vector in self.vectors:
            vector.free()

    def fill(self, *arrays: U64) -> None:
        for vector, array in zip(self.vectors, arrays, strict=False):
            vector.write(array)

    def read(self) -> U64:
        self.stream.synchronize()
        return np.asarray(self.vectors[0].read((self.m, FR_LIMBS), np.uint64))

    def kept(self, count: int) -> Kept:
        """The first `count` vectors as they are now."""
        return Kept(self.stream, *((vector, vector.size) for vector in self.vectors[:count]))

    def row(
        self, name: str, work: Callable[[], object], inputs: int, read: Callable[[], U64], want: U64, against: str
    ) -> dict[str, Any]:
        """Time some work on the first vectors as they are now: each run on the same ones, its result compared.

        `read` reads what one run left, as `want` has it.
        """
        with self.kept(inputs) as given:
            work()
            with self.kept(1) as made:
                got = read()
                shown = measure.result(got, against, np.array_equal(got, want), name)
                look = functools.partial(made.look, name)
                timing = cuda_measure.timed(self.card, self.stream, work, self.request.runs, before=given.restore, look=look)
        return cuda_measure.row(self.card, name, timing, result=shown)


def _transforms(job: _Measured) -> list[dict[str, Any]]:
    """Values to coefficients and back on the coset by 7, factors included; in the order that a quotient has them."""
    rows, data, stream = [], job.vectors[0].address, job.stream
    on_card, on_cpu = Domain(job.card, job.log2_size), ntt.Domain(job.log2_size)
    for name in ("forward", "inverse"):
        inverse = name == "inverse"
        host = measure.random_words((job.m, FR_LIMBS), 7)
        job.fill(host)
        shift = pow(FR_GENERATOR, -1, R) if inverse else FR_GENERATOR
        transform = on_card.transform(inverse, shift, pow(job.m, -1, R) if inverse else 1)
        # Coefficients are in bit-reversed order on a card.
        if not inverse:
            on_card.bit_reverse(data, stream)
        (on_cpu.coset_intt if inverse else on_cpu.coset_ntt)(host)
        what = f"ntt 2^{job.log2_size} {name}, coset" + " and 1/n" * inverse

        def read(inverse: bool = inverse, on_card: Domain = on_card) -> U64:
            if inverse:
                on_card.bit_reverse(data, stream)
            return job.read()

        rows.append(job.row(what, functools.partial(transform.run, data, stream), 1, read, host, AGAINST))
        del host
        on_card.free()
    return rows


def _quotients(job: _Measured) -> list[dict[str, Any]]:
    """h with c by itself, and a b on the coset where c is folded into the bases."""
    a, b, c = (vector.address for vector in job.vectors)
    quotient, domain = Quotient(job.card, job.log2_size), ntt.Domain(job.log2_size)
    hosts = [measure.random_words((job.m, FR_LIMBS), 8 + k) for k in range(3)]
    pair = [host.copy() for host in hosts[:2]]
    for values in pair:
        domain.intt(values)
        domain.coset_ntt(values)
    want = fr_vector.mul(pair[0], pair[1])
    del pair
    name = f"h 2^{job.log2_size}, c folded away: four transforms"
    job.fill(*hosts[:2])
    folded = job.row(name, lambda: quotient.product(a, b, job.stream), 2, job.read, want, AGAINST)
    job.fill(*hosts)
    want = quotient_cpu.quotient(hosts[0], hosts[1], hosts[2], domain)
    name = f"h 2^{job.log2_size}: seven transforms"

    def read() -> U64:
        quotient.domain.bit_reverse(a, job.stream)
        return job.read()[:-1]

    whole = job.row(name, lambda: quotient.run(a, b, c, job.stream), 3, read, want, QUOTIENT_AGAINST)
    quotient.free()
    return [whole, folded]


def run(request: Request) -> list[dict[str, Any]]:
    """Each size that the request's first card has memory for."""
    card, rows = request.cards[0], []
    for log2_size in request.sizes or SIZES:
        if memory(log2_size) + (_BESIDE if log2_size > 20 else 0) > card.free_memory():
            request.progress.line(f"left out: ntt 2^{log2_size} needs {memory(log2_size)} bytes of device memory")
            continue
        request.progress.line(f"ntt 2^{log2_size} on {card.name}")
        job = _Measured(request, log2_size)
        try:
            rows += _transforms(job) + _quotients(job)
        finally:
            job.free()
    return rows
