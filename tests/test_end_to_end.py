"""A C1 in, the Rust stack's proof out, byte for byte, through the command line's own code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
import pytest

from cuzk.cli import cli
from cuzk.commands import prove
from cuzk.errors import CuzkError, InternalError
from cuzk.formats.srs import ParamsFile
from tests.conftest import ROOT, VECTORS
from tests.curve.conftest import outside_subgroup

CASES = ["2kib-v1_1", "2kib-v1", "2kib-synthetic"]
# What the phases of every proof are, on whatever device.
STEPS = ("ntt_h", "msm_h", "msm_l", "msm_a", "msm_b_g1", "msm_b_g2", "assemble", "verify", "write")
CIRCUITS = ["cubic", "mixed", "full-domain", "one-over"]


def run(*arguments: object) -> dict[str, Any]:
    """Run a command in this process; its JSON object."""
    from click.testing import CliRunner

    result = CliRunner().invoke(cli, [str(a) for a in arguments] + ["--json"])
    if isinstance(result.exception, CuzkError | click.ClickException):
        raise result.exception
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return {"exit": result.exit_code, **json.loads(result.stdout)}


def c1_of(case: str) -> list[object]:
    """The C1 of a case, and what its bincode form does not say."""
    expected = json.loads((VECTORS / "c1" / case / "expected.json").read_text())
    return [VECTORS / "c1" / case / "c1.bincode", "--miner", expected["miner_id"], "--sector", expected["sector_number"]]


def proof_of(case: str) -> dict[str, Any]:
    return json.loads((VECTORS / "c1" / case / "proof.json").read_text())


@pytest.mark.parametrize("case", CASES)
def test_two_kib_proofs_are_the_rust_stacks(case: str, tmp_path: Path) -> None:
    out = tmp_path / "proof.bin"
    randomness = VECTORS / "c1" / case / "proof.json"
    result = run("prove", *c1_of(case), "-o", out, "--params", "dev", "--unsafe-randomness", randomness)
    assert out.read_bytes().hex() == proof_of(case)["proof"]
    assert result["proof"] == proof_of(case)["proof"]
    assert (result["verified"], result["ids_checked"], result["randomness"]) == (True, True, "file")
    assert result["parameters"]["kind"] == "development"
    assert run("verify", out, "--c1", *c1_of(case), "--params", "dev")["proofs"] == [True]


@pytest.mark.slow
def test_non_interactive_partitions(tmp_path: Path) -> None:
    case, out = "2kib-non-interactive", tmp_path / "proof.bin"
    randomness = VECTORS / "c1" / case / "proof.json"
    result = run("prove", *c1_of(case), "-o", out, "--params", "dev", "--unsafe-randomness", randomness)
    assert out.read_bytes().hex() == proof_of(case)["proof"]
    assert (result["partitions"], result["bytes"], result["aggregated"]) == (13, 13 * 192, False)


def test_one_partition_alone(tmp_path: Path) -> None:
    case, out, k = "2kib-non-interactive", tmp_path / "proof.bin", 7
    randomness = VECTORS / "c1" / case / "proof.json"
    run("prove", *c1_of(case), "-o", out, "--params", "dev", "--unsafe-randomness", randomness, "--partition", k)
    assert out.read_bytes().hex() == proof_of(case)["proof"][384 * k : 384 * (k + 1)]
    assert run("verify", out, "--c1", *c1_of(case), "--params", "dev", "--partition", k)["valid"]
    assert not run("verify", out, "--c1", *c1_of(case), "--params", "dev", "--partition", k + 1)["valid"]


@pytest.mark.parametrize("name", CIRCUITS)
def test_small_circuits(name: str, tmp_path: Path) -> None:
    source = VECTORS / "groth16" / name / "circuit.json"
    run("setup", source, "-o", tmp_path, "--toxic-waste", source)
    for kind in ("params", "vk"):
        assert (tmp_path / f"cuzk-dev-{name}.{kind}").read_bytes() == (VECTORS / "groth16" / name / f"{name}.{kind}").read_bytes()
    for i, expected in enumerate(json.loads(source.read_text())["proofs"]):
        randomness = tmp_path / "randomness.json"
        randomness.write_text(json.dumps({"randomness": [{"partition": 0, "r": expected["r"], "s": expected["s"]}]}))
        out = tmp_path / f"{i}.bin"
        run("prove", source, "-o", out, "--params", tmp_path, "--unsafe-randomness", randomness)
        assert out.read_bytes().hex() == expected["proof"]


def test_proofs_differ_without_given_randomness(tmp_path: Path) -> None:
    source = VECTORS / "groth16/cubic/circuit.json"
    run("setup", source, "-o", tmp_path, "--toxic-waste", source)
    proofs = {run("prove", source, "-o", tmp_path / "p", "--params", tmp_path)["proof"] for _ in range(2)}
    assert len(proofs) == 2


def test_a_wrong_proof_is_never_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, out = VECTORS / "groth16/cubic/circuit.json", tmp_path / "proof.bin"
    run("setup", source, "-o", tmp_path, "--toxic-waste", source)
    assemble = prove.groth16.assemble

    def faulty(vk: Any, h: Any, l: Any, a0: Any, b1: Any, b2: Any, r: int, s: int) -> Any:
        return assemble(vk, l, l, a0, b1, b2, r, s)

    monkeypatch.setattr(prove.groth16, "assemble", faulty)
    with pytest.raises(InternalError) as caught:
        run("prove", source, "-o", out, "--params", tmp_path, "--device", "cpu")
    assert (caught.value.partition, caught.value.phase) == (0, "verify")
    assert not out.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"cuzk-dev-cubic.{kind}" for kind in ("json", "params", "vk")]


@pytest.mark.parametrize("fault", ["outside of the subgroup", "one byte"])
def test_damaged_points_are_no_malformed_input(fault: str, tmp_path: Path) -> None:
    """A first vector that is damaged after it was checked: the proof's own check says so, and what to do."""
    source, out = VECTORS / "groth16/mixed/circuit.json", tmp_path / "proof.bin"
    run("setup", source, "-o", tmp_path, "--toxic-waste", source)
    path = tmp_path / "cuzk-dev-mixed.params"
    if fault == "one byte":
        run("prove", source, "-o", out, "--params", tmp_path)
        out.unlink()
    else:
        (tmp_path / "cuzk-dev-mixed.json").unlink()  # without a digest only single points are looked at
    before, content = path.stat(), bytearray(path.read_bytes())
    place = ParamsFile(path).lengths.vk_bytes + 4
    if fault == "one byte":
        content[place + 50] ^= 1
    else:
        x, y = outside_subgroup("g1", 17)
        content[place : place + 96] = x.to_bytes(48, "big") + y.to_bytes(48, "big")
    with path.open("r+b") as file:
        file.write(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(InternalError) as caught:
        run("prove", source, "-o", out, "--params", tmp_path, "--device", "cpu")
    error = caught.value
    assert (error.code, error.kind, error.phase, error.partition) == (8, "internal", "verify", 0)
    assert error.message.startswith("the proof failed its check") and "proof element C" in error.message
    assert str(path) in str(error.hint)
    assert not out.exists()


def test_an_unsatisfied_circuit_is_refused(tmp_path: Path) -> None:
    content = json.loads((VECTORS / "groth16/cubic/circuit.json").read_text())
    run("setup", VECTORS / "groth16/cubic/circuit.json", "-o", tmp_path, "--toxic-waste", VECTORS / "groth16/cubic/circuit.json")
    content["aux"][1] = "0xa"
    bad = tmp_path / "circuit.json"
    bad.write_text(json.dumps(content))
    with pytest.raises(CuzkError) as caught:
        run("prove", bad, "-o", tmp_path / "proof.bin", "--params", tmp_path)
    error = caught.value
    assert (error.code, error.kind, error.phase, error.file) == (4, "false-circuit", "eval_abc", str(bad))
    assert error.where is not None and error.where.startswith("row ")
    assert "A·z ∘ B·z = C·z" in str(error.expected) and "not shown" in str(error.got)
    assert not (tmp_path / "proof.bin").exists()


def test_the_packaged_example_is_the_one_in_examples() -> None:
    assert (ROOT / "examples/c1-2kib.json").read_bytes() == (ROOT / "cuzk/data/c1-2kib.json").read_bytes()


@pytest.mark.parametrize(
    "opts",
    [
        ("lc-layout=csr", "parallel-b-g2=on", "msm-window=one"),
        ("stream-witness=on", "presize=off", "msm-window=11"),
    ],
)
def test_switches_do_not_change_the_proof(opts: tuple[str, ...], tmp_path: Path) -> None:
    case, out = "2kib-v1", tmp_path / "proof.bin"
    randomness = VECTORS / "c1" / case / "proof.json"
    switches = ["--device", "cpu", *(word for opt in opts for word in ("--opt", opt))]
    files = ("--timings", tmp_path / "t.json", "--trace", tmp_path / "x.json")
    result = run("prove", *c1_of(case), "-o", out, "--params", "dev", "--unsafe-randomness", randomness, *switches, *files)
    assert out.read_bytes().hex() == proof_of(case)["proof"]
    assert {name: result["settings"][name] for name in (opt.split("=")[0] for opt in opts)} == dict(o.split("=") for o in opts)
    assert "fold-c" not in result["settings"] and "pinned" not in result["settings"], "switches of cards, in a run without"
    tree = json.loads((tmp_path / "t.json").read_text())
    beside = tree["side_by_side"]
    assert sum(tree["phases"].values()) - sum(beside.values()) == pytest.approx(tree["seconds"], abs=1e-3)
    assert ("msm_b_g2" in beside) == ("parallel-b-g2=on" in opts) and set(STEPS) <= set(tree["phases"])
    assert tree["phases"]["unaccounted"] < 0.1 * tree["seconds"]
    names = {e["args"]["name"] for e in json.loads((tmp_path / "x.json").read_text())["traceEvents"] if e["ph"] == "M"}
    assert {"main", "worker_0"} <= names and ("b_g2_0" in names) == ("parallel-b-g2=on" in opts)


@pytest.mark.parametrize(("opt", "code"), [("pinned=on", 6), ("fast=on", 2), ("presize", 2)])
def test_switches_that_are_refused(opt: str, code: int, tmp_path: Path) -> None:
    with pytest.raises(CuzkError) as refused:
        run("prove", *c1_of("2kib-v1"), "-o", tmp_path / "proof.bin", "--opt", opt, "--device", "cpu")
    assert refused.value.code == code and not (tmp_path / "proof.bin").exists()


def test_a_circuit_file_has_no_synthesis_to_switch(tmp_path: Path) -> None:
    source = VECTORS / "groth16" / "cubic" / "circuit.json"
    with pytest.raises(CuzkError, match="stream-witness is about synthesis") as refused:
        run("prove", source, "-o", tmp_path / "proof.bin", "--opt", "stream-witness=on")
    assert refused.value.code == 2
