"""The file of `--unsafe-randomness`: r and s of each partition, so that a proof can be made twice with the same bytes.

    {"randomness": [{"partition": 0, "r": HEX, "s": HEX}, ...]}

Other keys are ignored. Whoever knows r and s of a proof can take out what they hide, hence the name.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cuzk.errors import MalformedInput
from cuzk.formats import strict_json
from cuzk.formats.scalars import json_kind, read_object, scalar

WHAT = "the randomness file"


def read(path: Path, partitions: Iterable[int]) -> dict[int, tuple[int, int]]:
    """(r, s) of each wanted partition. Entries of other partitions are checked and left out.

    Raises  MalformedInput for another form, a scalar not below r, a partition that occurs twice, a wanted one that is absent
    """
    entries = read_object(path, WHAT).get("randomness")
    if not isinstance(entries, list):
        got = "nothing" if entries is None else json_kind(entries)
        raise MalformedInput(f"{WHAT} has the wrong form", file=path, where="$.randomness", expected="an array", got=got)
    found: dict[int, tuple[int, int]] = {}
    for i, entry in enumerate(entries):
        where = f"$.randomness[{i}]"
        if not isinstance(entry, dict):
            raise MalformedInput(f"{WHAT} has the wrong form", file=path, where=where, expected="an object", got=json_kind(entry))
        strict_json.refuse_repeated(entry, path, where)
        partition = entry.get("partition")
        if type(partition) is not int or not 0 <= partition < 1 << 32:
            got = "nothing" if partition is None else json_kind(partition)
            raise MalformedInput(
                f"{WHAT} has no partition number", file=path, where=f"{where}.partition", expected="a whole number >= 0", got=got
            )
        if partition in found:
            raise MalformedInput(
                f"{WHAT} names a partition twice", file=path, where=where, expected="one entry a partition", got=partition
            )
        found[partition] = (
            scalar(entry.get("r"), path, f"{where}.r", WHAT),
            scalar(entry.get("s"), path, f"{where}.s", WHAT),
        )
    wanted = list(partitions)
    for partition in wanted:
        if partition not in found:
            raise MalformedInput(
                f"{WHAT} has no r and s for a partition",
                file=path,
                where="$.randomness",
                expected=f"an entry with partition {partition}",
                got=f"{len(found)} entries for partitions {sorted(found)[:20]}" if found else "no entry",
                hint="list every partition that is proved",
            )
    return {partition: found[partition] for partition in wanted}
