"""JSON files that hold secret scalars: how they are read without ever showing a value.

A scalar is 64 hexadecimal digits (an optional `0x` before them): 32 bytes little-endian, below the group order r.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

from cuzk.errors import MalformedInput
from cuzk.field.limbs import FR_BYTES
from cuzk.field.params import R
from cuzk.files import open_regular
from cuzk.formats import strict_json

MAX_BYTES = 64 << 20  # of a file of scalars; guards against a wrong file


def _refuse(message: str, path: Path, where: str | None, expected: str, got: str) -> NoReturn:
    raise MalformedInput(message, file=path, where=where, expected=expected, got=got) from None


def read_object(path: Path, what: str) -> dict[str, Any]:
    """The JSON object in a file. `what` names the kind of file in messages.

    Raises  MalformedInput if the file cannot be read, is no JSON or no object, or repeats a key; the message has a position,
            never content
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_BYTES:
                _refuse(f"{what} is too large", path, None, f"at most {MAX_BYTES} bytes", f"{size} bytes")
            data = file.read()
    except OSError as error:
        _refuse(f"{what} cannot be read", path, None, "a readable JSON file", error.strerror or "an I/O error")
    try:
        content = strict_json.parse(data, path)
    except MalformedInput as error:
        _refuse(f"{what} is not JSON", path, error.where, "a JSON object", _reason(error))
    if not isinstance(content, dict):
        _refuse(f"{what} has the wrong form", path, "$", "a JSON object", json_kind(content))
    strict_json.refuse_repeated(content, path, "$")
    return content


def _reason(error: MalformedInput) -> str:
    """Why bytes are no JSON, without any of them."""
    return "a syntax error" if error.message == "invalid JSON" else error.message


def scalar(value: object, path: Path, where: str, what: str) -> int:
    """One scalar of a file.

    Raises  MalformedInput naming the place and the class of the fault, never the value.
    """
    if value is None:
        _refuse(f"{what} lacks a scalar", path, where, f"{2 * FR_BYTES} hexadecimal digits", "nothing")
    if not isinstance(value, str):
        _refuse(f"{what} has a malformed scalar", path, where, f"{2 * FR_BYTES} hexadecimal digits", json_kind(value))
    digits = value.removeprefix("0x")
    if len(digits) != 2 * FR_BYTES:
        _refuse(f"{what} has a malformed scalar", path, where, f"{2 * FR_BYTES} hexadecimal digits", f"{len(digits)} characters")
    if not digits.isascii() or not digits.isalnum():
        _refuse(f"{what} has a malformed scalar", path, where, "hexadecimal digits", "other characters")
    try:
        number = int.from_bytes(bytes.fromhex(digits), "little")
    except ValueError:
        _refuse(f"{what} has a malformed scalar", path, where, "hexadecimal digits", "other characters")
    if number >= R:
        _refuse(
            f"{what} has a scalar out of range", path, where, "a number below the group order r (little-endian)", "a number >= r"
        )
    return number


def json_kind(value: object) -> str:
    """What JSON calls the type of a value."""
    kinds = {dict: "an object", list: "an array", str: "a string", bool: "a truth value", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")
