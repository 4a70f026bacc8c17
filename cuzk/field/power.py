"""Powers with a fixed exponent, over any field."""

from __future__ import annotations

from typing import Any

import numpy as np

from cuzk.jit import shared


def power(mul: Any, exponent: int) -> Any:
    """Compiled x -> x^exponent (exponent >= 1) by square and multiply from the top bit, with a field's multiplication.

    Cost  one S a bit below the top one, one M for each of those that is set
    """
    bits = exponent.bit_length()
    words = tuple(np.uint64((exponent >> (64 * i)) & (2**64 - 1)) for i in range(-(-bits // 64)))

    @shared
    def x_to_exponent(x):
        result = x
        for k in range(bits - 2, -1, -1):
            result = mul(result, result)
            if (words[k >> 6] >> np.uint64(k & 63)) & np.uint64(1):
                result = mul(result, x)
        return result

    return x_to_exponent
