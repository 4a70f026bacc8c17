"""The inverse of one number modulo p by division steps, for kernels that share one inversion among many elements.

Numbers are 13 signed limbs of 30 bits. A round takes 30 division steps on the low bits of (f, g), which gives a matrix
((u, v), (q, r)) with entries below 2^30, and applies it to (f, g) exactly and to (d, e) modulo p, dividing by 2^30. Throughout,
d x = f and e x = g modulo p (up to the powers of two taken out), so that f = ±1 ends with d = ±1/x. Variable time: nothing secret
depends on it more than on the rest of a multi-scalar multiplication.

Source  Bernstein, Yang: Fast constant-time gcd computation and modular inversion, CHES 2019, sections 8 and 11.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from cuzk.field import lanes
from cuzk.field.params import P
from cuzk.jit import shared

_STEPS = 30
_LIMBS = -(-(P.bit_length() + 2) // _STEPS)
_MASK = (1 << _STEPS) - 1
_P = np.array([(P >> (_STEPS * k)) & _MASK for k in range(_LIMBS)], np.int64)
_P_INVERSE = pow(P, -1, 1 << _STEPS)
_BITS, _STRIDE, _WORDS = lanes.BITS, lanes.LANES, lanes.limb_count("fp")


def _count_zeros(typingctx: Any, x: Any) -> Any:
    """Trailing zero bits of a non-zero int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.int64(types.int64), codegen


_trailing_zeros: Any = intrinsic(_count_zeros)


@shared
def _division_steps(eta, f, g, matrix):
    """30 steps on the low words f (odd) and g; the matrix goes to `matrix`, the new eta is returned."""
    one = np.int64(1)
    u, v, q, r = one, np.int64(0), np.int64(0), one
    left = np.int64(_STEPS)
    while True:
        zeros = _trailing_zeros(g | (np.int64(-1) << left))
        g >>= zeros
        u <<= zeros
        v <<= zeros
        eta -= zeros
        left -= zeros
        if left == 0:
            break
        if eta < 0:
            eta = -eta
            f, g = g, -f
            u, q = q, -u
            v, r = r, -v
        # Add the multiple of f that clears as many low bits of g as eta allows, six at most: -1/f = f (f f - 2) mod 64.
        limit = min(min(eta + 1, left), np.int64(6))
        w = (f * g * (f * f - 2)) & ((one << limit) - one)
        g += f * w
        q += u * w
        r += v * w
    matrix[0], matrix[1], matrix[2], matrix[3] = u, v, q, r
    return eta


@shared
def _update(matrix, f, g, d, e, n):
    """Apply the matrix to (f, g), of n limbs, and modulo p to (d, e); divide by 2^30."""
    u, v, q, r = matrix[0], matrix[1], matrix[2], matrix[3]
    mask, steps = np.int64(_MASK), np.int64(_STEPS)
    sign_d, sign_e = d[_LIMBS - 1] >> np.int64(63), e[_LIMBS - 1] >> np.int64(63)
    md, me = (u & sign_d) + (v & sign_e), (q & sign_d) + (r & sign_e)
    cd, ce = u * d[0] + v * e[0], q * d[0] + r * e[0]
    md -= (np.int64(_P_INVERSE) * cd + md) & mask
    me -= (np.int64(_P_INVERSE) * ce + me) & mask
    cd = (cd + _P[0] * md) >> steps
    ce = (ce + _P[0] * me) >> steps
    for k in range(1, _LIMBS):
        dk, ek = d[k], e[k]
        cd += u * dk + v * ek + _P[k] * md
        ce += q * dk + r * ek + _P[k] * me
        d[k - 1], e[k - 1] = cd & mask, ce & mask
        cd >>= steps
        ce >>= steps
    d[_LIMBS - 1], e[_LIMBS - 1] = cd, ce
    cf, cg = (u * f[0] + v * g[0]) >> steps, (q * f[0] + r * g[0]) >> steps
    for k in range(1, n):
        fk, gk = f[k], g[k]
        cf += u * fk + v * gk
        cg += q * fk + r * gk
        f[k - 1], g[k - 1] = cf & mask, cg & mask
        cf >>= steps
        cg >>= steps
    f[n - 1], g[n - 1] = cf, cg


@shared
def _add_multiple(d, sign, k):
    """d = sign * d + k p."""
    carry = np.int64(0)
    for j in range(_LIMBS):
        carry += sign * d[j] + k * _P[j]
        if j < _LIMBS - 1:
            d[j] = carry & np.int64(_MASK)
            carry >>= np.int64(_STEPS)
        else:
            d[j] = carry


@shared
def inverse(words, at, numbers):
    """Replace x by 1/x mod p; False, and `words` unspecified, if x = 0 mod p.

    Shape   x: lane 0 of the Fp element in lane layout at words[at]; 1/x: consecutive limbs from words[at]; numbers int64[6, 16]
    Domain  plain integers (the Montgomery radix is the caller's affair)
    Range   x < 2^389 (any multiple of p that small is 0); 1/x in [0, p)
    """
    f, g, d, e, matrix = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    for k in range(_LIMBS):
        f[k], d[k], e[k] = _P[k], np.int64(0), np.int64(0)
        j, s = (_STEPS * k) // _BITS, (_STEPS * k) % _BITS
        word = np.uint64(0)
        if j < _WORDS:
            word = words[at + _STRIDE * j] >> np.uint64(s)
            if s > _BITS - _STEPS and j + 1 < _WORDS:
                word |= words[at + _STRIDE * (j + 1)] << np.uint64(_BITS - s)
        g[k] = np.int64(word & np.uint64(_MASK))
    e[0] = np.int64(1)
    eta, n = np.int64(-1), _LIMBS
    while True:
        eta = _division_steps(eta, f[0] | (f[1] << np.int64(_STEPS)), g[0] | (g[1] << np.int64(_STEPS)), matrix)
        _update(matrix, f, g, d, e, n)
        rest = np.int64(0)
        for k in range(n):
            rest |= g[k]
        if rest == 0:
            break
        # Drop top limbs that only hold signs; two limbs at least, since a round looks at two.
        while n > 2 and (f[n - 1] == 0 or f[n - 1] == -1) and (g[n - 1] == 0 or g[n - 1] == -1):
            f[n - 2] |= f[n - 1] << np.int64(_STEPS)
            g[n - 2] |= g[n - 1] << np.int64(_STEPS)
            n -= 1
    # f is ±gcd(x, p): 1, or −1 whose lower limbs are all ones, or ±p.
    negative = f[n - 1] < 0
    for k in range(n):
        if f[k] != ((np.int64(-1) if k == n - 1 else np.int64(_MASK)) if negative else np.int64(k == 0)):
            return False
    # d lies in (-2p, p), and after these two steps in (-p, p) with the sign of f taken out.
    if d[_LIMBS - 1] < 0:
        _add_multiple(d, np.int64(1), np.int64(1))
    if negative:
        _add_multiple(d, np.int64(-1), np.int64(0))
    if d[_LIMBS - 1] < 0:
        _add_multiple(d, np.int64(1), np.int64(1))
    for j in range(_WORDS):
        k, s = (_BITS * j) // _STEPS, (_BITS * j) % _STEPS
        word, have = np.uint64(d[k]) >> np.uint64(s), _STEPS - s
        while have < _BITS and k + 1 < _LIMBS:
            k += 1
            word |= np.uint64(d[k]) << np.uint64(have)
            have += _STEPS
        words[at + j] = word & np.uint64((1 << _BITS) - 1) if _BITS < 64 else word
    return True
