"""JSON read as strictly as serde reads it, with the byte offset of whatever is wrong."""

from __future__ import annotations

import codecs
import gc
import json
import re
from typing import Any, NoReturn

from cuzk.errors import MalformedInput

# Skips strings in a search for something outside them.
_STRINGS = r'"(?:[^"\\]|\\.)*"|'


class Repeated(dict[str, Any]):
    """An object in which `key` occurred more than once."""

    key = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    repeated = Repeated(made)
    names = [name for name, _ in pairs]
    repeated.key = next(name for i, name in enumerate(names) if name in names[:i])
    return repeated


def shown(value: Any) -> str:
    """A JSON value for an error message, short."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object with keys {sorted(value)}"[:120]
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return ascii(value)[:80]


def refuse_repeated(value: Any, file: object, where: str) -> None:
    """Raise MalformedInput for an object with a key that occurs twice: which of the two counts, readers do not agree on."""
    if isinstance(value, Repeated):
        raise MalformedInput(
            "a key occurs twice", file=file, where=f"{where}.{ascii(value.key)[1:-1][:60]}", expected="each key once", got="two"
        )


_MARKS = (
    (codecs.BOM_UTF8, "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
# JSON begins with two characters of ASCII, which tells the encoding where there is no mark.
_WIDE = (
    (rb'[{\["\s]\0{3}[^\0]\0{3}', "UTF-32"),
    (rb'\0{3}[{\["\s]\0{3}[^\0]', "UTF-32"),
    (rb'[{\["\s]\0[^\0]\0', "UTF-16"),
    (rb'\0[{\["\s]\0[^\0]', "UTF-16"),
)


def other_encoding(data: bytes) -> str | None:
    """Which encoding text has that is not plain UTF-8; None if it is, or if these are the first bytes of no text."""
    marked = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    return marked or next((name for pattern, name in _WIDE if re.match(pattern, data)), None)


def refuse_other_encoding(data: bytes, file: object) -> None:
    """Raise MalformedInput for text in another encoding than plain UTF-8, as editors and shells of some systems write it."""
    encoding = other_encoding(data)
    if encoding is not None:
        raise MalformedInput(
            f"this is text in {encoding}",
            file=file,
            where="byte 0",
            expected="UTF-8 without a byte order mark",
            got=f"{encoding}: it begins with {data[:4].hex(' ')}",
            hint="save it again as UTF-8 without a byte order mark",
        )


def parse(data: bytes, file: object, inside: str = "") -> Any:
    """The JSON value of UTF-8 bytes. Objects with repeated keys are marked, since only keys that are read may not repeat.

    Raises  MalformedInput with byte offset for anything but JSON: NaN, Infinity, deep nesting, endless integers
    """

    def fail(message: str, offset: int | None, expected: str, got: str) -> NoReturn:
        where = inside or "the top level" if offset is None else f"{inside + ', ' if inside else ''}byte {offset}"
        raise MalformedInput(message, file=file, where=where, expected=expected, got=got) from None

    def constant(name: str) -> NoReturn:
        found = (m for m in re.finditer(_STRINGS + "(NaN|-?Infinity)", text) if m[1])
        fail("invalid JSON", len(text[: next(found).start()].encode()), "a number, string, list or object", name)

    refuse_other_encoding(data, file)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        fail("not UTF-8", error.start, "UTF-8 text", f"0x{data[error.start]:02x}: {error.reason}")
    if not text.strip(" \t\r\n"):
        fail("invalid JSON", len(data), "a JSON value", "only white space" if text else "nothing")
    # The collector would walk hundreds of thousands of fresh lists again and again: a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=constant)
    except json.JSONDecodeError as error:
        fail("invalid JSON", len(text[: error.pos].encode()), "JSON", error.msg)
    except RecursionError:
        fail("nested too deeply", None, "at most a dozen levels", "hundreds of levels")
    except ValueError:  # an integer with more digits than Python converts
        digits = (m for m in re.finditer(_STRINGS + r"(-?\d{640,})", text) if m[1])
        first = next(digits, None)
        fail("integer out of range", first and len(text[: first.start()].encode()), "at most 64 bits", "too many digits")
    finally:
        if collecting:
            gc.enable()
