"""Circuit synthesis of one partition on a card: hints go there, witness and A·z, B·z, C·z are made where proofs take them.

The levelled form of the shape (`r1cs.levelling`) is put on the card once. A partition is then a handful of launches: phase after
phase of the prologue's chains and of the stamps' chains, then the rows.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cuzk.circuits import witness as witnesses
from cuzk.circuits.template import COEFF_ONE, U8, Shape
from cuzk.circuits.witness import Hints
from cuzk.field import fr_cuda
from cuzk.field.limbs import FR_LIMBS
from cuzk.kernels import levels as form
from cuzk.kernels import program_cuda, rows_cuda
from cuzk.kernels.launch import launch
from cuzk.kernels.levels import U32, Stages
from cuzk.r1cs.levelling import Levelled
from cuzk.r1cs.packing import stamp_base

_ALIGNMENT = 256


class Target(Protocol):
    """Where a partition's synthesis goes: buffers of a card.

    `bits` packed, 32 a word, least significant first; `values` inputs then elements; `rows` A·z, B·z, C·z of the whole domain.
    """

    bits: Any
    values: Any
    rows: list[Any]


def packed_bits(bits: U8) -> U32:
    """One bit a byte to 32 bits a word, least significant first."""
    words = np.packbits(bits, bitorder="little")
    out = np.zeros(-(-len(words) // 4) * 4, np.uint8)
    out[: len(words)] = words
    return out.view(np.uint32)


def hint_bytes(shape: Shape) -> tuple[int, int]:
    """Bytes of the hints of a partition on a card: packed bits, elements."""
    bits = shape.prologue.hint_bits + shape.repeats * shape.repeated.hint_bits
    elems = shape.prologue.hint_elems + shape.repeats * shape.repeated.hint_elems
    return 4 * -(-bits // 32), fr_cuda.BYTES * elems


class _Table:
    """Arrays joined to one, each from a multiple of the alignment on."""

    def __init__(self) -> None:
        self._parts: list[npt.NDArray[np.uint8]] = []
        self.size = 0

    def add(self, array: npt.NDArray[Any]) -> int:
        """The offset of an array."""
        raw, offset = np.ascontiguousarray(array).reshape(-1).view(np.uint8), self.size
        self._parts += [raw, np.zeros(-len(raw) % _ALIGNMENT, np.uint8)]
        self.size += len(raw) + len(self._parts[-1])
        return offset

    def joined(self) -> U8:
        """All of them."""
        return np.concatenate(self._parts)


class Tables:
    """The levelled form of a shape as one array, and where its parts stand."""

    def __init__(self, shape: Shape, levelled: Levelled) -> None:
        self.shape = shape
        table = _Table()
        self.at = {f"item {k}": table.add(v) for k, v in levelled.items._asdict().items()}
        self.at |= {f"row {k}": table.add(v) for k, v in levelled.rows._asdict().items()}
        self.stages = {"prologue": levelled.prologue, "repeated": levelled.repeated}
        for name, stage in self.stages.items():
            self.at |= {f"{name} {k}": table.add(v) for k, v in stage._asdict().items() if k != "phases"}
        self.at["prologue stamps"] = table.add(_stamps(shape, [None]))
        self.at["repeated stamps"] = table.add(_stamps(shape, list(range(shape.repeats))))
        self.array = table.joined()

    @property
    def nbytes(self) -> int:
        """Bytes that they, and the hints of a partition, take on a card."""
        bits, elems = hint_bytes(self.shape)
        return self.array.nbytes + max(1, bits) + max(1, elems)


def _stamps(shape: Shape, numbers: list[int | None]) -> U32:
    """Where stamps start, in the witness, the rows and the hints."""
    out = np.zeros((len(numbers), form.STAMP_WORDS), np.uint32)
    for k, number in enumerate(numbers):
        row, _, bit, elem, first_input = stamp_base(shape, number).tolist()
        hints = (0, 0)
        if number is not None:
            first, each = shape.prologue, shape.repeated
            hints = first.hint_bits + number * each.hint_bits, first.hint_elems + number * each.hint_elems
        out[k, : form.AT_HINT_ELEM + 1] = row, bit, elem, first_input, *hints
    return out


class Synthesizer:
    """Synthesis of the partitions of one shape on one card; one partition at a time."""

    def __init__(self, card: Any, tables: Tables) -> None:
        self.card, self.tables, self.shape = card, tables, tables.shape
        self._held: list[Any] = []
        self._copied: list[npt.NDArray[Any]] = []  # hints of the last partition: their copy to the card may outlast the call
        try:
            self._held.append(card.upload(tables.array))
            for size in hint_bytes(self.shape):
                self._held.append(card.buffer(max(1, size)))
        except BaseException:
            self.free()
            raise
        self._table, self._hint_bits, self._hint_elems = self._held

    def free(self) -> None:
        """Give the memory back."""
        while self._held:
            self._held.pop().free()

    def _address(self, name: str) -> int:
        return int(self._table.address) + self.tables.at[name]

    def witness(self, prologue: Hints, repeated: Hints, to: Target, stream: Any) -> None:
        """The witness of a partition; queued when this returns. The one before is done by then.

        Domain  Montgomery
        Raises  InternalError as `witness.fill`
        """
        shape, one = self.shape, fr_cuda.BYTES
        streams = witnesses.checked(shape, prologue, repeated)
        self._copied = [
            packed_bits(np.concatenate([bits.reshape(-1) for bits, _ in streams])),
            np.concatenate([elems.reshape(-1, FR_LIMBS) for _, elems in streams]),
        ]
        for buffer, hints in zip((self._hint_bits, self._hint_elems), self._copied, strict=True):
            buffer.write(hints, 0, stream)
        to.bits.fill(0, stream=stream)
        to.values.copy_from(self._table, one, start=self.tables.at["item coeffs_mont"] + one * COEFF_ONE, stream=stream)
        for name, stamps in (("prologue", 1), ("repeated", shape.repeats)):
            self._run(name, stamps, to, stream)

    def rows(self, to: Target, stream: Any) -> None:
        """A·z, B·z, C·z of a witness that is there, on all Groth16 rows, zero behind; queued when this returns."""
        shape, one = self.shape, fr_cuda.BYTES
        for name, stamps in (("prologue", 1), ("repeated", shape.repeats)):
            self._evaluate(name, stamps, to, stream)
        a, b, c = to.rows
        a.copy_from(to.values, one * shape.num_inputs, offset=one * shape.num_rows, stream=stream)
        a.fill(0, offset=one * shape.groth16_rows, stream=stream)
        for rest in (b, c):
            rest.fill(0, offset=one * shape.num_rows, stream=stream)

    def _run(self, name: str, stamps: int, to: Target, stream: Any) -> None:
        """The programs of a stage, phase after phase."""
        stage: Stages = self.tables.stages[name]
        of_stage = ("chain_ptr", "chains", "segments", "ports", "stamps")
        of_items = ("variants", "levels", "logic", "sums", "columns", "further", "copies", "products", "terms", "solves")
        tables = [self._address(f"{name} {k}") for k in of_stage] + [self._address(f"item {k}") for k in of_items]
        hints = self._address("item coeffs_mont"), self._hint_bits.address, self._hint_elems.address
        witness = to.bits.address, to.values.address, self.shape.num_inputs
        first = 0
        for chains in stage.phases:
            launch(self.card, program_cuda.run_chains, (chains, stamps), stream, first, *tables, *hints, *witness)
            first += chains

    def _evaluate(self, name: str, stamps: int, to: Target, stream: Any) -> None:
        """The rows of a stage."""
        stage: Stages = self.tables.stages[name]
        place = [self._address(f"{name} {k}") for k in ("segments", "ports", "stamps")] + [self._address("item variants")]
        witness = to.bits.address, to.values.address, self.shape.num_inputs, *(x.address for x in to.rows)
        tables = [self._address(f"row {k}") for k in ("pattern_rows", "patterns", "values_mont")]
        chosen = self._address(f"{name} pattern_segments")
        blocks = len(stage.pattern_segments), stamps
        launch(self.card, rows_cuda.pattern_rows, blocks, stream, chosen, *place, *tables, *witness)
        names = ("general_rows", "forms", "bit_ptr", "elem_ptr", "const", "bit_terms", "elem_terms")
        tables = [*(self._address(f"row {k}") for k in names), self._address("item coeffs_mont")]
        chosen = self._address(f"{name} general_segments")
        blocks = len(stage.general_segments), stamps
        launch(self.card, rows_cuda.general_rows, blocks, stream, chosen, *place, *tables, *witness)
