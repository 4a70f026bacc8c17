"""Fp and Fr in compiled code against plain integers."""

from __future__ import annotations

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir
from numba import njit

from cuzk.field import batch, fp, fr
from cuzk.field.limbs import from_limbs, to_limbs
from cuzk.field.params import P, R
from cuzk.field.prime import Arithmetic
from tests.conftest import Draw

FIELDS = {"fp": (fp, P, 6), "fr": (fr, R, 4)}


def operations(field):
    """Kernel that applies every operation to element 0 and 1 of a, results into out."""
    half = field.FIELD.constant(pow(2, -1, field.FIELD.modulus))
    select, eq, less, is_zero = field.select, field.eq, field.less, field.is_zero
    one, zero = field.ONE, field.ZERO

    @njit(error_model="numpy")
    def run(out, a):
        x, y = field.load(a, 0), field.load(a, 1)
        field.store(out, 0, field.add(x, y))
        field.store(out, 1, field.sub(x, y))
        field.store(out, 2, field.neg(x))
        field.store(out, 3, field.mul(x, y))
        field.store(out, 4, field.sqr(x))
        field.store(out, 5, field.double(x))
        field.store(out, 6, field.inv(x))
        field.store(out, 7, field.mul(x, half))
        field.store(out, 8, select(eq(x, y), one, zero))
        field.store(out, 9, select(is_zero(x), one, zero))
        field.store(out, 10, select(less(field.to_canon(x), field.to_canon(y)), one, zero))
        field.store(out, 11, field.to_canon(x))
        field.store(out, 12, field.from_canon(field.to_canon(x)))

    return run


def expected(x: int, y: int, p: int, radix: int) -> list[int]:
    values = [x + y, x - y, -x, x * y, x * x, 2 * x, pow(x, -1, p) if x else 0, x * pow(2, -1, p), x == y, x == 0, x < y]
    return [int(v) * radix % p for v in values] + [x, x * radix % p]


@pytest.mark.parametrize("name", FIELDS)
def test_operations_against_integers(name: str, draw: Draw) -> None:
    field, p, limbs = FIELDS[name]
    radix = field.FIELD.radix
    run = operations(field)
    nasty = [
        0,
        1,
        2,
        p - 1,
        p - 2,
        p // 2,
        p // 2 + 1,
        radix % p,
        -radix % p,
        (1 << 64) - 1,
        1 << 63,
        (1 << (64 * limbs - 4)) % p,
    ]
    pairs = [(x, y) for x in nasty for y in nasty] + list(zip(draw.many(p, 200), draw.many(p, 200)[::-1], strict=True))
    out = np.zeros((13, limbs), np.uint64)
    for x, y in pairs:
        run(out, to_limbs([x * radix % p, y * radix % p], limbs))
        got = from_limbs(out)
        assert got == expected(x, y, p, radix), (draw, name, hex(x), hex(y))
        assert all(v < p for v in got)


@pytest.mark.parametrize("name", FIELDS)
def test_stored_all_ones_limbs(name: str) -> None:
    """Montgomery forms with limbs of all ones, which no random test meets."""
    field, p, limbs = FIELDS[name]
    unradix = pow(field.FIELD.radix, -1, p)
    run, out = operations(field), np.zeros((13, limbs), np.uint64)
    patterns = [((1 << (64 * k)) - 1) << (64 * j) for k in range(1, limbs + 1) for j in range(limbs - k + 1)]
    stored = [v for v in [*patterns, p - 1, p - (1 << 64), p - 2**128] if v < p]
    for x in stored:
        for y in stored:
            run(out, to_limbs([x, y], limbs))
            assert from_limbs(out)[3] == x * y * unradix % p, (name, hex(x), hex(y))
            assert from_limbs(out)[:2] == [(x + y) % p, (x - y) % p]


def test_fused_products_square_roots_and_halves(draw: Draw) -> None:
    @njit(error_model="numpy")
    def run(out, a):
        x, y, z, w = fp.load(a, 0), fp.load(a, 1), fp.load(a, 2), fp.load(a, 3)
        fp.store(out, 0, fp.mul_add(x, y, z, w))
        fp.store(out, 1, fp.mul_sub(x, y, z, w))
        fp.store(out, 2, fp.sqr(fp.sqrt(x)))
        fp.store(out, 3, fp.select(fp.is_larger(fp.to_canon(x)), fp.ONE, fp.ZERO))

    out = np.zeros((4, 6), np.uint64)
    nasty = [0, 1, P - 1, (P - 1) // 2, (P + 1) // 2]
    rows = [(a, b, c, d) for a in nasty for b in nasty for c in nasty for d in nasty]
    rows += [tuple(draw.below(P) for _ in range(4)) for _ in range(200)]
    for x, y, z, w in rows:
        run(out, to_limbs([v * fp.FIELD.radix % P for v in (x, y, z, w)], 6))
        square = pow(x, (P - 1) // 2, P) in (0, 1)
        want = [x * y + z * w, x * y - z * w, x if square else -x, int(x > P - x)]
        assert from_limbs(out) == [v * fp.FIELD.radix % P for v in want], (draw, x, y, z, w)


def test_bytes_and_the_bits_above_the_modulus(draw: Draw) -> None:
    @njit(error_model="numpy")
    def run(out, flags, data):
        x = fp.load_be(data, 3)
        flags[0] = fp.high(x)
        flags[1] = np.uint64(fp.is_reduced(x))
        flags[2] = np.uint64(fp.is_reduced(fp.low(x)))
        fp.store(out, 0, fp.low(x))
        fp.store_be(data, 60, x)

    values = [0, 1, P - 1, P, P + 1, (1 << 381) - 1, 1 << 381, (1 << 384) - 1, *(draw.below(1 << 384) for _ in range(50))]
    for v in values:
        data = np.zeros(120, np.uint8)
        data[3:51] = list(v.to_bytes(48, "big"))
        out, flags = np.zeros((1, 6), np.uint64), np.zeros(3, np.uint64)
        run(out, flags, data)
        low = v % (1 << 381)
        assert [int(f) for f in flags] == [v >> 381, v < P, low < P], hex(v)
        assert from_limbs(out) == [low]
        assert data[60:108].tobytes() == v.to_bytes(48, "big")
        assert not data[51:60].any()
        assert not data[108:].any()


@pytest.mark.parametrize("n", [0, 1, 2, 3, 17])
def test_batch_inversion(n: int, draw: Draw) -> None:
    invert_all = batch.inversion(fp)

    @njit(error_model="numpy")
    def run(out, a, n):
        invert_all(out, a, 1, 3, n)

    values = draw.many(P, n)
    a = np.full((3 * n + 3, 6), 7, np.uint64)
    a[1 : 3 * n + 1 : 3] = to_limbs([v * fp.FIELD.radix % P for v in values], 6)
    out = np.zeros((n, 6), np.uint64)
    run(out.reshape(-1), a.reshape(-1), n)
    assert from_limbs(out) == [pow(v, -1, P) * fp.FIELD.radix % P if v else 0 for v in values], draw


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "x86_64-linux-gnu"])
def test_arithmetic_compiles_for_other_hosts(triple: str) -> None:
    """The same LLVM bodies become an object file for arm64 and for a plain x86-64."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=3)
    module = ir.Module("arithmetic")
    module.triple, module.data_layout = triple, str(machine.target_data)
    for arithmetic in (Arithmetic("fp", P, 6), Arithmetic("fr", R, 4)):
        operations = {"add": 2, "sub": 2, "neg": 1, "mul": 2} | ({"mul_add": 4, "mul_sub": 4} if arithmetic.limbs == 6 else {})
        for operation, arity in operations.items():
            arithmetic.function(module, operation, arity).linkage = "external"
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    assert len(machine.emit_object(parsed)) > 5000
    assembly = machine.emit_assembly(parsed)
    assert "cuzk_fp_mul_sub" in assembly
    assert "__mul" not in assembly  # no call into a compiler's run-time library
