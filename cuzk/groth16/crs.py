"""The common reference string: which vectors it has and how long they are for a circuit.

For a circuit with n rows (the input rows included), N inputs (ONE included) and M aux variables, over the domain of m = 2^k >= n
points: h holds tau^i Z(tau) / delta for i < m - 1; l one point for each aux variable; a one for each variable that occurs in
some A row, inputs first; b_g1 and b_g2 one for each that occurs in some B row; ic one for each input. Every input occurs in A,
by its own final row `input * 0 = 0`.

Source  bellperson src/groth16/generator.rs and mapped_params.rs at 0.27.0.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.circuits.template import Shape

# In the order of the file, with the group.
VECTORS = (("h", "g1"), ("l", "g1"), ("a", "g1"), ("b_g1", "g1"), ("b_g2", "g2"))
GROUP = dict(VECTORS)  # of a vector
POINT_BYTES = {"g1": 96, "g2": 192}
COUNT_BYTES = 4
VK_FIXED_BYTES = 3 * POINT_BYTES["g1"] + 3 * POINT_BYTES["g2"] + COUNT_BYTES


@dataclass(frozen=True, slots=True)
class Lengths:
    """Number of points of each vector; b stands for b_g1 and b_g2."""

    ic: int
    h: int
    l: int
    a: int
    b: int

    @classmethod
    def of(cls, shape: Shape, a_aux: int, b_inputs: int, b_aux: int) -> Lengths:
        """The lengths for a shape whose densities have these numbers of set bits."""
        return cls(
            ic=shape.num_inputs,
            h=(1 << shape.domain_log2) - 1,
            l=shape.num_aux,
            a=shape.num_inputs + a_aux,
            b=b_inputs + b_aux,
        )

    def vector(self, name: str) -> int:
        """Length of the vector of this name (one of VECTORS)."""
        return self.b if name.startswith("b_") else int(getattr(self, name))

    @property
    def vk_bytes(self) -> int:
        """Size of the verifying key: six fixed points, a count, ic."""
        return VK_FIXED_BYTES + POINT_BYTES["g1"] * self.ic

    @property
    def file_bytes(self) -> int:
        """Size of the whole parameter file: the verifying key and five counted vectors."""
        return self.vk_bytes + sum(COUNT_BYTES + POINT_BYTES[group] * self.vector(name) for name, group in VECTORS)

    @property
    def points(self) -> int:
        """Number of points in the five vectors."""
        return sum(self.vector(name) for name, _ in VECTORS)

    def __str__(self) -> str:
        return f"ic {self.ic}, h {self.h}, l {self.l}, a {self.a}, b {self.b}: {self.file_bytes} bytes"
