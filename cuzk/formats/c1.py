"""Commit phase 1 output: any of its forms to typed arrays, and the facts that a proof of it is about.

Forms: `wrapper` (JSON with the raw form in base64, as lotus-bench and cuzk write it), `json` (the raw form) and `bincode`.
Well-formedness is decided here; whether the content holds is the matter of `formats.c1_check`.

Source  rust-filecoin-proofs-api at 0e64ce8: src/seal.rs 171-180; rust-fil-proofs at 87348a7: filecoin-proofs/src/types.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from cuzk import workers
from cuzk.errors import MalformedInput, UsageError
from cuzk.files import open_regular
from cuzk.formats import c1_bincode, c1_json, c1_plain, strict_json
from cuzk.formats.c1_layout import COMMITMENTS, Records, address, at_least_r, leaves, shape_tag
from cuzk.formats.registry import RegisteredProof
from cuzk.seal.sector import Sector
from cuzk.seal.vanilla import MerklePaths, VanillaProofs

U8 = npt.NDArray[np.uint8]

_JSON = re.compile(rb'[ \t\r\n]*[{\["]')
# Other JSON values, and nothing at all: no C1, but no bytes of the bincode form either.
_LITERAL = re.compile(rb"\s*(?:null|true|false|NaN|-?Infinity|-?[0-9][0-9.eE+-]*)?\s*")
_LONGEST_LITERAL = 1 << 12
_PIECE = 1 << 20  # bytes read by one task
MAX_BYTES = 2 << 30  # four times the largest there is: non-interactive 64 GiB in the wrapper form


@dataclass(frozen=True, slots=True)
class C1:
    """One commit phase 1 output. Commitments, ids and seeds are 32 bytes each."""

    file: str | None
    form: str  # wrapper, json, bincode; memory if made and not read
    size: int  # bytes of the file
    sector: Sector
    registered_proof: RegisteredProof | None  # not in the bincode form
    sector_number: int | None  # in the wrapper form only
    comm_r: bytes
    comm_d: bytes
    replica_id: bytes
    seed: bytes
    ticket: bytes
    vanilla: VanillaProofs

    def describe(self) -> dict[str, Any]:
        """Facts for people and machines, in the order to print them."""
        proof = self.registered_proof
        vanilla = self.vanilla
        return {
            "kind": "c1",
            "form": self.form,
            "bytes": self.size,
            "sector_size": self.sector.size,
            "sector_size_name": self.sector.name,
            "registered_proof": proof.name if proof else None,
            "registered_proof_number": proof.number if proof else None,
            "api_version": proof.api_version if proof else None,
            "feature": proof.feature if proof else _feature_of_count(self),
            "sector_number": self.sector_number,
            "partitions": vanilla.partitions,
            "challenges_per_partition": vanilla.challenges,
            "layers": self.sector.layers,
            "tree_d_levels": self.sector.tree_d_levels,
            "tree_shape": shape_tag(self.sector.sub_arity, self.sector.top_arity),
            "tree_arities": list(self.sector.tree_arities),
            **{name: getattr(self, name).hex() for name in COMMITMENTS},
            "challenges": vanilla.label_node[:, :, 0].tolist(),
        }


def _feature_of_count(c1: C1) -> str | None:
    """Without a registered proof: non-interactive shows in the number of partitions, the other two look the same."""
    return "non-interactive" if c1.vanilla.partitions != c1.sector.partitions else None


def _paths(proofs: Records, sub_arity: int, top_arity: int, arities: tuple[int, ...]) -> MerklePaths:
    tag = shape_tag(sub_arity, top_arity)
    data = proofs["data"][tag]
    names = ["path"] if tag == "Single" else ["base_proof", "sub_proof", "top_proof"][: 3 if tag == "Top" else 2]
    elements = [data[name]["path"] for name in names]
    lead = proofs.shape
    siblings = [e["hashes"].reshape(*lead, -1, 32) for e in elements]
    return MerklePaths(
        arities=arities,
        leaf=np.ascontiguousarray(data["leaf"]),
        root=np.ascontiguousarray(data["root"]),
        siblings=np.concatenate(siblings, axis=-2),
        index=np.concatenate([e["index"] for e in elements], axis=-1).astype(np.uint8),
    )


def _vanilla(record: Records, sector: Sector) -> VanillaProofs:
    """The arrays of a record whose values are in range."""
    proofs = record["vanilla_proofs"]["proofs"]
    columns = proofs["replica_column_proofs"]
    fifteen = np.concatenate([columns["c_x"][..., None], columns["drg_parents"], columns["exp_parents"]], axis=-1)
    labelings, encoding = proofs["labeling_proofs"], proofs["encoding_proof"]
    joins = sector.sub_arity, sector.top_arity
    return VanillaProofs(
        sector=sector,
        comm_d_proofs=_paths(proofs["comm_d_proofs"], 0, 0, sector.tree_d_arities),
        comm_r_last_proof=_paths(proofs["comm_r_last_proof"], *joins, sector.tree_arities),
        column_index=np.ascontiguousarray(fifteen["column"]["index"], np.uint32),
        column_rows=np.ascontiguousarray(fifteen["column"]["rows"]),
        column_proof=_paths(fifteen["inclusion_proof"], *joins, sector.tree_arities),
        label_parents=np.ascontiguousarray(labelings["parents"]),
        label_layer=np.ascontiguousarray(labelings["layer_index"], np.uint32),
        label_node=np.ascontiguousarray(labelings["node"], np.uint64),
        encoding_parents=np.ascontiguousarray(encoding["parents"]),
        encoding_layer=np.ascontiguousarray(encoding["layer_index"], np.uint32),
        encoding_node=np.ascontiguousarray(encoding["node"], np.uint64),
    )


def _refuse_values(record: Records, file: object, json_places: tuple[str, str] | None) -> None:
    """Raise for path indices beyond the arity and hashes >= r.

    `json_places` are the prefix of every JSON path and the key under which vanilla_proofs stand; None for byte offsets.
    """
    base = address(record)
    for leaf in leaves(record):
        if leaf.below is not None:
            bad = np.argwhere(leaf.array >= leaf.below)
        elif leaf.is_domain:
            bad = np.argwhere(at_least_r(leaf.array))
        else:
            continue
        if not len(bad):
            continue
        at = tuple(bad[0].tolist())
        path = leaf.place(at)
        if json_places is None:
            where = f"byte {leaf.offset(at, base)} ({path})"
        else:
            where = json_places[0] + path.replace("vanilla_proofs", f"vanilla_proofs.{json_places[1]}")
        if leaf.below is not None:
            got = int(leaf.array[at])
            raise MalformedInput("child index too large", file=file, where=where, expected=f"< {leaf.below}", got=got)
        value = int.from_bytes(leaf.array[at].tobytes(), "little")
        raise MalformedInput(
            "value ≥ r: not a canonical element of the scalar field",
            file=file,
            where=where,
            expected="32 bytes, little-endian, < r",
            got=f"{value:#066x}",
        )


def _strictly(data: bytes | memoryview, file: str | None) -> c1_plain.Read:
    """What one of the JSON forms holds. Raises MalformedInput."""
    data = bytes(data)
    value = strict_json.parse(data, file)
    form, prefix, number, stated = "json", "", None, None
    if isinstance(value, dict) and "Phase1Out" in value:
        form, prefix = "wrapper", "Phase1Out."
        number, stated, data = c1_json.unwrap(value, file)
        value = strict_json.parse(data, file, "Phase1Out decoded")
    has_booleans = b"true" in data or b"false" in data
    return c1_plain.Read(form, prefix, *c1_json.to_bincode(value, file, prefix, has_booleans), number, stated)


def loads(data: bytes | memoryview, file: str | None = None) -> C1:
    """The C1 in `data`, in whichever form it is.

    Raises  MalformedInput with JSON path or byte offset, expected and got
    """
    if not data:
        raise MalformedInput("empty file", file=file, expected="a C1 in JSON or bincode", got="0 bytes")
    proof = number = None
    form, prefix, size = "bincode", "", len(data)
    payload = data
    strict_json.refuse_other_encoding(bytes(data[:8]), file)
    if _JSON.match(data) or (size <= _LONGEST_LITERAL and _LITERAL.fullmatch(data)):
        form, prefix, proof, payload, number, stated = c1_plain.read(data, file) or _strictly(data, file)
        if stated is not None and stated != proof.sector.size:
            raise MalformedInput(
                "SectorSize and registered_proof disagree",
                file=file,
                where="SectorSize",
                expected=f"{proof.sector.size} ({proof.name})",
                got=stated,
            )
    sector, record = c1_bincode.read(payload, file)
    values = {name: record[name].tobytes() for name in COMMITMENTS}
    if form == "bincode":
        tail = [(leaf.template, leaf.offset((), address(record))) for leaf in leaves(record) if leaf.array.ndim == 1]
        offsets = {name: f"byte {offset} ({name})" for name, offset in tail}
        c1_json.refuse_zeros(values, file, offsets)
    _refuse_values(record, file, (prefix, proof.vanilla_key) if proof else None)
    return C1(file, form, size, sector, proof, number, **values, vanilla=_vanilla(record, sector))


def _read(file: IO[bytes], size: int) -> memoryview:
    """The first `size` bytes of a file, fewer if it has become shorter, by all CPUs: most of the time goes into fresh memory."""
    data = np.empty(size, np.uint8)

    def some(first: int, last: int) -> int:
        while first < last and (count := os.preadv(file.fileno(), [data[first:last].data], first)):
            first += count
        return first

    ends = workers.run_all(some, pieces := workers.ranges(size, -(-size // _PIECE)))
    short = [end for end, (_, last) in zip(ends, pieces, strict=True) if end < last]
    return data.data[: min(short, default=size)]


def load(path: Path | str) -> C1:
    """The C1 in a file.

    Cost    one pass on all cores, 0.15 GiB at 32 GiB, for the wrapper form as serde writes it; with spaces a slower one on one
    Raises  UsageError if the file cannot be read; MalformedInput as `loads`
    """
    path = Path(path)
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_BYTES:
                raise MalformedInput("larger than any C1", file=path, expected=f"at most {MAX_BYTES} bytes", got=size)
            data = _read(file, size)
    except OSError as error:
        raise UsageError("cannot read the C1", file=path, got=error.strerror) from None
    return loads(data, str(path))
