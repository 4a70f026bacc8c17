"""The compiled PTX of whole kernels, run on the CPU, against the specification."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.field.limbs import FP_LIMBS, FR_LIMBS, fp_mont, fr_ints, fr_mont, from_limbs
from cuzk.field.params import P, R
from cuzk.spec import groth16 as spec_groth16
from cuzk.spec import ntt as spec
from cuzk.spec.field import Fr
from tests.conftest import Draw
from tests.cuda.machine import BASE, Block, Card, Lanes, Memory, Program

pytestmark = pytest.mark.usefixtures("compiler")


def program(body: str, shared: int = 0) -> Program:
    declared = f".shared .align 16 .b8 smem[{shared}];" if shared else ""
    return Program(f"{declared} .visible .entry k(.param .u64 k_param_0) {{ {body} }}")


def run(body: str, memory: Memory, threads: int = 4, shared: int = 0, word: int = BASE) -> Block:
    block = Block(program(body, shared), memory, threads, (0, 0), [word])
    with np.errstate(over="ignore"):
        block.run()
    return block


def test_threads_part_and_meet() -> None:
    memory = Memory()
    memory.allowed[:16] = True
    run(
        """
        ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
        mov.u32 %r2, 0; setp.gt.u32 %p1, %r1, 1; @%p1 bra HIGH;
        add.s32 %r2, %r1, 100; bra.uni DONE;
        HIGH: add.s32 %r1, %r1, -1; add.s32 %r2, %r2, 7; setp.ne.s32 %p2, %r1, 0; @%p2 bra HIGH;
        DONE: st.global.u32 [%rd3], %r2; ret;
        """,
        memory,
    )
    assert list(memory.words[:4]) == [100, 101, 14, 21]


EXCHANGE = """mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; st.shared.u32 [%r2], %r1; BARRIER
    xor.b32 %r3, %r2, 4; ld.shared.u32 %r4, [%r3]; ret;"""


def test_races_in_shared_memory_are_found() -> None:
    block = run(EXCHANGE.replace("BARRIER", "bar.sync 0;"), Memory(), shared=64)
    assert list(block.registers["%r4"]) == [1, 0, 3, 2]
    with pytest.raises(AssertionError, match="race: read"):
        run(EXCHANGE.replace("BARRIER", ""), Memory(), shared=64)
    with pytest.raises(AssertionError, match="two threads write"):
        run("mov.u32 %r1, %tid.x; mov.u32 %r2, 0; st.shared.u32 [%r2], %r1; ret;", Memory(), shared=64)
    with pytest.raises(AssertionError, match="race: write"):
        run(EXCHANGE.replace("BARRIER", "bar.sync 0;").replace("ret;", "st.shared.u32 [%r2], %r1; ret;"), Memory(), shared=64)


def test_bad_accesses_are_found() -> None:
    memory = Memory()
    memory.allowed[:8] = True
    load = "ld.param.u64 %rd1, [k_param_0]; ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+OFFSET]; ret;"
    run(load.replace("OFFSET", "16"), memory)
    for offset, message in ((32, "outside allocated"), (4, "misaligned"), (-16, "not device memory")):
        with pytest.raises(AssertionError, match=message):
            run(load.replace("OFFSET", str(offset)), memory)
    with pytest.raises(AttributeError):
        run("sin.approx.f32 %f1, %f2; ret;", memory)


def test_rates() -> None:
    from cuzk.kernels import rates_cuda
    from tests.cuda.chains import chained

    card = Card()
    for p, encode, limbs, kernel in (
        (P, fp_mont, FP_LIMBS, rates_cuda.fp_products),
        (R, fr_mont, FR_LIMBS, rates_cuda.fr_products),
    ):
        values = [p - 1 - i**40 % p for i in range(2 * kernel.threads)]
        buffer = card.upload(encode(values))
        card.launch(kernel, 1, (buffer.address, 2), None)
        want = [x for i in range(0, len(values), 2) for x in chained(values[i], values[i + 1], 2, p)]
        assert np.array_equal(buffer.read((len(values), limbs), np.uint64), encode(want))


# One pass of each size, several passes, blocks of several columns and several blocks.
@pytest.mark.parametrize(
    "sizes", [(3,), (4,), (5,), (6,), (7,), (8,), (9,), (9, 3), (6, 5), (3, 3, 4), (3, 3, 6), (3, 9)], ids=str
)
@pytest.mark.parametrize("inverse", [False, True], ids=["forward", "inverse"])
def test_transforms(sizes: tuple[int, ...], inverse: bool, draw: Draw) -> None:
    from cuzk.ntt_cuda import Transform, reversal

    log_size, card = sum(sizes), Card()
    m, shift, factor = 1 << log_size, draw.below(R - 1) + 1, draw.below(R - 1) + 1
    values = draw.many(R, m)
    transform = Transform(card, log_size, inverse=inverse, shift=shift, factor=factor, sizes=sizes)
    scale = [factor * pow(shift, k, R) % R for k in range(m)]
    order = reversal(log_size)
    if inverse:
        buffer = card.upload(fr_mont(values))
        want = [x * m * s % R for x, s in zip(spec.intt(Fr, values), scale, strict=True)]
        want = [want[k] for k in order]
    else:
        buffer = card.upload(fr_mont([values[k] for k in order]))
        want = spec.ntt(Fr, [x * s % R for x, s in zip(values, scale, strict=True)])
    transform.run(buffer.address)
    got = buffer.read((m, FR_LIMBS), np.uint64)
    assert max(from_limbs(got)) < R
    assert fr_ints(got) == want, draw


@pytest.mark.parametrize("sizes", [(5,), (6, 4), (3, 3, 3)], ids=str)
def test_quotient(sizes: tuple[int, ...], draw: Draw) -> None:
    from cuzk.groth16.quotient_cuda import Quotient

    log_size, card = sum(sizes), Card()
    m = 1 << log_size
    vectors = draw.many(R, m), draw.many(R, m)[::-1], draw.many(R, m)
    buffers = [card.upload(fr_mont(v)) for v in vectors]
    quotient = Quotient(card, log_size, list(sizes))
    quotient.run(*(x.address for x in buffers))
    quotient.domain.bit_reverse(buffers[0].address)
    assert from_limbs(buffers[0].read((m, FR_LIMBS), np.uint64))[: m - 1] == spec_groth16.quotient(Fr, *vectors), draw


class Endless(Memory):
    """Zeros everywhere; keeps the addresses that are stored to."""

    def __init__(self) -> None:
        self.stored: set[int] = set()
        self.loaded: set[int] = set()

    def load(self, address: Lanes, count: int, active: Lanes) -> list[Lanes]:
        self.loaded |= {int(a) for a in address[active]}
        return [np.zeros(len(address), np.uint32)] * count

    def store(self, address: Lanes, values: list[Lanes], active: Lanes) -> None:
        self.stored |= {int(a) for a in address[active]}


@pytest.mark.parametrize("place", ["", "outer", "middle"])
@pytest.mark.parametrize("name", ["dif", "dit"])
def test_the_last_block_of_the_largest_size(name: str, place: str) -> None:
    """2^31 elements: byte addresses and table indices beyond 2^32."""
    from cuzk.kernels import ntt_cuda, ntt_radix8_cuda

    kernel = getattr(ntt_radix8_cuda, name)[place] if place else getattr(ntt_cuda, name)
    memory, data, table, inner = Endless(), 1 << 44, 1 << 45, 1 << 46
    code = Program(kernel.ptx((9, 0)))
    with np.errstate(over="ignore"):
        Block(code, memory, 128, ((1 << 21) - 1, 0), (data, table, inner, 9, 22, 1, 1)).run()
    columns = [(1 << 22) - 2, (1 << 22) - 1]
    elements = {32 * ((row << 22) + column) for row in range(512) for column in columns}
    assert memory.stored == {data + e + half for e in elements for half in (0, 16)}
    gaps = [0, 32 << 31] if place == "middle" else [0]
    assert {a - table for a in memory.loaded if table <= a < inner} == {
        e + h + g for e in elements for h in (0, 16) for g in gaps
    }


@pytest.mark.parametrize("place", ["", "inner"])
@pytest.mark.parametrize("name", ["dif", "dit"])
def test_the_last_rows_of_the_largest_size(name: str, place: str) -> None:
    from cuzk.kernels import ntt_cuda, ntt_radix8_cuda

    kernel = getattr(ntt_radix8_cuda, name)[place] if place else getattr(ntt_cuda, name)
    rows, data, inner = Endless(), 1 << 44, 1 << 46
    with np.errstate(over="ignore"):
        Block(Program(kernel.ptx((9, 0))), rows, 128, ((1 << 21) - 1, 0), (data, 0, inner, 9, 0, 1, 1)).run()
    assert rows.stored == {data + 32 * ((1 << 31) - 1024 + i) + half for i in range(1024) for half in (0, 16)}


def test_the_last_block_of_the_largest_table() -> None:
    from cuzk.kernels import ntt_cuda

    memory, addresses = Endless(), [1 << 44, 1 << 45, 1 << 46, 1 << 47]
    with np.errstate(over="ignore"):
        code = Program(ntt_cuda.twiddle_table.ptx((9, 0)))
        Block(code, memory, 256, ((1 << 23) - 1, 0), (*addresses, 9, 22, 0, 1 << 31)).run()
    assert memory.stored == {addresses[0] + 32 * ((1 << 31) - 256 + i) + half for i in range(256) for half in (0, 16)}
    exponents = {511 * ((1 << 22) - 256 + i) for i in range(256)}
    high = {(a - addresses[2]) // 32 for a in memory.loaded if addresses[2] <= a < addresses[3]}
    assert high == {e >> 13 for e in exponents}


def test_differences_are_counted() -> None:
    from cuzk.kernels import vector_cuda

    card = Card()
    a, b = (card.upload(np.arange(1200, dtype=np.uint32)) for _ in range(2))
    out = card.upload(np.zeros(1, np.uint32))
    words = np.arange(1200, dtype=np.uint32)
    words[[0, 1, 7, 1199]] ^= 1
    b.write(words)
    card.launch(vector_cuda.count_differences, 2, (out.address, a.address, b.address, 300), None)
    assert out.read(1, np.uint32)[0] == 3
