"""Element-wise arithmetic of the trusted setup on the CPU."""

from __future__ import annotations

from cuzk.field import fr
from cuzk.field.fr_sums import products_add, products_montgomery, products_zero, sum_reduce
from cuzk.jit import kernel

# Places of what `finish` finds: combinations that are zero, the first of them, first wrong densities of a and of b (n: none).
ZEROS, FIRST_ZERO, WRONG_A, WRONG_B = range(4)


@kernel
def finish(out_canon, a_canon, b_canon, columns_mont, densities, factors_canon, found):
    """From the columns of variables to discrete logarithms: out[i] = f[0] a[i] + f[1] b[i] + f[2] c[i]; a and b where they occur.

    Shape   columns: three of (n, 4), densities: two of bool[n], factors (3, 4); out (n, 4), a_canon and b_canon as long as their
            densities have set entries; found int64[4]
    Domain  columns Montgomery, all else canonical
    Cost    4 M an element, and 1 M for each that occurs in a or b
    """
    a, b, c = columns_mont
    dense_a, dense_b = densities
    x, y, z = fr.load(factors_canon, 0), fr.load(factors_canon, 1), fr.load(factors_canon, 2)
    n = len(out_canon)
    found[ZEROS], found[FIRST_ZERO], found[WRONG_A], found[WRONG_B] = 0, n, n, n
    next_a = next_b = 0
    for i in range(n):
        p, q = fr.load(a, i), fr.load(b, i)
        # A product with a plain factor is plain.
        total = products_add(products_add(products_zero(), x, p), y, q)
        total = products_add(total, z, fr.load(c, i))
        value = sum_reduce(products_montgomery(total))
        fr.store(out_canon, i, value)
        if fr.is_zero(value):
            if found[ZEROS] == 0:
                found[FIRST_ZERO] = i
            found[ZEROS] += 1
        if fr.is_zero(p) == dense_a[i] and found[WRONG_A] == n:
            found[WRONG_A] = i
        if fr.is_zero(q) == dense_b[i] and found[WRONG_B] == n:
            found[WRONG_B] = i
        if dense_a[i]:
            fr.store(a_canon, next_a, fr.to_canon(p))
            next_a += 1
        if dense_b[i]:
            fr.store(b_canon, next_b, fr.to_canon(q))
            next_b += 1
