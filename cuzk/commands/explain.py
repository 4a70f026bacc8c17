"""`cuzk explain`: where the rows, variables and non-zero entries of a circuit are, by gadget, by layer and tree, by part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from cuzk.circuits.template import Shape, Stage, Template
from cuzk.formats import shapes
from cuzk.progress import Progress
from cuzk.r1cs.digest import counts
from cuzk.seal.sector import SECTORS

_NUMBER = re.compile(r"\d+")
# Namespaces of the challenges: what each proves, and the tree or layer that it is about.
_PARTS = (
    (re.compile(r"data_leaf|comm_d_inclusion"), "data in tree D"),
    (re.compile(r"(drg|exp)_parent_\d+_inclusion"), "parents' columns in tree C"),
    (re.compile(r"(drg|exp)_parent_\d+_(num|constraint)"), "parents' columns hashed"),
    (re.compile(r"challenge"), "challenge"),
    (re.compile(r"labeling_\d+"), "labels"),
    (re.compile(r"encode_node"), "encoding"),
    (re.compile(r"comm_r_last_data_inclusion"), "replica in tree R"),
    (re.compile(r"c_x_column_hash"), "own column hashed"),
    (re.compile(r"c_x_inclusion"), "own column in tree C"),
)
_TREES = (
    (re.compile(r"data_leaf|comm_d_inclusion"), "tree D (SHA-256)"),
    (re.compile(r"((drg|exp)_parent_\d+|c_x)_inclusion"), "tree C (Poseidon)"),
    (re.compile(r"comm_r_last_data_inclusion"), "tree R (Poseidon)"),
)
_LAYER = re.compile(r"labeling_(\d+)")


@dataclass(slots=True)
class Share:
    """What falls to one line of a table."""

    segments: int = 0
    rows: int = 0
    aux: int = 0
    inputs: int = 0
    nonzeros: int = 0

    def add(self, template: Template, times: int) -> None:
        """A template, placed `times` times."""
        self.segments += times
        self.rows += times * template.rows
        self.aux += times * template.aux
        self.inputs += times * template.inputs
        self.nonzeros += times * sum(len(m.cols) for m in (template.a, template.b, template.c))

    def as_dict(self, rows: int) -> dict[str, Any]:
        """For JSON, with the share of all rows."""
        return {
            "segments": self.segments,
            "rows": self.rows,
            "variables": self.aux + self.inputs,
            "aux": self.aux,
            "inputs": self.inputs,
            "nonzeros": self.nonzeros,
            "share": round(self.rows / rows, 6) if rows else 0.0,
        }


_GADGETS = {
    "merkle tree hash": "path step (the child's place)",
    "path": "index as input",
    "drg_parent_num": "column of labels",
    "computation of commitment hash": "packing of a digest",
    "to_bits_le": "bits of an element (strict)",
    "enforce comm_r = H(comm_c || comm_r_last)": "equality of two elements",
    "replica_id": "one element",
    "replica_id_input": "element as input",
    "sha_compression": "SHA-256 block",
    "encode_node": "encoding",
    "challenge": "64 bits",
    "challenge input": "64 bits as input",
}


def gadget_of(template: Template) -> str:
    """What kind of gadget a template is. Templates are named after their first place; those of one kind differ in constants."""
    if template.name == "poseidon":
        return f"Poseidon of {template.num_ports}"
    name = _NUMBER.sub("", template.name).replace("__", "_").strip()
    return _GADGETS.get(name, template.name)


def _match(name: str, table: tuple[tuple[re.Pattern[str], str], ...], otherwise: str) -> str:
    return next((label for pattern, label in table if pattern.match(name)), otherwise)


def _header(name: str) -> str:
    return "header (replica id, commitments)"


def _stage(shape: Shape, stage: Stage, times: int, tables: dict[str, dict[str, Share]], prologue: bool) -> None:
    for name, number in zip(stage.names, stage.template.tolist(), strict=True):
        template = shape.templates[number]
        layer = _LAYER.match(name)
        labels = {
            "gadget": gadget_of(template),
            "part": _header(name) if prologue else _match(name, _PARTS, "other"),
            "layer": f"layer {layer[1]}" if layer and not prologue else "not in a layer",
            "tree": "not in a tree" if prologue else _match(name, _TREES, "not in a tree"),
        }
        for table, label in labels.items():
            tables[table].setdefault(label, Share()).add(template, times)


def explain(shape: Shape) -> dict[str, Any]:
    """Four tables, each of which covers the whole circuit: every sum is exactly the total.

    The constant ONE is an input of no gadget; Groth16's rows input · 0 = 0 are listed apart, and are not in the rows.
    """
    tables: dict[str, dict[str, Share]] = {"gadget": {}, "part": {}, "layer": {}, "tree": {}}
    _stage(shape, shape.prologue, 1, tables, prologue=True)
    _stage(shape, shape.repeated, shape.repeats, tables, prologue=False)
    whole = counts(shape)
    totals = {
        "rows": shape.num_rows,
        "variables": shape.num_aux + shape.num_inputs - 1,
        "aux": shape.num_aux,
        "inputs": shape.num_inputs - 1,
        "nonzeros": sum(whole["nnz"]),
    }
    return {
        "circuit": whole["circuit"],
        "challenges": shape.repeats,
        "totals": totals,
        "constant_one": 1,
        "input_rows": shape.num_inputs,
        "groth16_rows": shape.groth16_rows,
        "domain_log2": shape.domain_log2,
        "by": {
            table: [{"name": name, **share.as_dict(shape.num_rows)} for name, share in _sorted(table, lines)]
            for table, lines in tables.items()
        },
    }


def _sorted(table: str, lines: dict[str, Share]) -> list[tuple[str, Share]]:
    """Largest first; layers in their order."""
    return list(lines.items()) if table == "layer" else sorted(lines.items(), key=lambda item: -item[1].rows)


def run(size: int | None) -> dict[str, Any]:
    """The tables of a sector size (default: 2 KiB)."""
    progress = Progress()
    return explain(shapes.load_or_record(size or SECTORS[0].size, progress))


def text(result: dict[str, Any]) -> str:
    """The tables for people."""
    lines = [f"{result['circuit']}, one partition: {result['challenges']} challenges"]
    totals = result["totals"]
    for table, entries in result["by"].items():
        lines += ["", f"by {table:<44}{'rows':>13}{'share':>9}{'variables':>13}{'non-zeros':>15}{'segments':>10}"]
        for e in entries:
            lines.append(
                f"  {e['name']:<45}{e['rows']:>13,}{100 * e['share']:>8.2f}%{e['variables']:>13,}{e['nonzeros']:>15,}"
                f"{e['segments']:>10,}"
            )
        lines.append(f"  {'total':<45}{totals['rows']:>13,}{100:>8.2f}%{totals['variables']:>13,}{totals['nonzeros']:>15,}")
    lines += [
        "",
        f"variables: {totals['aux']:,} aux and {totals['inputs']:,} inputs; beside them the constant ONE",
        f"Groth16 adds {result['input_rows']} rows input · 0 = 0: {result['groth16_rows']:,} rows, "
        f"domain 2^{result['domain_log2']}",
    ]
    return "\n".join(lines)
