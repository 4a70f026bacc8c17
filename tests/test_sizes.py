"""Sizes as options name them: ASCII digits alone, and no more than a size has."""

from __future__ import annotations

import pytest

from cuzk.errors import UsageError
from cuzk.sizes import parse_bytes, size_text


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("12", 12), ("1k", 1 << 10), ("8GiB", 8 << 30), (" 8 gb ", 8 << 30), ("2T", 2 << 40)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text, "--size") == size


NO_SIZES = ["", "G", "-1", "1.5G", "1X", "１G", "٣", "1K\u212a", "9" * 5000, "9" * 5000 + "G", "1\u017f"]


@pytest.mark.parametrize("text", NO_SIZES, ids=lambda text: ascii(text[:12]))
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_bytes(text, "--device-memory")
    assert caught.value.where == "--device-memory" and str(caught.value.got).isascii()


def test_sizes_in_words() -> None:
    assert size_text(5) == "5 bytes"
    assert size_text(1536) == "1536 bytes (1.5 KiB)"
    assert size_text((1 << 30) + 1) == f"{(1 << 30) + 1} bytes (1.0 GiB)"
