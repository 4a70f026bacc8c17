"""Inversion modulo p by division steps, as blocks of PTX on 13 limbs of 30 bits; each block with its meaning on integers.

A round does 30 division steps on the low words of f and g, which gives a 2 × 2 matrix of integers, and then applies the matrix
to f, g (exactly divisible by 2^30) and modulo p to d, e (made divisible by a multiple of p). f = ±1 and g = 0 at the end, and
d is ± the inverse. No product of field elements is needed. The lower 12 limbs are in [0, 2^30), the top limb is signed.

Source  Bernstein, Yang, "Fast constant-time gcd computation and modular inversion", TCHES 2019; steps and bounds with
        delta = 1/2 as in bitcoin-core/secp256k1 doc/safegcd_implementation.md
"""

from __future__ import annotations

from collections.abc import Sequence

from cuzk.cuda.inline import Block
from cuzk.field.params import P

BITS, LIMBS, WORDS, STEPS = 30, 13, 12, 30
MASK = (1 << BITS) - 1
MATRIX = 4
Names = list[str]
Limbs = tuple[int, ...]


def to_limbs(value: int) -> Limbs:
    """An integer in [−2^389, 2^389) as 13 words."""
    low = [(value >> (BITS * i)) & MASK for i in range(LIMBS - 1)]
    return (*low, (value >> (BITS * (LIMBS - 1))) & 0xFFFFFFFF)


def from_limbs(limbs: Sequence[int]) -> int:
    """The inverse of `to_limbs`."""
    return sum(int(v) << (BITS * i) for i, v in enumerate(limbs[:-1])) + (signed(limbs[-1]) << (BITS * (LIMBS - 1)))


def signed(word: int) -> int:
    """A 32-bit word as a signed integer."""
    word = int(word)
    return word - (1 << 32) if word >> 31 else word


class _Text:
    """PTX lines; operands are the result's words, then the arguments'."""

    def __init__(self, result: int, *arguments: int) -> None:
        self.shape = result, arguments
        self.lines: Names = []
        self.words: Names = []
        self.wide: Names = []
        self.result = [f"${i}" for i in range(result)]

    def argument(self, index: int) -> Names:
        start = self.shape[0] + sum(self.shape[1][:index])
        return [f"${start + i}" for i in range(self.shape[1][index])]

    def word(self, *names: str) -> Names:
        self.words += names
        return list(names)

    def emit(self, operation: str, *operands: str) -> None:
        self.lines.append(f"{operation} {', '.join(operands)};")

    def interleave(self, *streams: Names) -> None:
        """Lines of independent computations in turn: neither waits for its own last result alone."""
        for lines in zip(*streams, strict=True):
            self.lines += lines

    def taken(self) -> Names:
        """The lines so far, taken out."""
        lines, self.lines = self.lines, []
        return lines

    def block(self) -> Block:
        head = [f".reg .b32 {', '.join(self.words)};"] + ([f".reg .b64 {', '.join(self.wide)};"] if self.wide else [])
        return Block("\n".join(["{", *head, *self.lines, "}"]), *self.shape)


def split() -> Block:
    """12 words of 32 bits ↦ 13 limbs of 30 bits."""
    t = _Text(LIMBS, WORDS)
    a = t.argument(0)
    low, high = t.word("low", "high")
    for i in range(LIMBS):
        word, shift = divmod(BITS * i, 32)
        t.emit("shr.u32", low, a[word], str(shift))
        if shift > 32 - BITS and word + 1 < WORDS:
            t.emit("shl.b32", high, a[word + 1], str(32 - shift))
            t.emit("or.b32", low, low, high)
        t.emit("and.b32", t.result[i], low, hex(MASK))
    # Results are written before all arguments are read: the caller's registers must not be shared.
    return _apart(t)


def _apart(t: _Text) -> Block:
    """The block with results gathered in registers of its own first, since operands may share registers with arguments."""
    own = t.word(*(f"r{i}" for i in range(len(t.result))))
    names = dict(zip(t.result, own, strict=True))
    lines = []
    for line in t.lines:
        operation, operands = line[:-1].split(" ", 1)
        lines.append(f"{operation} {', '.join(names.get(name, name) for name in operands.split(', '))};")
    t.lines = lines + [f"mov.b32 {to}, {source};" for to, source in names.items()]
    return t.block()


def steps() -> Block:
    """(zeta, f mod 2^32, g mod 2^32) ↦ (zeta, u, v, q, r) after 30 division steps; f odd; see `steps_meaning`."""
    t = _Text(5, 3)
    zeta, f, g, u, v, q, r = t.word("zeta", "f", "g", "u", "v", "q", "r")
    swap, odd, x, y = t.word("swap", "odd", "x", "y")
    for name, value in zip((zeta, f, g, u, v, q, r), (*t.argument(0), "1", "0", "0", "1"), strict=True):
        t.emit("mov.b32", name, value)
    for _ in range(STEPS):
        t.emit("shr.s32", swap, zeta, "31")  # all ones if delta > 0
        t.emit("and.b32", odd, g, "1")
        t.emit("sub.u32", odd, "0", odd)  # all ones if g is odd
        for left, right in ((f, g), (u, q), (v, r)):
            t.emit("xor.b32", x, left, swap)
            t.emit("sub.u32", x, x, swap)
            t.emit("and.b32", x, x, odd)
            t.emit("add.u32", right, right, x)
        t.emit("and.b32", swap, swap, odd)
        t.emit("xor.b32", zeta, zeta, swap)
        t.emit("sub.u32", zeta, zeta, "1")
        for left, right in ((f, g), (u, q), (v, r)):
            t.emit("and.b32", y, right, swap)
            t.emit("add.u32", left, left, y)
        t.emit("shr.u32", g, g, "1")
        t.emit("shl.b32", u, u, "1")
        t.emit("shl.b32", v, v, "1")
    for to, name in zip(t.result, (zeta, u, v, q, r), strict=True):
        t.emit("mov.b32", to, name)
    return t.block()


def steps_meaning(state: Sequence[int]) -> Limbs:
    """What `steps` does, on integers: 2^30 (f', g') = (u f + v g, q f + r g)."""
    zeta, f, g = signed(state[0]), int(state[1]), int(state[2])
    u, v, q, r = 1, 0, 0, 1
    for _ in range(STEPS):
        if zeta < 0 and g & 1:
            zeta, f, g, u, v, q, r = -zeta - 2, g, g - f, q << 1, r << 1, q - u, r - v
        else:
            odd = g & 1
            zeta, g, u, v, q, r = zeta - 1, g + odd * f, u << 1, v << 1, q + odd * u, r + odd * v
        g >>= 1
    return tuple(x & 0xFFFFFFFF for x in (zeta, u, v, q, r))


def _matrix_rows(t: _Text) -> tuple[list[tuple[str, str]], Names]:
    u, v, q, r = t.argument(2)
    t.wide += ["c0", "c1"]
    return [(u, v), (q, r)], ["c0", "c1"]


def update_fg() -> Block:
    """(f, g, matrix) ↦ f', g' of `steps_meaning`, 26 words."""
    t = _Text(2 * LIMBS, LIMBS, LIMBS, MATRIX)
    f, g = t.argument(0), t.argument(1)
    rows, carries = _matrix_rows(t)
    streams = []
    for k, ((a, b), c) in enumerate(zip(rows, carries, strict=True)):
        out = t.result[k * LIMBS : (k + 1) * LIMBS]
        t.emit("mul.wide.s32", c, a, f[0])
        t.emit("mad.wide.s32", c, b, g[0], c)
        t.emit("shr.s64", c, c, str(BITS))
        for i in range(1, LIMBS):
            t.emit("mad.wide.s32", c, a, f[i], c)
            t.emit("mad.wide.s32", c, b, g[i], c)
            _take(t, out[i - 1], c)
        t.emit("cvt.u32.u64", out[-1], c)
        streams.append(t.taken())
    t.interleave(*streams)
    return _apart(t)


def _take(t: _Text, out: str, carry: str) -> None:
    """out = the low limb of a carry, which is shifted down."""
    t.emit("cvt.u32.u64", out, carry)
    t.emit("and.b32", out, out, hex(MASK))
    t.emit("shr.s64", carry, carry, str(BITS))


def update_fg_meaning(f: Sequence[int], g: Sequence[int], matrix: Sequence[int]) -> Limbs:
    """What `update_fg` does, on integers."""
    u, v, q, r = map(signed, matrix)
    x, y = from_limbs(f), from_limbs(g)
    one, two = u * x + v * y, q * x + r * y
    assert not one & MASK and not two & MASK
    return to_limbs(one >> BITS) + to_limbs(two >> BITS)


def update_de() -> Block:
    """(d, e, matrix) ↦ (u d + v e)/2^30, (q d + r e)/2^30 modulo p, 26 words. Range: d, e in (−2 p, p), also after."""
    modulus = to_limbs(P)
    inverse = pow(P, -1, 1 << BITS)
    t = _Text(2 * LIMBS, LIMBS, LIMBS, MATRIX)
    d, e = t.argument(0), t.argument(1)
    rows, carries = _matrix_rows(t)
    d_sign, e_sign = t.word("ds", "es")
    t.emit("shr.s32", d_sign, d[-1], "31")
    t.emit("shr.s32", e_sign, e[-1], "31")
    begin, streams = t.taken(), []
    for k, ((a, b), c) in enumerate(zip(rows, carries, strict=True)):
        out = t.result[k * LIMBS : (k + 1) * LIMBS]
        x, m = t.word(f"x{k}", f"m{k}")
        # Negative d and e count as d + p and e + p; then the multiple of p is lowered to clear the low limb.
        t.emit("and.b32", m, a, d_sign)
        t.emit("and.b32", x, b, e_sign)
        t.emit("add.u32", m, m, x)
        t.emit("mul.wide.s32", c, a, d[0])
        t.emit("mad.wide.s32", c, b, e[0], c)
        t.emit("cvt.u32.u64", x, c)
        t.emit("mad.lo.u32", x, x, hex(inverse), m)
        t.emit("and.b32", x, x, hex(MASK))
        t.emit("sub.u32", m, m, x)
        t.emit("mad.wide.s32", c, m, hex(modulus[0]), c)
        t.emit("shr.s64", c, c, str(BITS))
        for i in range(1, LIMBS):
            t.emit("mad.wide.s32", c, a, d[i], c)
            t.emit("mad.wide.s32", c, b, e[i], c)
            t.emit("mad.wide.s32", c, m, hex(modulus[i]), c)
            _take(t, out[i - 1], c)
        t.emit("cvt.u32.u64", out[-1], c)
        streams.append(t.taken())
    t.lines = begin
    t.interleave(*streams)
    return _apart(t)


def update_de_meaning(d: Sequence[int], e: Sequence[int], matrix: Sequence[int]) -> Limbs:
    """What `update_de` does, on integers."""
    entries = [signed(x) for x in matrix]
    x, y = from_limbs(d), from_limbs(e)
    out: Limbs = ()
    for a, b in (entries[:2], entries[2:]):
        total = a * x + b * y
        m = (a if x < 0 else 0) + (b if y < 0 else 0)
        m -= (total * pow(P, -1, 1 << BITS) + m) & MASK
        total += m * P
        assert not total & MASK
        out += to_limbs(total >> BITS)
    return out


def finish() -> Block:
    """(d, top limb of f) ↦ d sign(f) mod p in [0, p), 12 words of 32 bits. Range: d in (−2 p, p)."""
    modulus = to_limbs(P)
    t = _Text(WORDS, LIMBS, 1)
    d = t.word(*(f"d{i}" for i in range(LIMBS)))
    x, carry, sign, flip = t.word("x", "carry", "sign", "flip")

    def add_modulus_if_negative(source: Names) -> None:
        t.emit("shr.s32", sign, source[-1], "31")
        t.emit("mov.b32", carry, "0")
        for i in range(LIMBS):
            t.emit("and.b32", x, sign, hex(modulus[i]))
            t.emit("add.u32", x, x, source[i])
            settle(i)

    def settle(i: int) -> None:
        t.emit("add.u32", d[i], x, carry)
        if i < LIMBS - 1:
            t.emit("shr.s32", carry, d[i], str(BITS))
            t.emit("and.b32", d[i], d[i], hex(MASK))

    add_modulus_if_negative(t.argument(0))
    t.emit("shr.s32", flip, t.argument(1)[0], "31")
    t.emit("mov.b32", carry, "0")
    for i in range(LIMBS):
        t.emit("xor.b32", x, d[i], flip)
        t.emit("sub.u32", x, x, flip)
        settle(i)
    add_modulus_if_negative(d)
    for i in range(WORDS):
        limb, shift = divmod(32 * i, BITS)
        t.emit("shr.u32", x, d[limb], str(shift))
        for k in (1, 2):
            up = k * BITS - shift
            if up < 32 and limb + k < LIMBS:
                t.emit("shl.b32", carry, d[limb + k], str(up))
                t.emit("or.b32", x, x, carry)
        t.emit("mov.b32", t.result[i], x)
    return t.block()


def finish_meaning(d: Sequence[int], top: int) -> int:
    """What `finish` does, on integers."""
    return from_limbs(d) * (-1 if signed(top) < 0 else 1) % P
