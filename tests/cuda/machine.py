"""A machine that runs compiled PTX kernels on the CPU, all threads of a block at a time as NumPy lanes.

It runs what the compiler made of a kernel, where Numba's simulator runs its Python source: faults of the compiler, of types and
of inline PTX show here without a card. It knows the instructions that the kernels use, refuses others, and finds

- accesses outside allocated memory, and misaligned ones,
- races in shared memory: a word that one thread wrote and another reads or writes before the next barrier.

`Card` has the interface of `cuzk.cuda.simulated.Card`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk.cuda import simulated
from cuzk.cuda.compiler import Kernel

Lanes = npt.NDArray[Any]
U32, U64 = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFFFFFFFF)
_32 = np.uint64(32)
BASE = 1 << 40
ARENA_WORDS = 1 << 22
WARP = 32
SHARED_WINDOW = 1 << 24  # generic address of shared memory


@dataclass
class Instruction:
    """One statement: guard predicate, opcode parts, operands; labels are resolved to positions."""

    text: str
    guard: str
    negated: bool
    name: list[str]
    operands: list[str]


class Program:
    """Statements of one kernel."""

    def __init__(self, ptx: str, dynamic_shared: int = 0) -> None:
        self.parameters = re.findall(r"\.param\s+\.u64\s+(\w+)", ptx)
        self.shared: dict[str, int] = {}
        self.shared_bytes = 0
        for alignment, name, size in re.findall(r"\.shared\s+\.align\s+(\d+)\s+\.b8\s+(\w+)\[(\d+)\]", ptx):
            assert self.shared_bytes % int(alignment) == 0
            self.shared[name] = self.shared_bytes
            self.shared_bytes += int(size)
        for alignment, name in re.findall(r"\.extern\s+\.shared\s+\.align\s+(\d+)\s+\.b8\s+(\w+)\[\]", ptx):
            self.shared_bytes += -self.shared_bytes % int(alignment)
            self.shared[name] = self.shared_bytes
        self.shared_bytes += dynamic_shared
        self.dynamic_shared = dynamic_shared
        body = re.sub(r"//[^\n]*", "", ptx[ptx.index("{", ptx.index(".entry")) :])
        body = re.sub(r"\{([^{};:]*)\}", r"<\1>", body)  # vectors, unlike scopes, hold no statement
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        for piece in re.split(r"[;{}]|(?<=:)\s", body):
            self._statement(piece.strip())

    def _statement(self, text: str) -> None:
        while match := re.match(r"(\$?\w+):\s*", text):
            self.labels[match[1]] = len(self.code)
            text = text[match.end() :]
        if not text or text.startswith("."):
            return
        match = re.fullmatch(r"(?:@(!?)(%?\w+)\s+)?([a-z][\w.]*)\s*(.*)", text, re.DOTALL)
        assert match, text
        operands = [x.strip() for x in re.split(r",(?![^<]*>)", match[4])] if match[4] else []
        self.code.append(Instruction(text, match[2] or "", bool(match[1]), match[3].split("."), operands))


def _signed32(x: Lanes) -> Lanes:
    return (x & U32).astype(np.uint32).astype(np.int32).astype(np.int64).astype(np.uint64)


class Block:
    """One block in flight: registers, predicates, carry and position of each lane."""

    def __init__(
        self,
        program: Program,
        memory: Memory,
        threads: int,
        block: tuple[int, int],
        words: Sequence[int],
        grid: tuple[int, int] = (1, 1),
    ) -> None:
        self.program, self.memory, self.threads = program, memory, threads
        self.special = {
            "%tid.x": np.arange(threads, dtype=np.uint64),
            "%ctaid.x": np.full(threads, block[0], np.uint64),
            "%ctaid.y": np.full(threads, block[1], np.uint64),
            "%ntid.x": np.full(threads, threads, np.uint64),
            "%dynamic_smem_size": np.full(threads, program.dynamic_shared, np.uint64),
            "%nctaid.x": np.full(threads, grid[0], np.uint64),
            "%nctaid.y": np.full(threads, grid[1], np.uint64),
        }
        self.registers: dict[str, Lanes] = {}
        self.parameters = dict(zip(program.parameters, words, strict=True))
        self.carry = np.zeros(threads, np.uint64)
        self.position = np.zeros(threads, np.int64)
        self.waiting = np.zeros(threads, bool)
        self.alive = np.ones(threads, bool)
        self.shared = SharedMemory(program.shared_bytes, threads)
        self.active = np.ones(threads, bool)
        self.everyone = True

    def value(self, operand: str) -> Lanes:
        """Lanes of a register, special register, symbol or literal."""
        if operand in self.registers:
            return self.registers[operand]
        if operand in self.special:
            return self.special[operand]
        if operand in self.program.shared:
            return np.full(self.threads, self.program.shared[operand], np.uint64)
        return np.full(self.threads, int(operand, 0) % (1 << 64), np.uint64)

    def set(self, register: str, value: Lanes) -> None:
        """Write the active lanes of a register."""
        if self.everyone or register not in self.registers:
            self.registers[register] = value
        else:
            self.registers[register] = np.where(self.active, value, self.registers[register])

    def run(self) -> None:
        """All threads to their end."""
        code = self.program.code
        while self.alive.any():
            ready = self.alive & ~self.waiting
            if not ready.any():
                assert self.waiting[self.alive].all()
                self.waiting[:] = False
                self.shared.barrier()
                continue
            here = int(self.position[ready].min())
            group = ready & (self.position == here)
            together = bool((group == self.alive).all())
            while True:
                here = self.step(code[here], here, group)
                if here < 0 or not together:
                    break
            if here >= 0:
                self.position[group] = here

    def step(self, instruction: Instruction, here: int, group: Lanes) -> int:
        """One instruction for a group; the next position of all of it, or −1 after branches, barriers and ends."""
        active = group
        if instruction.guard:
            predicate = self.registers[instruction.guard].astype(bool)
            active = group & (~predicate if instruction.negated else predicate)
        self.active, self.everyone = active, bool(active.all())
        verb = instruction.name[0]
        if verb == "bra":
            self.position[group] = here + 1
            self.position[active] = self.program.labels[instruction.operands[0]]
            return -1
        if verb in ("ret", "exit"):
            self.position[group] = here + 1
            self.alive &= ~active
            return -1
        if verb in ("bar", "barrier"):
            assert (group == self.alive).all() and not instruction.guard, "a barrier that not all threads reach"
            self.position[group] = here + 1
            self.waiting[group] = True
            return -1
        if active.any():
            try:
                getattr(self, "_" + verb)(instruction.name, instruction.operands)
            except Exception as error:
                error.add_note(f"in: {instruction.text}")
                raise
        return here + 1

    # Instructions. Registers hold 64 bits; those of 32 bits are kept below 2^32.

    def _mask(self, name: list[str]) -> np.uint64:
        width = name[-1][1:]
        assert width in ("32", "64") and name[-1][0] in "usb", name
        return U32 if width == "32" else U64

    def _add(self, name: list[str], operands: list[str]) -> None:
        self._sum(name, operands[0], [self.value(x) for x in operands[1:]], "addc" in name)

    _addc = _add

    def _sum(self, name: list[str], out: str, terms: list[Lanes], carried: bool) -> None:
        mask = self._mask(name)
        if mask == U64:
            assert not carried and "cc" not in name
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            self.set(out, total)
            return
        total = sum((t & U32 for t in terms[1:]), terms[0] & U32)
        if carried:
            total = total + self.carry
        self.set(out, total & U32)
        if "cc" in name:
            self._set_carry(total >> _32)

    def _set_carry(self, carry: Lanes) -> None:
        self.carry = carry if self.everyone else np.where(self.active, carry, self.carry)

    def _sub(self, name: list[str], operands: list[str]) -> None:
        a, b = self.value(operands[1]), self.value(operands[2])
        if self._mask(name) == U64:
            self.set(operands[0], a - b)
            return
        difference = (a & U32) - (b & U32)
        if name[0] == "subc":
            difference = difference - self.carry
        self.set(operands[0], difference & U32)
        if "cc" in name:
            self._set_carry(difference >> np.uint64(63))

    _subc = _sub

    def _product(self, name: list[str], a: Lanes, b: Lanes) -> Lanes:
        mask = self._mask(name)
        if mask == U64:
            assert "lo" in name
            return a * b
        if "wide" in name and name[-1] == "s32":
            return _signed32(a) * _signed32(b)
        product = (a & U32) * (b & U32)
        if "wide" in name:
            return product
        if "hi" in name:
            assert name[-1] == "u32"
            return product >> _32
        return product & U32

    def _mul(self, name: list[str], operands: list[str]) -> None:
        self.set(operands[0], self._product(name, self.value(operands[1]), self.value(operands[2])))

    def _mad(self, name: list[str], operands: list[str]) -> None:
        product = self._product(name, self.value(operands[1]), self.value(operands[2]))
        if "wide" in name:
            self.set(operands[0], product + self.value(operands[3]))
        else:
            self._sum(name, operands[0], [product, self.value(operands[3])], name[0] == "madc")

    _madc = _mad

    def _binary(self, name: list[str], operands: list[str], function: Callable[[Lanes, Lanes], Lanes]) -> None:
        mask = self._mask(name)
        self.set(operands[0], function(self.value(operands[1]) & mask, self.value(operands[2]) & mask) & mask)

    def _and(self, name: list[str], operands: list[str]) -> None:
        if name[-1] == "pred":
            self.set(operands[0], self.value(operands[1]) & self.value(operands[2]))
        else:
            self._binary(name, operands, np.bitwise_and)

    def _or(self, name: list[str], operands: list[str]) -> None:
        if name[-1] == "pred":
            self.set(operands[0], self.value(operands[1]) | self.value(operands[2]))
        else:
            self._binary(name, operands, np.bitwise_or)

    def _xor(self, name: list[str], operands: list[str]) -> None:
        if name[-1] == "pred":
            self.set(operands[0], self.value(operands[1]) ^ self.value(operands[2]))
        else:
            self._binary(name, operands, np.bitwise_xor)

    def _not(self, name: list[str], operands: list[str]) -> None:
        if name[-1] == "pred":
            self.set(operands[0], self.value(operands[1]) ^ np.uint64(1))
        else:
            self.set(operands[0], ~self.value(operands[1]) & self._mask(name))

    def _min(self, name: list[str], operands: list[str]) -> None:
        assert name[-1][0] == "u"
        self._binary(name, operands, np.minimum)

    def _max(self, name: list[str], operands: list[str]) -> None:
        assert name[-1][0] == "u"
        self._binary(name, operands, np.maximum)

    def _shl(self, name: list[str], operands: list[str]) -> None:
        self._shift(name, operands, np.left_shift)

    def _shr(self, name: list[str], operands: list[str]) -> None:
        if name[-1][0] == "s":
            mask = self._mask(name)
            value = self.value(operands[1])
            wide = (_signed32(value) if mask == U32 else value).astype(np.int64)
            amount = np.minimum(self.value(operands[2]) & U32, np.uint64(63)).astype(np.int64)
            self.set(operands[0], (wide >> amount).astype(np.uint64) & mask)
        else:
            self._shift(name, operands, np.right_shift)

    def _bfi(self, name: list[str], operands: list[str]) -> None:
        position, length = (int(x, 0) for x in operands[3:])
        field = ((1 << length) - 1) << position
        inserted = (self.value(operands[1]) << np.uint64(position)) & np.uint64(field)
        self.set(operands[0], (inserted | (self.value(operands[2]) & ~np.uint64(field))) & self._mask(name))

    def _div(self, name: list[str], operands: list[str]) -> None:
        assert name[-1][0] == "u"
        mask = self._mask(name)
        below = self.value(operands[2]) & mask
        assert (below[self.active] != 0).all(), "division by zero"
        self.set(operands[0], (self.value(operands[1]) & mask) // np.maximum(below, np.uint64(1)))

    def _popc(self, name: list[str], operands: list[str]) -> None:
        assert name[-1] == "b32"
        self.set(operands[0], np.bitwise_count(self.value(operands[1]) & U32).astype(np.uint64))

    def _warps(self) -> Lanes:
        """Active lanes as warps; every warp that takes part must do so with all of its lanes."""
        active = self.active.reshape(-1, WARP)
        assert (active.all(axis=1) | ~active.any(axis=1)).all(), "a warp that does not act together"
        return active

    def _shfl(self, name: list[str], operands: list[str]) -> None:
        assert name[1:] == ["sync", "bfly", "b32"] and [int(x, 0) % (1 << 32) for x in operands[2:]] == [1, 31, 0xFFFFFFFF]
        self._warps()
        out, *predicate = operands[0].split("|")
        assert not predicate
        self.set(out, self.value(operands[1]).reshape(-1, 2)[:, ::-1].reshape(-1))

    def _vote(self, name: list[str], operands: list[str]) -> None:
        assert name[1] == "sync" and int(operands[2], 0) % (1 << 32) == 0xFFFFFFFF
        self._warps()
        brought = self.value(operands[1]).astype(bool).reshape(-1, WARP)
        if name[2:] == ["ballot", "b32"]:
            found = (brought.astype(np.uint64) << np.arange(WARP, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
        else:
            assert name[2:] == ["any", "pred"]
            found = brought.any(axis=1).astype(np.uint64)
        self.set(operands[0], np.repeat(found, WARP))

    def _shift(self, name: list[str], operands: list[str], function: Callable[[Lanes, Lanes], Lanes]) -> None:
        mask = self._mask(name)
        width = np.uint64(32 if mask == U32 else 64)
        value, amount = self.value(operands[1]) & mask, self.value(operands[2]) & U32
        moved = function(value, np.minimum(amount, np.uint64(63))) & mask
        self.set(operands[0], np.where(amount >= width, np.uint64(0), moved))

    def _brev(self, name: list[str], operands: list[str]) -> None:
        assert name[-1] == "b32"
        value = self.value(operands[1])
        out = np.zeros_like(value)
        for i in range(32):
            out |= ((value >> np.uint64(i)) & np.uint64(1)) << np.uint64(31 - i)
        self.set(operands[0], out)

    def _mov(self, name: list[str], operands: list[str]) -> None:
        self.set(operands[0], self.value(operands[1]) & (np.uint64(1) if name[-1] == "pred" else self._mask(name)))

    def _cvt(self, name: list[str], operands: list[str]) -> None:
        to, source = name[-2], name[-1]
        value = self.value(operands[1])
        if source == "s32" and to in ("s64", "u64"):
            value = _signed32(value)
        elif source == "u32":
            value = value & U32
        assert to in ("u32", "s32", "u64", "s64") and source in ("u32", "s32", "u64", "s64"), name
        self.set(operands[0], value & (U32 if to.endswith("32") else U64))

    def _cvta(self, name: list[str], operands: list[str]) -> None:
        window = np.uint64(SHARED_WINDOW if "shared" in name else 0)
        value = self.value(operands[1])
        self.set(operands[0], value - window if "to" in name else value + window)

    def _setp(self, name: list[str], operands: list[str]) -> None:
        mask = self._mask(name)
        a, b = self.value(operands[1]) & mask, self.value(operands[2]) & mask
        comparison, kind = name[1], name[-1][0]
        if kind == "s" and comparison not in ("eq", "ne"):
            bits = np.uint64(31 if mask == U32 else 63)
            a, b = a ^ (np.uint64(1) << bits), b ^ (np.uint64(1) << bits)
        table: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
            "eq": np.equal,
            "ne": np.not_equal,
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "ge": np.greater_equal,
        }
        self.set(operands[0], table[comparison](a, b).astype(np.uint64))

    def _selp(self, name: list[str], operands: list[str]) -> None:
        yes, no, predicate = (self.value(x) for x in operands[1:])
        self.set(operands[0], np.where(predicate.astype(bool), yes, no) & self._mask(name))

    # Memory

    def _registers_of(self, operand: str) -> list[str]:
        return [x.strip() for x in operand.strip("<>").split(",")]

    def _address(self, operand: str) -> Lanes:
        match = re.fullmatch(r"\[([%\w$]+)(?:\+(-?\d+))?\]", operand)
        assert match, operand
        return self.value(match[1]) + np.uint64(int(match[2] or 0) % (1 << 64))

    def _space(self, name: list[str]) -> Any:
        return self.shared if "shared" in name else self.memory

    def _ld(self, name: list[str], operands: list[str]) -> None:
        if "param" in name:
            self.set(operands[0], np.full(self.threads, self.parameters[operands[1].strip("[]")], np.uint64))
            return
        out = self._registers_of(operands[0])
        if name[-1] == "u8":
            self.set(out[0], self.shared.load_byte(self._address(operands[1]), self.active))
            return
        words = 2 if name[-1].endswith("64") else 1
        found = self._space(name).load(self._address(operands[1]), len(out) * words, self.active)
        for i, register in enumerate(out):
            value = found[words * i].astype(np.uint64)
            if words == 2:
                value = value | (found[2 * i + 1].astype(np.uint64) << _32)
            self.set(register, value)

    def _st(self, name: list[str], operands: list[str]) -> None:
        if name[-1] == "u8":
            self.shared.store_byte(self._address(operands[0]), self.value(operands[1]), self.active)
            return
        values = []
        for register in self._registers_of(operands[1]):
            value = self.value(register)
            values.append(value & U32)
            if name[-1].endswith("64"):
                values.append(value >> _32)
        self._space(name).store(self._address(operands[0]), values, self.active)

    def _atom(self, name: list[str], operands: list[str]) -> None:
        assert name[-2] in ("add", "max") and name[-1] == "u32", name
        address, value = self._address(operands[1]), self.value(operands[2])
        function = max if name[-2] == "max" else lambda a, b: (a + b) & 0xFFFFFFFF
        before = self._space(name).atomic(address, value, self.active, function)
        if operands[0] != "_":
            self.set(operands[0], before)

    def _red(self, name: list[str], operands: list[str]) -> None:
        self._atom(name, ["_", *operands])

    def _prefetch(self, name: list[str], operands: list[str]) -> None:
        pass


class Memory:
    """Device memory: an arena of words, of which allocated ones may be touched."""

    def __init__(self) -> None:
        self.words = np.random.default_rng(1).integers(0, 1 << 32, ARENA_WORDS, np.uint32)
        self.allowed = np.zeros(ARENA_WORDS, bool)

    def index(self, address: Lanes, count: int, active: Lanes) -> Lanes:
        """Positions of the first words, checked."""
        live = address[active]
        alignment = np.uint64(4 * min(count & -count, 4))
        assert (live % alignment == 0).all(), f"misaligned access of {count} words"
        at = ((address - np.uint64(BASE)) >> np.uint64(2)).astype(np.int64)
        inside = (at[active] >= 0) & (at[active] + count <= ARENA_WORDS)
        assert inside.all(), f"address {int(live[~inside][0]):#x} is not device memory"
        for i in range(count):
            fine = self.allowed[at[active] + i]
            assert fine.all(), f"access outside allocated memory at {int(live[~fine][0]):#x}"
        return np.where(active, at, 0)

    def load(self, address: Lanes, count: int, active: Lanes) -> list[Lanes]:
        at = self.index(address, count, active)
        return [self.words[at + i] for i in range(count)]

    def store(self, address: Lanes, values: list[Lanes], active: Lanes) -> None:
        at = self.index(address, len(values), active)[active]
        for i, value in enumerate(values):
            self.words[at + i] = value[active].astype(np.uint32)

    def atomic(self, address: Lanes, value: Lanes, active: Lanes, function: Callable[[int, int], int]) -> Lanes:
        return in_turn(self.words, self.index(address, 1, active), value, active, function)


def in_turn(words: Lanes, at: Lanes, value: Lanes, active: Lanes, function: Callable[[int, int], int]) -> Lanes:
    """What was at each place before its lane's turn; each lane in turn applies the function."""
    before = np.zeros(len(at), np.uint64)
    for lane in np.flatnonzero(active):
        before[lane] = words[at[lane]]
        words[at[lane]] = function(int(before[lane]), int(value[lane] & U32))
    return before


class SharedMemory:
    """Shared memory of one block, with who wrote and who read each byte since the last barrier."""

    def __init__(self, size: int, threads: int) -> None:
        self.words = np.random.default_rng(2).integers(0, 1 << 32, max(-(-size // 4), 1), np.uint32)
        self.bytes = self.words.view(np.uint8)
        self.lanes = np.arange(threads)
        self.barrier()

    def barrier(self) -> None:
        self.writer = np.full(len(self.bytes), -1)
        self.reader = np.full(len(self.bytes), -1)  # −2: several
        self.atomics = np.zeros(len(self.bytes), bool)

    def index(self, address: Lanes, count: int, active: Lanes) -> Lanes:
        live = address[active]
        assert (live % np.uint64(4 * min(count & -count, 4)) == 0).all(), f"misaligned access of {count} words"
        at = (address >> np.uint64(2)).astype(np.int64)
        assert (at[active] + count <= len(self.words)).all(), "outside shared memory"
        return np.where(active, at, 0)

    def _places(self, first: Lanes, size: int, active: Lanes) -> tuple[Lanes, Lanes]:
        """Every byte that is touched, and by which lane."""
        return (first[active][:, None] + np.arange(size)).reshape(-1), np.repeat(self.lanes[active], size)

    def _read(self, place: Lanes, lane: Lanes) -> None:
        writer, before = self.writer[place], self.reader[place]
        assert not self.atomics[place].any(), "race: read beside atomics"
        assert ((writer == -1) | (writer == lane)).all(), "race: read of what another thread wrote"
        self.reader[place] = lane
        # Several lanes may have read a byte in this very instruction.
        several = (self.reader[place] != lane) | ((before != -1) & (before != lane))
        self.reader[place[several]] = -2

    def _written(self, place: Lanes, lane: Lanes) -> None:
        assert len(np.unique(place)) == len(place), "race: two threads write one place"
        assert not self.atomics[place].any(), "race: write beside atomics"
        for earlier in (self.writer[place], self.reader[place]):
            assert ((earlier == -1) | (earlier == lane)).all(), "race: write of what another thread uses"
        self.writer[place] = lane

    def load(self, address: Lanes, count: int, active: Lanes) -> list[Lanes]:
        at = self.index(address, count, active)
        self._read(*self._places(4 * at, 4 * count, active))
        return [self.words[at + i] for i in range(count)]

    def load_byte(self, address: Lanes, active: Lanes) -> Lanes:
        at = np.where(active, address, 0).astype(np.int64)
        assert (at < len(self.bytes)).all(), "outside shared memory"
        self._read(*self._places(at, 1, active))
        return self.bytes[at].astype(np.uint64)

    def store(self, address: Lanes, values: list[Lanes], active: Lanes) -> None:
        at = self.index(address, len(values), active)
        self._written(*self._places(4 * at, 4 * len(values), active))
        for i, value in enumerate(values):
            self.words[at[active] + i] = value[active].astype(np.uint32)

    def store_byte(self, address: Lanes, value: Lanes, active: Lanes) -> None:
        at = address[active].astype(np.int64)
        assert (at < len(self.bytes)).all(), "outside shared memory"
        self._written(at, self.lanes[active])
        self.bytes[at] = (value[active] & np.uint64(0xFF)).astype(np.uint8)

    def atomic(self, address: Lanes, value: Lanes, active: Lanes, function: Callable[[int, int], int]) -> Lanes:
        at = self.index(address, 1, active)
        place, lane = self._places(4 * at, 4, active)
        for earlier in (self.writer[place], self.reader[place]):
            assert ((earlier == -1) | (earlier == lane)).all(), "race: atomic beside other uses"
        self.atomics[place] = True
        return in_turn(self.words, at, value, active, function)


class Buffer:
    """A piece of the arena, with a gap of forbidden words behind it."""

    def __init__(self, card: Card, size: int) -> None:
        self.card, self.size = card, size
        self.start, self.words = card.next, -(-max(size, 1) // 4)
        card.next += -(-self.words // 64) * 64 + 64
        assert card.next <= ARENA_WORDS, "the arena is full"
        self.address = BASE + 4 * self.start
        card.memory.allowed[self.start : self.start + self.words] = True

    def free(self) -> None:
        self.card.memory.allowed[self.start : self.start + self.words] = False

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()

    def _bytes(self) -> Lanes:
        return self.card.memory.words[self.start : self.start + self.words].view(np.uint8)[: self.size]

    def write(self, array: Lanes, offset: int = 0, stream: object = None) -> None:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._bytes()[offset : offset + flat.size] = flat
        self.card.bytes_in += flat.size

    def read(self, shape: int | Sequence[int], dtype: Any, offset: int = 0) -> Lanes:
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[:] = self._bytes()[offset : offset + array.nbytes]
        return array

    def read_into(self, array: Lanes, offset: int = 0, stream: object = None) -> None:
        array.reshape(-1).view(np.uint8)[:] = self._bytes()[offset : offset + array.nbytes]

    def copy_from(self, other: Buffer, size: int, *, offset: int = 0, start: int = 0, stream: object = None) -> None:
        self._bytes()[offset : offset + size] = other._bytes()[start : start + size]

    def fill(self, byte: int, size: int | None = None, offset: int = 0, stream: object = None) -> None:
        self._bytes()[offset : self.size if size is None else offset + size] = byte


class Card(simulated.Card):
    """A card that runs PTX."""

    name = "PTX machine"

    def __init__(self) -> None:
        super().__init__(0)
        self.memory, self.next = Memory(), 64
        self.programs: dict[str, Program] = {}

    def buffer(self, size: int) -> Any:
        return Buffer(self, size)

    def upload(self, array: Lanes, stream: object = None) -> Any:
        buffer = Buffer(self, max(array.nbytes, 1))
        buffer.write(array)
        return buffer

    def write_at(self, address: int, array: Lanes, stream: object = None) -> None:
        start = (address - BASE) // 4
        words = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
        self.memory.words[start : start + len(words)] = words

    def read_at(self, address: int, array: Lanes, stream: object = None) -> None:
        start, words = (address - BASE) // 4, array.reshape(-1).view(np.uint32)
        words[:] = self.memory.words[start : start + len(words)]

    def launch(
        self, kernel: Kernel, blocks: int | tuple[int, int], arguments: Sequence[int], stream: object, threads: int = 0
    ) -> None:
        if kernel.key not in self.programs:
            self.programs[kernel.key] = Program(kernel.ptx((9, 0)), kernel.dynamic_shared)
        x, y = (blocks, 1) if isinstance(blocks, int) else blocks
        with np.errstate(over="ignore"):
            for by in range(y):
                for bx in range(x):
                    program = self.programs[kernel.key]
                    Block(program, self.memory, threads or kernel.threads, (bx, by), arguments, (x, y)).run()
