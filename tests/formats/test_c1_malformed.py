"""Malformed C1s: each is refused with its place, what was expected and what was found, and never with a traceback."""

from __future__ import annotations

import base64
import json

import pytest

from cuzk.errors import MalformedInput
from cuzk.field.params import R
from cuzk.formats import c1, c1_layout, registry
from cuzk.seal.sector import SECTORS
from tests.formats import c1_cases as cases

KEY = "StackedDrg2KiBV1"
PROOF = f"vanilla_proofs.{KEY}[0][1]"
BIG_R = list(R.to_bytes(32, "little"))


def refused(data: bytes) -> MalformedInput:
    with pytest.raises(MalformedInput) as caught:
        c1.loads(data, "file")
    error = caught.value
    assert error.file == "file"
    assert error.where or error.message == "empty file"
    assert error.got is not None
    assert len(str(error)) < 2000
    json.dumps(error.as_dict())
    return error


def put(value, path, new):
    """Set, or with `new` a function change, the node at a path such as `a.b[0]`."""
    keys = [int(k) if k.isdigit() else k for k in path.replace("[", ".").replace("]", "").split(".")]
    for key in keys[:-1]:
        value = value[key]
    value[keys[-1]] = new(value[keys[-1]]) if callable(new) else new


def drop(path):
    def change(value):
        head, _, last = path.rpartition(".")
        for key in head.replace("[", ".").replace("]", "").split(".") if head else []:
            value = value[int(key) if key.isdigit() else key]
        del value[last]

    return change


# place, new value, message, part of `expected`, part of `got`
MATRIX = [
    ("comm_r", [0] * 31, "wrong length", "list of 32", "list of 31"),
    ("comm_r", [0] * 33, "wrong length", "list of 32", "list of 33"),
    ("comm_r", None, "wrong type", "list of 32", "null"),
    ("comm_d", "00" * 32, "wrong type", "list of 32", "'0000"),
    ("seed[3]", 256, "byte out of range", "0 to 255", "256"),
    ("seed[3]", -1, "byte out of range", "0 to 255", "-1"),
    ("ticket[31]", 1.0, "wrong type", "integer", "1.0"),
    ("ticket[31]", True, "wrong type", "integer", "true"),
    ("ticket[31]", 10**30, "byte out of range", "0 to 255", "1000"),
    ("replica_id", {}, "wrong type", "list of 32", "object"),
    ("comm_r", BIG_R, "value ≥ r", "< r", hex(R)),
    ("comm_d", [255] * 32, "value ≥ r", "< r", "0xffff"),
    ("replica_id", BIG_R, "value ≥ r", "< r", hex(R)),
    ("comm_d", [0] * 32, "Invalid all zero commitment (comm_d)", "not zero", "zero"),
    ("comm_r", [0] * 32, "Invalid all zero commitment (comm_r)", "not zero", "zero"),
    ("seed", [0] * 32, "Invalid porep challenge seed", "not zero", "zero"),
    ("registered_proof", "StackedDrg4KiBV1_1", "unknown registered_proof", "StackedDrg2KiBV1_1", "StackedDrg4KiBV1_1"),
    ("registered_proof", "StackedDrg2KiBV1_1_Feat_NiPoRep", "unknown registered_proof", "", "NiPoRep"),
    ("registered_proof", 5, "unknown registered_proof", "", "5"),
    ("registered_proof", None, "unknown registered_proof", "", "null"),
    ("registered_proof", ["StackedDrg2KiBV1_1"], "unknown registered_proof", "", "list"),
    (f"vanilla_proofs.{KEY}", [], "C1 output contains no vanilla proofs", "", "empty"),
    (f"vanilla_proofs.{KEY}", [[]], "C1 output contains no vanilla proofs", "", "empty"),
    (f"vanilla_proofs.{KEY}", None, "wrong type", "list of 1", "null"),
    (f"vanilla_proofs.{KEY}[0]", None, "wrong type", "list of 2", "null"),
    (f"vanilla_proofs.{KEY}[0]", lambda v: v[:1], "wrong length", "list of 2", "list of 1"),
    (f"vanilla_proofs.{KEY}[0]", lambda v: v + v[:1], "wrong length", "list of 2", "list of 3"),
    (f"vanilla_proofs.{KEY}", lambda v: v + v, "wrong length", "list of 1", "list of 2"),
    (PROOF, None, "wrong type", "object", "null"),
    (f"{PROOF}.comm_d_proofs", [], "wrong type", "object", "list of 0"),
    (f"{PROOF}.comm_d_proofs.data", {}, "wrong variant", "Single", "object"),
    (f"{PROOF}.comm_d_proofs.data", {"Foo": 1}, "wrong variant", "Single", "Foo"),
    (f"{PROOF}.comm_d_proofs.data", lambda v: {"Sub": v["Single"]}, "wrong variant", "Single", "Sub"),
    (f"{PROOF}.comm_d_proofs.data", lambda v: {**v, "Sub": 1}, "wrong variant", "Single", "object"),
    (f"{PROOF}.comm_d_proofs.data.Single.path", [], "wrong type", "object with path", "list"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path", None, "wrong type", "list of 6", "null"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path", lambda v: v[1:], "wrong length", "list of 6", "list of 5"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].hashes", None, "wrong type", "list of 1", "null"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].hashes", [], "wrong length", "list of 1", "list of 0"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].hashes[0]", 32, "wrong type", "list of 32", "32"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].hashes[0]", "a" * 32, "wrong type", "list of 32", "aaa"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].hashes[0][5]", "7", "wrong type", "integer", "7"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].hashes[0][5]", 300, "byte out of range", "255", "300"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].hashes[0][5]", False, "wrong type", "integer", "false"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].hashes[0]", BIG_R, "value ≥ r", "< r", hex(R)),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].index", 2, "child index too large", "< 2", "2"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].index", -1, "integer out of range", "2**64", "-1"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].index", 1 << 64, "integer out of range", "2**64", "18446"),
    (f"{PROOF}.comm_d_proofs.data.Single.path.path[2].index", 0.0, "wrong type", "integer", "0.0"),
    (f"{PROOF}.comm_d_proofs.data.Single.leaf", BIG_R, "value ≥ r", "< r", hex(R)),
    (f"{PROOF}.comm_r_last_proof.data.Single.path.path[1].index", 8, "child index too large", "< 8", "8"),
    (f"{PROOF}.comm_r_last_proof.data.Single.path.path[1].hashes", lambda v: v[1:], "wrong length", "of 7", "of 6"),
    (f"{PROOF}.comm_r_last_proof.data.Single.root", BIG_R, "value ≥ r", "< r", hex(R)),
    (f"{PROOF}.replica_column_proofs.c_x.column.rows", lambda v: v[:1], "wrong length", "list of 2", "list of 1"),
    (f"{PROOF}.replica_column_proofs.c_x.column.rows[1]", BIG_R, "value ≥ r", "< r", hex(R)),
    (f"{PROOF}.replica_column_proofs.c_x.column._h", 0, "wrong type", "null", "0"),
    (f"{PROOF}.replica_column_proofs.c_x.column.index", 1 << 32, "integer out of range", "2**32", "4294967296"),
    (f"{PROOF}.replica_column_proofs.drg_parents", lambda v: v[:5], "wrong length", "list of 6", "list of 5"),
    (f"{PROOF}.replica_column_proofs.drg_parents[5].column.rows[0]", BIG_R, "value ≥ r", "< r", hex(R)),
    (f"{PROOF}.replica_column_proofs.exp_parents", None, "wrong type", "list of 8", "null"),
    (f"{PROOF}.replica_column_proofs.exp_parents[7].inclusion_proof", None, "wrong type", "object", "null"),
    (f"{PROOF}.replica_column_proofs.exp_parents[7].column._h", {}, "wrong type", "null", "object"),
    (f"{PROOF}.labeling_proofs", lambda v: v + v, "wrong length", "list of 2", "list of 4"),
    (f"{PROOF}.labeling_proofs[1].parents", lambda v: v[:36], "wrong length", "list of 37", "list of 36"),
    (f"{PROOF}.labeling_proofs[1].parents[36]", BIG_R, "value ≥ r", "< r", hex(R)),
    (f"{PROOF}.labeling_proofs[1].layer_index", "2", "wrong type", "integer", "2"),
    (f"{PROOF}.labeling_proofs[1].node", None, "wrong type", "integer", "null"),
    (f"{PROOF}.encoding_proof.parents[0]", BIG_R, "value ≥ r", "< r", hex(R)),
    (f"{PROOF}.encoding_proof.node", True, "wrong type", "integer", "true"),
]  # fmt: skip


@pytest.mark.parametrize(("place", "new", "message", "expected", "got"), MATRIX)
def test_one_spoilt_value(place, new, message, expected, got):
    value = cases.raw_value("2kib-v1_1")
    put(value, place, new)
    raw = cases.dumps(value)
    error = refused(raw)
    assert message in error.message
    assert place.startswith(error.where) or error.where.startswith(place), error.where
    assert expected in str(error.expected)
    assert got in str(error.got)
    wrapped = cases.dumps({"SectorNum": 8, "Phase1Out": base64.b64encode(raw).decode(), "SectorSize": 2048})
    assert refused(wrapped).where == "Phase1Out." + error.where


MISSING = [
    "registered_proof",
    "vanilla_proofs",
    "ticket",
    f"{PROOF}.comm_d_proofs",
    f"{PROOF}.encoding_proof",
    f"{PROOF}.comm_d_proofs.data",
    f"{PROOF}.comm_d_proofs.data.Single.root",
    f"{PROOF}.comm_d_proofs.data.Single.path.path[0].index",
    f"{PROOF}.replica_column_proofs.c_x",
    f"{PROOF}.replica_column_proofs.c_x.column._h",
    f"{PROOF}.replica_column_proofs.exp_parents[2].inclusion_proof",
    f"{PROOF}.labeling_proofs[0].layer_index",
]


@pytest.mark.parametrize("place", MISSING)
def test_missing_key(place):
    value = cases.raw_value("2kib-v1_1")
    drop(place)(value)
    error = refused(cases.dumps(value))
    head, _, key = place.rpartition(".")
    assert (error.message, error.where, error.expected) == ("missing key", head or "the top level", key)


@pytest.mark.parametrize("key", ["seed", "comm_d_proofs", "leaf", "index", "_h", "Single", KEY, "hashes", "node"])
def test_duplicate_key(key):
    raw = cases.raw_bytes("2kib-v1_1")
    start = raw.index(f'"{key}":'.encode())
    error = refused(raw[:start] + f'"{key}":null,'.encode() + raw[start:])
    assert error.message in ("duplicate key", "wrong variant", "wrong type")


SYNTAX = [
    (b"", "empty file", None),
    (b"{", "invalid JSON", "byte 1"),
    (b"[]", "wrong type", "the top level"),
    (b'"text"', "wrong type", "the top level"),
    (b"{}", "missing key", "the top level"),
    (b'{"comm_r":NaN}', "invalid JSON", "byte 10"),
    (b'{"a":"NaN","comm_r":-Infinity}', "invalid JSON", "byte 20"),
    (b'{"a":[1,2,]}', "invalid JSON", "byte 10"),
    (b'{"a":01}', "invalid JSON", "byte 6"),
    (b'{"a":1} x', "invalid JSON", "byte 8"),
    (b'{"a":"\xff"}', "not UTF-8", "byte 6"),
    ('{"é":NaN}'.encode(), "invalid JSON", "byte 6"),
    (b'{"a":' + b"[" * 100_000, "nested too deeply", "the top level"),
    (b'{"a":' * 5_000, "nested too deeply", "the top level"),
    (b'{"a":' + b"9" * 5_000 + b"}", "integer out of range", "byte 5"),
    (b'{"a":"' + b"9" * 5_000 + b'","b":-' + b"7" * 5_000 + b"}", "integer out of range", "byte 5012"),
    ('{"a":1}'.encode("utf-16"), "this is text in UTF-16", "byte 0"),
    ('{"a":1}'.encode("utf-16-le"), "this is text in UTF-16", "byte 0"),
    ('{"a":1}'.encode("utf-16-be"), "this is text in UTF-16", "byte 0"),
    ('{"a":1}'.encode("utf-32"), "this is text in UTF-32", "byte 0"),
    ('{"a":1}'.encode("utf-32-be"), "this is text in UTF-32", "byte 0"),
    (b"\xef\xbb\xbf{}" + bytes(100), "this is text in UTF-8 with a byte order mark", "byte 0"),
    (b"null", "wrong type", "the top level"),
    (b"true\n", "wrong type", "the top level"),
    (b"12", "wrong type", "the top level"),
    (b"-1.5e3", "wrong type", "the top level"),
    (b"NaN", "invalid JSON", "byte 0"),
    (b"\n -Infinity ", "invalid JSON", "byte 2"),
    (b"1.", "invalid JSON", "byte 1"),
    (b"hello" * 40, "neither JSON nor the bincode form of a C1", "byte 0"),
    (b"  ", "invalid JSON", "byte 2"),
    (b" \n\t ", "invalid JSON", "byte 4"),
    (b"hello", "neither JSON nor the bincode form of a C1", "byte 0"),
    (b"not a C1\n", "neither JSON nor the bincode form of a C1", "byte 0"),
]


@pytest.mark.parametrize(("data", "message", "where"), SYNTAX, ids=lambda v: ascii(v)[:24])
def test_syntax(data, message, where):
    error = refused(data)
    assert error.message == message
    assert where is None or error.where == where or error.where.startswith(where + " ")


WRAPPER = [
    ("SectorSize", 4096, "SectorSize and registered_proof disagree", "StackedDrg2KiBV1_1", "4096"),
    ("SectorSize", 34359738368, "SectorSize and registered_proof disagree", "2048 (StackedDrg2KiBV1_1)", "34359738368"),
    ("SectorSize", "2048", "wrong type", "an integer", "'2048'"),
    ("SectorNum", -1, "integer out of range", "2**64", "-1"),
    ("SectorNum", None, "wrong type", "an integer", "null"),
    ("Phase1Out", None, "wrong type", "base64", "null"),
    ("Phase1Out", [], "wrong type", "base64", "list"),
    ("Phase1Out", "", "invalid JSON", "JSON", "nothing"),
    ("Phase1Out", "e30=", "missing key", "registered_proof", "object"),
    ("Phase1Out", "e30", "invalid base64", "padding", "3 characters"),
    ("Phase1Out", "e31=", "invalid base64", "padding", "last bits"),
    ("Phase1Out", "e3 0=", "invalid base64", "standard base64", "' '"),
    ("Phase1Out", "e3-_", "invalid base64", "standard base64", "'-'"),
    ("Phase1Out", "e3é=", "invalid base64", "standard base64", "xe9"),
    ("Phase1Out", "====", "invalid base64", "standard base64", "4 characters"),
    ("Phase1Out", "\ud800", "invalid base64", "standard base64", "ud800"),
    ("Phase1Out", "/w==", "not UTF-8", "UTF-8", "0xff"),
]


@pytest.mark.parametrize(("key", "new", "message", "expected", "got"), WRAPPER)
def test_wrapper(key, new, message, expected, got):
    value = json.loads(cases.wrapper_bytes("2kib-v1_1"))
    value[key] = new
    error = refused(cases.dumps(value))
    assert error.message == message
    assert error.where.startswith(key)
    assert expected in str(error.expected)
    assert got in str(error.got)


def test_wrapper_keys():
    value = json.loads(cases.wrapper_bytes("2kib-v1_1"))
    for key in ("SectorNum", "SectorSize"):
        assert refused(cases.dumps({k: v for k, v in value.items() if k != key})).expected == key
    repeated = b'{"SectorNum":1,' + cases.wrapper_bytes("2kib-v1_1")[1:]
    assert refused(repeated).message == "duplicate key"


def test_size_names_are_held_against_each_other():
    value = cases.raw_value("2kib-v1_1")
    value["vanilla_proofs"] = {"StackedDrg8MiBV1": value["vanilla_proofs"][KEY]}
    error = refused(cases.dumps(value))
    assert "StackedDrg8MiBV1 " in error.message
    assert "StackedDrg2KiBV1_1" in error.message
    value["vanilla_proofs"] = {"StackedDrg2KiBV1_1": value["vanilla_proofs"]["StackedDrg8MiBV1"]}
    assert refused(cases.dumps(value)).expected == KEY
    value["vanilla_proofs"] = {}
    assert refused(cases.dumps(value)).message == "wrong type"
    # Shapes of another size under the right key.
    value = cases.raw_value("8mib-v1_1")
    value["registered_proof"] = "StackedDrg2KiBV1_1"
    value["vanilla_proofs"] = {KEY: value["vanilla_proofs"]["StackedDrg8MiBV1"]}
    assert refused(cases.dumps(value)).expected == "a list of 6"


def test_partitions_are_those_of_the_registered_proof():
    value = cases.raw_value("2kib-v1_1")
    value["registered_proof"] = "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep"
    error = refused(cases.dumps(value))
    assert (error.expected, error.got) == ("a list of 13", "a list of 1")


def _offset(field: str) -> int:
    """Byte offset of the count or first value of a leaf in the 2 KiB bincode form."""
    _, record = c1.c1_bincode.read(cases.bincode_bytes("2kib-v1_1"))
    base = c1_layout.address(record)
    leaf = next(x for x in c1_layout.leaves(record) if field in (x.template, x.template + "#" * (x.count is not None)))
    return leaf.offset((0,) * (leaf.array.ndim - leaf.is_hash), base)


DATA = "vanilla_proofs[][].comm_d_proofs.data.Single"
BINCODE = [
    ("vanilla_proofs#", (2).to_bytes(8, "little"), "neither JSON nor the bincode form"),
    ("vanilla_proofs#", bytes(8), "C1 output contains no vanilla proofs"),
    ("vanilla_proofs#", (10).to_bytes(8, "little"), "wrong number of partitions for 2KiB"),
    ("vanilla_proofs[]#", bytes(8), "C1 output contains no vanilla proofs"),
    ("vanilla_proofs[]#", (3).to_bytes(8, "little"), "wrong variant or length"),
    ("vanilla_proofs[]#", b"\xff" * 8, "wrong variant or length"),
    (f"{DATA}#", b"\1", "wrong variant or length"),
    (f"{DATA}.path.path#", b"\5", "no sector size has a tree D of this height"),
    (f"{DATA}.path.path#", b"\7", "wrong variant or length"),
    (f"{DATA}.path.path[].hashes#", b"\0", "wrong variant or length"),
    (f"{DATA}.path.path[].hashes#", b"\1\1", "wrong variant or length"),
    (f"{DATA}.path.path[].index", b"\2", "child index too large"),
    (f"{DATA}.path.path[].index", b"\0\0\0\0\0\0\0\1", "child index too large"),
    (f"{DATA}.root", bytes(BIG_R), "value ≥ r"),
    ("vanilla_proofs[][].replica_column_proofs.drg_parents#", b"\5", "wrong variant or length"),
    ("vanilla_proofs[][].replica_column_proofs.exp_parents#", b"\x09", "wrong variant or length"),
    ("vanilla_proofs[][].replica_column_proofs.exp_parents[].column.rows[]", bytes(BIG_R), "value ≥ r"),
    ("vanilla_proofs[][].labeling_proofs#", b"\xff", "wrong variant or length"),
    ("vanilla_proofs[][].labeling_proofs[].parents#", b"\x26", "wrong variant or length"),
    ("vanilla_proofs[][].encoding_proof.parents[]", b"\xff" * 32, "value ≥ r"),
    ("comm_r", bytes(32), "Invalid all zero commitment (comm_r)"),
    ("comm_d", bytes(32), "Invalid all zero commitment (comm_d)"),
    ("seed", bytes(32), "Invalid porep challenge seed"),
    ("comm_r", bytes(BIG_R), "value ≥ r"),
    ("replica_id", b"\xff" * 32, "value ≥ r"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "new", "message"), BINCODE)
def test_bincode_field(field, new, message):
    data = bytearray(cases.bincode_bytes("2kib-v1_1"))
    offset = _offset(field)
    data[offset : offset + len(new)] = new
    error = refused(bytes(data))
    assert message in error.message
    if "no sector" not in message and "path.path#" not in field:
        assert error.where.startswith(f"byte {offset} "), error.where


@pytest.mark.parametrize("cut", [1, 2, 7, 8, 15, 16, 83, 84, 91, 92, 1000, 14_036, 28_087, 28_247])
def test_bincode_truncated(cut):
    data = cases.bincode_bytes("2kib-v1_1")[:cut]
    error = refused(data)
    assert error.message == "truncated"
    assert f"{cut} bytes" in error.got
    assert "28248" in error.expected


@pytest.mark.parametrize("extra", [b"\0", b"x" * 7, b"\0" * 100_000])
def test_bincode_trailing(extra):
    error = refused(cases.bincode_bytes("4kib-v1_1") + extra)
    assert (error.message, error.where) == ("trailing bytes", "byte 30136")
    assert "30136 bytes (4KiB" in error.expected


def test_registered_names_are_all_offered():
    value = cases.raw_value("2kib-v1_1")
    value["registered_proof"] = "?"
    expected = refused(cases.dumps(value)).expected
    assert all(name in expected for name in registry.BY_NAME)


def nodes_of(value, path=()):
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from nodes_of(item, (*path, key))
    elif isinstance(value, list) and len(value) < 32:
        for i, item in enumerate(value):
            yield from nodes_of(item, (*path, i))


ODD_VALUES = [
    None,
    True,
    0,
    -1,
    255,
    256,
    1.5,
    1 << 32,
    1 << 64,
    10**400,
    "",
    "é\ud800",
    [],
    [[]],
    [0] * 32,
    {},
    {"": 0},
    {"Single": {}},
]


def test_fuzz_json_nodes(draw):
    """Any node replaced by an odd value: read or refused, nothing else."""
    rng = draw.random
    places = list(nodes_of(cases.raw_value("2kib-v1_1")))
    value = cases.raw_value("2kib-v1_1")
    for _ in range(400):
        path = rng.choice(places[1:])
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        old, holder[path[-1]] = holder[path[-1]], rng.choice(ODD_VALUES)
        try_to_read(cases.dumps(value), (draw, path, holder[path[-1]]))
        holder[path[-1]] = old


@pytest.mark.parametrize("form", ["bincode", "raw", "wrapper"])
@pytest.mark.parametrize("case", ["2kib-v1_1", "8mib-v1_1"])
def test_fuzz_bytes(form, case, draw):
    """Random cuts, flips, insertions and deletions: read or refused, nothing else."""
    rng = draw.random
    whole = getattr(cases, f"{form}_bytes")(case)
    for _ in range(150 if form == "bincode" else 60):
        data = bytearray(whole)
        kind = rng.randrange(4)
        if kind == 0:
            del data[rng.randrange(len(data)) :]
        elif kind == 1:
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif kind == 2:
            at = rng.randrange(len(data))
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        else:
            at = rng.randrange(len(data))
            del data[at : at + rng.randrange(1, 9)]
        try_to_read(bytes(data), (draw, kind))


def try_to_read(data: bytes, report: object) -> None:
    try:
        c1.loads(data, "file")
    except MalformedInput as error:
        json.dumps(error.as_dict())
        str(error).encode()
    except Exception as error:
        raise AssertionError(f"{report}: {error!r}") from error


def test_sizes_are_told_apart_by_tree_d():
    assert len({s.tree_d_levels for s in SECTORS}) == len(SECTORS)
