"""Explicit constraint systems: the four of the Rust stack, and what is refused."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from cuzk.errors import MalformedInput
from cuzk.field.limbs import fr_ints
from cuzk.field.params import R
from cuzk.formats import circuit
from cuzk.formats.circuit import load
from cuzk.r1cs.digest import digest
from tests.circuits.expansion import rows
from tests.conftest import ROOT, VECTORS

CIRCUITS = ["cubic", "mixed", "full-domain", "one-over"]


def source(name):
    return VECTORS / "r1cs" / f"{name}.json"


@pytest.mark.parametrize("name", CIRCUITS)
def test_digest_and_assignment(name):
    given = json.loads(source(name).read_text())
    shape, witness = load(source(name))
    assert shape.name == name
    assert digest(shape)["digest"] == given["digest"]
    assert fr_ints(witness.inputs_mont) == [int(v, 16) for v in given["inputs"]]
    assert fr_ints(witness.elems_mont) == [int(v, 16) for v in given["aux"]]
    assert (shape.num_bits, shape.repeats, len(witness.bits)) == (0, 0, 0)
    assert shape.num_rows == len(given["rows"])


@pytest.mark.parametrize("name", CIRCUITS)
def test_rows_hold(name):
    shape, witness = load(source(name))
    values = {"I": fr_ints(witness.inputs_mont), "A": fr_ints(witness.elems_mont)}
    for row in rows(shape):
        a, b, c = (sum(k * values[kind][i] for (kind, i), k in lc.items()) for lc in row)
        assert (a * b - c) % R == 0


@pytest.mark.parametrize(
    ("name", "points"), [("cubic", (5, 2)), ("mixed", (74, 64)), ("full-domain", (162, 171)), ("one-over", (183, 178))]
)
def test_densities_give_the_lengths_of_the_queries(name, points):
    """Numbers of points of A and B in the parameter files that bellperson wrote for these circuits."""
    shape, _ = load(source(name))
    found = digest(shape)
    assert (shape.num_inputs + found["a_aux_density"], found["b_input_density"] + found["b_aux_density"]) == points


def test_domains():
    assert [load(source(name))[0].domain_log2 for name in CIRCUITS] == [3, 7, 8, 9]


def write(tmp_path, document):
    path = tmp_path / "circuit.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@pytest.fixture
def cubic():
    return json.loads(source("cubic").read_text())


def test_terms_of_one_variable_are_added(tmp_path, cubic):
    other = copy.deepcopy(cubic)
    kind, index, _ = other["rows"][0][0][0]
    other["rows"][0][0] = [[kind, index, hex(R - 1)], [kind, index, "0x2"]]
    other["rows"][1][1].append(["A", 2, "0x0"])
    other["rows"][1][1] += [["I", 1, "0x5"], ["I", 1, hex(R - 5)]]
    assert digest(load(write(tmp_path, other))[0])["digest"] == cubic["digest"]


def test_no_aux_and_no_rows(tmp_path):
    shape, witness = load(write(tmp_path, {"inputs": ["0x1"], "aux": [], "rows": []}))
    assert (shape.num_inputs, shape.num_aux, shape.num_rows, shape.name) == (1, 0, 0, "circuit")
    assert witness.elems_mont.shape == (0, 4)
    assert witness.elems_mont.dtype == np.uint64


def put(*path_and_value):
    *path, value = path_and_value

    def change(document):
        node = document
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value

    return change


FAULTS = {
    "inputs missing": (lambda d: d.pop("inputs"), "$"),
    "aux missing": (lambda d: d.pop("aux"), "$"),
    "rows missing": (lambda d: d.pop("rows"), "$"),
    "inputs no list": (put("inputs", {}), "$.inputs"),
    "aux no list": (put("aux", "0x1"), "$.aux"),
    "rows no list": (put("rows", 3), "$.rows"),
    "no ONE": (put("inputs", []), "$.inputs[0]"),
    "first input not one": (put("inputs", 0, "0x2"), "$.inputs[0]"),
    "input no hex": (put("inputs", 1, "12"), "$.inputs[1]"),
    "input a number": (put("inputs", 1, 35), "$.inputs[1]"),
    "aux is r": (put("aux", 2, hex(R)), "$.aux[2]"),
    "aux too long": (put("aux", 2, "0x" + "0" * 65), "$.aux[2]"),
    "aux negative": (put("aux", 0, "-0x1"), "$.aux[0]"),
    "aux null": (put("aux", 0, None), "$.aux[0]"),
    "row no list": (put("rows", 1, "x"), "$.rows[1]"),
    "row of two": (put("rows", 1, [[], []]), "$.rows[1]"),
    "combination no list": (put("rows", 1, 2, {}), "$.rows[1][2]"),
    "term of two": (put("rows", 2, 0, 1, ["A", 0]), "$.rows[2][0][1]"),
    "kind": (put("rows", 2, 0, 1, 0, "B"), "$.rows[2][0][1][0]"),
    "kind a list": (put("rows", 2, 0, 1, 0, ["A"]), "$.rows[2][0][1][0]"),
    "aux index": (put("rows", 0, 0, 0, 1, 3), "$.rows[0][0][0][1]"),
    "input index": (put("rows", 0, 0, 0, ["I", 2, "0x1"]), "$.rows[0][0][0][1]"),
    "negative index": (put("rows", 0, 0, 0, 1, -1), "$.rows[0][0][0][1]"),
    "index true": (put("rows", 0, 0, 0, 1, True), "$.rows[0][0][0][1]"),
    "index a float": (put("rows", 0, 0, 0, 1, 0.0), "$.rows[0][0][0][1]"),
    "coefficient is r": (put("rows", 0, 0, 0, 2, hex(R)), "$.rows[0][0][0][2]"),
    "coefficient empty": (put("rows", 0, 0, 0, 2, "0x"), "$.rows[0][0][0][2]"),
    "name a path": (put("name", "../x"), "$.name"),
    "name a number": (put("name", 1), "$.name"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_named(fault, tmp_path, cubic):
    change, where = FAULTS[fault]
    change(cubic)
    path = write(tmp_path, cubic)
    with pytest.raises(MalformedInput) as caught:
        load(path)
    assert (caught.value.where, caught.value.file) == (where, str(path))
    assert caught.value.expected


NO_CIRCUITS = [
    "",
    "[",
    "[]",
    "null",
    '"x"',
    "{" * 100000,
    "\ud800",
    "[" * 100000,
    '{"aux": [], "aux": []}',
    '{"x": NaN}',
    "9" * 9999,
]


@pytest.mark.parametrize("text", NO_CIRCUITS, ids=range(len(NO_CIRCUITS)))
def test_other_files_are_refused(text, tmp_path):
    path = tmp_path / "circuit.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(MalformedInput):
        load(path)


@pytest.mark.parametrize("change", [put("aux", 1, "0xSECRET"), put("aux", "0xSECRET"), put("aux", 1, ["SECRET"])])
def test_witness_values_are_not_shown(change, tmp_path, cubic):
    change(cubic)
    with pytest.raises(MalformedInput) as caught:
        load(write(tmp_path, cubic))
    assert "SECRET" not in str(caught.value) + json.dumps(caught.value.as_dict())


def test_a_missing_file_and_a_directory_are_named(tmp_path):
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(MalformedInput, match="cannot be read"):
            load(path)


def test_circuits_are_told_from_other_files() -> None:
    assert circuit.is_circuit(VECTORS / "groth16/cubic/circuit.json")
    assert not circuit.is_circuit(ROOT / "examples/c1-2kib.json")
    assert not circuit.is_circuit(VECTORS / "groth16/cubic/cubic.vk")


@pytest.mark.parametrize("key", ["inputs", "aux", "rows"])
def test_a_circuit_without_one_of_its_keys_is_still_one(key, tmp_path, cubic):
    del cubic[key]
    path = write(tmp_path, cubic)
    assert circuit.is_circuit(path)
    with pytest.raises(MalformedInput, match=f'the key "{key}" is missing') as caught:
        load(path)
    assert caught.value.where == "$" and key in str(caught.value.expected)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_another_encoding_is_named(encoding, tmp_path, cubic):
    path = tmp_path / "circuit.json"
    path.write_bytes(json.dumps(cubic).encode(encoding))
    with pytest.raises(MalformedInput, match="this is text in UTF") as caught:
        load(path)
    assert caught.value.expected == "UTF-8 without a byte order mark"


def test_describe_counts() -> None:
    facts = circuit.describe(VECTORS / "groth16/full-domain/circuit.json")
    assert facts["groth16_rows"] == 256
    assert facts["domain_log2"] == 8


def test_a_digest_of_other_rows_is_refused(tmp_path):
    content = json.loads((VECTORS / "groth16/cubic/circuit.json").read_text())
    content["digest"] = "00" * 32
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(MalformedInput) as caught:
        circuit.load(tmp_path / "c.json")
    assert caught.value.where == "$.digest"
