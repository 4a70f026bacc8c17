"""From the flat form of a shape to its levelled form (`kernels.levels`): items by level, chains of segments by phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.circuits.template import COEFF_MINUS_ONE, COEFF_ONE, INDEX_MASK, PROLOGUE_BIT, STAGE_ELEM, TAG_SHIFT, Shape, Stage
from cuzk.field import fr_cuda
from cuzk.kernels import levels as form
from cuzk.kernels.flat import FIRST_BIT, FIRST_ELEM, I64, U16, Code, Placed
from cuzk.kernels.levels import GROUP, IS_SLOT, KINDS, NEGATED, NO_PRODUCT, NONE, U32, WORDS, Copy, Items, RowItems, Stages, Term
from cuzk.kernels.program_cuda import SHARED
from cuzk.kernels.rows_cuda import PATTERN_SHARED
from cuzk.kernels.segment_cuda import PAD, THREADS
from cuzk.r1cs import chains
from cuzk.r1cs.packing import Packed, pack

_WORD = 32  # bits that one copy moves


@dataclass(frozen=True, slots=True)
class Levelled:
    """A whole shape for a card."""

    items: Items
    prologue: Stages
    repeated: Stages
    rows: RowItems

    @property
    def nbytes(self) -> int:
        """What it takes on a card."""
        return sum(int(a.nbytes) for part in (self.items, self.rows) for a in part) + sum(
            int(a.nbytes) for stage in (self.prologue, self.repeated) for a in stage[:-1]
        )


def level(shape: Shape) -> Levelled | None:
    """The levelled form of a shape; None if a segment is too large for the shared memory of a block.

    Cost    about a second for a PoRep of any size
    """
    packed = pack(shape)
    if packed.scratch_bits > 1 << form.SLOT_BITS or len(packed.tables.forms.coeffs_mont) > 1 << 16:
        return None
    made = [_Variant(packed, v) for v in range(len(packed.tables.variants.bits))]
    if not _fit(packed, made):
        return None
    stages = (shape.prologue, packed.prologue), (shape.repeated, packed.repeated)
    prologue, repeated = (_stages(packed, made, stage, placed) for stage, placed in stages)
    return Levelled(_items(packed, made), prologue, repeated, _rows(packed))


def _fit(packed: Packed, made: list[_Variant]) -> bool:
    variants = packed.tables.variants
    bits = PAD + FIRST_BIT + variants.port_bits + variants.bits
    ports = fr_cuda.BYTES * (FIRST_ELEM + variants.port_elems)
    temps = np.maximum(THREADS, [one.temps for one in made])  # those of a level; parts of forms in rows
    own = fr_cuda.BYTES * (variants.inputs + variants.elems + temps)
    return bool((bits + ports <= PATTERN_SHARED).all() and (bits + ports + own <= SHARED).all())


class _Variant:
    """The items of one variant, each kind with the level of every item."""

    def __init__(self, packed: Packed, v: int) -> None:
        self.packed, self.v = packed, v
        variants = packed.tables.variants
        self.bit = FIRST_BIT + int(variants.port_bits[v])
        self.input = FIRST_ELEM + int(variants.port_elems[v])
        self.elem = self.input + int(variants.inputs[v])
        self.bit_level = [0] * (self.bit + int(variants.bits[v]))
        self.elem_level = [0] * (self.elem + int(variants.elems[v]))
        self.hint_bit = self.hint_elem = 0
        self.words: list[I64] = [np.zeros((0, 32), np.int64)]
        # Of each kind: levels of its items, and the items.
        self.of: list[list[int]] = [[] for _ in range(KINDS)]
        self.made: list[list[Any]] = [[] for _ in range(KINDS)]
        self._walk()
        self._solves()

    def _walk(self) -> None:
        program, v, variants = self.packed.tables.program, self.v, self.packed.tables.variants
        code = program.code[variants.code[v] : variants.code_end[v]].tolist()
        pc = 0
        while pc < len(code):
            op, n = code[pc], code[pc + 1]
            if op == Code.LOGIC:
                first = int(variants.logic[v]) + code[pc + 2]
                self._logic(program.logic[first : first + n])
                pc += 3
            elif op == Code.SUM:
                self._sum(n, *code[pc + 2 : pc + 6])
                pc += 6
            elif op == Code.HINT_BIT:
                self._bits(1, Copy.HINT_BITS, n, self.hint_bit)
                self.hint_bit += n
                pc += 2
            elif op == Code.HINT_ELEM:
                for _ in range(n):
                    self._add(form.COPIES, 1, (Copy.HINT_ELEM, self.elem, self.hint_elem, 0))
                    self.elem_level[self.elem] = 1
                    self.hint_elem += 1
                    self.elem += 1
                pc += 2
            elif op == Code.BITS:
                self._bits(self.elem_level[code[pc + 2]] + 1, Copy.BITS, n, code[pc + 2])
                pc += 3
            else:
                self._solve(op == Code.SOLVE_INPUT, int(variants.form[v]) + n, code[pc + 2])
                pc += 3

    def _add(self, kind: int, level: int, item: Any) -> None:
        self.of[kind].append(level)
        self.made[kind].append(item)

    def _new_bits(self, level: int, n: int) -> None:
        self.bit_level[self.bit : self.bit + n] = [level] * n
        self.bit += n

    def _logic(self, records: np.ndarray) -> None:
        levels, bit = self.bit_level, self.bit
        for a, b, c, _ in records.tolist():
            levels[bit] = 1 + max(levels[a], levels[b], levels[c])
            bit += 1
        self.of[form.LOGIC] += levels[self.bit : bit]
        results = np.arange(self.bit, bit, dtype=np.int64)
        self.made[form.LOGIC].append(np.column_stack([records.astype(np.int64), results]))
        self.bit = bit

    def _sum(self, width: int, low: int, high: int, words: int, first: int) -> None:
        first += int(self.packed.tables.variants.sum_word[self.v])
        slots = self.packed.tables.program.sum_slots[first : first + words].reshape(-1).tolist()
        level = 1 + max((self.bit_level[s] for s in slots), default=0)
        at = sum(len(w) for w in self.words)
        count = -(-words // WORDS) * WORDS
        mask = self.packed.tables.program.sum_masks[first : first + words, None]
        negated = (mask >> np.arange(32, dtype=np.uint32) & 1).astype(np.int64) * NEGATED
        self.words.append(np.zeros((count, 32), np.int64))
        self.words[-1][:words] = np.array(slots, np.int64).reshape(-1, 32) | negated
        self._add(form.SUMS, level, (self.bit, width, low, high, at + count, at, 0, 0))
        self._new_bits(level, width)

    def _bits(self, level: int, kind: Copy, n: int, source: int) -> None:
        for k in range(0, n, _WORD):
            count = min(_WORD, n - k)
            first, which = (source + k, 0) if kind == Copy.HINT_BITS else (source, k // _WORD)
            self._add(form.COPIES, level, (kind | which << 8 | count << 16, self.bit, first, 0))
            self._new_bits(level, count)

    def _solve(self, is_input: bool, first: int, negate: int) -> None:
        forms = self.packed.tables.forms
        bits = forms.bit_slot[forms.bit_ptr[first] : forms.bit_ptr[first + 3]].tolist()
        elems = forms.elem_slot[forms.elem_ptr[first] : forms.elem_ptr[first + 3]].tolist()
        level = 1 + max([self.bit_level[s] for s in bits] + [self.elem_level[s] for s in elems], default=0)
        slot = self.input if is_input else self.elem
        if is_input:
            self.input += 1
        else:
            self.elem += 1
        self.elem_level[slot] = level
        self._add(form.SOLVES, level, (first, slot | (NEGATED if negate else 0)))

    def _solves(self) -> None:
        """Terms and groups of the forms of solves, level after level; the solves themselves refer to them then."""
        self.levels = max((max(x) for x in self.of if x), default=0)
        by_level: list[list[tuple[int, int]]] = [[] for _ in range(self.levels + 1)]
        for at, item in zip(self.of[form.SOLVES], self.made[form.SOLVES], strict=True):
            by_level[at].append(item)
        self.of[form.SOLVES], self.made[form.SOLVES] = [], []
        self.temps = 0
        for level, solves in enumerate(by_level):
            forms = [[self._terms(first + k) for k in range(3)] for first, _ in solves]
            alone = [three[1] == [(COEFF_ONE | Term.CONST << 16, 0)] for three in forms]
            for three, one in zip(forms, alone, strict=True):
                if one:
                    three[1] = []
            count = sum(len(t) for three in forms for t in three if not _is_element(t))
            groups: list[int] = []
            at = 0
            for (_, target), three, one in zip(solves, forms, alone, strict=True):
                operands = []
                for t in three:
                    if _is_element(t):
                        operands.append(t[0][1] | IS_SLOT)
                        continue
                    operands.append(self._range(at, len(t), count, groups))
                    at += len(t)
                    for term in t:
                        self._add(form.TERMS, level, term)
                self._add(form.SOLVES, level, (*operands, target | (NO_PRODUCT if one else 0)))
            for group in groups:
                self._add(form.GROUPS, level, group)
            self.temps = max(self.temps, count + len(groups))

    @staticmethod
    def _range(first: int, n: int, terms: int, groups: list[int]) -> int:
        """Where the summands of a form stand: its terms, or groups of them if they are many."""
        if n <= GROUP:
            return first | n << 16
        at = terms + len(groups)
        groups += [k | min(GROUP, first + n - k) << 16 for k in range(first, first + n, GROUP)]
        return at | (terms + len(groups) - at) << 16

    def _terms(self, number: int) -> list[tuple[int, int]]:
        """Terms of a form as items."""
        forms = self.packed.tables.forms
        found = [(int(forms.const[number]) | Term.CONST << 16, 0)] if forms.const[number] >= 0 else []
        bits, elems = (slice(p[number], p[number + 1]) for p in (forms.bit_ptr, forms.elem_ptr))
        for slot, coeff in zip(forms.bit_slot[bits].tolist(), forms.bit_coeff[bits].tolist(), strict=True):
            found.append((coeff | Term.BIT << 16, slot))
        kinds = {COEFF_ONE: Term.ONE, COEFF_MINUS_ONE: Term.MINUS}
        for slot, coeff in zip(forms.elem_slot[elems].tolist(), forms.elem_coeff[elems].tolist(), strict=True):
            found.append((coeff | kinds.get(coeff, Term.PRODUCT) << 16, slot))
        return found

    @property
    def cost(self) -> int:
        """Cycles of a block that runs it, very roughly: they decide what runs beside what, and no value."""
        levels = [len(set(of)) for of in self.of]
        return 4000 + 200 * self.levels + 400 * levels[form.SUMS] + 900 * levels[form.SOLVES] + 1300 * levels[form.GROUPS]

    def sorted(self, kind: int, words: int) -> tuple[I64, I64]:
        """The items of a kind by level, and how many each level from 1 on has."""
        of = np.array(self.of[kind], np.int64)
        made = self.made[kind]
        if kind == form.LOGIC:
            items = np.concatenate(made) if made else np.zeros((0, 5), np.int64)
        else:
            items = np.array(made, np.int64).reshape(-1, words)
        counts = np.bincount(of, minlength=self.levels + 1)[1:]
        return items[np.argsort(of, kind="stable")], counts


def _is_element(terms: list[tuple[int, int]]) -> bool:
    """Whether a form is an element itself."""
    return len(terms) == 1 and terms[0][0] >> 16 == Term.ONE


_WORDS = (5, 8, 4, 2, 1, 4)


def _items(packed: Packed, made: list[_Variant]) -> Items:
    parts: list[list[I64]] = [[] for _ in range(KINDS)]
    heads: list[I64] = []
    end, words = np.zeros(KINDS, np.int64), 0
    for one in made:
        counts = np.zeros((one.levels, KINDS), np.int64)
        for kind, width in enumerate(_WORDS):
            items, counts[:, kind] = one.sorted(kind, width)
            if kind == form.SUMS:
                items[:, 4:6] += words
            parts[kind].append(items)
        heads.append(end + np.cumsum(counts, axis=0) - counts)
        end = end + counts.sum(axis=0)
        words += sum(len(w) for w in one.words)
    levels = np.concatenate([*heads, [end] * 2])
    logic, sums, copies, terms, groups, solves = (np.concatenate(p) for p in parts)
    slots = np.stack([logic[:, 0] | logic[:, 1] << 16, logic[:, 2] | logic[:, 4] << 16, logic[:, 3], 0 * logic[:, 3]], axis=1)
    return Items(
        _variants(packed, made),
        np.pad(levels, ((0, 0), (0, form.LEVEL_WORDS - KINDS))).astype(np.uint32),
        _read_ahead(slots),
        _read_ahead(sums),
        np.concatenate([w for one in made for w in one.words]).astype(np.uint32),
        copies.astype(np.uint32),
        terms.astype(np.uint32),
        groups.reshape(-1).astype(np.uint32),
        _read_ahead(solves),
        packed.tables.forms.coeffs_mont,
    )


def _read_ahead(items: I64) -> U32:
    """With room behind them: threads load the first items of a level before they know whether they have one."""
    return np.pad(items, ((0, THREADS), (0, 0))).astype(np.uint32)


def _variants(packed: Packed, made: list[_Variant]) -> U32:
    variants = packed.tables.variants
    table = np.zeros((len(made), form.VARIANT_WORDS), np.uint32)
    counts = [one.levels for one in made]
    for entry, column in (
        (form.PORT_BITS, variants.port_bits),
        (form.PORT_ELEMS, variants.port_elems),
        (form.INPUTS, variants.inputs),
        (form.BITS, variants.bits),
        (form.ELEMS, variants.elems),
        (form.FIRST_LEVEL, np.cumsum(counts) - counts),
        (form.LEVELS, np.array(counts)),
        (form.TEMPS, np.array([one.temps for one in made])),
        (form.ROW, variants.row),
        (form.ROWS, variants.rows),
        (form.GENERAL, variants.general),
        (form.GENERAL_ROWS, variants.general_end - variants.general),
        (form.FORM, variants.form),
    ):
        table[:, entry] = column
    return table


def _stages(packed: Packed, made: list[_Variant], stage: Stage, placed: Placed) -> Stages:
    """Segments with their ports, bits first, and chains."""
    tag = stage.ports >> TAG_SHIFT
    is_elem, outside = tag & STAGE_ELEM, tag >= PROLOGUE_BIT
    flags = is_elem * np.uint32(form.PORT_IS_ELEM) | outside * np.uint32(form.PORT_OF_PROLOGUE)
    of = np.repeat(np.arange(len(placed.variant)), np.diff(placed.port_ptr))
    ports = (stage.ports & np.uint32(INDEX_MASK) | flags)[np.lexsort((is_elem, of))].astype(np.uint32)
    columns = (placed.variant, placed.row, placed.bit, placed.elem, placed.input, placed.hint_bit, placed.hint_elem)
    segments = np.stack([*columns, placed.port_ptr[:-1]], axis=1).astype(np.uint32)
    costs = [one.cost for one in made]
    found = chains.chains(chains.producers(stage, placed), [costs[v] for v in placed.variant.tolist()])
    lengths = [len(chain.segments) for chain in found]
    order = np.array([s for chain in found for s in chain.segments], np.uint32)
    of_phase = [chain.phase for chain in found]
    phases = tuple(of_phase.count(k) for k in range(max(of_phase, default=-1) + 1))
    variants = packed.tables.variants
    general = (variants.general_end - variants.general)[placed.variant]
    pattern = variants.rows[placed.variant] - general
    chain_ptr = np.cumsum([0, *lengths]).astype(np.uint32)
    return Stages(segments, ports, chain_ptr, order, _largest_first(pattern), _largest_first(general), phases)


def _largest_first(sizes: I64) -> U32:
    order = np.argsort(-sizes, kind="stable")
    return order[sizes[order] > 0].astype(np.uint32)


def _rows(packed: Packed) -> RowItems:
    rows, forms = packed.tables.rows, packed.tables.forms
    slots = np.pad(rows.pattern_rows.astype(np.uint32), ((0, THREADS), (0, 0)))  # threads read ahead
    return RowItems(
        (slots[:, 0::2] | slots[:, 1::2] << 16).astype(np.uint32),
        rows.patterns.astype(np.uint32) * np.uint32(fr_cuda.BYTES),
        rows.values_mont,
        rows.general_rows.astype(np.uint32),
        forms.bit_ptr.astype(np.uint32),
        forms.elem_ptr.astype(np.uint32),
        np.where(forms.const < 0, NONE, forms.const).astype(np.uint32),
        _joint(forms.bit_slot, forms.bit_coeff),
        _joint(forms.elem_slot, forms.elem_coeff),
    )


def _joint(slot: U32, coeff: U16) -> U32:
    """Slot and coefficient of a term in one word."""
    return (slot.astype(np.int64) | coeff.astype(np.int64) << 16).astype(np.uint32)
