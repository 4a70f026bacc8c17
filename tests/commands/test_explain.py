"""`cuzk explain`: tables that sum to the totals, and shares that are those of the circuit's own parts."""

from __future__ import annotations

import json

import pytest

from cuzk.cli import main
from cuzk.commands import explain, variants
from cuzk.formats import shapes
from cuzk.progress import Progress
from cuzk.variants import SWITCHES
from tests.circuits.naive import random_shape
from tests.conftest import VECTORS

# Published totals of the Rust stack: rows and non-zero entries.
RUST = {json.loads(line)["circuit"]: json.loads(line) for line in (VECTORS / "r1cs/porep.jsonl").read_text().splitlines()}


@pytest.mark.parametrize("size", [2048, 8 << 20])
def test_every_table_sums_to_the_totals_of_the_rust_stack(size: int) -> None:
    found = explain.explain(shapes.load_or_record(size, Progress(quiet=True)))
    rust = RUST[f"porep {size}"]
    totals = found["totals"]
    assert (totals["rows"], totals["aux"], totals["inputs"] + 1) == (rust["constraints"], rust["aux"], rust["inputs"])
    assert totals["nonzeros"] == sum(rust["nnz"])
    for lines in found["by"].values():
        for key in ("rows", "variables", "aux", "inputs", "nonzeros"):
            assert sum(line[key] for line in lines) == totals[key], key
        assert sum(line["share"] for line in lines) == pytest.approx(1, abs=1e-5)
    assert found["groth16_rows"] == totals["rows"] + found["input_rows"]


def test_parts_are_what_they_are_called() -> None:
    by = explain.explain(shapes.load_or_record(2048, Progress(quiet=True)))["by"]
    rows = {table: {line["name"]: line["rows"] for line in lines} for table, lines in by.items()}
    assert "other" not in rows["part"]
    # Two challenges; 5 SHA-256 blocks a label with two layers' parents repeated to 37, of at most 26,184 rows each.
    assert rows["layer"]["layer 1"] + rows["layer"]["layer 2"] == rows["part"]["labels"]
    assert rows["tree"]["tree D (SHA-256)"] == rows["part"]["data in tree D"]
    assert rows["tree"]["tree C (Poseidon)"] == rows["part"]["parents' columns in tree C"] + rows["part"]["own column in tree C"]
    # 14 parents and the node itself have columns of two labels, hashed by one permutation of 311 rows; and comm_r is one.
    assert rows["gadget"]["Poseidon of 2"] == 311 * (2 * 15 + 1)
    # tree C has one level of eight in 2 KiB sectors' two: 64 nodes.
    assert rows["gadget"]["Poseidon of 8"] == 505 * 2 * 16 * 2


@pytest.mark.parametrize("seed", range(6))
def test_any_shape_sums(seed: int) -> None:
    found = explain.explain(random_shape(seed))
    for lines in found["by"].values():
        assert sum(line["rows"] for line in lines) == found["totals"]["rows"]
        assert sum(line["nonzeros"] for line in lines) == found["totals"]["nonzeros"]


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["explain", "2kib", "--json"])
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out)["totals"]["rows"] == 2687921
    with pytest.raises(SystemExit):
        main(["explain"])
    out = capsys.readouterr().out
    assert out.count("2,687,921") == 4 and "by layer" in out and "domain 2^22" in out
    with pytest.raises(SystemExit) as refused:
        main(["explain", "3KiB"])
    assert refused.value.code == 2


def test_variants_are_all_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["variants", "--json"])
    found = json.loads(capsys.readouterr().out)["switches"]
    assert [s["name"] for s in found] == list(SWITCHES)
    assert all(set(s) >= {"name", "values", "default", "touches", "meaning", "reason", "measured"} for s in found)
    text = variants.text(variants.run())
    assert all(name in text for name in SWITCHES)
