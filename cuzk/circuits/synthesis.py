"""Circuit synthesis of one partition: from hints to the witness and A·z, B·z, C·z, in each of the ways that switches name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cuzk import config, pages, workers
from cuzk.circuits import witness as witnesses
from cuzk.circuits.template import U8, Shape, Witness
from cuzk.circuits.witness import Hints, Streams
from cuzk.field.limbs import FR_BYTES, FR_LIMBS, U64, fr_mont
from cuzk.kernels.flat import Evaluations, Values
from cuzk.r1cs import evaluation, explicit, program
from cuzk.r1cs.explicit import Explicit
from cuzk.r1cs.packing import pack
from cuzk.timing import Timer
from cuzk.variants import Settings


@dataclass(frozen=True, slots=True)
class Buffers:
    """Arrays for one partition's synthesis, used again from run to run."""

    values: Values
    out: Evaluations

    @property
    def nbytes(self) -> int:
        """Their size together."""
        return sum(array.nbytes for array in (*self.values, *self.out))

    def overwrite(self, threads: int | None = None) -> None:
        """Fill everything with what no result holds: touches all pages, and nothing of an earlier run can pass for a result."""
        self._fill(write_over, threads)

    def touch(self, threads: int | None = None) -> None:
        """Fill everything with zeros: touches all pages, on all threads."""
        self._fill(write_zeros, threads)

    def _fill(self, write: Callable[[U64 | U8], None], threads: int | None) -> None:
        for array in (*self.values, *self.out):
            flat = array.reshape(-1)
            pieces = workers.ranges(len(flat), 4 * (threads or config.thread_count()), 1 << 16)
            workers.run_all(write, [(flat[i:j],) for i, j in pieces], threads)


def write_over(array: U64 | U8) -> None:
    """Fill with ones: no bit, and no limb in the highest place of a reduced element."""
    array[:] = np.iinfo(array.dtype).max


def write_zeros(array: U64 | U8) -> None:
    """Fill with zeros."""
    array[:] = 0


@dataclass(frozen=True, slots=True)
class Synthesis:
    """What the prover takes: the witness, and A·z, B·z, C·z on all Groth16 rows, in Montgomery form."""

    witness: Witness
    a: U64
    b: U64
    c: U64


def buffers(shape: Shape, rows: int | None = None, empty: Callable[..., np.ndarray] | None = None) -> Buffers:
    """Arrays of `rows` rows (default: the shape's), in huge pages where the system gives them, not touched yet.

    `empty(shape, dtype)` makes the large ones instead, if given; what is in them then is left over.
    """
    rows, make = rows or shape.groth16_rows, empty or pages.zeros
    values = Values(
        np.empty((shape.num_inputs, FR_LIMBS), np.uint64),
        make((shape.num_bits,), np.uint8),
        make((shape.num_elems, FR_LIMBS), np.uint64),
    )
    return Buffers(values, Evaluations(*(make((rows, FR_LIMBS), np.uint64) for _ in range(3))))


def bytes_of(shape: Shape, rows: int | None = None) -> int:
    """Size of the buffers of one partition."""
    elements = shape.num_inputs + shape.num_elems + 3 * (rows or shape.groth16_rows)
    return elements * FR_BYTES + shape.num_bits


def synthesize(
    shape: Shape,
    prologue: Hints,
    repeated: Hints,
    settings: Settings,
    timer: Timer,
    made: Explicit | None = None,
    into: Buffers | None = None,
    threads: int | None = None,
) -> Synthesis:
    """Witness and row values of one partition.

    `made` are the explicit matrices, for lc-layout=csr. `into` are buffers that are filled and handed back; without them arrays
    are made here. The result does not depend on the settings.

    Cost    see `witness.fill` and `evaluation.evaluate`; phases `witness` and `eval_abc`, or `stream_abc` for both
    Raises  InternalError as `witness.fill`
    """
    if settings.stream_witness:
        with timer.phase("stream_abc"):
            streams = witnesses.checked(shape, prologue, repeated)
            into = into or Buffers(witnesses.unfilled(shape), _rows(shape))
            _stream(shape, streams, into, made, threads)
            witness = Witness(*into.values)
    else:
        with timer.phase("witness"):
            witness = witnesses.fill(shape, prologue, repeated, threads, None if into is None else into.values)
        with timer.phase("eval_abc"):
            out = _rows(shape) if into is None else into.out
            into = Buffers(evaluation.values_of(shape, witness), out)
            if made is None:
                evaluation.evaluate(shape, witness, (out.a, out.b, out.c), threads=threads)
            else:
                explicit.evaluate(made, into.values, out, threads)
                evaluation.input_rows(shape, into.values, out)
    return Synthesis(witness, *into.out)


def _rows(shape: Shape) -> Evaluations:
    return Evaluations(*(np.empty((shape.groth16_rows, FR_LIMBS), np.uint64) for _ in range(3)))


def _stream(shape: Shape, streams: Streams, into: Buffers, made: Explicit | None, threads: int | None) -> None:
    """Each stamp's rows right after its witness, while that is in the cache; the prologue first, which the stamps refer to."""
    packed = pack(shape)
    values, out = into.values, into.out
    (prologue, (bits, elems_mont)) = streams
    values.inputs_mont[0] = fr_mont([1])[0]

    def stamp(k: int | None) -> None:
        hints = prologue if k is None else (bits[k], elems_mont[k])
        program.run_stamp(shape, packed, k, values, *hints)
        if made is None:
            evaluation.evaluate_stamp(shape, packed, k, values, out)
        else:
            explicit.evaluate_rows_of(made, values, out, *evaluation.stamp_rows(shape, k))

    stamp(None)
    workers.run_all(stamp, [(k,) for k in range(shape.repeats)], threads)
    evaluation.input_rows(shape, values, out)
