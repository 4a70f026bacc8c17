"""Eight lanes of 52-bit limbs on AVX-512 IFMA. Fp: 8 limbs, radix 2^416; Fr: 5 limbs, radix 2^260.

`vpmadd52luq` and `vpmadd52huq` add the low or high 52 bits of a 52 × 52 bit product to a 64-bit accumulator, so a column of a
product can take 2^12 terms before it overflows. Carries are propagated once, at the end.

Where multiplications and additions have ports of their own (AMD), Fp products take one step of Karatsuba's trick: 96 instead of
128 multiply-adds, for some 70 additions. Elsewhere both compete for the same ports, and the plain product is faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import binding, ir

from cuzk.field.emit import I32, I64, Element, Emitter, function_in

WIDTH = 8
V = ir.VectorType(I64, WIDTH)


class IfmaEmitter(Emitter):
    """See the module. Limbs of operands must be below 2^52 (the multiplier ignores higher bits)."""

    LANES = WIDTH
    BITS = 52
    vector = V

    def __init__(self, builder: ir.IRBuilder, modulus: int) -> None:
        super().__init__(builder, modulus)
        base = 1 << self.BITS
        self._inverse = -pow(modulus, -1, base) % base
        # M = k p with k = −1/p mod 2^52, so M = −1 mod 2^52: the Montgomery digit of a round is the low limb itself,
        # and t + digit * M = (t >> 52) + digit * (M + 1) / 2^52 after the shift.
        self._m_limbs = self.split((self._inverse * modulus + 1) >> self.BITS)
        self.karatsuba = self.limbs % 4 == 0 and binding.get_host_cpu_name().startswith("znver")
        self._m_rounds = self.limbs - (1 if self._inverse < base >> 1 else 2)
        self._p_limbs = self.split(modulus)
        self._lo = function_in(builder.module, "llvm.x86.avx512.vpmadd52l.uq.512", V, [V, V, V])
        self._hi = function_in(builder.module, "llvm.x86.avx512.vpmadd52h.uq.512", V, [V, V, V])
        self._pick = function_in(builder.module, "llvm.x86.avx512.vpermi2var.q.512", V, [V, V, V])

    def splat(self, word: int) -> Any:
        return ir.Constant(V, [word] * WIDTH)

    def lo(self, t: Any, x: Any, y: Any) -> Any:
        """t + low 52 bits of x y."""
        return self.b.call(self._lo, [t, x, y])

    def hi(self, t: Any, x: Any, y: Any) -> Any:
        """t + high 52 bits of x y."""
        return self.b.call(self._hi, [t, x, y])

    def normalise(self, t: Element) -> Element:
        """Propagate carries of signed limbs. The value must not be negative."""
        b, out, carry = self.b, [], None
        for j, limb in enumerate(t):
            v = limb if carry is None else b.add(limb, carry)
            if j < len(t) - 1:
                out.append(b.and_(v, self.splat((1 << self.BITS) - 1)))
                carry = b.ashr(v, self.splat(self.BITS))
            else:
                out.append(v)
        return out

    def _round(self, low: Element, high: Element, i: int, last: bool) -> None:
        """One Montgomery round on column i of two accumulators (low halves, high halves one column up), signed columns."""
        b = self.b
        t = b.add(low[i], high[i])
        if not last and i < self._m_rounds:
            for j, m in enumerate(self._m_limbs):
                low[i + j + 1] = self.lo(low[i + j + 1], t, self.splat(m))
                high[i + j + 2] = self.hi(high[i + j + 2], t, self.splat(m))
            low[i + 1] = b.add(low[i + 1], b.ashr(t, self.splat(self.BITS)))
            return
        # The last round takes p itself, which keeps the result below (1 + k / 2^52) p plus the product over the radix; where k is
        # near 2^52, as for Fr, so does the one before, and the result is below (1 + 2^-52) p plus the product over the radix.
        digit = self.lo(self.splat(0), t, self.splat(self._inverse))
        column = self.lo(t, digit, self.splat(self._p_limbs[0]))
        high[i + 1] = self.hi(high[i + 1], digit, self.splat(self._p_limbs[0]))
        for j, p in enumerate(self._p_limbs[1:], 1):
            low[i + j] = self.lo(low[i + j], digit, self.splat(p))
            high[i + j + 1] = self.hi(high[i + j + 1], digit, self.splat(p))
        low[i + 1] = b.add(low[i + 1], b.ashr(column, self.splat(self.BITS)))

    def _reduced(self, low: Element, high: Element, offset: Element | None = None) -> Element:
        """Montgomery reduction of 2n columns (low halves; high halves), plus offset."""
        n, b, zero = self.limbs, self.b, self.splat(0)
        low, high = [*low, zero, zero], [*high, zero, zero]
        for i in range(n):
            self._round(low, high, i, i == n - 1)
        out = [b.add(low[n + j], high[n + j]) for j in range(n)]
        return self.normalise(out if offset is None else [b.add(u, v) for u, v in zip(out, offset, strict=True)])

    def _accumulate(self, out: Element, x: Element, y: Element) -> None:
        """Add the columns of x y."""
        for i, v in enumerate(y):
            for j, u in enumerate(x):
                out[i + j] = self.lo(out[i + j], u, v)
                out[i + j + 1] = self.hi(out[i + j + 1], u, v)

    def _product(self, x: Element, y: Element) -> Element:
        """The columns of x y."""
        out = [self.splat(0)] * (len(x) + len(y))
        self._accumulate(out, x, y)
        return out

    def _square(self, x: Element) -> Element:
        """The columns of x^2."""
        out, n = [self.splat(0)] * (2 * len(x)), len(x)
        for i in range(n):
            self._accumulate_at(out, 2 * i + 1, x[i], x[i + 1 :])
        out = [self.b.add(v, v) for v in out]
        for i in range(n):
            self._accumulate_at(out, 2 * i, x[i], x[i : i + 1])
        return out

    def _accumulate_at(self, out: Element, column: int, u: Any, y: Element) -> None:
        for j, v in enumerate(y):
            out[column + j] = self.lo(out[column + j], u, v)
            out[column + j + 1] = self.hi(out[column + j + 1], u, v)

    def _difference(self, x: Element, y: Element) -> tuple[Element, Any]:
        """x − y + 2^(52 n) s, and −s, where s is 1 if the difference is negative."""
        out = self.normalise([self.b.sub(u, v) for u, v in zip(x, y, strict=True)])
        mask, sign = self.splat((1 << self.BITS) - 1), self.b.ashr(out[-1], self.splat(self.BITS))
        return [*out[:-1], self.b.and_(out[-1], mask)], sign

    def columns(self, x: Element, y: Element) -> Element:
        """The 2n columns of x y, signed on the Karatsuba path."""
        if not self.karatsuba:
            return self._product(x, y)
        # x_l y_h + x_h y_l = (x_l − x_h)(y_h − y_l) + x_l y_l + x_h y_h, and the differences are taken modulo B = 2^(52 n / 2):
        # (u − B s)(v − B t) = u v − B (s v + t u) + B^2 s t.
        b, half = self.b, self.limbs // 2
        low, high = self._product(x[:half], y[:half]), self._product(x[half:], y[half:])
        u, s = self._difference(x[:half], x[half:])
        v, t = self._difference(y[half:], y[:half])
        cross = self._product(u, v)
        for j in range(half):
            cross[half + j] = b.sub(cross[half + j], b.add(b.and_(s, v[j]), b.and_(t, u[j])))
        out = low + high
        for j in range(self.limbs):
            out[half + j] = b.add(out[half + j], b.add(b.add(low[j], high[j]), cross[j]))
        out[half + self.limbs] = b.sub(out[half + self.limbs], b.and_(s, t))
        return out

    def mul(self, x: Element, y: Element) -> Element:
        n = self.limbs
        if self.karatsuba:
            return self._reduced(self.columns(x, y), [self.splat(0)] * (2 * n))
        low, high = [self.splat(0)] * (2 * n + 2), [self.splat(0)] * (2 * n + 2)
        for i in range(n):
            for j in range(n):
                low[i + j] = self.lo(low[i + j], x[j], y[i])
                high[i + j + 1] = self.hi(high[i + j + 1], x[j], y[i])
            self._round(low, high, i, i == n - 1)
        return self.normalise([self.b.add(low[n + j], high[n + j]) for j in range(n)])

    @classmethod
    def fixed_words(cls, value: int, modulus: int) -> list[int]:
        n, mask = cls.limb_count(modulus), (1 << cls.BITS) - 1
        quotient = (value << (cls.BITS * n)) // modulus
        return [(v >> (cls.BITS * j)) & mask for v in (value, quotient) for j in range(n)]

    def broadcast_fixed(self, pointer: Any, word: int = 0) -> Element:
        return self.broadcast(pointer, word) + self.broadcast(pointer, word + self.limbs)

    def mul_fixed(self, x: Element, factor: Element) -> Element:
        # With B = 2^(52 n) and v = floor(w B / p), q = floor(x v / B) makes x w − q p lie between 0 and (1 + x / B) p. Only the
        # columns from n − 1 on of x v are made; what is left out is below B, so q may be one less. Then everything modulo B.
        n, b = self.limbs, self.b
        w, v = factor[:n], factor[n:]
        low, high = [self.splat(0)] * (2 * n), [self.splat(0)] * (2 * n + 1)
        for i in range(n):
            for j in range(n - 1 - i, n):
                low[i + j] = self.lo(low[i + j], x[j], v[i])
            for j in range(max(0, n - 2 - i), n):
                high[i + j + 1] = self.hi(high[i + j + 1], x[j], v[i])
        t, q = b.add(low[n - 1], high[n - 1]), []
        for column in range(n, 2 * n):
            t = b.add(b.lshr(t, self.splat(self.BITS)), b.add(low[column], high[column]))
            q.append(t)  # the multiplier ignores what is above 52 bits
        return self._low_product((x, w), (q, self.const(self.radix - self.modulus)))

    def _low_product(self, *pairs: tuple[Element, Element]) -> Element:
        """The sum of products modulo 2^(52 n)."""
        n, b = self.limbs, self.b
        low, high = [self.splat(0)] * n, [self.splat(0)] * (n + 1)
        for x, y in pairs:
            for i in range(n):
                for j in range(n - i):
                    low[i + j] = self.lo(low[i + j], x[j], y[i])
                    high[i + j + 1] = self.hi(high[i + j + 1], x[j], y[i])
        out = self.normalise([b.add(low[j], high[j]) for j in range(n)])
        return [*out[:-1], b.and_(out[-1], self.splat((1 << self.BITS) - 1))]

    def fixed(self, x: Element) -> Element:
        # x = w B mod p, and floor(w B / p) p = w B − x, an exact division modulo B.
        x = self.reduce_once(x)
        w = self.reduce_once(self.mul(x, self.const(1)))
        return w + self._low_product((x, self.const(-pow(self.modulus, -1, self.radix) % self.radix)))

    def load_fixed(self, pointer: Any) -> Element:
        return self.load(pointer) + self.load(pointer, first=self.limbs)

    def sqr(self, x: Element) -> Element:
        return self._reduced(self._square(x), [self.splat(0)] * (2 * self.limbs))

    def mul2(self, x: Element, y: Element) -> Element:
        # Karatsuba on unreduced columns: three products, two reductions. c0 = x0 y0 − x1 y1 may be negative, by less than p
        # after the reduction as long as the bounds are kept, so p is added: below 3 p.
        n, b = self.limbs, self.b
        x0, x1, y0, y1 = x[:n], x[n:], y[:n], y[n:]
        t0, t1 = self.columns(x0, y0), self.columns(x1, y1)
        both, zero = [b.add(u, v) for u, v in zip(t0, t1, strict=True)], [self.splat(0)] * (2 * n)
        c0 = self._reduced([b.sub(u, v) for u, v in zip(t0, t1, strict=True)], zero, self.const(self.modulus))
        t2 = self.columns(self.lin([x0, x1]), self.lin([y0, y1]))
        return c0 + self._reduced([b.sub(u, v) for u, v in zip(t2, both, strict=True)], zero)

    def _sum(self, plus: Sequence[Element], minus: Sequence[Element], offset: Element | None) -> Element:
        b, out = self.b, []
        for j in range(self.limbs):
            v = offset[j] if offset is not None else None
            for x in plus:
                v = x[j] if v is None else b.add(v, x[j])
            for x in minus:
                v = b.sub(self.splat(0) if v is None else v, x[j])
            out.append(v)
        return out

    def lin(self, plus: Sequence[Element], minus: Sequence[Element] = (), k: int | Element | None = None) -> Element:
        return self.normalise(self._sum(plus, minus, self.const(k * self.modulus) if isinstance(k, int) else k))

    def partial(self, plus: Sequence[Element], minus: Sequence[Element] = ()) -> Element:
        return self._sum(plus, minus, None)

    def settle(self, plus: Sequence[Element], minus: Sequence[Element] = (), k: int = 0) -> Element:
        b, limbs = self.b, self._sum(plus, minus, self.const(k * self.modulus) if k else None)
        # The bits of the top limb from the modulus's bit length on (exact up to the carry of the lower limbs) tell how many
        # moduli can go. That carry is below 2^-40 of a bucket, and no bucket begins so close to a multiple of the modulus.
        bits = self.modulus.bit_length()
        bucket = b.lshr(limbs[-1], self.splat(bits - self.BITS * (self.limbs - 1)))
        multiples = [self.split(((i << bits) // self.modulus) * self.modulus) for i in range(2 * WIDTH)]
        for j in range(self.limbs):
            low = ir.Constant(V, [m[j] for m in multiples[:WIDTH]])
            high = ir.Constant(V, [m[j] for m in multiples[WIDTH:]])
            limbs[j] = b.sub(limbs[j], b.call(self._pick, [low, bucket, high]))
        return self.normalise(limbs)

    def reduce_once(self, x: Element, k: int = 1) -> Element:
        d = self.normalise([self.b.sub(u, v) for u, v in zip(x, self.const(k * self.modulus), strict=True)])
        return self.select(self.b.icmp_signed("<", d[-1], self.splat(0)), x, d)

    def transpose(self, rows: Element) -> Element:
        """Eight vectors as an 8 × 8 matrix of words, transposed."""
        r, b = list(rows), self.b
        for s in (1, 2, 4):
            first = ir.Constant(ir.VectorType(I32, WIDTH), [j if j & s == 0 else WIDTH + j - s for j in range(WIDTH)])
            second = ir.Constant(ir.VectorType(I32, WIDTH), [j + s if j & s == 0 else WIDTH + j for j in range(WIDTH)])
            for k in range(WIDTH):
                if k & s == 0:
                    u, v = r[k], r[k + s]
                    r[k], r[k + s] = b.shuffle_vector(u, v, first), b.shuffle_vector(u, v, second)
        return r

    def deinterleave(self, vectors: Element) -> Element:
        """Eight consecutive elements of four words, as four vectors, to vectors that hold one word of every element."""
        quarters = ([0, 4, 8, 12, 1, 5, 9, 13], [2, 6, 10, 14, 3, 7, 11, 15])
        halves = ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15])
        a, c, d, f = (self._shuffle(vectors[i], vectors[i + 1], q) for i in (0, 2) for q in quarters)
        return [self._shuffle(u, v, h) for u, v in ((a, d), (c, f)) for h in halves]

    def interleave(self, words: Element) -> Element:
        """The inverse of `deinterleave`."""
        quarters = ([0, 8, 1, 9, 2, 10, 3, 11], [4, 12, 5, 13, 6, 14, 7, 15])
        halves = ([0, 1, 8, 9, 2, 3, 10, 11], [4, 5, 12, 13, 6, 7, 14, 15])
        a, c, d, f = (self._shuffle(words[i], words[i + 1], q) for i in (0, 2) for q in quarters)
        return [self._shuffle(u, v, h) for u, v in ((a, d), (c, f)) for h in halves]

    def _shuffle(self, u: Any, v: Any, lanes: list[int]) -> Any:
        return self.b.shuffle_vector(u, v, ir.Constant(ir.VectorType(I32, WIDTH), lanes))

    def rotate(self, x: Element, s: int) -> Element:
        """Lane l takes the value of lane l + s."""
        m = ir.Constant(ir.VectorType(I32, WIDTH), [(j + s) % WIDTH for j in range(WIDTH)])
        return [self.b.shuffle_vector(u, u, m) for u in x]

    def broadcast(self, pointer: Any, word: int = 0) -> Element:
        """`limbs` consecutive words from `word` on, each in every lane."""
        b, out = self.b, []
        words = b.bitcast(pointer, I64.as_pointer())
        undefined = ir.Constant(V, ir.Undefined)
        for j in range(self.limbs):
            v = b.insert_element(undefined, b.load(b.gep(words, [I64(word + j)])), I32(0))
            out.append(b.shuffle_vector(v, undefined, ir.Constant(ir.VectorType(I32, WIDTH), [0] * WIDTH)))
        return out

    def load_rows(self, addresses: Element, word: int) -> Element:
        return self.transpose([self.b.load(self._vector_at(a, word), align=8) for a in addresses])[: self.limbs]

    def store_rows(self, addresses: Element, word: int, x: Element) -> None:
        for a, v in zip(addresses, self.transpose(x), strict=True):
            self.b.store(v, self._vector_at(a, word), align=8)

    def from_words(self, words: Element) -> Element:
        """64-bit limbs (a value below 2^(52 limbs)) regrouped to 52-bit limbs, per lane."""
        b, out = self.b, []
        for j in range(self.limbs):
            q, s = divmod(self.BITS * j, 64)
            v = b.lshr(words[q], self.splat(s)) if s else words[q]
            if s > 64 - self.BITS and q + 1 < len(words):
                v = b.or_(v, b.shl(words[q + 1], self.splat(64 - s)))
            out.append(b.and_(v, self.splat((1 << self.BITS) - 1)) if j < self.limbs - 1 else v)
        return out

    def to_words(self, x: Element, words: int) -> Element:
        """52-bit limbs of a value below 2^(64 words) regrouped to 64-bit limbs, per lane."""
        b, out = self.b, []
        for q in range(words):
            v = None
            for j in range(self.limbs):
                shift = self.BITS * j - 64 * q
                if -self.BITS < shift < 64:
                    part = b.shl(x[j], self.splat(shift)) if shift >= 0 else b.lshr(x[j], self.splat(-shift))
                    v = part if v is None else b.or_(v, part)
            out.append(v)
        return out
