"""Recording once and placing many times gives the rows that recording every time would give."""

from __future__ import annotations

import pytest

from cuzk.circuits import boolean, num, sha256, uint
from cuzk.circuits.boolean import FALSE, TRUE, not_
from cuzk.circuits.merkle import enforce_inclusion
from cuzk.circuits.params import TreeShape
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.stages import Library, StageRecorder, from_prologue
from cuzk.circuits.system import Coefficients, Recorder
from cuzk.circuits.template import COEFF_MINUS_ONE, COEFF_ONE, COEFF_TWO, ONE, PROLOGUE_BIT, STAGE_BIT, TAG_SHIFT, Op
from cuzk.errors import ResourceError
from cuzk.field.limbs import from_limbs
from cuzk.field.params import R
from cuzk.r1cs.digest import digest
from tests.circuits.interpreter import Interpreter


class Inlining(StageRecorder):
    """Runs stamped gadgets in place and cuts nowhere: one template for all."""

    def stamp(self, key, gadget, inputs):
        return gadget(self, inputs)

    def namespace(self, name):
        return Recorder.namespace(self, name)


def several_blocks(cs):
    bits = [boolean.alloc(cs) for _ in range(512)]
    first = sha256.compress(cs, bits, sha256.initial_chain())
    second = sha256.compress(cs, [*first, *reversed(bits[:256])], first)
    negated = [not_(b) if i % 3 else b for i, b in enumerate(second)]
    sha256.compress(cs, [*negated, *negated], [*uint.constant(5, 128), *second[:128]])


def tree(cs):
    enforce_inclusion(cs, TreeShape(8 * 8 * 4 * 2, 8, 4, 2), None, None, private=False)


def one_variable_many_times(cs):
    x, y = num.alloc(cs), num.alloc(cs)
    for pair in ((x, y), (y, x), (x, x), (y, y)):
        num.to_bits_le(cs, poseidon_hash(cs, pair))


@pytest.mark.parametrize("gadget", [several_blocks, tree, one_variable_many_times])
def test_stamping_equals_inlining(gadget):
    found = []
    for kind in (StageRecorder, Inlining):
        library = Library()
        cs = kind(library)
        gadget(cs)
        shape = library.shape("x", cs)
        found.append((digest(shape, checkpoint_rows=1000), len(shape.prologue.names)))
    (stamped, segments), (inlined, one) = found
    assert stamped == inlined
    assert (segments > 1, one) == (True, 1)


@pytest.fixture
def library():
    return Library()


@pytest.fixture
def cs(library):
    return library.stage()


def xor_all(cs, inputs):
    out = inputs[0]
    for b in inputs[1:]:
        out = boolean.xor(cs, out, b)
    return [out]


def test_one_template_for_each_signature(library, cs):
    a, b, c = (boolean.alloc(cs) for _ in range(3))
    signatures = [
        [(a, b, c), (c, b, a), (b, c, a)],
        [(a, a, b), (c, c, a)],
        [(a, b, a)],
        [(not_(a), b, c), (not_(c), a, b)],
        [(a, not_(a), c)],
        [(TRUE, a, b), (TRUE, b, c)],
        [(FALSE, a, b)],
        [(TRUE, FALSE, TRUE)],
    ]
    for inputs in (x for group in signatures for x in group):
        cs.stamp(("xor",), xor_all, inputs)
    assert sum(t.name == "xor" for t in library.templates) == len(signatures)
    cs.stamp(("xor", 2), xor_all, (a, b, c))
    assert sum(t.name == "xor" for t in library.templates) == len(signatures) + 1


def test_outputs_may_be_ports_and_constants(library, cs):
    a, b = boolean.alloc(cs), boolean.alloc(cs)

    def gadget(cs, inputs):
        p, q = inputs
        return [not_(p), q, TRUE, FALSE, not_(boolean.xor(cs, p, q))]

    out = cs.stamp(("odd",), gadget, [a, not_(b)])
    assert out[:4] == [not_(a), not_(b), TRUE, FALSE]
    again = cs.stamp(("odd",), gadget, [not_(out[4]), not_(a)])
    assert again[:4] == [out[4], not_(a), TRUE, FALSE]
    assert out[4] != again[4]
    values = Interpreter(library.shape("x", cs), [1, 0], [])
    assert values.first_false_row() is None
    # 1 xor not 0 = 0, of the plain variables 1; and the next block's operands are that result and 1.
    assert values.aux == [1, 0, 1, 0]


def test_loose_rows_are_held_once(library, cs):
    for i in range(5):
        with cs.namespace(f"pair {i}"):
            x, y = num.alloc(cs), num.alloc(cs)
            num.equal(cs, x, y)
            with cs.namespace("product"):
                num.mul(cs, x, y)
            with cs.namespace("square"):
                num.mul(cs, x, x)
    stage = cs.stage()
    assert len(library.templates) == 3
    assert stage.names[:4] == ("pair 0", "pair 0/product", "pair 0/square", "pair 1")
    assert stage.row.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    assert stage.elem.tolist() == [e + 4 * i for i in range(5) for e in (0, 2, 3)]


def test_ports_of_bits_and_of_elements_are_not_mixed(library, cs):
    bit, elem = boolean.alloc(cs), num.alloc(cs)
    for x in (bit, elem):
        with cs.namespace("square"):
            num.mul(cs, x, x)
    cs.stage()
    assert len(library.templates) == 3


def test_prologue_ports(library):
    prologue, repeated = library.stage(), library.stage()
    a, b = boolean.alloc(prologue), boolean.alloc(prologue)
    with prologue.namespace("both"):
        boolean.and_(prologue, a, b)
    seen = from_prologue([not_(b), TRUE, FALSE])
    assert seen[1:] == [TRUE, FALSE]
    boolean.and_(repeated, seen[0], boolean.alloc(repeated))
    shape = library.shape("x", prologue, repeated, 2)
    assert [p >> TAG_SHIFT for p in shape.prologue.ports.tolist()] == [STAGE_BIT, STAGE_BIT]
    assert shape.repeated.ports.tolist() == [PROLOGUE_BIT << TAG_SHIFT | 1]
    values = Interpreter(shape, [1, 0, 1, 0], [])
    assert values.first_false_row() is None
    assert values.aux == [1, 0, 0, 1, 1, 0, 0]


def test_an_input_stays_in_its_segment(cs):
    x = num.alloc(cs)
    i = cs.solved_input()
    cs.enforce({i: 1}, {ONE: 1}, {x: 1})
    cs.stage()
    cs.enforce({i: 1}, {ONE: 1}, {x: 1})
    with pytest.raises(AssertionError, match="outside the segment"):
        cs.stage()


def test_terms_and_hints_are_ordered(library, cs):
    """Inputs, ports, own variables as allocated; hints of one stream in a row are one operation."""
    outer = num.alloc(cs)
    with cs.namespace("inner"):
        x, b, y = num.alloc(cs), boolean.alloc(cs), num.alloc(cs)
        z = num.alloc(cs)
        cs.enforce({z: 5, y: 4, b: 3, x: 2, outer: 1, ONE: 7, 1 << 33: 0}, {}, {})
    shape = library.shape("x", cs)
    t = shape.templates[1]
    last = slice(t.a.indptr[1], t.a.indptr[2])
    values = from_limbs(shape.coefficients)
    assert [values[i] for i in t.a.coeffs[last]] == [7, 1, 2, 3, 4, 5]
    assert t.ops.tolist() == [Op.HINT_ELEM, Op.HINT_BIT, Op.HINT_ELEM]
    assert t.args.tolist() == [1, 1, 2]


def test_coefficients():
    c = Coefficients()
    assert [c.number(k) for k in (1, -1, 2, R - 1, R + 1, 0, R, -R)] == [0, 1, 2, 1, 0, -1, -1, -1]
    assert (COEFF_ONE, COEFF_MINUS_ONE, COEFF_TWO) == (0, 1, 2)
    assert c.number(-2) == c.number(R - 2) == 3
    for k in range(3, 3 + (1 << 16) - 4):
        c.number(k)
    assert len(c.values) == 1 << 16
    with pytest.raises(ResourceError, match="too many distinct coefficients"):
        c.number(1 << 20)
    assert c.number(5 + R) == c.number(5)
