"""Every error that a user can meet, with its exit code.

A message says what is wrong, where (file, byte offset or JSON path), what was expected, what was found and what to do.
Secrets (r, s, witness values, toxic waste) never enter a message. A well-formed but false proof is not an error: it is `False`.
"""

from __future__ import annotations

from typing import Any

PARTS = ("file", "where", "expected", "got", "hint", "phase", "partition")  # of an error, beside its message


class CuzkError(Exception):
    """Base of all errors. `code` is the process exit code, `kind` a stable word for machines."""

    code = 8
    kind = "internal"

    def __init__(
        self,
        message: str,
        *,
        file: object = None,
        where: str | None = None,
        expected: object = None,
        got: object = None,
        hint: str | None = None,
        phase: str | None = None,
        partition: int | None = None,
    ) -> None:
        """Keep the parts apart so that they can be printed as one sentence or as JSON."""
        super().__init__(message)
        self.message = message
        self.file = None if file is None else str(file)
        self.where = where
        self.expected = expected
        self.got = got
        self.hint = hint
        self.phase = phase
        self.partition = partition

    def __str__(self) -> str:
        parts = [self.message]
        place = ", ".join(p for p in (self.file, self.where) if p)
        if self.partition is not None:
            place = f"partition {self.partition}" + (f", {place}" if place else "")
        if place:
            parts.append(f"  at:       {place}")
        if self.expected is not None:
            parts.append(f"  expected: {self.expected}")
        if self.got is not None:
            parts.append(f"  got:      {self.got}")
        if self.hint:
            parts.append(f"  to do:    {self.hint}")
        return "\n".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """The `error` object of `--json`."""
        keys = ("code", "kind", "message", "phase", "partition", "file", "where", "expected", "got", "hint")
        return {k: v if isinstance(v := getattr(self, k), int | str | None) else str(v) for k in keys}


def recast(error: CuzkError, kind: type[CuzkError]) -> CuzkError:
    """The same message under another exit code: a damaged parameter file is malformed input where it is the input."""
    return kind(error.message, **{part: getattr(error, part) for part in PARTS})


class UsageError(CuzkError):
    """Options that contradict each other or name something unknown."""

    code, kind = 2, "usage"


class MalformedInput(CuzkError):
    """A C1, proof, key, circuit or randomness file that cannot be what it should be."""

    code, kind = 3, "malformed"


class FalseInput(CuzkError):
    """A well-formed C1 whose content does not hold: a path, label, encoding, commitment, id or challenge."""

    code, kind = 4, "false-c1"


class FalseCircuit(FalseInput):
    """A well-formed circuit whose own assignment does not satisfy it."""

    kind = "false-circuit"


class ParametersError(CuzkError):
    """Parameter files absent, damaged or of another circuit."""

    code, kind = 5, "parameters"


class DeviceError(CuzkError):
    """No device, an unusable one, or one that failed."""

    code, kind = 6, "device"


class ResourceError(CuzkError):
    """Memory, device memory, disk or a limit."""

    code, kind = 7, "resources"


class InternalError(CuzkError):
    """A self-check failed. Nothing was written."""

    code, kind = 8, "internal"


class Interrupted(CuzkError):
    """The user stopped the run."""

    code, kind = 130, "interrupted"


EXIT_CODES = {
    0: "done; true",
    1: "a well-formed proof that is false",
    2: "usage",
    3: "malformed input (C1, proof, key, circuit, randomness file)",
    4: "a well-formed C1, or a circuit's assignment, that is false",
    5: "parameters absent, damaged or of another circuit",
    6: "device: none, unusable, failed",
    7: "resources: memory, device memory, disk, limits",
    8: "internal: a self-check failed; nothing was written",
    130: "interrupted",
}
