"""Evaluation domains: number theoretic transforms over Fr on the subgroup of order m = 2^log2_size and on its coset by 7.

NTT: X_k = sum_i x_i w^(i k), with w the root of unity of order m; the coset transform evaluates at 7 w^k. A transform of m
elements is a product of passes over the digits of the index, m = N_1 N_2 … N_l with N_p = 2^k_p at most 2^11: with
i = i_1 m/N_1 + (rest) and k = k_1 + N_1 (rest), pass p transforms digit p of all columns and multiplies by w_L^(k_p column),
where L is the size of what is left (the four-step algorithm, once or twice). Powers of a constant, as a coset needs them,
split over the digits too and go into those twiddles.
"""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass

import numpy as np

from cuzk import pages, workers
from cuzk.errors import ResourceError
from cuzk.field import lanes
from cuzk.field.fr_vector import encode, encode_fixed, powers, words_of
from cuzk.field.limbs import FR_LIMBS, U64, fr_ints, fr_mont
from cuzk.field.params import FR_GENERATOR, FR_TWO_ADICITY, R, omega
from cuzk.kernels import ntt_cpu
from cuzk.kernels.ntt_cpu import GROUP

MAX_LOG2_SIZE = FR_TWO_ADICITY - 1  # as upstream, which refuses the full 2^32
PASS_LOG2_SIZE = 11  # 2^11 rows of eight elements fit a second-level cache of 1 MiB
SMALL_LOG2_SIZE = 5  # below 2^6 a pass has no whole group of columns
_LARGE = 1 << 18  # words: 2 MiB
_NONE = np.zeros(0, np.uint64)


def _inverse(x: int) -> int:
    return pow(x, -1, R)


def _root(log2_size: int, inverse: bool) -> int:
    return _inverse(omega(log2_size)) if inverse else omega(log2_size)


def _powers(x: int, n: int, start: int = 1) -> list[int]:
    out = [start % R]
    for _ in range(n - 1):
        out.append(out[-1] * x % R)
    return out[:n]


def aligned(words: int) -> U64:
    """An array that starts at a cache line, of any contents; a large one in large pages."""
    if words >= _LARGE:
        return pages.zeros(words)
    raw = np.empty(words + 8, np.uint64)
    start = -(raw.ctypes.data // 8) % 8
    return raw[start : start + words]


_of_thread = threading.local()


def _scratch(k: int) -> U64:
    """This thread's scratch for blocks of 2^k rows; kept, since its pages cost time when they are new."""
    words = (ntt_cpu.ROW << k) + ntt_cpu.SPARE * ntt_cpu.ROW
    if getattr(_of_thread, "words", 0) < words:
        _of_thread.words, _of_thread.array = words, aligned(words)
    return _of_thread.array


@dataclass(frozen=True)
class Pass:
    """One pass: 2^k rows, `stride` elements apart, in parts of stride * 2^k elements; `before`: product of earlier sizes."""

    k: int
    stride: int
    before: int


@functools.lru_cache(maxsize=32)
def _roots(k: int, inverse: bool) -> U64:
    """The table of roots for blocks of 2^k rows, as `kernels.ntt_cpu` states it."""
    values = [_root(2, inverse)]
    for log_h in range(k & 1, k - 1, 2):
        for x in _powers(_root(log_h + 2, inverse), 1 << log_h):
            values += [x, x * x % R, x * x * x % R]
    return encode_fixed(values).reshape(-1)


@functools.lru_cache(maxsize=32)
def _power_table(x: int, n: int, start: int) -> U64:
    return encode_fixed(_powers(x, n, start)).reshape(-1)


class Domain:
    """The subgroup of Fr of order 2^log2_size and its coset by 7, as bellperson has them.

    Source  bellperson src/domain.rs at d1fa22c
    Raises  ResourceError beyond 2^31
    Spec    spec.ntt
    """

    def __init__(self, log2_size: int) -> None:
        if not 0 <= log2_size <= MAX_LOG2_SIZE:
            raise ResourceError("no such evaluation domain", expected=f"2^0 to 2^{MAX_LOG2_SIZE}", got=f"2^{log2_size}")
        self.log2_size = log2_size
        self.size = 1 << log2_size
        self.omega = omega(log2_size)
        self.passes = self._plan()
        self._spare: list[U64] = []

    @classmethod
    def holding(cls, rows: int) -> Domain:
        """The smallest domain with at least `rows` points (one, if rows is 0)."""
        return cls(max(0, rows - 1).bit_length())

    def _plan(self) -> list[Pass]:
        if self.log2_size <= SMALL_LOG2_SIZE:
            return []
        count = max(2, -(-self.log2_size // PASS_LOG2_SIZE))
        passes, done = [], 0
        for p in range(count):
            k = -(-(self.log2_size - done) // (count - p))
            passes.append(Pass(k, 1 << (self.log2_size - done - k), 1 << done))
            done += k
        return passes

    def ntt(self, a_mont: U64) -> None:
        """Coefficients to values on the subgroup, in place.

        Shape   a_mont: (m, 4), natural order in and out
        Domain  Montgomery
        Range   fully reduced out
        Cost    (m/2) log2 m butterflies, 2 m M more for each further pass; 32 m bytes of scratch
        Source  bellperson src/domain.rs at d1fa22c, fft
        Spec    spec.ntt.ntt
        """
        self._natural(a_mont, inverse=False)

    def intt(self, a_mont: U64) -> None:
        """Values on the subgroup to coefficients; else as `ntt`. Source: ifft."""
        self._natural(a_mont, inverse=True, scale=_inverse(self.size))

    def coset_ntt(self, a_mont: U64) -> None:
        """Coefficients to values on the coset: a_k = sum_i a_i 7^i w^(i k); else as `ntt`. Source: coset_fft."""
        self._natural(a_mont, inverse=False, pre=FR_GENERATOR)

    def coset_intt(self, a_mont: U64) -> None:
        """Values on the coset to coefficients; else as `ntt`. Source: icoset_fft."""
        self._natural(a_mont, inverse=True, post=_inverse(FR_GENERATOR), scale=_inverse(self.size))

    def _natural(self, a_mont: U64, inverse: bool, pre: int = 1, post: int = 1, scale: int = 1) -> None:
        """X_k = scale post^k sum_i x_i pre^i w^(±i k), natural order in and out."""
        words = words_of(a_mont, self.size)
        if not self.passes:
            a_mont[:] = fr_mont(self._direct(fr_ints(a_mont), inverse, pre, post, scale))
            return
        work = self._spare.pop() if self._spare else aligned(words.size)
        self.dif_columns(work, words, self.size, inverse, pre, post)
        self.to_container(words, work, inverse, post, scale)
        self._spare.append(work)

    def _direct(self, x: list[int], inverse: bool, pre: int, post: int, scale: int) -> list[int]:
        """`_natural` in plain integers from the definition, for domains too small for passes."""
        w = _inverse(self.omega) if inverse else self.omega
        x = [u * v % R for u, v in zip(x, _powers(pre, self.size), strict=True)]
        roots, factors = _powers(w, self.size), _powers(post, self.size, scale)
        return [sum(u * roots[i * k % self.size] for i, u in enumerate(x)) * factors[k] % R for k in range(self.size)]

    # Parts of transforms on packed arrays, flat uint64[4 m], for those who compose them.

    def dif_columns(self, out: U64, data: U64, size: int, inverse: bool, pre: int = 1, post: int = 1) -> None:
        """All passes of DIF but the last. `data` is a container of `size` elements (zeros follow), or packed if size is −1."""
        for p, step in enumerate(self.passes[:-1]):
            first = p == 0
            twist = (inverse, pow(post, step.before, R), pre if first else 1)
            table = _power_table(pow(pre, step.stride, R), 1 << step.k, 1) if first and pre != 1 else _NONE
            self._columns(step, ntt_cpu.DIF, out, data if first else out, out, size if first else -1, twist, table)

    def to_container(self, out: U64, data: U64, inverse: bool, post: int, scale: int, mate: U64 = _NONE) -> None:
        """The last pass of DIF, each element times scale * post^k, to a container in natural order. `out` is not `data`.

        With `mate`, what `there` left in it is subtracted before the factor is applied.
        """
        self._rows(ntt_cpu.TO_CONTAINER, out, data, inverse, post, scale, mate)

    def there(self, data: U64, post: int, scale: int) -> None:
        """The last pass of inverse DIF, each coefficient times scale and the share in post^k of this pass's digit, in place."""
        self._rows(ntt_cpu.THERE, data, data, True, post, scale)

    def there_and_back(self, data: U64, post: int, scale: int) -> None:
        """The last pass of inverse DIF, each coefficient times scale * post^k, the first pass of forward DIT; in place."""
        self._rows(ntt_cpu.THERE_AND_BACK, data, data, True, post, scale)

    def dit_columns(self, data: U64, mate: U64 | None = None) -> None:
        """All passes of forward DIT after the first, in place.

        With `mate`, whose values on the coset are there, the last one multiplies by them and is the first pass of inverse DIF.
        """
        for p in range(len(self.passes) - 2, -1, -1):
            if p or mate is None:
                self._columns(self.passes[p], ntt_cpu.DIT, data, data, data, -1, (True, 1, 1), _NONE)
            else:
                post = _inverse(FR_GENERATOR)
                self._columns(self.passes[0], ntt_cpu.DIT_MUL_DIF, data, data, mate, -1, (True, post, 1), _NONE)

    def dif_columns_after_first(self, data: U64, post: int) -> None:
        """Inverse DIF without its first and its last pass, in place."""
        for step in self.passes[1:-1]:
            self._columns(step, ntt_cpu.DIF, data, data, data, -1, (True, pow(post, step.before, R), 1), _NONE)

    def _columns(
        self, step: Pass, mode: int, out: U64, data: U64, mate: U64, size: int, twist: tuple[bool, int, int], pre: U64
    ) -> None:
        """One pass over columns. twist: DIF with inverse roots, the power of its row index, that of its column."""
        inverse, post, column_power = twist
        groups = step.stride // GROUP
        shape = np.array([step.k, step.stride, groups, size, mode], np.int64)
        log2_part = step.k + step.stride.bit_length() - 1
        twists = (_root(log2_part, inverse), post, column_power), (_root(log2_part, False), 1, 1)
        dif_roots, dit_roots = _roots(step.k, inverse), _roots(step.k, False)

        def task(start: int, stop: int) -> None:
            lanes_of = _twiddle_states(start % groups, twists)
            scratch = _scratch(step.k)
            span = np.array([start, stop], np.int64)
            ntt_cpu.columns(out, data, mate, scratch, dif_roots, dit_roots, lanes_of, pre, shape, span)

        workers.over_ranges(task, (self.size >> step.k) // GROUP)

    def _rows(self, mode: int, out: U64, data: U64, inverse: bool, post: int, scale: int, mate: U64 = _NONE) -> None:
        k = self.passes[-1].k
        bits = self.log2_size - k
        shape = np.array([k, bits, mode, (FR_LIMBS << self.log2_size) // GROUP], np.int64)
        table = _power_table(pow(post, 1 << bits, R), 1 << k, scale % R)
        dif_roots, dit_roots = _roots(k, inverse), _roots(k, False)

        def task(start: int, stop: int) -> None:
            scratch = _scratch(k)
            ntt_cpu.rows(out, data, mate, scratch, dif_roots, dit_roots, table, shape, np.array([start, stop], np.int64))

        workers.over_ranges(task, (1 << bits) // GROUP)


@functools.lru_cache(maxsize=256)
def _twiddle_states(group: int, twists: tuple[tuple[int, int, int], ...]) -> U64:
    """What `kernels.ntt_cpu.columns` needs to make base(column) = post w^column and start(column) = column_power^column."""
    values = []
    for w, post, column_power in twists:
        for column in (group * GROUP, 0):
            values += _powers(w, GROUP, post * pow(w, column, R))
            values += _powers(column_power, GROUP, pow(column_power, column, R))
        for x in (w, column_power):
            values += [pow(x, GROUP, R)] * GROUP
    rows = encode(values).reshape(-1, lanes.LANES, ntt_cpu.LIMBS).transpose(0, 2, 1)
    return np.ascontiguousarray(rows).reshape(len(twists), -1)


def lagrange_at(domain: Domain, tau: int) -> U64:
    """Values at tau of the Lagrange basis of the domain: L_i(tau) = (tau^m − 1)/m · w^i/(tau − w^i); 1 and 0 if tau = w^i.

    They are the inverse transform of the powers of tau, since f(tau) = sum_k f_k tau^k for every f of degree below m.

    Shape   (m, 4) Montgomery out
    Cost    an inverse NTT and m M
    Source  bellperson src/groth16/generator.rs at d1fa22c
    """
    values = powers(tau, domain.size)
    domain.intt(values)
    return values
