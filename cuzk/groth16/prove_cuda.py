"""The Groth16 prover on a card: the steps of `prove`, with points, transforms and scratch resident (`key_cuda`).

A partition is *staged*, its witness and row values made on the card or copied there, and then proved. With two places for staged
partitions one is made ready while another is proved. Device time is measured with events and kept beside the phases of the host.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.circuits.synthesis_cuda import Synthesizer, Tables, hint_bytes, packed_bits
from cuzk.circuits.template import Shape, Witness
from cuzk.circuits.witness import Hints
from cuzk.device import ELSEWHERE
from cuzk.errors import InternalError
from cuzk.field import fr_cuda, fr_vector
from cuzk.field.limbs import FR_LIMBS, U64
from cuzk.groth16.key_cuda import DeviceKey
from cuzk.groth16.keys import VerifyingKey
from cuzk.groth16.proof import Proof
from cuzk.groth16.prove import assemble, false_circuit
from cuzk.groth16.quotient import quotient
from cuzk.kernels import queries_cuda
from cuzk.kernels.launch import launch_over
from cuzk.ntt import Domain
from cuzk.ntt_cuda import reversal
from cuzk.r1cs import evaluation
from cuzk.timing import Timer


class Staged:
    """Room on a card for the witness and the row values of one partition: packed bits, inputs and elements, A·z, B·z, C·z."""

    def __init__(self, card: Any, shape: Shape) -> None:
        self.shape = shape
        self._held: list[Any] = []
        vector = fr_cuda.BYTES << shape.domain_log2
        values = fr_cuda.BYTES * (shape.num_inputs + shape.num_elems)
        try:
            for size in (4 * -(-shape.num_bits // 32), values, vector, vector, vector):
                self._held.append(card.buffer(size))
        except BaseException:
            self.free()
            raise
        self.bits, self.values, *self.rows = self._held
        self.copied = 0  # bytes of the last partition

    def free(self) -> None:
        """Give the memory back."""
        while self._held:
            self._held.pop().free()

    def write(self, witness: Witness, rows: tuple[U64, U64, U64], stream: Any) -> None:
        """Copy a partition here; done when this returns.

        Shape   rows uint64[n, 4] with all Groth16 rows, the rest of the domain is set to zero
        Domain  Montgomery
        """
        arrays: list[tuple[Any, npt.NDArray[Any], int]] = [
            (self.values, witness.inputs_mont, 0),
            (self.values, witness.elems_mont, witness.inputs_mont.nbytes),
        ]
        arrays += [(self.bits, packed_bits(witness.bits), 0)]
        used = self.shape.groth16_rows
        for buffer, values in zip(self.rows, rows, strict=True):
            arrays.append((buffer, values[:used], 0))
            buffer.fill(0, offset=fr_cuda.BYTES * used, stream=stream)
        for buffer, array, offset in arrays:
            buffer.write(array, offset, stream)
        stream.synchronize()
        self.copied = sum(array.nbytes for _, array, _ in arrays)


class Prover:
    """Proofs of one circuit on one card."""

    def __init__(self, key: DeviceKey, vk: VerifyingKey, tables: Tables | None = None) -> None:
        self.key, self.vk, self.card, self.shape = key, vk, key.card, key.shape
        self.track = f"cuda:{self.card.ordinal}"
        self.places: list[Staged] = []
        self.synthesizer: Synthesizer | None = None
        try:
            if tables is not None:
                self.synthesizer = Synthesizer(self.card, tables)
            self._copying = self.card.stream()
            self._false = self.card.buffer(4)
            for _ in range(key.needs.slots):
                self.places.append(Staged(self.card, self.shape))
        except BaseException:
            self.free()
            raise

    def free(self) -> None:
        """Give all memory back, that of the key too."""
        for staged in self.places:
            staged.free()
        if self.synthesizer is not None:
            self.synthesizer.free()
        if hasattr(self, "_false"):
            self._false.free()
        self.key.free()

    def stage(self, place: Staged, witness: Witness, rows: tuple[U64, U64, U64]) -> None:
        """Put a partition on the card, beside whatever is proved there."""
        place.write(witness, rows, self._copying)

    def synthesize(self, place: Staged, prologue: Hints, repeated: Hints, timer: Timer) -> None:
        """Make a partition on the card from its hints, beside whatever is proved there; done when this returns.

        Raises  InternalError as `witness.fill`
        """
        assert self.synthesizer is not None
        with self._step(timer, "witness", self._copying, " ahead"):
            self.synthesizer.witness(prologue, repeated, place, self._copying)
        with self._step(timer, "eval_abc", self._copying, " ahead"):
            self.synthesizer.rows(place, self._copying)
        place.copied = sum(hint_bytes(self.shape))

    @contextmanager
    def _step(self, timer: Timer, name: str, stream: Any = None, of: str = "") -> Iterator[None]:
        """A phase of the host, and the device's time for what it queued, as a span of the card's track."""
        stream = stream or self.key.stream
        with timer.phase(name) as phase:
            began = self.card.event().record(stream)
            yield
            seconds = self.card.event().record(stream).milliseconds_since(began) / 1000
        timer.span(self.track + of, name, phase.start, seconds, timer.partition)

    def prove(self, place: Staged, r: int, s: int, timer: Timer, step: Callable[[str], None]) -> Proof:
        """One proof of what was staged, for given r and s (canonical integers below the group order).

        Alias   the staged rows are consumed
        Source  as `groth16.prove.prove`
        Raises  FalseCircuit if a circuit file's own assignment is false; InternalError if a witness that we made does not hold
        """
        key = self.key
        bits, values = place.bits.address, place.values.address
        with self._step(timer, "check"):
            self._check_rows(place)
            step("eval_abc")
        with self._step(timer, "ntt_h"):
            self._quotient(place)
            step("ntt_h")
        with self._step(timer, "msm_h"):
            h = key.sum_h(place.rows[0].address)
            step("msm_h")
        sums = {}
        for name, of in (("l", "l"), ("a", "a"), ("b_g1", "b"), ("b_g2", "")):
            with self._step(timer, f"msm_{name}"):
                if of:  # both vectors b have the same variables
                    key.prepare(of, bits, values)
                sums[name] = key.sum(name)
                step(f"msm_{name}")
        with timer.phase("assemble"):
            proof = assemble(self.vk, h, sums["l"], sums["a"], sums["b_g1"], sums["b_g2"], r, s)
            step("assemble")
        return proof

    def _check_rows(self, place: Staged) -> None:
        """Raise unless a b = c in every row."""
        n = self.shape.num_rows
        addresses = [buffer.address for buffer in place.rows]
        self._false.fill(0, stream=self.key.stream)
        launch_over(self.card, queries_cuda.find_false, n, self.key.stream, *addresses, n, self._false.address)
        found = self.key.scratch.word(self._false.address)
        if not found:
            return
        row = evaluation.locate_row(self.shape, n - found)
        if self.shape.facts.get("kind") == "circuit":
            raise false_circuit(row)
        raise InternalError(
            "the witness does not satisfy the circuit",
            where=str(row),
            hint=f"{ELSEWHERE}report it",
            phase="eval_abc",
        )

    def _quotient(self, place: Staged) -> None:
        """h in place of A·z, bit-reversed and canonical; folded, the values of a b on the coset, Montgomery."""
        a, b, c = place.rows
        if self.key.quotient is not None:
            if self.key.needs.folded:
                self.key.quotient.product(a.address, b.address, self.key.stream)
                return
            self.key.quotient.run(a.address, b.address, c.address, self.key.stream)
            return
        # Domains too small for a pass.
        log_size = self.shape.domain_log2
        values = [x.read((1 << log_size, FR_LIMBS), np.uint64) for x in (a, b, c)]
        if self.key.needs.folded:
            for x in values[:2]:
                Domain(log_size).intt(x)
                Domain(log_size).coset_ntt(x)
            a.write(fr_vector.mul(values[0], values[1]))
            return
        h = np.zeros((1 << log_size, FR_LIMBS), np.uint64)
        h[:-1] = quotient(values[0], values[1], values[2], Domain(log_size))
        a.write(np.ascontiguousarray(h[reversal(log_size)]))
