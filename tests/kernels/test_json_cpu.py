"""JSON texts and base64 by kernels against Python's own readers."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import pytest

from cuzk.kernels import json_cpu
from tests.conftest import Draw

TEMPLATE = b'{"a":[%d,%d,%d],"node":%d,"b":[{"c":%d}],"d":null}'
BYTES = ["255", "256", "299", "300", "999", "1000", "00", "01", "09", "010"]
INTEGERS = ["4294967295", "4294967296", "9999999999999999999", "10000000000000000000", "18446744073709551616"]
OTHERS = ["", "-1", "1.0", "1e1", "a", ":", "/", "2 5", "null"]
OFFSETS, WIDTHS, SIZE = [3, 1, 0, 5, 20], [1, 1, 1, 8, 4], 30


def array(text: bytes) -> Any:
    return np.frombuffer(text, np.uint8)


def scanned(text: bytes) -> tuple[int, bytes, list[int]]:
    skeleton, numbers = np.empty(len(text), np.uint8), np.empty(len(text), np.uint64)
    end, length, count = json_cpu.scan(array(text), skeleton, numbers)
    return end, skeleton[:length].tobytes(), numbers[:count].tolist()


def test_an_object_is_scanned_to_its_end(draw: Draw) -> None:
    values = [draw.below(1 << 63) for _ in range(5)]
    text = TEMPLATE % tuple(values)
    _, end = json.JSONDecoder().raw_decode((text + b',{"x":]').decode())
    assert scanned(text + b',{"x":]') == (end, re.sub(rb"\d+", b"\0", text), values)
    assert scanned(b'{"}]":[]}]')[0] == len(b'{"}]":[]}')
    for bad in (text[:-1], b'{"a', b'{"a": 1}', b"[01]", b"[" + b"1" * 20 + b"]", b'["\\n"]', b'["\x7f"]', b"[\xc3]", b""):
        assert scanned(bad)[0] < 0


@pytest.mark.parametrize("word", [b"{", b"aa", b"abab", b'{"c":', b"x" * 255])
def test_words_are_found_where_regular_expressions_find_them(word: bytes, draw: Draw) -> None:
    random = draw.random
    text = b"".join(random.choice([word, word[:-1], word[1:], bytes([random.choice(b'abx{"c:')])]) for _ in range(300))
    wanted = [m.start() for m in re.finditer(b"(?=" + re.escape(word) + b")", text)]
    for room in (len(text), 3, 0):
        places = np.empty(room, np.int64)
        assert places[: json_cpu.find(array(text), array(word), places)].tolist() == wanted[:room]
    assert json_cpu.find(array(word[:-1]), array(word), np.empty(5, np.int64)) == 0


def read(texts: list[bytes]) -> bytes | None:
    """Copies that start at every second byte, one after the other from the last on."""
    whole = array(b"".join(texts) + b"}]]")
    stops = np.cumsum([len(t) for t in texts])
    starts = stops - [len(t) for t in texts]
    at = (len(texts) - 1 - np.arange(len(texts))) * SIZE
    out = np.full(SIZE * len(texts), 9, np.uint8)
    layout = array(re.sub(rb"%d", b"\0", TEMPLATE)), array(bytes(range(100, 100 + SIZE)))
    places = np.array(OFFSETS, np.uint32), np.array(WIDTHS, np.uint8)
    return out.tobytes() if json_cpu.read_alike(whole, starts, stops, *layout, *places, out, at) else None


def plain(values: list[int]) -> bytes | None:
    """The copy of one text."""
    out = bytearray(range(100, 100 + SIZE))
    for value, at, width in zip(values, OFFSETS, WIDTHS, strict=True):
        if value >= 10**19 or value >> 8 * width:
            return None
        out[at : at + width] = value.to_bytes(width, "little")
    return bytes(out)


def test_numbers_are_put_where_they_belong(draw: Draw) -> None:
    for _ in range(50):
        values = [[draw.below(1 << 8 * min(width, 7)) for width in WIDTHS] for _ in range(3)]
        values[0][3] = draw.random.choice([10**19 - 1, (1 << 63) + 1, 0])
        assert read([TEMPLATE % tuple(v) for v in values]) == b"".join(plain(v) or b"" for v in reversed(values))


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("text", [*BYTES, *INTEGERS, *OTHERS])
def test_only_plain_numbers_that_fit_are_taken(text: str, place: int) -> None:
    texts: list[Any] = [1, 22, 255, 4, 5]
    texts[place] = text
    is_plain = re.fullmatch(r"0|[1-9]\d*", text)
    wanted = plain([int(t) for t in texts]) if is_plain else None
    other = TEMPLATE % (1, 2, 3, 4, 5)
    got = read([other, TEMPLATE.replace(b"%d", b"%b") % tuple(str(t).encode() for t in texts)])
    assert got == (wanted and wanted + (plain([1, 2, 3, 4, 5]) or b""))


def test_any_other_text_is_refused(draw: Draw) -> None:
    text = TEMPLATE % (1, 22, 255, 12345678901, 9)
    for at in range(len(text)):
        for byte in b'0:,{}[]"a \n-.\x00\xff':
            for changed in (text[:at] + bytes([byte]) + text[at + 1 :], text[:at] + bytes([byte]) + text[at:]):
                numbers = re.fullmatch(re.escape(TEMPLATE).replace(b"%d", rb"(0|[1-9]\d*)"), changed)
                assert read([changed]) == (plain([int(n) for n in numbers.groups()]) if numbers else None), changed
    assert read([text[:-1]]) is None and read([text + b"}"]) is None


def test_digits_of_base64(draw: Draw) -> None:
    data = draw.random.randbytes(300)
    values = np.full(256, 255, np.uint8)
    values[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")] = np.arange(64, dtype=np.uint8)
    text, out = bytearray(base64.b64encode(data)), np.empty(300, np.uint8)
    assert json_cpu.from_base64(out, array(bytes(text)), values) and out.tobytes() == data
    for byte in b'="-_ \n\\\x00\xff':
        changed = text.copy()
        changed[draw.random.randrange(len(text))] = byte
        assert not json_cpu.from_base64(out, array(bytes(changed)), values)
