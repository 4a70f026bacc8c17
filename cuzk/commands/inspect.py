"""`cuzk inspect`: what a file is, and its facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cuzk.errors import MalformedInput, ParametersError, recast
from cuzk.formats import c1, circuit, recognise, shapes, strict_json, vk
from cuzk.groth16.proof import PROOF_BYTES, Proof
from cuzk.parameters import identify


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


def _other_json(path: Path) -> dict[str, Any]:
    """Raises MalformedInput: it is no JSON, or JSON of another kind."""
    content = strict_json.parse(path.read_bytes(), path)
    raise _unknown(path, strict_json.shown(content))


def _unknown(path: Path, got: str) -> MalformedInput:
    return MalformedInput(
        "not a file that cuzk knows",
        file=path,
        expected="C1 (wrapper, raw JSON, bincode), params, vk, proof, circuit, shape cache",
        got=got,
    )


READERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "shape": shapes.describe,
    "circuit": circuit.describe,
    "c1": lambda path: c1.load(path).describe(),
    "params": identify.describe,
    "vk": _vk,
    "proof": _proof,
    "json": _other_json,
}


def inspect(path: Path) -> dict[str, Any]:
    """`kind` first, then facts.

    Raises  MalformedInput: of the reader of the kind that the file means to be, or if it is nothing we know
    """
    kind = recognise.kind_of(path)
    if kind not in READERS:
        with path.open("rb") as file:
            start = file.read(8)
        raise _unknown(path, f"{path.stat().st_size} bytes" + (f" that begin with {start.hex()}" if start else ""))
    try:
        facts = READERS[kind](path)
    except ParametersError as error:
        raise recast(error, MalformedInput) from None
    except OSError as error:
        raise MalformedInput("the file cannot be read", file=path, got=error.strerror) from None
    rest = {k: v for k, v in facts.items() if k not in ("kind", "file", "bytes")}
    return {"kind": kind, "file": str(path), "bytes": path.stat().st_size, **rest}


def text(result: dict[str, Any]) -> str:
    """The facts for people."""
    return "\n".join(
        f"{key:<20} {json.dumps(value) if isinstance(value, dict | list) else value}" for key, value in result.items()
    )
