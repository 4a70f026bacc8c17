"""Shapes at random and by hand, and their slow twin: templates interpreted with plain integers straight from their definition."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from cuzk.circuits.template import (
    COEFF_MINUS_ONE,
    COEFF_ONE,
    INDEX_MASK,
    INPUT,
    LOCAL_BIT,
    LOCAL_ELEM,
    NOT_FLAG,
    ONE,
    PORT,
    PROLOGUE_BIT,
    PROLOGUE_ELEM,
    STAGE_BIT,
    STAGE_ELEM,
    TAG_SHIFT,
    Matrix,
    Op,
    Shape,
    Stage,
    Template,
)
from cuzk.field.limbs import fr_ints, from_limbs, to_limbs
from cuzk.field.params import R

NASTY = (0, 1, 2, R - 1, R - 2, (R - 1) // 2, 1 << 254, (1 << 64) - 1, 1 << 64, (1 << 192) - 1)


def ref(tag: int, index: int) -> int:
    return tag << TAG_SHIFT | index


class Builder:
    """A template written by hand."""

    def __init__(self, ports: int = 0) -> None:
        self.ports = ports
        self.rows: list[tuple[dict[int, int], ...]] = []
        self.is_bit: list[int] = []
        self.inputs = self.hint_bits = self.hint_elems = 0
        self.ops: list[int] = []
        self.args: list[list[int]] = []

    def op(self, op: Op, *args: int) -> None:
        self.ops.append(op)
        self.args.append(list(args))

    def new(self, is_bit: int, n: int = 1) -> int:
        first = sum(1 for b in self.is_bit if b == is_bit)
        self.is_bit += [is_bit] * n
        return ref(LOCAL_BIT if is_bit else LOCAL_ELEM, first)

    def hint_bit(self, n: int = 1) -> int:
        self.op(Op.HINT_BIT, n)
        self.hint_bits += n
        return self.new(1, n)

    def hint_elem(self, n: int = 1) -> int:
        self.op(Op.HINT_ELEM, n)
        self.hint_elems += n
        return self.new(0, n)

    def bit(self, op: Op, *operands: int) -> int:
        self.op(op, *operands)
        return self.new(1)

    def sum(self, width: int, constant: int, words: Sequence[Sequence[int]]) -> int:
        self.op(Op.SUM, width, constant & 0xFFFFFFFF, constant >> 32, len(words), *(b for w in words for b in w))
        return self.new(1, width)

    def bits_of(self, n: int, elem: int) -> int:
        self.op(Op.BITS, n, elem)
        return self.new(1, n)

    def solve(self, a: dict[int, int], b: dict[int, int], c: dict[int, int], coeff: int = COEFF_ONE) -> int:
        self.op(Op.SOLVE, len(self.rows))
        new = self.new(0)
        self.rows.append((a, b, {**c, new: coeff}))
        return new

    def solve_input(self, a: dict[int, int], b: dict[int, int], c: dict[int, int]) -> int:
        self.op(Op.SOLVE_INPUT, len(self.rows))
        self.inputs += 1
        new = ref(INPUT, self.inputs)
        self.rows.append((a, b, {**c, new: COEFF_ONE}))
        return new

    def inputize(self, elem: int) -> int:
        self.op(Op.SOLVE_INPUT, len(self.rows))
        self.inputs += 1
        new = ref(INPUT, self.inputs)
        self.rows.append(({new: COEFF_ONE}, {ONE: COEFF_ONE}, {elem: COEFF_ONE}))
        return new

    def row(self, a: dict[int, int], b: dict[int, int], c: dict[int, int]) -> None:
        self.rows.append((a, b, c))

    def template(self, name: str = "t") -> Template:
        matrices = []
        for k in range(3):
            terms = [row[k] for row in self.rows]
            matrices.append(
                Matrix(
                    np.cumsum([0] + [len(t) for t in terms]).astype(np.uint32),
                    np.array([v for t in terms for v in t], np.uint32),
                    np.array([x for t in terms for x in t.values()], np.uint16),
                )
            )
        return Template(
            name,
            *matrices,
            np.array(self.is_bit, np.uint8),
            self.inputs,
            self.ports,
            np.array(self.ops, np.uint8),
            np.cumsum([0] + [len(a) for a in self.args]).astype(np.uint32),
            np.array([x for a in self.args for x in a], np.uint32),
        )


def stage(
    templates: Sequence[Template], placed: Sequence[tuple[int, Sequence[int], str]], hints: Sequence[tuple[int, int]]
) -> Stage:
    """Segments (template, ports, name) one after the other; `hints` are the bit and element hints of each template."""
    columns: list[tuple[int, ...]] = []
    at = [0] * 7
    ports: list[int] = []
    pointers = [0]
    for number, of, _ in placed:
        t = templates[number]
        columns.append((number, *at))
        sizes = (t.rows, t.aux, t.bits, t.aux - t.bits, t.inputs, *hints[number])
        at = [x + y for x, y in zip(at, sizes, strict=True)]
        ports += of
        pointers.append(len(ports))
    arrays = [np.array(x, np.uint32) for x in zip(*columns, strict=True)] if columns else [np.zeros(0, np.uint32)] * 8
    names = tuple(name for _, _, name in placed)
    return Stage(*arrays, np.array(pointers, np.uint32), np.array(ports, np.uint32), names, *at)


def one_template(builder: Builder, coefficients: Sequence[int] = (), ports: Sequence[int] = ()) -> Shape:
    """A shape with one segment, in its prologue."""
    t = builder.template()
    hints = [(builder.hint_bits, builder.hint_elems)]
    table = to_limbs([1, R - 1, 2, *coefficients], 4)
    return Shape("one", (t,), table, stage([t], [(0, ports, "only")], hints), stage([t], [], hints), 0)


class Twin:
    """Values of one instance: `inputs` with ONE, `aux` in order."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.coefficients = from_limbs(shape.coefficients)
        self.inputs = [1] + [0] * (shape.num_inputs - 1)
        self.aux = [0] * shape.num_aux
        self.segments = list(self._segments())

    def _segments(self):
        p, r = self.shape.prologue, self.shape.repeated
        ranks = {id(s): self._ranks(s) for s in (p, r)}
        for stamp in (None, *range(self.shape.repeats)):
            s = p if stamp is None else r
            aux0 = 0 if stamp is None else p.aux_total + stamp * r.aux_total
            input0 = 1 if stamp is None else 1 + p.inputs + stamp * r.inputs
            for i, number in enumerate(s.template.tolist()):
                t = self.shape.templates[number]
                local = {0: [], 1: []}
                for k, is_bit in enumerate(t.aux_is_bit.tolist()):
                    local[is_bit].append(("aux", aux0 + int(s.aux[i]) + k))
                ports = []
                for e in s.ports[int(s.port_ptr[i]) : int(s.port_ptr[i + 1])].tolist():
                    tag, index = e >> TAG_SHIFT, e & INDEX_MASK
                    own = tag in (STAGE_BIT, STAGE_ELEM)
                    rank = ranks[id(s if own else p)][tag in (STAGE_BIT, PROLOGUE_BIT)]
                    ports.append(("aux", (aux0 if own else 0) + rank[index]))
                inputs = [("input", 0)] + [("input", input0 + int(s.input[i]) + k) for k in range(t.inputs)]
                table = {LOCAL_BIT: local[1], LOCAL_ELEM: local[0], PORT: ports, INPUT: inputs}
                yield stamp, s, i, t, table

    def _ranks(self, s: Stage) -> dict[bool, list[int]]:
        out: dict[bool, list[int]] = {True: [], False: []}
        at = 0
        for number in s.template.tolist():
            for is_bit in self.shape.templates[number].aux_is_bit.tolist():
                out[bool(is_bit)].append(at)
                at += 1
        return out

    def place(self, table, r: int):
        return table[r >> TAG_SHIFT][r & INDEX_MASK]

    def value(self, table, r: int) -> int:
        kind, index = self.place(table, r & ~NOT_FLAG)
        v = self.inputs[index] if kind == "input" else self.aux[index]
        return 1 - v if r & NOT_FLAG else v

    def combination(self, table, m: Matrix, row: int, without: int | None = None) -> int:
        terms = range(int(m.indptr[row]), int(m.indptr[row + 1]))
        return (
            sum(self.coefficients[m.coeffs[i]] * self.value(table, int(m.cols[i])) for i in terms if int(m.cols[i]) != without)
            % R
        )

    def fill(self, hints) -> None:
        """Run all programs. `hints(stamp)` gives the bits and the elements of a stamp (None: prologue) as two iterators."""
        streams = {stamp: hints(stamp) for stamp in (None, *range(self.shape.repeats))}
        for stamp, _, _, t, table in self.segments:
            self._run(t, table, *streams[stamp])

    def _run(self, t: Template, table, hint_bits, hint_elems) -> None:
        at = {LOCAL_BIT: 0, LOCAL_ELEM: 0, INPUT: 1}

        def define(tag: int, v: int) -> None:
            kind, index = table[tag][at[tag]]
            (self.inputs if kind == "input" else self.aux)[index] = v
            at[tag] += 1

        for k, op in enumerate(t.ops.tolist()):
            args = t.args[int(t.arg_ptr[k]) : int(t.arg_ptr[k + 1])].tolist()
            if op in (Op.HINT_BIT, Op.HINT_ELEM):
                for _ in range(args[0]):
                    define(LOCAL_BIT if op == Op.HINT_BIT else LOCAL_ELEM, next(hint_bits if op == Op.HINT_BIT else hint_elems))
            elif op == Op.SUM:
                width, lo, hi, n, *refs = args
                assert len(refs) == 32 * n
                total = lo + (hi << 32) + sum(self.value(table, b) << (i % 32) for i, b in enumerate(refs))
                for i in range(width):
                    define(LOCAL_BIT, total >> i & 1)
            elif op == Op.BITS:
                v = self.value(table, args[1])
                for i in range(args[0]):
                    define(LOCAL_BIT, v >> i & 1)
            elif op in (Op.SOLVE, Op.SOLVE_INPUT):
                tag = LOCAL_ELEM if op == Op.SOLVE else INPUT
                define(tag, self._solved(t, table, args[0], ref(tag, at[tag])))
            else:
                v = [self.value(table, r) for r in args]
                value = {
                    Op.XOR: lambda a, b: a ^ b,
                    Op.AND: lambda a, b: a & b,
                    Op.CH: lambda a, b, c: b if a else c,
                    Op.MAJ: lambda a, b, c: int(a + b + c >= 2),
                }[Op(op)](*v)
                define(LOCAL_BIT, value)

    def _solved(self, t: Template, table, row: int, new: int) -> int:
        c = t.c
        for i in range(int(c.indptr[row]), int(c.indptr[row + 1])):
            if int(c.cols[i]) == new:
                sign = {COEFF_ONE: 1, COEFF_MINUS_ONE: -1}[int(c.coeffs[i])]
                a, b = self.combination(table, t.a, row), self.combination(table, t.b, row)
                return sign * (a * b - self.combination(table, c, row, new)) % R
        return self.combination(table, c, row)

    def rows(self) -> list[tuple[int, int, int]]:
        """A·z, B·z, C·z of every circuit row."""
        return [
            tuple(self.combination(table, m, row) for m in (t.a, t.b, t.c))
            for _, _, _, t, table in self.segments
            for row in range(t.rows)
        ]

    def columns(self, weights: Sequence[int]) -> list[list[int]]:
        """Σ coefficient · weight for each variable, of A, B and C, with the final input rows in A."""
        n = self.shape.num_inputs
        out = [[0] * (n + self.shape.num_aux) for _ in range(3)]
        first = 0
        for _, _, _, t, table in self.segments:
            for k, m in enumerate((t.a, t.b, t.c)):
                for row in range(t.rows):
                    for i in range(int(m.indptr[row]), int(m.indptr[row + 1])):
                        kind, index = self.place(table, int(m.cols[i]))
                        v = index if kind == "input" else n + index
                        out[k][v] = (out[k][v] + self.coefficients[m.coeffs[i]] * weights[first + row]) % R
            first += t.rows
        for i in range(n):
            out[0][i] = (out[0][i] + weights[first + i]) % R
        return out


def random_shape(seed: int) -> Shape:
    """Prologue and repeated stage of random templates with every operation, ports of both kinds and rows of every class."""
    rng = random.Random(seed)
    coefficients = [3, R - 2, 4, 5, 1 << 200, R // 2, rng.randrange(R), rng.randrange(R)]
    builders, kinds = [], []
    for _ in range(5):
        port_kinds = [rng.randrange(2) for _ in range(rng.randrange(1, 5))]
        builders.append(random_template(rng, port_kinds, 3 + len(coefficients)))
        kinds.append(port_kinds)
    first = Builder()  # gives ports something to name
    first.hint_bit(3)
    first.hint_elem(3)
    first.inputize(ref(LOCAL_ELEM, 1))
    builders.append(first)
    templates = [b.template(f"t{i}") for i, b in enumerate(builders)]
    hints = [(b.hint_bits, b.hint_elems) for b in builders]

    def place(prologue: tuple[int, int] | None) -> Stage:
        placed: list[tuple[int, list[int], str]] = [(5, [], "first")]
        bits, elems = templates[5].bits, templates[5].aux - templates[5].bits
        for k in range(6):
            number = rng.randrange(5)
            ports = []
            for is_elem in kinds[number]:
                if prologue and rng.random() < 0.4:
                    tag, n = (PROLOGUE_ELEM, prologue[1]) if is_elem else (PROLOGUE_BIT, prologue[0])
                else:
                    tag, n = (STAGE_ELEM, elems) if is_elem else (STAGE_BIT, bits)
                ports.append(ref(tag, rng.randrange(n)))
            placed.append((number, ports, f"segment {k}"))
            t = templates[number]
            bits, elems = bits + t.bits, elems + t.aux - t.bits
        return stage(templates, placed, hints)

    prologue = place(None)
    repeated = place((prologue.bits, prologue.elems))
    return Shape(
        f"random {seed}", tuple(templates), to_limbs([1, R - 1, 2, *coefficients], 4), prologue, repeated, rng.randrange(1, 4)
    )


def random_template(rng: random.Random, port_kinds: Sequence[int], coefficients: int) -> Builder:
    b = Builder(len(port_kinds))
    bits = [ref(PORT, i) for i, k in enumerate(port_kinds) if not k]
    elems = [ref(PORT, i) for i, k in enumerate(port_kinds) if k]

    def operand(plain: bool = False) -> int:
        if plain:
            return rng.choice(bits)
        return rng.choice([*bits, ONE]) | (NOT_FLAG if rng.random() < 0.5 else 0)

    def combination(most_bits: int, most_elems: int) -> dict[int, int]:
        chosen = rng.sample(bits, min(len(bits), rng.randrange(most_bits + 1)))
        chosen += rng.sample(elems, min(len(elems), rng.randrange(most_elems + 1)))
        chosen += [ONE] if rng.random() < 0.5 else []
        return {v: rng.randrange(5 if rng.random() < 0.5 else coefficients) for v in chosen}

    def any_combination() -> dict[int, int]:
        return combination(*rng.choice([(0, 0), (3, 0), (1, 0), (40, 0), (2, 3), (0, 6)]))

    first = b.hint_bit(2)
    bits += [first, first + 1]
    elems.append(b.hint_elem())
    for _ in range(30):
        what = rng.choice(["hint", "logic", "logic", "logic", "sum", "bits", "solve", "solve", "input", "pattern", "row"])
        before = len(b.is_bit)
        if what == "hint":
            b.hint_bit() if rng.random() < 0.5 else b.hint_elem()
        elif what == "logic":
            op = rng.choice([Op.XOR, Op.AND, Op.CH, Op.MAJ])
            b.bit(op, *(operand(op == Op.XOR) for _ in range(2 if op in (Op.XOR, Op.AND) else 3)))
        elif what == "sum":
            b.sum(
                rng.choice([33, 36]),
                rng.choice([0, (1 << 34) + 5, 7]),
                [[operand() for _ in range(32)] for _ in range(rng.randrange(4))],
            )
        elif what == "bits":
            b.bits_of(rng.choice([1, 8, 64, 65, 255]), rng.choice(elems))
        elif what == "solve":
            c = {} if rng.random() < 0.5 else any_combination()
            b.solve(any_combination(), {ONE: 0} if rng.random() < 0.3 else any_combination(), c, rng.randrange(2))
        elif what == "input":
            b.inputize(rng.choice(elems)) if rng.random() < 0.5 else b.solve_input(any_combination(), any_combination(), {})
            elems.append(ref(INPUT, b.inputs))
        elif what == "pattern":
            b.row(combination(3, 0), combination(1, 0), combination(3, 0))
        else:
            b.row(any_combination(), any_combination(), any_combination())
        n_bits = sum(b.is_bit[:before])
        for is_bit in b.is_bit[before:]:
            if is_bit:
                bits.append(ref(LOCAL_BIT, n_bits))
                n_bits += 1
            else:
                elems.append(ref(LOCAL_ELEM, before - sum(b.is_bit[:before])))
    return b


def random_element(rng: random.Random) -> int:
    return rng.choice(NASTY) if rng.random() < 0.4 else rng.randrange(R)


def witness_ints(witness, shape: Shape) -> tuple[list[int], list[int], list[int]]:
    """Inputs, bits and elements of a witness as integers."""
    return fr_ints(witness.inputs_mont), witness.bits.tolist(), fr_ints(witness.elems_mont)
