"""Memory that a run will need, predicted from the shape before any work."""

from __future__ import annotations

import re

from cuzk.circuits.template import Shape
from cuzk.errors import ResourceError, UsageError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_bytes(text: str, where: str) -> int:
    """`8G`, `8GiB`, `512M` or a number of bytes. Raises UsageError."""
    match = re.fullmatch(r"\s*(\d+)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if not match:
        raise UsageError("not a number of bytes", where=where, expected="such as 8G or 8589934592", got=text[:40])
    return int(match[1]) * _UNITS[match[2].upper()]


def predicted_peak(shape: Shape) -> int:
    """Bytes of resident memory at the peak of one proof on a CPU, parameters in the page cache not counted.

    The peak is either in the quotient (three vectors of the domain, plus one in lane layout) or in the multi-exponentiation of h
    (one row of 128 bytes a point, the scalars, their digits).
    """
    domain = 1 << shape.domain_log2
    program = 400 << 20  # interpreter, compiler, code
    static = shape.num_bits * 13 + shape.num_elems * 80
    quotient = domain * (3 * 32 + 2 * 40)
    multi_exponentiation = domain * (128 + 32 + 4 * 16 + 8)
    return program + static + max(quotient, multi_exponentiation)


def refuse_over(need: int, budget: int, what: str) -> None:
    """Raise ResourceError if `need` exceeds `budget`: refusing beforehand beats being killed later."""
    if need > budget:
        raise ResourceError(
            "not enough memory for this proof",
            where=what,
            expected=f"at least {need:,} bytes ({need / (1 << 30):.1f} GiB)",
            got=f"{budget:,} bytes",
            hint="free memory, raise the budget, or use a larger machine",
        )
