"""Slow twin of the digest: a shape as explicit rows of Python integers, and the digest of those."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from cuzk.circuits.template import INDEX_MASK, LOCAL_BIT, PORT, PROLOGUE_BIT, STAGE_ELEM, TAG_SHIFT, Shape, Stage
from cuzk.field.limbs import from_limbs

Row = tuple[dict, dict, dict]  # ("I" | "A", index) -> coefficient


def _aux_positions(shape: Shape, stage: Stage) -> list[list[int]]:
    """Aux index in the stage of each bit and of each element."""
    positions: list[list[int]] = [[], []]
    for template, aux in zip(stage.template, stage.aux, strict=True):
        for i, is_bit in enumerate(shape.templates[template].aux_is_bit):
            positions[1 - int(is_bit)].append(int(aux) + i)
    return positions


def rows(shape: Shape) -> Iterator[Row]:
    """Every row in order."""
    coefficients = from_limbs(shape.coefficients)
    prologue = _aux_positions(shape, shape.prologue)
    repeated = _aux_positions(shape, shape.repeated)
    yield from _stage_rows(shape, shape.prologue, coefficients, prologue, prologue, 0, 1)
    for k in range(shape.repeats):
        aux = shape.prologue.aux_total + k * shape.repeated.aux_total
        first_input = 1 + shape.prologue.inputs + k * shape.repeated.inputs
        yield from _stage_rows(shape, shape.repeated, coefficients, prologue, repeated, aux, first_input)


def _stage_rows(shape, stage, coefficients, prologue, own, aux_base, input_base):
    for s, number in enumerate(stage.template):
        t = shape.templates[number]
        ports = stage.ports[stage.port_ptr[s] : stage.port_ptr[s + 1]]
        local = [np.flatnonzero(t.aux_is_bit == 1), np.flatnonzero(t.aux_is_bit == 0)]

        def variable(ref, s=s, ports=ports, local=local):
            tag, index = int(ref) >> TAG_SHIFT, int(ref) & INDEX_MASK
            if tag < PORT:
                return "A", aux_base + int(stage.aux[s]) + int(local[tag - LOCAL_BIT][index])
            if tag == PORT:
                port_tag, rank = int(ports[index]) >> TAG_SHIFT, int(ports[index]) & INDEX_MASK
                if port_tag <= STAGE_ELEM:
                    return "A", aux_base + own[port_tag][rank]
                return "A", prologue[port_tag - PROLOGUE_BIT][rank]
            return "I", 0 if index == 0 else input_base + int(stage.input[s]) + index - 1

        for r in range(t.rows):
            row = []
            for m in (t.a, t.b, t.c):
                entries = range(m.indptr[r], m.indptr[r + 1])
                row.append({variable(m.cols[e]): coefficients[m.coeffs[e]] for e in entries})
                assert len(row[-1]) == len(entries)
            yield tuple(row)


def row_bytes(row: Row) -> bytes:
    """One row as the digest takes it."""
    out = []
    for lc in row:
        terms = sorted(((kind == "A", index), k) for (kind, index), k in lc.items() if k)
        out.append(len(terms).to_bytes(8, "big"))
        out += [b"IA"[is_aux : is_aux + 1] + i.to_bytes(8, "big") + k.to_bytes(32, "big") for (is_aux, i), k in terms]
    return b"".join(out)


def summary(shape: Shape) -> dict:
    """The digest line of a shape, without checkpoints."""
    counts = shape.num_inputs, shape.num_aux, shape.num_rows
    h = hashlib.blake2s(b"".join(n.to_bytes(8, "big") for n in counts))
    nnz, seen = [0, 0, 0], [set(), set()]
    for row in rows(shape):
        h.update(row_bytes(row))
        for i, lc in enumerate(row):
            nnz[i] += len(lc)
        seen[0].update(row[0])
        seen[1].update(row[1])
    out = dict(zip(("inputs", "aux", "constraints"), counts, strict=True), nnz=nnz, digest=h.hexdigest())
    for name, used, kind, n in (
        ("a_aux", seen[0], "A", counts[1]),
        ("b_aux", seen[1], "A", counts[1]),
        ("b_input", seen[1], "I", counts[0]),
    ):
        bits = np.zeros(n, np.uint8)
        bits[[i for k, i in used if k == kind]] = 1
        out[f"{name}_density"] = int(bits.sum())
        out[f"{name}_density_digest"] = hashlib.blake2s(np.packbits(bits, bitorder="little").tobytes()).hexdigest()
    return out
