"""Rows of a shape taken one by one, in plain integers: what tells whether row values are those of the circuit.

Nothing here uses the routines that evaluate rows, only the layout that `circuits.template` states.
"""

from __future__ import annotations

import random

import numpy as np

from cuzk.circuits.synthesis import Synthesis
from cuzk.circuits.template import INDEX_MASK, INPUT, PORT, PROLOGUE_BIT, TAG_SHIFT, Shape, Stage, Witness
from cuzk.field.limbs import U64, fr_ints, from_limbs
from cuzk.field.params import R
from cuzk.spec import r1cs
from cuzk.spec.field import Fr

SAMPLES = 300
# In the places of an aux index: 2 rank for a bit, 2 rank + 1 for another variable.
_BIT, _ELEM = 0, 1


class _Aux:
    """Aux variables of a witness as integers, by twice their rank."""

    def __init__(self, witness: Witness) -> None:
        self._witness = witness

    def __getitem__(self, place: int) -> int:
        rank, kind = divmod(place, 2)
        return int(self._witness.bits[rank]) if kind == _BIT else fr_ints(self._witness.elems_mont[rank : rank + 1])[0]

    def __len__(self) -> int:
        return 2 * max(len(self._witness.bits), len(self._witness.elems_mont))


def row(shape: Shape, number: int) -> r1cs.Row:
    """The combinations A, B, C of a circuit row; aux variables as twice their rank among bits, or that among others and 1."""
    prologue, repeated = shape.prologue, shape.repeated
    stage, start, first, first_input = prologue, number, (0, 0), 1
    if number >= prologue.rows:
        stage = repeated
        stamp, start = divmod(number - prologue.rows, repeated.rows)
        first = prologue.bits + stamp * repeated.bits, prologue.elems + stamp * repeated.elems
        first_input = 1 + prologue.inputs + stamp * repeated.inputs
    segment = int(np.searchsorted(stage.row, start, side="right")) - 1
    template, line = shape.templates[int(stage.template[segment])], start - int(stage.row[segment])

    def variable(ref: int) -> r1cs.Variable:
        tag, index = ref >> TAG_SHIFT, ref & INDEX_MASK
        if tag == INPUT:
            return "I", first_input + int(stage.input[segment]) + index - 1 if index else 0
        if tag == PORT:
            return "A", _port(int(stage.ports[int(stage.port_ptr[segment]) + index]), first)
        return "A", 2 * (first[tag] + int(_first(stage, tag)[segment]) + index) + tag

    found = []
    for matrix in (template.a, template.b, template.c):
        terms = range(int(matrix.indptr[line]), int(matrix.indptr[line + 1]))
        factors = from_limbs(shape.coefficients[matrix.coeffs[terms.start : terms.stop]])
        found.append(r1cs.combination(Fr, ((*variable(int(matrix.cols[e])), k) for e, k in zip(terms, factors, strict=True))))
    return found[0], found[1], found[2]


def _first(stage: Stage, kind: int) -> np.ndarray:
    return stage.bit if kind == _BIT else stage.elem


def _port(entry: int, first: tuple[int, int]) -> int:
    tag, rank = entry >> TAG_SHIFT, entry & INDEX_MASK
    kind = tag % PROLOGUE_BIT
    return 2 * (rank + (first[kind] if tag < PROLOGUE_BIT else 0)) + kind


def hold(shape: Shape, found: Synthesis, public: list[int], samples: int = SAMPLES) -> bool:
    """Whether the inputs are ONE and `public`, and the values of sampled rows and of all final ones what they must be."""
    inputs, aux, n = fr_ints(found.witness.inputs_mont), _Aux(found.witness), shape.num_rows
    if inputs != [1, *(x % R for x in public)]:
        return False
    chosen = sorted({0, n - 1, *random.Random(n).choices(range(n), k=samples)})
    values = [_at(x, chosen) for x in (found.a, found.b, found.c)]
    for number, *got in zip(chosen, *values, strict=True):
        if got != [r1cs.value(Fr, lc, inputs, aux) for lc in row(shape, number)]:  # type: ignore[arg-type]
            return False
    last = [fr_ints(x[n : n + len(inputs)]) for x in (found.a, found.b, found.c)]
    return last == [inputs, [0] * len(inputs), [0] * len(inputs)]


def _at(values_mont: U64, rows: list[int]) -> list[int]:
    return fr_ints(np.ascontiguousarray(values_mont[rows]))
