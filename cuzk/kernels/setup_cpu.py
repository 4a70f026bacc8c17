"""Element-wise arithmetic of the trusted setup on the CPU."""

from __future__ import annotations

from cuzk.field import fr
from cuzk.jit import kernel


@kernel
def combine(out_canon, a_mont, b_mont, c_mont, factors_mont):
    """out[i] = f[0] a[i] + f[1] b[i] + f[2] c[i].

    Shape   (n, 4) each, factors (3, 4)
    Domain  arguments Montgomery, out canonical
    Alias   out may be a, b or c
    Cost    4 M an element
    """
    x, y, z = fr.load(factors_mont, 0), fr.load(factors_mont, 1), fr.load(factors_mont, 2)
    for i in range(len(out_canon)):
        total = fr.mul(x, fr.load(a_mont, i))
        total = fr.add(total, fr.mul(y, fr.load(b_mont, i)))
        total = fr.add(total, fr.mul(z, fr.load(c_mont, i)))
        fr.store(out_canon, i, fr.to_canon(total))
