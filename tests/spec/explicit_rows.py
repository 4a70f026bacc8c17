"""Templates and stamps written out as explicit rows, by nothing but their definition in cuzk/circuits/template.py."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from cuzk.circuits.template import INDEX_MASK, INPUT, TAG_SHIFT, Matrix, Shape, Stage

Term = tuple[bool, int, int]  # (is an input, index, coefficient)


def kinds(shape: Shape, stage: Stage, first_aux: int) -> tuple[list[int], list[int]]:
    """Global aux indices of one stamp's bits and of its other variables, in order."""
    bits, elems = [], []
    for template, offset in zip(stage.template, stage.aux, strict=True):
        is_bit = shape.templates[template].aux_is_bit == 1
        bits += (np.flatnonzero(is_bit) + int(offset) + first_aux).tolist()
        elems += (np.flatnonzero(~is_bit) + int(offset) + first_aux).tolist()
    return bits, elems


def explicit_rows(shape: Shape) -> Iterator[tuple[list[Term], list[Term], list[Term]]]:
    """The circuit's rows in order, each as the terms of A, B and C."""
    coefficients = [sum(int(limb) << (64 * i) for i, limb in enumerate(limbs)) for limbs in shape.coefficients]
    prologue, repeated = shape.prologue, shape.repeated
    stamps = [(prologue, 0, 0)]
    for k in range(shape.repeats):
        stamps.append((repeated, prologue.aux_total + k * repeated.aux_total, prologue.inputs + k * repeated.inputs))
    prologue_bits, prologue_elems = kinds(shape, prologue, 0)
    matrices: dict[int, list[list[list[tuple[int, int]]]]] = {}
    for stage, first_aux, first_input in stamps:
        # By the tags of port tables: bits and elements of the stamp, bits and elements of the prologue.
        tables = (*kinds(shape, stage, first_aux), prologue_bits, prologue_elems)
        for s, number in enumerate(stage.template.tolist()):
            template = shape.templates[number]
            if number not in matrices:
                matrices[number] = [refs_of(m) for m in (template.a, template.b, template.c)]
            is_bit = template.aux_is_bit == 1
            ports = stage.ports[stage.port_ptr[s] : stage.port_ptr[s + 1]].tolist()
            aux, inputs = first_aux + int(stage.aux[s]), first_input + int(stage.input[s])
            # By the tags of template refs: local bits, local elements, ports, inputs.
            columns = (
                (np.flatnonzero(is_bit) + aux).tolist(),
                (np.flatnonzero(~is_bit) + aux).tolist(),
                [tables[port >> TAG_SHIFT][port & INDEX_MASK] for port in ports],
                [0, *range(inputs + 1, inputs + 1 + template.inputs)],
            )
            for row in zip(*matrices[number], strict=True):
                a, b, c = (
                    [
                        (ref >> TAG_SHIFT == INPUT, columns[ref >> TAG_SHIFT][ref & INDEX_MASK], coefficients[k])
                        for ref, k in entries
                    ]
                    for entries in row
                )
                yield a, b, c


def refs_of(m: Matrix) -> list[list[tuple[int, int]]]:
    """For each row its (ref, coefficient index) pairs."""
    pairs = list(zip(m.cols.tolist(), m.coeffs.tolist(), strict=True))
    bounds = m.indptr.tolist()
    return [pairs[start:end] for start, end in pairwise(bounds)]
