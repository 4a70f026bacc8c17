"""The PTX blocks, interpreted on the CPU, against integers."""

from __future__ import annotations

import itertools

import pytest

from cuzk.cuda.inline import Block
from cuzk.field import ptx, ptx_quotient
from cuzk.field.params import P, R, omega
from tests.conftest import Draw
from tests.cuda.operations import FP, FP_OPERATIONS, FR, FR_OPERATIONS, MUL_BY_ROOT, MUL_QUOTIENT, Operation
from tests.cuda.ptx_interpreter import Machine, interpret

ALL = (
    {f"fp.{k}": v for k, v in FP_OPERATIONS.items()}
    | {f"fr.{k}": v for k, v in FR_OPERATIONS.items()}
    | {"fr.mul_by": MUL_BY_ROOT}
)


def nasty(bound: int) -> list[int]:
    """Ends of the range, limb borders, all-ones limbs, multiples of the moduli."""
    limb_borders = [1 << 32, (1 << 32) - 1, ((1 << 224) - 1) << 32, (1 << 192) - 1]
    multiples = [k * m + e for m in (P, R) for k in (1, 2) for e in (-1, 0, 1)]
    values = [0, 1, 2, bound - 1, bound - 2, bound // 2, *limb_borders, *multiples]
    return sorted({v for v in values if 0 <= v < bound})


def check(operation: Operation, *arguments: int, extra: tuple[int, ...] = ()) -> None:
    got = interpret(operation.block, *arguments, *extra)
    want = operation.value(*arguments)
    where = " ".join(f"{a:#x}" for a in arguments)
    assert got < operation.bound, f"range: {where} gave {got:#x}"
    if operation.modulus:
        assert (got - want) % operation.modulus == 0, f"{where}: expected {want:#x}, got {got:#x}"
    else:
        assert got == want, f"{where}: expected {want:#x}, got {got:#x}"


@pytest.mark.parametrize("name", ALL)
def test_block_against_integers(name: str, draw: Draw) -> None:
    operation = ALL[name]
    for arguments in itertools.product(*(nasty(b) for b in operation.bounds)):
        check(operation, *arguments)
    for _ in range(100):
        check(operation, *(draw.below(b) for b in operation.bounds))


def test_product_by_quotient_operands(draw: Draw) -> None:
    for w in [*nasty(R), *(draw.below(R) for _ in range(30))]:
        for a in [*nasty(2 * R), *(draw.below(2 * R) for _ in range(5))]:
            check(MUL_QUOTIENT, a, w, extra=(ptx_quotient.quotient_of(w, R, FR),))


# Of few limbs, with lowest limbs zero, with quotients whose highest limb is 1.
Z = 0xD201000000010000
SHORT = [Z, Z**2, Z**2 - 1, Z**3, 0, 1, 2, 1 << 32, (1 << 64) - 1, (1 << 96) + 5, (1 << 160) - 1, (1 << 224) - 3]


def test_products_by_short_constants(draw: Draw) -> None:
    for w in [*SHORT, *(draw.below(R >> (8 * k)) for k in range(30))]:
        operation = Operation(ptx_quotient.product_by_quotient(R, FR, w), (2 * R,), lambda a, w=w: a * w % R, R, 2 * R)
        for a in [*nasty(2 * R), *(draw.below(2 * R) for _ in range(20))]:
            check(operation, a)
    assert Z**4 - Z**2 + 1 == R and omega(3) ** 2 % R == Z**3


def test_out_of_montgomery_form(draw: Draw) -> None:
    plain, quotient = ptx_quotient.from_mont(R, FR), ptx_quotient.low_product(FR, -pow(R, -1, 1 << 256) % (1 << 256))
    for w in [*nasty(R), *(draw.below(R) for _ in range(50))]:
        assert interpret(plain, (w << 256) % R) == w
        assert interpret(quotient, (w << 256) % R) == ptx_quotient.quotient_of(w, R, FR)


def test_products_stay_below_twice_p_up_to_the_stated_factors(draw: Draw) -> None:
    lazy = FP_OPERATIONS["mul_lazy"]
    for a_over_p, b_over_p in ((1, 9), (2, 4), (3, 3), (9, 1)):
        for _ in range(20):
            a, b = a_over_p * P - 1 - draw.below(1 << 40), b_over_p * P - 1 - draw.below(1 << 40)
            assert interpret(lazy.block, a, b) < 2 * P


def wide_products(block: Block) -> int:
    """High halves, each the mark of one wide product."""
    return block.text.count(".hi")


def test_costs_are_as_stated() -> None:
    assert wide_products(ptx.product(P, FP)) == 2 * FP * FP
    assert wide_products(ptx.square(P, FP)) == FP * (FP + 1) // 2 + FP * FP
    assert wide_products(ptx.product(R, FR)) == 2 * FR * (FR - 1)
    assert wide_products(ptx_quotient.product_by_quotient(R, FR)) == 43 + 28 + 15
    assert wide_products(ptx_quotient.product_by_quotient(R, FR, Z**3)) == 27 + 20 + 15
    assert wide_products(ptx_quotient.from_mont(R, FR)) == FR * FR


def test_the_interpreter_refuses_what_it_does_not_know() -> None:
    with pytest.raises(NotImplementedError):
        Machine({"a": 1}).run("xor.b32 a, a, a;")
    with pytest.raises(AssertionError, match="no carry"):
        Machine({"a": 1}).run("addc.u32 a, a, a;")
    with pytest.raises(AssertionError, match="not unsigned"):
        Machine({"a": 1}).run("add.s32 a, a, a;")
    machine = Machine({"a": 0xFFFFFFFF})
    machine.run("{ add.cc.u32 a, a, 1; addc.u32 b, 0, 0; sub.cc.u32 a, a, 1; subc.u32 c, 0, 0; }")
    assert (machine.registers["a"], machine.registers["b"], machine.registers["c"]) == (0xFFFFFFFF, 1, 0xFFFFFFFF)
