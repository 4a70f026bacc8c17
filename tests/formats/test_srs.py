"""Parameter files: every point where the layout says, every fault found before use and named with the file."""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path

import numpy as np
import pytest

from cuzk.errors import CuzkError, ParametersError
from cuzk.formats import c1, srs, toxic_waste, vk
from cuzk.groth16.crs import VECTORS as NAMES
from cuzk.groth16.crs import Lengths
from cuzk.parameters import identify
from cuzk.spec import keys
from cuzk.spec.curve import G1, G2
from cuzk.spec.encoding import to_uncompressed
from tests.conftest import VECTORS, Draw

CIRCUITS = ("cubic", "mixed", "full-domain", "one-over")
SAPLING = VECTORS / "zcash" / "sapling-output.params"


def params(name: str) -> Path:
    return VECTORS / "groth16" / name / f"{name}.params"


def facts(name: str) -> dict:
    return json.loads((VECTORS / "groth16" / name / "circuit.json").read_text())["setup"]


def lengths(name: str) -> Lengths:
    f = facts(name)
    return Lengths(f["ic"], *(int(f[key][0]) for key in ("h", "l", "a", "b_g1")))


@pytest.mark.parametrize("name", CIRCUITS)
def test_vectors_are_where_the_rust_stack_put_them(name: str) -> None:
    file = srs.ParamsFile(params(name), lengths(name), name)
    file.refuse_trailing()
    file.read_vk()
    file.check_same_vk(params(name).with_suffix(".vk"))
    assert file.size == int(facts(name)["params_bytes"]) == file.lengths.file_bytes
    for key, _ in NAMES:
        points = getattr(file, f"{key}_be")
        assert [str(len(points)), hashlib.sha256(points.tobytes()).hexdigest()] == facts(name)[key]
    for piece in file.pieces():
        file.check_piece(*piece, subgroup=True)
    assert file.vk_be.tobytes() == params(name).with_suffix(".vk").read_bytes()


@pytest.mark.parametrize("name", ["cubic", "mixed"])
def test_same_points_as_the_specification_reads(name: str) -> None:
    read, rest = keys.read_parameters(params(name).read_bytes())
    assert rest == b""
    file = srs.ParamsFile(params(name))
    for key, group in NAMES:
        curve = G1 if group == "g1" else G2
        want = b"".join(to_uncompressed(curve, point) for point in getattr(read, key))
        assert file.vector_be(key).tobytes() == want


def test_arrays_are_of_the_one_type_that_kernels_know() -> None:
    file = srs.ParamsFile(params("cubic"))
    before = hashlib.sha256(params("cubic").read_bytes()).digest()
    for key, _ in NAMES:
        points = file.vector_be(key)
        assert points.flags.writeable and points.flags.c_contiguous and points.dtype == np.uint8
    file.h_be[0, 0] ^= 1  # a private map: the file stays
    assert hashlib.sha256(params("cubic").read_bytes()).digest() == before


def test_a_forgotten_vector_is_read_again() -> None:
    for path in (params("cubic"), SAPLING):
        file = srs.ParamsFile(path)
        before = file.h_be.copy()
        for key, _ in NAMES:
            file.forget(key)
        assert (file.h_be == before).all()
    file.h_be[len(before) // 2] ^= 1  # within a whole page of the larger file
    file.forget("h")
    assert (file.h_be == before).all()


def test_lengths_of_the_production_circuits() -> None:
    """Sizes that were measured on files of the Rust stack, and the published size of a verifying key."""
    f = json.loads((VECTORS / "groth16" / "porep-2kib.json").read_text())
    two_kib = Lengths(f["ic"], *(int(f[key][0]) for key in ("h", "l", "a", "b_g1")))
    assert two_kib.file_bytes == int(f["params_bytes"]) and two_kib.vk_bytes == 4708
    assert Lengths(328, 0, 0, 0, 0).vk_bytes == 32356
    assert two_kib.points == sum(int(f[key][0]) for key, _ in NAMES)


def test_ceremony_file_with_its_record() -> None:
    file = srs.ParamsFile(SAPLING)
    assert file.trailing == 52_836 and file.lengths.h == 8191
    file.read_vk()
    file.check_same_vk(VECTORS / "zcash" / "output.vk")
    for piece in file.pieces():
        file.check_piece(*piece, subgroup=False)
    assert identify.describe(SAPLING)["trailing_bytes"] == 52_836
    with pytest.raises(ParametersError, match="goes on after") as caught:
        file.refuse_trailing()
    assert caught.value.code == 5 and "52836 too many" in str(caught.value)


def copy(tmp_path: Path, data: bytes, name: str = "some.params") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def check_all(path: Path, expected: Lengths | None = None, subgroup: bool = False) -> None:
    file = srs.ParamsFile(path, expected, "cubic")
    file.refuse_trailing()
    file.read_vk()
    for piece in file.pieces():
        file.check_piece(*piece, subgroup=subgroup)


def refused(path: Path, expected: Lengths | None = None) -> ParametersError:
    with pytest.raises(ParametersError) as caught:
        check_all(path, expected)
    assert caught.value.code == 5 and caught.value.file == str(path) and str(path) in str(caught.value)
    return caught.value


def test_absent_file_and_directory(tmp_path: Path) -> None:
    assert "No such file" in str(refused(tmp_path / "none.params"))
    assert "directory" in str(refused(tmp_path)).lower()


def test_pipes_and_devices_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.params")
    for path, kind in ((tmp_path / "pipe.params", "a pipe"), (Path("/dev/zero"), "a device")):
        error = refused(path)
        assert kind in str(error.got) and "not a regular file" in str(error.got)
        with pytest.raises(ParametersError, match="not a regular file"):
            vk.read(path, error=ParametersError)
    for reader in (c1.load, toxic_waste.read):
        with pytest.raises(CuzkError, match="not a regular file"):
            reader(tmp_path / "pipe.params")


def test_counts_that_are_wrong_are_named_with_what_they_must_be(tmp_path: Path) -> None:
    good = lengths("cubic")
    at = {"ic": 864, "h": 1060, "l": 1736, "a": 2028, "b_g1": 2512, "b_g2": 2708}
    for name, offset in at.items():
        for place in range(offset, offset + 4):
            data = bytearray(params("cubic").read_bytes())
            data[place] ^= 1
            error = refused(copy(tmp_path, bytes(data)), good)
            assert "damaged" in error.message and str(error.expected) != str(error.got)
            if "other lengths" not in error.message:
                assert error.where == f"count at byte {offset}" and f" {name} " in error.message


def test_empty_file_says_what_it_should_have_been(tmp_path: Path) -> None:
    error = refused(copy(tmp_path, b""), lengths("cubic"))
    assert (error.expected, error.got) == ("3096 bytes", "0 bytes")
    assert refused(copy(tmp_path, b"")).got == "0 bytes"


@pytest.mark.parametrize("keep", [1, 863, 866, 867, 868, 1059, 1060, 1063, 1064, 2000, 3000, 3095])
@pytest.mark.parametrize("known", [True, False])
def test_truncated_anywhere(tmp_path: Path, keep: int, known: bool) -> None:
    error = refused(copy(tmp_path, params("cubic").read_bytes()[:keep]), lengths("cubic") if known else None)
    assert error.got == f"{keep} bytes"
    if known:
        assert error.expected == "3096 bytes"


def test_one_byte_too_many(tmp_path: Path) -> None:
    error = refused(copy(tmp_path, params("cubic").read_bytes() + b"\0"), lengths("cubic"))
    assert "3096 bytes" in str(error) and "1 too many" in str(error)


def test_other_circuit_is_told_by_its_counts() -> None:
    error = refused(params("mixed"), lengths("cubic"))
    assert "another circuit" in str(error)
    assert error.expected == lengths("cubic") and error.got == lengths("mixed")


@pytest.mark.parametrize("field", ["ic", "h", "l", "a", "b"])
def test_one_wrong_length(field: str) -> None:
    good = lengths("cubic")
    wrong = Lengths(**{name: getattr(good, name) + (name == field) for name in ("ic", "h", "l", "a", "b")})
    refused(params("cubic"), wrong)


def test_any_flipped_bit_is_found(tmp_path: Path, draw: Draw) -> None:
    """Without any digest: counts by their sum, coordinates by range and curve equation."""
    data = params("cubic").read_bytes()
    places = set(range(864, 868)) | {0, 95, 96, 191, 192, 383, 671, 867, 868, 1060, 1063, 3095}
    places |= {draw.random.randrange(len(data)) for _ in range(100)}
    for place in sorted(places):
        damaged = bytearray(data)
        damaged[place] ^= 1 << draw.random.randrange(8)
        refused(copy(tmp_path, bytes(damaged)), lengths("cubic"))


def test_message_names_vector_index_and_byte(tmp_path: Path) -> None:
    file = srs.ParamsFile(params("mixed"))
    data = bytearray(params("mixed").read_bytes())
    offset = file.lengths.vk_bytes + 4 + 96 * file.lengths.h + 4 + 96 * 17
    data[offset + 95] ^= 1
    error = refused(copy(tmp_path, bytes(data)))
    assert error.where == f"l[17], byte {offset}" and error.got == "not on the curve"


def replaced(name: str, vector: str, index: int, point: bytes) -> bytes:
    file = srs.ParamsFile(params(name))
    file.vector_be(vector)[index] = np.frombuffer(point, np.uint8)
    return file.data.tobytes()


@pytest.mark.parametrize(("vector", "size"), [("h", 96), ("l", 96), ("a", 96), ("b_g1", 96), ("b_g2", 192)])
def test_infinity_is_no_point_of_a_reference_string(tmp_path: Path, vector: str, size: int) -> None:
    error = refused(copy(tmp_path, replaced("cubic", vector, 1, b"\x40" + bytes(size - 1))))
    assert error.got == "the point at infinity" and f"{vector}[1]" in (error.where or "")


def test_coordinates_must_be_canonical(tmp_path: Path) -> None:
    """x + p stands for the same point, but is not how it is written."""
    p = G1.field.modulus
    x, y = next((x, y) for x in range(3, 99) if (y := G1.field.sqrt((x**3 + 4) % p)) is not None)
    point = (x + p).to_bytes(48, "big") + y.to_bytes(48, "big")
    error = refused(copy(tmp_path, replaced("cubic", "h", 2, point)))
    assert error.got == "a coordinate is not below the field modulus"


def off_subgroup() -> bytes:
    p = G1.field.modulus
    rng = random.Random(1)
    while True:
        x = rng.randrange(p)
        y = G1.field.sqrt((x**3 + 4) % p)
        if y is not None and not G1.in_subgroup((x, y)):
            return to_uncompressed(G1, (x, y))


def test_subgroup_is_checked_where_asked_for(tmp_path: Path) -> None:
    path = copy(tmp_path, replaced("cubic", "a", 4, off_subgroup()))
    check_all(path)
    with pytest.raises(ParametersError, match=r"a\[4\]") as caught:
        check_all(path, subgroup=True)
    assert "subgroup" in str(caught.value.got)


def test_verifying_key_is_always_checked_for_the_subgroup(tmp_path: Path) -> None:
    error = refused(copy(tmp_path, replaced("cubic", "ic", 0, off_subgroup())))
    assert "damaged" in error.message and "ic 0" in error.message and "subgroup" in error.message
    error = refused(copy(tmp_path, replaced("cubic", "ic", 1, b"\x40" + bytes(95))))
    assert "ic 1" in error.message and "infinity" in error.message


def test_verifying_key_beside(tmp_path: Path, draw: Draw) -> None:
    path = copy(tmp_path, params("cubic").read_bytes())
    file = srs.ParamsFile(path)
    good = params("cubic").with_suffix(".vk").read_bytes()
    vk_path = path.with_suffix(".vk")
    place = draw.random.randrange(len(good))
    damaged = bytearray(good)
    damaged[place] ^= 1
    cases = {
        bytes(damaged): f"byte {place}",
        good[:-1]: f"{len(good)} bytes",
        good + b"\0": f"{len(good)} bytes",
        b"": "0 bytes",
        params("mixed").with_suffix(".vk").read_bytes(): f"{len(good)} bytes",
    }
    for data, text in cases.items():
        vk_path.write_bytes(data)
        with pytest.raises(ParametersError) as caught:
            file.check_same_vk(vk_path)
        assert str(vk_path) in str(caught.value) and text in str(caught.value)


def test_things_that_are_no_parameter_files() -> None:
    for path in (VECTORS / "groth16/cubic/cubic.vk", VECTORS / "groth16/mixed/circuit.json", VECTORS / "groth16/README.md"):
        with pytest.raises(ParametersError):
            identify.describe(path)
