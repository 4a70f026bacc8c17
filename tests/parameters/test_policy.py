"""Which parameter files are taken, that every fault is found first, and how development parameters come to be."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cuzk import config
from cuzk.circuits.params import porep_shape
from cuzk.errors import CuzkError, MalformedInput, ParametersError, ResourceError, UsageError
from cuzk.formats import circuit, manifest, remember, shapes, srs, toxic_waste
from cuzk.groth16.setup import SCALARS, development_waste
from cuzk.parameters import development, policy
from cuzk.progress import Progress
from cuzk.spec import groth16, keys
from cuzk.spec import r1cs as spec_r1cs
from cuzk.spec.engine import BLS12_381
from tests.conftest import ROOT, VECTORS

CUBIC = VECTORS / "groth16" / "cubic"
GIB = 1 << 30


class Lines(Progress):
    """Keeps the lines that would go to stderr."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def lines() -> Lines:
    return Lines()


COMPILED = config.cache_dir() / "jit"


@pytest.fixture(autouse=True)
def cache(fresh_cache: Path) -> Path:
    return fresh_cache


@pytest.fixture
def compiled(cache: Path) -> None:
    """An empty cache directory but for compiled code, for tests that start processes."""
    COMPILED.mkdir(parents=True, exist_ok=True)
    cache.mkdir()
    (cache / "jit").symlink_to(COMPILED)


@pytest.fixture
def filecoin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "filecoin"
    directory.mkdir()
    monkeypatch.setenv("FIL_PROOFS_PARAMETER_CACHE", str(directory))
    return directory


@pytest.fixture(scope="module")
def cubic() -> Any:
    return circuit.load(CUBIC / "circuit.json")[0]


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A directory with the Rust stack's files under our name, without a sidecar."""
    directory = tmp_path / "given"
    directory.mkdir()
    for ending in ("params", "vk"):
        shutil.copy(CUBIC / f"cubic.{ending}", directory / f"cuzk-dev-cubic.{ending}")
    return directory


def stem(size: int) -> str:
    return porep_shape(size).file_stem


# Policy


def test_auto_takes_filecoins_file(filecoin: Path, lines: Lines) -> None:
    for size in (2048, 32 * GIB):
        (filecoin / f"{stem(size)}.params").touch()
        found = policy.locate(size, "auto", lines)
        assert (found.kind, found.params, found.vk) == (
            "filecoin",
            filecoin / f"{stem(size)}.params",
            filecoin / f"{stem(size)}.vk",
        )
        assert found.entry is not None and found.entry.sector_size == size


def test_auto_takes_a_private_file_for_an_unpublished_size(filecoin: Path, lines: Lines) -> None:
    (filecoin / f"{stem(4096)}.params").touch()
    found = policy.locate(4096, "auto", lines)
    assert found.kind == "explicit" and found.entry is None


@pytest.mark.parametrize("size", [2048, 4096, 512 << 20, GIB])
def test_auto_falls_back_for_test_sizes(filecoin: Path, cache: Path, lines: Lines, size: int) -> None:
    found = policy.locate(size, "auto", lines)
    assert found.kind == "development" and found.params.parent == cache / "params"


@pytest.mark.parametrize("size", [32 * GIB, 64 * GIB])
@pytest.mark.parametrize("exists", [True, False])
def test_auto_refuses_large_sizes(filecoin: Path, lines: Lines, size: int, exists: bool) -> None:
    if not exists:
        filecoin.rmdir()
    with pytest.raises(ParametersError) as caught:
        policy.locate(size, "auto", lines)
    text = str(caught.value)
    wanted = f"{stem(size)}.params"
    assert caught.value.code == 5
    entry = manifest.load().of(wanted)
    assert entry is not None
    for word in (
        wanted,
        str(filecoin),
        "FIL_PROOFS_PARAMETER_CACHE",
        "fetch",
        "--params DIR",
        "filecoin-proofs 19.1.0",
        entry.digest,
    ):
        assert word in text
    assert ("no such file" if exists else "no such directory") in text


def test_dev_never_looks_at_filecoins(filecoin: Path, lines: Lines) -> None:
    (filecoin / f"{stem(2048)}.params").touch()
    assert policy.locate(2048, "dev", lines).kind == "development"


def test_directory_has_filecoins_name_first(tmp_path: Path, lines: Lines) -> None:
    ours, theirs = tmp_path / "cuzk-dev-porep-2kib.params", tmp_path / f"{stem(2048)}.params"
    ours.touch()
    assert policy.locate(2048, str(tmp_path), lines).params == ours
    theirs.touch()
    found = policy.locate(2048, str(tmp_path), lines)
    assert (found.params, found.kind) == (theirs, "explicit")


@pytest.mark.parametrize("exists", [True, False])
def test_directory_without_them(tmp_path: Path, lines: Lines, exists: bool, cubic: Any) -> None:
    directory = tmp_path if exists else tmp_path / "none"
    with pytest.raises(ParametersError) as caught:
        policy.locate(2048, str(directory), lines)
    text = str(caught.value)
    for word in (f"{stem(2048)}.params", "cuzk-dev-porep-2kib.params", str(directory), "--params"):
        assert word in text
    with pytest.raises(ParametersError, match=r"cuzk-dev-cubic\.params"):
        policy.locate_circuit(CUBIC / "circuit.json", cubic, str(directory))


def test_unknown_size(lines: Lines) -> None:
    with pytest.raises(UsageError):
        policy.locate(2049, "auto", lines)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 101, "a b", "é", "a\n"])
def test_names_that_are_no_file_names(name: str, cubic: Any) -> None:
    with pytest.raises(MalformedInput):
        policy.locate_circuit(CUBIC / "circuit.json", dataclasses.replace(cubic, name=name), "dev")


# Checks


def opened(given: Path, shape: Any, lines: Lines, verify: str = "cached") -> policy.Parameters:
    return policy.open_checked(policy.locate_circuit(CUBIC / "circuit.json", shape, str(given)), shape, verify, lines)


def fault(given: Path, shape: Any, lines: Lines, verify: str = "cached") -> ParametersError:
    with pytest.raises(ParametersError) as caught:
        opened(given, shape, lines, verify)
    assert caught.value.code == 5 and str(given) in str(caught.value)
    return caught.value


def test_good_file(given: Path, cubic: Any, lines: Lines) -> None:
    found = opened(given, cubic, lines)
    facts = json.loads((CUBIC / "circuit.json").read_text())["setup"]
    path = given / "cuzk-dev-cubic.params"
    assert found.as_dict() == {
        "kind": "explicit",
        "path": str(path),
        "digest": f"sha256:{facts['params_sha256']}",
        "vk": str(given / "cuzk-dev-cubic.vk"),
        "accepted_by_chain": False,
        "folded": False,
    }
    assert found.h_be.shape == (7, 96) and found.b_g2_be.shape == (2, 192)
    assert found.vk is not None
    assert sorted(p.name for p in given.iterdir()) == ["cuzk-dev-cubic.params", "cuzk-dev-cubic.vk"]


def test_whole_file_is_read_once(given: Path, cubic: Any, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []
    whole = policy._check_whole
    monkeypatch.setattr(policy, "_check_whole", lambda file, *rest: (reads.append(file.path), whole(file, *rest))[1])
    first = opened(given, cubic, lines)
    assert opened(given, cubic, lines).as_dict() == first.as_dict() and len(reads) == 1
    opened(given, cubic, lines, "full")
    assert len(reads) == 2
    opened(given, cubic, lines)
    assert len(reads) == 2
    os.utime(given / "cuzk-dev-cubic.params")
    opened(given, cubic, lines)
    assert len(reads) == 3


def test_cache_that_cannot_be_written(given: Path, cubic: Any, lines: Lines, cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    assert opened(given, cubic, lines).kind == "explicit"
    assert opened(given, cubic, lines).kind == "explicit"


def test_unknown_check(given: Path, cubic: Any, lines: Lines) -> None:
    with pytest.raises(UsageError):
        opened(given, cubic, lines, "sometimes")


def test_no_vk_file_is_fine_but_said(given: Path, cubic: Any, lines: Lines) -> None:
    opened(given, cubic, lines)
    assert not any("cuzk-dev-cubic.vk" in line for line in lines.lines)
    (given / "cuzk-dev-cubic.vk").unlink()
    for verify in ("cached", "full"):
        lines.lines.clear()
        found = opened(given, cubic, lines, verify)
        assert found.vk is not None and found.as_dict()["vk"] is None
        assert "there is no cuzk-dev-cubic.vk beside cuzk-dev-cubic.params" in found.as_dict()["warning"]
        assert f"warning: {found.as_dict()['warning']}" in lines.lines


def test_filecoins_parameters_come_in_pairs(filecoin: Path, cubic: Any, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """In their own directory a missing key is a fault; in one that was named it is a warning."""
    params = filecoin / f"{stem(2048)}.params"
    shutil.copy(CUBIC / "cubic.params", params)
    published(monkeypatch, {params.name: hashlib.blake2b(params.read_bytes()).hexdigest()[:32]})
    located = policy.locate(2048, "auto", lines)
    for use in (lambda: policy.open_checked(located, cubic, "cached", lines), lambda: policy.verifying_key(2048, "auto", lines)):
        with pytest.raises(ParametersError, match="not complete") as caught:
            use()
        error = caught.value
        assert (error.code, error.file, error.expected) == (5, str(filecoin), f"{stem(2048)}.vk")
        assert "fetch" in str(error.hint) and str(filecoin) in str(error.hint)
    assert policy.open_checked(policy.locate(2048, str(filecoin), lines), cubic, "cached", lines).as_dict()["vk"] is None
    assert policy.verifying_key(2048, str(filecoin), lines)[1] == params
    assert any("compared with nothing" in line for line in lines.lines)


def test_what_a_chain_accepts_is_said(
    given: Path, cubic: Any, filecoin: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert opened(given, cubic, lines).as_dict()["accepted_by_chain"] is False
    assert any("accepted by no chain" in line and str(given) in line for line in lines.lines)
    for size, accepted in ((2048, True), (4096, None)):
        (filecoin / f"{stem(size)}.params").touch()
        for params in ("auto", str(filecoin)):
            assert policy.locate(size, params, lines).accepted_by_chain is accepted
    assert policy.locate(2048, "dev", lines).accepted_by_chain is False
    other = policy.Located("cubic", "explicit", *(given / f"other.{e}" for e in ("params", "vk")))
    shutil.copy(CUBIC / "cubic.params", other.params)
    lines.lines.clear()
    assert policy.open_checked(other, cubic, "cached", lines).as_dict()["accepted_by_chain"] is None
    assert any("not known" in line for line in lines.lines) and not any("accepted by no" in line for line in lines.lines)


def test_pipes_are_refused_at_once(given: Path, cubic: Any, lines: Lines) -> None:
    for name in ("cuzk-dev-cubic.vk", "cuzk-dev-cubic.params", "cuzk-dev-cubic.json"):
        (given / name).unlink(missing_ok=True)
        os.mkfifo(given / name)
        error = fault(given, cubic, lines)
        assert error.file == str(given / name) and "a pipe" in str(error.got)
        (given / name).unlink()
        if (CUBIC / name.removeprefix("cuzk-dev-")).exists():
            shutil.copy(CUBIC / name.removeprefix("cuzk-dev-"), given / name)


def test_doubt_after_a_false_proof(given: Path, cubic: Any, lines: Lines) -> None:
    found = opened(given, cubic, lines)
    assert found.digest in found.doubt and "no list" in found.doubt
    sidecar(given)
    found = opened(given, cubic, lines)
    assert "--verify-params full" in found.doubt and "cuzk-dev-cubic.json" in found.doubt


def damage(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def sidecar(given: Path, **changes: Any) -> None:
    facts = json.loads((CUBIC / "circuit.json").read_text())["setup"]
    content = {
        "lengths": {"ic": 2, "h": 7, "l": 3, "a": 5, "b": 2},
        "params": {"bytes": 3096, "sha256": facts["params_sha256"]},
        "vk": {"bytes": 1060, "sha256": facts["vk_sha256"]},
        **changes,
    }
    (given / "cuzk-dev-cubic.json").write_text(json.dumps(content))


def test_flipped_byte_without_a_digest(given: Path, cubic: Any, lines: Lines) -> None:
    damage(given / "cuzk-dev-cubic.params", 1500)
    error = fault(given, cubic, lines)
    assert error.file == str(given / "cuzk-dev-cubic.params") and "damaged" in error.message and "byte" in (error.where or "")


@pytest.mark.parametrize("place", [1065, 1500, 3095])
def test_flipped_byte_is_told_by_both_digests(given: Path, cubic: Any, lines: Lines, place: int) -> None:
    sidecar(given)
    opened(given, cubic, lines)
    damage(given / "cuzk-dev-cubic.params", place)
    error = fault(given, cubic, lines)
    facts = json.loads((CUBIC / "circuit.json").read_text())["setup"]
    assert error.expected == facts["params_sha256"] and len(str(error.got)) == 64 and error.got != error.expected
    assert "3096 bytes" in (error.where or "") and "cuzk-dev-cubic.json" in (error.where or "")
    fault(given, cubic, lines)  # and again: nothing bad is remembered
    shutil.copy(CUBIC / "cubic.params", given / "cuzk-dev-cubic.params")
    opened(given, cubic, lines)


def test_sizes_and_counts(given: Path, cubic: Any, lines: Lines) -> None:
    path = given / "cuzk-dev-cubic.params"
    good = path.read_bytes()
    for data, got in ((b"", "0 bytes"), (good[:-1], "3095 bytes"), (good + b"\0", "3097 bytes, 1 too many")):
        path.write_bytes(data)
        error = fault(given, cubic, lines)
        assert (error.expected, error.got) == ("3096 bytes", got)
    shutil.copy(VECTORS / "groth16/mixed/mixed.params", path)
    assert "another circuit" in fault(given, cubic, lines).message


@pytest.mark.parametrize("with_sidecar", [True, False])
def test_damaged_vk(given: Path, cubic: Any, lines: Lines, with_sidecar: bool) -> None:
    if with_sidecar:
        sidecar(given)
    vk = given / "cuzk-dev-cubic.vk"
    good = vk.read_bytes()
    for data in (b"", good[:-1], good + b"\0", bytes([good[0] ^ 1]) + good[1:]):
        vk.write_bytes(data)
        assert fault(given, cubic, lines).file == str(vk)


def test_damaged_head_of_params(given: Path, cubic: Any, lines: Lines) -> None:
    damage(given / "cuzk-dev-cubic.params", 500)
    error = fault(given, cubic, lines)
    assert error.message.startswith("the file is damaged") and "gamma_g2" in error.message and error.where == "byte 384"
    sidecar(given)
    error = fault(given, cubic, lines)
    assert error.message.startswith("the file is damaged") and "gamma_g2" in error.message and "byte 384" in (error.where or "")
    got = hashlib.sha256((given / "cuzk-dev-cubic.params").read_bytes()).hexdigest()
    facts = json.loads((CUBIC / "circuit.json").read_text())["setup"]
    assert (error.expected, error.got) == (facts["params_sha256"], got) and "cuzk-dev-cubic.json" in (error.where or "")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"lengths": 1}', "\x00"])
def test_damaged_sidecar(given: Path, cubic: Any, lines: Lines, text: str) -> None:
    (given / "cuzk-dev-cubic.json").write_text(text)
    assert fault(given, cubic, lines).file == str(given / "cuzk-dev-cubic.json")


def test_sidecar_of_another_circuit_of_the_same_name(given: Path, cubic: Any, lines: Lines) -> None:
    digest = json.loads((CUBIC / "circuit.json").read_text())["digest"]
    sidecar(given, circuit_digest=digest)
    opened(given, cubic, lines)
    sidecar(given, circuit_digest="00" * 32)
    error = fault(given, cubic, lines)
    assert digest in str(error.expected) and "00" * 32 in str(error.got)


def test_subgroup_only_in_full(given: Path, cubic: Any, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    check = srs.ParamsFile.check_piece
    monkeypatch.setattr(
        srs.ParamsFile,
        "check_piece",
        lambda self, *piece, subgroup: (seen.append(subgroup), check(self, *piece, subgroup=subgroup))[1],
    )
    opened(given, cubic, lines)
    assert set(seen) == {False}
    seen.clear()
    opened(given, cubic, lines, "full")
    assert set(seen) == {True} and len(seen) == 5


def test_file_that_changes_while_it_is_read(given: Path, cubic: Any, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    path = given / "cuzk-dev-cubic.params"
    check = srs.ParamsFile.check_piece
    monkeypatch.setattr(
        srs.ParamsFile,
        "check_piece",
        lambda self, *piece, subgroup: (os.utime(path, (1, 1)), check(self, *piece, subgroup=subgroup))[1],
    )
    assert "changed while" in fault(given, cubic, lines).message
    assert remember.recall(path, remember.Identity.of(path.stat())) is None


def published(monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
    entries = {name: manifest.Entry(name, 2048, digest, "Qm") for name, digest in files.items()}
    monkeypatch.setattr(manifest, "load", lambda: manifest.Manifest(entries, "a list for this test", "00" * 16))


def test_digest_of_the_manifest(given: Path, cubic: Any, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    good = {p.name: hashlib.blake2b(p.read_bytes()).hexdigest()[:32] for p in given.iterdir()}
    published(monkeypatch, good)
    assert opened(given, cubic, lines).digest == f"blake2b:{good['cuzk-dev-cubic.params']}"
    for name in good:
        published(monkeypatch, {**good, name: "0" * 32})
        error = fault(given, cubic, lines)
        assert error.file == str(given / name) and (error.expected, error.got) == ("0" * 32, good[name])
        assert "a list for this test" in (error.where or "") and "fetch" in (error.hint or "")


# Development parameters


def made(cubic: Any, lines: Lines) -> tuple[policy.Parameters, development.Files]:
    located = policy.locate_circuit(CUBIC / "circuit.json", cubic, "auto")
    files = development.kept(cubic)
    return policy.open_checked(located, cubic, "cached", lines), files


def spec_bytes() -> bytes:
    waste = development_waste("cubic")
    system, *_ = spec_r1cs.from_explicit(json.loads((CUBIC / "circuit.json").read_text()))
    want = groth16.setup(BLS12_381, system, groth16.ToxicWaste(*(getattr(waste, name) for name in SCALARS)))
    return keys.parameters_to_bytes(want)


def test_made_when_absent_and_once(cubic: Any, lines: Lines, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, files = made(cubic, lines)
    assert found.kind == "development" and files.params.read_bytes() == spec_bytes()
    assert files.vk.read_bytes() == files.params.read_bytes()[:1060]
    assert any("making" in line for line in lines.lines) and any("accepted by no chain" in line for line in lines.lines)
    left = {p.name for p in files.params.parent.iterdir()}
    assert left == {"cuzk-dev-cubic.params", "cuzk-dev-cubic.vk", "cuzk-dev-cubic.json", ".cuzk-dev-cubic.lock"}
    monkeypatch.setattr(development, "write", lambda *_: pytest.fail("made again"))
    lines.lines.clear()
    made(cubic, lines)
    assert not any("making" in line for line in lines.lines) and any("accepted by no chain" in line for line in lines.lines)


def test_circuits_from_files_stand_apart(cubic: Any, lines: Lines, cache: Path) -> None:
    """A circuit file may have the name of a sector size, or of another circuit file."""
    size = policy.locate(2048, "dev", lines)
    named = dataclasses.replace(cubic, name="porep-2kib")
    size.params.parent.mkdir(parents=True)
    for path in (size.params, size.vk, size.params.with_suffix(".json")):
        path.write_bytes(b"of the sector size")
    mixed = dataclasses.replace(circuit.load(VECTORS / "groth16/mixed/circuit.json")[0], name="porep-2kib")
    found = [policy.open_checked(policy.locate_circuit(Path("c"), s, "dev"), s, "cached", lines) for s in (named, mixed, named)]
    assert [f.file.lengths.ic for f in found] == [2, found[1].file.lengths.ic, 2] and found[0].path == found[2].path
    assert {f.path.name for f in found} == {"cuzk-dev-porep-2kib.params"} and found[1].path != found[0].path
    assert size.params.read_bytes() == b"of the sector size"
    assert sum("making" in line for line in lines.lines) == 2


def test_setup_does_not_replace_a_sector_size_by_a_circuit(tmp_path: Path, cubic: Any, lines: Lines) -> None:
    development.write(cubic, development.choose_waste(cubic), tmp_path, lines)
    development.write(cubic, development.choose_waste(cubic), tmp_path, lines)  # again is fine
    sidecar_path = tmp_path / "cuzk-dev-cubic.json"
    sidecar_path.write_text(json.dumps({**json.loads(sidecar_path.read_text()), "sector_size": 2048}))
    with pytest.raises(UsageError, match="another circuit with the same name") as caught:
        development.write(cubic, development.choose_waste(cubic), tmp_path, lines)
    assert "sector size" in str(caught.value.got) and "circuit file" in str(caught.value.expected)


def test_sidecar_says_what_they_are_and_no_secret(cubic: Any, lines: Lines) -> None:
    _, files = made(cubic, lines)
    text = files.sidecar.read_text()
    content = json.loads(text)
    assert "accepted by no chain" in content["what"]
    assert (content["toxic_waste"], content["toxic_tag"]) == ("public", "cuzk test cubic")
    assert content["circuit_digest"] == json.loads((CUBIC / "circuit.json").read_text())["digest"]
    assert content["params"]["bytes"] == files.params.stat().st_size
    waste = development_waste("cubic")
    for name in SCALARS:
        value = getattr(waste, name)
        assert str(value) not in text and value.to_bytes(32, "little").hex() not in text


def test_setup_from_a_waste_file_is_the_rust_stacks(tmp_path: Path, cubic: Any, lines: Lines) -> None:
    waste = development.choose_waste(cubic, CUBIC / "circuit.json")
    content = development.write(cubic, waste, tmp_path / "new" / "directory", lines)
    assert (tmp_path / "new/directory/cuzk-dev-cubic.params").read_bytes() == (CUBIC / "cubic.params").read_bytes()
    assert (tmp_path / "new/directory/cuzk-dev-cubic.vk").read_bytes() == (CUBIC / "cubic.vk").read_bytes()
    facts = json.loads((CUBIC / "circuit.json").read_text())["setup"]
    assert content["params"]["sha256"] == facts["params_sha256"] and content["vk"]["sha256"] == facts["vk_sha256"]
    for name, vector in content["vectors"].items():
        assert [str(vector["points"]), vector["sha256"]] == facts[name]
    found = opened(tmp_path / "new/directory", cubic, lines)
    assert found.kind == "explicit"


def test_choice_of_waste(cubic: Any) -> None:
    with pytest.raises(UsageError):
        development.choose_waste(cubic, CUBIC / "circuit.json", fresh=True)
    one, other = (development.choose_waste(cubic, None, True) for _ in range(2))
    assert one.origin == "random" and one.tag is None and one.secret.tau != other.secret.tau
    public = development.choose_waste(cubic)
    assert public.secret == development_waste("cubic") and public.origin == "public"
    given = development.choose_waste(cubic, CUBIC / "circuit.json")
    assert given.secret == toxic_waste.read(CUBIC / "circuit.json") and given.origin == "file"


@pytest.mark.parametrize("remains", [("params",), ("params", "vk"), ("vk", "json"), ("json",)])
def test_incomplete_files_are_made_again(cubic: Any, lines: Lines, remains: tuple[str, ...]) -> None:
    _, files = made(cubic, lines)
    for path in (files.params, files.vk, files.sidecar):
        if path.suffix[1:] not in remains:
            path.unlink()
        elif path.suffix != ".json":
            path.write_bytes(b"")
    made(cubic, lines)
    assert files.params.read_bytes() == spec_bytes()


def test_files_of_an_older_circuit_are_made_again(cubic: Any, lines: Lines) -> None:
    _, files = made(cubic, lines)
    for key, value in (("lengths", {"ic": 2, "h": 7, "l": 3, "a": 5, "b": 3}), ("circuit_digest", "11" * 32)):
        content = json.loads(files.sidecar.read_text())
        files.sidecar.write_text(json.dumps({**content, key: value}))
        lines.lines.clear()
        made(cubic, lines)
        assert any("making" in line for line in lines.lines)


def test_damaged_development_files_say_how_to_make_them_again(cubic: Any, lines: Lines) -> None:
    _, files = made(cubic, lines)
    for data, got in ((b"", "0 bytes"), (files.params.read_bytes()[:-1], "3095 bytes")):
        files.params.write_bytes(data)
        with pytest.raises(ParametersError) as caught:
            made(cubic, lines)
        assert caught.value.got == got and caught.value.expected == "3096 bytes" and "delete" in (caught.value.hint or "")


def test_failure_leaves_nothing(cubic: Any, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: Any, *_: Any) -> None:
        file.write(b"half")
        raise MalformedInput("broken on purpose")

    with monkeypatch.context() as patched:
        patched.setattr(srs, "write", fail)
        with pytest.raises(CuzkError, match="on purpose"):
            made(cubic, lines)
    directory = development.kept(cubic).params.parent
    assert {p.name for p in directory.iterdir()} == {".cuzk-dev-cubic.lock"}
    made(cubic, lines)


def test_need_and_have(cubic: Any, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(config, "available_memory", lambda: 1000)
        with pytest.raises(ResourceError, match="memory") as caught:
            made(cubic, lines)
        assert caught.value.code == 7 and caught.value.got == "1000 bytes" and "MiB)" in str(caught.value.expected)
        patched.setattr(config, "available_memory", lambda: GIB)
        patched.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 8, 2000))
        with pytest.raises(ResourceError, match="disk") as caught:
            made(cubic, lines)
        assert re.fullmatch(r"10\d{5} bytes \(1\.0 MiB\)", str(caught.value.expected))
        assert caught.value.got == "2000 bytes (2.0 KiB)"
    with monkeypatch.context() as patched:  # enough to make them, but not to prove with them
        patched.setattr(config, "available_memory", lambda: 64 * GIB)
        patched.setattr(development, "predicted_peak", lambda _: 65 * GIB)
        with pytest.raises(ResourceError, match="memory") as caught:
            made(cubic, lines)
        assert "65.0 GiB" in str(caught.value.expected) and "64.0 GiB" in str(caught.value.got)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 8, 2))
        with pytest.raises(ResourceError, match="disk") as caught:
            made(cubic, lines)
        assert "2 bytes" in str(caught.value.got) and "CUZK_CACHE_DIR" in (caught.value.hint or "")


def test_setup_says_bytes_and_time_first_or_refuses(tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    class Begun(Exception):
        pass

    def begin(*_: Any) -> None:
        raise Begun

    monkeypatch.setattr(development, "Setup", begin)
    shape = shapes.load_or_record(2048)
    waste = development.choose_waste(shape)
    for memory, free in ((700 << 20, GIB << 10), (GIB << 10, GIB)):
        monkeypatch.setattr(config, "available_memory", lambda memory=memory: memory)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: shutil._ntuple_diskusage(free, 0, free))
        with pytest.raises(ResourceError, match="disk" if free == GIB else "memory") as caught:
            development.write(shape, waste, tmp_path / "new", lines)
        assert "iB)" in str(caught.value.expected) and "iB)" in str(caught.value.got) and not (tmp_path / "new").exists()
        assert lines.lines == [] and ("-o" in (caught.value.hint or "")) == (free == GIB)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(2 * GIB, 0, 2 * GIB))
    with pytest.raises(Begun):
        development.write(shape, waste, tmp_path / "new", lines)
    need = json.loads((VECTORS / "groth16/porep-2kib.json").read_text())["params_bytes"]
    assert any(f"{need} bytes" in line and "in about" in line for line in lines.lines)


def test_large_sizes_are_refused_with_need_and_have(tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is written: 32 GiB take 44 GiB of disk, and 10 of memory."""
    shape = shapes.load_or_record(32 * GIB)
    waste = development.choose_waste(shape)
    for memory, free, what in ((4 * GIB, GIB << 10, "memory"), (GIB << 6, 40 * GIB, "disk")):
        monkeypatch.setattr(config, "available_memory", lambda memory=memory: memory)
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: shutil._ntuple_diskusage(free, 0, free))
        with pytest.raises(ResourceError, match=f"not enough {what}") as caught:
            development.write(shape, waste, tmp_path / "new", lines)
        assert caught.value.code == 7 and not (tmp_path / "new").exists() and lines.lines == []
        need = int(str(caught.value.expected).split()[0])
        assert (memory if what == "memory" else free) < need < 48 * GIB
        assert str(caught.value.got).startswith(f"{memory if what == 'memory' else free} bytes")
        # Cards that prove need no file; making a file takes as much memory everywhere.
        assert ("--params dev --device cuda" in (caught.value.hint or "")) == (what == "disk")
        with pytest.raises(ResourceError, match=f"not enough {what}") as caught:
            development.refuse_too_large(shape, tmp_path, "--params dev", 42 * GIB)
        assert "prove with --device cuda" in (caught.value.hint or "")


def test_cache_directory_that_cannot_be_made(cubic: Any, lines: Lines, cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    with pytest.raises(ResourceError, match="cannot be kept") as caught:
        made(cubic, lines)
    assert "CUZK_CACHE_DIR" in (caught.value.hint or "")


MAKE = f"""
import os, signal, sys
from cuzk.parameters import policy
from cuzk.formats import circuit, srs
from cuzk.progress import Progress
if "kill" in sys.argv:
    def half(file, *_):
        file.write(bytes(1500)); file.flush(); os.kill(os.getpid(), signal.SIGKILL)
    srs.write = half
shape = circuit.load({str(CUBIC / "circuit.json")!r})[0]
p = policy.open_checked(policy.locate_circuit("circuit.json", shape, "dev"), shape, "cached", Progress())
print(p.digest)
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAKE, *arguments]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_killed_half_way(compiled: None, cubic: Any, lines: Lines) -> None:
    process = start("kill")
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    files = development.kept(cubic)
    assert not any(path.exists() for path in (files.params, files.vk, files.sidecar))
    assert len(list(files.params.parent.glob(".*.part"))) == 1
    made(cubic, lines)
    assert files.params.read_bytes() == spec_bytes() and not list(files.params.parent.glob(".*.part"))


def test_second_process_waits_and_says_for_whom(compiled: None, cubic: Any, lines: Lines) -> None:
    directory = development.kept(cubic).params.parent
    directory.mkdir(parents=True)
    with (directory / ".cuzk-dev-cubic.lock").open("w") as lock:
        lock.write(f"{os.getpid()} {time.time() - 5:.0f}\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = start()
        assert process.stderr is not None
        line = process.stderr.readline()
        while line and "waiting" not in line:
            line = process.stderr.readline()
        assert f"waiting for process {os.getpid()}" in line and "development parameters of cubic" in line
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert out.strip() == made(cubic, lines)[0].digest


def test_lock_of_a_dead_process_does_not_block(cubic: Any, lines: Lines) -> None:
    directory = development.kept(cubic).params.parent
    directory.mkdir(parents=True)
    (directory / ".cuzk-dev-cubic.lock").write_text("1 1\n")
    made(cubic, lines)
    assert not any("waiting" in line for line in lines.lines)


def test_two_processes_at_once(compiled: None) -> None:
    processes = [start(), start()]
    results = [p.communicate(timeout=180) for p in processes]
    assert [p.returncode for p in processes] == [0, 0], results
    assert results[0][0] == results[1][0]


# The verifying key alone


def test_verifying_key(tmp_path: Path, given: Path, lines: Lines) -> None:
    for ending in ("params", "vk"):
        shutil.copy(CUBIC / f"cubic.{ending}", tmp_path / f"cuzk-dev-porep-2kib.{ending}")
    vk = tmp_path / "cuzk-dev-porep-2kib.vk"
    assert policy.verifying_key(2048, str(tmp_path), lines)[1] == vk
    damage(vk, 500)
    with pytest.raises(CuzkError, match=r"porep-2kib\.vk"):
        policy.verifying_key(2048, str(tmp_path), lines)
    vk.unlink()
    assert policy.verifying_key(2048, str(tmp_path), lines)[1] == tmp_path / "cuzk-dev-porep-2kib.params"
    damage(tmp_path / "cuzk-dev-porep-2kib.params", 500)
    with pytest.raises(ParametersError, match="gamma_g2"):
        policy.verifying_key(2048, str(tmp_path), lines)


def test_verifying_key_against_the_manifest(filecoin: Path, lines: Lines) -> None:
    for ending in ("params", "vk"):
        shutil.copy(CUBIC / f"cubic.{ending}", filecoin / f"{stem(2048)}.{ending}")
    with pytest.raises(ParametersError, match="digest") as caught:
        policy.verifying_key(2048, "auto", lines)
    assert caught.value.expected == "dc1ade9929ade1708238f155343044ac"
