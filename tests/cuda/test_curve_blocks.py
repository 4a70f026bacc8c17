"""The PTX blocks behind sums of points, interpreted on the CPU, against integers: inversion, products in Fp2, digits."""

from __future__ import annotations

import pytest

from cuzk.cuda.inline import Block, join, split
from cuzk.field import inverse_ptx, ptx
from cuzk.field.params import P, R
from tests.conftest import Draw
from tests.cuda.ptx_interpreter import Machine, interpret

RADIX = 1 << 384
UNRADIX = pow(RADIX, -1, P)
TOP, TOP_64 = (1 << 32) - 1, (1 << 64) - 1


class SignedMachine(Machine):
    """The instructions on signed limbs of 30 bits as well."""

    def step(self, statement: str) -> None:
        name, rest = statement.split(None, 1)
        out, *operands = (x.strip() for x in rest.split(","))
        signed = inverse_ptx.signed

        def wide(x: int) -> int:
            return x - (1 << 64) if x >> 63 else x

        simple = {
            "shr.s32": (lambda a, n: signed(a) >> n, TOP),
            "shr.u32": (lambda a, n: a >> n, TOP),
            "shl.b32": (lambda a, n: a << n, TOP),
            "and.b32": (lambda a, b: a & b, TOP),
            "or.b32": (lambda a, b: a | b, TOP),
            "xor.b32": (lambda a, b: a ^ b, TOP),
            "shr.s64": (lambda a, n: wide(a) >> n, TOP_64),
            "cvt.u32.u64": (lambda a: a, TOP),
            "mul.wide.s32": (lambda a, b: signed(a) * signed(b), TOP_64),
            "mad.wide.s32": (lambda a, b, c: signed(a) * signed(b) + wide(c), TOP_64),
        }
        if name not in simple:
            super().step(statement)
            return
        function, mask = simple[name]
        value = function(*(self.value(x) for x in operands))
        if mask == TOP_64:
            assert -(1 << 63) <= value < 1 << 63, f"overflow: {statement}"
        self.registers[out] = value & mask


def words(block: Block, *arguments: tuple[int, ...]) -> tuple[int, ...]:
    """The value of a block on words."""
    assert [len(a) for a in arguments] == list(block.arguments)
    inputs = [word for a in arguments for word in a]
    machine = SignedMachine({f"${block.result + i}": word for i, word in enumerate(inputs)})
    machine.run(block.text)
    return tuple(machine.registers[f"${i}"] for i in range(block.result))


def inverse_by_blocks(value: int) -> tuple[int, int]:
    """1/value, and the rounds it took; each block against its meaning on integers, bounds checked."""
    m = inverse_ptx
    f, g = m.to_limbs(P), words(m.split(), split(value, m.WORDS))
    assert g == m.to_limbs(value)
    d, e = m.to_limbs(0), m.to_limbs(1)
    zeta, rounds = TOP, 0
    while any(g):
        state = zeta, (f[0] | f[1] << 30) & TOP, (g[0] | g[1] << 30) & TOP
        found = words(m.steps(), state)
        assert found == m.steps_meaning(state)
        zeta, matrix = found[0], found[1:]
        fg, de = words(m.update_fg(), f, g, matrix), words(m.update_de(), d, e, matrix)
        assert fg == m.update_fg_meaning(f, g, matrix) and de == m.update_de_meaning(d, e, matrix)
        f, g, d, e = fg[: m.LIMBS], fg[m.LIMBS :], de[: m.LIMBS], de[m.LIMBS :]
        assert all(-2 * P < m.from_limbs(x) < P for x in (d, e)) and abs(m.from_limbs(f)) <= P
        rounds += 1
    assert abs(m.from_limbs(f)) == 1
    result = join(words(m.finish(), d, (f[-1],)))
    assert result == m.finish_meaning(d, f[-1])
    return result, rounds


def test_inversion(draw: Draw) -> None:
    nasty = [1, 2, P - 1, P - 2, (P + 1) // 2, 1 << 380, P - (1 << 380), (1 << 360) - 1, RADIX % P]
    for value in [*nasty, *(draw.below(P - 1) + 1 for _ in range(8))]:
        result, rounds = inverse_by_blocks(value)
        assert result == pow(value, -1, P), draw
        assert rounds <= 30  # (45907 · 381 + 26313)/19929 = 878 steps at most, 30 a round; 26 is usual


def test_sum_of_two_products(draw: Draw) -> None:
    block, bound = ptx.product_sum(P, 12), 2 * P + 1
    nasty = [0, 1, bound - 1, P, P - 1, P + 1, 2 * P - 1, TOP, (1 << 352) - 1]
    cases = [tuple(draw.random.choice([*nasty, draw.below(bound)]) for _ in range(4)) for _ in range(200)]
    cases += [(x, x, y, y) for x in nasty for y in nasty] + [(4 * P, P, 4 * P, P)]
    for a, b, c, d in cases:
        got = interpret(block, a, b, c, d)
        assert got < 2 * P and (got - (a * b + c * d) * UNRADIX) % P == 0, draw
    assert block.text.count(".hi") == 3 * 12 * 12


def test_choices(draw: Draw) -> None:
    a, b = draw.below(RADIX), draw.below(RADIX)
    for flag, kept in ((0, b), (1, a), (TOP, a), (1 << 31, a)):
        assert interpret(ptx.choose(12), flag, a, b) == kept
    for value in (0, 1, P, 2 * P, draw.below(2 * P)):
        assert interpret(ptx.complement_if(2 * P, 12), 0, value) == value
        assert interpret(ptx.complement_if(2 * P, 12), 1, value) == 2 * P - value


SCALARS = [0, 1, 2, R - 1, R, R + 1, R // 2, R // 2 + 1, 2 * R - 1, 2 * R, 2 * R + 1, (1 << 256) - 1, 1 << 255, R - 2]


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("c", [4, 5, 12, 17, 20, 22, 24])
def test_signed_digits(c: int, draw: Draw) -> None:
    from cuzk.kernels import digits_cuda

    windows = -(-255 // c)
    bias = digits_cuda.bias(0, c, windows)
    for s in [*SCALARS, *(draw.below(1 << 256) for _ in range(20))]:
        arguments = split(s, 8), split(bias, digits_cuda.BIASED)
        found = words(digits_cuda.biased(), *arguments)
        assert found == digits_cuda.biased_meaning(*arguments), draw
        total, negative = join(found[:-1]), found[-1]
        assert total < 1 << (c * windows), "no digit is left over"
        digits = [(total >> (c * w)) % (1 << c) - (1 << (c - 1)) for w in range(windows)]
        value = sum(d << (c * w) for w, d in enumerate(digits)) * (-1 if negative else 1)
        assert (value - s) % R == 0, draw


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("c", [4, 13, 20, 22])
def test_odd_digits(c: int, draw: Draw) -> None:
    from cuzk.kernels import digits_cuda

    windows = -(-255 // c)
    top = split(1 << (c * windows - 1), digits_cuda.BIASED)
    for s in [*SCALARS, *(draw.below(1 << 256) for _ in range(20))]:
        found = words(digits_cuda.halved_odd(), split(s, 8), top)
        assert found == digits_cuda.halved_odd_meaning(split(s, 8), top), draw
        bits, negative = join(found[:-1]), found[-1]
        digits = [2 * ((bits >> (c * w)) % (1 << c)) + 1 - (1 << c) for w in range(windows)]
        assert all(d % 2 and abs(d) < 1 << c for d in digits)
        value = sum(d << (c * w) for w, d in enumerate(digits)) * (-1 if negative else 1)
        assert (value - s) % R == 0, draw
