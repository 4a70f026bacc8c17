"""`cuzk inspect`: what a file is, and its facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cuzk.errors import CuzkError, MalformedInput
from cuzk.formats import c1, circuit, shapes, srs, vk
from cuzk.groth16.proof import PROOF_BYTES, Proof


def _proof(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    count, rest = divmod(len(data), PROOF_BYTES)
    if rest or not count:
        raise MalformedInput(
            "a proof file is a multiple of 192 bytes", file=path, expected="192 × n bytes", got=f"{len(data)} bytes"
        )
    for k in range(count):
        Proof.decode(data[k * PROOF_BYTES : (k + 1) * PROOF_BYTES], file=path, offset=k * PROOF_BYTES)
    return {"proofs": count, "bytes": len(data)}


def _vk(path: Path) -> dict[str, Any]:
    found = vk.read(path)
    return {"ic": len(found.key.ic), "public_inputs": found.key.num_inputs, "trailing_bytes": found.trailing_bytes}


# Most telling first: a form that names itself, then those that are known by their content.
READERS: list[tuple[str, Callable[[Path], dict[str, Any]]]] = [
    ("shape", shapes.describe),
    ("circuit", circuit.describe),
    ("c1", lambda path: c1.load(path).describe()),
    ("params", srs.describe),
    ("vk", _vk),
    ("proof", _proof),
]


def inspect(path: Path) -> dict[str, Any]:
    """`kind` first, then facts. Raises MalformedInput, with each reader's reason, if it is nothing we know."""
    reasons = {}
    for kind, reader in READERS:
        try:
            facts = {k: v for k, v in reader(path).items() if k not in ("kind", "file", "bytes")}
            return {"kind": kind, "file": str(path), "bytes": path.stat().st_size, **facts}
        except CuzkError as error:
            reasons[kind] = error.message
    raise MalformedInput(
        "not a file that cuzk knows",
        file=path,
        expected="C1 (wrapper, raw JSON, bincode), params, vk, proof, circuit, shape cache",
        got=f"{path.stat().st_size} bytes",
        hint="; ".join(f"as {kind}: {reason}" for kind, reason in reasons.items()),
    )


def text(result: dict[str, Any]) -> str:
    """The facts for people."""
    return "\n".join(
        f"{key:<20} {json.dumps(value) if isinstance(value, dict | list) else value}" for key, value in result.items()
    )
