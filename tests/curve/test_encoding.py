"""Byte forms of points: good ones against arkworks and the specification, bad ones of every sort refused with their place."""

from __future__ import annotations

import numpy as np
import py_arkworks_bls12381 as ark
import pytest

from cuzk import workers
from cuzk.curve import encoding
from cuzk.curve.encoding import Fault
from cuzk.errors import MalformedInput, ParametersError
from cuzk.field.params import P, R
from cuzk.spec import encoding as spec_encoding
from tests.conftest import Draw
from tests.curve.conftest import GROUPS, outside_subgroup, points_mont, spec_points

BOTH = pytest.mark.parametrize("name", GROUPS)
ARK = {"g1": ark.G1Point, "g2": ark.G2Point}
SIZE = {"g1": 96, "g2": 192}  # uncompressed


@BOTH
def test_thousand_multiples_of_the_generator(name: str) -> None:
    """Both forms of G, 2G, ..., 1000G as arkworks writes them: decoded, compared with our multiples, encoded again."""
    point = g = ARK[name]()
    compressed = []
    for _ in range(1000):
        compressed.append(bytes(point.to_compressed_bytes()))
        point = point + g
    module = GROUPS[name][0]
    ours = module.GROUP.mul_each(np.repeat(module.GENERATOR.reshape(1, -1), 1000, axis=0), range(1, 1001))
    data = b"".join(compressed)
    assert (encoding.decode(name, data, compressed=True) == ours).all()
    assert encoding.encode(name, ours, compressed=True).tobytes() == data
    long = encoding.encode(name, ours, compressed=False)
    spec = [spec_encoding.to_uncompressed(GROUPS[name][1], p) for p in spec_points(name, ours)]
    assert long.tobytes() == b"".join(spec)
    assert (encoding.decode(name, long, compressed=False) == ours).all()
    assert encoding.check_points(name, long) is None
    assert encoding.check_subgroup(name, long) is None


@BOTH
@pytest.mark.parametrize("compressed", [True, False])
def test_infinity_has_one_form(name: str, compressed: bool) -> None:
    size = SIZE[name] // (2 if compressed else 1)
    zero = np.zeros((1, SIZE[name] // 8), np.uint64)
    data = bytes([0xC0 if compressed else 0x40]) + bytes(size - 1)
    assert encoding.encode(name, zero, compressed=compressed).tobytes() == data
    assert (encoding.decode(name, data, compressed=compressed, infinity=True) == 0).all()
    with pytest.raises(MalformedInput, match="infinity"):
        encoding.decode(name, data, compressed=compressed)
    for k in (1, size // 2 - 1, size // 2, size - 1):
        bad = bytearray(data)
        bad[k] = 1
        with pytest.raises(MalformedInput):
            encoding.decode(name, bytes(bad), compressed=compressed, infinity=True)


def with_first_byte(data: bytes, flip: int) -> bytes:
    return bytes([data[0] ^ flip]) + data[1:]


def bad_encodings(name: str) -> list[tuple[str, bool, bytes, Fault]]:
    """(what, compressed, bytes, fault)"""
    curve = GROUPS[name][1]
    g = curve.generator
    short, long = spec_encoding.compress(curve, g), spec_encoding.to_uncompressed(curve, g)
    half = len(long) // 2
    out = outside_subgroup(name, 17)
    p_be, ones = P.to_bytes(48, "big"), ((1 << 381) - 1).to_bytes(48, "big")
    x0 = next(x for x in range(1, 50) if curve.lift_x(x if name == "g1" else (x, 1), False) is None)
    no_point = (x0).to_bytes(48, "big") if name == "g1" else (1).to_bytes(48, "big") + x0.to_bytes(48, "big")
    cases = [
        ("compressed flag missing", True, with_first_byte(short, 0x80), Fault.FLAGS),
        ("infinity flag on a point", True, with_first_byte(short, 0x40), Fault.FLAGS),
        ("compressed flag on a long form", False, with_first_byte(long, 0x80), Fault.FLAGS),
        ("infinity flag on a long form", False, with_first_byte(long, 0x40), Fault.FLAGS),
        ("sign flag on a long form", False, with_first_byte(long, 0x20), Fault.FLAGS),
        ("infinity with the sign flag", True, bytes([0xE0]) + bytes(half - 1), Fault.FLAGS),
        ("infinity with the sign flag, long", False, bytes([0x60]) + bytes(2 * half - 1), Fault.FLAGS),
        ("infinity in the other form", True, bytes([0x40]) + bytes(half - 1), Fault.FLAGS),
        ("infinity in the other form, long", False, bytes([0xC0]) + bytes(2 * half - 1), Fault.FLAGS),
        ("all zeros", True, bytes(half), Fault.FLAGS),
        ("all zeros, long", False, bytes(2 * half), Fault.NOT_ON_CURVE),
        ("all ones", True, b"\xff" * half, Fault.FLAGS),
        ("x = p", True, with_first_byte(p_be + short[48:], 0x80), Fault.NOT_REDUCED),
        ("x all ones", True, with_first_byte(ones + short[48:], 0x80), Fault.NOT_REDUCED),
        ("x = p, long", False, p_be + long[48:], Fault.NOT_REDUCED),
        ("y = p, long", False, long[:half] + p_be + long[half + 48 :], Fault.NOT_REDUCED),
        ("y with a bit above p, long", False, long[:half] + bytes([long[half] | 0x80]) + long[half + 1 :], Fault.NOT_REDUCED),
        ("no point has this x", True, with_first_byte(no_point, 0x80), Fault.NOT_ON_CURVE),
        ("y + 1", False, long[:-1] + bytes([long[-1] ^ 1]), Fault.NOT_ON_CURVE),
        ("x and y exchanged", False, long[half:] + long[:half], Fault.NOT_ON_CURVE),
        ("outside the subgroup", True, spec_encoding.compress(curve, out), Fault.NOT_IN_SUBGROUP),
        ("outside the subgroup, long", False, spec_encoding.to_uncompressed(curve, out), Fault.NOT_IN_SUBGROUP),
    ]
    if name == "g1":
        cases += [
            ("x = 0", True, bytes([0x80]) + bytes(47), Fault.NOT_ON_CURVE),
            ("x = 0, long", False, bytes(95) + b"\x02", Fault.NOT_ON_CURVE),
        ]
    else:
        cases += [
            ("x.c0 = p", True, short[:48] + p_be, Fault.NOT_REDUCED),
            ("y.c0 = p, long", False, long[:144] + p_be, Fault.NOT_REDUCED),
            ("c0 and c1 exchanged", False, b"".join(long[i : i + 48] for i in (48, 0, 144, 96)), Fault.NOT_ON_CURVE),
        ]
    return cases


CASES = [(name, *case) for name in GROUPS for case in bad_encodings(name)]


@pytest.mark.parametrize(("name", "what", "compressed", "data", "fault"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_bad_encodings_are_refused(name: str, what: str, compressed: bool, data: bytes, fault: Fault) -> None:
    curve = GROUPS[name][1]
    reader = spec_encoding.decompress if compressed else spec_encoding.from_uncompressed
    with pytest.raises(spec_encoding.EncodingError):
        reader(curve, data)
    with pytest.raises(MalformedInput) as caught:
        encoding.decode(name, data, compressed=compressed, infinity=True, file="f.bin", offset=1000, what="delta")
    error = caught.value
    assert error.message == f"delta: {fault.text}"
    assert error.file == "f.bin"
    assert error.where == "byte 1000"
    assert error.got == data.hex()
    assert str(error.expected).endswith(f"compressed point of {name.upper()}")
    if not compressed:
        array = np.frombuffer(bytearray(data), np.uint8)
        assert encoding.check_subgroup(name, array) == (0, fault)
        unchecked = None if fault == Fault.NOT_IN_SUBGROUP else (0, fault)
        assert encoding.check_points(name, array) == unchecked


@BOTH
def test_decoding_without_the_order_check(name: str) -> None:
    curve = GROUPS[name][1]
    out = outside_subgroup(name, 17)
    for compressed, data in ((True, spec_encoding.compress(curve, out)), (False, spec_encoding.to_uncompressed(curve, out))):
        got = encoding.decode(name, data, compressed=compressed, subgroup=False)
        assert spec_points(name, got) == [out]


@BOTH
def test_both_signs_survive(name: str, draw: Draw) -> None:
    curve = GROUPS[name][1]
    points = [curve.mul(curve.generator, k) for k in (1, 2, R - 1, R - 2, draw.below(R - 1) + 1)]
    points += [curve.neg(p) for p in points]
    data = encoding.encode(name, points_mont(name, points), compressed=True)
    assert data.tobytes() == b"".join(spec_encoding.compress(curve, p) for p in points), draw
    assert spec_points(name, encoding.decode(name, data, compressed=True)) == points


@BOTH
@pytest.mark.parametrize("bad_at", [0, 1, 63, 64, 500, 999])
def test_bulk_check_names_the_first_bad_point(name: str, bad_at: int) -> None:
    """Whatever range a thread has: several bad points, the first is named."""
    module = GROUPS[name][0]
    data = np.repeat(encoding.encode(name, module.GENERATOR, compressed=False), 1000, axis=0)
    assert encoding.check_points(name, data) is None
    data[bad_at, -1] ^= 1
    data[999, 0] |= 0x80
    first = (bad_at, Fault.FLAGS if bad_at == 999 else Fault.NOT_ON_CURVE)
    assert encoding.check_points(name, data) == first
    with pytest.raises(ParametersError) as caught:
        encoding.decode(name, data, compressed=False, error=ParametersError, offset=868, what="ic")
    assert caught.value.message == f"ic {bad_at}: {first[1].text}"
    assert caught.value.where == f"byte {868 + bad_at * SIZE[name]}"
    assert caught.value.code == 5


@BOTH
def test_wrong_lengths_are_refused(name: str) -> None:
    module = GROUPS[name][0]
    for compressed in (True, False):
        data = encoding.encode(name, module.GENERATOR, compressed=compressed).tobytes()
        for wrong in (data[:-1], data + b"\0"):
            with pytest.raises(MalformedInput, match="truncated"):
                encoding.decode(name, wrong, compressed=compressed)
        assert encoding.decode(name, b"", compressed=compressed).shape == (0, SIZE[name] // 8)


def test_read_only_and_memory_mapped_bytes(tmp_path) -> None:
    module = GROUPS["g1"][0]
    data = np.repeat(encoding.encode("g1", module.GENERATOR, compressed=False), 10, axis=0)
    data.tofile(tmp_path / "points")
    mapped = np.memmap(tmp_path / "points", np.uint8, mode="c").reshape(10, 96)
    assert encoding.check_points("g1", mapped) is None
    assert encoding.check_points("g1", np.memmap(tmp_path / "points", np.uint8, mode="r")) is None
    assert (encoding.decode("g1", memoryview(data.tobytes()), compressed=False) == module.GENERATOR).all()


def test_result_does_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    module = GROUPS["g1"][0]
    data = np.repeat(encoding.encode("g1", module.GENERATOR, compressed=False), 300, axis=0)
    data[250, 50] ^= 1
    for threads in (1, 2, 5):
        monkeypatch.setattr(workers.config, "thread_count", lambda t=threads: t)
        assert encoding.check_points("g1", data) == (250, Fault.NOT_ON_CURVE)
