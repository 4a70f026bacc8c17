"""The Groth16 prover as numbered steps of the paper, with bellperson's conventions.

Source  Groth, "On the Size of Pairing-based Non-interactive Arguments" (2016), section 3.2; order of variables, densities and the
        use of r and s as bellperson src/groth16/prover/native.rs at d1fa22c.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cuzk import config
from cuzk.circuits.template import Shape, Witness
from cuzk.curve import g1, g2
from cuzk.errors import FalseCircuit, InternalError
from cuzk.field.limbs import FR_LIMBS
from cuzk.field.params import R
from cuzk.groth16.keys import VerifyingKey
from cuzk.groth16.proof import Proof
from cuzk.groth16.quotient import quotient
from cuzk.kernels.vector_cpu import to_canonical
from cuzk.msm.pippenger import msm, plan, sum_be
from cuzk.msm.rows import Rows, rows_from_be
from cuzk.ntt import Domain
from cuzk.pages import zeros
from cuzk.progress import Progress
from cuzk.r1cs import evaluation
from cuzk.r1cs.columns import bit_aux, elem_aux
from cuzk.r1cs.density import densities
from cuzk.r1cs.evaluation import FalseRow
from cuzk.timing import Timer
from cuzk.variants import DEFAULTS, Settings

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

# Share of a proof's work, for the progress bar.
WEIGHTS = {"eval_abc": 4, "ntt_h": 18, "msm_h": 50, "msm_l": 8, "msm_a": 8, "msm_b_g1": 3, "msm_b_g2": 7, "assemble": 2}


class ProvingKey(Protocol):
    """The points of a parameter file, big-endian uncompressed: uint8[n, 96], b_g2 uint8[n, 192]."""

    vk: VerifyingKey
    h_be: U8
    l_be: U8
    a_be: U8
    b_g1_be: U8
    b_g2_be: U8


@dataclass(frozen=True, slots=True)
class Queries:
    """Where each aux variable's point stands in the vectors of a parameter file: static facts of a shape.

    `bit_*` have one entry a bit variable in bit order, `elem_*` one an element; -1 where the variable has no point in that query.
    """

    bit_aux: U32
    elem_aux: U32
    bit_a: npt.NDArray[np.int32]
    elem_a: npt.NDArray[np.int32]
    bit_b: npt.NDArray[np.int32]
    elem_b: npt.NDArray[np.int32]
    b_inputs: U32  # input variables that have a point in B, ascending


def queries(shape: Shape) -> Queries:
    """Positions by the density rules: inputs first, then the aux variables that occur in the matrix, in order."""
    a_aux, b_inputs, b_aux = densities(shape)

    def positions(density: npt.NDArray[np.bool_], first: int) -> npt.NDArray[np.int32]:
        rank = np.cumsum(density, dtype=np.int32) + np.int32(first - 1)
        return np.where(density, rank, np.int32(-1)).astype(np.int32)

    a = positions(a_aux, shape.num_inputs)
    b = positions(b_aux, int(np.count_nonzero(b_inputs)))
    bits, elems = bit_aux(shape), elem_aux(shape)
    chosen = np.flatnonzero(b_inputs).astype(np.uint32)
    return Queries(bits, elems, a[bits], a[elems], b[bits], b[elems], chosen)


class _Sums:
    """The sums Σ z_i P_i over a query: set bits by adding points, all other values by a multi-exponentiation."""

    def __init__(self, witness: Witness, elems_canon: U64, inputs_canon: U64, window: int | None) -> None:
        self.window = window
        self.set_bits = np.flatnonzero(witness.bits)
        self.elems_canon = elems_canon
        self.inputs_canon = inputs_canon

    def over(self, curve: str, points_be: U8, bits: npt.NDArray[np.integer], elems: npt.NDArray[np.integer], inputs: U32) -> U64:
        """Σ over the query whose positions are `bits` and `elems` (-1: none) and whose first points belong to `inputs`."""
        ones = bits[self.set_bits]
        ones = ones[ones >= 0].astype(np.uint32)
        present = elems >= 0
        scalars = np.concatenate([self.inputs_canon[inputs], self.elems_canon[present]])
        index = np.concatenate([np.arange(len(inputs), dtype=np.uint32), elems[present].astype(np.uint32)])
        selected = sum_be(curve, points_be, ones)
        dense = msm(rows_from_be(curve, points_be, index), scalars, window=self.window)
        return (g1.g1_add if curve == "g1" else g2.g2_add)(selected, dense)


def prove(
    shape: Shape,
    witness: Witness,
    key: ProvingKey,
    where: Queries,
    r: int,
    s: int,
    timer: Timer,
    progress: Progress,
    settings: Settings = DEFAULTS,
    rows: list[U64] | None = None,
    h_rows: Callable[[], Rows] | None = None,
) -> Proof:
    """One proof for given r and s (canonical integers below the group order).

    `rows` are A·z, B·z, C·z as long as the domain with zeros behind the shape's rows, if they are there already; `h_rows` gives
    the points of the H query, if somebody makes them beside.

    Domain  witness and rows in Montgomery form; the key's points as in the file
    Alias   `rows` is emptied and its arrays consumed
    Source  see the module; A = alpha + Σ z A_i + r delta, B = beta + Σ z B_i + s delta, C = L + H + s A + r B' − r s delta
    Raises  FalseCircuit if a circuit file's own assignment is false; InternalError if a witness that we made does not hold
    Spec    cuzk.spec.groth16.prove
    """

    def step(name: str) -> None:
        progress.advance(WEIGHTS[name], name)

    domain = Domain(shape.domain_log2)
    h = _h_sum(shape, witness, key, domain, timer, step, settings, rows, h_rows)
    l, a0, b1, b2 = _query_sums(shape, witness, key, where, timer, step, settings)
    with timer.phase("assemble"):
        proof = assemble(key.vk, h, l, a0, b1, b2, r, s)
        step("assemble")
    return proof


def _h_sum(
    shape: Shape,
    witness: Witness,
    key: ProvingKey,
    domain: Domain,
    timer: Timer,
    step: Callable[[str], None],
    settings: Settings,
    rows: list[U64] | None,
    h_rows: Callable[[], Rows] | None,
) -> U64:
    """The sum over the H query: row values, their check, the quotient, its multi-exponentiation."""
    if rows is None:
        with timer.phase("eval_abc"):
            # As long as the domain, so that the quotient can work in place.
            rows = [zeros((domain.size, FR_LIMBS)) for _ in range(3)]
            evaluation.evaluate(shape, witness, out=(rows[0], rows[1], rows[2]))
    a, b, c = rows
    rows.clear()  # so that nobody else keeps them
    with timer.phase("check"):
        false_row = evaluation.first_false_row(shape, a, b, c)
        if false_row is not None:
            if shape.facts.get("kind") == "circuit":
                raise false_circuit(false_row)
            raise InternalError("the witness does not satisfy the circuit", where=str(false_row), phase="eval_abc")
        step("eval_abc")
    with timer.phase("ntt_h"):
        h_canon = quotient(a, b, c, domain)
        del a, b, c
        step("ntt_h")
    with timer.phase("msm_h"):
        points = rows_from_be("g1", key.h_be) if h_rows is None else h_rows()
        h = msm(points, h_canon, window=_window(settings, domain), consume=True)
        del h_canon
        step("msm_h")
    return h


def false_circuit(row: FalseRow) -> FalseCircuit:
    """The error for a circuit file whose own assignment does not hold. Witness values are not shown."""
    return FalseCircuit(
        "the assignment in the file does not satisfy the circuit",
        where=str(row),
        expected="A·z ∘ B·z = C·z: the product of the row's combinations A and B",
        got="another value of its combination C (witness values are not shown)",
        phase="eval_abc",
        hint="mend inputs, aux or rows of the file",
    )


def _window(settings: Settings, domain: Domain) -> int | None:
    """The window width that all multi-exponentiations take, if they do not choose their own."""
    if settings.msm_window == "per-msm":
        return None
    return plan(domain.size - 1, config.thread_count()).c if settings.msm_window == "one" else int(settings.msm_window)


def _query_sums(
    shape: Shape,
    witness: Witness,
    key: ProvingKey,
    where: Queries,
    timer: Timer,
    step: Callable[[str], None],
    settings: Settings,
) -> tuple[U64, U64, U64, U64]:
    """The sums over the queries L, A, B in G1, B in G2; the last one beside the others if parallel-b-g2 is on."""
    with timer.phase("prep_msm"):
        window = _window(settings, Domain(shape.domain_log2))
        sums = _Sums(witness, to_canonical(witness.elems_mont), to_canonical(witness.inputs_mont), window)
        no_inputs = np.zeros(0, np.uint32)
        all_inputs = np.arange(shape.num_inputs, dtype=np.uint32)

    def over_l() -> U64:
        return sums.over("g1", key.l_be, where.bit_aux.astype(np.int64), where.elem_aux.astype(np.int64), no_inputs)

    def over_b_g2() -> U64:
        return sums.over("g2", key.b_g2_be, where.bit_b, where.elem_b, where.b_inputs)

    steps: dict[str, Callable[[], U64]] = {
        "msm_l": over_l,
        "msm_a": lambda: sums.over("g1", key.a_be, where.bit_a, where.elem_a, all_inputs),
        "msm_b_g1": lambda: sums.over("g1", key.b_g1_be, where.bit_b, where.elem_b, where.b_inputs),
        "msm_b_g2": over_b_g2,
    }

    def one(name: str) -> U64:
        with timer.phase(name):
            found = steps[name]()
        return found

    if settings.parallel_b_g2:
        found = _beside(timer, one, list(steps))
        for name in steps:
            step(name)
    else:
        found = []
        for name in steps:
            found.append(one(name))
            step(name)
    return found[0], found[1], found[2], found[3]


def _beside(timer: Timer, one: Callable[[str], U64], names: list[str]) -> list[U64]:
    """All sums, the last by a thread of its own, whose tasks share the workers with the others'."""
    with timer.phase("msm_side_by_side") as parent, ThreadPoolExecutor(1, thread_name_prefix="b_g2") as pool:
        partition = timer.partition

        def last() -> U64:
            with timer.within(parent):
                timer.partition = partition
                return one(names[-1])

        future = pool.submit(last)
        found = [one(name) for name in names[:-1]]
        return [*found, future.result()]


def assemble(vk: VerifyingKey, h: U64, l: U64, a0: U64, b1: U64, b2: U64, r: int, s: int) -> Proof:
    """The three proof elements from the five sums, affine in Montgomery form."""
    add, mul = g1.g1_add, g1.g1_mul
    a = add(add(vk.alpha_g1, a0), mul(vk.delta_g1, r))
    b = g2.g2_add(g2.g2_add(vk.beta_g2, b2), g2.g2_mul(vk.delta_g2, s))
    b_g1 = add(add(vk.beta_g1, b1), mul(vk.delta_g1, s))
    c = add(add(l, h), add(mul(a, s), mul(b_g1, r)))
    c = add(c, mul(vk.delta_g1, -r * s % R))
    return Proof(a, b, c)
