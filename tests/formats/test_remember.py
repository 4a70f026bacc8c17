"""What is kept of a check, and when it no longer holds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cuzk.formats.remember import Checked, Identity, forget, recall, remember

CHECKED = Checked({"sha256": "ab" * 32}, on_curve=True, in_subgroup=False)


@pytest.fixture
def file(tmp_path: Path, fresh_cache: Path) -> Path:
    path = tmp_path / "x.params"
    path.write_bytes(b"some bytes")
    return path


def identity(path: Path) -> Identity:
    return Identity.of(path.stat())


def test_remembered_until_forgotten(file: Path) -> None:
    assert recall(file, identity(file)) is None
    assert remember(file, identity(file), CHECKED)
    assert recall(file, identity(file)) == CHECKED
    forget(file)
    forget(file)
    assert recall(file, identity(file)) is None


def test_another_time_size_or_inode_is_another_file(file: Path) -> None:
    remember(file, identity(file), CHECKED)
    before = file.stat()
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert recall(file, identity(file)) is None
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert recall(file, identity(file)) == CHECKED
    assert recall(file, Identity(before.st_size + 1, before.st_mtime_ns, before.st_ino)) is None
    other = file.with_name("other")
    other.write_bytes(b"some bytes")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, file)
    assert file.stat().st_mtime_ns == before.st_mtime_ns and file.stat().st_size == before.st_size
    assert recall(file, identity(file)) is None


def test_same_file_through_a_link(file: Path) -> None:
    remember(file, identity(file), CHECKED)
    link = file.with_name("link")
    link.symlink_to(file)
    assert recall(link, identity(link)) == CHECKED


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"version": 1}', "\x00", '{"version": 1, "path": "x", "identity": 3, "checked": {}}']
)
def test_damaged_memory_is_none(file: Path, fresh_cache: Path, text: str) -> None:
    remember(file, identity(file), CHECKED)
    (memory,) = (fresh_cache / "checked").iterdir()
    memory.write_text(text)
    assert recall(file, identity(file)) is None


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_only_true_is_true(file: Path, fresh_cache: Path, value: object) -> None:
    remember(file, identity(file), CHECKED)
    (memory,) = (fresh_cache / "checked").iterdir()
    content = json.loads(memory.read_text())
    content["checked"]["on_curve"] = value
    memory.write_text(json.dumps(content))
    found = recall(file, identity(file))
    assert found is not None and not found.on_curve


def test_cache_that_cannot_be_written(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "occupied").write_text("a file where the directory should be")
    monkeypatch.setenv("CUZK_CACHE_DIR", str(tmp_path / "occupied"))
    assert not remember(file, identity(file), CHECKED)
    assert recall(file, identity(file)) is None


def test_nothing_is_left_beside_the_memory(file: Path, fresh_cache: Path) -> None:
    for _ in range(3):
        remember(file, identity(file), CHECKED)
    assert len(list((fresh_cache / "checked").iterdir())) == 1
