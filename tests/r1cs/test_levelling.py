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
        self.temps = facts[form.TEMPS]
        for k in range(facts[form.LEVELS]):
            here, end = items.levels[facts[form.FIRST_LEVEL] + k : facts[form.FIRST_LEVEL] + k + 2].tolist()
            self.level(k + 1, [slice(here[kind], end[kind]) for kind in range(form.KINDS)])
        assert (self.bits >= 0).all() and (self.elems >= 0).all()

    def known(self, of: np.ndarray, slots: np.ndarray, now: int) -> None:
        assert ((of[slots] >= 0) & (of[slots] < now)).all()

    def made(self, of: np.ndarray, slots: np.ndarray, now: int) -> None:
        assert len(np.unique(slots)) == len(slots) and (of[slots] == -1).all()
        of[slots] = now

    def level(self, now: int, of: list[slice]) -> None:
        logic, sums, copies, terms, groups, solves = (
            array[s].astype(np.int64)
            for array, s in zip(
                (self.items.logic, self.items.sums, self.items.copies, self.items.terms, self.items.groups, self.items.solves),
                of,
                strict=True,
            )
        )
        for slots in (logic[:, 0] & 0xFFFF, logic[:, 0] >> 16, logic[:, 1] & 0xFFFF):
            self.known(self.bits, slots, now)
        new_bits = [logic[:, 1] >> 16]
        for first, width, _, _, end, word, *_ in sums.tolist():
            assert (end - word) % form.WORDS == 0
            self.known(self.bits, self.items.words[word:end].reshape(-1).astype(np.int64) & 0xFFFF, now)
            new_bits.append(np.arange(first, first + width))
        new_elems = []
        for head, first, source, _ in copies.tolist():
            if head & 255 == Copy.HINT_ELEM:
                new_elems.append(np.array([first]))
                continue
            if head & 255 == Copy.BITS:
                self.known(self.elems, np.array([source]), now)
            assert 0 < head >> 16 <= 32
            new_bits.append(np.arange(first, first + (head >> 16)))
        for head, slot in terms.tolist():
            if head >> 16 != Term.CONST:
                self.known(self.bits if head >> 16 == Term.BIT else self.elems, np.array([slot]), now)
        whole = len(terms) + len(groups)
        assert whole <= self.temps
        assert all((g & 0xFFFF) + (g >> 16) <= len(terms) and 0 < g >> 16 <= form.GROUP for g in groups.tolist())
        for *operands, target in solves.tolist():
            for x in operands:
                if x & form.IS_SLOT:
                    self.known(self.elems, np.array([x & 0xFFFF]), now)
                else:
                    assert (x & 0xFFFF) + (x >> 16) <= whole
            new_elems.append(np.array([target & 0xFFFF]))
        self.made(self.bits, np.concatenate(new_bits), now)
        self.made(self.elems, np.concatenate([np.zeros(0, np.int64), *new_elems]), now)


def check(shape: Shape) -> None:
    found = level(shape)
    assert found is not None
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
