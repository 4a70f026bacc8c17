"""Verifying keys as bytes: a whole `.vk` file, and the head of a `.params` file.

Six uncompressed points (alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2), a 32-bit big-endian count, and so many
G1 points `ic`. No magic number, no version, no trailer. Upstream's reader ignores bytes after the key; here they are counted.

Source  bellperson src/groth16/verifying_key.rs at d1fa22c
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cuzk.curve import encoding
from cuzk.errors import CuzkError, MalformedInput
from cuzk.field.limbs import U8, U64
from cuzk.files import open_regular
from cuzk.groth16.keys import VerifyingKey

POINTS = (("alpha_g1", "g1"), ("beta_g1", "g1"), ("beta_g2", "g2"), ("gamma_g2", "g2"), ("delta_g1", "g1"), ("delta_g2", "g2"))
COUNT_BYTES = 4
COUNT_OFFSET = sum(encoding.GROUPS[curve].bytes for _, curve in POINTS)
IC_OFFSET = COUNT_OFFSET + COUNT_BYTES
_IC_BYTES = encoding.GROUPS["g1"].bytes


@dataclass(frozen=True, slots=True)
class ReadKey:
    """A verifying key and how many bytes followed it."""

    key: VerifyingKey
    trailing_bytes: int


def size(ic_points: int) -> int:
    """Bytes of a key with so many `ic` points (public inputs and ONE)."""
    return IC_OFFSET + ic_points * _IC_BYTES


def parse(data: bytes | memoryview | U8, file: object = None, *, error: type[CuzkError] = MalformedInput) -> ReadKey:
    """Read a verifying key from the front of `data`, with every check.

    Raises  `error`, with the file, expected and actual sizes where bytes are missing; with name and byte offset where a point is
            not canonical, not on its curve, not of order r, or infinity
    """
    have = len(data)
    if have < IC_OFFSET:
        raise _truncated(file, error, f"at least {IC_OFFSET} bytes", have)
    count = int.from_bytes(bytes(data[COUNT_OFFSET:IC_OFFSET]), "big")
    if count == 0:
        raise error(
            "a verifying key without points for public inputs",
            file=file,
            where=f"byte {COUNT_OFFSET}",
            expected="a count of at least 1",
            got=count,
        )
    want = size(count)
    if have < want:
        raise _truncated(file, error, f"{want} bytes for {count} ic points", have)
    points: dict[str, U64] = {}
    offset = 0
    for name, curve in POINTS:
        width = encoding.GROUPS[curve].bytes
        part = data[offset : offset + width]
        points[name] = encoding.decode(curve, part, compressed=False, error=error, file=file, offset=offset, what=name)[0]
        offset += width
    ic = encoding.decode("g1", data[IC_OFFSET:want], compressed=False, error=error, file=file, offset=IC_OFFSET, what="ic")
    return ReadKey(VerifyingKey(**points, ic=ic), have - want)


def _truncated(file: object, error: type[CuzkError], expected: str, have: int) -> CuzkError:
    return error(
        "not a whole verifying key",
        file=file,
        expected=expected,
        got=f"{have} bytes",
        hint="fetch or make the file again",
    )


def read(path: Path, *, error: type[CuzkError] = MalformedInput) -> ReadKey:
    """Read a `.vk` file; see `parse`. What follows the key is not read. Raises `error` for a file that cannot be opened, too."""
    try:
        with open_regular(path) as file:
            data = file.read(IC_OFFSET)
            size_of_file = os.fstat(file.fileno()).st_size
            data += file.read(min(size_of_file, size(int.from_bytes(data[COUNT_OFFSET:], "big")) - IC_OFFSET))
    except OSError as reason:
        raise error("cannot read the verifying key", file=path, expected="a readable file", got=reason.strerror) from None
    return ReadKey(parse(data, path, error=error).key, size_of_file - len(data))


def encode(key: VerifyingKey) -> bytes:
    """The bytes of a `.vk` file."""
    head = b"".join(encoding.encode(curve, getattr(key, name), compressed=False).tobytes() for name, curve in POINTS)
    ic = np.ascontiguousarray(key.ic)
    return head + len(ic).to_bytes(COUNT_BYTES, "big") + encoding.encode("g1", ic, compressed=False).tobytes()
