"""Byte forms of points: compressed (48 and 96 bytes) and uncompressed (96 and 192 bytes), big-endian, G2 coordinates c1 first.

The three top bits of the first byte are flags: compressed; infinity; and, compressed only, y is lexicographically larger than -y.
Everything is checked: flags, coordinates below p, the curve equation, and on request the order of the point.

Source  zkcrypto pairing src/bls12_381/README.md (serialization); strictness as blst src/e1.c and src/e2.c
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from cuzk import workers
from cuzk.curve import g1, g2
from cuzk.curve.group import Group
from cuzk.curve.membership import MOST, Membership
from cuzk.errors import CuzkError, MalformedInput
from cuzk.field.limbs import U8, U64
from cuzk.jit import kernel, shared

GROUPS: dict[str, Group] = {"g1": g1.GROUP, "g2": g2.GROUP}


class Fault(IntEnum):
    """What is wrong with an encoded point."""

    NONE = 0
    FLAGS = 1
    NOT_REDUCED = 2
    INFINITY = 3
    NOT_ON_CURVE = 4
    NOT_IN_SUBGROUP = 5

    @property
    def text(self) -> str:
        """In words, for messages."""
        return _TEXTS[self]


_TEXTS = {
    Fault.NONE: "a valid point",
    Fault.FLAGS: "wrong flag bits in the first byte, or bytes set in the point at infinity",
    Fault.NOT_REDUCED: "a coordinate is not below the field modulus",
    Fault.INFINITY: "the point at infinity",
    Fault.NOT_ON_CURVE: "not on the curve",
    Fault.NOT_IN_SUBGROUP: "on the curve, but not in the subgroup of order r",
}
FLAGS, NOT_REDUCED, INFINITY, NOT_ON_CURVE, NOT_IN_SUBGROUP = (int(f) for f in list(Fault)[1:])
COMPRESSED_FLAG, INFINITY_FLAG, LARGER_FLAG = 4, 2, 1  # the three top bits as a number


def _decoders(group: Group) -> tuple[Any, Any]:
    """Compiled `(bytes, k) -> fault, x, y` for the uncompressed and the compressed form from byte k; curve checked, order not."""
    curve, field = group.formulas, group.formulas.field
    b, is_on_curve, zero = curve.b, curve.is_on_curve, field.ZERO
    width = group.bytes // 2
    x_may_be_zero = group.name == "g2"  # on G1 the points with x = 0 have order 3, and every decoder refuses them

    @shared
    def uncompressed(data, k):
        x, y = field.load_be(data, k), field.load_be(data, k + width)
        flags = field.high(x)
        x = field.low(x)
        if flags == np.uint64(INFINITY_FLAG) and field.is_zero(x) and field.is_zero(y):
            return INFINITY, zero, zero
        if flags != np.uint64(0):
            return FLAGS, zero, zero
        if not (field.is_reduced(x) and field.is_reduced(y)):
            return NOT_REDUCED, zero, zero
        x, y = field.from_canon(x), field.from_canon(y)
        if not is_on_curve(x, y) or (not x_may_be_zero and field.is_zero(x)):
            return NOT_ON_CURVE, zero, zero
        return 0, x, y

    @shared
    def compressed(data, k):
        x = field.load_be(data, k)
        flags = field.high(x)
        x = field.low(x)
        if flags == np.uint64(COMPRESSED_FLAG | INFINITY_FLAG) and field.is_zero(x):
            return INFINITY, zero, zero
        if flags & np.uint64(COMPRESSED_FLAG | INFINITY_FLAG) != np.uint64(COMPRESSED_FLAG):
            return FLAGS, zero, zero
        if not field.is_reduced(x):
            return NOT_REDUCED, zero, zero
        x = field.from_canon(x)
        y = field.sqrt(field.add(field.mul(field.sqr(x), x), b))
        if not is_on_curve(x, y) or (not x_may_be_zero and field.is_zero(x)):
            return NOT_ON_CURVE, zero, zero
        larger = flags & np.uint64(LARGER_FLAG) != np.uint64(0)
        return 0, x, field.select(field.is_larger(field.to_canon(y)) == larger, y, field.neg(y))

    return uncompressed, compressed


def _kernels(group: Group) -> dict[str, Any]:
    """The kernels over arrays of encoded points; each returns the first bad index and its fault, or (stop, 0)."""
    field = group.formulas.field
    uncompressed, compressed = _decoders(group)
    is_in_subgroup = group.is_in_subgroup
    width = group.bytes // 2

    @kernel(variant=group.name)
    def check(data, start, stop):
        for i in range(start, stop):
            fault, _x, _y = uncompressed(data, i * 2 * width)
            if fault != 0:
                return i, fault
        return stop, 0

    @kernel(variant=group.name)
    def decode(out, data, is_compressed, order, infinity, start, stop):
        for i in range(start, stop):
            if is_compressed:
                fault, x, y = compressed(data, i * width)
            else:
                fault, x, y = uncompressed(data, i * 2 * width)
            if fault == 0 and order and not is_in_subgroup(x, y):
                fault = NOT_IN_SUBGROUP
            if fault != 0 and not (fault == INFINITY and infinity):
                return i, fault
            field.store(out, 2 * i, x)
            field.store(out, 2 * i + 1, y)
        return stop, 0

    @kernel(variant=group.name)
    def encode(out, points, is_compressed, start, stop):
        for i in range(start, stop):
            x, y = field.to_canon(field.load(points, 2 * i)), field.to_canon(field.load(points, 2 * i + 1))
            flags = INFINITY_FLAG if field.is_zero(x) and field.is_zero(y) else 0
            if is_compressed:
                field.store_be(out, i * width, x)
                flags |= COMPRESSED_FLAG | (LARGER_FLAG if field.is_larger(y) else 0)
                out[i * width] |= np.uint8(flags << 5)
            else:
                field.store_be(out, i * 2 * width, x)
                field.store_be(out, i * 2 * width + width, y)
                out[i * 2 * width] |= np.uint8(flags << 5)

    return {"check": check, "decode": decode, "encode": encode}


_MEMBERSHIP = {name: Membership(group) for name, group in GROUPS.items()}
_SMALL = 1 << 20
_KERNELS = {name: _kernels(group) for name, group in GROUPS.items()}


def _flat(data_be: U8 | bytes | memoryview) -> U8:
    """Encoded points as kernels take them: flat. Small read-only arrays are copied, since to Numba they are another type."""
    a = data_be if isinstance(data_be, np.ndarray) else np.frombuffer(data_be, np.uint8)
    a = np.ascontiguousarray(a).reshape(-1)
    return a.copy() if not a.flags.writeable and a.nbytes <= _SMALL else a


def _first_fault(results: list[tuple[int, int]]) -> tuple[int, Fault] | None:
    return next(((int(i), Fault(fault)) for i, fault in results if fault), None)


def check_points(curve: str, points_be: U8) -> tuple[int, Fault] | None:
    """First point that is not canonical, on the curve and finite, and why; None if all are. The order is not checked.

    Shape   uint8[n, 96] or [n, 192], writable (a memory map in mode "c") lest the kernel is compiled twice
    Cost    7 M a point on G1, on all threads
    """
    data, n = _flat(points_be), points_be.size // GROUPS[curve].bytes
    check = _KERNELS[curve]["check"]
    return _first_fault(workers.over_ranges(lambda start, stop: check(data, start, stop), n, multiple=64))


def check_subgroup(curve: str, points_be: U8) -> tuple[int, Fault] | None:
    """As `check_points`, and every point has order r; by random buckets, see `curve.membership`, if there are many.

    Cost    few points: about 1 000 M each on G1, 1 700 on G2; from a hundred thousand on, about 150
    """
    group, run, membership = GROUPS[curve], _KERNELS[curve]["decode"], _MEMBERSHIP[curve]
    data, n = _flat(points_be), points_be.size // group.bytes

    def check(start: int, stop: int) -> tuple[int, int]:
        points = np.empty((stop - start, group.limbs), np.uint64)
        piece = data[start * group.bytes : stop * group.bytes]
        end, fault = run(points.reshape(-1), piece, False, False, False, 0, stop - start)
        outside = membership.first_outside(points[:end])
        return (start + end, fault) if outside is None else (start + outside, NOT_IN_SUBGROUP)

    pieces = max(workers.config.thread_count(), -(-n // MOST))
    return _first_fault(workers.run_all(check, workers.ranges(n, pieces)))


def decode(
    curve: str,
    data_be: U8 | bytes | memoryview,
    *,
    compressed: bool,
    subgroup: bool = True,
    infinity: bool = False,
    error: type[CuzkError] = MalformedInput,
    file: object = None,
    offset: int = 0,
    what: str = "point",
) -> U64:
    """Encoded points to affine uint64[n, 12] or [n, 24] in Montgomery form.

    `infinity` allows the point at infinity; `offset` is where the bytes stand in `file`, `what` their name, for the message.

    Raises  `error` naming the first bad point and its byte offset
    """
    group = GROUPS[curve]
    size = group.bytes // 2 if compressed else group.bytes
    data = _flat(data_be)
    n = data.size // size
    if data.size % size:
        raise error(f"{what}: truncated", file=file, where=f"byte {offset}", expected=f"{size} bytes a point", got=data.size)
    out = np.empty((n, group.limbs), np.uint64)
    flat, run = out.reshape(-1), _KERNELS[curve]["decode"]
    results = workers.over_ranges(lambda i, j: run(flat, data, compressed, subgroup, infinity, i, j), n, multiple=16)
    if bad := _first_fault(results):
        index, fault = bad
        name = f"{what} {index}" if n > 1 else what
        raise error(
            f"{name}: {fault.text}",
            file=file,
            where=f"byte {offset + index * size}",
            expected=f"{'a compressed' if compressed else 'an uncompressed'} point of {curve.upper()}",
            got=bytes(data[index * size : (index + 1) * size]).hex(),
        )
    return out


def encode(curve: str, points_mont: U64, *, compressed: bool) -> U8:
    """Affine points in Montgomery form to uint8[n, size]; infinity (all zeros) has its own form."""
    group = GROUPS[curve]
    size = group.bytes // 2 if compressed else group.bytes
    points = np.require(points_mont, np.uint64, ["C", "W"]).reshape(-1)
    n = points.size // group.limbs
    out = np.empty((n, size), np.uint8)
    flat, run = out.reshape(-1), _KERNELS[curve]["encode"]
    workers.over_ranges(lambda i, j: run(flat, points, compressed, i, j), n, multiple=64)
    return out
