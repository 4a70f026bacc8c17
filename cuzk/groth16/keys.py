"""The verifying key, as points in Montgomery form."""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.field.limbs import U64


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """What a verifier needs, and a prover's constants. G1 points are uint64[12], G2 points uint64[24]; none is infinity.

    `ic` is uint64[n, 12]: one point for each public input, ONE first.
    """

    alpha_g1: U64
    beta_g1: U64
    beta_g2: U64
    gamma_g2: U64
    delta_g1: U64
    delta_g2: U64
    ic: U64

    @property
    def num_inputs(self) -> int:
        """Public inputs of a proof, ONE not counted."""
        return len(self.ic) - 1
