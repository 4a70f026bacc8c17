"""Groth16 as bellperson does it: setup from given toxic waste, prove with given r and s, verify.

Notation of the paper: u_i, v_i, w_i are the column polynomials of A, B, C for variable i, over a domain of size m,
the smallest power of two that holds all rows; Z = x^m - 1 vanishes on it.

Source  Groth, On the size of pairing-based non-interactive arguments, EUROCRYPT 2016, section 3.2; conventions of
        bellperson src/groth16/{generator,prover,verifier}.rs at 0.27.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cuzk.spec import ntt
from cuzk.spec.engine import Engine
from cuzk.spec.field import PrimeField
from cuzk.spec.r1cs import System, columns_at, densities, evaluate, groth16_rows

Point = Any


@dataclass(frozen=True)
class ToxicWaste:
    """The secrets of a setup. Whoever knows them can prove anything; only test parameters come with them."""

    alpha: int
    beta: int
    gamma: int
    delta: int
    tau: int


@dataclass(frozen=True)
class VerifyingKey:
    """What a verifier needs; `ic` has one point for each input, ONE first."""

    alpha_g1: Point
    beta_g1: Point
    beta_g2: Point
    gamma_g2: Point
    delta_g1: Point
    delta_g2: Point
    ic: list[Point]


@dataclass(frozen=True)
class Parameters:
    """What a prover needs. `a`, `b_g1`, `b_g2` leave out variables whose polynomial is zero; inputs come before aux."""

    vk: VerifyingKey
    h: list[Point]  # (m - 1) points tau^i Z(tau) / delta
    l: list[Point]  # one for each aux: (beta u + alpha v + w) / delta
    a: list[Point]  # u
    b_g1: list[Point]  # v
    b_g2: list[Point]  # v


@dataclass(frozen=True)
class Proof:
    """A and C in G1, B in G2."""

    a: Point
    b: Point
    c: Point


@dataclass(frozen=True)
class Sums:
    """The five sums of a proof that do not depend on r and s."""

    a: Point  # sum of z_i u_i(tau) over all variables, G1
    b_g1: Point  # sum of z_i v_i(tau), G1
    b_g2: Point  # the same, G2
    h: Point  # h(tau) Z(tau) / delta, G1
    l: Point  # sum over aux of z_i (beta u_i + alpha v_i + w_i) / delta, G1


def setup(engine: Engine, system: System, waste: ToxicWaste, g1_base: Point = None, g2_base: Point = None) -> Parameters:
    """Parameters for a constraint system from its toxic waste, over the standard generators or other ones.

    Raises ValueError for an aux variable that no row constrains: its point in `l` would be infinity.
    """
    f = engine.field
    g1 = engine.g1.generator if g1_base is None else g1_base
    g2 = engine.g2.generator if g2_base is None else g2_base
    rows = len(groth16_rows(system))
    log2_size = ntt.log2_domain(rows)
    u, v, w = columns_at(system, list(ntt.lagrange_at(f, log2_size, waste.tau, rows)))
    inputs = [("I", i) for i in range(system.num_inputs)]
    aux = [("A", j) for j in range(system.num_aux)]

    def combined(variable: tuple[str, int]) -> int:
        """beta u + alpha v + w."""
        columns = u.get(variable, 0), v.get(variable, 0), w.get(variable, 0)
        return (waste.beta * columns[0] + waste.alpha * columns[1] + columns[2]) % f.modulus

    over_gamma = [f.mul(combined(i), f.inv(waste.gamma)) for i in inputs]
    over_delta = [f.mul(combined(j), f.inv(waste.delta)) for j in aux]
    if 0 in over_delta:
        raise ValueError(f"aux variable {over_delta.index(0)} is not constrained")
    z_over_delta = f.mul(ntt.vanishing_at(f, log2_size, waste.tau), f.inv(waste.delta))
    h = ntt.scale_by_powers(f, [z_over_delta] * ((1 << log2_size) - 1), waste.tau)
    a = [u[i] for i in inputs + aux if u.get(i, 0) != 0]
    b = [v[i] for i in inputs + aux if v.get(i, 0) != 0]
    alpha_g1, beta_g1, delta_g1 = engine.g1.multiples(g1, [waste.alpha, waste.beta, waste.delta])
    beta_g2, gamma_g2, delta_g2 = engine.g2.multiples(g2, [waste.beta, waste.gamma, waste.delta])
    return Parameters(
        vk=VerifyingKey(alpha_g1, beta_g1, beta_g2, gamma_g2, delta_g1, delta_g2, engine.g1.multiples(g1, over_gamma)),
        h=engine.g1.multiples(g1, h),
        l=engine.g1.multiples(g1, over_delta),
        a=engine.g1.multiples(g1, a),
        b_g1=engine.g1.multiples(g1, b),
        b_g2=engine.g2.multiples(g2, b),
    )


def quotient(field: PrimeField, a_evals: Sequence[int], b_evals: Sequence[int], c_evals: Sequence[int]) -> list[int]:
    """The m - 1 coefficients of h = (a b - c) / Z from the row values A z, B z, C z.

    The product is taken on the coset, where Z has the one value g^m - 1. The coefficient of x^(m-1) is dropped; it is
    zero if all rows hold, and nobody checks that here.
    """
    f = field
    log2_size = ntt.log2_domain(len(a_evals))
    padding = [0] * ((1 << log2_size) - len(a_evals))
    a, b, c = (ntt.coset_ntt(f, ntt.intt(f, [*evals, *padding])) for evals in (a_evals, b_evals, c_evals))
    z_inv = f.inv(ntt.vanishing_at(f, log2_size, f.generator))
    on_coset = [f.mul(f.sub(f.mul(x, y), z), z_inv) for x, y, z in zip(a, b, c, strict=True)]
    return ntt.coset_intt(f, on_coset)[:-1]


def sums(engine: Engine, parameters: Parameters, system: System, inputs: Sequence[int], aux: Sequence[int]) -> Sums:
    """The five multi-exponentiations. Raises ValueError if the parameters are not of this circuit's lengths."""
    a_aux, b_input, b_aux = densities(system)
    h = quotient(engine.field, *evaluate(system, groth16_rows(system), inputs, aux))
    a_values = [*inputs, *(z for z, dense in zip(aux, a_aux, strict=True) if dense)]
    b_values = [z for z, dense in zip([*inputs, *aux], [*b_input, *b_aux], strict=True) if dense]
    p = parameters
    for name, points, values in (
        ("h", p.h, h),
        ("l", p.l, aux),
        ("a", p.a, a_values),
        ("b_g1", p.b_g1, b_values),
        ("b_g2", p.b_g2, b_values),
        ("ic", p.vk.ic, inputs),
    ):
        if len(points) != len(values):
            raise ValueError(f"{name} has {len(points)} points, the circuit needs {len(values)}")
    return Sums(
        a=engine.g1.multiexp(p.a, a_values),
        b_g1=engine.g1.multiexp(p.b_g1, b_values),
        b_g2=engine.g2.multiexp(p.b_g2, b_values),
        h=engine.g1.multiexp(p.h, h),
        l=engine.g1.multiexp(p.l, aux),
    )


def assemble(engine: Engine, vk: VerifyingKey, parts: Sums, r: int, s: int) -> Proof:
    """A = alpha + a + r delta; B = beta + b + s delta; C = l + h + s A + r B' - r s delta, where B' is B in G1."""
    g1, g2 = engine.g1, engine.g2
    if g1.zero == vk.delta_g1 or g2.zero == vk.delta_g2:
        raise ValueError("delta is the identity")
    a = g1.sum([vk.alpha_g1, parts.a, g1.mul(vk.delta_g1, r)])
    b = g2.sum([vk.beta_g2, parts.b_g2, g2.mul(vk.delta_g2, s)])
    b_in_g1 = g1.sum([vk.beta_g1, parts.b_g1, g1.mul(vk.delta_g1, s)])
    rs_delta = g1.mul(vk.delta_g1, engine.field.mul(r, s))
    c = g1.sum([parts.l, parts.h, g1.mul(a, s), g1.mul(b_in_g1, r), g1.neg(rs_delta)])
    return Proof(a, b, c)


def prove(
    engine: Engine, parameters: Parameters, system: System, inputs: Sequence[int], aux: Sequence[int], r: int, s: int
) -> Proof:
    """The proof for given blinding r and s. `inputs` starts with ONE. A false assignment gives a false proof, not an
    error.
    """
    return assemble(engine, parameters.vk, sums(engine, parameters, system, inputs, aux), r, s)


def public_inputs_point(engine: Engine, vk: VerifyingKey, inputs: Sequence[int]) -> Point:
    """ic[0] + sum of inputs[i] ic[i + 1]; ONE left out. Raises ValueError on a wrong number of inputs."""
    if len(inputs) + 1 != len(vk.ic):
        raise ValueError(f"{len(inputs)} public inputs, the verifying key is for {len(vk.ic) - 1}")
    return engine.g1.multiexp(vk.ic, [1, *inputs])


def verify(engine: Engine, vk: VerifyingKey, inputs: Sequence[int], proof: Proof) -> bool:
    """e(A, B) = e(alpha, beta) e(inputs, gamma) e(C, delta)? ONE is left out of `inputs`."""
    return engine.product_is_one(
        [
            (engine.g1.neg(proof.a), proof.b),
            (vk.alpha_g1, vk.beta_g2),
            (public_inputs_point(engine, vk, inputs), vk.gamma_g2),
            (proof.c, vk.delta_g2),
        ]
    )


def verify_batch(engine: Engine, vk: VerifyingKey, proofs: Sequence[tuple[Sequence[int], Proof]], weights: Sequence[int]) -> bool:
    """All proofs at once: the product of their equations, each to the power of its weight (random, below 2^128)."""
    g1 = engine.g1
    pairs = [(g1.neg(g1.mul(proof.a, z)), proof.b) for (_, proof), z in zip(proofs, weights, strict=True)]
    publics = [public_inputs_point(engine, vk, inputs) for inputs, _ in proofs]
    pairs.append((g1.mul(vk.alpha_g1, sum(weights)), vk.beta_g2))
    pairs.append((g1.multiexp(publics, weights), vk.gamma_g2))
    pairs.append((g1.multiexp([proof.c for _, proof in proofs], weights), vk.delta_g2))
    return engine.product_is_one(pairs)
