"""Slow twin of the witness: runs a shape's program on Python integers and tests every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cuzk.circuits.template import INDEX_MASK, LOCAL_ELEM, NOT_FLAG, ONE, PORT, STAGE_ELEM, TAG_SHIFT, Op, Shape, Template
from cuzk.field.limbs import from_limbs
from cuzk.field.params import R


class Interpreter:
    """Values of one shape for given hints."""

    def __init__(self, shape: Shape, hint_bits: Sequence[int], hint_elems: Sequence[int]) -> None:
        self.shape = shape
        self.coefficients = from_limbs(shape.coefficients)
        self.hints = iter(hint_bits), iter(hint_elems)
        self.inputs = [1]
        self.aux: list[int] = []
        # Aux index of each bit and element of the prologue and of the stamp at work.
        self.prologue: tuple[list[int], list[int]] = ([], [])
        self._run(shape.prologue, self.prologue)
        for _ in range(shape.repeats):
            self._run(shape.repeated, ([], []))
        assert next(self.hints[0], None) is None
        assert next(self.hints[1], None) is None

    def _run(self, stage, ranks):
        for s, number in enumerate(stage.template):
            _Segment(self, self.shape.templates[number], stage.ports[stage.port_ptr[s] : stage.port_ptr[s + 1]], ranks).run()

    def first_false_row(self) -> tuple[int, str] | None:
        """Number and segment name of the first row that does not hold."""
        row = 0
        stages = [(self.shape.prologue, 1), (self.shape.repeated, self.shape.repeats)]
        from tests.circuits.expansion import rows

        names = [
            name
            for stage, repeats in stages
            for _ in range(repeats)
            for name, number in zip(stage.names, stage.template, strict=True)
            for _ in range(self.shape.templates[number].rows)
        ]
        for row, (a, b, c) in enumerate(rows(self.shape)):
            x, y, z = (
                sum(k * (self.aux if kind == "A" else self.inputs)[index] for (kind, index), k in lc.items()) for lc in (a, b, c)
            )
            if (x * y - z) % R:
                return row, names[row]
        return None


class _Segment:
    def __init__(self, whole: Interpreter, t: Template, ports: np.ndarray, ranks: tuple[list[int], list[int]]) -> None:
        self.whole, self.t, self.ports, self.ranks = whole, t, ports, ranks
        self.first_input = len(whole.inputs)
        self.local: tuple[list[int], list[int]] = ([], [])

    def aux_index(self, ref: int) -> int:
        tag, index = ref >> TAG_SHIFT, ref & INDEX_MASK
        if tag <= LOCAL_ELEM:
            return self.local[tag][index]
        assert tag == PORT
        tag, rank = int(self.ports[index]) >> TAG_SHIFT, int(self.ports[index]) & INDEX_MASK
        return (self.ranks[tag] if tag <= STAGE_ELEM else self.whole.prologue[tag - 2])[rank]

    def value(self, ref: int) -> int:
        if ref == ONE:
            return 1
        if ref >> TAG_SHIFT == ONE >> TAG_SHIFT:
            return self.whole.inputs[self.first_input + (ref & INDEX_MASK) - 1]
        return self.whole.aux[self.aux_index(ref)]

    def boolean(self, ref: int) -> int:
        value = self.value(ref & ~NOT_FLAG)
        assert value in (0, 1)
        return value ^ (ref >> 29 & 1)

    def new(self, value: int, is_bit: bool) -> None:
        index = len(self.whole.aux)
        self.whole.aux.append(value)
        for ranks in (self.local, self.ranks):
            ranks[0 if is_bit else 1].append(index)

    def row_sum(self, matrix, row, without=-1):
        return (
            sum(
                self.whole.coefficients[matrix.coeffs[e]] * self.value(int(matrix.cols[e]))
                for e in range(matrix.indptr[row], matrix.indptr[row + 1])
                if int(matrix.cols[e]) != without
            )
            % R
        )

    def solve(self, row, ref):
        """As `Op.SOLVE` says: only in C with ±1, or only in A with 1 where B is ONE."""
        t = self.t
        where = [(m, e) for m in (t.a, t.b, t.c) for e in range(m.indptr[row], m.indptr[row + 1]) if int(m.cols[e]) == ref]
        ((matrix, entry),) = where
        k = self.whole.coefficients[matrix.coeffs[entry]]
        if matrix is t.c:
            assert k in (1, R - 1)
            return k * (self.row_sum(t.a, row) * self.row_sum(t.b, row) - self.row_sum(t.c, row, ref)) % R
        assert matrix is t.a
        assert k == 1
        assert [int(c) for c in t.b.cols[t.b.indptr[row] : t.b.indptr[row + 1]]] == [ONE]
        return (self.row_sum(t.c, row) - self.row_sum(t.a, row, ref)) % R

    def run(self) -> None:
        t = self.t
        for i, op in enumerate(t.ops):
            self.operation(Op(op), [int(x) for x in t.args[t.arg_ptr[i] : t.arg_ptr[i + 1]]])
        positions = [i - len(self.whole.aux) + t.aux for i in self.local[0]]
        assert positions == np.flatnonzero(t.aux_is_bit).tolist()
        assert len(self.whole.inputs) == self.first_input + t.inputs

    def operation(self, op: Op, args: list[int]) -> None:
        if op in (Op.HINT_BIT, Op.HINT_ELEM):
            for _ in range(args[0]):
                self.new(next(self.whole.hints[op - Op.HINT_BIT]), op == Op.HINT_BIT)
        elif op == Op.XOR:
            assert not any(x & NOT_FLAG for x in args)
            self.new(self.value(args[0]) ^ self.value(args[1]), True)
        elif op == Op.SUM:
            width, low, high, n, *refs = args
            assert len(refs) == 32 * n
            total = low + (high << 32) + sum(self.boolean(ref) << (i % 32) for i, ref in enumerate(refs))
            assert total < 1 << width
            for i in range(width):
                self.new(total >> i & 1, True)
        elif op == Op.BITS:
            value = self.value(args[1])
            for i in range(args[0]):
                self.new(value >> i & 1, True)
        elif op == Op.SOLVE:
            ref = LOCAL_ELEM << TAG_SHIFT | len(self.local[1])
            self.new(self.solve(args[0], ref), False)
        elif op == Op.SOLVE_INPUT:
            ref = ONE + len(self.whole.inputs) - self.first_input + 1
            self.whole.inputs.append(self.solve(args[0], ref))
        else:
            x = [self.boolean(ref) for ref in args]
            result = {Op.AND: lambda: x[0] & x[1], Op.CH: lambda: x[1] if x[0] else x[2], Op.MAJ: lambda: int(sum(x) >= 2)}
            self.new(result[op](), True)
