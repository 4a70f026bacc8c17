"""Whole files of every kind are told apart, and a damaged one is refused as what it means to be."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cuzk.commands.inspect import inspect, text
from cuzk.commands.verify import Options, verify_command
from cuzk.errors import CuzkError, MalformedInput
from cuzk.formats import recognise, shapes
from cuzk.parameters import development, identify
from cuzk.seal.sector import BY_SIZE
from tests.conftest import VECTORS, Draw

CUBIC = VECTORS / "groth16/cubic"
PARAMS, KEY, CIRCUIT = CUBIC / "cubic.params", CUBIC / "cubic.vk", CUBIC / "circuit.json"
SAPLING = VECTORS / "zcash/sapling-output.params"
C1_JSON, C1_BINCODE = VECTORS / "c1/2kib-v1/c1.json", VECTORS / "c1/2kib-v1/c1.bincode"


def proof_bytes() -> bytes:
    return bytes.fromhex(json.loads(CIRCUIT.read_text())["proofs"][0]["proof"])


@pytest.fixture
def proof(tmp_path: Path) -> Path:
    path = tmp_path / "two"
    path.write_bytes(2 * proof_bytes())
    return path


WHOLE = {
    "params": (PARAMS, "params"),
    "params with a record": (SAPLING, "params"),
    "vk": (KEY, "vk"),
    "large vk": (VECTORS / "groth16/porep-2kib.vk", "vk"),
    "foreign vk": (VECTORS / "zcash/spend.vk", "vk"),
    "circuit": (CIRCUIT, "circuit"),
    "json c1": (C1_JSON, "c1"),
    "bincode c1": (C1_BINCODE, "c1"),
    "many partitions": (VECTORS / "c1/2kib-non-interactive/c1.bincode", "c1"),
}


@pytest.mark.parametrize(("path", "kind"), WHOLE.values(), ids=WHOLE.keys())
def test_whole_files_whatever_their_name(path: Path, kind: str, tmp_path: Path) -> None:
    facts = inspect(path)
    assert (facts["kind"], facts["bytes"]) == (kind, path.stat().st_size)
    for name in ("bare", "odd.bin", "odd.vk", "odd.params"):
        shutil.copy(path, tmp_path / name)
        assert recognise.kind_of(tmp_path / name) == kind


def test_whole_proof_and_shape(proof: Path) -> None:
    assert inspect(proof)["kind"] == "proof" and inspect(proof)["proofs"] == 2
    shapes.load_or_record(2048)
    assert inspect(shapes.cache_path(2048))["kind"] == "shape"


def test_trailing_bytes_are_those_after_the_last_vector(tmp_path: Path) -> None:
    assert inspect(SAPLING)["trailing_bytes"] == 52_836
    result = verify_command(Options(vk_file=SAPLING, inputs_file=VECTORS / "zcash/output.json"))
    assert result["valid"] and (result["vk_kind"], result["vk_trailing_bytes"]) == ("params", 52_836)
    path = tmp_path / "key.vk"
    path.write_bytes((VECTORS / "zcash/output.vk").read_bytes() + b"\0\0\0")
    result = verify_command(Options(vk_file=path, inputs_file=VECTORS / "zcash/output.json"))
    assert result["valid"] and (result["vk_kind"], result["vk_trailing_bytes"]) == ("vk", 3)
    assert inspect(path)["trailing_bytes"] == 3


def changed(path: Path, change: Callable[[bytes], bytes], to: Path) -> Path:
    to.write_bytes(change(path.read_bytes()))
    return to


def flipped(place: int, bit: int = 0) -> Callable[[bytes], bytes]:
    return lambda data: data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def cut(keep: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:keep]


DAMAGED: dict[str, tuple[Path, Callable[[bytes], bytes], str, str, str]] = {
    # file, change, name, words of the message, place
    "params less one byte": (PARAMS, cut(3095), "x", "parameter file is cut short", "vector b_g2, 2 points by the count"),
    "params cut in a vector": (SAPLING, cut(1_000_000), "x.params", "parameter file is cut short", "vector l"),
    "params cut in the key": (PARAMS, cut(900), "x.params", "parameter file is cut short", "vector ic, 2 points"),
    "ceremony file cut in a vector": (SAPLING, cut(1_100_000), "x", "parameter file is cut short", "vector "),
    "count of h": (PARAMS, flipped(1063, 1), "x", "length of its vector h is wrong", "count at byte 1060"),
    "count of h, upwards": (PARAMS, flipped(1060, 3), "x.vk", "length of its vector h is wrong", "count at byte 1060"),
    "count of b_g2": (PARAMS, flipped(2711), "x.params", "length of its vector b_g2 is wrong", "count at byte 2708"),
    "point of the key in params": (PARAMS, flipped(50), "x", "file is damaged: its verifying key", "byte 0"),
    "vk less one byte": (KEY, cut(1059), "x", "not a whole verifying key", ""),
    "vk cut early": (KEY, cut(500), "x", "not a whole verifying key", ""),
    "point of a vk": (KEY, flipped(500), "x", "gamma_g2: not on the curve", "byte 384"),
    "count of a vk": (KEY, flipped(865), "x.vk", "not a whole verifying key", ""),
    "proof less one byte": (Path("proof"), cut(191), "x", "multiple of 192", ""),
    "proof with a flipped bit": (Path("proof"), flipped(20), "x", "proof element A", "byte 0"),
    "circuit less one byte": (CIRCUIT, lambda data: data.rstrip()[:-1], "x", "invalid JSON", "byte "),
    "circuit with a bad value": (CIRCUIT, lambda d: d.replace(b'"aux":[', b'"aux":[7,'), "x", "not a field element", "$.aux[0]"),
    "c1 less one byte": (C1_JSON, lambda data: data.rstrip()[:-1], "x", "invalid JSON", "byte "),
    "c1 with a bad key": (C1_JSON, lambda d: d.replace(b"SectorNum", b"SectorNumber"), "x", "missing key", "the top level"),
    "bincode less one byte": (C1_BINCODE, lambda data: data[:-1], "x", "truncated", "byte "),
    "no json": (CIRCUIT, lambda data: b'{"a": 1,', "x.json", "invalid JSON", "byte 8"),
    "empty params": (PARAMS, cut(0), "x.params", "the file is empty", ""),
}  # fmt: skip


@pytest.mark.parametrize(("path", "change", "name", "message", "where"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_refused_as_what_it_means_to_be(
    path: Path, change: Callable[[bytes], bytes], name: str, message: str, where: str, proof: Path, tmp_path: Path
) -> None:
    if path == Path("proof"):
        path = proof
        path.write_bytes(proof_bytes())
    bad = changed(path, change, tmp_path / name)
    with pytest.raises(MalformedInput) as caught:
        inspect(bad)
    error = caught.value
    assert error.code == 3 and error.file == str(bad)
    assert message in error.message and where in (error.where or "")
    assert error.expected is not None and error.got is not None and str(error.expected) != str(error.got)


@pytest.mark.parametrize("content", [b"", b"hello, world\n" * 99, bytes(5000), b"\x93NUMPY" + bytes(range(200)), b'{"a": [1]}'])
def test_what_it_cannot_be(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(MalformedInput, match="not a file that cuzk knows") as caught:
        inspect(path)
    assert "params" in str(caught.value.expected) and caught.value.hint is None


def test_random_bytes_are_nothing(draw: Draw, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for size in (3000, 200_000, 2_000_000):
        data = draw.random.randbytes(size)
        path.write_bytes(bytes([data[0] & 0x7F]) + data[1:48] + b"\0" + data[49:])
        assert recognise.kind_of(path) == "unknown"


def test_random_damage_of_points_never_hides_the_kind(draw: Draw, tmp_path: Path) -> None:
    for _ in range(40):
        for path, kind in ((PARAMS, "params"), (KEY, "vk")):
            places = [i for i in range(path.stat().st_size) if not 864 <= i < 868 and (i < 1060 or kind == "vk")]
            bad = changed(path, flipped(draw.random.choice(places), draw.random.randrange(8)), tmp_path / "bare")
            assert recognise.kind_of(bad) == kind


def test_damaged_params_as_a_key_are_malformed(tmp_path: Path) -> None:
    bad = changed(SAPLING, cut(1_000_000), tmp_path / "key.vk")
    with pytest.raises(MalformedInput, match="parameter file is cut short"):
        verify_command(Options(vk_file=bad, inputs_file=VECTORS / "zcash/output.json"))
    bad = changed(PARAMS, flipped(50), tmp_path / "key.params")
    with pytest.raises(MalformedInput, match="alpha_g1"):
        verify_command(Options(vk_file=bad, inputs_file=CIRCUIT))


def test_name_or_sidecar_say_how_long_parameters_must_be(tmp_path: Path) -> None:
    two = json.loads((VECTORS / "groth16/porep-2kib.json").read_text())
    bad = changed(PARAMS, cut(3000), tmp_path / "cuzk-dev-porep-2kib.params")
    with pytest.raises(MalformedInput) as caught:
        inspect(bad)
    assert caught.value.expected == f"{two['params_bytes']} bytes" and caught.value.got == "3000 bytes"
    bad = changed(PARAMS, cut(3000), tmp_path / "cuzk-dev-cubic.params")
    content: dict[str, Any] = {"circuit": "cubic", "lengths": {"ic": 2, "h": 7, "l": 3, "a": 5, "b": 2}}
    content |= {part: {"bytes": 1, "sha256": ""} for part in ("params", "vk")}
    bad.with_suffix(".json").write_text(json.dumps(content))
    with pytest.raises(MalformedInput) as caught:
        inspect(bad)
    assert caught.value.expected == "3096 bytes"
    shutil.copy(PARAMS, bad)
    assert inspect(bad)["circuit"] == "cubic"
    assert inspect(PARAMS)["circuit"] is None


@pytest.mark.parametrize("size", [2048, 4096, 32 << 10, 8 << 20])
def test_lengths_name_a_circuit_whatever_the_file_is_called(size: int) -> None:
    found = identify._lengths_of(BY_SIZE[size])
    assert identify.circuit_of(Path("any.params"), found) == f"porep-{BY_SIZE[size].name.lower()}"
    assert identify.circuit_of(Path(f"{development.PREFIX}porep-2kib.params"), found) == f"porep-{BY_SIZE[size].name.lower()}"


def test_text_for_people() -> None:
    assert text(inspect(KEY)).splitlines()[0].split() == ["kind", "vk"]


def test_a_key_for_another_number_of_inputs_is_named() -> None:
    with pytest.raises(MalformedInput, match="number of public inputs") as caught:
        verify_command(Options(vk_file=KEY, inputs_file=VECTORS / "zcash/output.json"))
    assert (caught.value.file, caught.value.code) == (str(KEY), 3)


def test_inputs_are_read_strictly(tmp_path: Path) -> None:
    inputs = tmp_path / "inputs.json"
    cases = {
        "[" * 100_000: "nested too deeply",
        '{"public_inputs_le": [], "public_inputs_le": []}': "a key occurs twice",
        '[{"public_inputs_le": [], "proof": "", "proof": ""}]': "a key occurs twice",
        '{"public_inputs_le": [NaN]}': "invalid JSON",
        "3": "missing key",
    }
    for content, message in cases.items():
        inputs.write_text(content)
        with pytest.raises(CuzkError, match=message) as caught:
            verify_command(Options(vk_file=KEY, inputs_file=inputs, proof_file=None))
        assert caught.value.code == 3 and caught.value.where and "recursion" not in str(caught.value)
