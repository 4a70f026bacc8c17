"""A constraint system at a witness: A·z, B·z, C·z and the first false row. Picks the kernel; segments run side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from cuzk import config, workers
from cuzk.circuits.template import Shape, Stage, Witness
from cuzk.errors import InternalError
from cuzk.field.limbs import FR_LIMBS, U64
from cuzk.kernels import rows_cpu
from cuzk.kernels.flat import I64, ROW, Evaluations, Placed, Values
from cuzk.r1cs.columns import bit_aux, columns_at, elem_aux
from cuzk.r1cs.density import densities
from cuzk.r1cs.expansion import digests, expand_aux
from cuzk.r1cs.packing import Packed, pack, stamp_base

__all__ = [
    "FalseRow",
    "bit_aux",
    "columns_at",
    "densities",
    "digests",
    "elem_aux",
    "evaluate",
    "evaluate_blocks",
    "expand_aux",
    "first_false_row",
    "locate_row",
]

# Rows that one task evaluates: enough to hide the call, few enough to spread over threads.
TASK_ROWS = 1 << 17

Progress = Callable[[int], object]


class FalseRow(NamedTuple):
    """A row that does not hold: its number, the path of its segment, its number in the segment."""

    row: int
    segment: str
    row_in_segment: int

    def __str__(self) -> str:
        return f"row {self.row}" + (f": {self.segment}, its row {self.row_in_segment}" if self.segment else "")


class _Task(NamedTuple):
    placed: Placed
    base: I64
    segments: I64  # [first, end)
    first_row: int
    rows: int


def values_of(shape: Shape, witness: Witness) -> Values:
    """A witness as kernels take it: contiguous and writable, so that no second version of a kernel is compiled.

    Raises  InternalError if it is of another shape.
    """
    got = len(witness.inputs_mont), len(witness.bits), len(witness.elems_mont)
    wanted = shape.num_inputs, shape.num_bits, shape.num_elems
    if got != wanted:
        raise InternalError("a witness of another shape", where="inputs, bits, elements", expected=wanted, got=got)
    return Values(
        np.require(witness.inputs_mont, np.uint64, ["C", "W"]),
        np.require(witness.bits, np.uint8, ["C", "W"]),
        np.require(witness.elems_mont, np.uint64, ["C", "W"]),
    )


def evaluate(
    shape: Shape,
    witness: Witness,
    out: tuple[U64, U64, U64] | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
) -> tuple[U64, U64, U64]:
    """A·z, B·z, C·z on all Groth16 rows: the circuit's, then (input_i, 0, 0) for every input.

    Shape   uint64[shape.groth16_rows, 4] each; arrays given as `out` may be longer, their rest is left alone.
    Domain  Montgomery.
    Cost    96 bytes written a row and little else, except in rows with elements. `progress` gets the rows of each finished task.
    Raises  InternalError if the witness is of another shape.
    """
    values, packed = values_of(shape, witness), pack(shape)
    evaluations = Evaluations(*(out or (np.empty((shape.groth16_rows, FR_LIMBS), np.uint64) for _ in range(3))))
    tasks = _tasks(shape, packed, TASK_ROWS)
    calls = [(packed, values, task, evaluations, 0) for task in tasks]
    for task, _ in zip(tasks, workers.run(_evaluate, calls, threads), strict=True):
        if progress:
            progress(task.rows)
    input_rows(shape, values, evaluations)
    return evaluations.a, evaluations.b, evaluations.c


def input_rows(shape: Shape, values: Values, out: Evaluations) -> None:
    """Groth16's final rows (input_i, 0, 0) behind the circuit's."""
    rows, total = shape.num_rows, shape.groth16_rows
    out.a[rows:total] = values.inputs_mont
    out.b[rows:total] = 0
    out.c[rows:total] = 0


def evaluate_stamp(shape: Shape, packed: Packed, stamp: int | None, values: Values, out: Evaluations) -> None:
    """The rows of one stamp (None: the prologue) on this thread, at their places in `out`."""
    placed = packed.prologue if stamp is None else packed.repeated
    segments = np.array([0, len(placed.variant)])
    rows_cpu.evaluate_segments(out, packed.tables, placed, stamp_base(shape, stamp), values, packed.scratch(), segments)


def stamp_rows(shape: Shape, stamp: int | None) -> tuple[int, int]:
    """First row of a stamp (None: the prologue) and the row behind its last."""
    first = int(stamp_base(shape, stamp)[ROW])
    return first, first + (shape.prologue if stamp is None else shape.repeated).rows


def evaluate_blocks(
    shape: Shape, witness: Witness, rows_per_block: int = TASK_ROWS, threads: int | None = None
) -> Iterator[tuple[int, U64, U64, U64]]:
    """The same circuit rows, without the final input rows, block by block in order: first row, a, b, c.

    A block is a run of whole segments, of at most `rows_per_block` rows unless one segment is longer. At most two blocks a
    thread are held.
    """
    values, packed = values_of(shape, witness), pack(shape)
    tasks = _tasks(shape, packed, rows_per_block)
    at_once = 2 * (threads or config.thread_count())
    for i in range(0, len(tasks), at_once):
        calls = [(packed, values, task, None, task.first_row) for task in tasks[i : i + at_once]]
        for task, (a, b, c) in zip(tasks[i : i + at_once], workers.run(_evaluate, calls, threads), strict=True):
            yield task.first_row, a, b, c


def _evaluate(packed: Packed, values: Values, task: _Task, out: Evaluations | None, first_row: int) -> Evaluations:
    """Rows of one task into `out`, whose row 0 is row `first_row`."""
    if out is None:
        out = Evaluations(*(np.empty((task.rows, FR_LIMBS), np.uint64) for _ in range(3)))
    base = task.base.copy()
    base[ROW] -= first_row
    rows_cpu.evaluate_segments(out, packed.tables, task.placed, base, values, packed.scratch(), task.segments)
    return out


def _tasks(shape: Shape, packed: Packed, task_rows: int) -> list[_Task]:
    """Runs of segments of about `task_rows` rows, in row order."""
    tasks = []
    pieces = {id(s): _cut(s, task_rows) for s in (shape.prologue, shape.repeated)}
    stamps = [(shape.prologue, packed.prologue, None), *((shape.repeated, packed.repeated, k) for k in range(shape.repeats))]
    for stage, placed, stamp in stamps:
        base = stamp_base(shape, stamp)
        rows = np.append(placed.row, stage.rows)
        for first, end in pieces[id(stage)]:
            first_row = int(base[ROW] + rows[first])
            tasks.append(_Task(placed, base, np.array([first, end]), first_row, int(rows[end] - rows[first])))
    return tasks


def _cut(stage: Stage, task_rows: int) -> list[tuple[int, int]]:
    """Runs [first, end) of segments with at most `task_rows` rows, or of one segment."""
    ends = np.append(stage.row, stage.rows).astype(np.int64)[1:]
    runs, first = [], 0
    while first < len(ends):
        end = int(np.searchsorted(ends, int(stage.row[first]) + task_rows, side="right"))
        runs.append((first, max(end, first + 1)))
        first = runs[-1][1]
    return runs


def first_false_row(shape: Shape, a: U64, b: U64, c: U64, threads: int | None = None) -> FalseRow | None:
    """The first row where a · b ≠ c, with the path of its segment; None if all hold.

    Shape   uint64[n, 4] each, n at least the circuit's rows. Domain Montgomery.
    """
    pieces = workers.ranges(shape.num_rows, max(1, shape.num_rows // TASK_ROWS))
    calls = [(a[i:j], b[i:j], c[i:j]) for i, j in pieces]
    for (first, _), found in zip(pieces, workers.run(rows_cpu.first_false, calls, threads), strict=True):
        if found >= 0:
            return locate_row(shape, first + int(found))
    return None


def locate_row(shape: Shape, row: int) -> FalseRow:
    """The segment that a circuit row lies in; in the repeated stage the stamp, counted from 0, stands in front of its path."""
    stage, within, prefix = shape.prologue, row, ""
    if row >= shape.prologue.rows:
        stamp, within = divmod(row - shape.prologue.rows, shape.repeated.rows)
        stage = shape.repeated
        prefix = f"{'challenge' if shape.facts.get('kind') == 'porep' else 'stamp'}_{stamp}/"
    segment = int(np.searchsorted(stage.row, within, side="right")) - 1
    return FalseRow(row, prefix + stage.names[segment], within - int(stage.row[segment]))
