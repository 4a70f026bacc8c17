"""The few PTX instructions that field arithmetic uses, on the CPU: one block of inline assembly at a time.

The carry flag is what the PTX manual says: an addition with `.cc` writes its carry, a subtraction with `.cc` its borrow;
`addc`, `madc` and `subc` read it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from cuzk.cuda.inline import Block, join, split

TOP = 0xFFFFFFFF
_STATEMENT = re.compile(r"(?:@(?P<guard>!?\w+)\s+)?(?P<name>[\w.]+)\s+(?P<operands>.+)", re.DOTALL)


class Machine:
    """Registers by name, predicates among them, and the carry flag."""

    def __init__(self, inputs: dict[str, int]) -> None:
        self.registers: dict[str, int] = dict(inputs)
        self.carry: int | None = None
        self.executed: list[str] = []

    def value(self, operand: str) -> int:
        """A register's content or a literal."""
        if re.fullmatch(r"0x[0-9a-f]+|[0-9]+", operand):
            return int(operand, 0)
        return self.registers[operand]

    def run(self, text: str) -> None:
        """Every statement in turn."""
        for statement in text.strip().removeprefix("{").removesuffix("}").split(";"):
            if (statement := statement.strip()) and not statement.startswith(".reg"):
                self.step(statement)

    def step(self, statement: str) -> None:
        """One instruction."""
        match = _STATEMENT.fullmatch(statement)
        assert match, statement
        if match["guard"] and not self.registers[match["guard"]]:
            return
        name, out, *operands = [match["name"], *(x.strip() for x in match["operands"].split(","))]
        verb, *suffixes = name.split(".")
        assert suffixes[-1] in ("u32", "b32"), f"not unsigned: {statement}"
        self.executed.append(name)
        values = [self.value(x) for x in operands]
        if verb in ("add", "addc", "sub", "subc", "mad", "madc", "mul"):
            self.registers[out] = self.arithmetic(verb, suffixes, values, statement)
        elif verb == "setp":
            equal = values[0] == values[1]
            self.registers[out] = int(equal if suffixes[0] == "eq" else not equal)
        elif verb == "selp":
            self.registers[out] = values[0] if values[2] else values[1]
        elif verb == "min":
            self.registers[out] = min(values)
        elif verb == "mov":
            self.registers[out] = values[0]
        else:
            raise NotImplementedError(statement)

    def arithmetic(self, verb: str, suffixes: Sequence[str], values: Sequence[int], statement: str) -> int:
        """A sum, difference or half of a product, with the carry flag."""
        incoming = 0
        if verb in ("addc", "subc", "madc"):
            assert self.carry is not None, f"no carry to read: {statement}"
            incoming = self.carry
        if verb in ("mul", "mad", "madc"):
            product = values[0] * values[1]
            product = product & TOP if "lo" in suffixes else product >> 32
            if verb == "mul":
                return product
            result = product + values[2] + incoming
        elif verb in ("add", "addc"):
            result = values[0] + values[1] + incoming
        else:
            result = values[0] - values[1] - incoming
        self.carry = (1 if result < 0 or result > TOP else 0) if "cc" in suffixes else None
        return result & TOP


def interpret(block: Block, *arguments: int) -> int:
    """The value of a block on integers."""
    limbs = [limb for value, n in zip(arguments, block.arguments, strict=True) for limb in split(value, n)]
    machine = Machine({f"${block.result + i}": limb for i, limb in enumerate(limbs)})
    machine.run(block.text)
    return join([machine.registers[f"${i}"] for i in range(block.result)])
