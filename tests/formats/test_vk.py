"""Verifying key files: read whole, written byte for byte, and every fault with file, place, expected and got."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cuzk.curve import encoding
from cuzk.errors import MalformedInput, ParametersError
from cuzk.field.params import P
from cuzk.formats import vk
from cuzk.spec import encoding as spec_encoding
from cuzk.spec import keys as spec_keys
from cuzk.spec.curve import G1, G2
from tests.conftest import VECTORS
from tests.curve.conftest import outside_subgroup, spec_points
from tests.groth16.foreign import KINDS, key_file

FILES = sorted({key_file(kind) for kind in KINDS})
SPEND = VECTORS / "zcash/spend.vk"
OFFSETS = {"alpha_g1": 0, "beta_g1": 96, "beta_g2": 192, "gamma_g2": 384, "delta_g1": 576, "delta_g2": 672, "ic": 868}


@pytest.mark.parametrize("name", FILES)
def test_foreign_keys_are_read_and_written(name: str) -> None:
    data = (VECTORS / name).read_bytes()
    found = vk.read(VECTORS / name)
    assert found.trailing_bytes == 0
    assert vk.encode(found.key) == data
    assert len(data) == vk.size(found.key.num_inputs + 1)
    want, rest = spec_keys.read_verifying_key(data)
    assert rest == b""
    for field, curve in vk.POINTS:
        assert spec_points(curve, getattr(found.key, field)) == [getattr(want, field)]
    assert spec_points("g1", found.key.ic) == want.ic


def test_sizes() -> None:
    assert vk.COUNT_OFFSET == 864
    assert (vk.size(40), vk.size(328)) == (4708, 32356)


def test_head_of_a_parameter_file_and_trailing_bytes() -> None:
    data = (VECTORS / "groth16/mixed/mixed.params").read_bytes()
    key = (VECTORS / "groth16/mixed/mixed.vk").read_bytes()
    found = vk.parse(data)
    assert found.trailing_bytes == len(data) - len(key)
    assert vk.encode(found.key) == key
    assert vk.parse(key + b"\0").trailing_bytes == 1
    assert vk.encode(vk.parse(np.frombuffer(bytearray(data), np.uint8)).key) == key
    assert vk.encode(vk.parse(memoryview(data)).key) == key


@pytest.mark.parametrize("length", [0, 1, 95, 96, 864, 867, 868, 869, 963, 1635])
@pytest.mark.parametrize("error", [MalformedInput, ParametersError])
def test_truncated_files_name_both_sizes(length: int, error: type, tmp_path: Path) -> None:
    """An interrupted download is reported as that, never as a damaged point."""
    path = tmp_path / "spend.vk"
    path.write_bytes(SPEND.read_bytes()[:length])
    with pytest.raises(error) as caught:
        vk.read(path, error=error)
    assert caught.value.message == "not a whole verifying key"
    assert caught.value.file == str(path)
    assert caught.value.got == f"{length} bytes"
    assert caught.value.expected == ("at least 868 bytes" if length < 868 else "1636 bytes for 8 ic points")
    assert "again" in caught.value.hint


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ParametersError, match="cannot read") as caught:
        vk.read(tmp_path / "none.vk", error=ParametersError)
    assert caught.value.file == str(tmp_path / "none.vk")
    with pytest.raises(MalformedInput, match="cannot read"):
        vk.read(tmp_path)


def test_counts_that_cannot_be() -> None:
    data = SPEND.read_bytes()
    with pytest.raises(MalformedInput, match="without points"):
        vk.parse(data[:864] + bytes(4))
    with pytest.raises(MalformedInput, match="not a whole") as caught:
        vk.parse(data[:864] + b"\xff\xff\xff\xff" + data[868:])
    assert caught.value.expected == f"{868 + 96 * (2**32 - 1)} bytes for {2**32 - 1} ic points"


def replaced(name: str, point: bytes, index: int = 0) -> bytes:
    data = SPEND.read_bytes()
    offset = OFFSETS[name] + 96 * index
    return data[:offset] + point + data[offset + len(point) :]


@pytest.mark.parametrize("name", OFFSETS)
def test_bad_points_are_named_with_their_offset(name: str) -> None:
    curve = "g2" if name.endswith("g2") else "g1"
    spec = G2 if curve == "g2" else G1
    size = encoding.GROUPS[curve].bytes
    index = 3 if name == "ic" else 0
    offset = OFFSETS[name] + 96 * index
    good = SPEND.read_bytes()[offset : offset + size]
    bad = {
        encoding.Fault.INFINITY: bytes([0x40]) + bytes(size - 1),
        encoding.Fault.FLAGS: bytes([good[0] | 0x80]) + good[1:],
        encoding.Fault.NOT_REDUCED: good[: size // 2] + P.to_bytes(48, "big") + good[size // 2 + 48 :],
        encoding.Fault.NOT_ON_CURVE: good[:-1] + bytes([good[-1] ^ 1]),
        encoding.Fault.NOT_IN_SUBGROUP: spec_encoding.to_uncompressed(spec, outside_subgroup(curve, 8)),
    }
    for fault, point in bad.items():
        with pytest.raises(ParametersError) as caught:
            vk.parse(replaced(name, point, index), "x.vk", error=ParametersError)
        shown = "ic 3" if name == "ic" else name
        assert caught.value.message == f"{shown}: {fault.text}"
        assert caught.value.where == f"byte {offset}"
        assert caught.value.file == "x.vk"


def test_any_changed_byte_of_a_point_is_refused() -> None:
    """One bit in each 17th byte, flags included: the points are no longer on the curve."""
    data = (VECTORS / "groth16/cubic/cubic.vk").read_bytes()
    places = [k for k in range(0, len(data), 17) if not vk.COUNT_OFFSET <= k < vk.IC_OFFSET]
    for k in places:
        changed = data[:k] + bytes([data[k] ^ (1 << (k % 8))]) + data[k + 1 :]
        with pytest.raises(MalformedInput):
            vk.parse(changed)
