"""The quick reader of JSON forms reads what the strict one reads, and leaves everything else to it."""

from __future__ import annotations

import base64
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from cuzk.commands import fixture
from cuzk.errors import MalformedInput
from cuzk.fixture import fabricate
from cuzk.formats import c1, c1_plain, registry
from cuzk.seal import sector
from tests.conftest import Draw
from tests.formats import c1_cases as cases


def wrapped(raw: bytes, **others: Any) -> bytes:
    content = {"SectorNum": 1, "Phase1Out": base64.b64encode(raw).decode(), "SectorSize": 2048} | others
    return json.dumps(content, separators=(",", ":")).encode()


@pytest.fixture(scope="module")
def raw() -> bytes:
    made = fabricate.fabricate(sector.parse("2KiB"), 1000, 1, 7)
    return fixture.encode(made, "J")


def outcome(data: bytes, read: Any) -> Any:
    try:
        return read(data, None)
    except MalformedInput as error:
        return error.as_dict()


def test_both_forms_are_read_here(raw: bytes) -> None:
    assert c1_plain.read(raw, None) == c1._strictly(raw, None)
    data = wrapped(raw)
    found = c1_plain.read(data, None)
    assert found is not None and found == c1._strictly(data, None)
    assert (found.form, found.number, found.size) == ("wrapper", 1, 2048)


@pytest.mark.parametrize("name", ["512MiB", "8MiB"])
def test_several_challenges(name: str) -> None:
    made = fabricate.fabricate(sector.parse(name), 1000, 1, 7)
    data = fixture.encode(made, "W")
    assert c1_plain.read(data, None) == c1._strictly(data, None) is not None


@pytest.mark.parametrize("seed", range(6))
def test_changed_bytes(raw: bytes, seed: int, draw: Draw) -> None:
    """Whatever one byte becomes, the quick reader accepts it only if the strict one does, with the same result."""
    first, last = raw.find(b"[[{"), raw.rfind(b"}]]")
    random = draw.random
    for _ in range(40):
        at = random.choice([random.randrange(len(raw)), random.randrange(first, last), random.randrange(first), last + 3])
        byte = bytes([random.choice(b'0123456789,:{}[]"\\ \n\teE+-.nulabcz\x00\x7f\xc3')])
        changed = raw[:at] + byte + raw[at + random.choice([0, 1, 1]) :]
        quick = c1_plain.read(changed, None)
        if quick is not None:
            assert quick == outcome(changed, c1._strictly), (at, byte, draw)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'{"path":[{"hashes":[[', b'{"path":[{"hashes":[[0,'),
        (b'"index":', b'"index" :'),
        (b'"index":', b'"index":-'),
        (b'"index":', b'"index":0'),
        (b'"_h":null', b'"_h":nu ll'),
        (b'"_h":null', b'"_h":0'),
        (b'"layer_index":', b'"other":1,"layer_index":'),
        (b'"layer_index":', b'"layer_index":99999999999'),
        (b'"layer_index":', b'"layer_index":7,"layer_index":'),
        (b'"hashes":[[', b'"hashes":[[true,'),
        (b'"registered_proof":"', b'"registered_proof":"x'),
        (b'"registered_proof":', b'"vanilla_proofs":[[{"a":1}]],"registered_proof":'),
        (b'"registered_proof":', b'"Phase1Out":"AAAA","registered_proof":'),
        (b'"registered_proof":', b'"Phase1Out":5,"registered_proof":'),
        (b'{"registered_proof":', b'{"x":"' + b"x" * (1 << 17) + b'","registered_proof":'),
        (b'"replica_id":', b'"Phase1Out":"AAAA","replica_id":'),
        (b'"replica_id":', b'"Phase1Out":[1],"replica_id":'),
        (b'"replica_id":', b'"y":"' + b"y" * (1 << 17) + b'","replica_id":'),
    ],
)
@pytest.mark.parametrize("where", ["first", "last"])
def test_other_texts(raw: bytes, old: bytes, new: bytes, where: str) -> None:
    at = raw.find(old) if where == "first" else raw.rfind(old)
    changed = raw[:at] + new + raw[at + len(old) :]
    assert changed != raw
    quick = c1_plain.read(changed, None)
    assert quick is None or quick == outcome(changed, c1._strictly)
    assert outcome(changed, lambda data, file: c1.loads(data, file).comm_r) == outcome(
        changed, lambda data, file: c1._strictly(data, file) and c1.loads(data, file).comm_r
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'"Phase1Out":"', b'"Phase1Out":"A'),
        lambda data: data.replace(b'"Phase1Out":"', b'"Phase1Out":"\\u0041'),
        lambda data: data.replace(b'"Phase1Out":"', b'"Phase1Out":"*').replace(b'=="', b'"').replace(b'="', b'"'),
        lambda data: data.replace(b'"Phase1Out"', b'"Phase1Out":"AAAA","Phase1Out"'),
        lambda data: data.replace(b'"SectorNum":1', b'"SectorNum":-1'),
        lambda data: data + b" x",
        lambda data: data[:-3],
        lambda data: b'{"a":"\\"Phase1Out\\":\\"",' + data[1:],
        lambda data: data.replace(b'"SectorNum":1', b'"SectorNum":"d4735e3a265e16ee"'),
    ],
)
def test_other_wrappers(raw: bytes, change: Any) -> None:
    changed = change(wrapped(raw))
    quick = c1_plain.read(changed, None)
    assert quick is None or quick == outcome(changed, c1._strictly)
    assert outcome(changed, c1._strictly) == (quick or outcome(changed, c1._strictly))


@pytest.fixture(scope="module")
def thirteen() -> bytes:
    """Thirteen partitions of two challenges."""
    content = cases.load("2kib-non-interactive")
    proof = registry.BY_NAME["StackedDrg2KiBV1_2_Feat_NonInteractivePoRep"]
    return fixture.encode(dataclasses.replace(content, registered_proof=proof), "J")


def test_several_partitions(thirteen: bytes) -> None:
    found = c1_plain.read(thirteen, None)
    assert found is not None and found == c1._strictly(thirteen, None)
    assert found.payload == cases.bincode_bytes("2kib-non-interactive")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"}],[{", b"},{"),
        (b"}],[{", b"} ],[{"),
        (b"}],[{", b"}],[],[{"),
        (b"}],[{", b"}],\n[{"),
        (b"}],[{", b"}][{"),
        (b"}],[{", b"}],[{},{"),
        (b'},{"comm_d_proofs"', b'}],[{"comm_d_proofs"'),
        (b'},{"comm_d_proofs"', b'};{"comm_d_proofs"'),
        (b'},{"comm_d_proofs"', b'},,{"comm_d_proofs"'),
        (b'},{"comm_d_proofs"', b'},{"comm_d_proofs":0,"comm_d_proofs"'),
    ],
)
@pytest.mark.parametrize("where", ["first", "last"])
def test_borders_are_where_they_belong(thirteen: bytes, old: bytes, new: bytes, where: str) -> None:
    at = thirteen.find(old) if where == "first" else thirteen.rfind(old)
    changed = thirteen[:at] + new + thirteen[at + len(old) :]
    assert at > 0 and c1_plain.read(changed, None) is None


def test_a_challenge_may_not_be_missing_or_once_too_many(thirteen: bytes) -> None:
    first = thirteen.find(b"[[{") + 2
    second = thirteen.find(b',{"comm_d_proofs"', first)
    for changed in (
        thirteen[:first] + thirteen[second + 1 :],
        thirteen[:second] + thirteen[first - 1 : second] + thirteen[second:],
    ):
        assert c1_plain.read(changed, None) is None
        with pytest.raises(MalformedInput):
            c1.loads(changed)


def test_files_are_read_in_pieces(thirteen: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c1, "_PIECE", 1000)
    path = tmp_path / "c1.json"
    path.write_bytes(thirteen)
    with path.open("rb") as file:
        assert c1._read(file, len(thirteen)) == thirteen
        assert c1._read(file, len(thirteen) + 5000) == thirteen  # it has become shorter
        assert len(c1._read(file, 0)) == 0
