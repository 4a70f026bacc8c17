"""Recorded constraint systems on disk: `CACHE/shapes/porep-32gib.shape` and so on.

    offset  bytes  content
    0       16     magic, with the version of this layout
    16      8      length of the header, little-endian
    24      8      length of the payload, little-endian
    32      32     BLAKE2b-256 of header and payload
    64      …      header: JSON, padded with spaces to a multiple of 64
    …       …      payload: arrays, each at a multiple of 64

The header's `key` is a digest of everything that could change the content. A file that is damaged or has another key is made
anew. Files appear by rename, so processes that start together may all record, and the last one's file stays.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from cuzk import config
from cuzk.circuits import porep
from cuzk.circuits.params import circuit_name
from cuzk.circuits.template import Matrix, Shape, Stage, Template
from cuzk.errors import MalformedInput, ResourceError
from cuzk.files import replacing
from cuzk.progress import Progress

MAGIC = b"cuzk shape v1\r\n\x1a"
ALIGN = 64
_DIGEST_AT, _HEADER_AT = 32, 64


@functools.cache
def code_key() -> str:
    """Digest of the sources that decide what a recorded shape is."""
    digest = hashlib.sha256(MAGIC)
    package = Path(__file__).parents[1]
    sources = [*sorted((package / "circuits").glob("*.py")), *(package / n for n in ("seal/sector.py", "field/params.py"))]
    for path in [*sources, Path(__file__)]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _key(sector_size: int) -> str:
    return f"{code_key()}-{sector_size}"


def _flatten(value: Any, arrays: dict[int, Any]) -> Any:
    """A shape as JSON; arrays are numbered, shared ones once."""
    if isinstance(value, np.ndarray):
        arrays.setdefault(id(value), value)
        return list(arrays).index(id(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _flatten(getattr(value, f.name), arrays) for f in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return [_flatten(v, arrays) for v in value]
    return value


def write(path: Path, shape: Shape, key: str) -> None:
    """Write a shape. Raises ResourceError."""
    arrays: dict[int, Any] = {}
    tree = _flatten(shape, arrays)
    table, payload = [], bytearray()
    for array in arrays.values():
        table.append([array.dtype.str, list(array.shape), len(payload)])
        payload += array.tobytes()
        payload += bytes(-len(payload) % ALIGN)
    header = json.dumps({"key": key, "arrays": table, "shape": tree}).encode()
    header += b" " * (-len(header) % ALIGN)
    digest = hashlib.blake2b(header + payload, digest_size=32).digest()
    with replacing(path) as file:
        file.write(MAGIC.ljust(16, b"\0") + len(header).to_bytes(8, "little") + len(payload).to_bytes(8, "little"))
        file.write(digest + header + payload)


def _checked(path: Path) -> tuple[dict[str, Any], Any]:
    """Header and payload of a whole file. Raises MalformedInput, OSError."""
    data = np.fromfile(path, np.uint8)
    fixed = data[:_HEADER_AT].tobytes()
    if not fixed.startswith(MAGIC):
        raise MalformedInput("not a recorded shape", file=path, where="byte 0", expected=repr(MAGIC), got=repr(fixed[:14]))
    header, payload = (int.from_bytes(fixed[i : i + 8], "little") for i in (16, 24))
    if len(data) != _HEADER_AT + header + payload:
        raise MalformedInput(
            "length of a recorded shape", file=path, expected=f"{_HEADER_AT + header + payload} bytes", got=f"{len(data)} bytes"
        )
    if hashlib.blake2b(data[_HEADER_AT:].data, digest_size=32).digest() != fixed[_DIGEST_AT:_HEADER_AT]:
        raise MalformedInput("a recorded shape is damaged: its digest does not match", file=path)
    return json.loads(data[_HEADER_AT : _HEADER_AT + header].tobytes()), data[_HEADER_AT + header :]


def read(path: Path) -> tuple[str, Shape]:
    """The key and the shape of a file.

    Raises  MalformedInput if it is damaged or no such file; OSError if it cannot be read
    """
    header, payload = _checked(path)
    arrays = []
    for dtype, dimensions, offset in header["arrays"]:
        kind = np.dtype(dtype)
        end = offset + kind.itemsize * int(np.prod(dimensions))
        arrays.append(payload[offset:end].view(kind).reshape(dimensions))

    def matrix(node: dict[str, int]) -> Matrix:
        return Matrix(**{name: arrays[i] for name, i in node.items()})

    def template(node: dict[str, Any]) -> Template:
        plain = {name: node[name] for name in ("name", "inputs", "num_ports")}
        rest = {name: arrays[node[name]] for name in ("aux_is_bit", "ops", "arg_ptr", "args")}
        return Template(**plain, **rest, a=matrix(node["a"]), b=matrix(node["b"]), c=matrix(node["c"]))

    def stage(node: dict[str, Any]) -> Stage:
        totals = {"rows", "aux_total", "bits", "elems", "inputs", "hint_bits", "hint_elems"}
        values = {name: v if name in totals else arrays[v] for name, v in node.items() if name != "names"}
        return Stage(**values, names=tuple(node["names"]))

    node = header["shape"]
    return header["key"], Shape(
        name=node["name"],
        templates=tuple(template(t) for t in node["templates"]),
        coefficients=arrays[node["coefficients"]],
        prologue=stage(node["prologue"]),
        repeated=stage(node["repeated"]),
        repeats=node["repeats"],
        facts=node["facts"],
    )


def cache_path(sector_size: int) -> Path:
    """Where the shape of a sector size is kept."""
    return config.cache_dir() / "shapes" / f"{circuit_name(sector_size)}.shape"


def load_or_record(sector_size: int, progress: Progress | None = None) -> Shape:
    """The constraint system of a sector size, from the cache or recorded now and cached.

    A line goes to `progress` if a file there is damaged or stale, or if nothing can be kept.

    Cost    reading one file from the cache, else recording the circuit
    Raises  UsageError if the size is none of the ten
    """
    path, key = cache_path(sector_size), _key(sector_size)

    def say(text: str) -> None:
        if progress is not None:
            progress.line(text)

    try:
        found, shape = read(path)
        if found == key:
            return shape
        say(f"{path}: made by another version; recorded anew")
    except FileNotFoundError:
        pass
    except (OSError, MalformedInput) as error:
        reason = error.message if isinstance(error, MalformedInput) else error.strerror
        say(f"{path}: {reason}; recorded anew")
    shape = porep.record(sector_size)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, shape, key)
    except (OSError, ResourceError) as error:
        say(f"{path}: the recorded circuit is not kept: {getattr(error, 'strerror', None) or error.args[0]}")
    return shape


def describe(path: Path) -> dict[str, Any]:
    """Facts of a file, for `inspect`. Raises MalformedInput."""
    key, shape = read(path)
    return {
        "circuit": shape.name,
        **shape.facts,
        "inputs": shape.num_inputs,
        "aux": shape.num_aux,
        "constraints": shape.num_rows,
        "groth16_rows": shape.groth16_rows,
        "domain_log2": shape.domain_log2,
        "templates": len(shape.templates),
        "coefficients": len(shape.coefficients),
        "current": key.startswith(code_key()),
    }
