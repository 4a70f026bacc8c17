"""Vanilla proofs to a C1 in any of its forms: the inverse of `formats.c1`, byte for byte as the Rust and Go tools write it."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from cuzk.formats.c1_layout import COMMITMENTS, Records, file_type, leaves, shape_tag
from cuzk.formats.registry import RegisteredProof
from cuzk.seal.vanilla import OWN, MerklePaths, VanillaProofs


def _put_paths(proofs: Records, paths: MerklePaths, sub_arity: int, top_arity: int) -> None:
    tag = shape_tag(sub_arity, top_arity)
    data = proofs["data"][tag]
    data["root"], data["leaf"] = paths.root, paths.leaf
    names = ["path"] if tag == "Single" else ["base_proof", "sub_proof", "top_proof"][: 3 if tag == "Top" else 2]
    level = sibling = 0
    for name in names:
        elements = data[name]["path"]
        levels, each = elements.shape[-1], elements.dtype["hashes"].shape[0]
        taken = paths.siblings[..., sibling : sibling + levels * each, :]
        elements["hashes"] = taken.reshape(*paths.leaf.shape[:-1], levels, each, 32)
        elements["index"] = paths.index[..., level : level + levels]
        level, sibling = level + levels, sibling + levels * each


def record_of(vanilla: VanillaProofs, commitments: dict[str, bytes]) -> Records:
    """The bincode record of vanilla proofs and the five 32-byte values that follow them (see COMMITMENTS)."""
    sector = vanilla.sector
    record = np.zeros((), file_type(sector, vanilla.partitions))
    for leaf in leaves(record):
        if leaf.count is not None:
            leaf.array[...] = leaf.count
    proofs = record["vanilla_proofs"]["proofs"]
    joins = sector.sub_arity, sector.top_arity
    _put_paths(proofs["comm_d_proofs"], vanilla.comm_d_proofs, 0, 0)
    _put_paths(proofs["comm_r_last_proof"], vanilla.comm_r_last_proof, *joins)
    columns = proofs["replica_column_proofs"]
    places = [(columns["c_x"], OWN)]
    places += [(columns["drg_parents"][..., i], 1 + i) for i in range(6)]
    places += [(columns["exp_parents"][..., i], 7 + i) for i in range(8)]
    for view, i in places:
        view["column"]["index"] = vanilla.column_index[..., i]
        view["column"]["rows"] = vanilla.column_rows[..., i, :, :]
        tree = vanilla.column_proof
        one = (tree.leaf[..., i, :], tree.root[..., i, :], tree.siblings[..., i, :, :], tree.index[..., i, :])
        _put_paths(view["inclusion_proof"], MerklePaths(tree.arities, *one), *joins)
    labelings, encoding = proofs["labeling_proofs"], proofs["encoding_proof"]
    labelings["parents"], labelings["layer_index"] = vanilla.label_parents, vanilla.label_layer
    labelings["node"], encoding["node"] = vanilla.label_node, vanilla.encoding_node
    encoding["parents"], encoding["layer_index"] = vanilla.encoding_parents, vanilla.encoding_layer
    for name in COMMITMENTS:
        record[name] = np.frombuffer(commitments[name], np.uint8)
    return record


def bincode(vanilla: VanillaProofs, commitments: dict[str, bytes]) -> bytes:
    """The bincode form."""
    return record_of(vanilla, commitments).tobytes()


def _value(view: Records) -> Any:
    """A record of shape () as JSON value; an array of records or of numbers as nested lists."""
    if view.dtype.names is None:
        return view.tolist()
    if view.shape:
        return [_value(item) for item in view]
    if "proofs" in view.dtype.names:  # a partition is a bare list
        return _value(view["proofs"])
    made = {name: _value(np.asarray(view[name])) for name in view.dtype.names if not name.startswith("#")}
    if "rows" in made:
        made["_h"] = None  # serde writes the phantom marker of a column, and only of a column
    return made


def raw_json(proof: RegisteredProof, vanilla: VanillaProofs, commitments: dict[str, bytes]) -> bytes:
    """The raw JSON form, compact, keys in the order of the Rust structs."""
    values = _value(record_of(vanilla, commitments))
    vanilla_proofs = {proof.vanilla_key: values.pop("vanilla_proofs")}
    whole = {"registered_proof": proof.name, "vanilla_proofs": vanilla_proofs, **values}
    return json.dumps(whole, separators=(",", ":")).encode()


def wrapper(sector_number: int, sector_size: int, raw: bytes) -> bytes:
    """The wrapper form around a raw one."""
    whole = {"SectorNum": sector_number, "Phase1Out": base64.b64encode(raw).decode(), "SectorSize": sector_size}
    return json.dumps(whole, separators=(",", ":")).encode()
