"""The Groth16 verifier: the sum over the public inputs and one pairing-product equation.

e(A, B) = e(alpha, beta) e(sum of inputs, gamma) e(C, delta). Nothing here is shared with the prover's multi-exponentiation.

Source  Groth, "On the Size of Pairing-based Non-interactive Arguments" (2016), section 3.2; batches as bellperson
        src/groth16/verifier.rs at d1fa22c
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np

from cuzk.curve.g1 import GROUP as G1
from cuzk.curve.g1 import g1_combine, g1_mul, g1_neg
from cuzk.curve.pairing import pairing_product_is_one
from cuzk.errors import InternalError, MalformedInput
from cuzk.field.params import R
from cuzk.groth16.keys import VerifyingKey
from cuzk.groth16.proof import Proof

# Bits of the random weights of a batch: a false proof passes with probability 2^-128, and is then found by nobody.
WEIGHT_BITS = 128


def check_inputs(vk: VerifyingKey, inputs_canon: Sequence[int], where: str = "public inputs") -> None:
    """Raise MalformedInput unless there are as many inputs as the key has, all in [0, r). ONE is left out."""
    if len(inputs_canon) != vk.num_inputs:
        raise MalformedInput(
            "the number of public inputs does not fit the verifying key",
            where=where,
            expected=f"{vk.num_inputs} public inputs",
            got=f"{len(inputs_canon)}",
            hint="use the verifying key of this circuit",
        )
    for i, value in enumerate(inputs_canon):
        if not 0 <= value < R:
            raise MalformedInput("a public input is ≥ r", where=f"{where}[{i}]", expected="a value in [0, r)", got=hex(value))


def verify(vk: VerifyingKey, proof: Proof, inputs_canon: Sequence[int]) -> bool:
    """Whether the proof is true for the public inputs (plain integers, ONE left out).

    Cost    4 Miller loops, one final exponentiation, and the sum over the inputs
    Raises  MalformedInput for a wrong number of inputs or one that is not below r
    Spec    cuzk.spec.groth16.verify
    """
    check_inputs(vk, inputs_canon)
    public = g1_combine(vk.ic, [1, *inputs_canon])
    return pairing_product_is_one(
        np.stack([g1_neg(proof.a), vk.alpha_g1, public, proof.c]), np.stack([proof.b, vk.beta_g2, vk.gamma_g2, vk.delta_g2])
    )


def encode_checked(vk: VerifyingKey, proof: Proof, inputs_canon: Sequence[int], hint: str) -> bytes:
    """The 192 bytes of a proof that we made, once they have been read back and found true. `hint` says what to do otherwise.

    Raises  InternalError if they are no proof, or a false one: whatever is wrong with it, it is not the input
    """
    encoded = proof.encode()
    try:
        true = verify(vk, Proof.decode(encoded), inputs_canon)
    except MalformedInput as error:
        raise InternalError(
            f"the proof failed its check: {error.message}",
            where=error.where,
            expected=error.expected,
            got=error.got,
            phase="verify",
            hint=hint,
        ) from error
    if not true:
        raise InternalError("the proof failed its check by pairing", phase="verify", hint=hint)
    return encoded


def verify_many(vk: VerifyingKey, proofs: Sequence[Proof], inputs_canon: Sequence[Sequence[int]]) -> list[bool]:
    """Which of several proofs for one circuit are true: all at once, and only if that fails one by one.

    Raises  MalformedInput for a wrong number of inputs or one that is not below r, naming the proof
    Spec    cuzk.spec.groth16.verify_batch
    """
    assert len(proofs) == len(inputs_canon)
    for k, inputs in enumerate(inputs_canon):
        check_inputs(vk, inputs, f"proof {k}: public inputs")
    if len(proofs) > 1 and _holds_together(vk, proofs, inputs_canon):
        return [True] * len(proofs)
    return [verify(vk, proof, inputs) for proof, inputs in zip(proofs, inputs_canon, strict=True)]


def _holds_together(vk: VerifyingKey, proofs: Sequence[Proof], inputs_canon: Sequence[Sequence[int]]) -> bool:
    """The product of all equations, each to the power of its own random weight z_j in [1, 2^128].

    Cost    one Miller loop a proof and 3 more, one final exponentiation, one sum over the inputs
    """
    weights = [1 + secrets.randbits(WEIGHT_BITS) for _ in proofs]
    scalars = [sum(weights) % R]
    scalars += [sum(z * inputs[i] for z, inputs in zip(weights, inputs_canon, strict=True)) % R for i in range(vk.num_inputs)]
    a = g1_neg(G1.mul_each(np.stack([proof.a for proof in proofs]), weights))
    alpha = g1_mul(vk.alpha_g1, scalars[0])
    public = g1_combine(vk.ic, scalars)
    c = g1_combine(np.stack([proof.c for proof in proofs]), weights)
    b = np.stack([proof.b for proof in proofs])
    return pairing_product_is_one(
        np.concatenate([a, np.stack([alpha, public, c])]), np.concatenate([b, np.stack([vk.beta_g2, vk.gamma_g2, vk.delta_g2])])
    )
