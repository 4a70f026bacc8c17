"""Transforms under the simulator against the specification: every plan, both directions, cosets, and the quotient."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from cuzk import device, ntt_cuda
from cuzk.cuda.memory import ranges
from cuzk.errors import ResourceError
from cuzk.field.limbs import FR_LIMBS, fr_ints, fr_mont, from_limbs
from cuzk.field.params import FR_GENERATOR, R, omega
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.kernels import ntt_cuda as kernels
from cuzk.kernels.launch import launch_over
from cuzk.ntt_cuda import Domain, Transform, plan, reversal
from cuzk.spec import groth16 as spec_groth16
from cuzk.spec import ntt as spec
from cuzk.spec.field import Fr
from tests.conftest import Draw

TRANSFORMS = ["ntt", "intt", "coset_ntt", "coset_intt"]
# One pass of each size, two and three passes of unequal sizes. The simulator takes minutes for a few thousand points.
PLANS = [(3,), (4,), (5,), (6,), (7,), (9,), (3, 3), (4, 3), (3, 3, 3)]
LARGE = [pytest.param(sizes, marks=pytest.mark.slow) for sizes in ((8,), (3, 5), (4, 3, 4))]
THREE = pytest.param((3, 3, 3), marks=pytest.mark.slow)


def on_card(values: list[int]) -> object:
    return device.card(0).upload(fr_mont(values))


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("sizes", [(), *PLANS[:3], (6,), (3, 3), (4, 3)], ids=str)
def test_natural_order_equals_the_specification(sizes: tuple[int, ...], name: str, draw: Draw) -> None:
    for log2_size in [sum(sizes)] if sizes else range(3):
        values = draw.many(R, 1 << log2_size)
        buffer = on_card(values)
        domain = Domain(device.card(0), log2_size, sizes or None)
        getattr(domain, name)(buffer.address)
        got = buffer.read((len(values), FR_LIMBS), np.uint64)
        assert max(from_limbs(got)) < R
        assert fr_ints(got) == getattr(spec, name)(Fr, values), draw


@pytest.mark.parametrize("sizes", [*PLANS, *LARGE], ids=str)
@pytest.mark.parametrize("inverse", [False, True], ids=["forward", "inverse"])
def test_scaled_transforms(sizes: tuple[int, ...], inverse: bool, draw: Draw) -> None:
    """Every plan with a shift and a factor, coefficients in bit-reversed order."""
    log_size = sum(sizes)
    m, shift, factor = 1 << log_size, draw.below(R - 1) + 1, draw.below(R - 1) + 1
    values = draw.many(R, m)
    transform = Transform(device.card(0), log_size, inverse=inverse, shift=shift, factor=factor, sizes=sizes)
    scale = [factor * pow(shift, k, R) % R for k in range(m)]
    order = reversal(log_size)
    if inverse:
        buffer = on_card(values)
        want = [x * m * s % R for x, s in zip(spec.intt(Fr, values), scale, strict=True)]
        want = [want[k] for k in order]
    else:
        buffer = on_card([values[k] for k in order])
        want = spec.ntt(Fr, [x * s % R for x, s in zip(values, scale, strict=True)])
    transform.run(buffer.address)
    got = buffer.read((m, FR_LIMBS), np.uint64)
    assert max(from_limbs(got)) < R
    assert fr_ints(got) == want, draw


def test_values_below_twice_r_are_taken(draw: Draw) -> None:
    values = [2 * R - 1, 2 * R - 2, R, R + 1, *(draw.below(2 * R) for _ in range(28))]
    buffer = device.card(0).upload(np.frombuffer(b"".join(v.to_bytes(32, "little") for v in values), np.uint64))
    Transform(device.card(0), 5, inverse=False).run(buffer.address)
    order = reversal(5)
    assert from_limbs(buffer.read((32, FR_LIMBS), np.uint64)) == spec.ntt(Fr, [values[k] % R for k in order])


@pytest.mark.parametrize("sizes", [(3,), (5,), (3, 4), THREE], ids=str)
@pytest.mark.parametrize("satisfied", [True, False])
def test_quotient(sizes: tuple[int, ...], satisfied: bool, draw: Draw) -> None:
    log_size = sum(sizes)
    m = 1 << log_size
    a, b, c = draw.many(R, m), draw.many(R, m)[::-1], draw.many(R, m)
    if satisfied:
        c = [x * y % R for x, y in zip(a, b, strict=True)]
    buffers = [on_card(v) for v in (a, b, c)]
    quotient = Quotient(device.card(0), log_size, list(sizes))
    quotient.run(*(x.address for x in buffers))
    got = from_limbs(buffers[0].read((m, FR_LIMBS), np.uint64))
    again = [on_card(v) for v in (a, b, c)]
    Quotient(device.card(0), log_size, list(sizes), shared=True).run(*(x.address for x in again))
    assert np.array_equal(again[0].read((m, FR_LIMBS), np.uint64), buffers[0].read((m, FR_LIMBS), np.uint64))
    h = [got[k] for k in reversal(log_size)]
    assert h[: m - 1] == spec_groth16.quotient(Fr, a, b, c), draw
    assert not satisfied or h[m - 1] == 0
    assert quotient._to_coset.bytes == Transform.table_bytes(log_size, sizes)
    assert Transform.table_bytes(27) - (32 << 27) - (64 << 18) < 1 << 17


def test_product_on_the_coset(draw: Draw) -> None:
    a, b = draw.many(R, 64), draw.many(R, 64)[::-1]
    buffers = [on_card(v) for v in (a, b)]
    Quotient(device.card(0), 6, [3, 3]).product(*(x.address for x in buffers))
    values = [spec.coset_ntt(Fr, spec.intt(Fr, v)) for v in (a, b)]
    want = [x * y % R for x, y in zip(*values, strict=True)]
    assert fr_ints(buffers[0].read((64, FR_LIMBS), np.uint64)) == want


def test_full_tables(draw: Draw) -> None:
    transform = Transform(device.card(0), 7, inverse=True, shift=FR_GENERATOR, factor=5, sizes=[4, 3])
    assert [level.place for level in transform.levels] == ["", "inner"]
    table, within = transform._tables
    w = pow(omega(7), -1, R)
    want = [5 * pow(w, j * k, R) * pow(7, k, R) % R for k in reversal(4) for j in range(8)]
    assert fr_ints(table.read((128, FR_LIMBS), np.uint64)) == want
    halves = within.read((4, 8, 2), np.uint64)  # of the step that has no twiddles without a shift
    powers = [pow(7, 16 * k, R) for k in reversal(3)]
    assert from_limbs(np.concatenate([halves[0], halves[1]], axis=1)) == powers
    assert from_limbs(np.concatenate([halves[2], halves[3]], axis=1)) == [(x << 256) // R for x in powers]


def test_factors_of_steps_make_the_power(draw: Draw) -> None:
    transform = Transform(device.card(0), 9, inverse=True, shift=FR_GENERATOR, sizes=[3, 6])
    factors = transform._inner_factors(transform.levels[1])
    for i, k in enumerate(reversal(6)):
        assert factors(6)[i >> 3] * factors(3)[i & 7] % R == pow(7, 8 * k, R)


def test_tables_of_middle_passes(draw: Draw) -> None:
    transform = Transform(device.card(0), 9, inverse=False, shift=5, factor=3, sizes=[3, 3, 3])
    assert [level.place for level in transform.levels] == ["outer", "middle", "inner"]
    w = omega(6)
    want = [pow(w, j * k, R) * pow(5, 8 * k, R) % R for k in reversal(3) for j in range(8)]
    got = from_limbs(transform._tables[1].read((128, FR_LIMBS), np.uint64))
    assert got == want + [(x << 256) // R for x in want]


def test_tables_of_high_powers(draw: Draw) -> None:
    """Exponents over the border of the two-level table."""
    card, log = device.card(0), 15
    w = omega(log)
    low, high = ([pow(base, i, R) for i in range(n)] for base, n in ((w, 1 << 13), (pow(w, 1 << 13, R), 4)))
    buffers = [on_card(v) for v in (low, high, [1, 2, 3, 4, 5, 6, 7, 8])]
    out = card.buffer(32 * 64)
    launch_over(card, kernels.twiddle_table, 64, None, out.address, *(b.address for b in buffers), 3, 3, 9, 64)
    want = [pow(w, (j * k) << 9, R) * (i + 1) % R for i, k in enumerate(reversal(3)) for j in range(8)]
    assert fr_ints(out.read((64, FR_LIMBS), np.uint64)) == want


def test_shared_memory_is_gone_after_a_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    allow_shared = ranges.allow_shared
    monkeypatch.setattr(ranges, "allow_shared", lambda array: seen.append(allow_shared(array)) or seen[-1])
    card = device.card(0)
    with card.upload(fr_mont(range(8))) as buffer:
        Transform(card, 3, inverse=True).run(buffer.address)
    assert seen
    for address in seen:
        with pytest.raises(IndexError, match="outside"):
            ranges.check(address, 4)


def test_nothing_but_the_data_is_written() -> None:
    card = device.card(0)
    guarded = card.upload(np.full(3 * 32 * FR_LIMBS, 7, np.uint64))
    Transform(card, 5, inverse=True).run(guarded.address + 32 * 32)
    got = guarded.read((3, 32 * FR_LIMBS), np.uint64)
    assert (got[0] == 7).all() and (got[2] == 7).all()


def test_memory_goes_back() -> None:
    card = device.card(0)
    data = card.upload(fr_mont(range(64)))
    Domain(card, 6, [3, 3]).intt(data.address)
    gc.collect()  # what earlier tests left
    before = card.used
    domain = Domain(card, 6, [3, 3])
    domain.transform(True, FR_GENERATOR)
    assert card.used > before
    domain.free()
    assert card.used == before


@pytest.mark.parametrize("sizes", [(3,), (4, 3), THREE], ids=str)
def test_shared_tables(sizes: tuple[int, ...], draw: Draw) -> None:
    """One transform after the other in the memory of one, each right again and again; as much memory as said."""
    log_size = sum(sizes)
    card, order = device.card(0), reversal(log_size)
    for inverse in (False, True):
        ntt_cuda._inner(card, inverse)  # kept for good
    gc.collect()  # what earlier tests left
    before, values = card.used, draw.many(R, 1 << log_size)
    domain = Domain(card, log_size, sizes, shared=True)
    kinds = [(True, 1, 1), (True, FR_GENERATOR, 5), (False, 1, 1), (False, 3, 1)]
    own = [Transform(card, log_size, inverse=i, shift=s, factor=f, sizes=sizes) for i, s, f in kinds]
    kept = sum(t.bytes for t in own)
    shared = [domain.transform(*kind) for kind in kinds]
    most = Transform.table_bytes(log_size, sizes) + len(kinds) * Transform.small_bytes(log_size, sizes)
    assert card.used - before - kept <= most
    for k in [0, 1, 0, 2, 3, 3]:
        buffers = [on_card([values[j] for j in order]) for _ in range(2)]
        own[k].run(buffers[0].address)
        shared[k].run(buffers[1].address)
        a, b = (x.read((1 << log_size, FR_LIMBS), np.uint64) for x in buffers)
        assert np.array_equal(a, b), (k, draw)
        for buffer in buffers:
            buffer.free()
    for transform in own:
        transform.free()
    domain.free()
    assert card.used == before


def test_sizes_that_are_none() -> None:
    for make in (lambda: Domain(device.card(0), 32), lambda: Domain(device.card(0), -1)):
        with pytest.raises(ResourceError, match="no such evaluation domain"):
            make()
    for log_size in (2, 32):
        with pytest.raises(ResourceError, match="no such transform"):
            Transform(device.card(0), log_size, inverse=True)


def test_plans_cover_every_size() -> None:
    for log_size in range(kernels.MIN_LOG_PASS, ntt_cuda.MAX_LOG2_SIZE + 1):
        sizes = plan(log_size)
        assert sum(sizes) == log_size
        assert all(kernels.MIN_LOG_PASS <= k <= kernels.MAX_LOG_PASS for k in sizes), (log_size, sizes)
        assert sum(-(-k // 3) for k in sizes) == -(-log_size // 3)
    assert plan(27) == [9, 9, 9] and plan(24) == [9, 9, 6] and plan(20) == [9, 6, 5]
