"""The quotient h of a Groth16 proof on CUDA: a(X) b(X) − c(X) = h(X) (X^m − 1), from the values A·z, B·z, C·z on the subgroup.

As `quotient`, with coefficients left in bit-reversed order between transforms: three inverse transforms, three forward ones to
the coset by 7, and one inverse one whose first pass takes a b − c where it loads. Powers of 7, 1/m and 1/Z are in the tables.
"""

from __future__ import annotations

from typing import Any

from cuzk.field.limbs import FR_RADIX
from cuzk.field.params import FR_GENERATOR, R
from cuzk.kernels import ntt_cuda as kernels
from cuzk.kernels.launch import launch_over
from cuzk.ntt_cuda import Domain, Transform


def _inverse(x: int) -> int:
    return pow(x, -1, R)


class Quotient:
    """h for circuits of one domain size on one card; holds the tables of three kinds of transforms (see `table_bytes`)."""

    def __init__(
        self, card: Any, log2_size: int, sizes: list[int] | None = None, shared: bool = False, folded: bool = False
    ) -> None:
        """With `shared` the large tables are made anew for each of the three kinds, in the same memory; `folded`: for `product`
        alone, which takes two kinds."""
        self.domain = domain = Domain(card, log2_size, sizes, shared)
        m, z = domain.size, pow(FR_GENERATOR, domain.size, R) - 1
        # The last transform leaves plain integers: scalars of the H query.
        try:
            self._to_coset = domain.transform(True, FR_GENERATOR, _inverse(m))
            self._evaluate = domain.transform(False)
            if not folded:
                self._to_scalars = domain.transform(True, _inverse(FR_GENERATOR), _inverse(m * z * FR_RADIX))
        except BaseException:
            domain.free()
            raise

    @staticmethod
    def table_bytes(log2_size: int, shared: bool = False, folded: bool = False) -> int:
        """Device memory that the tables take, at most."""
        table, kinds = Transform.table_bytes(log2_size), 2 if folded else 3
        return table + kinds * Transform.small_bytes(log2_size) if shared else kinds * table

    def free(self) -> None:
        """Give the tables back."""
        self.domain.free()

    def on_coset(self, data: int, stream: Any = None) -> None:
        """Values on the subgroup to values on the coset, at a device address, in place. Cost: two transforms."""
        self._to_coset.run(data, stream)
        self._evaluate.run(data, stream)

    def run(self, a: int, b: int, c: int, stream: Any = None) -> None:
        """Coefficients of (a b − c)/(X^m − 1) in bit-reversed order, into a; the one of X^(m−1) is 0 if a b = c on the subgroup.

        Shape   a, b, c: device addresses of Fr[m]
        Domain  Montgomery in, canonical out
        Alias   b and c are consumed
        Cost    seven transforms
        Source  bellperson src/groth16/prover/native.rs at d1fa22c, execute_fft
        Spec    spec.groth16.quotient
        """
        for transform in (self._to_coset, self._evaluate):  # one after the other: they may share memory
            for data in (a, b, c):
                transform.run(data, stream)
        self._to_scalars.run_quotient(a, b, c, stream)

    def product(self, a: int, b: int, stream: Any = None) -> None:
        """a b on the coset in natural order, into a, for bases in which c and Z are folded.

        Domain  Montgomery in and out
        Alias   b is consumed
        Cost    four transforms and m M
        """
        for transform in (self._to_coset, self._evaluate):  # as in `run`
            for data in (a, b):
                transform.run(data, stream)
        launch_over(self.domain.card, kernels.multiply, self.domain.size, stream, a, a, b, self.domain.size)
