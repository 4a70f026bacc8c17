"""Vectors over Fr: products, scaling, conversion, powers and inversion of whole arrays, in lanes, on all cores.

A container element holds x S with S = 2^256. Lanes multiply as u v / D with D the radix of the path, so a constant factor k is
held as k D, and a product of two container elements takes one of them times D / S, a shift.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cuzk import workers
from cuzk.errors import InternalError
from cuzk.field import lanes
from cuzk.field.emit import I64, Element, Emitter
from cuzk.field.limbs import FR_LIMBS, FR_RADIX, LIMB_BITS, U64, to_limbs
from cuzk.field.params import R
from cuzk.jit import kernel, shared

LANES, LIMBS = lanes.LANES, lanes.limb_count("fr")
_ELEMENT = LIMBS * LANES  # words of a lane vector of elements
_WORDS = FR_LIMBS * LANES  # words of the same elements in a container
_CHAINS = 4  # independent chains of products, to hide the latency of one
RADIX = lanes.radix("fr")
FIXED = len(lanes.emitter_class().fixed_words(0, R))  # words of a fixed factor
_SHIFT = RADIX.bit_length() - FR_RADIX.bit_length()  # log2(D / S)


def encode(values: Sequence[int]) -> U64:
    """Integers as constants for lanes: Montgomery form and limbs of this process's path, uint64[n, limbs]."""
    words = to_limbs((v * RADIX % R for v in values), FR_LIMBS)
    if lanes.BITS == LIMB_BITS:
        return words
    out = np.zeros((len(words), LIMBS), np.uint64)
    for j in range(LIMBS):
        q, s = divmod(lanes.BITS * j, LIMB_BITS)
        out[:, j] = words[:, q] >> np.uint64(s)
        if s > LIMB_BITS - lanes.BITS and q + 1 < FR_LIMBS:
            out[:, j] |= words[:, q + 1] << np.uint64(LIMB_BITS - s)
        if j < LIMBS - 1:
            out[:, j] &= np.uint64((1 << lanes.BITS) - 1)
    return out


def encode_fixed(values: Sequence[int]) -> U64:
    """Integers below r as fixed factors (`Emitter.mul_fixed`) of this process's path, uint64[n, words]."""
    words = lanes.emitter_class().fixed_words
    return np.array([words(v, R) for v in values], np.uint64).reshape(len(values), FIXED)


def words_of(array: U64, elements: int) -> U64:
    """The words of uint64[elements, 4]. Raises InternalError if the array is anything else."""
    if array.dtype != np.uint64 or array.shape != (elements, FR_LIMBS) or not array.flags.c_contiguous:
        got = f"{array.dtype}{list(array.shape)}"
        raise InternalError("not a vector over Fr of this length", expected=f"uint64[{elements}, {FR_LIMBS}]", got=got)
    return array.reshape(-1)


def _load(e: Emitter, p: Any, shift: int = 0) -> Element:
    """LANES container elements, times 2^shift."""
    b = e.b
    words = e.deinterleave([b.load(b.gep(p, [I64(j)]), align=8) for j in range(FR_LIMBS)])
    if shift:
        back = e.splat(LIMB_BITS - shift)
        parts = [b.shl(w, e.splat(shift)) for w in words] + [e.splat(0)]
        words = [parts[0]] + [b.or_(parts[j + 1], b.lshr(words[j], back)) for j in range(FR_LIMBS)]
    return e.from_words(words)


def _store(e: Emitter, p: Any, x: Element) -> None:
    """LANES elements below 2 r, fully reduced, to a container."""
    e.store(p, e.interleave(e.to_words(e.reduce_once(x), FR_LIMBS)))


def _mul(e: Emitter, p: list[Any]) -> None:
    _store(e, p[0], e.mul(_load(e, p[1], _SHIFT), _load(e, p[2])))


def _scale(e: Emitter, p: list[Any]) -> None:
    _store(e, p[0], e.mul(_load(e, p[1]), e.broadcast(p[2])))


def _step(e: Emitter, p: list[Any]) -> None:
    """Store x, then x := x k."""
    x = e.load(p[1])
    _store(e, p[0], x)
    e.store(p[1], e.mul(x, e.broadcast(p[2])))


def _times(e: Emitter, p: list[Any]) -> None:
    e.store(p[0], e.mul(e.load(p[1]), e.load(p[2])))


def _nonzero(e: Emitter, p: Any) -> tuple[Element, Any]:
    """Container elements with 1 in place of 0, and the mask of zeros."""
    x = _load(e, p)
    zero = e.all_zero(x)
    return e.select(zero, e.const(e.one), x), zero


def _forward(e: Emitter, p: list[Any]) -> None:
    """Store the product before x, then take x in."""
    product = e.load(p[1])
    _store(e, p[0], product)
    e.store(p[1], e.mul(product, _nonzero(e, p[2])[0]))


def _backward(e: Emitter, p: list[Any]) -> None:
    """From the inverse of the product up to x and the product before x: the inverse of x, and that of the product before."""
    x, zero = _nonzero(e, p[2])
    inverse = e.load(p[1])
    one_out = e.mul(inverse, _load(e, p[0]))
    _store(e, p[0], e.select(zero, e.const(0), one_out))
    e.store(p[1], e.mul(inverse, x))


_mul_op = lanes.operation("fr_mul", "fr", 3, _mul)
_scale_op = lanes.operation("fr_scale", "fr", 3, _scale)
_step_op = lanes.operation("fr_step", "fr", 3, _step)
_times_op = lanes.operation("fr_times", "fr", 3, _times)
_forward_op = lanes.operation("fr_forward", "fr", 3, _forward)
_backward_op = lanes.operation("fr_backward", "fr", 3, _backward)


@kernel
def _mul_kernel(out, a, b, start, stop):
    for i in range(start * FR_LIMBS, stop * FR_LIMBS, _WORDS):
        _mul_op(out, i, a, i, b, i)


@kernel
def _scale_kernel(out, a, k, start, stop):
    for i in range(start * FR_LIMBS, stop * FR_LIMBS, _WORDS):
        _scale_op(out, i, a, i, k, 0)


@kernel
def _powers_kernel(out, state, k, start, stop):
    for i in range(start * FR_LIMBS, stop * FR_LIMBS, _CHAINS * _WORDS):
        for c in range(_CHAINS):
            _step_op(out, i + c * _WORDS, state, c * _ELEMENT, k, 0)


@shared
def _power(x: Any, exponent: Any) -> None:
    """The second vector of x := the first one to the power of a bit string; the second one is 1 before."""
    for i in range(exponent.size):
        _times_op(x, _ELEMENT, x, _ELEMENT, x, _ELEMENT)
        if exponent[i] == np.uint8(1):
            _times_op(x, _ELEMENT, x, _ELEMENT, x, 0)


@kernel
def _inverse_kernel(out, a, x, factor, exponent, start, stop):
    """x: two vectors of ones; factor: a vector, S^2 / D^2."""
    for i in range(start * FR_LIMBS, stop * FR_LIMBS, _WORDS):
        _forward_op(out, i, x, 0, a, i)
    _power(x, exponent)
    _times_op(x, 0, x, _ELEMENT, factor, 0)
    for i in range(stop * FR_LIMBS - _WORDS, start * FR_LIMBS - 1, -_WORDS):
        _backward_op(out, i, x, 0, a, i)


def _vector(value: int, count: int = 1) -> U64:
    """A constant in all lanes of `count` vectors."""
    return np.tile(np.repeat(encode([value])[0], LANES), count)


def _whole(n: int) -> int:
    """Elements in whole lane vectors."""
    return n - n % LANES


def _padded(a: U64, start: int) -> U64:
    """What is left after the whole lane vectors, and zeros."""
    out = np.zeros(_WORDS, np.uint64)
    out[: a.size - start * FR_LIMBS] = a[start * FR_LIMBS :]
    return out


def _elementwise(run: Any, out: U64, *inputs: U64) -> None:
    """Call run(out, *inputs, start, stop) over ranges of whole lane vectors, and once on a padded copy of the rest."""
    n = out.size // FR_LIMBS
    whole = _whole(n)
    workers.over_ranges(lambda start, stop: run(out, *inputs, start, stop), whole, multiple=1024)
    if whole < n:
        rest = np.zeros(_WORDS, np.uint64)
        run(rest, *(_padded(a, whole) for a in inputs), 0, LANES)
        out[whole * FR_LIMBS :] = rest[: (n - whole) * FR_LIMBS]


def mul(a_mont: U64, b_mont: U64, out_mont: U64 | None = None) -> U64:
    """Products a_i b_i.

    Shape   (n, 4) each
    Domain  Montgomery
    Alias   out may be a or b
    Cost    n M
    """
    n = len(a_mont)
    out = np.empty((n, FR_LIMBS), np.uint64) if out_mont is None else out_mont
    _elementwise(_mul_kernel, words_of(out, n), words_of(a_mont, n), words_of(b_mont, n))
    return out


def scale(a: U64, factor: int, out: U64 | None = None) -> U64:
    """Products a_i * factor; whatever form a is in, out is in the same.

    Shape   (n, 4)
    Range   a below 2^255; out fully reduced
    Alias   out may be a
    Cost    n M
    """
    n = len(a)
    result = np.empty((n, FR_LIMBS), np.uint64) if out is None else out
    k = encode([factor]).reshape(-1)
    _elementwise(lambda o, x, start, stop: _scale_kernel(o, x, k, start, stop), words_of(result, n), words_of(a, n))
    return result


def to_canonical(a_mont: U64, out_canon: U64 | None = None) -> U64:
    """Montgomery form to plain integers below r; else as `scale`."""
    return scale(a_mont, pow(FR_RADIX, -1, R), out_canon)


def from_canonical(a_canon: U64, out_mont: U64 | None = None) -> U64:
    """Plain integers below 2^255 to Montgomery form (reduced modulo r); else as `scale`."""
    return scale(a_canon, FR_RADIX, out_mont)


def powers(x: int, n: int, factor: int = 1) -> U64:
    """factor * x^i for i < n.

    Shape   (n, 4) out
    Domain  Montgomery
    Cost    n M
    """
    block = _CHAINS * LANES
    out = np.empty((-(-n // block) * block, FR_LIMBS), np.uint64)
    words, step = out.reshape(-1), encode([pow(x, block, R)]).reshape(-1)

    def task(start: int, stop: int) -> None:
        value, first = factor * pow(x, start, R) % R * pow(RADIX, -1, R) * FR_RADIX % R, []
        for _ in range(block):
            first.append(value)
            value = value * x % R
        state = encode(first).reshape(_CHAINS, LANES, LIMBS).transpose(0, 2, 1).reshape(-1)
        _powers_kernel(words, state, step, start, stop)

    workers.over_ranges(task, len(out), multiple=1024 * block)
    return out[:n]


def invert(a_mont: U64) -> U64:
    """Inverses 1 / a_i; 0 for 0.

    Shape   (n, 4)
    Domain  Montgomery
    Cost    3 n M, and a power of r − 2 for each range of a thread
    Source  P. L. Montgomery, Speeding the Pollard and elliptic curve methods, 1987, section 10.3.1
    """
    n = len(a_mont)
    out = np.empty((n, FR_LIMBS), np.uint64)
    ratio = FR_RADIX * pow(RADIX, -1, R)
    factor = _vector(ratio * ratio % R)
    exponent = np.array([int(bit) for bit in f"{R - 2:b}"], np.uint8)

    def run(target: U64, source: U64, start: int, stop: int) -> None:
        _inverse_kernel(target, source, _vector(1, 2), factor, exponent, start, stop)

    _elementwise(run, words_of(out, n), words_of(a_mont, n))
    return out
