"""An explicit constraint system with its assignment, as JSON.

An object with `name`, `inputs` (hex values, the first is 1), `aux` (hex values) and `rows`, each `[A, B, C]` of terms
`[kind, index, coefficient]`, kind `I` (input) or `A` (aux). Values are `0x` and up to 64 hex digits, below r. A variable that
occurs twice in a combination has the sum of its coefficients. Other keys are ignored.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from cuzk.circuits.stages import Library
from cuzk.circuits.system import LinearCombination
from cuzk.circuits.template import ONE, Shape, Witness
from cuzk.errors import MalformedInput
from cuzk.field.limbs import fr_mont
from cuzk.field.params import R
from cuzk.formats import strict_json
from cuzk.r1cs.digest import digest

HIDDEN = "(a witness value, not shown)"
# A file with any of these keys means to be a circuit, unless it has one of those of a C1, whose columns have rows, too.
KEYS = (b'"rows"', b'"aux"', b'"inputs"')
C1_KEYS = (b'"Phase1Out"', b'"vanilla_proofs"', b'"registered_proof"', b'"SectorNum"', b'"replica_id"')
_HEX = re.compile(r"0x[0-9a-fA-F]{1,64}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class _Reader:
    """Checks values and knows the file for messages."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def fail(self, message: str, where: str, expected: str, got: Any) -> NoReturn:
        raise MalformedInput(message, file=self.path, where=where, expected=expected, got=strict_json.shown(got))

    def document(self) -> dict[str, Any]:
        """The top-level object."""
        try:
            data = self.path.read_bytes()
        except OSError as error:
            self.fail("cannot be read", "the file", "a circuit", error.strerror or type(error).__name__)
        document = strict_json.parse(data, self.path)
        if not isinstance(document, dict):
            self.fail("not a circuit", "$", "an object with name, inputs, aux, rows", document)
        if isinstance(document, strict_json.Repeated):
            self.fail("a key occurs twice", "$", "each key once", document.key)
        for key in ("inputs", "aux", "rows"):
            if key not in document:
                self.fail(f'the key "{key}" is missing', "$", "an object with inputs, aux, rows", document)
        return document

    def list_of(self, node: Any, where: str, length: int | None = None, secret: bool = False) -> list[Any]:
        """A list, of a length if one is given. What stands for a secret one is not shown."""
        if not isinstance(node, list) or (length is not None and len(node) != length):
            shown = HIDDEN if secret else node
            self.fail("not a list as expected", where, "a list" if length is None else f"a list of {length}", shown)
        return node

    def value(self, node: Any, where: str, secret: bool = False) -> int:
        """A field element. The text of a secret one is not shown."""
        shown = HIDDEN if secret else node
        if not isinstance(node, str) or not _HEX.fullmatch(node):
            self.fail("not a field element", where, "0x and up to 64 hex digits", shown)
        if (value := int(node, 16)) >= R:
            self.fail("not below the modulus r", where, f"less than {R:#x}", shown)
        return value

    def combination(self, node: Any, where: str, handles: dict[str, list[int]]) -> LinearCombination:
        """A linear combination over the recorder's handles."""
        lc: LinearCombination = {}
        for t, term in enumerate(self.list_of(node, where)):
            at = f"{where}[{t}]"
            kind, index, coefficient = self.list_of(term, at, 3)
            if kind not in ("I", "A"):
                self.fail("unknown kind of variable", f"{at}[0]", "I or A", kind)
            known = handles[kind]
            if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < len(known):
                self.fail("no such variable", f"{at}[1]", f"0 … {len(known) - 1}", index)
            lc[known[index]] = (lc.get(known[index], 0) + self.value(coefficient, f"{at}[2]")) % R
        return lc


def load(path: Path) -> tuple[Shape, Witness]:
    """The constraint system, as one loose segment whose aux variables are all elements, and its assignment.

    Raises  MalformedInput with the JSON path
    """
    reader = _Reader(Path(path))
    document = reader.document()
    name = document.get("name", reader.path.stem)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        reader.fail("not a circuit name", "$.name", "letters, digits, . _ -", name)
    inputs = [reader.value(v, f"$.inputs[{i}]") for i, v in enumerate(reader.list_of(document["inputs"], "$.inputs"))]
    if not inputs or inputs[0] != 1:
        reader.fail("the first input is the constant ONE", "$.inputs[0]", "0x1", f"{inputs[0]:#x}" if inputs else "nothing")
    aux = [reader.value(v, f"$.aux[{i}]", True) for i, v in enumerate(reader.list_of(document["aux"], "$.aux", secret=True))]
    library = Library()
    cs = library.stage()
    handles = {"I": [ONE, *(cs.given_input() for _ in inputs[1:])], "A": [cs.hint_elem() for _ in aux]}
    for r, row in enumerate(reader.list_of(document["rows"], "$.rows")):
        parts = reader.list_of(row, f"$.rows[{r}]", 3)
        a, b, c = (reader.combination(part, f"$.rows[{r}][{i}]", handles) for i, part in enumerate(parts))
        cs.enforce(a, b, c)
    shape = library.shape(name, cs, facts={"kind": "circuit"})
    if "digest" in document and document["digest"] != (computed := digest(shape)["digest"]):
        reader.fail("the rows are not those of the digest in the file", "$.digest", computed, document["digest"])
    witness = Witness(inputs_mont=fr_mont(inputs), bits=np.zeros(0, np.uint8), elems_mont=fr_mont(aux))
    return shape, witness


def is_circuit(path: Path) -> bool:
    """Whether a file means to be an explicit circuit rather than a C1, told by its keys without parsing it."""
    with path.open("rb") as file:
        head = file.read(4096).lstrip()
        if not head.startswith(b"{") or any(key in head for key in C1_KEYS):
            return False
        data = head + file.read()
    return not any(key in data for key in C1_KEYS) and any(key in data for key in KEYS)


def describe(path: Path) -> dict[str, Any]:
    """Facts for `cuzk inspect`. Raises MalformedInput if it is no circuit."""
    shape, _ = load(path)
    facts = {"name": shape.name, "inputs": shape.num_inputs, "aux": shape.num_aux, "rows": shape.num_rows}
    return {**facts, "groth16_rows": shape.groth16_rows, "domain_log2": shape.domain_log2}
