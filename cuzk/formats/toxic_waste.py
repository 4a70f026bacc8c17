"""The file of `--toxic-waste`: alpha, beta, gamma, delta and tau of a setup.

    {"alpha": HEX, "beta": HEX, "gamma": HEX, "delta": HEX, "tau": HEX}

or an object that has these under `setup`. Other keys are ignored.
"""

from __future__ import annotations

from pathlib import Path

from cuzk.errors import MalformedInput
from cuzk.formats import strict_json
from cuzk.formats.scalars import json_kind, read_object, scalar
from cuzk.groth16.setup import SCALARS, ToxicWaste

WHAT = "the toxic waste file"


def read(path: Path) -> ToxicWaste:
    """The waste in a file.

    Raises  MalformedInput if the file has another form or a scalar is not in [1, r); no value is shown
    """
    content = read_object(path, WHAT)
    where = "$"
    if "setup" in content and not any(name in content for name in SCALARS):
        content, where = content["setup"], "$.setup"
        if not isinstance(content, dict):
            raise MalformedInput(
                f"{WHAT} has the wrong form", file=path, where=where, expected="an object", got=json_kind(content)
            )
    strict_json.refuse_repeated(content, path, where)
    values = {name: scalar(content.get(name), path, f"{where}.{name}", WHAT) for name in SCALARS}
    for name, value in values.items():
        if value == 0:
            raise MalformedInput(
                f"{WHAT} has a scalar out of range", file=path, where=f"{where}.{name}", expected="1 to r - 1", got="0"
            )
    return ToxicWaste(**values)
