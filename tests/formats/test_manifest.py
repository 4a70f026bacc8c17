"""Filecoin's list of parameter files."""

from __future__ import annotations

import hashlib

import pytest

from cuzk.circuits.params import porep_shape
from cuzk.formats import manifest
from cuzk.seal.sector import SECTORS

# From the table of published files in rust-fil-proofs' parameters.json.
POREP = {
    "2KiB": ("434fb1338ecfaf0f59256f30dde4968f", "dc1ade9929ade1708238f155343044ac"),
    "8MiB": ("09e612e4eeb7a0eb95679a88404f960c", "b687beb9adbd9dabe265a7e3620813e4"),
    "512MiB": ("6c77597eb91ab936c1cef4cf19eba1b3", "065179da19fbe515507267677f02823e"),
    "32GiB": ("6a388072a518cf46ebd661f5cc46900a", "0c7b4aac1c40fdb7eb82bc355b41addf"),
    "64GiB": ("1801f8a6e1b00bceb00cc27314bb5ce3", "a89884252c04c298d0b3c81bfd884164"),
}


@pytest.mark.parametrize("size", SECTORS, ids=lambda s: s.name)
def test_porep_names_and_digests(size) -> None:
    found = manifest.load()
    for ending, i in ((".params", 0), (".vk", 1)):
        entry = found.of(porep_shape(size).file_stem + ending)
        if size.name in POREP:
            assert entry is not None and (entry.digest, entry.sector_size) == (POREP[size.name][i], size.size)
        else:
            assert entry is None


def test_whole_list() -> None:
    found = manifest.load()
    assert len(found.files) == 44
    assert sum(name.endswith(".vk") for name in found.files) == 22
    assert len(list(found.of_sector_size(2048))) == 8  # PoRep, two PoSts, update; each .params and .vk
    assert found.of("no-such-file.params") is None


def test_description_names_source_and_digest() -> None:
    assert "filecoin-proofs 19.1.0" in str(manifest.load())
    assert len(manifest.load().list_digest) == manifest.DIGEST_DIGITS


def test_digest_rule_is_the_head_of_blake2b_512() -> None:
    assert hashlib.blake2b(b"abc").hexdigest()[:32] == "ba80a53f981c4d0d6a2797b69f12f6e9"  # RFC 7693, appendix A
