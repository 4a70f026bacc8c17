"""The JSON forms of a C1 as serde writes them, without an object a number: the bytes that `c1_json` makes, several times as fast.

All challenges have one structure. That of the first is read by the strict reader, which tells where each of its numbers goes; all
must have the same text but for their numbers. Whatever is not as plain as that is left to the strict reader, so that
nothing is accepted here that it would refuse, and every message is its own.
"""

from __future__ import annotations

import base64
import binascii
import functools
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
I64 = npt.NDArray[np.int64]

_HOLE = "d4735e3a265e16ee"  # stands for what was cut out; a text that holds it is left to the strict reader
_WRAPPED = re.compile(rb'"Phase1Out" ?: ?"')
_FIRST, _LAST = b"[[{", b"}]]"  # of the list of vanilla proofs
_LONGEST = 8 << 20  # bytes of one challenge
_ENDS = 1 << 16  # bytes before and after what is large
_NUMBER = bytes([json_cpu.NUMBER])
_DIGITS = 1 << 20  # of base64 a task
_VALUES = np.full(256, 255, np.uint8)
_VALUES[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")] = np.arange(64, dtype=np.uint8)


class Read(NamedTuple):
    """What a JSON form holds: the bincode bytes, and the facts that those do not have."""

    form: str
    prefix: str  # of every JSON path
    proof: RegisteredProof
    payload: bytes | memoryview
    number: int | None = None
    size: int | None = None


class _Layout(NamedTuple):
    """What all challenges share: skeleton, bincode bytes with zeros, and for each number its place and its width in bytes."""

    skeleton: U8
    base: U8
    offsets: npt.NDArray[np.uint32]
    widths: U8


def read(data: bytes | memoryview, file: object) -> Read | None:
    """The content of a file in one of the JSON forms, or None for the strict reader to decide."""
    text = _fixed(np.frombuffer(data, np.uint8))
    try:
        if (opened := _WRAPPED.search(text[:_ENDS].tobytes())) is None:
            found = _raw(text, file, "")
            return None if found is None else Read("json", "", *found)
        start = opened.end()
        # An earlier quote would be no digit of base64.
        tail = max(start, len(text) - _ENDS)
        end = tail + text[tail:].tobytes().find(b'"')
        outer = _with_hole(text[:start], text[end:], file)
        if outer is None or type(outer) is strict_json.Repeated or outer.get("Phase1Out") != _HOLE:
            return None
        raw = _decoded(text[start:end])
        found = None if raw is None else _raw(raw, file, "Phase1Out.")
        if found is None:
            return None
        number, size, _ = c1_json.unwrap(outer, file, b"")
        return Read("wrapper", "Phase1Out.", *found, number, size)
    except CuzkError:
        return None


def _fixed(text: U8) -> U8:
    """The same bytes, not to be written: kernels are compiled for one of the two kinds."""
    text = text[:]
    text.flags.writeable = False
    return text


def _with_hole(head: U8, tail: U8, file: object) -> Any:
    """What is left of a JSON object from which something was cut, None if that is no object of its own."""
    text = head.tobytes() + _HOLE.encode() + tail.tobytes()
    if text.count(_HOLE.encode()) != 1:
        return None
    value = strict_json.parse(text, file)
    return value if isinstance(value, dict) else None


def _decoded(text: U8) -> U8 | None:
    """Standard base64 with padding, None for anything else."""
    if len(text) % 4 or not len(text):
        return None
    body, last = text[:-4], text[-4:].tobytes()
    try:
        end = base64.b64decode(last, validate=True)
    except (binascii.Error, ValueError):
        return None
    size = len(body) // 4 * 3
    out = np.empty(size + len(end), np.uint8)
    out[size:] = np.frombuffer(end, np.uint8)
    pieces = [(i, min(len(body), i + _DIGITS)) for i in range(0, len(body), _DIGITS)]
    calls = [(out[i // 4 * 3 : j // 4 * 3], body[i:j], _VALUES) for i, j in pieces]
    if base64.b64encode(end) != last or not all(workers.run_all(json_cpu.from_base64, calls)):
        return None
    return _fixed(out)


def _raw(text: U8, file: object, prefix: str) -> tuple[RegisteredProof, memoryview] | None:
    """The raw form as registered proof and bincode bytes."""
    tail = max(0, len(text) - _ENDS)
    first, last = text[:_ENDS].tobytes().find(_FIRST), tail + text[tail:].tobytes().rfind(_LAST)
    if first < 0 or last <= max(first, tail - 1):
        return None
    last += len(_LAST)
    quote = np.frombuffer(b'"', np.uint8)
    outer = _with_hole(np.concatenate([text[:first], quote]), np.concatenate([quote, text[last:]]), file)
    if outer is None or (not prefix and "Phase1Out" in outer):
        return None
    proof = c1_json.registered_proof(outer.get("registered_proof"), file, "registered_proof")
    proofs = outer.get("vanilla_proofs")
    if not isinstance(proofs, dict) or proofs.get(proof.vanilla_key) != _HOLE:
        return None
    _, commitments = c1_json.to_bincode(outer, file, prefix, False, b"")
    found = _challenges(text[first:last], proof, commitments)
    return None if found is None else (proof, found)


def _challenges(body: U8, proof: RegisteredProof, commitments: bytes) -> memoryview | None:
    """The bincode bytes of the list of vanilla proofs, partitions side by side, and what follows them."""
    per, partitions = proof.sector.challenges, proof.partitions
    longest = body[2 : 2 + _LONGEST]
    skeleton = np.empty(len(longest), np.uint8)
    end, length, count = json_cpu.scan(longest, skeleton, np.empty(len(longest), np.uint64))
    if end < 0:
        return None
    layout = _layout(skeleton[:length].tobytes(), proof)
    if layout is None or len(layout.offsets) != count:
        return None
    spans = _spans(body, layout.skeleton, per, partitions)
    if spans is None:
        return None
    size = len(layout.base)
    out = np.empty(8 + partitions * (8 + per * size) + len(commitments), np.uint8)
    out[:8] = np.frombuffer(partitions.to_bytes(8, "little"), np.uint8)
    out[len(out) - len(commitments) :] = np.frombuffer(commitments, np.uint8)
    lists = out[8 : len(out) - len(commitments)].reshape(partitions, -1)
    lists[:, :8] = np.frombuffer(per.to_bytes(8, "little"), np.uint8)
    at = (8 + (8 + per * size) * np.arange(partitions)[:, None] + 8 + size * np.arange(per)).reshape(-1)
    starts, stops = spans

    def some(first: int, last: int) -> bool:
        pieces = starts[first:last], stops[first:last], *layout, out, at[first:last]
        return bool(json_cpu.read_alike(body, *pieces))

    return out.data if all(workers.over_ranges(some, len(at))) else None


def _spans(body: U8, skeleton: U8, per: int, partitions: int) -> tuple[I64, I64] | None:
    """Where each challenge starts and stops in a list of lists, found by what comes before a challenge's first number."""
    number = int(np.argmax(skeleton == json_cpu.NUMBER))
    word, count = skeleton[: min(number, 255)], per * partitions

    def some(first: int, last: int) -> I64:
        places = np.empty(count + 1, np.int64)
        found = json_cpu.find(body[first : last + len(word) - 1], word, places)
        return places[:found] + first

    starts = np.concatenate(workers.over_ranges(some, len(body)))
    if len(starts) != count or starts[0] != 2:
        return None
    between = [b",", b"],["]
    last_of_list = np.arange(1, count) % per == 0
    stops = np.append(starts[1:] - np.where(last_of_list, len(between[1]), len(between[0])), len(body) - 2)
    for text, chosen in zip(between, (~last_of_list, last_of_list), strict=True):
        for k, byte in enumerate(text):
            if (body[stops[:-1][chosen] + k] != byte).any():
                return None
    return starts, stops


class _Noting(c1_json.Transcoder):
    """The strict reader of one challenge, which also notes the integers that are not bytes."""

    def __init__(self, file: object, proof: RegisteredProof) -> None:
        super().__init__(file, proof, has_booleans=True)
        self.wide: list[tuple[int, int]] = []

    def integer(self, value: Any, path: str, bits: int) -> int:
        """As the strict reader."""
        self.wide.append((super().integer(value, path, bits), bits // 8))
        return value if isinstance(value, int) else 0


def _transcoded(text: bytes, proof: RegisteredProof, file: object) -> tuple[U8, list[tuple[int, int]]]:
    """A challenge's bincode bytes, and its integers that are not bytes with their widths."""
    reader = _Noting(file, proof)
    reader.challenge(strict_json.parse(text, file), "")
    return np.frombuffer(b"".join(reader.out), np.uint8), reader.wide


@functools.lru_cache(maxsize=4)
def _layout(skeleton: bytes, proof: RegisteredProof) -> _Layout | None:
    """By strictly reading the challenge with other numbers: all 0, all 1, and each its own rank, in three bytes one after the
    other. What the strict reader takes of a number is then every value that its width holds.

    Raises  MalformedInput if it is no challenge
    """
    parts = skeleton.split(_NUMBER)
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
    offsets, widths = np.full(count, -1, np.int64), np.ones(count, np.uint8)
    offsets[ranks] = places
    for parts_of_rank in zip(*(wide for _, wide in digits), strict=True):
        widths[sum(value << 8 * p for p, (value, _) in enumerate(parts_of_rank))] = parts_of_rank[0][1]
    if (offsets < 0).any():
        return None
    return _Layout(np.frombuffer(skeleton, np.uint8), base, offsets.astype(np.uint32), widths)
