"""Files of randomness and of toxic waste: read exactly, refused without showing a value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuzk.errors import MalformedInput
from cuzk.field.params import R
from cuzk.formats import randomness, toxic_waste
from cuzk.groth16.setup import SCALARS
from tests.conftest import VECTORS, Draw


def le(value: int) -> str:
    return value.to_bytes(32, "little").hex()


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def entry(partition: Any, r: Any = 1, s: Any = 2) -> dict[str, Any]:
    return {"partition": partition, "r": le(r) if isinstance(r, int) else r, "s": le(s) if isinstance(s, int) else s}


def test_form_of_the_oracle() -> None:
    path = VECTORS / "groth16" / "porep-2kib-v1_1-proof.json"
    content = json.loads(path.read_text())["randomness"][0]
    r, s = randomness.read(path, [0])[0]
    assert (le(r), le(s)) == (content["r"], content["s"])


def test_values_and_order(tmp_path: Path, draw: Draw) -> None:
    values = draw.many(R, 8)
    content = {"randomness": [entry(k, values[k], values[-1 - k]) for k in (3, 0, 2, 1)], "proof": "00"}
    path = write(tmp_path / "r.json", content)
    assert randomness.read(path, [2, 0]) == {k: (values[k], values[-1 - k]) for k in (2, 0)}
    assert randomness.read(path, []) == {}


SECRET = "5ec3e7"
BAD_RANDOMNESS = {
    "empty": "",
    "not json": "{" + SECRET,
    "deep": "[" * 100_000,
    "array": [],
    "no key": {},
    "no array": {"randomness": {}},
    "entry is no object": {"randomness": [SECRET]},
    "no partition": {"randomness": [{"r": le(1), "s": le(1)}]},
    "partition is true": {"randomness": [entry(True)]},
    "negative partition": {"randomness": [entry(-1)]},
    "text partition": {"randomness": [entry("0")]},
    "twice": {"randomness": [entry(0), entry(0)]},
    "other partition": {"randomness": [entry(1)]},
    "no s": {"randomness": [{"partition": 0, "r": le(1)}]},
    "a number": {"randomness": [entry(0, r=7.5)]},
    "short": {"randomness": [entry(0, r=SECRET)]},
    "long": {"randomness": [entry(0, r=le(1) + "00")]},
    "not hex": {"randomness": [entry(0, r="g" * 64)]},
    "spaces": {"randomness": [entry(0, r="ab " * 21 + "a")]},
    "other digits": {"randomness": [entry(0, r="\u0661" * 64)]},
    "r": {"randomness": [entry(0, r=R)]},
    "all ones": {"randomness": [entry(0, s="ff" * 32)]},
    "a key twice": '{"randomness": [], "randomness": ' + json.dumps([entry(0)]) + "}",
    "r twice": json.dumps({"randomness": [entry(0)]}).replace('"r"', '"s"'),
    "NaN": '{"randomness": NaN}',
    "bad in another partition": {"randomness": [entry(0), entry(1, r=R)]},
}


@pytest.mark.parametrize("content", BAD_RANDOMNESS.values(), ids=BAD_RANDOMNESS.keys())
def test_bad_randomness(tmp_path: Path, content: Any) -> None:
    path = write(tmp_path / "r.json", content)
    with pytest.raises(MalformedInput) as caught:
        randomness.read(path, [0])
    assert caught.value.code == 3 and str(path) in str(caught.value)
    assert SECRET not in str(caught.value) and le(R) not in str(caught.value) and "ffff" not in str(caught.value)


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(MalformedInput, match="cannot be read"):
        randomness.read(tmp_path / "none", [0])


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MalformedInput):
        randomness.read(tmp_path / "r.json", [0])


WASTE = {name: le(5 + i) for i, name in enumerate(SCALARS)}


@pytest.mark.parametrize("content", [WASTE, {"setup": WASTE}, {**WASTE, "setup": {}}, {**WASTE, "h": ["7", "00"], "ic": 2}])
def test_waste_at_the_top_or_under_setup(tmp_path: Path, content: Any) -> None:
    waste = toxic_waste.read(write(tmp_path / "w.json", content))
    assert [getattr(waste, name) for name in SCALARS] == [5, 6, 7, 8, 9]


def test_waste_of_a_circuit_file() -> None:
    content = json.loads((VECTORS / "groth16/mixed/circuit.json").read_text())["setup"]
    waste = toxic_waste.read(VECTORS / "groth16/mixed/circuit.json")
    assert [le(getattr(waste, name)) for name in SCALARS] == [content[name] for name in SCALARS]


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.parametrize("value", [None, 7, "", SECRET, le(0), le(R), "ff" * 32, "zz" * 32, [le(1)]], ids=range(9))
def test_bad_waste(tmp_path: Path, name: str, value: Any) -> None:
    path = write(tmp_path / "w.json", {**WASTE, name: value})
    with pytest.raises(MalformedInput) as caught:
        toxic_waste.read(path)
    text = str(caught.value)
    assert name in text and str(path) in text and SECRET not in text and "ffff" not in text and "0505" not in text


@pytest.mark.parametrize("content", ["", "[]", {"setup": []}, {"setup": {}}, {}])
def test_other_forms_of_waste(tmp_path: Path, content: Any) -> None:
    with pytest.raises(MalformedInput):
        toxic_waste.read(write(tmp_path / "w.json", content))


def test_waste_is_never_printed(tmp_path: Path) -> None:
    waste = toxic_waste.read(write(tmp_path / "w.json", {name: le(123456789) for name in SCALARS}))
    assert "123456789" not in repr(waste) and "123456789" not in str(waste)
