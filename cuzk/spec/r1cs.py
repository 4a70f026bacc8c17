"""A rank-one constraint system as explicit rows: (A . z)(B . z) = C . z for each row.

The assignment z is the inputs, of which input 0 is the constant one, and then the aux variables. A linear combination
is a dict from variable to non-zero coefficient; a variable is ("I", i) for input i or ("A", j) for aux j.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any

from cuzk.spec.field import Fr, PrimeField

Variable = tuple[str, int]
Combination = dict[Variable, int]
Row = tuple[Combination, Combination, Combination]

ONE: Variable = ("I", 0)


@dataclass(frozen=True)
class System:
    """A constraint system without an assignment. `rows` are the circuit's own, without Groth16's final input rows."""

    field: PrimeField
    num_inputs: int  # with ONE
    num_aux: int
    rows: list[Row]


def combination(field: PrimeField, terms: Iterable[tuple[str, int, int]]) -> Combination:
    """The sum of the terms (kind, index, coefficient).

    Equal variables are merged, zeros dropped; inputs stand before aux, each ascending.
    """
    total: Combination = {}
    for kind, index, coefficient in terms:
        total[kind, index] = field.add(total.get((kind, index), 0), coefficient)
    in_order = sorted(total, key=lambda v: (v[0] != "I", v[1]))
    return {v: total[v] for v in in_order if total[v] != 0}


def from_explicit(circuit: dict[str, Any], field: PrimeField = Fr) -> tuple[System, list[int], list[int]]:
    """(system, inputs, aux) of a circuit in JSON form: hex numbers, rows as [A, B, C] of [kind, index, coefficient]."""
    inputs = [int(v, 16) for v in circuit["inputs"]]
    aux = [int(v, 16) for v in circuit["aux"]]
    rows = []
    for row in circuit["rows"]:
        a, b, c = (combination(field, [(kind, i, int(k, 16)) for kind, i, k in terms]) for terms in row)
        rows.append((a, b, c))
    return System(field, len(inputs), len(aux), rows), inputs, aux


def groth16_rows(system: System) -> list[Row]:
    """The circuit's rows and then, for every input, input * 0 = 0, so that every input has a non-zero column in A."""
    return system.rows + [({("I", i): 1}, {}, {}) for i in range(system.num_inputs)]


def value(field: PrimeField, lc: Combination, inputs: Sequence[int], aux: Sequence[int]) -> int:
    """The combination's value under an assignment."""
    return sum(k * (inputs[i] if kind == "I" else aux[i]) for (kind, i), k in lc.items()) % field.modulus


def evaluate(
    system: System, rows: Sequence[Row], inputs: Sequence[int], aux: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """A z, B z, C z for the given rows (`system.rows` or `groth16_rows(system)`)."""
    a, b, c = ([value(system.field, row[k], inputs, aux) for row in rows] for k in range(3))
    return a, b, c


def first_false_row(system: System, inputs: Sequence[int], aux: Sequence[int]) -> int | None:
    """Number of the first circuit row that does not hold, or None."""
    for n, (a, b, c) in enumerate(zip(*evaluate(system, system.rows, inputs, aux), strict=True)):
        if system.field.mul(a, b) != c:
            return n
    return None


def digest(system: System) -> str:
    """The digest of bellpepper's TestConstraintSystem, in hex: BLAKE2s over the sizes and all terms in order.

    Source  bellpepper-core src/util_cs/test_cs.rs, hash
    """
    h = blake2s()
    for n in (system.num_inputs, system.num_aux, len(system.rows)):
        h.update(n.to_bytes(8, "big"))
    for row in system.rows:
        for lc in row:
            h.update(len(lc).to_bytes(8, "big"))
            for (kind, index), coefficient in lc.items():
                h.update(kind.encode() + index.to_bytes(8, "big") + coefficient.to_bytes(32, "big"))
    return h.hexdigest()


def densities(system: System) -> tuple[list[bool], list[bool], list[bool]]:
    """(a_aux, b_input, b_aux): does the variable occur in any A, in any B combination?

    A over the inputs is always full, thanks to the final rows, and has no density.
    """
    in_a = {v for row in system.rows for v in row[0]}
    in_b = {v for row in system.rows for v in row[1]}
    return (
        [("A", j) in in_a for j in range(system.num_aux)],
        [("I", i) in in_b for i in range(system.num_inputs)],
        [("A", j) in in_b for j in range(system.num_aux)],
    )


def columns_at(system: System, lagrange: Sequence[int]) -> list[dict[Variable, int]]:
    """For each of A, B, C: every variable's column polynomial at tau, sum over rows n of M[n][variable] L_n(tau).

    `lagrange` holds L_n(tau) for all of `groth16_rows`. Variables without an entry are left out.
    """
    out: list[dict[Variable, int]] = [{}, {}, {}]
    for row, weight in zip(groth16_rows(system), lagrange, strict=True):
        for columns, lc in zip(out, row, strict=True):
            for v, k in lc.items():
                columns[v] = system.field.add(columns.get(v, 0), k * weight)
    return out
