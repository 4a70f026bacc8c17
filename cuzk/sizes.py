"""Sizes in bytes, as people write and read them."""

from __future__ import annotations

import re

from cuzk.errors import UsageError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_DIGITS = 24  # more than any size has


def parse_bytes(text: str, where: str) -> int:
    """`8G`, `8GiB`, `512M` or a number of bytes, in ASCII. Raises UsageError."""
    match = re.fullmatch(rf"\s*([0-9]{{1,{_DIGITS}}})\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE | re.ASCII)
    if not match:
        raise UsageError("not a number of bytes", where=where, expected="such as 8G or 8589934592", got=ascii(text[:40]))
    return int(match[1]) * _UNITS[match[2].upper()]


def size_text(size: int) -> str:
    """Bytes exactly, and in the unit that suits them."""
    return f"{size} bytes" + (f" ({short_size(size)})" if size >= 1 << 10 else "")


def short_size(size: int) -> str:
    """Bytes in the unit that suits them."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
