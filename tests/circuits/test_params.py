"""Names of Filecoin's parameter files follow from the circuit's parameters."""

from __future__ import annotations

import hashlib

import pytest

from cuzk.circuits.params import TreeShape, parse_size, porep_shape
from cuzk.errors import UsageError

# SHA-256 of the identifier. Those of 2 KiB, 8 MiB, 512 MiB, 32 and 64 GiB are in Filecoin's parameters.json.
IDS = {
    "2KiB": ("8-0-0", "032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f"),
    "4KiB": ("8-2-0", "71fadf776fff80d5977d027cdf5b4af941c75de6aafee6530ff15997f7173b9b"),
    "16KiB": ("8-8-0", "5d6414be6742cfc2d41b04c9f12eacd8f78775cf01c1f5cdcf5b370808fe5b74"),
    "32KiB": ("8-8-2", "2a21b24b412f71b8441648d2cd849229afd278d96964baf1a0f2712f4afbadfd"),
    "8MiB": ("8-0-0", "ecd683648512ab1765faa2a5f14bab48f676e633467f0aa8aad4b55dcb0652bb"),
    "16MiB": ("8-2-0", "86c715b389cbfdcb1c84b73e4bf276474652288a6aefcaa9f9600c21b0cff44e"),
    "512MiB": ("8-0-0", "6babf46ce344ae495d558e7770a585b2382d54f225af8ed0397b8be7c3fcd472"),
    "1GiB": ("8-2-0", "002b03e3cbccd5d23c5f673a39ec4127ae31a1820be2faa32f72fdc75cf262c2"),
    "32GiB": ("8-8-0", "82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820"),
    "64GiB": ("8-8-2", "96f1b4a04c5c51e4759bbf224bbc2ef5a42c7100f16ec0637123f16a845ddfb2"),
}


@pytest.mark.parametrize("text", IDS)
def test_file_names(text):
    tree, digest = IDS[text]
    shape = porep_shape(parse_size(text))
    assert hashlib.sha256(shape.identifier.encode()).hexdigest() == digest
    assert shape.file_stem == f"v28-stacked-proof-of-replication-merkletree-poseidon_hasher-{tree}-sha256_hasher-{digest}"
    assert shape.tree.index_bits == shape.tree_d.index_bits == shape.tree_d.siblings


def test_sizes_are_read_in_any_form():
    assert parse_size("32gib") == parse_size("32GIB") == parse_size(str(32 << 30)) == 32 << 30


@pytest.mark.parametrize("text", ["", "3KiB", "2 KiB", "2KB", "-2KiB", "2.0KiB", "0x800", "2048KiB", "2049", "nan", "²KiB"])
def test_other_texts_are_refused(text):
    with pytest.raises(UsageError):
        parse_size(text)


def test_path_goes_from_base_to_top():
    assert TreeShape(1 << 31, 8, 8, 2).path == (("base", 8),) * 9 + (("sub", 8), ("top", 2))
    assert TreeShape(64, 2).path == (("base", 2),) * 6
