"""A proof from toxic waste alone, in plain integers: the three points are single multiples of the generators.

Whoever knows tau has, for a satisfied assignment z, the values at tau of the polynomials through the rows A·z, B·z and C·z, and
with them the logarithm of every sum that a prover adds up from millions of points. No point of the parameters is used.

Source  Groth, "On the Size of Pairing-based Non-interactive Arguments" (2016), section 3.2, the simulator's knowledge
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cuzk import workers
from cuzk.circuits.template import Shape
from cuzk.field import fr_vector
from cuzk.field.limbs import FR_LIMBS, FR_RADIX, U64, fr_ints
from cuzk.field.params import R, omega
from cuzk.groth16.setup import ToxicWaste
from cuzk.ntt import Domain, lagrange_at
from cuzk.spec import curve, encoding

_BLOCK, _PIECE = 1 << 23, 1 << 18


def weights_at(shape: Shape, tau: int) -> U64:
    """The Lagrange polynomials of a shape's domain at tau, with a look at some of them and at the sum of all."""
    m, found = 1 << shape.domain_log2, lagrange_at(Domain(shape.domain_log2), tau)
    z = (pow(tau, m, R) - 1) * pow(m, -1, R) % R
    for q in (0, 1, m // 2, m // 3, m - 1):
        w = pow(omega(shape.domain_log2), q, R)
        if fr_ints(found[q : q + 1])[0] != z * w * pow(tau - w, -1, R) % R:
            raise ArithmeticError(f"Lagrange polynomial {q} at tau")
    if _total(found) * pow(FR_RADIX, -1, R) % R != 1:
        raise ArithmeticError("the Lagrange polynomials do not add up to 1")
    return found


def _total(values: U64) -> int:
    """Sum of elements as integers, by halves of limbs, modulo r."""
    pieces = [(values[i : i + _PIECE],) for i in range(0, len(values), _PIECE)]
    halves = workers.run_all(lambda x: x.view(np.uint32).reshape(-1, 2 * FR_LIMBS).sum(axis=0, dtype=np.uint64), pieces)
    return sum(int(h) << (32 * k) for row in halves for k, h in enumerate(row)) % R


def dot(rows_mont: U64, weights_mont: U64) -> int:
    """Σ rows[q] weights[q]. Shape uint64[n, 4], and at least as many weights."""
    total = 0
    for i in range(0, len(rows_mont), _BLOCK):
        part = np.ascontiguousarray(rows_mont[i : i + _BLOCK])
        total += _total(fr_vector.mul(part, np.ascontiguousarray(weights_mont[i : i + len(part)])))
    return total * pow(FR_RADIX, -1, R) % R


def logarithms(
    waste: ToxicWaste, values: tuple[int, int, int], ic: Sequence[int], inputs: Sequence[int], r: int, s: int
) -> tuple[int, int, int]:
    """Those of A, B and C, from A·z, B·z, C·z at tau, the logarithms of `ic`, and the public inputs with ONE first."""
    a, b, c = values
    inverse = pow(waste.delta, -1, R)
    public = waste.gamma * sum(k * x for k, x in zip(ic, inputs, strict=True))
    l = (waste.beta * a + waste.alpha * b + c - public) * inverse
    h = (a * b - c) * inverse
    log_a, log_b = waste.alpha + a + r * waste.delta, waste.beta + b + s * waste.delta
    return log_a % R, log_b % R, (l + h + s * log_a + r * log_b - r * s * waste.delta) % R


def proof_bytes(logs: tuple[int, int, int]) -> bytes:
    """The encoded proof."""
    groups = (curve.G1, curve.G2, curve.G1)
    return b"".join(encoding.compress(g, g.mul(g.generator, k)) for g, k in zip(groups, logs, strict=True))
