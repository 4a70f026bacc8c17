"""The shape cache: whole files are read back exactly, all others are made anew with one line."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from cuzk.circuits import porep
from cuzk.errors import MalformedInput, UsageError
from cuzk.formats import shapes
from cuzk.formats.shapes import cache_path, describe, load_or_record, read, write
from tests.conftest import ROOT

SIZE = 2048


class Lines:
    """Stands for a progress display."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines.append(text)


def same(x, y) -> bool:
    if isinstance(x, np.ndarray):
        return x.dtype == y.dtype and x.shape == y.shape and np.array_equal(x, y)
    if dataclasses.is_dataclass(x):
        return type(x) is type(y) and all(same(getattr(x, f.name), getattr(y, f.name)) for f in dataclasses.fields(x))
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(same, x, y))
    return type(x) is type(y) and x == y


@pytest.fixture(scope="module")
def shape():
    return porep.record(SIZE)


@pytest.fixture
def no_recording(monkeypatch):
    def record(size):
        raise AssertionError("recorded although the cache should serve")

    monkeypatch.setattr(porep, "record", record)


@pytest.fixture
def cached(fresh_cache, shape, monkeypatch):
    """A cache that holds the shape; recording is counted and quick."""
    recordings = []
    monkeypatch.setattr(porep, "record", lambda size: recordings.append(size) or shape)
    load_or_record(SIZE)
    assert recordings == [SIZE]
    recordings.clear()
    return recordings


def test_first_use_records_and_says_nothing(fresh_cache, shape):
    progress = Lines()
    assert same(load_or_record(SIZE, progress), shape)
    assert progress.lines == []
    assert [p.name for p in cache_path(SIZE).parent.iterdir()] == ["porep-2kib.shape"]


def test_second_use_reads_the_same(cached, shape):
    progress = Lines()
    found = load_or_record(SIZE, progress)
    assert same(found, shape)
    assert cached == []
    assert progress.lines == []


def test_arrays_are_as_kernels_want_them(cached):
    found = load_or_record(SIZE)
    t = found.templates[0]
    for array in (found.coefficients, found.repeated.ports, t.a.cols, t.a.coeffs, t.aux_is_bit, t.args):
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.flags.aligned


def truncate(data):
    return data[: len(data) // 2]


def flip(at):
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE = {
    "empty": lambda data: b"",
    "half": truncate,
    "one byte short": lambda data: data[:-1],
    "one byte more": lambda data: data + b"\0",
    "magic": flip(0),
    "length of the header": flip(16),
    "length of the payload": flip(24),
    "digest": flip(32),
    "header": flip(100),
    "payload": flip(-1000),
    "another file": lambda data: b"PK\3\4" + bytes(1000),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_noticed_and_repaired(name, cached, shape):
    path = cache_path(SIZE)
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[name](whole))
    with pytest.raises(MalformedInput):
        read(path)
    progress = Lines()
    assert same(load_or_record(SIZE, progress), shape)
    assert cached == [SIZE]
    assert len(progress.lines) == 1
    assert "recorded anew" in progress.lines[0]
    assert path.read_bytes() == whole


def test_another_version_is_recorded_anew(cached, monkeypatch):
    monkeypatch.setattr(shapes, "code_key", lambda: "0" * 64)
    assert describe(cache_path(SIZE))["current"] is False
    progress = Lines()
    load_or_record(SIZE, progress)
    assert cached == [SIZE]
    assert "another version" in progress.lines[0]
    assert describe(cache_path(SIZE))["current"] is True


def test_a_file_of_another_size_is_not_taken(cached):
    cache_path(4096).write_bytes(cache_path(SIZE).read_bytes())
    load_or_record(4096)
    assert cached == [4096]


def test_a_directory_in_the_way_is_no_error(cached, shape):
    path = cache_path(SIZE)
    path.unlink()
    path.mkdir()
    progress = Lines()
    assert same(load_or_record(SIZE, progress), shape)
    assert progress.lines


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, shape, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("CUZK_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(porep, "record", lambda size: shape)
    progress = Lines()
    assert load_or_record(SIZE, progress) is shape
    assert "not kept" in progress.lines[-1]


def test_processes_that_start_together(fresh_cache):
    code = f"from cuzk.formats.shapes import load_or_record; print(load_or_record({SIZE}).num_rows)"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=ROOT) for _ in range(3)]
    assert {p.communicate(timeout=300)[0] for p in running} == {b"2687921\n"}
    assert [p.name for p in cache_path(SIZE).parent.iterdir()] == ["porep-2kib.shape"]


def test_sizes_that_are_none(fresh_cache):
    with pytest.raises(UsageError):
        load_or_record(1024)


def test_description(tmp_path, shape):
    write(tmp_path / "x", shape, "some key")
    facts = describe(tmp_path / "x")
    assert (facts["circuit"], facts["sector_size"], facts["groth16_rows"]) == ("porep-2kib", SIZE, 2687961)
    assert facts["current"] is False
