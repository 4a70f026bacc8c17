"""The trusted setup: from a constraint system and its toxic waste to every point of the common reference string.

With the Lagrange polynomials L_q of the domain of m = 2^k points, a variable j has the polynomials

    A_j = sum of a[q, j] L_q,  B_j, C_j likewise

over all rows q, Groth16's final rows `input * 0 = 0` among them, and the reference string at tau is

    h_i  = tau^i Z(tau) / delta,  Z = X^m - 1        a_j = A_j(tau) where j occurs in A      in G1
    l_j  = (beta A_j + alpha B_j + C_j) / delta      b_j = B_j(tau) where j occurs in B      in G1 and G2
    ic_j = (beta A_j + alpha B_j + C_j) / gamma      and the fixed points of the verifying key

all times the standard generators. Whoever knows the waste can prove anything: these parameters are for tests.

Source  Groth, "On the Size of Pairing-based Non-interactive Arguments" (2016), section 3.2; bellperson src/groth16/generator.rs
        at 0.27.0 for order, density and Lagrange form.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from cuzk import workers
from cuzk.circuits.template import Shape
from cuzk.curve import g1, g2
from cuzk.errors import CuzkError, MalformedInput
from cuzk.field.fr_vector import powers, to_canonical
from cuzk.field.limbs import FR_LIMBS, U8, U64, fr_mont, to_limbs
from cuzk.field.params import R
from cuzk.groth16.crs import COUNT_BYTES, POINT_BYTES, Lengths
from cuzk.kernels import setup_cpu
from cuzk.msm.fixed_base import FixedBase
from cuzk.ntt import Domain, lagrange_at
from cuzk.r1cs.columns import columns_at
from cuzk.r1cs.density import densities

BLOCK_POINTS = 1 << 18  # points that are in memory at a time


@dataclass(frozen=True, slots=True, repr=False)
class ToxicWaste:
    """The secrets of a setup, in [1, r). They have no printable form."""

    alpha: int
    beta: int
    gamma: int
    delta: int
    tau: int

    def __post_init__(self) -> None:
        for name in SCALARS:
            if not 0 < getattr(self, name) < R:
                raise MalformedInput(
                    "toxic waste out of range", where=name, expected="a number from 1 to r - 1", got="another one"
                )


SCALARS = tuple(f.name for f in fields(ToxicWaste))


def development_waste(label: str) -> ToxicWaste:
    """Public waste that is the same everywhere: SHA-256 of `cuzk test LABEL NAME`, two top bits cleared, little-endian.

    `label` is the sector size as in `2KiB`, or the name of an explicit circuit.
    """

    def scalar(name: str) -> int:
        digest = bytearray(hashlib.sha256(f"{development_tag(label)} {name}".encode()).digest())
        digest[-1] &= 0x3F
        return int.from_bytes(digest, "little")

    return ToxicWaste(*(scalar(name) for name in SCALARS))


def development_tag(label: str) -> str:
    """The text that the public waste of `label` is derived from."""
    return f"cuzk test {label}"


def random_waste() -> ToxicWaste:
    """Fresh waste from the system's randomness."""
    return ToxicWaste(*(1 + secrets.randbelow(R - 1) for _ in SCALARS))


def lengths(shape: Shape) -> Lengths:
    """Number of points of each vector for a shape."""
    return Lengths.of(shape, *(int(np.count_nonzero(density)) for density in densities(shape)))


def memory_need(shape: Shape) -> int:
    """Bytes that a setup holds at its peak: weights of the rows, the columns of three matrices, code and blocks of points."""
    element = 8 * FR_LIMBS
    return element * ((1 << shape.domain_log2) + 4 * (shape.num_inputs + shape.num_aux)) + (700 << 20)


class Setup:
    """All discrete logarithms of a reference string; points are made block by block."""

    def __init__(self, shape: Shape, waste: ToxicWaste) -> None:
        """Evaluate every column at tau.

        Raises  CuzkError if tau is in the domain, an aux variable is in no row, or a polynomial vanishes at tau
        """
        self.shape, self._waste = shape, waste
        self._z = (pow(waste.tau, 1 << shape.domain_log2, R) - 1) % R
        if self._z == 0:
            raise MalformedInput(
                "toxic waste that makes a degenerate reference string", where="tau", expected="no point of the domain"
            )
        lagrange = lagrange_at(Domain(shape.domain_log2), waste.tau)
        a, b, c = columns_at(shape, lagrange)
        del lagrange
        self._over_delta = self._combine(a, b, c, pow(waste.delta, -1, R))
        n = shape.num_inputs
        self._over_gamma = self._combine(a[:n], b[:n], c[:n], pow(waste.gamma, -1, R))
        del c
        self._over_delta = self._over_delta[n:]
        self._check_constrained()
        a_aux, b_inputs, b_aux = densities(shape)
        self._a = self._dense(a, np.concatenate([np.ones(n, np.bool_), a_aux]), "A")
        del a
        self._b = self._dense(b, np.concatenate([b_inputs, b_aux]), "B")
        self.lengths = Lengths.of(shape, int(a_aux.sum()), int(b_inputs.sum()), int(b_aux.sum()))
        in_g1 = self.lengths.points - self.lengths.b
        self._bases = {"g1": FixedBase("g1", g1.GENERATOR, in_g1), "g2": FixedBase("g2", g2.GENERATOR, self.lengths.b)}

    def _combine(self, a: U64, b: U64, c: U64, scale: int) -> U64:
        """scale (beta a + alpha b + c), canonical."""
        out = np.empty_like(a)
        w = self._waste
        factors = fr_mont([scale * w.beta, scale * w.alpha, scale])
        workers.over_ranges(lambda i, j: setup_cpu.combine(out[i:j], a[i:j], b[i:j], c[i:j], factors), len(a))
        return out

    def _check_constrained(self) -> None:
        zero = np.flatnonzero(~self._over_delta.any(axis=1))
        if len(zero):
            raise MalformedInput(
                "the circuit has aux variables that no row constrains: any value would prove",
                where=f"aux {int(zero[0])}{f' and {len(zero) - 1} more' if len(zero) > 1 else ''}",
                expected="every aux variable in some row",
                hint="constrain the variable or leave it out",
            )

    def _dense(self, columns_mont: U64, density: np.ndarray, matrix: str) -> U64:
        """The columns of the variables that occur in a matrix, canonical. Both what is left out and what is kept is checked."""
        non_zero = columns_mont.any(axis=1)
        if not np.array_equal(non_zero, density):
            at = int(np.flatnonzero(non_zero != density)[0])
            n = self.shape.num_inputs
            raise CuzkError(
                f"a polynomial of {matrix} vanishes at tau, or a density is wrong: parameters and prover would disagree",
                where=f"input {at}" if at < n else f"aux {at - n}",
                hint="use other toxic waste; if that does not help, the circuit's density is wrong",
            )
        return to_canonical(np.ascontiguousarray(columns_mont[density]))

    def _scalars(self, name: str) -> Iterator[U64]:
        """Discrete logarithms of a vector, canonical, in blocks."""
        if name == "h":
            total = self.lengths.h
            for start in range(0, total, BLOCK_POINTS):
                scale = self._z * pow(self._waste.delta, -1, R) * pow(self._waste.tau, start, R) % R
                yield to_canonical(powers(self._waste.tau, min(BLOCK_POINTS, total - start), scale))
            return
        whole = {"l": self._over_delta, "a": self._a, "b_g1": self._b, "b_g2": self._b, "ic": self._over_gamma}[name]
        for start in range(0, len(whole), BLOCK_POINTS):
            yield whole[start : start + BLOCK_POINTS]

    def _points(self, group: str, scalars_canon: U64) -> U8:
        """Multiples of a generator, uncompressed."""
        out = np.empty((len(scalars_canon), POINT_BYTES[group]), np.uint8)
        self._bases[group].multiples_be(scalars_canon, out)
        return out

    def blocks(self, name: str) -> Iterator[U8]:
        """The points of h, l, a, b_g1, b_g2 in order, big-endian and uncompressed, uint8[n, 96 or 192]."""
        group = "g2" if name == "b_g2" else "g1"
        for scalars in self._scalars(name):
            yield self._points(group, scalars)

    def vk_be(self) -> bytes:
        """The verifying key as a file."""

        def multiple(group: str, scalar: int) -> bytes:
            return self._points(group, to_limbs([scalar], FR_LIMBS)).tobytes()

        w = self._waste
        fixed = (("g1", w.alpha), ("g1", w.beta), ("g2", w.beta), ("g2", w.gamma), ("g1", w.delta), ("g2", w.delta))
        head = b"".join(multiple(group, scalar) for group, scalar in fixed)
        ic = b"".join(block.tobytes() for block in self.blocks("ic"))
        return head + self.lengths.ic.to_bytes(COUNT_BYTES, "big") + ic
