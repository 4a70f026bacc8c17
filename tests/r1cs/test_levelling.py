"""The levelled form of shapes: every variable is made once, from constants, ports and what lower levels made."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.circuits import porep
from cuzk.circuits.template import Shape
from cuzk.kernels import levels as form
from cuzk.kernels.flat import FIRST_BIT, FIRST_ELEM
from cuzk.kernels.levels import Copy, Items, Term
from cuzk.r1cs.levelling import level
from tests.circuits.naive import Builder, one_template, random_shape


class Walk:
    """The levels of one variant, and in which of them each slot is made; 0: before all of them."""

    def __init__(self, items: Items, v: int) -> None:
        self.items = items
        facts = items.variants[v].tolist()
        first_bit, first_elem = FIRST_BIT + facts[form.PORT_BITS], FIRST_ELEM + facts[form.PORT_ELEMS]
        self.bits = np.full(first_bit + facts[form.BITS], -1)
        self.elems = np.full(first_elem + facts[form.INPUTS] + facts[form.ELEMS], -1)
        self.bits[:first_bit], self.elems[:first_elem] = 0, 0
        self.temps = np.full(facts[form.TEMPS], -1)
        for k in range(facts[form.LEVELS]):
            here, end = items.levels[facts[form.FIRST_LEVEL] + k : facts[form.FIRST_LEVEL] + k + 2].tolist()
            self.level(k + 1, [slice(here[kind], end[kind]) for kind in range(form.KINDS)])
        assert all((made >= 0).all() for made in (self.bits, self.elems, self.temps))

    def known(self, of: np.ndarray, slots: np.ndarray, now: int) -> None:
        assert ((of[slots] >= 0) & (of[slots] < now)).all()

    def made(self, of: np.ndarray, slots: np.ndarray, now: int) -> None:
        assert len(np.unique(slots)) == len(slots) and (of[slots] == -1).all()
        of[slots] = now

    def level(self, now: int, of: list[slice]) -> None:
        arrays = self.items.logic, self.items.sums, self.items.copies, self.items.products, self.items.solves
        logic, sums, copies, products, solves = (array[s].astype(np.int64) for array, s in zip(arrays, of, strict=True))
        for slots in (logic[:, 0] & 0xFFFF, logic[:, 0] >> 16, logic[:, 1] & 0xFFFF):
            self.known(self.bits, slots, now)
        new_bits = [logic[:, 1] >> 16]
        for (head, _, _, more), columns in zip(sums.tolist(), self.items.columns[of[form.SUMS]], strict=True):
            first, count = more & 0xFFFFFF, more >> 24
            for block in (columns, *self.items.further[first : first + count]):
                slots = np.concatenate([block & 0x7FFF, block >> 16 & 0x7FFF], axis=None).astype(np.int64)
                self.known(self.bits, slots, now)
            new_bits.append(np.arange(head & 0xFFFF, (head & 0xFFFF) + (head >> 16)))
        new_elems = []
        for head, first, source, _ in copies.tolist():
            if head & 255 == Copy.HINT_ELEM:
                new_elems.append(np.array([first]))
                continue
            if head & 255 == Copy.BITS:
                self.known(self.elems, np.array([source]), now)
            assert 0 < head >> 16 <= 32
            new_bits.append(np.arange(first, first + (head >> 16)))
        self.products(products, now)
        for row in solves.reshape(-1, form.RUN, 4).tolist():
            new_elems += self.row(row, now)
        self.made(self.bits, np.concatenate(new_bits), now)
        self.made(self.elems, np.concatenate([np.zeros(0, np.int64), *new_elems]), now)

    def products(self, products: np.ndarray, now: int) -> None:
        written = []
        for head, target, first, count in products.tolist():
            further = [(a, b) for a, b in self.items.terms[first : first + count].tolist()]
            for term, slot in [(head & ~form.NEW, target & 0xFFFF), *further]:
                if term >> 16 != Term.CONST:
                    self.known(self.bits if term >> 16 == Term.BIT else self.elems, np.array([slot]), now)
            assert (self.temps[target >> 16] < 0) == bool(head & form.NEW)
            self.temps[target >> 16] = now
            written.append(target >> 16)
        assert len(set(written)) == len(written)

    def row(self, row: list[list[int]], now: int) -> list[np.ndarray]:
        """The solves of one thread, each of which may use those before it."""
        made: list[int] = []
        for *operands, target in row:
            for x in operands:
                if x & form.IS_SLOT:
                    assert x & 0xFFFF in made or 0 <= self.elems[x & 0xFFFF] < now
                else:
                    assert (self.temps[x & 0xFFFF : (x & 0xFFFF) + (x >> 16)] >= 0).all()
            made.append(target & 0xFFFF)
            if target & form.LAST:
                return [np.array(made)]
        raise AssertionError("a row of solves without an end")


def check(shape: Shape) -> None:
    found = level(shape)
    assert found is not None
    rows, facts = found.rows, found.items.variants
    for first, count, short in facts[:, [form.GENERAL, form.GENERAL_ROWS, form.SHORT_FORMS]].tolist():
        assert sorted(rows.forms[3 * first : 3 * (first + count)].tolist()) == list(range(3 * count)) and short <= 3 * count
    for v in range(len(found.items.variants)):
        Walk(found.items, v)
    for array in (*found.items, *found.rows, *found.prologue[:-1], *found.repeated[:-1]):
        assert array.dtype in (np.uint32, np.uint64)


@pytest.mark.parametrize("seed", range(12))
def test_random_shapes(seed: int) -> None:
    check(random_shape(seed))


@pytest.mark.parametrize("size", [2 << 10, 32 << 30, 64 << 30])
def test_circuits_fit_a_card(size: int) -> None:
    check(porep.record(size))


def test_a_segment_too_large_for_a_card() -> None:
    b = Builder()
    b.hint_bit(30000)
    assert level(one_template(b)) is None
