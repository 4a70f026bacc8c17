"""JSON read as strictly as serde reads it, with the byte offset of whatever is wrong."""

from __future__ import annotations

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

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        fail("not UTF-8", error.start, "UTF-8 text", f"0x{data[error.start]:02x}: {error.reason}")
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
