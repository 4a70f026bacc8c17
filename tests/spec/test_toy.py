"""A whole Groth16 proof over the toy field, every number of it: docs/01-toy-groth16.md is the expected value.

bellman's own test of its prover runs the same circuit with the same secrets; the numbers that it states are compared too.
"""

from __future__ import annotations

import re

import pytest

from cuzk.spec import groth16, ntt, r1cs
from cuzk.spec.engine import TOY
from cuzk.spec.field import Toy
from cuzk.spec.groth16 import Proof, ToxicWaste
from cuzk.spec.waste import proof_from_waste
from tests.conftest import ROOT

MINUS = 64512
# a and b are bits, c = a xor b is public: (1 - a) a = 0, (1 - b) b = 0, 2a b = a + b - c.
CIRCUIT = {
    "inputs": ["1", "1"],
    "aux": ["1", "0"],
    "rows": [
        [[["I", 0, "1"], ["A", 0, hex(MINUS)]], [["A", 0, "1"]], []],
        [[["I", 0, "1"], ["A", 1, hex(MINUS)]], [["A", 1, "1"]], []],
        [[["A", 0, "2"]], [["A", 1, "1"]], [["I", 1, hex(MINUS)], ["A", 0, "1"], ["A", 1, "1"]]],
    ],
}
SYSTEM, INPUTS, AUX = r1cs.from_explicit(CIRCUIT, Toy)
VARIABLES = [("I", 0), ("I", 1), ("A", 0), ("A", 1)]

# zkcrypto/bellman groth16/src/tests/mod.rs at 1b47c85: secrets and numbers of test_xordemo.
WASTE = ToxicWaste(alpha=48577, beta=22580, gamma=53332, delta=5481, tau=3673)
R, S = 27134, 17146
BELLMAN = {
    "omega": [20201],
    "u": [59158, 48317, 21767, 10402],
    "v": [0, 0, 60619, 30791],
    "w": [0, 23320, 41193, 41193],
    "h": [5040, 11763, 10755, 63633, 128, 9747, 8739],
}
# The columns of A as polynomials, lowest power first.
BELLMAN_A_COLUMNS = [
    [40321, 3520, 56449, 3520, 8064, 44865, 56449, 44865],
    [56449, 8064, 56449, 8064, 56449, 8064, 56449, 8064],
    [56449, 63658, 24192, 16983, 56449, 63658, 24192, 16983],
    [8064, 58468, 36716, 58974, 56449, 6045, 27797, 5539],
]


def worked() -> dict[str, list[int]]:
    """Every number of the worked example, by the names used in the chapter."""
    f, m = Toy, 8
    out: dict[str, list[int]] = {}
    omega = f.root_of_unity(3)
    out["omega"] = [omega]
    out["domain"] = [f.pow(omega, i) for i in range(m)]
    a_evals, b_evals, c_evals = ([*column, 0, 0, 0] for column in r1cs.evaluate(SYSTEM, r1cs.groth16_rows(SYSTEM), INPUTS, AUX))
    out["a_evals"], out["b_evals"], out["c_evals"] = a_evals, b_evals, c_evals
    out["lagrange"] = list(ntt.lagrange_at(f, 3, WASTE.tau))
    columns = r1cs.columns_at(SYSTEM, out["lagrange"][:5])
    for name, column in zip("uvw", columns, strict=True):
        out[name] = [column.get(v, 0) for v in VARIABLES]
    out["z_tau"] = [ntt.vanishing_at(f, 3, WASTE.tau)]
    for name, evals in (("a", a_evals), ("b", b_evals), ("c", c_evals)):
        out[f"{name}_coeffs"] = ntt.intt(f, evals)
        out[f"{name}_coset"] = ntt.coset_ntt(f, out[f"{name}_coeffs"])
    out["z_coset"] = [ntt.vanishing_at(f, 3, f.generator)]
    out["h_coset"] = [
        f.mul(f.sub(f.mul(a, b), c), f.inv(out["z_coset"][0]))
        for a, b, c in zip(out["a_coset"], out["b_coset"], out["c_coset"], strict=True)
    ]
    out["h"] = groth16.quotient(f, a_evals, b_evals, c_evals)
    out["h_tau"] = [ntt.evaluate(f, out["h"], WASTE.tau)]
    p = groth16.setup(TOY, SYSTEM, WASTE)
    out["h_query"], out["l_query"], out["a_query"], out["b_query"], out["ic"] = p.h, p.l, p.a, p.b_g1, p.vk.ic
    sums = groth16.sums(TOY, p, SYSTEM, INPUTS, AUX)
    out["a_sum"], out["b_sum"], out["h_sum"], out["l_sum"] = [sums.a], [sums.b_g1], [sums.h], [sums.l]
    proof = groth16.assemble(TOY, p.vk, sums, R, S)
    out["A"], out["B"], out["C"] = [proof.a], [proof.b], [proof.c]
    public = groth16.public_inputs_point(TOY, p.vk, INPUTS[1:])
    out["public"] = [public]
    out["left"] = [f.mul(proof.a, proof.b)]
    out["right_alpha_beta"] = [f.mul(WASTE.alpha, WASTE.beta)]
    out["right_public"] = [f.mul(public, WASTE.gamma)]
    out["right_c"] = [f.mul(proof.c, WASTE.delta)]
    return out


def chapter() -> dict[str, list[int]]:
    """The rows | `name` | meaning | numbers | of the chapter's tables."""
    text = (ROOT / "docs" / "01-toy-groth16.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([\d, ]+) \|$", text, re.MULTILINE)
    names = [name for name, _ in rows]
    assert len(set(names)) == len(names)
    return {name: [int(n) for n in numbers.split(",")] for name, numbers in rows}


def test_the_chapter_gives_every_number() -> None:
    expected, got = chapter(), worked()
    assert expected.keys() == got.keys()
    for name in expected:
        assert got[name] == expected[name], name


@pytest.mark.parametrize("name", BELLMAN)
def test_numbers_that_bellman_states(name: str) -> None:
    assert worked()[name] == BELLMAN[name]


def test_columns_that_bellman_states() -> None:
    rows = r1cs.groth16_rows(SYSTEM)
    for variable, coeffs in zip(VARIABLES, BELLMAN_A_COLUMNS, strict=True):
        assert ntt.intt(Toy, [row[0].get(variable, 0) for row in rows] + [0] * 3) == coeffs


def test_the_equations_that_bellman_checks() -> None:
    """A, B and C from the stated numbers alone."""
    n = worked()
    p, f, w = groth16.setup(TOY, SYSTEM, WASTE), Toy, WASTE
    u, v, ww, h = BELLMAN["u"], BELLMAN["v"], BELLMAN["w"], BELLMAN["h"]
    a = (w.alpha + u[0] + u[1] + u[2] + R * w.delta) % f.modulus
    b = (w.beta + v[0] + v[1] + v[2] + S * w.delta) % f.modulus
    l = (w.beta * u[2] + w.alpha * v[2] + ww[2]) * f.inv(w.delta)
    z_over_delta = (pow(w.tau, 8, f.modulus) - 1) * f.inv(w.delta)
    h_sum = sum(k * pow(w.tau, i, f.modulus) for i, k in enumerate(h)) * z_over_delta
    c = (l + h_sum + S * a + R * b - R * S * w.delta) % f.modulus
    assert ([a], [b], [c]) == (n["A"], n["B"], n["C"])
    assert (len(p.h), len(p.l), len(p.a), len(p.b_g1), len(p.b_g2), len(p.vk.ic)) == (7, 2, 4, 2, 2, 2)


def test_it_verifies_and_the_twin_agrees() -> None:
    p = groth16.setup(TOY, SYSTEM, WASTE)
    rows = r1cs.evaluate(SYSTEM, SYSTEM.rows, INPUTS, AUX)
    for r, s in [(R, S), (0, 0), (64512, 1)]:
        proof = groth16.prove(TOY, p, SYSTEM, INPUTS, AUX, r, s)
        assert groth16.verify(TOY, p.vk, INPUTS[1:], proof)
        assert proof_from_waste(TOY, WASTE, p.vk, *rows, INPUTS, r, s) == proof


def test_false_statements_do_not_verify() -> None:
    p = groth16.setup(TOY, SYSTEM, WASTE)
    proof = groth16.prove(TOY, p, SYSTEM, INPUTS, AUX, R, S)
    assert not groth16.verify(TOY, p.vk, [0], proof)
    for false in [
        Proof(proof.a + 1, proof.b, proof.c),
        Proof(proof.a, proof.b + 1, proof.c),
        Proof(proof.a, proof.b, proof.c + 1),
    ]:
        assert not groth16.verify(TOY, p.vk, [1], false)
    for inputs, aux in [([1, 0], [1, 0]), ([1, 1], [1, 1]), ([1, 1], [2, 0]), ([1, 3], [1, 2])]:
        assert r1cs.first_false_row(SYSTEM, inputs, aux) is not None
        assert not groth16.verify(TOY, p.vk, inputs[1:], groth16.prove(TOY, p, SYSTEM, inputs, aux, R, S))


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_all_true_statements_verify(a: int, b: int, draw) -> None:
    p = groth16.setup(TOY, SYSTEM, WASTE)
    proof = groth16.prove(TOY, p, SYSTEM, [1, a ^ b], [a, b], draw.below(Toy.modulus), draw.below(Toy.modulus))
    assert groth16.verify(TOY, p.vk, [a ^ b], proof), draw


def test_zero_coefficients_leave_no_point() -> None:
    """bellman's second test: a variable whose coefficients cancel is not in the B query."""
    rows = [[[["A", 0, "1"]], [["A", 0, "0"], ["I", 0, "1"], ["I", 0, hex(MINUS)], ["A", 1, "1"]], [["A", 2, "1"]]]]
    system, inputs, aux = r1cs.from_explicit({"inputs": ["1"], "aux": ["5", "6", "1e"], "rows": rows}, Toy)
    p = groth16.setup(TOY, system, WASTE)
    assert (len(p.a), len(p.b_g1)) == (2, 1)
    assert groth16.verify(TOY, p.vk, [], groth16.prove(TOY, p, system, inputs, aux, R, S))


@pytest.mark.parametrize("field", ["alpha", "beta", "gamma", "delta", "tau"])
def test_other_waste_does_not_fit(field: str) -> None:
    p = groth16.setup(TOY, SYSTEM, WASTE)
    other = groth16.setup(TOY, SYSTEM, ToxicWaste(**{**WASTE.__dict__, field: 12345}))
    proof = groth16.prove(TOY, other, SYSTEM, INPUTS, AUX, R, S)
    assert groth16.verify(TOY, other.vk, [1], proof)
    # A prover never meets gamma, which only the verifier's points carry.
    assert groth16.verify(TOY, p.vk, [1], proof) is (field == "gamma")
