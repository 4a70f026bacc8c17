"""The emitters of both arithmetic paths against integers; the scalar one also compiles for arm64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from llvmlite import binding, ir

from cuzk import config
from cuzk.field import lanes, mulx
from cuzk.field.coordinates import coordinates
from cuzk.field.emit import Emitter
from cuzk.field.params import P, R
from cuzk.kernels.tree_cpu import _Bodies
from tests.conftest import Draw

PATHS = ["scalar"] + (["ifma"] if config.cpu_path() == "ifma" else [])
MODULI = {"fp": P, "fr": R}


class Bench:
    """Runs an operation of one output and two inputs, each `elements` field elements, on every lane."""

    def __init__(self, path: str, field: str, body: Callable[[Emitter, list[Any]], None], elements: int = 1) -> None:
        self.cls, self.modulus = lanes.emitter_class(path), MODULI[field]
        self.limbs, self.radix = self.cls.limb_count(self.modulus), self.cls.radix_of(self.modulus)
        self.words = elements * self.limbs * self.cls.LANES
        self.elements = elements
        op = lanes.operation("operation_under_test", field, 3, body, path=path)
        self._run = numba.njit(lambda o, x, y: op(o, 0, x, 0, y, 0))

    def pack(self, values: list[int]) -> Any:
        """Element i of lane l is values[i * LANES + l]."""
        lanes_, bits = self.cls.LANES, self.cls.BITS
        out = np.zeros(self.words, np.uint64)
        for i, v in enumerate(values):
            for j in range(self.limbs):
                limb = (v >> (bits * j)) & ((1 << bits) - 1) if j < self.limbs - 1 else v >> (bits * j)
                out[((i // lanes_) * self.limbs + j) * lanes_ + i % lanes_] = limb
        return out

    def unpack(self, words: Any) -> list[int]:
        array = words.reshape(self.elements, self.limbs, self.cls.LANES)
        return [
            sum(int(w) << (self.cls.BITS * j) for j, w in enumerate(array[i, :, l]))
            for i in range(self.elements)
            for l in range(self.cls.LANES)
        ]

    def __call__(self, xs: list[int], ys: list[int]) -> list[int]:
        out = np.zeros(self.words, np.uint64)
        self._run(out, self.pack(xs), self.pack(ys))
        return self.unpack(out)


def values(bench: Bench, bound: int, draw: Draw) -> list[int]:
    """One value a lane and element: below bound * modulus where the path is lazy, else below the modulus."""
    top = bench.modulus * bound if bench.cls.LANES > 1 else bench.modulus
    return [draw.below(top) for _ in range(bench.elements * bench.cls.LANES)]


def all_ones(bench: Bench) -> list[int]:
    return [bench.modulus - 1] * (bench.elements * bench.cls.LANES)


@pytest.fixture(params=["plain", "special"], autouse=True)
def product_form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the products, whatever suits this host: IFMA with Karatsuba's trick or not, scalar with `mulx` or not."""
    special = request.param == "special"
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "znver4" if special else "icelake-server")
    if not special:
        monkeypatch.setattr(mulx, "usable", lambda: False)


@pytest.fixture(params=[(p, f) for p in PATHS for f in MODULI], ids=lambda v: "-".join(v))
def where(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


def _two(e: Emitter, a: list[Any]) -> tuple[Any, Any]:
    return e.load(a[1]), e.load(a[2])


@pytest.mark.parametrize("bounds", [(1, 1), (2, 2), (4, 4)])
def test_products(where: tuple[str, str], bounds: tuple[int, int], draw: Draw) -> None:
    bench = Bench(*where, lambda e, a: e.store(a[0], e.mul(*_two(e, a))))
    _check_products(bench, bounds, draw, lambda x, y: x * y)


def test_products_of_large_multiples_of_p(draw: Draw) -> None:
    """Fp has 35 spare bits on the lazily reduced path: bounds may multiply to 2^30."""
    for path in PATHS:
        bench = Bench(path, "fp", lambda e, a: e.store(a[0], e.mul(*_two(e, a))))
        _check_products(bench, (1 << 15, 1 << 15), draw, lambda x, y: x * y)


def test_squares(where: tuple[str, str], draw: Draw) -> None:
    bench = Bench(*where, lambda e, a: e.store(a[0], e.sqr(e.load(a[1]))))
    _check_products(bench, (4, 1), draw, lambda x, y: x * x)


def _check_products(bench: Bench, bounds: tuple[int, int], draw: Draw, product: Callable[[int, int], int]) -> None:
    m, unradix = bench.modulus, pow(bench.radix, -1, bench.modulus)
    for k in range(40):
        xs = all_ones(bench) if k == 0 else values(bench, bounds[0], draw)
        ys = all_ones(bench) if k == 0 else values(bench, bounds[1], draw)
        for x, y, z in zip(xs, ys, bench(xs, ys), strict=True):
            assert z % m == product(x, y) * unradix % m, (x, y)
            assert z < (2 * m if bench.cls.LANES > 1 else m)


def test_sums_and_differences(where: tuple[str, str], draw: Draw) -> None:
    def body(e: Emitter, a: list[Any]) -> None:
        x, y = _two(e, a)
        e.store(a[0], e.lin([x, x], [y, x, y], 6))

    bench = Bench(*where, body)
    for _ in range(40):
        xs, ys = values(bench, 2, draw), values(bench, 2, draw)
        for x, y, z in zip(xs, ys, bench(xs, ys), strict=True):
            expected = x - 2 * y + 6 * bench.modulus
            assert z == (expected if bench.cls.LANES > 1 else expected % bench.modulus)


def test_differences_of_nothing(where: tuple[str, str]) -> None:
    bench = Bench(*where, lambda e, a: e.store(a[0], e.lin([], [e.load(a[1])], 1)))
    for v in (0, 1, bench.modulus - 1):
        got = set(bench([v] * bench.cls.LANES, [0] * bench.cls.LANES))
        assert {g % bench.modulus for g in got} == {-v % bench.modulus}


def test_products_by_fixed_factors(where: tuple[str, str], draw: Draw) -> None:
    bench = Bench(*where, lambda e, a: e.store(a[0], e.mul_fixed(e.load(a[1]), e.broadcast_fixed(a[2]))))
    m, out = bench.modulus, np.zeros(bench.words, np.uint64)
    most = min(1 << 16, bench.radix // m)  # as many moduli as fit the limbs
    for bound in (1, 2, 16, most) * 10:
        factor = draw.below(m)
        xs = values(bench, bound, draw)
        xs[0] = (m * bound if bench.cls.LANES > 1 else m) - 1
        words = np.array(bench.cls.fixed_words(factor, m) + [0] * bench.words, np.uint64)
        bench._run(out, bench.pack(xs), words)
        for x, z in zip(xs, bench.unpack(out), strict=True):
            assert z % m == x * factor % m, (x, factor)
            assert z < ((2 * bench.radix + x) * m // bench.radix + 1 if bench.cls.LANES > 1 else m), (x, factor)


def test_products_by_factors_fixed_in_lanes(where: tuple[str, str], draw: Draw) -> None:
    def body(e: Emitter, a: list[Any]) -> None:
        x, y = _two(e, a)
        e.store(a[0], e.mul_fixed(x, e.fixed(y)))

    _check_products(Bench(*where, body), (4, 2), draw, lambda x, y: x * y)


def test_settled_sums(where: tuple[str, str], draw: Draw) -> None:
    bench = Bench(*where, lambda e, a: e.store(a[0], e.settle([e.load(a[1])] * 2, [e.load(a[2])], 4)))
    m = bench.modulus
    edges = [(i << m.bit_length()) // 2 + d for i in range(10) for d in (-1, 0, 1) if i or d >= 0] + [m, 2 * m - 1, 5 * m]
    for _ in range(40):
        xs, ys = values(bench, 5, draw), values(bench, 3, draw)
        if bench.cls.LANES > 1:
            xs[0], ys[0] = draw.random.choice(edges), draw.random.choice([0, 1, 3 * m])
        for x, y, z in zip(xs, ys, bench(xs, ys), strict=True):
            assert z % m == (2 * x - y) % m, (x, y)
            assert z < (2.3 * m if bench.cls.LANES > 1 else m), (x, y)


def test_one_subtraction_reduces(where: tuple[str, str], draw: Draw) -> None:
    bench = Bench(*where, lambda e, a: e.store(a[0], e.reduce_once(e.load(a[1]))))
    for _ in range(20):
        xs = values(bench, 2, draw)
        assert bench(xs, xs) == [x % bench.modulus for x in xs]


def test_zero_is_told_from_everything_else(where: tuple[str, str], draw: Draw) -> None:
    def body(e: Emitter, a: list[Any]) -> None:
        e.store(a[0], e.select(e.zero_below(e.load(a[1]), 3), e.const(1), e.const(0)))

    bench = Bench(*where, body)
    m = bench.modulus
    nasty = [0, 1, m - 1] + ([m, 2 * m, m + 1, 2 * m - 1, 3 * m - 1] if bench.cls.LANES > 1 else [])
    for _ in range(20):
        xs = [draw.random.choice(nasty) for _ in range(bench.cls.LANES)]
        assert bench(xs, xs) == [int(x % m == 0) for x in xs]


def test_words_and_limbs(where: tuple[str, str], draw: Draw) -> None:
    """52-bit limbs to 64-bit words and back is the identity, and equals cutting the integer."""
    count = {"fp": 6, "fr": 4}[where[1]]

    def body(e: Emitter, a: list[Any]) -> None:
        e.store(a[0], e.from_words(e.to_words(e.load(a[1]), count)))

    bench = Bench(*where, body)
    for _ in range(10):
        xs = values(bench, 1, draw)
        assert bench(xs, xs) == xs


@pytest.mark.parametrize("path", PATHS)
def test_quadratic_products(path: str, draw: Draw) -> None:
    def body(e: Emitter, a: list[Any]) -> None:
        f = coordinates("g2", e)
        f.store(a[0], f.mul(f.load(a[1]), f.load(a[2])))

    bench = Bench(path, "fp", body, 2)
    unradix, n = pow(bench.radix, -1, P), bench.cls.LANES
    for k in range(60):
        bound = 1 << 14 if k % 2 else 1
        xs = all_ones(bench) if k == 0 else values(bench, bound, draw)
        ys = all_ones(bench) if k == 0 else values(bench, bound, draw)
        if k == 2:  # c0 as negative as can be
            xs = ys = [0] * n + [P - 1] * n
        got = bench(xs, ys)
        for x0, x1, y0, y1, z0, z1 in zip(xs[:n], xs[n:], ys[:n], ys[n:], got[:n], got[n:], strict=True):
            assert z0 % P == (x0 * y0 - x1 * y1) * unradix % P
            assert z1 % P == (x0 * y1 + x1 * y0) * unradix % P
            assert max(z0, z1) < (4 * P if n > 1 else P)


@pytest.mark.parametrize("path", PATHS)
def test_quadratic_squares_and_norms(path: str, draw: Draw) -> None:
    def body(e: Emitter, a: list[Any]) -> None:
        f = coordinates("g2", e)
        x = f.sqr(f.load(a[1]), 4)
        f.store(a[0], x)

    bench = Bench(path, "fp", body, 2)
    unradix, n = pow(bench.radix, -1, P), bench.cls.LANES
    for _ in range(40):
        xs = values(bench, 4, draw)
        got = bench(xs, xs)
        for x0, x1, z0, z1 in zip(xs[:n], xs[n:], got[:n], got[n:], strict=True):
            assert (z0 % P, z1 % P) == ((x0 * x0 - x1 * x1) * unradix % P, 2 * x0 * x1 * unradix % P)
            assert max(z0, z1) < (4 * P if n > 1 else P)


@pytest.mark.parametrize("curve", ["g1", "g2"])
def test_scalar_kernels_compile_for_arm64(curve: str) -> None:
    """Every field kernel of the trees becomes AArch64 machine code: the scalar path asks for nothing that x86-64 alone has."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = ir.Module("arm64")
    module.triple = "aarch64-unknown-linux-gnu"
    bodies = _Bodies(curve)
    kernels = {
        "prefetch": 2,
        "gather": 3,
        "forward": 6,
        "chain": 3,
        "backward": 7,
        "classify": 5,
        "backward_rare": 8,
        "finish": 3,
        "fold": 3,
    }
    kernels["unfold"] = 3
    for name, pointers in kernels.items():
        lanes.define(module, name, "fp", pointers, getattr(bodies, name), path="scalar").linkage = "external"
    parsed = binding.parse_assembly(str(module))
    parsed.verify()
    machine = binding.Target.from_triple(module.triple).create_target_machine(opt=2)
    code = machine.emit_object(parsed)
    assert code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == 183  # EM_AARCH64
    assembly = machine.emit_assembly(parsed)
    assert "umulh" in assembly and all(f"{name}:" in assembly for name in kernels)
