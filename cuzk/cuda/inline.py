"""Device functions made from a block of PTX, each with a Python twin for the simulator.

A block is one inline-assembly statement: operands $0, $1, … are the outputs, then the inputs, all 32-bit. Values of several
limbs are tuples of uint32, least significant limb first. Numba's CUDA simulator runs kernels as plain Python and cannot run
an intrinsic, so that under it the twin stands in; the blocks themselves are interpreted on the CPU by a test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cuzk import config

Twin = Callable[..., Any]


@dataclass(frozen=True)
class Block:
    """PTX text, the limbs of its one result and of each argument (all 32-bit)."""

    text: str
    result: int
    arguments: tuple[int, ...]


def join(limbs: Sequence[int]) -> int:
    """Limbs of 32 bits, least significant first, as an integer."""
    return sum(int(v) << (32 * i) for i, v in enumerate(limbs))


def split(value: int, limbs: int) -> tuple[int, ...]:
    """An integer in [0, 2^(32 limbs)) as limbs of 32 bits, least significant first."""
    assert 0 <= value < 1 << (32 * limbs)
    return tuple((value >> (32 * i)) & 0xFFFFFFFF for i in range(limbs))


def on_integers(block: Block, meaning: Callable[..., int]) -> Twin:
    """The twin of a block whose meaning is stated on integers."""

    def twin(*arguments: Sequence[int]) -> tuple[int, ...]:
        assert [len(a) for a in arguments] == list(block.arguments)
        return split(meaning(*(join(a) for a in arguments)), block.result)

    return twin


def operation(block: Block, meaning: Callable[..., int]) -> Any:
    """The block as a device function on tuples of uint32; `meaning` is the same function on integers."""
    return inline(
        block.text,
        _tuple(block.result),
        [_tuple(n) for n in block.arguments],
        on_integers(block, meaning),
    )


def _tuple(limbs: int) -> tuple[str, int]:
    return ("u32", limbs)


# Kinds of operands: bits, and the letter of the PTX register constraint.
_KINDS = {"u32": (32, "r"), "s32": (32, "r"), "u64": (64, "l"), "s64": (64, "l")}
Operand = tuple[str, int]  # kind, how many; one is a scalar, more a tuple


def inline(text: str, result: Operand | None, arguments: Sequence[Operand], twin: Twin, *, effect: bool = False) -> Any:
    """Inline PTX as a device function; `twin` itself under the simulator.

    `effect` keeps the statement where it stands: it reads or writes memory that others write.
    """
    if config.cuda_simulated():
        return twin
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    named = {"u32": types.uint32, "s32": types.int32, "u64": types.uint64, "s64": types.int64}

    def numba_type(operand: Operand | None) -> Any:
        if operand is None:
            return types.void
        kind, count = operand
        return named[kind] if count == 1 else types.UniTuple(named[kind], count)

    def words(operand: Operand) -> list[Any]:
        return [ir.IntType(_KINDS[operand[0]][0])] * operand[1]

    inputs = [w for a in arguments for w in words(a)]
    constraints = [f"={_KINDS[result[0]][1]}"] * result[1] if result else []
    constraints += [_KINDS[kind][1] for kind, count in arguments for _ in range(count)]
    if effect:
        constraints.append("~{memory}")
    if result is None:
        returned: Any = ir.VoidType()
    else:
        returned = words(result)[0] if result[1] == 1 else ir.LiteralStructType(words(result))
    assembly = ir.InlineAsm(ir.FunctionType(returned, inputs), text, ",".join(constraints), side_effect=effect)
    signature = numba_type(result)(*(numba_type(a) for a in arguments))

    def generate(context: Any, builder: Any, _signature: Any, values: Sequence[Any]) -> Any:
        flat: list[Any] = []
        for (_, count), value in zip(arguments, values, strict=True):
            flat += [value] if count == 1 else [builder.extract_value(value, i) for i in range(count)]
        done = builder.call(assembly, flat)
        if result is None:
            return context.get_dummy_value()
        if result[1] == 1:
            return done
        out = ir.Constant(ir.ArrayType(words(result)[0], result[1]), ir.Undefined)
        for i in range(result[1]):
            out = builder.insert_value(out, builder.extract_value(done, i), i)
        return out

    # Numba reads the parameters of an intrinsic off its definition.
    match len(arguments):
        case 0:
            return intrinsic(lambda context: (signature, generate))
        case 1:
            return intrinsic(lambda context, a: (signature, generate))
        case 2:
            return intrinsic(lambda context, a, b: (signature, generate))
        case 3:
            return intrinsic(lambda context, a, b, c: (signature, generate))
        case 4:
            return intrinsic(lambda context, a, b, c, d: (signature, generate))
        case count:
            raise AssertionError(f"{count} arguments")
