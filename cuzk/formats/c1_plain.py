"""The JSON forms of a C1 as serde writes them, without an object a number: the bytes that `c1_json` makes, several times as fast.

All challenges have one structure. The first is read by the strict reader, which also tells where each of its numbers goes; the
others must have the same text but for their numbers. Whatever is not as plain as that is left to the strict reader, so that
nothing is accepted here that it would refuse, and every message is its own.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuzk import workers
from cuzk.errors import CuzkError
from cuzk.formats import c1_json, strict_json
from cuzk.formats.registry import RegisteredProof
from cuzk.kernels import json_cpu

U8 = npt.NDArray[np.uint8]

_HOLE = "d4735e3a265e16ee"  # stands for what was cut out; a text that holds it is left to the strict reader
_WRAPPED = re.compile(rb'"Phase1Out" ?: ?"')
_FIRST, _BORDER, _LAST = b"[[{", b"}],[{", b"}]]"  # of the list of vanilla proofs
_LONGEST = 8 << 20  # bytes of one challenge
_NUMBER = bytes([json_cpu.NUMBER])
_DIGITS = 1 << 20  # of base64 a task
_VALUES = np.full(256, 255, np.uint8)
_VALUES[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")] = np.arange(64, dtype=np.uint8)


class Read(NamedTuple):
    """What a JSON form holds: the bincode bytes, and the facts that those do not have."""

    form: str
    prefix: str  # of every JSON path
    proof: RegisteredProof
    payload: bytes
    number: int | None = None
    size: int | None = None


class _Layout(NamedTuple):
    """Where the numbers of a challenge go: its bincode bytes with zeros, and for each number a place and a width in bytes."""

    base: U8
    offsets: npt.NDArray[np.int64]
    widths: npt.NDArray[np.int64]


def read(data: bytes, file: object) -> Read | None:
    """The content of a file in one of the JSON forms, or None for the strict reader to decide."""
    try:
        if (opened := _WRAPPED.search(data)) is None:
            found = _raw(data, file, "")
            return None if found is None else Read("json", "", *found)
        end = data.find(b'"', opened.end())
        outer = _with_hole(data[: opened.end()], data[end:], file)
        if outer is None or type(outer) is strict_json.Repeated or outer.get("Phase1Out") != _HOLE:
            return None
        raw = _decoded(data[opened.end() : end])
        found = None if raw is None else _raw(raw, file, "Phase1Out.")
        if found is None or raw is None:
            return None
        number, size, _ = c1_json.unwrap(outer, file, raw)
        return Read("wrapper", "Phase1Out.", *found, number, size)
    except CuzkError:
        return None


def _with_hole(head: bytes, tail: bytes, file: object) -> Any:
    """What is left of a JSON object from which something was cut, None if that is no object of its own."""
    text = head + _HOLE.encode() + tail
    if len(text) > _LONGEST or text.count(_HOLE.encode()) != 1:
        return None
    value = strict_json.parse(text, file)
    return value if isinstance(value, dict) else None


def _decoded(text: bytes) -> bytes | None:
    """Standard base64 with padding, None for anything else."""
    if len(text) % 4 or not text:
        return None
    body, last = np.frombuffer(text, np.uint8)[:-4], text[-4:]
    out = np.empty(len(body) // 4 * 3, np.uint8)
    pieces = [(i, min(len(body), i + _DIGITS)) for i in range(0, len(body), _DIGITS)]
    calls = [(out[i // 4 * 3 : j // 4 * 3], body[i:j], _VALUES) for i, j in pieces]
    try:
        end = base64.b64decode(last, validate=True)
    except (binascii.Error, ValueError):
        return None
    if base64.b64encode(end) != last or not all(workers.run_all(json_cpu.from_base64, calls)):
        return None
    return out.tobytes() + end


def _raw(data: bytes, file: object, prefix: str) -> tuple[RegisteredProof, bytes] | None:
    """The raw form as registered proof and bincode bytes."""
    first, last = data.find(_FIRST), data.rfind(_LAST)
    if not 0 <= first < last:
        return None
    last += len(_LAST)
    outer = _with_hole(data[:first] + b'"', b'"' + data[last:], file)
    if outer is None:
        return None
    proof = c1_json.registered_proof(outer.get("registered_proof"), file, "registered_proof")
    proofs = outer.get("vanilla_proofs")
    if not isinstance(proofs, dict) or proofs.get(proof.vanilla_key) != _HOLE:
        return None
    challenges = _challenges(data[first:last], proof, file)
    return None if challenges is None else c1_json.to_bincode(outer, file, prefix, False, challenges)


def _challenges(body: bytes, proof: RegisteredProof, file: object) -> bytes | None:
    """The bincode bytes of the list of vanilla proofs, partitions side by side."""
    per, partitions = proof.sector.challenges, proof.partitions
    start = body[2 : 2 + _LONGEST].decode("latin-1")
    try:
        _, end = json.JSONDecoder().raw_decode(start)
    except (json.JSONDecodeError, RecursionError, ValueError):
        return None
    text, own = np.frombuffer(body, np.uint8), np.empty(end, np.uint8)
    length, each = json_cpu.scan(text[2 : 2 + end], own, np.empty(end, np.uint64))
    borders = [0, *(found.start() + 2 for found in re.finditer(re.escape(_BORDER), body)), len(body) - 1]
    if length < 0 or len(borders) != partitions + 1:
        return None
    layout = _layout(own[:length].tobytes(), start[:end].encode("latin-1"), proof, file)
    if layout is None or len(layout.offsets) != each:
        return None
    size = len(layout.base)
    out = np.empty((partitions, 8 + per * size), np.uint8)
    out[:, :8] = np.frombuffer(per.to_bytes(8, "little"), np.uint8)
    wanted = b"[" + b",".join([own[:length].tobytes()] * per) + b"]"

    def partition(k: int) -> bool:
        part = text[borders[k] + 1 : borders[k + 1]]
        skeleton, numbers = np.empty(len(part), np.uint8), np.empty(len(part) // 2 + 1, np.uint64)
        length, count = json_cpu.scan(part, skeleton, numbers)
        if length < 0 or count != per * each or skeleton[:length].tobytes() != wanted:
            return False
        values = numbers[:count].reshape(per, each)
        return bool(json_cpu.place(out[k, 8:].reshape(per, size), layout.base, values, layout.offsets, layout.widths))

    if not all(workers.run_all(partition, [(k,) for k in range(partitions)])):
        return None
    return partitions.to_bytes(8, "little") + out.tobytes()


class _Noting(c1_json.Transcoder):
    """The strict reader of one challenge, which also notes the integers that are not bytes."""

    def __init__(self, file: object, proof: RegisteredProof) -> None:
        super().__init__(file, proof, has_booleans=True)
        self.wide: list[tuple[int, int]] = []

    def integer(self, value: Any, path: str, bits: int) -> int:
        """As the strict reader."""
        self.wide.append((super().integer(value, path, bits), bits // 8))
        return value if isinstance(value, int) else 0


def _layout(challenge: bytes, text: bytes, proof: RegisteredProof, file: object) -> _Layout | None:
    """Where the numbers of a challenge go, once the strict reader has read the first one."""
    _transcoded(text, proof, file)
    return _layout_of(challenge, proof)


def _transcoded(text: bytes, proof: RegisteredProof, file: object) -> tuple[U8, list[tuple[int, int]]]:
    """A challenge's bincode bytes, and its integers that are not bytes with their widths."""
    reader = _Noting(file, proof)
    reader.challenge(strict_json.parse(text, file), "")
    return np.frombuffer(b"".join(reader.out), np.uint8), reader.wide


@functools.lru_cache(maxsize=4)
def _layout_of(challenge: bytes, proof: RegisteredProof) -> _Layout | None:
    """By reading the challenge with other numbers: all 0, all 1, and each its own rank, in three bytes one after the other."""
    parts = challenge.split(_NUMBER)
    count = len(parts) - 1

    def with_numbers(values: list[int]) -> tuple[U8, list[tuple[int, int]]]:
        words = [word for pair in zip(parts, map(b"%d".__mod__, values), strict=False) for word in pair]
        return _transcoded(b"".join([*words, parts[-1]]), proof, None)

    base, _ = with_numbers([0] * count)
    places = np.flatnonzero(with_numbers([1] * count)[0] != base)
    digits = [with_numbers([k >> 8 * p & 255 for k in range(count)]) for p in range(3)]
    if len(places) != count or count >> 24:
        return None
    ranks = sum(found[places].astype(np.int64) << 8 * p for p, (found, _) in enumerate(digits))
    offsets, widths = np.full(count, -1, np.int64), np.ones(count, np.int64)
    offsets[ranks] = places
    for parts_of_rank in zip(*(wide for _, wide in digits), strict=True):
        widths[sum(value << 8 * p for p, (value, _) in enumerate(parts_of_rank))] = parts_of_rank[0][1]
    return None if (offsets < 0).any() else _Layout(base, offsets, widths)
