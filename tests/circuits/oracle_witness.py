"""The Rust stack's witness of one 2 KiB partition, and hints read from it at the places where a shape takes them."""

from __future__ import annotations

import json

import numpy as np

from cuzk.circuits.template import Op, Shape, Stage
from cuzk.circuits.witness import Hints
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "vectors" / "witness"


def aux_values() -> tuple[np.ndarray, np.ndarray]:
    """All aux values as canonical uint64[n, 4], and which of them are 0 or 1."""
    with np.load(FOLDER / "aux.npz") as data:
        n = int(data["n"])
        small = np.unpackbits(data["is_bit"], count=n, bitorder="little")
        values = np.zeros((n, 4), np.uint64)
        values[:, 0] = np.unpackbits(data["bit"], count=n, bitorder="little")
        values[small == 0] = np.ascontiguousarray(data["elements"]).view("<u8")
    return values, small


def facts(case: str = "2kib-v1_1") -> list[dict]:
    """The digests of each partition of a case."""
    return json.loads((FOLDER / f"{case}.json").read_text())["partitions"]


def hint_places(shape: Shape, stage: Stage) -> tuple[np.ndarray, np.ndarray]:
    """Aux index within the stage of each bit hint and of each element hint."""
    places: tuple[list, list] = ([], [])
    cache: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for number, first in zip(stage.template.tolist(), stage.aux.tolist(), strict=True):
        if number not in cache:
            t = shape.templates[number]
            found: tuple[list[int], list[int]] = ([], [])
            next_bit = next_elem = 0
            for op, at in zip(t.ops.tolist(), t.arg_ptr.tolist(), strict=False):
                n = int(t.args[at]) if op in (Op.HINT_BIT, Op.HINT_ELEM, Op.SUM, Op.BITS) else 1
                if op == Op.HINT_BIT:
                    found[0].extend(range(next_bit, next_bit + n))
                if op == Op.HINT_ELEM:
                    found[1].extend(range(next_elem, next_elem + n))
                if op in (Op.HINT_ELEM, Op.SOLVE):
                    next_elem += n
                elif op != Op.SOLVE_INPUT:
                    next_bit += n
            cache[number] = tuple(np.flatnonzero(t.aux_is_bit == k)[np.array(f, int)] for k, f in ((1, found[0]), (0, found[1])))
        for all_places, own in zip(places, cache[number], strict=True):
            all_places.append(own + first)
    bits, elems = (np.concatenate(p) for p in places)
    return bits, elems


def hints(shape: Shape) -> tuple[Hints, Hints]:
    """Hints of the prologue and of the repeated stage, taken out of the values."""
    values, _ = aux_values()
    bits, elems = hint_places(shape, shape.prologue)
    prologue = Hints(values[bits, 0].astype(np.uint8), values[elems])
    bits, elems = hint_places(shape, shape.repeated)
    firsts = shape.prologue.aux_total + shape.repeated.aux_total * np.arange(shape.repeats)[:, None]
    return prologue, Hints(values[bits + firsts, 0].astype(np.uint8), values[elems + firsts])
