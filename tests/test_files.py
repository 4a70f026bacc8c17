"""Writing files: whole or not at all, and refused beforehand where that can be known."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from cuzk import files
from cuzk.errors import ResourceError, UsageError


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_says_where_and_how_much_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ResourceError) as caught:
        files.write_atomically(tmp_path / "proof.bin", bytes(192))
    error = caught.value
    assert (error.code, error.file, error.got) == (7, str(tmp_path / "proof.bin"), "No space left on device")
    assert str(tmp_path) in str(error.where) and "bytes free" in str(error.where) and "free space" in str(error.hint)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_found_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.check_outputs({"-o": tmp_path / "proof.bin"}, [])
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    with pytest.raises(ResourceError) as caught:
        files.check_outputs({"-o": tmp_path / "proof.bin"}, [])
    error = caught.value
    assert (error.code, error.got) == (7, "No space left on device")
    assert str(error.where).startswith("-o, directory ") and "bytes free" in str(error.where) and error.hint


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    with pytest.raises(ResourceError, match="the directory cannot be written") as caught:
        files.check_outputs({"-o": tmp_path / "proof.bin"}, [])
    assert (caught.value.file, caught.value.where) == (str(tmp_path), "-o")
    with pytest.raises(UsageError, match="does not exist"):
        files.check_outputs({"-o": tmp_path / "none" / "proof.bin"}, [])
