"""The program of each gadget gives values that satisfy its rows and equal those of the function it stands for."""

from __future__ import annotations

import hashlib

import pytest

from cuzk.circuits import boolean, column, encoding, labeling, num, pack, sha256, uint
from cuzk.circuits.insertion import insert, select
from cuzk.circuits.merkle import enforce_inclusion
from cuzk.circuits.params import PorepShape, TreeShape
from cuzk.circuits.porep import hint_order, record_shape
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.stages import Library
from cuzk.field.params import R
from cuzk.spec import poseidon as spec_poseidon
from tests.circuits.interpreter import Interpreter


def run(gadget, bits=(), elems=(), check_rows=True):
    """Values of a gadget's outputs, negated Booleans included; all rows hold, which takes long for very many."""
    library = Library()
    cs = library.stage()
    outputs = gadget(cs)
    stage = cs.stage()
    interpreter = Interpreter(library.shape("gadget", cs), bits, elems)
    assert not check_rows or interpreter.first_false_row() is None
    ranks = interpreter.prologue

    def value(handle):
        if boolean.is_constant(handle):
            return int(handle == boolean.TRUE)
        index = handle & ((1 << 29) - 1)
        return interpreter.aux[ranks[handle >> 30 & 1][index]] ^ (handle >> 29 & 1)

    assert stage.rows == interpreter.shape.num_rows
    return [value(h) for h in outputs or []], interpreter


def bit_list(value, n):
    return [value >> i & 1 for i in range(n)]


@pytest.mark.parametrize("kinds", [(i, j, k) for i in range(4) for j in range(4) for k in range(4)])
def test_logic_of_every_kind_of_operand(kinds):
    """Constants, plain and negated operands: 0 false, 1 true, 2 plain, 3 negated."""
    for values in range(8):
        given = bit_list(values, 3)
        want = [kind if kind < 2 else v ^ (kind == 3) for kind, v in zip(kinds, given, strict=True)]

        def gadget(cs):
            variables = [boolean.alloc(cs) for _ in range(3)]
            a, b, c = (
                boolean.constant(kind) if kind < 2 else (boolean.not_(x) if kind == 3 else x)
                for kind, x in zip(kinds, variables, strict=True)
            )
            return [boolean.xor(cs, a, b), boolean.and_(cs, a, b), boolean.ch(cs, a, b, c), boolean.maj(cs, a, b, c)]

        a, b, c = want
        assert run(gadget, given)[0] == [a ^ b, a & b, b if a else c, int(a + b + c >= 2)]


def test_xor_of_a_variable_with_itself():
    def gadget(cs):
        x = boolean.alloc(cs)
        return [boolean.xor(cs, x, x), boolean.xor(cs, x, boolean.not_(x)), boolean.and_(cs, x, x)]

    for value in (0, 1):
        assert run(gadget, [value])[0] == [0, 1, value]


@pytest.mark.parametrize("count", range(2, 11))
def test_addmany(count, draw):
    """With constants, negated bits and carries; ten operands of all ones at the end."""
    for words in ([draw.below(1 << 32) for _ in range(count)], [0xFFFFFFFF] * count):

        def gadget(cs, words=words):
            operands = []
            for i, word in enumerate(words):
                if i % 3 == 1:
                    operands.append(uint.constant(word))
                else:
                    bits = [boolean.alloc(cs) for _ in range(32)]
                    operands.append([boolean.not_(b) for b in bits] if i % 3 == 2 else bits)
            with uint.MultiEq(cs) as sums:
                return uint.addmany(sums, operands)

        bits = []
        for i, word in enumerate(words):
            if i % 3 != 1:
                bits += bit_list(word ^ (0xFFFFFFFF if i % 3 == 2 else 0), 32)
        assert run(gadget, bits)[0] == bit_list(sum(words) & 0xFFFFFFFF, 32)


@pytest.mark.parametrize("length", [0, 1, 55, 56, 64])
def test_sha256(length, draw):
    message = draw.random.randbytes(length)
    bits = [byte >> (7 - i) & 1 for byte in message for i in range(8)]
    digest, _ = run(lambda cs: sha256.sha256(cs, [boolean.alloc(cs) for _ in bits]), bits)
    want = hashlib.sha256(message).digest()
    assert digest == [byte >> (7 - i) & 1 for byte in want for i in range(8)]


def truncated(preimage: bytes) -> int:
    """SHA-256 as a field element: the two top bits dropped."""
    return int.from_bytes(hashlib.sha256(preimage).digest(), "little") & (1 << 254) - 1


def test_node_of_tree_d(draw):
    a, b = draw.many(R, 5)[3:]
    (node,), _ = run(lambda cs: [sha256.hash2_circuit(cs, [num.alloc(cs), num.alloc(cs)])], elems=[a, b])
    assert node == truncated(a.to_bytes(32, "little") + b.to_bytes(32, "little"))


@pytest.mark.parametrize("arity", [2, 4, 8, 11])
def test_poseidon(arity, draw):
    for preimage in (draw.many(R, arity), [R - 1] * arity):
        (got,), _ = run(lambda cs: [poseidon_hash(cs, [num.alloc(cs) for _ in range(arity)])], elems=preimage)
        assert got == spec_poseidon.poseidon(preimage)


def test_poseidon_of_one_variable_twice(draw):
    x = draw.below(R)

    def gadget(cs):
        v = num.alloc(cs)
        return [poseidon_hash(cs, [v, v]), column.hash_single_column(cs, [v, v])]

    (first, second), _ = run(gadget, elems=[x])
    assert first == second == spec_poseidon.poseidon([x, x])


@pytest.mark.parametrize("size", [2, 4, 8, 16])
def test_insert_and_select(size, draw):
    siblings, element = draw.many(R, size - 1), draw.below(R)
    n = size.bit_length() - 1
    for position in range(size):

        def gadget(cs):
            elements = [num.alloc(cs) for _ in range(size)]
            bits = [boolean.alloc(cs) for _ in range(n)]
            return [*insert(cs, elements[0], bits, elements[1:]), select(cs, elements, bits)]

        got, _ = run(gadget, bit_list(position, n), [element, *siblings])
        assert got == [*siblings[:position], element, *siblings[position:], [element, *siblings][position]]


def test_bits_and_back(draw):
    for x in draw.many(R, 6):

        def gadget(cs):
            v = num.alloc(cs)
            bits = num.to_bits_le(cs, v)
            num.inputize(cs, v)
            pack.pack_into_inputs(cs, bits)
            return [pack.pack_bits(cs, bits), *bits, encoding.encode(cs, v, v), num.mul(cs, v, v)]

        (low, *bits, double, square), interpreter = run(gadget, elems=[x])
        assert (low, bits) == (x & (1 << 254) - 1, bit_list(x, 255))
        assert (double, square) == (2 * x % R, x * x % R)
        assert interpreter.inputs == [1, x, x & (1 << 254) - 1, x >> 254]


def test_label(draw):
    layer = 2
    replica_id, *parents = draw.many(R, 15)
    node = draw.below(1 << 64)

    def gadget(cs):
        bits = [pack.reverse_bit_numbering(num.to_bits_le(cs, num.alloc(cs))) for _ in range(1 + len(parents))]
        slots = labeling.expand_parents(bits[1:])
        return [labeling.create_label(cs, bits[0], slots, uint.constant(layer), uint.alloc64(cs))]

    slots = (parents * 7)[:37]
    preimage = replica_id.to_bytes(32, "little") + layer.to_bytes(4, "big") + node.to_bytes(8, "big") + bytes(20)
    preimage += b"".join(p.to_bytes(32, "little") for p in slots)
    (label,), _ = run(gadget, bit_list(node, 64), [replica_id, *parents], check_rows=False)
    assert label == truncated(preimage)


def test_inclusion_names_the_row_that_fails(draw):
    """A path through 8-4-2 to its root, and to a wrong one."""
    shape = TreeShape(8 * 4 * 2, 8, 4, 2)
    leaf, *siblings = draw.many(R, 1 + shape.siblings)
    index = draw.below(64)
    current, rest, position = leaf, list(siblings), index
    for _, arity in shape.path:
        level = [rest.pop(0) for _ in range(arity - 1)]
        level.insert(position % arity, current)
        position //= arity
        current = spec_poseidon.poseidon(level)

    def gadget(cs):
        with cs.namespace("inclusion"):
            enforce_inclusion(cs, shape, None, None)

    _, good = run(gadget, bit_list(index, 6), [leaf, *siblings, current])
    assert good.inputs == [1, index]
    library = Library()
    cs = library.stage()
    gadget(cs)
    bad = Interpreter(library.shape("inclusion", cs), bit_list(index, 6), [leaf, *siblings, (current + 1) % R])
    assert bad.first_false_row() == (bad.shape.num_rows - 1, "inclusion/enforce root is correct")


def test_every_broken_wire_fails_a_row(draw):
    """Each aux of a small circuit stands in a row that notices a wrong value."""

    def gadget(cs):
        x, y = num.alloc(cs), num.alloc(cs)
        a, b = boolean.alloc(cs), boolean.alloc(cs)
        c = boolean.maj(cs, a, boolean.not_(b), boolean.xor(cs, a, b))
        num.inputize(cs, num.mul(cs, insert(cs, x, [c], [y])[0], pack.pack_bits(cs, [a, b, c])))

    _, interpreter = run(gadget, [1, 1], [3 + draw.below(R - 3), 2])
    for i, value in enumerate(interpreter.aux):
        if i < 2:
            continue  # free values that the circuit only selects from
        interpreter.aux[i] = (value + 1) % R
        assert interpreter.first_false_row() is not None
        interpreter.aux[i] = value


def test_porep_takes_its_hints_in_order(draw):
    """One challenge over 8 leaves: equality rows alone fail for random values, and inputs are where they should be."""
    shape = PorepShape(2, 1, TreeShape(8, 2))
    recorded = record_shape(shape, "test")
    order = hint_order(shape)
    elems = {name: draw.many(R, n) for name, n in order.prologue_elems + order.challenge_elems}
    bits = {name: [draw.random.randrange(2) for _ in range(n)] for name, n in order.challenge_bits}
    flat = [v for values in elems.values() for v in values]
    interpreter = Interpreter(recorded, [b for values in bits.values() for b in values], flat)
    integer = [sum(b << i for i, b in enumerate(values)) for values in bits.values()]
    public = [elems[name][0] for name in ("replica_id", "comm_d", "comm_r")]
    assert interpreter.inputs == [1, *public, *integer]
    assert interpreter.first_false_row() == (570, "enforce comm_r = H(comm_c || comm_r_last)")
