"""Memory that a run will need, predicted from the shape before any work."""

from __future__ import annotations

import resource
import sys
import warnings

from cuzk import config
from cuzk.circuits.template import Shape
from cuzk.errors import ResourceError
from cuzk.sizes import parse_bytes

_WINDOWS = 16  # of a large multi-exponentiation; more threads share windows


def budget_of(given: str | None, available: int, option: str = "--memory-budget") -> int:
    """The bytes that a run may take: what was given, else what is available. Warns of a budget that the machine does not have.

    Raises  UsageError
    """
    if given is None:
        return available
    budget = parse_bytes(given, option)
    if budget > available:
        warnings.warn(f"{option} {given} is more than the {available:,} bytes that are available now", stacklevel=2)
    return budget


def predicted_peak(shape: Shape) -> int:
    """Bytes of resident memory at the peak of one proof on a CPU, parameters in the page cache not counted.

    The points of h, a row of 128 bytes each and the 96 bytes of the parameter file that the system counts as ours, are there
    beside either the quotient's three vectors of the domain, with one pass's scratch, or the scalars, and the digits and sorted
    entries of each thread that has a window of its own.
    """
    domain = 1 << shape.domain_log2
    program = 400 << 20  # interpreter, compiler, code
    static = shape.num_bits * 13 + shape.num_elems * 80
    quotient, multi_exponentiation = 3 * 32, 32 + 8 * min(config.thread_count(), _WINDOWS)
    return program + static + domain * (128 + 96 + max(quotient, multi_exponentiation))


def predicted_peak_beside_cards(shape: Shape, synthesize: bool = True) -> int:
    """The same where cards prove: the positions of the variables, and witness and row values of one partition unless cards
    synthesize too."""
    program = 600 << 20  # compilers for both, the driver
    static = 3 * 4 * shape.num_aux + shape.num_bits * 13
    partition = shape.num_bits + 32 * (shape.num_elems + 3 * shape.groth16_rows)
    return program + static + (partition if synthesize else 0)


def refuse_over(need: int, budget: int, what: str, task: str = "this proof", hint: str = "") -> None:
    """Raise ResourceError if `need` exceeds `budget`: refusing beforehand beats being killed later."""
    if need > budget:
        raise ResourceError(
            f"not enough memory for {task}",
            where=what,
            expected=f"at least {need:,} bytes ({need / (1 << 30):.1f} GiB)",
            got=f"{budget:,} bytes",
            hint=hint or "free memory, raise the budget, or use a larger machine",
        )


def measured_peak() -> int:
    """Bytes of resident memory of this process at its peak until now."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def synthesis_needs(shape: Shape, buffer_bytes: int, hint_bytes: int, explicit_bytes: int) -> tuple[int, int]:
    """Bytes of synthesis alone: what is there once, and what each partition at work needs.

    Once: interpreter, compiler, code and flat templates, explicit matrices. Each: witness and row values, and the hints twice.
    """
    templates = sum(array.nbytes for t in shape.templates for m in (t.a, t.b, t.c) for array in (m.indptr, m.cols, m.coeffs))
    return (350 << 20) + 6 * templates + explicit_bytes, buffer_bytes + 2 * hint_bytes
