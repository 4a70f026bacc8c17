"""`cuzk fixture`: forms, files, the verifier's facts, and what is refused."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from cuzk.cli import cli, main
from cuzk.fixture import fabricate
from cuzk.formats import c1, c1_resolve, registry
from cuzk.formats.c1_check import check
from cuzk.seal.sector import SECTORS, parse
from tests.conftest import VECTORS

DETECTED = {"W": "wrapper", "J": "json", "B": "bincode"}
UNREGISTERED = ["4KiB", "16KiB", "32KiB", "16MiB", "1GiB"]


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    """Through the entry point, which maps errors to exit codes."""
    with pytest.raises(SystemExit) as left:
        main([str(a) for a in arguments])
    out = capsys.readouterr()
    return left.value.code, out.out, out.err


def read_back(path, size: str, **ids):
    read = c1.load(path)
    if size in UNREGISTERED:
        rule = {"porep_id": registry.porep_id(5), "api_version": "1.1.0"}
    else:
        rule = {"registered_proof": registry.parse(f"StackedDrg{size}V1_1")}
    facts = c1_resolve.resolve(read, ids.get("miner", 1000), ids.get("sector", 1), **rule)
    check(read, facts)
    return read, facts


@pytest.mark.parametrize("size", [s.name for s in SECTORS if s.layers == 2])
def test_default_form_is_read_back(size, tmp_path, capsys):
    path, expected = tmp_path / "c1", tmp_path / "expected.json"
    code, out, _ = run(capsys, "fixture", size, "-o", path, "--expected", expected, "--json")
    result = json.loads(out)
    read, facts = read_back(path, size)
    form = "B" if size in UNREGISTERED else "W"
    assert (code, result["form"], read.form) == (0, form, DETECTED[form])
    assert (result["bytes"], result["registered_proof"]) == (path.stat().st_size, facts.registered_proof)
    assert result["commitments"]["comm_r"] == read.comm_r.hex()
    wanted = json.loads(expected.read_text())
    assert wanted["public_inputs_le"] == [[v.to_bytes(32, "little").hex() for v in facts.public_inputs(0)]]
    assert (wanted["miner_id"], wanted["sector_number"], wanted["sector_size"]) == (1000, 1, parse(size).size)


@pytest.mark.parametrize("form", ["W", "J", "B", "b"])
@pytest.mark.parametrize("size", ["2KiB", "8mib"])
def test_forms_hold_the_same(size, form, tmp_path, capsys):
    name = parse(size).name
    code, out, _ = run(capsys, "fixture", size, "-o", tmp_path / "c1", "--form", form, "--miner", 7, "--sector", 300, "--seed", 5)
    read, facts = read_back(tmp_path / "c1", name, miner=7, sector=300)
    assert (code, read.form, facts.ids_checked) == (0, DETECTED[form.upper()], True)
    assert read.sector_number == (300 if form == "W" else None)
    memory = fabricate.fabricate(parse(size), 7, 300, 5)
    assert (read.comm_r, read.replica_id, read.seed) == (memory.comm_r, memory.replica_id, memory.seed)
    assert "the fixture's own ids: miner 7, sector 300, seed 5" in out
    assert "cuzk prove" in out and "--miner 7" in out


@pytest.mark.slow
@pytest.mark.parametrize("size", [s.name for s in SECTORS if s.layers != 2])
def test_large_wrapper_is_read_back(size, tmp_path, capsys):
    code, _, _ = run(capsys, "fixture", size, "-o", tmp_path / "c1")
    assert code == 0
    assert read_back(tmp_path / "c1", size)[0].form == "wrapper"


@pytest.mark.parametrize(("size", "case"), [("2KiB", "2kib-v1_1"), ("8MiB", "8mib-v1_1"), ("4KiB", "4kib-v1_1")])
def test_expected_has_the_keys_of_the_rust_stack(size, case, tmp_path, capsys):
    code, _, _ = run(capsys, "fixture", size, "-o", tmp_path / "c1", "--expected", tmp_path / "e.json")
    ours = json.loads((tmp_path / "e.json").read_text())
    theirs = json.loads((VECTORS / "c1" / case / "expected.json").read_text())
    assert code == 0
    assert list(ours) == sorted(theirs)
    for name, value in theirs.items():
        assert type(ours[name]) is type(value), name
        if isinstance(value, str):
            assert len(ours[name]) == len(value), name
    assert [len(p) for p in ours["public_inputs_le"]] == [len(p) for p in theirs["public_inputs_le"]]
    same = {
        "api_version",
        "partitions",
        "porep_id",
        "porep_config",
        "registered_proof",
        "registered_suffix",
        "sector_size",
        "version",
    }
    assert {k: ours[k] for k in same & set(theirs)} == {k: theirs[k] for k in same & set(theirs)}


def test_deterministic(tmp_path, capsys):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run(capsys, "fixture", "2KiB", "-o", tmp_path / name, "--seed", seed)[0] == 0
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c


def test_defaults_are_those_of_the_library():
    defaults = {p.name: p.default for p in cli.commands["fixture"].params}
    assert [defaults[k] for k in ("miner", "sector_number", "seed")] == [fabricate.MINER, fabricate.SECTOR_NUMBER, fabricate.SEED]
    shown = CliRunner().invoke(cli, ["fixture", "--help"]).output
    assert all(f"[default: {v}]" in shown for v in (fabricate.MINER, fabricate.SECTOR_NUMBER, fabricate.SEED))


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (["3KiB", "-o", "c1"], 2, "unknown sector size"),
        (["0", "-o", "c1"], 2, "unknown sector size"),
        (["2KiB"], 2, "--output"),
        (["2KiB", "-o", "c1", "--form", "X"], 2, "--form"),
        *((([size, "-o", "c1", "--form", form]), 2, f"no form {form}") for size in UNREGISTERED for form in "WJ"),
        (["2KiB", "-o", "c1", "--miner", "-1"], 2, "--miner"),
        (["2KiB", "-o", "c1", "--miner", 1 << 63], 2, "--miner"),
        (["2KiB", "-o", "c1", "--sector", "-1"], 2, "--sector"),
        (["2KiB", "-o", "c1", "--sector", 1 << 63], 2, "--sector"),
        (["2KiB", "-o", "c1", "--seed", "-1"], 2, "--seed"),
        (["2KiB", "-o", "c1", "--seed", 1 << 64], 2, "--seed"),
        (["2KiB", "-o", "c1", "--seed", "x"], 2, "--seed"),
        (["2KiB", "-o", "absent/c1"], 2, "does not exist"),
        (["2KiB", "-o", "c1", "--expected", "absent/e"], 2, "does not exist"),
        (["2KiB", "-o", "."], 2, "directory"),
        (["2KiB", "-o", "c1", "--expected", "./c1"], 2, "one file"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_refusals_write_nothing(arguments, code, word, as_json, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    got, out, err = run(capsys, "fixture", *arguments, *(["--json"] if as_json else []))
    assert got == code
    assert list(tmp_path.iterdir()) == []
    if as_json:
        error = json.loads(out)["error"]
        assert error["code"] == code and err == ""
        assert word in json.dumps(error)
    else:
        assert out == "" and word in err


@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full or /proc")
def test_places_that_cannot_be_written(capsys):
    code, out, err = run(capsys, "fixture", "2KiB", "-o", "/proc/c1")
    assert (code, out) == (7, "")
    assert "/proc" in err
