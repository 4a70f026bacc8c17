"""The bincode form of a C1 as one NumPy record type a sector size, and what every field of it must hold.

Every list in a C1 has a length that follows from the sector size, so the whole file is one fixed record: little-endian
64-bit counts, 32-bit enum tags, raw hashes. Field names are those of the JSON form, so that a place in the record has a JSON
path as well as a byte offset. A field `#name` is the count (or tag) of the field `name` that follows it.

Source  rust-fil-proofs at 87348a7: storage-proofs-porep/src/stacked/vanilla/params.rs 209-240,
        storage-proofs-core/src/merkle/proof.rs 167-475; bincode 1.3 default configuration.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.field.params import R
from cuzk.seal.sector import DRG_DEGREE, EXPANDER_DEGREE, LABEL_PARENTS, Sector

Records = npt.NDArray[np.void]
Fields = list[tuple[Any, ...]]

HASH = ("u1", (32,))
SHAPE_TAGS = ("Single", "Sub", "Top")
COMMITMENTS = ("comm_r", "comm_d", "replica_id", "seed", "ticket")  # in file order, after the vanilla proofs
OPAQUE = ("seed", "ticket")  # 32 bytes that are no field elements


def shape_tag(sub_arity: int, top_arity: int) -> str:
    """The enum variant of a Merkle proof."""
    return "Top" if top_arity else "Sub" if sub_arity else "Single"


def _listed(name: str, item: Any, count: int) -> Fields:
    return [(f"#{name}", "<u8"), (name, item, (count,))]


def _path(arity: int, levels: int) -> Fields:
    element = [("#hashes", "<u8"), ("hashes", "u1", (arity - 1, 32)), ("index", "<u8")]
    return _listed("path", element, levels)


def _merkle_proof(base_arity: int, base_levels: int, sub_arity: int, top_arity: int) -> Fields:
    tag = shape_tag(sub_arity, top_arity)
    ends: Fields = [("root", *HASH), ("leaf", *HASH)]
    base = _path(base_arity, base_levels)
    if tag == "Single":
        variant: Fields = [*ends, ("path", base)]
    else:
        variant = [("base_proof", base), ("sub_proof", _path(sub_arity, 1))]
        variant += [("top_proof", _path(top_arity, 1))] if tag == "Top" else []
        variant += ends
    return [("data", [(f"#{tag}", "<u4"), (tag, variant)])]


def _labeling() -> Fields:
    return [("#parents", "<u8"), ("parents", "u1", (LABEL_PARENTS, 32)), ("layer_index", "<u4"), ("node", "<u8")]


def _challenge(sector: Sector) -> Fields:
    tree = _merkle_proof(8, sector.base_levels, sector.sub_arity, sector.top_arity)
    rows = [("#rows", "<u8"), ("rows", "u1", (sector.layers, 32))]
    column = [("column", [("index", "<u4"), *rows]), ("inclusion_proof", tree)]
    columns: Fields = [("c_x", column)]
    columns += _listed("drg_parents", column, DRG_DEGREE) + _listed("exp_parents", column, EXPANDER_DEGREE)
    return [
        ("comm_d_proofs", _merkle_proof(2, sector.tree_d_levels, 0, 0)),
        ("comm_r_last_proof", tree),
        ("replica_column_proofs", columns),
        *_listed("labeling_proofs", _labeling(), sector.layers),
        ("encoding_proof", _labeling()),
    ]


@functools.cache
def file_type(sector: Sector, partitions: int) -> np.dtype[np.void]:
    """The record that a whole bincode file is."""
    partition = _listed("proofs", _challenge(sector), sector.challenges)
    fields = _listed("vanilla_proofs", partition, partitions)
    return np.dtype([*fields, *((name, *HASH) for name in COMMITMENTS)])


# Where the length of the first tree D path stands, which gives the sector size: after two counts, a tag, root and leaf.
TREE_D_LEVELS_OFFSET = 8 + 8 + 4 + 32 + 32


@dataclass(frozen=True, slots=True)
class Leaf:
    """One field of the record over all its places: counts, indices (values `array[...]`) or hashes (`array[..., 32]`)."""

    template: str  # JSON path with `[]` for each axis of the places
    array: npt.NDArray[Any]
    count: int | None = None  # what a count or tag must be
    below: int | None = None  # what a path index must be below

    @property
    def is_hash(self) -> bool:
        """32 bytes a place, rather than an integer."""
        return self.array.dtype == np.uint8

    @property
    def is_domain(self) -> bool:
        """A field element, which must be below r."""
        return self.is_hash and self.template not in OPAQUE

    def place(self, at: tuple[int, ...]) -> str:
        """JSON path of one place."""
        return self.template.replace("[]", "[{}]").format(*at)

    def offset(self, at: tuple[int, ...], base: int) -> int:
        """Byte offset of one place in the record whose address is `base`."""
        steps = zip(at, self.array.strides, strict=False)
        return int(self.array.__array_interface__["data"][0]) - base + sum(i * s for i, s in steps)


def address(record: Records) -> int:
    """Address of a record, the base of `Leaf.offset`."""
    return int(record.__array_interface__["data"][0])


def leaves(record: Records) -> Iterator[Leaf]:
    """Every field of a record (shape ()), in file order."""
    yield from _walk(record, "")


def _walk(view: Records, prefix: str, arity: int = 0) -> Iterator[Leaf]:
    """The fields of a record or of an array of them; `arity` is that of a path element."""
    dtype = view.dtype
    for name in dtype.names or ():
        target = name.removeprefix("#")
        # The list of one partition has no name of its own in JSON: vanilla_proofs[partition][challenge].
        path = prefix if target == "proofs" else f"{prefix}.{target}" if prefix else target
        array = view[name]
        if name != target:
            count = SHAPE_TAGS.index(target) if target in SHAPE_TAGS else dtype[target].shape[0]
            yield Leaf(path, array, count=count)
            continue
        item, axes = dtype[name].subdtype or (dtype[name], ())
        if item.names:
            item_arity = item["hashes"].shape[0] + 1 if "hashes" in item.names else 0
            yield from _walk(array, path + "[]" * len(axes), item_arity)
        elif item == np.uint8:
            yield Leaf(path + "[]" * (len(axes) - 1), array)
        else:
            yield Leaf(path, array, below=arity if name == "index" and arity else None)


def at_least_r(hashes: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Where 32 little-endian bytes are no canonical field element, i.e. >= r. Shape (..., 32) to (...)."""
    highest = hashes[..., 24:].view("<u8")[..., 0]
    if not (highest >= np.uint64(R >> 192)).any():  # a quarter of the bytes decides nearly always
        return np.zeros(highest.shape, bool)
    limbs = np.ascontiguousarray(hashes).view("<u8")
    greater = np.zeros(limbs.shape[:-1], bool)
    equal = np.ones(limbs.shape[:-1], bool)
    for i in reversed(range(4)):
        r = np.uint64(R >> (64 * i) & ((1 << 64) - 1))
        greater |= equal & (limbs[..., i] > r)
        equal &= limbs[..., i] == r
    return greater | equal
