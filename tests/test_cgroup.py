"""Limits of control groups, from folders as Linux has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuzk import cgroup, config

GIB = 1 << 30


def write(folder: Path, **files: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(f"{content}\n")


def left(tmp_path: Path, membership: str) -> int | None:
    (tmp_path / "self").write_text(membership)
    return cgroup.memory_left(tmp_path / "fs", tmp_path / "self")


def test_version_2_takes_the_tightest_limit_of_all_groups_around(tmp_path: Path) -> None:
    root = tmp_path / "fs"
    write(root / "a", memory__max=8 * GIB, memory__current=5 * GIB)
    write(root / "a/b", memory__max=6 * GIB, memory__current=1 * GIB)
    write(root / "a/b/c", memory__max="max", memory__current=1 * GIB)
    assert left(tmp_path, "0::/a/b/c\n") == 3 * GIB
    write(root / "a", memory__max="max")
    assert left(tmp_path, "0::/a/b/c\n") == 5 * GIB


def test_the_containers_own_group_is_the_root(tmp_path: Path) -> None:
    write(tmp_path / "fs", memory__max=4 * GIB, memory__current=GIB)
    assert left(tmp_path, "0::/../../elsewhere\n") == 3 * GIB
    assert left(tmp_path, "0::/\n") == 3 * GIB


def test_version_1(tmp_path: Path) -> None:
    root = tmp_path / "fs/memory"
    write(root, memory__limit_in_bytes=9223372036854771712, memory__usage_in_bytes=7 * GIB)
    write(root / "job", memory__limit_in_bytes=10 * GIB, memory__usage_in_bytes=4 * GIB)
    lines = "9:name=systemd:/\n4:memory:/job\n1:cpu,cpuacct:/job\n0::/\n"
    assert left(tmp_path, lines) == 6 * GIB
    stat = f"total_inactive_file {2 * GIB}\ntotal_active_file {GIB}\ninactive_file 5"
    write(root / "job", memory__stat=stat)
    assert left(tmp_path, lines) == 9 * GIB


def test_cached_files_do_not_count(tmp_path: Path) -> None:
    write(tmp_path / "fs", memory__max=4 * GIB, memory__current=4 * GIB, memory__stat=f"inactive_file {GIB}\nactive_file {GIB}")
    assert left(tmp_path, "0::/\n") == 2 * GIB
    write(tmp_path / "fs", memory__stat="inactive_file x")
    assert left(tmp_path, "0::/\n") == 0


@pytest.mark.parametrize("lines", ["", "0::/\n", "4:memory:/absent\n"])
def test_no_limit(lines: str, tmp_path: Path) -> None:
    (tmp_path / "fs").mkdir()
    assert left(tmp_path, lines) is None
    assert cgroup.memory_left(tmp_path / "fs", tmp_path / "absent") is None


def test_available_memory_obeys_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "memory_left", lambda: 12345)
    assert config.available_memory() == 12345
    monkeypatch.setattr(cgroup, "memory_left", lambda: None)
    assert config.available_memory() > 12345
