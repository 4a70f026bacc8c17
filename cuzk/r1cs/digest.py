"""The digest of a whole constraint system, streamed: rows are expanded piece by piece and never stored.

BLAKE2s of the numbers of inputs, aux and rows (8 bytes each, big-endian) and of all rows as `kernels.expand_cpu` writes them.
Two systems with equal digests have the same variables, rows and coefficients in the same order.

Source  bellpepper-core src/util_cs/test_cs.rs, `TestConstraintSystem::hash`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cuzk import workers
from cuzk.circuits.template import I64, INDEX_MASK, INPUT, LOCAL_BIT, PORT, TAG_SHIFT, U8, Matrix, Shape, Stage, Template
from cuzk.kernels.expand_cpu import COUNT_BYTES, LETTERS, TERM_BYTES, expand_rows
from cuzk.r1cs.density import densities
from cuzk.r1cs.placement import Bools, local_positions, port_positions

BUFFER_BYTES = 32 << 20
CHECKPOINT_ROWS = 1 << 20  # as in the published digests; the smallest circuit has them closer
CHECKPOINT_ROWS_2KIB = 1 << 16
CHECKPOINT_HEX = 16

Csr = tuple[I64, Any, Any]
OnProgress = Callable[[int], None]


def blake2s() -> Any:
    """A BLAKE2s-256 state; OpenSSL's where there is one, since it is the faster."""
    try:
        return hashlib.new("blake2s256")
    except ValueError:
        return hashlib.blake2s()


@dataclass(frozen=True, slots=True)
class _Sorted:
    """A template for one relative order of its ports: terms in digest order, variables as slots.

    Slots: ONE, own inputs, ports, aux.
    """

    a: Csr
    b: Csr
    c: Csr
    bytes_before: I64  # (rows + 1,) digest bytes of the rows before


def _sorted_matrix(m: Matrix, slot_of: Callable[[Any], Any], port_order: I64, inputs: int) -> Csr:
    slots = slot_of(m.cols)
    key = slots.copy()
    is_port = (slots > inputs) & (slots <= inputs + len(port_order))
    key[is_port] = port_order[slots[is_port] - inputs - 1] + inputs + 1
    row = np.repeat(np.arange(len(m.indptr) - 1, dtype=np.int64), m.indptr[1:].astype(np.int64) - m.indptr[:-1])
    order = np.argsort((row << 32) | key, kind="stable")
    return m.indptr.astype(np.int64), slots[order].astype(np.int32), m.coeffs[order]


def _sorted(t: Template, local: tuple[Any, Any], port_order: I64) -> _Sorted:
    """`port_order[p]` is the rank of port p among the template's ports by global index."""
    first_port, first_aux = t.inputs + 1, t.inputs + 1 + t.num_ports

    def slot_of(cols: Any) -> I64:
        tag, index = cols >> np.uint32(TAG_SHIFT), (cols & np.uint32(INDEX_MASK)).astype(np.int64)
        slots = np.where(tag == PORT, index + first_port, index)
        for kind, offsets in enumerate(local, LOCAL_BIT):
            chosen = tag == kind
            slots[chosen] = offsets[index[chosen]].astype(np.int64) + first_aux
        assert np.all((tag != INPUT) | (index <= t.inputs))
        return slots

    a, b, c = (_sorted_matrix(m, slot_of, port_order, t.inputs) for m in (t.a, t.b, t.c))
    terms = a[0] + b[0] + c[0]
    return _Sorted(a, b, c, terms * TERM_BYTES + np.arange(t.rows + 1) * 3 * COUNT_BYTES)


@dataclass(slots=True)
class _Expander:
    """Walks over all segments of all stamps."""

    shape: Shape
    _variants: dict[tuple[int, bytes], _Sorted] = field(default_factory=dict)

    def segments(self) -> Iterator[tuple[Template, _Sorted, I64]]:
        """(template, its sorted form, global index of each slot) of every segment in order."""
        yield from self._stage(self.shape.prologue, 1, 0, 1)
        aux = self.shape.prologue.aux_total
        yield from self._stage(self.shape.repeated, self.shape.repeats, aux, 1 + self.shape.prologue.inputs)

    def _stage(self, stage: Stage, repeats: int, aux_base: int, input_base: int) -> Iterator[tuple[Template, _Sorted, I64]]:
        shape = self.shape
        local = local_positions(shape)
        port_aux, in_prologue = port_positions(shape, stage)
        for k in range(repeats):
            own = aux_base + k * stage.aux_total
            ports = port_aux.astype(np.int64) + np.where(in_prologue, 0, own)
            for s, number in enumerate(stage.template):
                t = shape.templates[number]
                mine = ports[stage.port_ptr[s] : stage.port_ptr[s + 1]]
                by_index = np.argsort(mine, kind="stable")
                key = int(number), by_index.tobytes()
                if key not in self._variants:
                    rank = np.empty_like(by_index)
                    rank[by_index] = np.arange(len(by_index))
                    self._variants[key] = _sorted(t, local[number], rank)
                first_input = input_base + k * stage.inputs + int(stage.input[s])
                inputs = np.arange(first_input, first_input + t.inputs)
                aux = own + int(stage.aux[s]) + np.arange(t.aux)
                yield t, self._variants[key], np.concatenate([[0], inputs, mine, aux])


def _pieces(shape: Shape, checkpoint_rows: int) -> Iterator[tuple[Template, _Sorted, I64, int, int, bool]]:
    """Row ranges of segments: no longer than a buffer, cut at checkpoints; the last value says that a checkpoint follows."""
    done = 0
    for t, form, index in _Expander(shape).segments():
        row = 0
        while row < t.rows:
            last = min(t.rows, row + checkpoint_rows - done % checkpoint_rows)
            limit = form.bytes_before[row] + BUFFER_BYTES
            last = min(last, int(np.searchsorted(form.bytes_before, limit, side="right")) - 1)
            assert last > row, "one row is longer than the buffer"
            done += last - row
            yield t, form, index, row, last, done % checkpoint_rows == 0
            row = last


class _Stream:
    """Two buffers: while one is filled, the other is hashed."""

    def __init__(self, shape: Shape, checkpoint_rows: int) -> None:
        self.coefficients_be = _big_endian(shape)
        self.pieces = _pieces(shape, checkpoint_rows)
        self.held = next(self.pieces, None)
        self.state = blake2s()
        self.checkpoints: list[str] = []

    def fill(self, buffer: U8) -> tuple[int, list[int], int]:
        """Fill a buffer with whole pieces; (bytes, positions of checkpoints, rows)."""
        at, marks, rows = 0, [], 0
        while self.held is not None:
            t, form, index, first, last, mark = self.held
            if at + form.bytes_before[last] - form.bytes_before[first] > len(buffer):
                break
            first_aux = 1 + t.inputs  # ports are aux too
            matrices = form.a, form.b, form.c
            at = expand_rows(buffer, at, first, last, *matrices, index, first_aux, self.coefficients_be, LETTERS)
            rows += last - first
            if mark:
                marks.append(at)
            self.held = next(self.pieces, None)
        return at, marks, rows

    def absorb(self, buffer: U8, length: int, marks: list[int]) -> None:
        """Hash a filled buffer."""
        start = 0
        for mark in marks:
            self.state.update(buffer[start:mark])
            self.checkpoints.append(self.state.copy().hexdigest()[:CHECKPOINT_HEX])
            start = mark
        self.state.update(buffer[start:length])

    def run(self, on_rows: OnProgress | None) -> None:
        """To the end."""
        buffers = np.empty((2, BUFFER_BYTES), np.uint8)
        filled = self.fill(buffers[0])
        turn = 0
        while filled[0]:
            tasks = [(self.absorb, buffers[turn], filled[0], filled[1]), (self.fill, buffers[1 - turn])]
            _, following = workers.run_all(lambda task, *arguments: task(*arguments), tasks, threads=2)
            if on_rows:
                on_rows(filled[2])
            filled, turn = following, 1 - turn


def _big_endian(shape: Shape) -> U8:
    return np.ascontiguousarray(shape.coefficients.astype("<u8").view(np.uint8)[:, ::-1])


def _bits_digest(bits: Bools) -> str:
    return hashlib.blake2s(np.packbits(bits, bitorder="little").tobytes()).hexdigest()


def counts(shape: Shape) -> dict[str, Any]:
    """Numbers of variables, rows and terms: what needs no expansion."""
    per_template = np.array([[len(m.cols) for m in (t.a, t.b, t.c)] for t in shape.templates], np.int64).reshape(-1, 3)
    nnz = per_template[shape.prologue.template].sum(axis=0) + shape.repeats * per_template[shape.repeated.template].sum(axis=0)
    return {
        "circuit": f"porep {shape.facts['sector_size']}" if "sector_size" in shape.facts else shape.name,
        "inputs": shape.num_inputs,
        "aux": shape.num_aux,
        "constraints": shape.num_rows,
        "nnz": [int(n) for n in nnz],
    }


def digest(shape: Shape, progress: OnProgress | None = None, checkpoint_rows: int | None = None) -> dict[str, Any]:
    """Counts, digest, density digests and checkpoints of a constraint system.

    `checkpoints[k]` is the running digest after (k + 1)·`checkpoint_rows` rows, first 16 hex digits. `progress` is called with
    numbers of rows.

    Cost    about 45 bytes a term through BLAKE2s: 33 GB at 32 GiB; below 1 GiB of memory
    Spec    the slow twin in the tests expands rows one by one
    """
    result = counts(shape)
    if checkpoint_rows is None:
        checkpoint_rows = CHECKPOINT_ROWS_2KIB if shape.facts.get("sector_size") == 2048 else CHECKPOINT_ROWS
    stream = _Stream(shape, checkpoint_rows)
    header = (result["inputs"], result["aux"], result["constraints"])
    stream.state.update(b"".join(n.to_bytes(8, "big") for n in header))
    stream.run(progress)
    result["digest"] = stream.state.hexdigest()
    found = densities(shape)
    for name, bits in (("a_aux", found.a_aux), ("b_aux", found.b_aux), ("b_input", found.b_inputs)):
        result[f"{name}_density"] = int(np.count_nonzero(bits))
        result[f"{name}_density_digest"] = _bits_digest(bits)
    result |= {"checkpoint_rows": checkpoint_rows, "checkpoints": stream.checkpoints}
    return result
