"""The JSON forms of a C1: the wrapper that the Go tools write, and the raw form inside it.

Both are read strictly as serde reads them (exact keys, no duplicates, unknown keys ignored, lists of exactly 32 integers
0 to 255) and turned into the bytes of the bincode form, which one reader makes into arrays.

Source  lotus at b835fab: cmd/lotus-bench/main.go 91-95; rust-filecoin-proofs-api at 0e64ce8: src/seal.rs 171-326.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
from typing import Any, NoReturn

from cuzk.errors import MalformedInput
from cuzk.formats import registry
from cuzk.formats.c1_bincode import NO_PROOFS
from cuzk.formats.c1_layout import COMMITMENTS, SHAPE_TAGS, shape_tag
from cuzk.formats.registry import RegisteredProof
from cuzk.formats.strict_json import Repeated, shown
from cuzk.seal.sector import BASE_ARITY, DRG_DEGREE, EXPANDER_DEGREE, LABEL_PARENTS

WRAPPER_KEYS = ("SectorNum", "Phase1Out", "SectorSize")
_U64 = struct.Struct("<Q").pack
_U32 = struct.Struct("<I").pack


class Transcoder:
    """Walks the raw form and writes the bincode form; `path` is the JSON path of the value at hand."""

    def __init__(self, file: object, proof: RegisteredProof, has_booleans: bool) -> None:
        self.file = file
        self.proof = proof
        self.sector = proof.sector
        self.has_booleans = has_booleans
        self.out: list[bytes] = []
        sector = proof.sector
        self.tree_tag = shape_tag(sector.sub_arity, sector.top_arity)
        joins = (("sub_proof", sector.sub_arity), ("top_proof", sector.top_arity))
        self.tree_paths = [("base_proof", BASE_ARITY, sector.base_levels), *((n, a, 1) for n, a in joins if a)]

    def fail(self, message: str, path: str, expected: object, got: Any) -> NoReturn:
        """Refuse the value at `path`."""
        where = path or "the top level"
        raise MalformedInput(message, file=self.file, where=where, expected=expected, got=shown(got))

    def members(self, value: Any, path: str, keys: tuple[str, ...]) -> list[Any]:
        """The values of `keys` in an object."""
        if not isinstance(value, dict):
            self.fail("wrong type", path, f"an object with {', '.join(keys)}", value)
        if type(value) is Repeated and value.key in keys:
            self.fail("duplicate key", f"{path}.{value.key}" if path else value.key, "one", value)
        try:
            return [value[key] for key in keys]
        except KeyError as error:
            self.fail("missing key", path, error.args[0], value)

    def items(self, value: Any, path: str, count: int) -> list[Any]:
        """The items of a list of exactly `count`."""
        if not isinstance(value, list):
            self.fail("wrong type", path, f"a list of {count}", value)
        if len(value) != count:
            self.fail("wrong length", path, f"a list of {count}", value)
        return value

    def integer(self, value: Any, path: str, bits: int) -> int:
        """An unsigned integer of at most `bits` bits."""
        if type(value) is not int:
            self.fail("wrong type", path, "an integer", value)
        if not 0 <= value < 1 << bits:
            self.fail("integer out of range", path, f"0 to 2**{bits} - 1", value)
        return value

    def hash(self, value: Any, path: str) -> bytes:
        """32 integers 0 to 255."""
        for i, byte in enumerate(self.items(value, path, 32)):
            if type(byte) is not int:
                self.fail("wrong type", f"{path}[{i}]", "an integer 0 to 255", byte)
            if not 0 <= byte <= 255:
                self.fail("byte out of range", f"{path}[{i}]", "0 to 255", byte)
        return bytes(value)

    def hashes(self, value: Any, path: str, count: int) -> None:
        """Count and hashes. The common case runs over whole hashes; byte by byte only where something is wrong."""
        items = self.items(value, path, count)
        try:
            if self.has_booleans or any(type(item) is not list or len(item) != 32 for item in items):
                raise ValueError
            joined = b"".join([bytes(item) for item in items])
        except (TypeError, ValueError, OverflowError):
            joined = b"".join([self.hash(item, f"{path}[{i}]") for i, item in enumerate(items)])
        self.out += (_U64(count), joined)

    def path(self, value: Any, path: str, arity: int, levels: int) -> None:
        """An InclusionPath."""
        (elements,) = self.members(value, path, ("path",))
        self.out.append(_U64(levels))
        for i, element in enumerate(self.items(elements, f"{path}.path", levels)):
            place = f"{path}.path[{i}]"
            hashes, index = self.members(element, place, ("hashes", "index"))
            self.hashes(hashes, f"{place}.hashes", arity - 1)
            self.out.append(_U64(self.integer(index, f"{place}.index", 64)))

    def merkle_proof(self, value: Any, path: str, tag: str, paths: list[tuple[str, int, int]]) -> None:
        """A MerkleProof of a known variant."""
        (data,) = self.members(value, path, ("data",))
        path += ".data"
        if not isinstance(data, dict) or len(data) != 1 or type(data) is Repeated:
            self.fail("wrong variant", path, f"an object with the one key {tag}", data)
        if tag not in data:
            self.fail("wrong variant", path, f"{tag} ({self.proof.name})", next(iter(data)))
        path += f".{tag}"
        self.out.append(_U32(SHAPE_TAGS.index(tag)))
        root, leaf, *values = self.members(data[tag], path, ("root", "leaf", *(name for name, _, _ in paths)))
        ends = [self.hash(root, f"{path}.root"), self.hash(leaf, f"{path}.leaf")]
        if tag == "Single":  # root and leaf stand first in this variant, last in the others
            self.out += ends
        for (name, arity, levels), inclusion in zip(paths, values, strict=True):
            self.path(inclusion, f"{path}.{name}", arity, levels)
        if tag != "Single":
            self.out += ends

    def tree_proof(self, value: Any, path: str) -> None:
        """A MerkleProof of tree C or R."""
        paths = self.tree_paths
        if self.tree_tag == "Single":
            paths = [("path", BASE_ARITY, self.sector.base_levels)]
        self.merkle_proof(value, path, self.tree_tag, paths)

    def column_proof(self, value: Any, path: str) -> None:
        """A ColumnProof."""
        column, inclusion = self.members(value, path, ("column", "inclusion_proof"))
        place = f"{path}.column"
        index, rows, phantom = self.members(column, place, ("index", "rows", "_h"))
        if phantom is not None:
            self.fail("wrong type", f"{place}._h", "null", phantom)
        self.out.append(_U32(self.integer(index, f"{place}.index", 32)))
        self.hashes(rows, f"{place}.rows", self.sector.layers)
        self.tree_proof(inclusion, f"{path}.inclusion_proof")

    def column_proofs(self, value: Any, path: str, count: int) -> None:
        """A list of ColumnProofs."""
        self.out.append(_U64(count))
        for i, item in enumerate(self.items(value, path, count)):
            self.column_proof(item, f"{path}[{i}]")

    def labeling(self, value: Any, path: str) -> None:
        """A LabelingProof or an EncodingProof."""
        parents, layer, node = self.members(value, path, ("parents", "layer_index", "node"))
        self.hashes(parents, f"{path}.parents", LABEL_PARENTS)
        layer = self.integer(layer, f"{path}.layer_index", 32)
        self.out += (_U32(layer), _U64(self.integer(node, f"{path}.node", 64)))

    def challenge(self, value: Any, path: str) -> None:
        """All proofs of one challenge."""
        keys = ("comm_d_proofs", "comm_r_last_proof", "replica_column_proofs", "labeling_proofs", "encoding_proof")
        comm_d, comm_r_last, columns, labelings, encoding = self.members(value, path, keys)
        self.merkle_proof(comm_d, f"{path}.{keys[0]}", "Single", [("path", 2, self.sector.tree_d_levels)])
        self.tree_proof(comm_r_last, f"{path}.{keys[1]}")
        place = f"{path}.{keys[2]}"
        c_x, drg, expander = self.members(columns, place, ("c_x", "drg_parents", "exp_parents"))
        self.column_proof(c_x, f"{place}.c_x")
        self.column_proofs(drg, f"{place}.drg_parents", DRG_DEGREE)
        self.column_proofs(expander, f"{place}.exp_parents", EXPANDER_DEGREE)
        place = f"{path}.{keys[3]}"
        self.out.append(_U64(self.sector.layers))
        for i, item in enumerate(self.items(labelings, place, self.sector.layers)):
            self.labeling(item, f"{place}[{i}]")
        self.labeling(encoding, f"{path}.{keys[4]}")

    def vanilla_proofs(self, value: Any, path: str) -> None:
        """The lists of partitions and challenges."""
        if isinstance(value, list) and (not value or any(item == [] for item in value)):
            raise MalformedInput(NO_PROOFS, file=self.file, where=path, got="an empty list")
        self.out.append(_U64(self.proof.partitions))
        for k, partition in enumerate(self.items(value, path, self.proof.partitions)):
            self.out.append(_U64(self.sector.challenges))
            for i, challenge in enumerate(self.items(partition, f"{path}[{k}]", self.sector.challenges)):
                self.challenge(challenge, f"{path}[{k}][{i}]")


def registered_proof(value: Any, file: object, path: str) -> RegisteredProof:
    """The registered proof that a JSON value names.

    Raises  MalformedInput for anything but one of the twenty names
    """
    proof = registry.BY_NAME.get(value) if isinstance(value, str) else None
    if proof is None:
        names = f"one of {', '.join(registry.BY_NAME)}"
        raise MalformedInput("unknown registered_proof", file=file, where=path, expected=names, got=shown(value))
    return proof


def to_bincode(
    value: Any, file: object, prefix: str, has_booleans: bool, challenges: bytes | None = None
) -> tuple[RegisteredProof, bytes]:
    """The raw form, parsed, as registered proof and bincode bytes. `prefix` goes before every JSON path.

    `challenges` are the bytes of the vanilla proofs, if somebody else has read them.

    Raises  MalformedInput with JSON path, expected and got
    """
    keys = ("registered_proof", "vanilla_proofs", *COMMITMENTS)
    reader = Transcoder(file, registry.REGISTERED[0], has_booleans)
    name, vanilla, *commitments = reader.members(value, prefix.rstrip("."), keys)
    proof = registered_proof(name, file, f"{prefix}registered_proof")
    reader = Transcoder(file, proof, has_booleans)
    path = f"{prefix}vanilla_proofs"
    if not isinstance(vanilla, dict) or len(vanilla) != 1 or type(vanilla) is Repeated:
        reader.fail("wrong type", path, f"an object with the one key {proof.vanilla_key}", vanilla)
    if proof.vanilla_key not in vanilla:
        got = next(iter(vanilla))
        message = f"vanilla_proofs are {ascii(got)[1:-1][:80]} but registered_proof is {proof.name}"
        reader.fail(message, path, proof.vanilla_key, got)
    tail = [reader.hash(v, prefix + n) for n, v in zip(COMMITMENTS, commitments, strict=True)]
    refuse_zeros(dict(zip(COMMITMENTS, tail, strict=True)), file, {n: prefix + n for n in COMMITMENTS})
    if challenges is None:
        reader.vanilla_proofs(vanilla[proof.vanilla_key], f"{path}.{proof.vanilla_key}")
    else:
        reader.out.append(challenges)
    return proof, b"".join(reader.out + tail)


def refuse_zeros(values: dict[str, bytes], file: object, places: dict[str, str]) -> None:
    """Raise for commitments and seeds of 32 zero bytes, which upstream refuses too, and in its words."""
    messages = {
        "comm_d": "Invalid all zero commitment (comm_d)",
        "comm_r": "Invalid all zero commitment (comm_r)",
        "seed": "Invalid porep challenge seed",
    }
    for name, message in messages.items():
        if not any(values[name]):
            raise MalformedInput(message, file=file, where=places[name], expected="not zero", got="32 zero bytes")


def unwrap(value: Any, file: object, decoded: bytes | None = None) -> tuple[int, int, bytes]:
    """SectorNum, SectorSize and the raw form's bytes of a wrapper, which somebody else may have decoded.

    Raises  MalformedInput with JSON path, or offset within the base64 text
    """
    reader = Transcoder(file, registry.REGISTERED[0], False)
    number, payload, size = reader.members(value, "", WRAPPER_KEYS)
    number, size = reader.integer(number, "SectorNum", 64), reader.integer(size, "SectorSize", 64)
    if not isinstance(payload, str):
        reader.fail("wrong type", "Phase1Out", "a base64 string", payload)
    if decoded is not None:
        return number, size, decoded
    try:
        raw = base64.b64decode(payload, validate=True)
        if len(payload) == 4 * -(-len(raw) // 3) and base64.b64encode(raw).decode() == payload:
            return number, size, raw
    except (binascii.Error, ValueError):
        pass
    odd = re.search("[^A-Za-z0-9+/]", payload.rstrip("="))
    where = f"Phase1Out, character {odd.start() if odd else len(payload)}"
    got = ascii(payload[odd.start()]) if odd else f"{len(payload)} characters, padding or last bits wrong"
    raise MalformedInput("invalid base64", file=file, where=where, expected="standard base64 with padding", got=got)
