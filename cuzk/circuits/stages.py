"""Stages from recorded gadgets: templates are recorded once and placed as segments.

A stamped gadget is recorded once for each signature of its inputs (which are constants, which are negated, which
are the same variable) and placed wherever the signature comes again. Rows between stamps, cut at namespaces, become
templates of their own; equal ones are kept once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from cuzk.circuits.system import OUTER, OUTER_INPUT, Coefficients, Gadget, Recorder
from cuzk.circuits.template import (
    INDEX_MASK,
    INPUT,
    LOCAL_BIT,
    LOCAL_ELEM,
    NOT_FLAG,
    ONE,
    PORT,
    STAGE_BIT,
    STAGE_ELEM,
    TAG_SHIFT,
    Matrix,
    Shape,
    Stage,
    Template,
)
from cuzk.field.limbs import FR_LIMBS, to_limbs

PROLOGUE = 2 << TAG_SHIFT  # turns STAGE_BIT / STAGE_ELEM into PROLOGUE_BIT / PROLOGUE_ELEM


class StageRecorder(Recorder):
    """Records a stage: stamps are placed as segments, and so is what stands between them."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._names: list[str] = []
        self._segments: list[tuple[int, ...]] = []
        self._segment_names: list[str] = []
        self._ports: list[int] = []
        self._port_ptr = [0]
        # Totals before the open segment: rows, aux, bits, elems, inputs, hint bits, hint elems.
        self._total = [0] * 7
        super().__init__(library.coefficients)

    def _reset(self) -> None:
        super()._reset()
        _, _, bits, elems, inputs, _, _ = self._total
        self._bit_base = OUTER + (STAGE_BIT << TAG_SHIFT) + bits
        self._elem_base = OUTER + (STAGE_ELEM << TAG_SHIFT) + elems
        self._input_base = OUTER_INPUT + inputs

    @contextmanager
    def namespace(self, name: str) -> Iterator[None]:
        """As `Recorder.namespace`; loose rows are cut here."""
        self._cut()
        self._names.append(name)
        yield
        self._cut()
        self._names.pop()

    def stamp(self, key: tuple[object, ...], gadget: Gadget, inputs: Sequence[int]) -> list[int]:
        """As `Recorder.stamp`."""
        self._cut()
        ports: dict[int, int] = {}
        signature = []
        for handle in inputs:
            negated = handle & NOT_FLAG
            if (variable := handle ^ negated) == ONE:
                signature.append(handle)
            else:
                signature.append((PORT << TAG_SHIFT) + ports.setdefault(variable, len(ports)) + negated)
        number, outputs, sizes = self._library.stamped(key, gadget, signature, len(ports))
        outer = list(ports)
        bit_base, elem_base = self._bit_base, self._elem_base
        mapped = []
        for handle in outputs:
            negated = handle & NOT_FLAG
            tag, index = (handle ^ negated) >> TAG_SHIFT, handle & INDEX_MASK
            if tag == PORT:
                mapped.append(outer[index] ^ negated)
            elif tag == INPUT:
                mapped.append(handle)
            else:
                mapped.append((bit_base if tag == LOCAL_BIT else elem_base) + index + negated)
        self._place(number, outer, sizes)
        return mapped

    def _cut(self) -> None:
        """End the run of loose rows and make it a segment."""
        if not self._ops and not self.rows and not self.num_inputs:
            return
        ports: dict[int, int] = {}
        known = {ONE: ONE}

        def ref(handle: int) -> int:
            found = known.get(handle)
            if found is None:
                found = known[handle] = self._loose_ref(handle, ports)
            return found

        number = self._library.loose(self._names[-1] if self._names else "loose", self, ref, ports)
        self._place(number, list(ports), self.sizes())

    def _loose_ref(self, handle: int, ports: dict[int, int]) -> int:
        if handle >= OUTER_INPUT:
            assert handle >= self._input_base, "an input is used outside the segment that allocates it"
            return (INPUT << TAG_SHIFT) + handle - self._input_base + 1
        if 0 <= handle - self._bit_base < self.num_bits:
            return (LOCAL_BIT << TAG_SHIFT) + handle - self._bit_base
        if 0 <= handle - self._elem_base < self.num_elems:
            return (LOCAL_ELEM << TAG_SHIFT) + handle - self._elem_base
        return (PORT << TAG_SHIFT) + ports.setdefault(handle, len(ports))

    def _place(self, number: int, ports: list[int], sizes: tuple[int, ...]) -> None:
        self._segments.append((number, *self._total))
        self._segment_names.append("/".join(self._names))
        self._ports += [handle - OUTER for handle in ports]
        self._port_ptr.append(len(self._ports))
        self._total = [x + y for x, y in zip(self._total, sizes, strict=True)]
        self._reset()

    def stage(self) -> Stage:
        """What was recorded, as a stage."""
        self._cut()
        columns = np.array(self._segments, np.uint32).reshape(-1, 8).T
        template, row, aux, bit, elem, inputs, hint_bit, hint_elem = (np.ascontiguousarray(x) for x in columns)
        rows, aux_total, bits, elems, inputs_total, hint_bits, hint_elems = self._total
        return Stage(
            template=template,
            row=row,
            aux=aux,
            bit=bit,
            elem=elem,
            input=inputs,
            hint_bit=hint_bit,
            hint_elem=hint_elem,
            port_ptr=np.array(self._port_ptr, np.uint32),
            ports=np.array(self._ports, np.uint32),
            names=tuple(self._segment_names),
            rows=rows,
            aux_total=aux_total,
            bits=bits,
            elems=elems,
            inputs=inputs_total,
            hint_bits=hint_bits,
            hint_elems=hint_elems,
        )


class Library:
    """The templates and coefficients that the stages of one shape share."""

    def __init__(self) -> None:
        self.coefficients = Coefficients()
        self.templates: list[Template] = []
        self._stamped: dict[object, tuple[int, list[int], tuple[int, ...]]] = {}
        self._loose: dict[object, int] = {}
        self._arrays: dict[tuple[str, bytes], np.ndarray] = {}

    def stamped(
        self, key: tuple[object, ...], gadget: Gadget, signature: list[int], num_ports: int
    ) -> tuple[int, list[int], tuple[int, ...]]:
        """Number, outputs and sizes of the template of a gadget for a signature, recorded at its first use."""
        full_key = key, tuple(signature)
        found = self._stamped.get(full_key)
        if found is None:
            recorder = Recorder(self.coefficients)
            outputs = gadget(recorder, signature)
            number = self._add(recorder.template(str(key[0]), num_ports))
            found = self._stamped[full_key] = number, outputs, recorder.sizes()
        return found

    def loose(self, name: str, recorder: Recorder, ref: Callable[[int], int], ports: dict[int, int]) -> int:
        """Number of the template of loose rows; equal rows over ports of equal kinds give the same."""
        t = recorder.template(name, 0, ref)
        t = dataclasses.replace(t, num_ports=len(ports))
        kinds = tuple((handle >> TAG_SHIFT) & 1 for handle in ports)
        arrays = [x for m in (t.a, t.b, t.c) for x in (m.indptr, m.cols, m.coeffs)]
        key = (kinds, t.inputs, *(x.tobytes() for x in (*arrays, t.aux_is_bit, t.ops, t.arg_ptr, t.args)))
        if key not in self._loose:
            self._loose[key] = self._add(t)
        return self._loose[key]

    def _add(self, t: Template) -> int:
        """Keep a template; arrays with equal content are shared (the first label blocks differ in two coefficients)."""
        a, b, c = (Matrix(*(self._shared(x) for x in (m.indptr, m.cols, m.coeffs))) for m in (t.a, t.b, t.c))
        aux_is_bit, ops, arg_ptr, args = (self._shared(x) for x in (t.aux_is_bit, t.ops, t.arg_ptr, t.args))
        self.templates.append(dataclasses.replace(t, a=a, b=b, c=c, aux_is_bit=aux_is_bit, ops=ops, arg_ptr=arg_ptr, args=args))
        return len(self.templates) - 1

    def _shared(self, array: np.ndarray) -> np.ndarray:
        return self._arrays.setdefault((array.dtype.str, array.tobytes()), array)

    def stage(self) -> StageRecorder:
        """A recorder for a stage."""
        return StageRecorder(self)

    def shape(
        self,
        name: str,
        prologue: StageRecorder,
        repeated: StageRecorder | None = None,
        repeats: int = 0,
        facts: dict[str, int | str] | None = None,
    ) -> Shape:
        """The whole constraint system."""
        stages = prologue.stage(), (repeated or self.stage()).stage()
        coefficients = to_limbs(self.coefficients.values, FR_LIMBS)
        return Shape(name, tuple(self.templates), coefficients, *stages, repeats, facts or {})


def from_prologue(handles: Sequence[int]) -> list[int]:
    """Handles or Booleans of the prologue, as the repeated stage sees them."""
    return [handle if handle & ~NOT_FLAG == ONE else handle | PROLOGUE for handle in handles]
