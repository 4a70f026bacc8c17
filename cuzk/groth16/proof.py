"""A proof (A, B, C) and its 192 bytes: A, B, C compressed, 48 + 96 + 48.

Source  bellperson src/groth16/proof.rs at d1fa22c
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuzk.curve import encoding
from cuzk.errors import MalformedInput
from cuzk.field.limbs import U64

PROOF_BYTES = 192
# Name, curve, first byte, byte after the last.
_PARTS = (("A", "g1", 0, 48), ("B", "g2", 48, 144), ("C", "g1", 144, PROOF_BYTES))


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """A and C are affine G1 points uint64[12], B is an affine G2 point uint64[24], in Montgomery form."""

    a: U64
    b: U64
    c: U64

    def encode(self) -> bytes:
        """The 192 bytes."""
        a_and_c = encoding.encode("g1", np.stack([self.a, self.c]), compressed=True)
        b = encoding.encode("g2", self.b, compressed=True)
        return a_and_c[0].tobytes() + b.tobytes() + a_and_c[1].tobytes()

    @classmethod
    def decode(cls, data: bytes, *, file: object = None, offset: int = 0) -> Proof:
        """Read 192 bytes that stand at `offset` in `file`, with every check.

        Raises  MalformedInput for a wrong length, and for a point that is not canonical, not on its curve, not of order r, or
                infinity, naming the element and its byte offset
        """
        if len(data) != PROOF_BYTES:
            raise MalformedInput(
                "wrong length of a proof",
                file=file,
                where=f"byte {offset}",
                expected=f"{PROOF_BYTES} bytes",
                got=f"{len(data)} bytes",
            )
        a, b, c = (
            encoding.decode(curve, data[i:j], compressed=True, file=file, offset=offset + i, what=f"proof element {name}")[0]
            for name, curve, i, j in _PARTS
        )
        return cls(a, b, c)


def decode_proofs(data: bytes, count: int, *, file: object = None) -> list[Proof]:
    """A proof file of `count` proofs, one after the other. Raises MalformedInput as `Proof.decode`, and for another length."""
    if len(data) != PROOF_BYTES * count:
        raise MalformedInput(
            "wrong length of a proof",
            file=file,
            expected=f"{PROOF_BYTES} × {count} = {PROOF_BYTES * count} bytes",
            got=f"{len(data)} bytes",
        )
    return [Proof.decode(data[i : i + PROOF_BYTES], file=file, offset=i) for i in range(0, len(data), PROOF_BYTES)]
