"""A witness as the Rust stack holds it: canonical aux values in order, and digests of them and of the row values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from cuzk import workers
from cuzk.circuits.template import U8, Shape, Stage, Witness
from cuzk.field.limbs import FR_LIMBS, U64
from cuzk.kernels import vector_cpu
from cuzk.r1cs.packing import aux_is_bit, stamp_base

# Elements converted and hashed at a time.
CHUNK = 1 << 15


def expand_aux(shape: Shape, witness: Witness, start: int, stop: int) -> U64:
    """Aux values start .. stop − 1 in order.

    Shape   uint64[stop − start, 4]. Domain canonical. Cost 1 M for each element among them.
    """
    out = np.empty((stop - start, FR_LIMBS), np.uint64)
    for stage, first, base in _stages(shape):
        low, high = max(start, first), min(stop, first + stage.aux_total)
        if low < high:
            _interleave(out[low - start : high - start], aux_is_bit(shape, stage), low - first, base, witness)
    return out


def _stages(shape: Shape) -> Iterator[tuple[Stage, int, tuple[int, int]]]:
    """Every stamp: its stage, first aux, first bit and element."""
    for stamp in (None, *range(shape.repeats)):
        _, aux, bit, elem, _ = stamp_base(shape, stamp).tolist()
        yield shape.prologue if stamp is None else shape.repeated, aux, (bit, elem)


def _interleave(out: U64, is_bit: U8, skip: int, base: tuple[int, int], witness: Witness) -> None:
    """Values of one stamp from its aux `skip` on."""
    bits = int(np.count_nonzero(is_bit[:skip]))
    first_bit, first_elem = base[0] + bits, base[1] + skip - bits
    vector_cpu.interleave(out, is_bit[skip : skip + len(out)], witness.bits[first_bit:], witness.elems_mont[first_elem:])


def digests(shape: Shape, witness: Witness, a: U64, b: U64, c: U64, threads: int | None = None) -> dict[str, str | int]:
    """BLAKE2s-256 of all aux, of all inputs (with ONE) and of A·z, B·z, C·z on the circuit's rows; how many aux are 0 and 1.

    Every value is hashed as its canonical 32-byte little-endian integer. Keys as in the facts of other provers: `aux_blake2s`,
    `inputs_blake2s`, `az_blake2s`, `bz_blake2s`, `cz_blake2s`, `zeros`, `ones`, `aux`, `inputs`, `rows`.
    """
    rows = shape.num_rows
    arrays = [x[:rows] for x in (a, b, c)] + [np.require(witness.inputs_mont, np.uint64, ["C", "W"])]
    tasks = [(_digest_aux, (shape, witness)), *((_digest_mont, (x,)) for x in arrays)]
    (aux, zeros, ones), az, bz, cz, inputs = workers.run_all(lambda task, arguments: task(*arguments), tasks, threads)
    return {
        "aux_blake2s": aux,
        "inputs_blake2s": inputs,
        "az_blake2s": az,
        "bz_blake2s": bz,
        "cz_blake2s": cz,
        "zeros": zeros,
        "ones": ones,
        "aux": shape.num_aux,
        "inputs": shape.num_inputs,
        "rows": rows,
    }


def _digest_mont(x_mont: U64) -> str:
    digest = hashlib.blake2s()
    chunk = np.empty((CHUNK, FR_LIMBS), np.uint64)
    for i in range(0, len(x_mont), CHUNK):
        part = x_mont[i : i + CHUNK]
        vector_cpu.from_mont(chunk[: len(part)], part)
        digest.update(chunk[: len(part)].astype("<u8", copy=False).data)
    return digest.hexdigest()


def _digest_aux(shape: Shape, witness: Witness) -> tuple[str, int, int]:
    """Digest of the aux values and how many of them are 0 and 1."""
    digest, zeros, ones = hashlib.blake2s(), 0, 0
    chunk = np.empty((CHUNK, FR_LIMBS), np.uint64)
    is_bit = {id(stage): aux_is_bit(shape, stage) for stage in (shape.prologue, shape.repeated)}
    for stage, _, (bit, elem) in _stages(shape):
        flags = is_bit[id(stage)]
        for i in range(0, len(flags), CHUNK):
            part = flags[i : i + CHUNK]
            out = chunk[: len(part)]
            vector_cpu.interleave(out, part, witness.bits[bit:], witness.elems_mont[elem:])
            bits = int(np.count_nonzero(part))
            bit, elem = bit + bits, elem + len(part) - bits
            counts = vector_cpu.count_zeros_ones(out)
            zeros, ones = zeros + counts[0], ones + counts[1]
            digest.update(out.astype("<u8", copy=False).data)
    return digest.hexdigest(), zeros, ones
