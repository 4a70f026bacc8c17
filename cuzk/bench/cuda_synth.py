"""Circuit synthesis on a card: the hints of partition 0 to the witness and A·z, B·z, C·z where a proof takes them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from cuzk.bench import cuda_measure, measure, synth
from cuzk.bench.cuda_measure import Kept
from cuzk.bench.known import SECTOR_SIZE
from cuzk.bench.measure import Request
from cuzk.circuits import synthesis
from cuzk.circuits.hints import hints
from cuzk.circuits.synthesis import Synthesis
from cuzk.circuits.synthesis_cuda import Synthesizer, Tables, packed_bits
from cuzk.circuits.template import Shape
from cuzk.circuits.witness import Hints
from cuzk.errors import ResourceError
from cuzk.field.limbs import FR_BYTES, FR_LIMBS
from cuzk.formats import shapes
from cuzk.groth16.prove_cuda import Staged
from cuzk.r1cs.levelling import level
from cuzk.seal import sector
from cuzk.timing import Timer
from cuzk.variants import DEFAULTS

KERNELS = ("program_cuda", "rows_cuda")
SIZES = (SECTOR_SIZE, 32 << 30)
AGAINST = "witness and A·z, B·z, C·z by cuzk.circuits.synthesis on the CPU, every value; after every timed run the same"


def same(place: Staged, wanted: Synthesis) -> bool:
    """Whether what is on the card is what the CPU made."""
    witness, shape = wanted.witness, place.shape
    bits = packed_bits(witness.bits)
    if not np.array_equal(place.bits.read(bits.shape, np.uint32), bits):
        return False
    values = np.concatenate([witness.inputs_mont, witness.elems_mont])
    if not np.array_equal(place.values.read(values.shape, np.uint64), values):
        return False
    n = shape.groth16_rows
    for buffer, array in zip(place.rows, (wanted.a, wanted.b, wanted.c), strict=True):
        if not np.array_equal(buffer.read((n, FR_LIMBS), np.uint64), array[:n]):
            return False
        if buffer.read(((1 << shape.domain_log2) - n, FR_LIMBS), np.uint64, FR_BYTES * n).any():
            return False
    return True


def measured(request: Request, shape: Shape, given: tuple[Hints, Hints], name: str) -> dict[str, Any]:
    """One partition from its hints, a pair as `circuits.hints` gives them."""
    card, (prologue, repeated) = request.cards[0], given
    stream, levelled = card.stream(), level(shape)
    if levelled is None:
        raise ResourceError("a segment of this circuit is too large for a card", where=name, hint="use --device cpu")
    tables = Tables(shape, levelled)
    synthesizer = Synthesizer(card, tables)
    try:
        place = Staged(card, shape)
        try:
            before = card.bytes_in
            synthesizer.witness(prologue, repeated, place, stream)
            synthesizer.rows(place, stream)
            stream.synchronize()
            inward = card.bytes_in - before
            shown = _result(place, synthesis.synthesize(shape, prologue, repeated, DEFAULTS, Timer()), name)
            used = FR_BYTES * shape.groth16_rows
            with Kept(stream, (place.bits, place.bits.size), (place.values, place.values.size)) as made:
                look = functools.partial(made.look, f"{name}, witness")
                work = functools.partial(synthesizer.witness, prologue, repeated, place, stream)
                witness = cuda_measure.timed(card, stream, work, request.runs, before=made.spoil, look=look)
            with Kept(stream, *((buffer, used) for buffer in place.rows)) as made:
                look, work = functools.partial(made.look, f"{name}, rows"), functools.partial(synthesizer.rows, place, stream)
                rows = cuda_measure.timed(card, stream, work, request.runs, before=made.spoil, look=look)
        finally:
            place.free()
    finally:
        synthesizer.free()
    both = cuda_measure.Timing(*([a + b for a, b in zip(x, y, strict=True)] for x, y in zip(witness, rows, strict=True)))
    row = cuda_measure.row(card, name, both, result=shown, bytes_in=inward, tables_bytes=tables.nbytes)
    row |= {"witness": witness.as_dict()["seconds"], "rows": rows.as_dict()["seconds"]}
    return row | {"rows_per_second": round(shape.num_rows / max(row["seconds"]["median"], 1e-12))}


def _result(place: Staged, wanted: Synthesis, name: str) -> dict[str, Any]:
    """The digest of the inputs and elements on the card, if all that is there is right."""
    witness = wanted.witness
    values = np.concatenate([witness.inputs_mont, witness.elems_mont])
    return measure.result(values, AGAINST, same(place, wanted), name)


def run(request: Request) -> list[dict[str, Any]]:
    """Each size, on the request's first card."""
    rows, card = [], request.cards[0]
    for size in request.sizes or SIZES:
        name = f"synthesis {sector.parse(size).name}"
        shape = shapes.load_or_record(size, request.progress)
        need = 3 * FR_BYTES << shape.domain_log2
        if need + (1 << 30) > card.free_memory():
            request.progress.line(f"left out: {name} needs more than {need} bytes of device memory")
            continue
        request.progress.line(f"{name} on {card.name}")
        rows.append(measured(request, shape, hints(synth.content_of(size), 0), name))
    return rows
