"""The setup reproduces the Rust stack's files bit for bit from their toxic waste."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from cuzk.errors import CuzkError, MalformedInput
from cuzk.field.params import R, omega
from cuzk.formats import circuit, srs, toxic_waste
from cuzk.groth16 import setup
from cuzk.groth16.crs import VECTORS as NAMES
from cuzk.groth16.setup import Setup, ToxicWaste, development_waste, random_waste
from cuzk.progress import Progress
from cuzk.spec import groth16, keys
from cuzk.spec import r1cs as spec_r1cs
from cuzk.spec.engine import BLS12_381 as ENGINE
from tests.conftest import VECTORS, Draw

CIRCUITS = ("cubic", "mixed", "full-domain", "one-over")
ROOT = VECTORS / "groth16"
QUIET = Progress(quiet=True)


def made(shape: Any, waste: ToxicWaste) -> tuple[bytes, bytes, dict[str, str]]:
    reference, out = Setup(shape, waste), io.BytesIO()
    digests = srs.write(out, reference, QUIET)
    return out.getvalue(), reference.vk_be(), digests


@pytest.mark.parametrize("name", CIRCUITS)
def test_bit_for_bit(name: str) -> None:
    path = ROOT / name / "circuit.json"
    shape, _ = circuit.load(path)
    params, vk, digests = made(shape, toxic_waste.read(path))
    facts = json.loads(path.read_text())["setup"]
    for vector, _ in NAMES:
        assert digests[vector] == facts[vector][1], vector
    assert params == (ROOT / name / f"{name}.params").read_bytes()
    assert vk == (ROOT / name / f"{name}.vk").read_bytes()
    assert digests["file"] == facts["params_sha256"] == hashlib.sha256(params).hexdigest()


def test_same_as_the_specification_for_other_waste(draw: Draw) -> None:
    path = ROOT / "cubic" / "circuit.json"
    waste = [1, R - 1, *(max(1, draw.below(R)) for _ in range(3))]
    draw.random.shuffle(waste)
    shape, _ = circuit.load(path)
    system, *_ = spec_r1cs.from_explicit(json.loads(path.read_text()))
    if pow(waste[-1], 1 << shape.domain_log2, R) == 1:  # 1 and r - 1 are points of the domain
        waste[-1] = 5
    want = keys.parameters_to_bytes(groth16.setup(ENGINE, system, groth16.ToxicWaste(*waste)))
    assert made(shape, ToxicWaste(*waste))[0] == want


def test_blocks_do_not_change_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / "mixed" / "circuit.json"
    shape, _ = circuit.load(path)
    monkeypatch.setattr(setup, "BLOCK_POINTS", 7)
    assert made(shape, toxic_waste.read(path))[0] == (ROOT / "mixed" / "mixed.params").read_bytes()


def test_public_waste_of_2kib() -> None:
    facts = json.loads((ROOT / "porep-2kib.json").read_text())
    waste = development_waste("2KiB")
    assert setup.development_tag("2KiB") == facts["toxic_tag"]
    for f in fields(ToxicWaste):
        assert getattr(waste, f.name).to_bytes(32, "little").hex() == facts[f.name]


def test_random_waste_differs_and_is_in_range() -> None:
    one, other = random_waste(), random_waste()
    for f in fields(ToxicWaste):
        assert 0 < getattr(one, f.name) < R
        assert getattr(one, f.name) != getattr(other, f.name)


@pytest.mark.parametrize("name", setup.SCALARS)
@pytest.mark.parametrize("value", [0, R, R + 1, -1])
def test_waste_out_of_range(name: str, value: int) -> None:
    with pytest.raises(MalformedInput, match=name):
        ToxicWaste(**{**dict.fromkeys(setup.SCALARS, 3), name: value})


@pytest.mark.parametrize("power", [0, 1, 5])
def test_tau_in_the_domain(power: int) -> None:
    shape, _ = circuit.load(ROOT / "cubic" / "circuit.json")
    tau = pow(omega(shape.domain_log2), power, R)
    with pytest.raises(MalformedInput, match="tau") as caught:
        Setup(shape, ToxicWaste(3, 4, 5, 6, tau))
    if power:
        assert str(tau) not in str(caught.value)


def edited(tmp_path: Path, name: str, change: Any) -> Any:
    content = json.loads((ROOT / name / "circuit.json").read_text())
    change(content)
    del content["digest"]  # of the rows as they were
    path = tmp_path / "circuit.json"
    path.write_text(json.dumps(content))
    return circuit.load(path)[0]


def test_unconstrained_variable_is_named(tmp_path: Path) -> None:
    shape = edited(tmp_path, "cubic", lambda c: c["aux"].append("0x" + "0" * 64))
    with pytest.raises(MalformedInput, match="no row constrains") as caught:
        Setup(shape, ToxicWaste(3, 4, 5, 6, 7))
    assert caught.value.where == "aux 3" and caught.value.code == 3


def test_terms_that_cancel_leave_a_variable_unconstrained(tmp_path: Path) -> None:
    one, minus_one = (f"0x{v:064x}" for v in (1, R - 1))

    def change(c: Any) -> None:
        c["aux"].append(one)
        c["rows"][0][0] += [["A", 3, one], ["A", 3, minus_one]]

    with pytest.raises(MalformedInput, match="aux 3"):
        Setup(edited(tmp_path, "cubic", change), ToxicWaste(3, 4, 5, 6, 7))


def test_polynomial_that_vanishes_at_tau_only(tmp_path: Path) -> None:
    """A variable that occurs in A, but whose polynomial has tau as a root: prover and parameters would disagree."""
    tau = 7

    def change(c: Any) -> None:
        c["aux"].append("0x" + "0" * 64)
        from cuzk.spec import ntt
        from cuzk.spec.field import Fr

        lagrange = list(ntt.lagrange_at(Fr, 3, tau))
        k = Fr.neg(Fr.mul(lagrange[0], Fr.inv(lagrange[1])))
        c["rows"][0][0].append(["A", 3, f"0x{1:064x}"])
        c["rows"][1][0].append(["A", 3, f"0x{k:064x}"])
        c["rows"][2][1].append(["A", 3, f"0x{1:064x}"])

    shape = edited(tmp_path, "cubic", change)
    assert shape.domain_log2 == 3
    with pytest.raises(CuzkError, match="vanishes at tau") as caught:
        Setup(shape, ToxicWaste(3, 4, 5, 6, tau))
    assert caught.value.where == "aux 3"


@pytest.mark.slow
def test_2kib_bit_for_bit(tmp_path: Path) -> None:
    from cuzk.formats import shapes

    facts = json.loads((ROOT / "porep-2kib.json").read_text())
    shape = shapes.load_or_record(2048)
    with (tmp_path / "x.params").open("w+b") as out:
        reference = Setup(shape, development_waste("2KiB"))
        digests = srs.write(out, reference, QUIET)
        assert out.tell() == int(facts["params_bytes"])
    for vector, _ in NAMES:
        assert [str(reference.lengths.vector(vector)), digests[vector]] == facts[vector], vector
    assert digests["file"] == facts["params_sha256"]
    assert reference.vk_be() == (ROOT / "porep-2kib.vk").read_bytes()
    assert hashlib.sha256(reference.vk_be()).hexdigest() == facts["vk_sha256"]
