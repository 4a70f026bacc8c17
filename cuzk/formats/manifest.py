"""Filecoin's published parameter files: names, sizes of sector, digests.

A digest is the first 32 hexadecimal digits of unkeyed BLAKE2b-512 over the whole file (not BLAKE2b with a shorter output).

Source  rust-fil-proofs, parameters.json and filecoin-proofs/src/param.rs.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

DIGEST_DIGITS = 32


@dataclass(frozen=True, slots=True)
class Entry:
    """One published file."""

    file: str
    sector_size: int
    digest: str
    cid: str  # content id under which the file can be fetched


@dataclass(frozen=True, slots=True)
class Manifest:
    """The published files by name, and where the list is from."""

    files: dict[str, Entry]
    source: str
    list_digest: str  # of the list itself

    def __str__(self) -> str:
        return f"{self.source} (list BLAKE2b {self.list_digest[:12]})"

    def of(self, name: str) -> Entry | None:
        """The entry of a file name; None where the file is not a published one."""
        return self.files.get(name)

    def of_sector_size(self, sector_size: int) -> Iterator[Entry]:
        """All entries for a sector size."""
        return (entry for entry in self.files.values() if entry.sector_size == sector_size)


@functools.cache
def load() -> Manifest:
    """The manifest that this package carries."""
    data = resources.files("cuzk").joinpath("data", "filecoin-parameters.json").read_bytes()
    content = json.loads(data)
    entries = [Entry(**item) for item in content["files"]]
    return Manifest(
        {entry.file: entry for entry in entries}, content["source"], hashlib.blake2b(data).hexdigest()[:DIGEST_DIGITS]
    )
