"""Number theoretic transforms over Fr on CUDA: plans, tables and launches.

A transform of m = 2^log_size elements is a product of passes over digits of the index, m = N_1 N_2 … N_l with N_p at most 2^9, as
on the CPU (`ntt`). Inverse transforms are decimated in frequency: values in natural order in, coefficients in bit-reversed order
out. Forward ones are their mirror image. What a transform multiplies by beside roots (1/m, the powers of a coset, any constant)
is in the tables between passes: the coefficient index is k = K_1 + N_1 (K_2 + N_2 (…)), so that s^k is a product of one power for
each pass, and pass p needs it only where it multiplies by w_L^(j K_p) anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk.errors import ResourceError
from cuzk.field.fr_cuda import BYTES, quotient_of
from cuzk.field.limbs import FR_LIMBS, U64, fr_mont, from_limbs, to_limbs
from cuzk.field.params import FR_GENERATOR, FR_TWO_ADICITY, R, omega
from cuzk.kernels import ntt_cuda as kernels
from cuzk.kernels import ntt_radix8_cuda as radix8
from cuzk.kernels.launch import launch, launch_over

MAX_LOG2_SIZE = FR_TWO_ADICITY - 1
_LOG_LOW = 13  # the kernel's two-level table of powers


@functools.cache
def reversal(bits: int) -> list[int]:
    """brev(0), brev(1), …, brev(2^bits − 1) over `bits` bits."""
    out = [0]
    for bit in range(bits):
        out += [x + (1 << (bits - 1 - bit)) for x in out]
    return out


def _powers(x: int, n: int, start: int = 1) -> list[int]:
    out = [start % R]
    for _ in range(n - 1):
        out.append(out[-1] * x % R)
    return out


def plan(log_size: int) -> list[int]:
    """Logarithms of the sizes of the passes, outermost first: as few radix-8 steps as there can be, at most three a pass."""
    steps = -(-log_size // 3)
    count = -(-steps // 3)
    parts = [steps // count + (p < steps % count) for p in range(count)]
    sizes = [3 * s for s in parts]
    sizes[-1] -= 3 * steps - log_size
    return sizes


def _planes(values: Sequence[int]) -> list[Any]:
    """Values in two planes of 16 bytes."""
    words = to_limbs(values, FR_LIMBS)
    return [words[:, :2].reshape(-1), words[:, 2:].reshape(-1)]


def _inner_table(inverse: bool, factors: Callable[[int], list[int]] | None = None) -> U64:
    """The tables within passes, as `kernels.ntt_cuda` states them, times `factors(m)[i]` in the one of m."""
    parts = []
    for m in range(kernels.MIN_LOG_PASS, kernels.MAX_LOG_PASS + 1):
        w = pow(omega(m), -1 if inverse else 1, R)
        start = factors(m) if factors is not None else [1] * 8
        values = [x for i, r in enumerate(reversal(3)) for x in _powers(pow(w, r, R), 1 << (m - 3), start[i])]
        parts += _planes(values) + _planes([quotient_of(x) for x in values])
    return np.concatenate(parts)


@functools.cache
def _inner(card: Any, inverse: bool) -> Any:
    return card.upload(_inner_table(inverse))


_INNER_BYTES = sum(2 * BYTES << m for m in range(kernels.MIN_LOG_PASS, kernels.MAX_LOG_PASS + 1))


@dataclass(frozen=True)
class Level:
    """One pass: 2^k rows, 2^log_stride elements apart; `done` bits of the index belong to passes further out.

    `place`: which kernels run it, those of `kernels.ntt_radix8_cuda` for a place in the transform, or "" for `kernels.ntt_cuda`.
    """

    k: int
    log_stride: int
    done: int
    place: str = ""

    @property
    def table_bytes(self) -> int:
        """Bytes of its table, at most."""
        if self.place == "inner":
            return _INNER_BYTES
        return BYTES << (self.k + self.log_stride + (self.place == "middle"))


def levels(log_size: int, sizes: Sequence[int] | None = None, *, generic: bool = False) -> list[Level]:
    """The passes of a transform, outermost first. `generic`: all by the kernels for any size."""
    out, left = [], log_size
    for k in sizes or plan(log_size):
        left -= k
        done = log_size - left - k
        place = "" if k % 3 or k == log_size or generic else "inner" if left == 0 else "middle" if done else "outer"
        out.append(Level(k, left, done, place))
    assert left == 0
    return out


class Room:
    """Memory for the large tables of one transform at a time: each transform that shares it makes its own when its turn comes."""

    def __init__(self, card: Any, log_size: int, sizes: Sequence[int] | None = None) -> None:
        self.tables: list[Any] = []
        self.holder: Transform | None = None
        try:
            for level in levels(log_size, sizes):
                self.tables.append(card.buffer(level.table_bytes) if level.log_stride else None)
        except BaseException:
            self.free()
            raise

    def free(self) -> None:
        """Give the memory back."""
        for table in self.tables:
            if table is not None:
                table.free()


class Transform:
    """One kind of transform of one size on one card, with its tables: X = NTT of x scaled by factor · shift^k at coefficient k.

    Inverse: c_k = factor shift^k Σ_i x_i w^(−i k), values in natural order to coefficients in bit-reversed order.
    Forward: X_j = Σ_k factor shift^k c_k w^(j k), coefficients in bit-reversed order to values in natural order.

    Cost    32 bytes of device memory for nearly each element, kept, or shared in a `Room`; see `table_bytes`
    """

    def __init__(
        self,
        card: Any,
        log_size: int,
        *,
        inverse: bool,
        shift: int = 1,
        factor: int = 1,
        sizes: Sequence[int] | None = None,
        room: Room | None = None,
        generic: bool = False,
    ) -> None:
        """`generic`: all passes by the kernels for any size, without a room."""
        if not kernels.MIN_LOG_PASS <= log_size <= MAX_LOG2_SIZE:
            raise ResourceError(
                "no such transform on a card", expected=f"2^{kernels.MIN_LOG_PASS} to 2^{MAX_LOG2_SIZE}", got=f"2^{log_size}"
            )
        self.card, self.log_size, self.inverse, self.shift, self.factor = card, log_size, inverse, shift % R, factor % R
        self.levels, self.room = levels(log_size, sizes, generic=generic), room
        self._inner = _inner(card, inverse)
        self._small: list[Any] = []
        self._tables: list[Any] = []
        try:
            self._make_tables()
        except BaseException:
            self.free()
            raise

    @staticmethod
    def table_bytes(log_size: int, sizes: Sequence[int] | None = None) -> int:
        """Bytes of device memory that the tables of one transform take, at most, or a `Room` for one."""
        return sum(level.table_bytes for level in levels(log_size, sizes))

    @staticmethod
    def small_bytes(log_size: int, sizes: Sequence[int] | None = None) -> int:
        """Bytes that a transform takes beside the `Room` that it shares, at most."""
        rows = sum(_INNER_BYTES if level.place == "inner" else BYTES << level.k for level in levels(log_size, sizes))
        return rows + (BYTES << _LOG_LOW) + (BYTES << max(0, log_size - _LOG_LOW))

    @property
    def bytes(self) -> int:
        """Bytes of device memory that the tables take, without a room that others share."""
        tables = [t for t, level in zip(self._tables, self.levels, strict=True) if self.room is None or not level.log_stride]
        return sum(t.size for t in [*tables, *self._small] if t is not None)

    def free(self) -> None:
        """Give the tables back, but not the room that they share."""
        for table, level in zip(self._tables, self.levels, strict=False):
            if table is not None and (self.room is None or not level.log_stride):
                table.free()
        self._free_small()

    def _free_small(self) -> None:
        while self._small:
            self._small.pop().free()

    def _row(self, level: Level) -> list[int]:
        """Factors of the coefficients of one pass by position: factor (in the outermost pass) and the power of the shift."""
        step = pow(self.shift, 1 << level.done, R)
        by_digit = _powers(step, 1 << level.k, self.factor if level.done == 0 else 1)
        return [by_digit[x] for x in reversal(level.k)]

    def _inner_factors(self, level: Level) -> Callable[[int], list[int]]:
        """Powers of the shift at the positions of an inner pass, by step and position in it: their product is the power."""
        step = pow(self.shift, 1 << level.done, R)

        def factors(m: int) -> list[int]:
            weight = level.k - m  # of the lowest digit of this step, in the reversed position
            return [pow(step, i << weight, R) for i in reversal(3)] if weight >= 0 else [1] * 8

        return factors

    def _make_tables(self) -> None:
        card = self.card
        w = pow(omega(self.log_size), -1 if self.inverse else 1, R)
        for i, level in enumerate(self.levels):
            if level.place == "inner":
                trivial = pow(self.shift, 1 << level.done, R) == 1
                self._tables.append(None if trivial else card.upload(_inner_table(self.inverse, self._inner_factors(level))))
                continue
            row = self._row(level)
            if level.log_stride == 0:
                self._tables.append(None if all(x == 1 for x in row) else card.upload(fr_mont(row)))
                continue
            self._tables.append(card.buffer(level.table_bytes) if self.room is None else self.room.tables[i])
            self._small.append(card.upload(fr_mont(row)))
        if self._small:
            self._small.append(card.upload(fr_mont(_powers(w, 1 << _LOG_LOW))))
            self._small.append(card.upload(fr_mont(_powers(pow(w, 1 << _LOG_LOW, R), 1 << max(0, self.log_size - _LOG_LOW)))))
        if self.room is None:
            self._fill(None)
            card.synchronize()
            self._free_small()

    def _fill(self, stream: Any) -> None:
        """Compute the large tables."""
        if not self._small:
            return
        *rows, low, high = self._small
        large = [(level, table) for level, table in zip(self.levels, self._tables, strict=True) if level.log_stride]
        for (level, table), row in zip(large, rows, strict=True):
            count = 1 << (level.k + level.log_stride)
            addresses = (table.address, low.address, high.address, row.address)
            launch_over(self.card, kernels.twiddle_table, count, stream, *addresses, level.k, level.log_stride, level.done, count)
            if level.place == "middle":
                launch_over(self.card, radix8.with_quotients, count, stream, table.address, count)

    def run(self, data: int, stream: Any = None) -> None:
        """Transform the elements at an address, in place.

        Shape   Fr[2^log_size] at a device address
        Domain  that of the input (the tables are in Montgomery form)
        Range   below 2 r in, below r out
        """
        self._run(data, stream, None)

    def run_quotient(self, a: int, b: int, c: int, stream: Any = None) -> None:
        """The inverse transform of a b/2^256 − c, into a; b and c are left as they are. Range: a and b below r, c below 2 r."""
        assert self.inverse
        self._run(a, stream, (b, c))

    def _run(self, data: int, stream: Any, pair: tuple[int, int] | None) -> None:
        if self.room is not None and self.room.holder is not self:
            self._fill(stream)
            self.room.holder = self
        for level in self.levels if self.inverse else reversed(self.levels):
            self.run_level(data, level, stream, pair if level.done == 0 else None)

    def run_level(self, data: int, level: Level, stream: Any = None, pair: tuple[int, int] | None = None) -> None:
        """One pass; `pair` as b and c of `run_quotient`, for the outermost one."""
        table = self._tables[self.levels.index(level)]
        columns = 1 << (self.log_size - level.k)
        log_columns = (min(kernels.POINTS >> level.k, columns)).bit_length() - 1
        address, inner = table.address if table is not None else 0, self._inner.address
        if level.place:
            passes = (radix8.dif if self.inverse else radix8.dit)[level.place]
            of_quotient = radix8.dif_of_quotient
            flag = int(level.place == "inner" and table is not None)
            if flag:
                inner = address
        else:
            passes, of_quotient = kernels.dif if self.inverse else kernels.dit, kernels.dif_of_quotient
            flag = int(level.log_stride == 0 if self.inverse else level.done == 0)  # the last pass reduces
        words = (address, inner, level.k, level.log_stride, log_columns, flag)
        blocks, threads = columns >> log_columns, 1 << (level.k - 3 + log_columns)
        if pair is not None:
            launch(self.card, of_quotient, blocks, stream, data, *pair, *words, threads=threads)
        else:
            launch(self.card, passes, blocks, stream, data, *words, threads=threads)


class Domain:
    """The subgroup of order 2^log2_size and its coset by 7, on a card: the transforms of `ntt.Domain`, natural order in and out.

    `data` is the device address of Fr[m] in Montgomery form, transformed in place. Tables are made when first needed and kept.
    Domains below 2^3 are transformed on the host. With `shared` the transforms share one `Room`, and must be in one stream.

    Source  bellperson src/domain.rs at d1fa22c
    Spec    spec.ntt
    """

    def __init__(self, card: Any, log2_size: int, sizes: Sequence[int] | None = None, shared: bool = False) -> None:
        if not 0 <= log2_size <= MAX_LOG2_SIZE:
            raise ResourceError("no such evaluation domain", expected=f"2^0 to 2^{MAX_LOG2_SIZE}", got=f"2^{log2_size}")
        self.card, self.log2_size, self.size, self._sizes = card, log2_size, 1 << log2_size, sizes
        self._transforms: dict[tuple[bool, int, int], Transform] = {}
        self._room = Room(card, log2_size, sizes) if shared else None

    def transform(self, inverse: bool, shift: int = 1, factor: int = 1) -> Transform:
        """One of the transforms of this domain, made once."""
        key = (inverse, shift % R, factor % R)
        if key not in self._transforms:
            self._transforms[key] = Transform(
                self.card, self.log2_size, inverse=inverse, shift=shift, factor=factor, sizes=self._sizes, room=self._room
            )
        return self._transforms[key]

    def free(self) -> None:
        """Give all tables back."""
        for transform in self._transforms.values():
            transform.free()
        self._transforms.clear()
        if self._room is not None:
            self._room.free()

    def ntt(self, data: int, stream: Any = None) -> None:
        """Coefficients to values on the subgroup."""
        self._natural(data, False, 1, 1, stream)

    def intt(self, data: int, stream: Any = None) -> None:
        """Values on the subgroup to coefficients."""
        self._natural(data, True, 1, pow(self.size, -1, R), stream)

    def coset_ntt(self, data: int, stream: Any = None) -> None:
        """Coefficients to values on the coset."""
        self._natural(data, False, FR_GENERATOR, 1, stream)

    def coset_intt(self, data: int, stream: Any = None) -> None:
        """Values on the coset to coefficients."""
        self._natural(data, True, pow(FR_GENERATOR, -1, R), pow(self.size, -1, R), stream)

    def bit_reverse(self, data: int, stream: Any = None) -> None:
        """Elements in bit-reversed order, in place."""
        if self.log2_size:
            launch_over(self.card, kernels.bit_reverse, self.size, stream, data, self.log2_size)

    def _natural(self, data: int, inverse: bool, shift: int, factor: int, stream: Any) -> None:
        if self.log2_size < kernels.MIN_LOG_PASS:
            self._direct(data, inverse, shift, factor)
            return
        transform = self.transform(inverse, shift, factor)
        if not inverse:
            self.bit_reverse(data, stream)
        transform.run(data, stream)
        if inverse:
            self.bit_reverse(data, stream)

    def _direct(self, data: int, inverse: bool, shift: int, factor: int) -> None:
        """At most four points by the definition, on the host."""
        m = self.size
        array: U64 = np.empty((m, FR_LIMBS), np.uint64)
        self.card.read_at(data, array)
        x = from_limbs(array)
        w = _powers(pow(omega(self.log2_size), -1 if inverse else 1, R), m)
        scale = _powers(shift, m, factor)
        if inverse:
            out = [scale[k] * sum(v * w[i * k % m] for i, v in enumerate(x)) % R for k in range(m)]
        else:
            out = [sum(scale[k] * v * w[j * k % m] for k, v in enumerate(x)) % R for j in range(m)]
        self.card.write_at(data, to_limbs(out, FR_LIMBS))
