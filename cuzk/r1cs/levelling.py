"""From the flat form of a shape to its levelled form (`kernels.levels`): items by level, chains of segments by phase."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.circuits.template import COEFF_MINUS_ONE, COEFF_ONE, INDEX_MASK, PROLOGUE_BIT, STAGE_ELEM, TAG_SHIFT, Shape, Stage
from cuzk.cuda import warp
from cuzk.field import fr_cuda
from cuzk.kernels import levels as form
from cuzk.kernels.flat import FIRST_BIT, FIRST_ELEM, I64, U16, Code, Placed
from cuzk.kernels.levels import (
    FLIPPED,
    IS_SLOT,
    KINDS,
    LAST,
    NEGATED,
    NEW,
    NO_PRODUCT,
    NONE,
    RUN,
    SHORT,
    U32,
    WORDS,
    Copy,
    Items,
    RowItems,
    Stages,
    Term,
)
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

    Cost    one pass over the templates, whatever the number of stamps
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
    heads = np.array([one.levels + 2 for one in made])
    own = fr_cuda.BYTES * (variants.inputs + variants.elems + temps + heads)
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
        self.columns: list[I64] = []  # of each sum
        self.further: list[I64] = []
        # Of each kind: levels of its items, and the items.
        self.of: list[list[int]] = [[] for _ in range(KINDS)]
        self.made: list[list[Any]] = [[] for _ in range(KINDS)]
        self.temps = 0
        self.terms: list[tuple[int, int]] = []  # of products, beyond the first of each
        self.started: set[int] = set()
        self.rows: list[list[tuple[int, ...]]] = []  # solves that follow one another
        self.row_of: dict[int, int] = {}  # of each slot that a solve fills
        self._walk()
        self.made[form.SOLVES] = [_padded(row) for row in self.made[form.SOLVES]]
        self.levels = max((max(x) for x in self.of if x), default=0)

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
        mask = self.packed.tables.program.sum_masks[first : first + words, None]
        flipped = (mask >> np.arange(32, dtype=np.uint32) & 1).astype(np.int64) * FLIPPED
        padded = np.zeros((max(1, -(-words // WORDS)) * WORDS, 32), np.int64)
        padded[:words] = np.array(slots, np.int64).reshape(-1, 32) | flipped
        blocks = padded.reshape(-1, WORDS, 32).transpose(0, 2, 1)  # of eight words the slots of each bit
        blocks = blocks[:, :, 0::2] | blocks[:, :, 1::2] << 16
        further = len(self.further) | len(blocks) - 1 << 24
        self._add(form.SUMS, level, (self.bit | width << 16, low, high, further, len(self.columns)))
        self.columns.append(blocks[0])
        self.further += list(blocks[1:])
        self._new_bits(level, width)

    def _bits(self, level: int, kind: Copy, n: int, source: int) -> None:
        for k in range(0, n, _WORD):
            count = min(_WORD, n - k)
            first, which = (source + k, 0) if kind == Copy.HINT_BITS else (source, k // _WORD)
            self._add(form.COPIES, level, (kind | which << 8 | count << 16, self.bit, first, 0))
            self._new_bits(level, count)

    def _solve(self, is_input: bool, first: int, negate: int) -> None:
        """A solve, in a row with what made its last variable where it can follow at once."""
        three = [self._terms(first + k) for k in range(3)]
        alone = three[1] == [(COEFF_ONE | Term.CONST << 16, 0)]
        if alone:
            three[1] = []
        elements = {t[0][1] for t in three if _is_element(t)}
        newest = max((self._level(term) for t in three for term in t), default=0)
        late = {slot for slot in elements if self.elem_level[slot] == newest}
        sums = [t for t in three if not _is_element(t)]
        rows = {self.row_of.get(slot, -1) for slot in late}
        row = rows.pop() if len(rows) == 1 else -1
        level = newest
        waits = any(self._level(term) == newest for t in sums for term in t)
        if row < 0 or waits or len(self.rows[row]) == RUN or self.rows[row][-1][3] & 0xFFFF not in late:
            level, row = newest + 1, len(self.rows)
            self.rows.append([])
            self._add(form.SOLVES, level, self.rows[row])
        operands = [t[0][1] | IS_SLOT if _is_element(t) else self._sum_of(t) for t in three]
        slot = self.input if is_input else self.elem
        if is_input:
            self.input += 1
        else:
            self.elem += 1
        self.rows[row].append((*operands, slot | (NEGATED if negate else 0) | (NO_PRODUCT if alone else 0)))
        self.elem_level[slot], self.row_of[slot] = level, row

    def _level(self, term: tuple[int, int]) -> int:
        """The level in which the variable of a term is made."""
        kind, slot = term[0] >> 16, term[1]
        return 0 if kind == Term.CONST else self.bit_level[slot] if kind == Term.BIT else self.elem_level[slot]

    def _sum_of(self, terms: list[tuple[int, int]]) -> int:
        """Products that add terms, each as soon as it can be, to a few temporary elements. Returns which these are."""
        by_level: dict[int, list[tuple[int, int]]] = {}
        for term in terms:
            by_level.setdefault(self._level(term), []).append(term)
        most = max((len(t) for t in by_level.values()), default=0)
        parts = math.isqrt(most) if most > 16 else min(len(terms), 2) if len(by_level) > 1 else -(-most // 2)
        first, at = self.temps, 0
        self.temps += parts
        for level in sorted(by_level):
            mine: list[list[tuple[int, int]]] = [[] for _ in range(parts)]
            for term in by_level[level]:
                mine[at % parts].append(term)
                at += 1
            for part, ((head, slot), *more) in ((k, t) for k, t in enumerate(mine) if t):
                new = 0 if part in self.started else NEW
                self.started.add(part)
                self._add(form.PRODUCTS, level + 1, (head | new, slot | first + part << 16, len(self.terms), len(more)))
                self.terms += more
        self.started.clear()
        return first | parts << 16

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
        return 5000 + 400 * self.levels + 1000 * levels[form.SUMS] + 1300 * levels[form.PRODUCTS] + 4000 * levels[form.SOLVES]

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


def _padded(row: list[tuple[int, ...]]) -> list[int]:
    """A row of solves with its end marked, and nothing behind."""
    flat = [x for solve in row for x in solve]
    flat[-1] |= LAST
    return flat + [0] * (4 * RUN - len(flat))


_WORDS = (5, 5, 4, 4, 4 * RUN)


def _items(packed: Packed, made: list[_Variant]) -> Items:
    parts: list[list[I64]] = [[] for _ in range(KINDS)]
    heads: list[I64] = []
    columns: list[I64] = [np.zeros((0, 32, WORDS // 2), np.int64)]
    end, further, terms = np.zeros(KINDS, np.int64), 0, 0
    for one in made:
        counts = np.zeros((one.levels, KINDS), np.int64)
        for kind, width in enumerate(_WORDS):
            items, counts[:, kind] = one.sorted(kind, width)
            if kind == form.SUMS:
                columns += [one.columns[k][None] for k in items[:, 4].tolist()]
                items = items[:, :4] + np.array([0, 0, 0, further])
            if kind == form.PRODUCTS:
                items[:, 2] += terms
            parts[kind].append(items)
        full = (counts[:, form.LOGIC] > THREADS) | (counts[:, form.SUMS] > THREADS // warp.SIZE)
        more = full | counts[:, [form.COPIES, form.PRODUCTS]].any(axis=1)
        heads.append(np.column_stack([end + np.cumsum(counts, axis=0) - counts, more]))
        end = end + counts.sum(axis=0)
        further += len(one.further)
        terms += len(one.terms)
    levels = np.concatenate([*heads, [[*end, 0]] * 2])
    logic, sums, copies, products, solves = (np.concatenate(p) for p in parts)
    slots = np.stack([logic[:, 0] | logic[:, 1] << 16, logic[:, 2] | logic[:, 4] << 16, logic[:, 3], 0 * logic[:, 3]], axis=1)
    return Items(
        _variants(packed, made),
        np.pad(levels, ((0, 0), (0, form.LEVEL_WORDS - KINDS - 1))).astype(np.uint32),
        slots.astype(np.uint32),
        sums.astype(np.uint32),
        np.concatenate(columns).astype(np.uint32),
        np.array([block for one in made for block in one.further], np.uint32).reshape(-1, 32, WORDS // 2),
        copies.astype(np.uint32),
        products.astype(np.uint32),
        np.array([term for one in made for term in one.terms], np.uint32).reshape(-1, 2),
        np.pad(solves, ((0, 1), (0, 0))).astype(np.uint32),  # threads read a solve ahead
        packed.tables.forms.coeffs_mont,
    )


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
        (form.SHORT_FORMS, np.array([int((_terms_of(packed, v) <= SHORT).sum()) for v in range(len(made))])),
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
        _by_length(packed),
        forms.bit_ptr.astype(np.uint32),
        forms.elem_ptr.astype(np.uint32),
        np.where(forms.const < 0, NONE, forms.const).astype(np.uint32),
        _joint(forms.bit_slot, forms.bit_coeff),
        _joint(forms.elem_slot, forms.elem_coeff),
    )


def _terms_of(packed: Packed, v: int) -> I64:
    """How many terms each form of a variant's general rows has."""
    variants, forms = packed.tables.variants, packed.tables.forms
    first, n = variants.form[v], 3 * (variants.general_end[v] - variants.general[v])
    bits, elems = (np.diff(p[first : first + n + 1]) for p in (forms.bit_ptr, forms.elem_ptr))
    return np.asarray(bits + elems)


def _by_length(packed: Packed) -> U32:
    """Forms of the general rows of each variant, those with few terms first, then the longest."""
    orders = []
    for v in range(len(packed.tables.variants.form)):
        n = _terms_of(packed, v)
        orders.append(np.lexsort((-n, n > SHORT)))
    return np.concatenate(orders).astype(np.uint32)


def _joint(slot: U32, coeff: U16) -> U32:
    """Slot and coefficient of a term in one word."""
    return (slot.astype(np.int64) | coeff.astype(np.int64) << 16).astype(np.uint32)
