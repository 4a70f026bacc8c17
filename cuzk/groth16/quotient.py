"""The quotient h of a Groth16 proof: a(X) b(X) − c(X) = h(X) (X^m − 1), from the values A·z, B·z, C·z on the subgroup.

a, b, c are interpolated on the subgroup and evaluated on the coset by 7, where X^m − 1 is the constant 7^m − 1; h has degree
at most m − 2 if the values satisfy a b = c, and its m − 1 coefficients are the scalars of the H query.

c has degree below m, so its coefficients are subtracted from those of the polynomial that a b is on the coset: c is never
evaluated there.

Nothing here leaves the permuted order of the transforms until the end: the inverse transform leaves coefficients with
bit-reversed digits, the coset transform takes them so, and its first pass works on the block that the last pass of the inverse
one has in cache; a b is taken where the last pass of b's transform has its block in cache, and goes on from there; c's
coefficients, in the order of that last pass, are taken off where it has its block in cache.
"""

from __future__ import annotations

import numpy as np

from cuzk.errors import InternalError
from cuzk.field.fr_vector import RADIX, words_of
from cuzk.field.limbs import FR_LIMBS, FR_RADIX, U64, fr_ints, to_limbs
from cuzk.field.params import FR_GENERATOR, R
from cuzk.ntt import Domain, aligned


def quotient(a_mont: U64, b_mont: U64, c_mont: U64, domain: Domain) -> U64:
    """Coefficients of (a b − c)/(X^m − 1), the last one dropped, as plain integers below r: the scalars of the H query.

    If the values do not satisfy a b = c everywhere, it is still the same polynomial that bellperson computes.

    Shape   a_mont, b_mont, c_mont: (n, 4), n at most m, taken as padded with zeros; out: (m − 1, 4)
    Domain  Montgomery in, canonical out
    Alias   the inputs are consumed; if n = m their memory is the working memory and that of the result
    Cost    six transforms; 96 m bytes beside the inputs if n < m
    Source  bellperson src/groth16/prover/native.rs at d1fa22c, execute_fft
    Raises  InternalError if the arrays do not fit the domain
    Spec    spec.groth16.quotient
    """
    n = len(a_mont)
    if n > domain.size or len(b_mont) != n or len(c_mont) != n:
        raise InternalError(
            "rows do not fit the domain", expected=f"at most {domain.size}", got=f"{n}, {len(b_mont)}, {len(c_mont)}"
        )
    if not domain.passes:
        return _small(a_mont, b_mont, c_mont, domain)
    m, shift = domain.size, pow(FR_GENERATOR, -1, R)
    # A product of lanes divides by the radix of the path, so that with containers a S, b S it is a b S^2 / radix.
    product = FR_RADIX * FR_RADIX * pow(RADIX, -1, R) % R
    plain = pow(m, -1, R)
    final = plain * pow((pow(FR_GENERATOR, m, R) - 1) * product, -1, R) % R

    work: list[U64] = []
    for values in (a_mont, b_mont, c_mont):
        data, of_c = words_of(values, n), len(work) == 2
        packed = data if n == m else aligned(FR_LIMBS * m)
        domain.dif_columns(packed, data, n, inverse=True, post=1 if of_c else FR_GENERATOR)
        if of_c:
            # What c lacks against a b, and the powers of 1/7 that the last pass will apply to both, undone.
            domain.there(packed, FR_GENERATOR, product * pow(FR_RADIX, -1, R) % R)
        else:
            domain.there_and_back(packed, FR_GENERATOR, plain)
        work.append(packed)
    a, b, c = work
    domain.dit_columns(a)
    domain.dit_columns(b, mate=a)
    domain.dif_columns_after_first(b, shift)
    domain.to_container(a, b, inverse=True, post=shift, scale=final, mate=c)
    return a.reshape(m, FR_LIMBS)[: m - 1]


def _small(a_mont: U64, b_mont: U64, c_mont: U64, domain: Domain) -> U64:
    """The same by the public transforms and plain integers, for domains too small for passes."""
    padded = []
    for values in (a_mont, b_mont, c_mont):
        x = np.zeros((domain.size, FR_LIMBS), np.uint64)
        x[: len(values)] = values
        domain.intt(x)
        domain.coset_ntt(x)
        padded.append(fr_ints(x))
    factor = pow(pow(FR_GENERATOR, domain.size, R) - 1, -1, R)
    # Containers of the canonical values: the inverse transform keeps whatever factor is in them.
    h = to_limbs(((a * b - c) * factor % R for a, b, c in zip(*padded, strict=True)), FR_LIMBS)
    domain.coset_intt(h)
    return h[: domain.size - 1]
