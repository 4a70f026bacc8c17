"""What a file means to be, whole or damaged: told by its first bytes and its size, and only then by its name.

None of the binary formats but the shape cache names itself, so evidence is weighed that survives a flipped bit or a cut: whether
coordinates are below the modulus, whether counts add up to the size, which flag bits points carry. The reader of the kind that is
found says what is wrong with the file; nothing is decided here.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from cuzk.curve.encoding import COMPRESSED_FLAG, GROUPS
from cuzk.errors import CuzkError, MalformedInput
from cuzk.field.params import P
from cuzk.files import open_regular
from cuzk.formats import circuit, shapes, srs, strict_json, vk
from cuzk.groth16.proof import PROOF_BYTES

COORDINATE = GROUPS["g1"].bytes // 2
HEAD_COORDINATES = vk.COUNT_OFFSET // COORDINATE
MOST = 5 / 6  # of the coordinates of a key's fixed points; of random bytes a tenth are below the modulus
SOME = 3 / 4  # of the coordinates of two points
LARGEST_PROOF_FILE = PROOF_BYTES << 12
LARGEST_KEY = 1 << 20  # twice what the circuit with the most public inputs needs
SUFFIXES = {".params": "params", ".vk": "vk", ".shape": "shape"}
_HEAD = 4096


def kind_of(path: Path) -> str:
    """`shape`, `c1`, `circuit`, `params`, `vk` or `proof`; `json` for other JSON, `unknown` for anything else.

    Cost    a few pages of the file; JSON is searched for its keys
    Raises  MalformedInput if the file cannot be read or is no regular file
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return SUFFIXES.get(path.suffix, "unknown")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return _kind(path, data, size)
    except OSError as error:
        raise MalformedInput("the file cannot be read", file=path, expected="a readable file", got=error.strerror) from None


def _kind(path: Path, data: mmap.mmap, size: int) -> str:
    head = data[:_HEAD]
    if head.startswith(shapes.MAGIC[:10]):
        return "shape"
    if strict_json.other_encoding(head) is not None:
        return "json"  # whose reader says so
    if head.lstrip()[:1] in (b"{", b"[", b'"') and b"\0" not in head:
        return _json_kind(data)
    if size >= 16 and not any(head[2:8]) and not any(head[9:16]) and head[0] and head[8]:
        return "c1"  # two small counts, 64 bits each, little-endian
    if _is_key_head(head):
        return "params" if _is_params(path, data, size) else "vk"
    if _is_proof(head[:PROOF_BYTES], size):
        return "proof"
    return SUFFIXES.get(path.suffix, "unknown")


def _json_kind(data: mmap.mmap) -> str:
    if any(data.find(key) >= 0 for key in circuit.C1_KEYS):
        return "c1"
    return "circuit" if any(data.find(key) >= 0 for key in circuit.KEYS) else "json"


def _canonical(data: bytes) -> float:
    """Which share of the whole coordinates in some bytes are below the modulus."""
    words = [data[i : i + COORDINATE] for i in range(0, len(data) - COORDINATE + 1, COORDINATE)]
    return sum(int.from_bytes(word, "big") < P for word in words) / max(1, len(words))


def _is_key_head(head: bytes) -> bool:
    """Whether six uncompressed points stand at the beginning, as far as it goes: a flipped bit does not change the answer."""
    fixed = head[: vk.COUNT_OFFSET]
    return len(fixed) >= 2 * COORDINATE and any(fixed) and _canonical(fixed) >= MOST


def _is_proof(proof: bytes, size: int) -> bool:
    """Whether compressed points A, B and C stand at the beginning; if the size fits, one coordinate may be damaged."""
    if size > LARGEST_PROOF_FILE or size < 2 * COORDINATE:
        return False
    good = []
    for i in range(0, len(proof) - COORDINATE + 1, COORDINATE):
        x = int.from_bytes(proof[i : i + COORDINATE], "big")
        if i != 2 * COORDINATE:  # the second half of B has no flags
            flags, x = x >> 8 * COORDINATE - 3, x & (1 << 8 * COORDINATE - 3) - 1
            good.append(flags & 6 == COMPRESSED_FLAG and x < P)
        else:
            good.append(x < P)
    return good.count(False) <= (size % PROOF_BYTES == 0)


def _is_params(path: Path, data: mmap.mmap, size: int) -> bool:
    """Whether vectors follow the verifying key, or would if a count were right."""
    try:
        if srs.ParamsFile(path).lengths.h:
            return True  # all counts add up
    except CuzkError:
        pass
    key = vk.size(int.from_bytes(data[vk.COUNT_OFFSET : vk.IC_OFFSET], "big"))
    if size == key:
        return False
    if path.suffix == ".params" or size > LARGEST_KEY:
        return True
    if size < key:
        return False
    start = key + srs.COUNT_BYTES
    points = data[start : start + GROUPS["g2"].bytes]  # the vector may be no longer
    return len(points) >= COORDINATE and _canonical(points) >= SOME
