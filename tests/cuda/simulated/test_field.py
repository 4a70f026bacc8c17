"""The Python twins of the field operations against integers, memory by address, and the kernels that measure rates."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk import device
from cuzk.cuda import memory
from cuzk.cuda.inline import join, split
from cuzk.field import fp_cuda, fr_cuda
from cuzk.field.limbs import FP_LIMBS, FR_LIMBS, fp_mont, fr_mont
from cuzk.field.params import P, R
from cuzk.kernels import rates_cuda
from cuzk.kernels.launch import launch
from tests.conftest import Draw
from tests.cuda.chains import chained
from tests.cuda.operations import FP, FP_OPERATIONS, FR, FR_OPERATIONS, MUL_BY_ROOT, ROOT, Operation


def check(function: object, operation: Operation, draw: Draw) -> None:
    limbs = operation.block.result
    for _ in range(50):
        arguments = [draw.below(b) for b in operation.bounds]
        got = join(function(*(split(a, limbs) for a in arguments)))  # type: ignore[operator]
        want = operation.value(*arguments)
        assert got < operation.bound
        assert (got - want) % operation.modulus == 0 if operation.modulus else got == want, arguments


@pytest.mark.parametrize("name", FP_OPERATIONS)
def test_fp_twins(name: str, draw: Draw) -> None:
    check(getattr(fp_cuda, name), FP_OPERATIONS[name], draw)


@pytest.mark.parametrize("name", FR_OPERATIONS)
def test_fr_twins(name: str, draw: Draw) -> None:
    check(getattr(fr_cuda, name), FR_OPERATIONS[name], draw)


def test_products_by_constants(draw: Draw) -> None:
    check(fr_cuda.mul_by(ROOT), MUL_BY_ROOT, draw)
    w, a = draw.below(R), draw.below(2 * R)
    got = fr_cuda.mul_quotient(split(a, FR), split(w, FR), split(fr_cuda.quotient_of(w), FR))
    assert join(got) % R == a * w % R


def test_memory_by_address() -> None:
    card = device.card(0)
    words = np.arange(1, 33, dtype=np.uint32)
    with card.upload(words) as buffer:
        assert memory.load(1)(buffer.address + 4) == 2
        assert fp_cuda.load(buffer.address + 48) == tuple(range(13, 25))
        assert memory.load_8_planes(buffer.address, 64) == (1, 2, 3, 4, 17, 18, 19, 20)
        assert memory.load_planes(8, 16, 64)(buffer.address) == (5, 6, 7, 8, 21, 22, 23, 24)
        memory.store_shared(8, 16, 32)(buffer.address, tuple(range(8)))
        assert memory.load_shared(8, 16, 32)(buffer.address) == tuple(range(8))
        assert memory.atomic_add(buffer.address, 0xFFFFFFFF) == 1
        assert memory.load(1)(buffer.address) == 0
        with pytest.raises(IndexError, match="outside"):
            fr_cuda.load(buffer.address + 112)
        with pytest.raises(IndexError, match="misaligned"):
            fr_cuda.load(buffer.address + 8)
        address = buffer.address
    with pytest.raises(IndexError, match="outside"):
        fr_cuda.load(address)


@pytest.mark.parametrize("field", ["fp", "fr"])
def test_rates(field: str, draw: Draw) -> None:
    p, encode, limbs = (P, fp_mont, FP_LIMBS) if field == "fp" else (R, fr_mont, FR_LIMBS)
    kernel = rates_cuda.fp_products if field == "fp" else rates_cuda.fr_products
    n, rounds = 2 * kernel.threads, 3
    values = draw.many(p, n)
    card = device.card(0)
    buffer = card.upload(encode(values))
    launch(card, kernel, 1, None, buffer.address, rounds)
    want = [x for i in range(0, n, 2) for x in chained(values[i], values[i + 1], rounds, p)]
    assert np.array_equal(buffer.read((n, limbs), np.uint64), encode(want))


def test_wrong_number_of_arguments() -> None:
    with pytest.raises(AssertionError, match="2 arguments"):
        launch(device.card(0), rates_cuda.fr_products, 1, None, 0)


def test_limbs_of_an_element() -> None:
    assert (fp_cuda.LIMBS, fr_cuda.LIMBS) == (FP, FR)
