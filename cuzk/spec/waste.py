"""A whole proof at the price of three scalar multiplications, for whoever knows the toxic waste.

Every point of a proof is a known multiple of a generator once tau is known:

    A = (alpha + a(tau) + r delta) G1           a(tau) = sum over rows n of (A z)_n L_n(tau)
    B = (beta + b(tau) + s delta) G2            b(tau) likewise

and C is the only point that satisfies the verification equation with them:

    A B = alpha beta + gamma (public inputs) + delta C.

So C needs neither the quotient nor the aux columns, only the point of the public inputs, which the verifying key
gives. Written out, the c(tau) of the l-sum and that of the quotient cancel; the rows of C are read all the same, to
see that every row holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.spec import ntt
from cuzk.spec.engine import Engine
from cuzk.spec.groth16 import Proof, ToxicWaste, VerifyingKey, public_inputs_point


def proof_from_waste(
    engine: Engine,
    waste: ToxicWaste,
    vk: VerifyingKey,
    az: Sequence[int],
    bz: Sequence[int],
    cz: Sequence[int],
    inputs: Sequence[int],
    r: int,
    s: int,
) -> Proof:
    """The very proof that `groth16.prove` gives under the parameters of `waste` and `vk` over the standard generators.

    Shape   az, bz, cz: the values of the circuit's rows, canonical integers, without the final rows input * 0 = 0,
            which are added here; inputs: with ONE first
    Cost    about 9 multiplications a row, in plain Python, for the 2.7 million rows of a 2 KiB sector
    Raises  ValueError if a row does not hold, or vk and inputs differ in length
    """
    f = engine.field
    p = f.modulus
    if not len(az) == len(bz) == len(cz):
        raise ValueError(f"{len(az)}, {len(bz)} and {len(cz)} row values")
    rows = len(az) + len(inputs)
    lagrange = ntt.lagrange_at(f, ntt.log2_domain(rows), waste.tau, rows)
    a_tau = b_tau = 0
    for n, (a, b, c) in enumerate(zip(az, bz, cz, strict=True)):
        if (a * b - c) % p != 0:
            raise ValueError(f"row {n} does not hold")
        weight = next(lagrange)
        a_tau += a * weight
        b_tau += b * weight
    for x in inputs:
        a_tau += x * next(lagrange)
    a_log = (waste.alpha + a_tau + r * waste.delta) % p
    b_log = (waste.beta + b_tau + s * waste.delta) % p
    delta_inv = f.inv(waste.delta)
    g1, g2 = engine.g1, engine.g2
    public = public_inputs_point(engine, vk, inputs[1:])
    c = g1.add(
        g1.mul(g1.generator, (a_log * b_log - waste.alpha * waste.beta) * delta_inv % p),
        g1.mul(public, -waste.gamma * delta_inv % p),
    )
    return Proof(g1.mul(g1.generator, a_log), g2.mul(g2.generator, b_log), c)
