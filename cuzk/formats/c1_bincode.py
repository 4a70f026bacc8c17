"""The bincode form of a C1: bytes to one record, every count and tag checked.

It carries no registered proof and no sector size; the length of the first tree D path gives the size.

Source  rust-fil-proofs at 87348a7: filecoin-proofs/src/types/mod.rs 60-72, written with bincode 1.3.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from cuzk.errors import MalformedInput
from cuzk.formats.c1_layout import SHAPE_TAGS, TREE_D_LEVELS_OFFSET, Records, address, file_type, leaves
from cuzk.seal.sector import SECTORS, Sector

NO_PROOFS = "C1 output contains no vanilla proofs"
_BY_TREE_D_LEVELS = {s.tree_d_levels: s for s in SECTORS}
_PARTITION_COUNTS = sorted({n for s in SECTORS for n in (s.partitions, s.ni_partitions)})
_MIN_BYTES = TREE_D_LEVELS_OFFSET + 8


def _u64(data: bytes | memoryview, offset: int) -> int:
    return int.from_bytes(data[offset : offset + 8], "little")


def size_of(data: bytes | memoryview, file: object) -> tuple[Sector, int]:
    """Sector size and number of partitions, from the first counts.

    Raises  MalformedInput if these bytes are not the beginning of a bincode C1.
    """
    partitions, challenges, levels = (_u64(data, at) for at in (0, 8, TREE_D_LEVELS_OFFSET))
    if partitions not in (0, *_PARTITION_COUNTS):
        counts = ", ".join(map(str, _PARTITION_COUNTS))
        raise MalformedInput(
            "neither JSON nor the bincode form of a C1",
            file=file,
            where="byte 0 (number of partitions)",
            expected=f"{{ or one of {counts} as 64-bit integer",
            got=partitions,
        )
    if len(data) < _MIN_BYTES:
        smallest = min(file_type(s, s.partitions).itemsize for s in SECTORS)
        where = f"byte {len(data)}"
        expected = f"at least {smallest} bytes"
        raise MalformedInput("truncated", file=file, where=where, expected=expected, got=f"{len(data)} bytes")
    if partitions == 0 or challenges == 0:
        where = "byte 0 (vanilla_proofs)" if partitions == 0 else "byte 8 (vanilla_proofs[0])"
        raise MalformedInput(NO_PROOFS, file=file, where=where, got="an empty list")
    sector = _BY_TREE_D_LEVELS.get(levels)
    if sector is None:
        raise MalformedInput(
            "no sector size has a tree D of this height",
            file=file,
            where=f"byte {TREE_D_LEVELS_OFFSET} (vanilla_proofs[0][0].comm_d_proofs.data.Single.path.path)",
            expected=", ".join(f"{s.tree_d_levels} ({s.name})" for s in SECTORS),
            got=levels,
        )
    if partitions not in (sector.partitions, sector.ni_partitions):
        raise MalformedInput(
            f"wrong number of partitions for {sector.name}",
            file=file,
            where="byte 0 (vanilla_proofs)",
            expected=f"{sector.partitions}, non-interactive {sector.ni_partitions}",
            got=partitions,
        )
    return sector, partitions


def _refuse_counts(record: Records, size: int, file: object) -> None:
    """Raise for the first count or tag within `size` bytes that is not what the sector size implies."""
    base = address(record)
    worst: tuple[int, str, str, int] | None = None
    for leaf in leaves(record):
        if leaf.count is None:
            continue
        for at in np.argwhere(leaf.array != leaf.count):
            place = tuple(at.tolist())
            offset = leaf.offset(place, base)
            if offset + leaf.array.itemsize <= size and (worst is None or offset < worst[0]):
                tag = leaf.template.endswith(SHAPE_TAGS)
                expected = f"{leaf.count} ({SHAPE_TAGS[leaf.count]})" if tag else str(leaf.count)
                worst = offset, f"{leaf.place(place)}, {'variant' if tag else 'length'}", expected, leaf.array[place]
    if worst:
        offset, path, expected, got = worst
        where = f"byte {offset} ({path})"
        raise MalformedInput("wrong variant or length", file=file, where=where, expected=expected, got=int(got))


def _refuse_size(size: int, wanted: int, sector: Sector, partitions: int, file: object) -> NoReturn:
    message = "truncated" if size < wanted else "trailing bytes"
    counted = f"{partitions} partition{'s' if partitions > 1 else ''}"
    raise MalformedInput(
        message,
        file=file,
        where=f"byte {min(size, wanted)}",
        expected=f"{wanted} bytes ({sector.name}, {counted})",
        got=f"{size} bytes",
    )


def read(data: bytes | memoryview, file: object = None) -> tuple[Sector, Records]:
    """The record that `data` is; its values are not looked at yet.

    Shape   the record has shape ()
    Alias   the record may be a view of `data`
    Raises  MalformedInput with byte offset for truncated or trailing bytes, wrong lengths and variants
    """
    sector, partitions = size_of(data, file)
    dtype = file_type(sector, partitions)
    whole = data if len(data) == dtype.itemsize else bytes(data[: dtype.itemsize]).ljust(dtype.itemsize, b"\0")
    record = np.frombuffer(whole, dtype, count=1).reshape(())
    # A wrong length shifts what follows, so look at lengths before judging the size of the file.
    _refuse_counts(record, len(data), file)
    if len(data) != dtype.itemsize:
        _refuse_size(len(data), dtype.itemsize, sector, partitions, file)
    return sector, record
