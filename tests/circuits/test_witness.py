"""Programs of templates against their slow twin, a real partition against the Rust stack, and hints that cannot be."""

from __future__ import annotations

import functools
import itertools
import random

import numpy as np
import pytest

from cuzk.circuits import porep
from cuzk.circuits.hints import hints
from cuzk.circuits.template import COEFF_MINUS_ONE, LOCAL_BIT, LOCAL_ELEM, NOT_FLAG, ONE, PORT, STAGE_BIT, Op, Shape
from cuzk.circuits.witness import Hints, fill
from cuzk.errors import InternalError
from cuzk.field.limbs import to_limbs
from cuzk.field.params import R
from cuzk.r1cs import evaluation
from tests.circuits import oracle_witness
from tests.circuits.naive import NASTY, Builder, Twin, one_template, random_element, random_shape, ref, witness_ints
from tests.formats import c1_cases


def no_hints(shape: Shape) -> Hints:
    return Hints(np.zeros((0, 0), np.uint8), np.zeros((0, 0, 4), np.uint64))


def filled(builder: Builder, bits=(), elems=(), coefficients=()) -> tuple[list[int], list[int], list[int]]:
    shape = one_template(builder, coefficients)
    witness = fill(shape, Hints(np.array(bits, np.uint8), to_limbs(elems, 4)), no_hints(shape))
    return witness_ints(witness, shape)


def draw_hints(shape: Shape, rng: random.Random) -> tuple[Hints, Hints, dict]:
    """Random hints as arrays and, for each stamp, as lists."""
    p, r = shape.prologue, shape.repeated
    lists = {None: ([rng.randrange(2) for _ in range(p.hint_bits)], [random_element(rng) for _ in range(p.hint_elems)])}
    for k in range(shape.repeats):
        lists[k] = ([rng.randrange(2) for _ in range(r.hint_bits)], [random_element(rng) for _ in range(r.hint_elems)])
    stamps = [lists[k] for k in range(shape.repeats)]
    repeated = Hints(
        np.array([b for b, _ in stamps], np.uint8).reshape(shape.repeats, -1),
        to_limbs([v for _, e in stamps for v in e], 4).reshape(shape.repeats, -1, 4),
    )
    return Hints(np.array(lists[None][0], np.uint8), to_limbs(lists[None][1], 4)), repeated, lists


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_equal_their_twin(seed: int) -> None:
    shape, rng = random_shape(seed), random.Random(seed)
    prologue, repeated, lists = draw_hints(shape, rng)
    witness = fill(shape, prologue, repeated, threads=1 + seed % 2)
    twin = Twin(shape)
    twin.fill(lambda stamp: tuple(iter(x) for x in lists[stamp]))
    inputs, bits, elems = witness_ints(witness, shape)
    assert inputs == twin.inputs
    assert bits == [twin.aux[i] for i in evaluation.bit_aux(shape).tolist()]
    assert elems == [twin.aux[i] for i in evaluation.elem_aux(shape).tolist()]


def test_every_logic_operation_with_every_negation() -> None:
    cases = []
    b = Builder()
    first = b.hint_bit(24)
    for setting, flags in itertools.product(itertools.product((0, 1), repeat=3), repeat=2):
        k = sum(v << i for i, v in enumerate(setting))
        refs = [first + 3 * k + i | (NOT_FLAG if f else 0) for i, f in enumerate(flags)]
        x, y, z = (v ^ f for v, f in zip(setting, flags, strict=True))
        for op, operands, want in (
            (Op.AND, refs[:2], x & y),
            (Op.CH, refs, (x & y) ^ ((1 - x) & z)),
            (Op.MAJ, refs, (x & y) ^ (x & z) ^ (y & z)),
            (Op.XOR, [r & ~NOT_FLAG for r in refs[:2]], setting[0] ^ setting[1]),
        ):
            b.bit(op, *operands)
            cases.append(want)
    for op, operands, want in (
        (Op.AND, (ONE, ONE), 1),
        (Op.AND, (ONE, ONE | NOT_FLAG), 0),
        (Op.CH, (ONE | NOT_FLAG, first, ONE), 1),
        (Op.MAJ, (ONE, ONE | NOT_FLAG, first + 21), 1),
    ):
        b.bit(op, *operands)
        cases.append(want)
    bits = [k >> i & 1 for k in range(8) for i in range(3)]
    assert filled(b, bits)[1] == bits + cases


@pytest.mark.parametrize(
    ("words", "constant"),
    [([], 5), ([0xFFFFFFFF] * 10, 0), ([0xFFFFFFFF] * 9, 0x1FFFFFFFF), ([0, 1, 0x80000000], 0xFFFFFFFF), ([0x12345678], 1 << 34)],
)
def test_sum_of_words_is_the_integer_sum(words: list[int], constant: int) -> None:
    b = Builder()
    width = (constant + sum(words)).bit_length() or 1
    first = b.hint_bit(32 * len(words)) if words else 0
    plain = [[first + 32 * w + i for i in range(32)] for w in range(len(words))]
    b.sum(width, constant, plain)
    turned = [[(first + 32 * w + (i + 7) % 32) | NOT_FLAG for i in range(32)] for w in range(len(words))]
    b.sum(36, constant, turned)
    hints = [v >> i & 1 for v in words for i in range(32)]
    got = filled(b, hints)[1][len(hints) :]
    want = constant + sum(words)
    assert got[:width] == [want >> i & 1 for i in range(width)]
    rotated = [(v >> 7 | v << 25) & 0xFFFFFFFF for v in words]
    want = constant + sum(v ^ 0xFFFFFFFF for v in rotated)
    assert got[width:] == [want >> i & 1 for i in range(36)]


def test_constant_words_add() -> None:
    b = Builder()
    b.sum(34, 3, [[ONE if 0xDEADBEEF >> i & 1 else ONE | NOT_FLAG for i in range(32)]] * 2)
    assert filled(b)[1] == [(3 + 2 * 0xDEADBEEF) >> i & 1 for i in range(34)]


@pytest.mark.parametrize("value", NASTY)
def test_bits_of_an_element_are_of_its_canonical_value(value: int) -> None:
    b = Builder()
    b.bits_of(255, b.hint_elem())
    b.bits_of(1, ref(LOCAL_ELEM, 0))
    assert filled(b, elems=[value])[1] == [value >> i & 1 for i in range(255)] + [value & 1]


@pytest.mark.parametrize("coeff", [0, COEFF_MINUS_ONE])
@pytest.mark.parametrize("value", NASTY)
def test_solved_elements_make_their_row_hold(value: int, coeff: int) -> None:
    b = Builder()
    x, bit = b.hint_elem(2), b.hint_bit()
    b.solve({x: 3, ONE: 1}, {x + 1: 4, bit: 2}, {bit: 3, x: 0}, coeff)
    b.inputize(ref(LOCAL_ELEM, 2))
    b.solve_input({bit: 4}, {ONE: 0}, {})
    other = pow(value + 5, 7, R)
    inputs, _, elems = filled(b, [1], [value, other], coefficients := [R - 3, R // 2])
    a, bb, rest = coefficients[0] * value - 1, coefficients[1] * other + 2, coefficients[0] + value
    want = (a * bb - rest) * (-1 if coeff else 1) % R
    assert elems[2] == want
    assert inputs == [1, want, coefficients[1]]


@functools.cache
def recorded(sector_size: int) -> Shape:
    return porep.record(sector_size)


@pytest.fixture(scope="module")
def partition():
    """The 2 KiB partition with the hints of the Rust stack's witness."""
    shape = recorded(2048)
    return shape, fill(shape, *oracle_witness.hints(shape))


def test_a_real_witness_equals_the_rust_stacks_value_by_value(partition) -> None:
    shape, witness = partition
    values, small = oracle_witness.aux_values()
    assert np.array_equal(evaluation.expand_aux(shape, witness, 0, shape.num_aux), values)
    assert (small[evaluation.bit_aux(shape)] == 1).all()


def test_a_real_witness_has_the_rust_stacks_digests(partition) -> None:
    shape, witness = partition
    a, b, c = evaluation.evaluate(shape, witness)
    facts = oracle_witness.facts()[0]
    assert evaluation.first_false_row(shape, a, b, c) is facts["first_unsatisfied_row"] is None
    for key, got in evaluation.digests(shape, witness, a, b, c).items():
        assert got == facts[key], key


PARTITIONS = [(case, k) for case in c1_cases.CASES for k in range(len(oracle_witness.facts(case)))]


@pytest.mark.parametrize(
    ("case", "partition"), [pytest.param(c, k, marks=pytest.mark.slow) if 0 < k < 12 else (c, k) for c, k in PARTITIONS]
)
def test_every_witness_from_its_c1_has_the_rust_stacks_digests(case: str, partition: int) -> None:
    made = c1_cases.load(case)
    shape = recorded(made.sector.size)
    witness = fill(shape, *hints(made, partition))
    abc = evaluation.evaluate(shape, witness)
    facts = oracle_witness.facts(case)[partition]
    assert facts["partition"] == partition
    assert evaluation.first_false_row(shape, *abc) is facts["first_unsatisfied_row"] is None
    got = evaluation.digests(shape, witness, *abc)
    assert got == {key: facts[key] for key in got}


def test_a_flipped_bit_makes_a_named_row_false(partition) -> None:
    shape, witness = partition
    bits = witness.bits.copy()
    block = max(i for i, t in enumerate(shape.repeated.template) if shape.templates[t].bits > 20_000)  # of SHA-256
    bits[shape.prologue.bits + shape.repeated.bits + int(shape.repeated.bit[block])] ^= 1
    flipped = type(witness)(witness.inputs_mont, bits, witness.elems_mont)
    found = evaluation.first_false_row(shape, *evaluation.evaluate(shape, flipped))
    assert found is not None
    assert found.segment == f"challenge_1/{shape.repeated.names[block]}"
    assert found == evaluation.locate_row(shape, found.row)
    assert str(found) == f"row {found.row}: {found.segment}, its row {found.row_in_segment}"
    assert (
        evaluation.digests(shape, flipped, *evaluation.evaluate(shape, flipped))["aux_blake2s"]
        != oracle_witness.facts()[0]["aux_blake2s"]
    )


def test_false_hints_give_a_false_row_and_no_error(partition) -> None:
    shape, _ = partition
    prologue, repeated = oracle_witness.hints(shape)
    elems = prologue.elems_canon.copy()
    elems[1, 0] ^= np.uint64(1)  # comm_d
    witness = fill(shape, Hints(prologue.bits, elems), repeated)
    found = evaluation.first_false_row(shape, *evaluation.evaluate(shape, witness))
    assert found is not None
    assert found.segment.startswith("challenge_0/")


@pytest.mark.parametrize(
    ("bits", "elems", "message"),
    [
        ([0], [1, 2], "another shape"),
        ([0, 1, 1], [1, 2], "another shape"),
        ([0, 1], [1], "another shape"),
        ([0, 2], [1, 2], "not 0 or 1"),
        ([0, 255], [1, 2], "not 0 or 1"),
        ([0, 1], [1, R], "not below r"),
        ([0, 1], [(1 << 256) - 1, 2], "not below r"),
    ],
)
def test_hints_that_cannot_be_are_refused(bits, elems, message) -> None:
    b = Builder()
    b.hint_bit(2)
    b.hint_elem(2)
    with pytest.raises(InternalError, match=message):
        filled(b, bits, elems)


def test_hints_of_too_few_stamps_are_refused() -> None:
    shape = random_shape(0)
    prologue, repeated, _ = draw_hints(shape, random.Random(0))
    with pytest.raises(InternalError, match="repeated stage have another shape"):
        fill(shape, prologue, Hints(repeated.bits[1:], repeated.elems_canon))


def broken(what: str) -> Builder:
    b = Builder()
    x, bit = b.hint_elem(), b.hint_bit()
    match what:
        case "bit beyond the template":
            b.bit(Op.XOR, bit, bit + 2)
        case "element as Boolean":
            b.bit(Op.AND, bit, x)
        case "port beyond the table":
            b.bit(Op.AND, bit, ref(PORT, 0))
        case "column beyond the template":
            b.row({x + 1: 0}, {ONE: 0}, {})
        case "coefficient beyond the table":
            b.row({x: 3}, {ONE: 0}, {})
        case "coefficient 2 of the new variable":
            b.solve({x: 0}, {ONE: 0}, {}, 2)
        case "new variable nowhere":
            b.op(Op.SOLVE, 0)
            b.new(0)
            b.row({x: 0}, {ONE: 0}, {})
        case "row that is not there":
            b.op(Op.SOLVE, 5)
            b.new(0)
        case "bits of a bit":
            b.bits_of(1, bit)
        case "unknown operation":
            b.op(77)  # type: ignore[arg-type]
    return b


@pytest.mark.parametrize(
    "what",
    [
        "bit beyond the template",
        "element as Boolean",
        "port beyond the table",
        "column beyond the template",
        "coefficient beyond the table",
        "coefficient 2 of the new variable",
        "new variable nowhere",
        "row that is not there",
        "bits of a bit",
        "unknown operation",
    ],
)
def test_templates_that_make_no_sense_are_refused(what: str) -> None:
    with pytest.raises(InternalError):
        filled(broken(what), [1], [1])


def test_a_segment_with_the_wrong_number_of_ports_is_refused() -> None:
    b = Builder(ports=1)
    b.hint_bit()
    shape = one_template(b, ports=[ref(STAGE_BIT, 0), ref(STAGE_BIT, 0)])
    with pytest.raises(InternalError, match="2 ports where t has 1"):
        fill(shape, Hints(np.zeros(1, np.uint8), np.zeros((0, 4), np.uint64)), no_hints(shape))


def test_local_bit_refs_are_plain_numbers() -> None:
    """The hand-made templates above count on it."""
    assert ref(LOCAL_BIT, 7) == 7
