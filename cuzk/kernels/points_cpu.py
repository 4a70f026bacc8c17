"""Points between containers (64-bit limbs), big-endian files and the rows of this path's lanes."""

from __future__ import annotations

import functools
from typing import Any

from cuzk.field import lanes
from cuzk.field.coordinates import DEGREES
from cuzk.field.emit import I64, Emitter, function_in
from cuzk.field.lanes import LANES
from cuzk.field.limbs import FP_LIMBS
from cuzk.field.params import P
from cuzk.jit import kernel
from cuzk.kernels.tree_cpu import row_words

RADIX = lanes.radix("fp")


def _order(curve: str, big_endian: bool) -> list[int]:
    """Where coordinate k of a row (x.c0, x.c1, y.c0, y.c1) stands in the other form: files put c1 first."""
    degree = DEGREES[curve]
    return [k ^ (degree - 1) if big_endian else k for k in range(2 * degree)]


def _swap(e: Emitter, words: list[Any]) -> list[Any]:
    """Words of a big-endian number to little-endian ones, or back."""
    suffix = f"v{e.LANES}i64" if e.LANES > 1 else "i64"
    swap = function_in(e.b.module, f"llvm.bswap.{suffix}", e.vector, [e.vector])
    return [e.b.call(swap, [w]) for w in reversed(words)]


def _addresses(e: Emitter, pointer: Any, words: int) -> list[Any]:
    base = e.b.ptrtoint(pointer, I64)
    return [e.b.add(base, I64(8 * words * k)) for k in range(e.LANES)]


def _vector_at(e: Emitter, address: Any, word: int) -> Any:
    return e.b.inttoptr(e.b.add(address, I64(8 * word)), e.vector.as_pointer())


def _load_words(e: Emitter, addresses: list[Any], first: int, words: int) -> list[Any]:
    """Words first.. of a coordinate, one vector each; each of the LANES points has `words` words."""
    if e.LANES == 1:
        return e.load(_vector_at(e, addresses[0], first))
    start = min(first, words - e.LANES)
    loaded = [e.b.load(_vector_at(e, a, start), align=8) for a in addresses]
    return e.transpose(loaded)[first - start :][:FP_LIMBS]


def _store_words(e: Emitter, addresses: list[Any], words: list[Any]) -> None:
    """All words of LANES points, one vector each. The last vectors overlap where LANES does not divide their number."""
    for first in range(0, len(words), e.LANES):
        start = min(first, len(words) - e.LANES)
        for a, v in zip(addresses, e.transpose(words[start : start + e.LANES]), strict=True):
            e.b.store(v, _vector_at(e, a, start), align=8)


@functools.cache
def to_rows(curve: str, big_endian: bool) -> Any:
    """The kernel `to_rows(rows, words, infinite) -> how many` of a curve and form.

    Meaning  rows[k] = point k. Big-endian: canonical coordinates in file order, the three flag bits ignored; else containers.
    Shape    rows uint64[n, row_words]; words uint64[n, 12 or 24] (a file's bytes as they are); n a multiple of LANES
    Returns  the number of points at infinity; their places are written to infinite uint32[n]
    """
    order, degree = _order(curve, big_endian), DEGREES[curve]
    factor = (RADIX * RADIX if big_endian else RADIX * RADIX * pow(1 << (64 * FP_LIMBS), -1, P)) % P
    width, words = row_words(curve), 2 * degree * FP_LIMBS

    def body(e: Emitter, a: list[Any]) -> None:
        source, target = _addresses(e, a[1], words), _addresses(e, a[0], width)
        for k, place in enumerate(order):
            v = _load_words(e, source, FP_LIMBS * place, words)
            if big_endian:
                v = _swap(e, v)
                v[-1] = e.b.and_(v[-1], e.splat((1 << (P.bit_length() - 64 * (FP_LIMBS - 1))) - 1))
            e.store_rows(target, k * e.limbs, e.mul(e.from_words(v), e.const(factor)))

    form = "be" if big_endian else "mont"
    convert = lanes.operation(f"to_rows_{form}_{curve}", "fp", 2, body)

    @kernel(variant=f"{curve}-{form}")
    def to_rows_kernel(rows, words_in, infinite):
        found = 0
        for k in range(0, rows.shape[0], LANES):
            convert(rows, k * width, words_in, k * words)
        for k in range(rows.shape[0]):
            zero = True
            for j in range(width - 1, width // 2 - 1, -1):
                if rows[k, j]:
                    zero = False
                    break
            if zero:
                infinite[found] = k
                found += 1
        return found

    return to_rows_kernel


@functools.cache
def from_rows(curve: str, big_endian: bool) -> Any:
    """The kernel `from_rows(words, rows)`, the inverse of `to_rows`; coordinates come out fully reduced.

    Shape   as for `to_rows`. Big-endian: infinity gets its flag bit, 0x40 in the first byte.
    """
    order, degree = _order(curve, big_endian), DEGREES[curve]
    factor = 1 if big_endian else (1 << (64 * FP_LIMBS)) % P
    width, words = row_words(curve), 2 * degree * FP_LIMBS

    def body(e: Emitter, a: list[Any]) -> None:
        target, source = _addresses(e, a[0], words), _addresses(e, a[1], width)
        out = []
        for k in order:  # its own inverse
            x = e.reduce_once(e.mul(e.load_rows(source, k * e.limbs), e.const(factor)))
            v = e.to_words(x, FP_LIMBS)
            out += _swap(e, v) if big_endian else v
        _store_words(e, target, out)

    form = "be" if big_endian else "mont"
    convert = lanes.operation(f"from_rows_{form}_{curve}", "fp", 2, body)

    @kernel(variant=f"{curve}-{form}")
    def from_rows_kernel(words_out, rows):
        for k in range(0, rows.shape[0], LANES):
            convert(words_out, k * words, rows, k * width)
            if big_endian:
                for l in range(k, k + LANES):
                    zero = True
                    for j in range(words - 1, -1, -1):
                        if words_out[l, j]:
                            zero = False
                            break
                    if zero:
                        words_out[l, 0] = 0x40

    return from_rows_kernel
