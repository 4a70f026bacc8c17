"""Many inversions for the price of one."""

from __future__ import annotations

from typing import Any

from cuzk.jit import shared


def inversion(field: Any) -> Any:
    """Compiled `(out, a, first, step, n)` over a field module: out[i] = 1/a[first + i step] for i < n, and 0 for 0.

    Alias   out must not be a
    Cost    3 n M + 1 I
    Source  Montgomery, "Speeding the Pollard and elliptic curve methods of factorization", section 10.3.1
    """

    @shared
    def invert_all(out, a, first, step, n):
        # Forwards: out[i] is the product of what came before; zeros are left out of the product.
        product = field.ONE
        for i in range(n):
            x = field.load(a, first + i * step)
            field.store(out, i, product)
            if not field.is_zero(x):
                product = field.mul(product, x)
        inverse = field.inv(product)
        for i in range(n - 1, -1, -1):
            x = field.load(a, first + i * step)
            if field.is_zero(x):
                field.store(out, i, field.ZERO)
            else:
                field.store(out, i, field.mul(inverse, field.load(out, i)))
                inverse = field.mul(inverse, x)

    return invert_all
