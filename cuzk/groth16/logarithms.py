"""The discrete logarithms of a reference string to the standard generators, from a constraint system and toxic waste.

With the Lagrange polynomials L_q of the domain of m = 2^k points, a variable j has the polynomials

    A_j = sum of a[q, j] L_q,  B_j, C_j likewise

over all rows q, Groth16's final rows `input * 0 = 0` among them, and the reference string at tau is

    h_i  = tau^i Z(tau) / delta,  Z = X^m - 1        a_j = A_j(tau) where j occurs in A      in G1
    l_j  = (beta A_j + alpha B_j + C_j) / delta      b_j = B_j(tau) where j occurs in B      in G1 and G2
    ic_j = (beta A_j + alpha B_j + C_j) / gamma      and the fixed points of the verifying key

Columns are made a few stamps at a time, so that besides the weights of the rows only what stays is held.

Folded. On the coset of the points x_q = 7 w^q Z has one value z = 7^m - 1, and h(x_q) = (a b - c)(x_q) / z. With the Lagrange
polynomials K_q of the coset, at tau, a prover who has the points

    h'_q = K_q Z(tau) / (z delta)  for all q,      l'_j = l_j - C_j Z(tau) / (z delta)  for all j, the inputs' without l_j

needs neither the transforms of c nor the one back to coefficients: the sums of (a b)(x_q) h'_q and of z_j l'_j together are those
of h and l, since c(tau) = sum of z_j C_j. A proof is the same. As values in Montgomery form are what transforms leave, h' has
one factor 2^-256 more.

Source  Groth, "On the Size of Pairing-based Non-interactive Arguments" (2016), section 3.2; bellperson src/groth16/generator.rs
        at 0.27.0 for order, density and Lagrange form.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from cuzk import config, workers
from cuzk.circuits.template import Shape
from cuzk.errors import CuzkError, MalformedInput
from cuzk.field.fr_vector import powers, scale, to_canonical
from cuzk.field.limbs import FR_BYTES, FR_LIMBS, FR_RADIX, U64, fr_ints, to_limbs
from cuzk.field.params import FR_GENERATOR, R
from cuzk.groth16.crs import Lengths
from cuzk.kernels import columns_cpu, setup_cpu
from cuzk.ntt import Domain, lagrange_at
from cuzk.pages import zeros
from cuzk.r1cs.columns import Columns
from cuzk.r1cs.density import Densities, densities, set_bits
from cuzk.timing import Timer

_PIECE = 1 << 16  # variables that a thread finishes at a time
_PROGRAM = 700 << 20  # interpreter, compiler, code, blocks of points


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
    return Lengths.of(shape, *set_bits(shape))


def memory_need(shape: Shape, folded: bool = False) -> int:
    """Bytes that a setup holds at its peak: weights of the rows and their transform, or weights, logarithms and some columns."""
    weights, total = FR_BYTES << shape.domain_log2, lengths(shape)
    columns = 3 * FR_BYTES * (shape.num_inputs + shape.prologue.aux_total + _together(shape) * shape.repeated.aux_total)
    held = FR_BYTES * (total.ic + total.l + total.a + total.b) + 2 * shape.num_aux
    return weights + max(weights, held + columns, held + weights if folded else 0) + _PROGRAM


def _together(shape: Shape) -> int:
    """Stamps whose columns are made at a time: enough for all threads, with a matrix each."""
    return min(shape.repeats, -(-2 * config.thread_count() // 3))


class Logarithms:
    """The logarithms of h, l, a, b and ic, canonical; those of h' and l' if `folded`, the inputs first in l'."""

    def __init__(self, shape: Shape, waste: ToxicWaste, timer: Timer | None = None, folded: bool = False) -> None:
        """Evaluate every column at tau.

        Cost    `memory_need` bytes; phases `lagrange` and `columns`
        Raises  MalformedInput if tau is in the domain or an aux variable is in no row; CuzkError if a polynomial vanishes at tau
        """
        self.shape, self.waste, self.folded = shape, waste, folded
        self._z = (pow(waste.tau, 1 << shape.domain_log2, R) - 1) % R
        if self._z == 0:
            raise MalformedInput(
                "toxic waste that makes a degenerate reference string", where="tau", expected="no point of the domain"
            )
        timer = timer or Timer()
        with timer.phase("lagrange"):
            weights = lagrange_at(Domain(shape.domain_log2), waste.tau)
        with timer.phase("columns"):
            self.lengths = total = lengths(shape)
            self._vectors = {"ic": np.zeros((total.ic, FR_LIMBS), np.uint64)}
            self._vectors |= {name: zeros((self.count(name), FR_LIMBS)) for name in ("l", "a", "b")}
            self._fill(Columns(shape, weights), densities(shape))
        del weights
        if folded:
            with timer.phase("lagrange"):
                values = lagrange_at(Domain(shape.domain_log2), waste.tau * pow(FR_GENERATOR, -1, R) % R)
                self._vectors["h"] = scale(values, self._share_of_c * pow(FR_RADIX, -2, R) % R, values)

    @property
    def _share_of_c(self) -> int:
        """Z(tau) / (z delta)."""
        on_coset = pow(FR_GENERATOR, 1 << self.shape.domain_log2, R) - 1
        return self._z * pow(on_coset * self.waste.delta, -1, R) % R

    def count(self, name: str) -> int:
        """Number of points of h, l, a, b_g1, b_g2 (both are b)."""
        total = self.lengths.b if name == "b" else self.lengths.vector(name)
        return total + (1 if name == "h" else self.lengths.ic if name == "l" else 0) * self.folded

    def _fill(self, columns: Columns, of: Densities) -> None:
        """All logarithms but those of h, and the checks of what they are made from."""
        shape, n, start = self.shape, self.shape.num_inputs, columns.head - self.shape.num_inputs
        heads = workers.run_all(columns.of_stage, [(name, None) for name in "abc"])
        size, step = shape.repeated.aux_total, max(1, _together(shape))
        dense_a = np.concatenate([np.ones(n, np.bool_), of.a_aux])
        dense_b = np.concatenate([of.b_inputs, of.b_aux])
        finds = _Finds(n)
        for first in range(0, shape.repeats, step):
            stamps = range(first, min(shape.repeats, first + step))
            # The matrices with most terms first, so that threads end together.
            made = workers.run_all(columns.of_stage, [(name, k) for name in "acb" for k in stamps])
            for i, k in enumerate(stamps):
                a, c, b = (made[j * len(stamps) + i] for j in range(3))
                for head, part in zip(heads, (a, b, c), strict=True):
                    columns_cpu.add_rows(head, part[: columns.head])
                self._finish([x[columns.head :] for x in (a, b, c)], n + start + k * size, dense_a, dense_b, finds)
        self._finish([x[n:] for x in heads], n, dense_a, dense_b, finds)
        self._finish([x[:n] for x in heads], 0, dense_a, dense_b, finds)
        finds.check()
        if self.folded:
            self._vectors["l"][:n] = to_limbs((-self._share_of_c * c % R for c in fr_ints(heads[2][:n])), FR_LIMBS)

    def _finish(
        self,
        columns: list[U64],
        first: int,
        dense_a: npt.NDArray[np.bool_],
        dense_b: npt.NDArray[np.bool_],
        finds: _Finds,
    ) -> None:
        """From columns to logarithms, for variables from `first` on; the inputs are a call of their own."""
        waste, n, inputs = self.waste, len(columns[0]), self.shape.num_inputs
        over = pow(waste.gamma if first < inputs else waste.delta, -1, R)
        fold = self._share_of_c if self.folded and first >= inputs else 0
        factors = to_limbs([over * waste.beta % R, over * waste.alpha % R, (over - fold) % R], FR_LIMBS)
        start = first if self.folded else first - inputs
        out = self._vectors["ic"] if first < inputs else self._vectors["l"][start : start + n]
        pieces = [(i, min(n, i + _PIECE)) for i in range(0, n, _PIECE)]
        calls, starts = [], []
        for density in (dense_a, dense_b):
            before = int(np.count_nonzero(density[:first]))
            counts = [int(np.count_nonzero(density[first + i : first + j])) for i, j in pieces]
            starts.append(before + np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]))
        for k, (i, j) in enumerate(pieces):
            a, b = (self._vectors[name][at[k] : at[k + 1]] for name, at in zip("ab", starts, strict=True))
            parts = tuple(x[i:j] for x in columns)
            calls.append((out[i:j], a, b, parts, (dense_a[first + i : first + j], dense_b[first + i : first + j]), factors))

        def one(*arguments: object) -> npt.NDArray[np.int64]:
            found = np.zeros(4, np.int64)
            setup_cpu.finish(*arguments, found)
            return found

        for (i, j), found in zip(pieces, workers.run_all(one, calls), strict=True):
            finds.add(first + i, j - i, found)

    @property
    def nbytes(self) -> int:
        """Host memory that is held."""
        return sum(vector.nbytes for vector in self._vectors.values())

    def scalars(self, name: str, first: int, n: int) -> U64:
        """The logarithms first .. first + n of h, l, a, b_g1, b_g2 or ic, canonical, uint64[n, 4]."""
        if name != "h" or self.folded:
            return self._vectors[name[0] if name.startswith("b_") else name][first : first + n]
        start = self._z * pow(self.waste.delta, -1, R) * pow(self.waste.tau, first, R) % R
        return to_canonical(powers(self.waste.tau, n, start))


class _Finds:
    """What is wrong with a constraint system or its densities, by variable: inputs, then aux."""

    def __init__(self, num_inputs: int) -> None:
        self._inputs = num_inputs
        self._zeros = 0
        self._first: dict[int, int] = {}

    def add(self, first: int, n: int, found: npt.NDArray[np.int64]) -> None:
        """What `setup_cpu.finish` found among the n variables from `first` on."""
        if first >= self._inputs:
            self._zeros += int(found[setup_cpu.ZEROS])
            self._note(setup_cpu.FIRST_ZERO, first, n, found)
        for place in (setup_cpu.WRONG_A, setup_cpu.WRONG_B):
            self._note(place, first, n, found)

    def _note(self, place: int, first: int, n: int, found: npt.NDArray[np.int64]) -> None:
        if found[place] < n:
            at = first + int(found[place])
            self._first[place] = min(at, self._first.get(place, at))

    def check(self) -> None:
        """Raise for what is wrong, if anything is."""
        if self._zeros:
            more = f" and {self._zeros - 1} more" if self._zeros > 1 else ""
            raise MalformedInput(
                "the circuit has aux variables that no row constrains: any value would prove",
                where=f"aux {self._first[setup_cpu.FIRST_ZERO] - self._inputs}{more}",
                expected="every aux variable in some row",
                hint="constrain the variable or leave it out",
            )
        for place, matrix in ((setup_cpu.WRONG_A, "A"), (setup_cpu.WRONG_B, "B")):
            if (at := self._first.get(place)) is not None:
                raise CuzkError(
                    f"a polynomial of {matrix} vanishes at tau, or a density is wrong: parameters and prover would disagree",
                    where=f"input {at}" if at < self._inputs else f"aux {at - self._inputs}",
                    hint="use other toxic waste; if that does not help, the circuit's density is wrong",
                )
