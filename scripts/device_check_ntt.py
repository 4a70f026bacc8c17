"""Check and time the field, the transforms and the quotient on a card, in one run, and write what was found as JSON.

Usage: python scripts/device_check_ntt.py OUT.json [--check 20,24,27] [--time 20,22,24,27] [--repeat 10]

Checks need no second implementation at full size: with w of order 64, the values X_j at the multiples of m/64 are sums over the
residues of k modulo 64 of c_k, and the other way round, so that sums over whole arrays, taken on the host, decide; a polynomial
at a point of odd order 627 in Fr* is such a sum too, and there a b − c = h (x^m − 1). Whatever is checked is made `--repeat`
times, and every element compared each time; the JSON says how often, and whether launches waited (CUDA_LAUNCH_BLOCKING=1).

Both ways: python scripts/device_check_ntt.py $OUT/h200-ntt.json &&
           CUDA_LAUNCH_BLOCKING=1 python scripts/device_check_ntt.py $OUT/h200-ntt-blocking.json --time "" --levels 0
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent.parent))

from cuzk import device
from cuzk.bench import cuda_field, cuda_measure, measure
from cuzk.cuda import compiler
from cuzk.field.limbs import FR_LIMBS, FR_RADIX, U64, fr_ints, fr_mont, from_limbs
from cuzk.field.params import FR_GENERATOR, R, omega
from cuzk.groth16.quotient_cuda import Quotient
from cuzk.kernels import ntt_cuda as kernels
from cuzk.kernels import ntt_radix8_cuda as radix8
from cuzk.kernels.launch import launch_over
from cuzk.ntt_cuda import Domain, Transform, reversal
from cuzk.spec import groth16 as spec_groth16
from cuzk.spec import ntt as spec
from cuzk.spec.field import Fr
from scripts.device_report import fail, recorded, say

CLASSES = 64
ODD_ORDER = 3 * 11 * 19


def random_elements(count: int, seed: int) -> U64:
    """Elements below 2^254 < r, uint64[count, 4]."""
    return measure.random_words((count, FR_LIMBS), seed)


def at_multiples(sums: list[int], inverse: bool) -> list[int]:
    """Σ_k x_k w^(± k j m/64) for j < 64 from the sums of x over residues modulo 64."""
    w = pow(omega(CLASSES.bit_length() - 1), -1 if inverse else 1, R)
    return [sum(s * pow(w, i * j, R) for i, s in enumerate(sums)) % R for j in range(CLASSES)]


def at_odd_point(array: U64) -> tuple[int, int]:
    """The polynomial with these coefficients at a point of order 627, and the point."""
    x = pow(FR_GENERATOR, (R - 1) // ODD_ORDER, R)
    return sum(s * pow(x, i, R) for i, s in enumerate(measure.class_sums(array, ODD_ORDER))) % R, x


def below_r(array: U64) -> bool:
    """Whether every element is below r."""
    top = np.uint64(R >> 192)
    if (array[:, 3] > top).any():
        return False
    return all(v < R for v in from_limbs(array[array[:, 3] == top][:1000]))


class Checks:
    """The run: one card, what is found."""

    def __init__(self, card: Any, repeat: int) -> None:
        self.card, self.repeat = card, repeat
        self.stream = card.stream()
        self.found: dict[str, Any] = {"checks": [], "times_ms": {}, "rates": {}, "repeat": repeat}

    def passed(self, what: str, times: int = 1) -> None:
        """Note a check that holds."""
        self.found["checks"].append({"what": what, "times": times})
        say(f"ok: {what}" + (f", {times} times" if times > 1 else ""))

    def read(self, buffer: Any, count: int) -> U64:
        """Elements of a buffer."""
        self.stream.synchronize()
        array: npt.NDArray[np.uint64] = buffer.read((count, FR_LIMBS), np.uint64)
        return array

    def differences(self, a: Any, b: Any, size: int) -> int:
        """Pieces of 16 bytes that differ between two buffers."""
        return cuda_measure.differences(self.card, self.stream, a.address, b.address, size)

    def median_ms(self, name: str, work: Callable[[], None], runs: int = 7) -> float:
        """Median device time of some work, noted."""
        work()
        times = [1e3 * s for s in cuda_measure.timed(self.card, self.stream, work, runs).device]
        self.found["times_ms"][name] = {"median": statistics.median(times), "min": min(times), "max": max(times), "runs": runs}
        say(f"{name}: {statistics.median(times):.4f} ms ({min(times):.4f}–{max(times):.4f})")
        return statistics.median(times)

    def compile_all(self) -> None:
        """Every kernel compiled and loaded: time, registers, local memory as the driver sees them."""
        start = time.perf_counter()
        rows = {}
        for key, kernel in sorted(compiler.kernels.items()):
            begun = time.perf_counter()
            rows[key] = self.card.resources(kernel) | {"seconds": round(time.perf_counter() - begun, 2), "level": kernel.level}
        self.found["kernels"] = rows
        say(f"{len(rows)} kernels in {time.perf_counter() - start:.1f} s: {json.dumps(rows)}")

    def rates(self, rounds: int) -> None:
        """Products a second, and that they are right."""
        for field in cuda_field.FIELDS:
            job = cuda_field.Products(self.card, self.stream, field, 0 if rounds > 100 else 1)
            for _ in range(self.repeat):
                job.checked()
            self.passed(f"{field} products", self.repeat)
            ms = self.median_ms(f"{field} products", functools.partial(job.run, rounds))
            self.found["rates"][f"{field}_products_per_ns"] = rate = job.products(rounds) / max(ms, 1e-9) / 1e6
            say(f"{field} products: {rate:.2f} G/s")
            job.buffer.free()

    def small(self, largest: int) -> None:
        """All sizes up to 2^largest and the four transforms against plain integers."""
        draw = random.Random(2)
        for log_size in range(largest + 1):
            values = [draw.randrange(R) for _ in range(1 << log_size)]
            domain = Domain(self.card, log_size)
            for name in ("ntt", "intt", "coset_ntt", "coset_intt"):
                want = fr_mont(getattr(spec, name)(Fr, values))
                for _ in range(self.repeat):
                    buffer = self.card.upload(fr_mont(values))
                    getattr(domain, name)(buffer.address, self.stream)
                    if not np.array_equal(self.read(buffer, len(values)), want):
                        fail(f"{name} of 2^{log_size}")
                    buffer.free()
            domain.free()
        self.passed(f"ntt, intt, coset_ntt, coset_intt of 2^0 … 2^{largest}", self.repeat)
        for log_size in range(3, largest + 1):
            vectors = [[draw.randrange(R) for _ in range(1 << log_size)] for _ in range(3)]
            buffers = [self.card.buffer(32 << log_size) for _ in vectors]
            quotient, arrays, want = Quotient(self.card, log_size), [fr_mont(v) for v in vectors], None
            for _ in range(self.repeat):
                for buffer, array in zip(buffers, arrays, strict=True):
                    buffer.write(array)
                quotient.run(*(b.address for b in buffers), self.stream)
                got = self.read(buffers[0], 1 << log_size)
                if want is None:
                    want, values = got, from_limbs(got)
                    if [values[k] for k in reversal(log_size)][:-1] != spec_groth16.quotient(Fr, *vectors):
                        fail(f"quotient of 2^{log_size}")
                if not np.array_equal(got, want):
                    fail(f"quotient of 2^{log_size} is not the same every time")
            for buffer in buffers:
                buffer.free()
            quotient.free()
        self.passed(f"quotient of 2^3 … 2^{largest}, values that do not satisfy a b = c", self.repeat)

    def large(self, log_size: int) -> None:
        """One size: dense data by sums, the same result time after time, and there and back."""
        m, card, stream = 1 << log_size, self.card, self.stream
        host = random_elements(m, log_size)
        data, kept = card.upload(host), card.buffer(32 * m)
        domain = Domain(card, log_size)
        backward, forward = domain.transform(True, FR_GENERATOR, pow(m, -1, R)), domain.transform(False, pow(FR_GENERATOR, -1, R))
        original = card.upload(host) if card.free_memory() > 40 * m else None
        backward.run(data.address, stream)
        stream.synchronize()
        kept.copy_from(data, 32 * m)
        # Coefficients c_k 7^k in bit-reversed order: their multiples of m/64 are the first 64, in bit-reversed order.
        inverse_m = pow(m, -1, R)
        want = [
            x * inverse_m * pow(FR_GENERATOR, j * (m // CLASSES), R) % R
            for j, x in enumerate(at_multiples(measure.class_sums(host, CLASSES), True))
        ]
        got = from_limbs(self.read(data, CLASSES))
        if got != [want[j] for j in reversal(6)]:
            fail(f"inverse transform of 2^{log_size}: coefficients at multiples of m/64")
        for _ in range(self.repeat - 1):
            if original is not None:
                data.copy_from(original, 32 * m, stream=stream)
            else:
                forward.run(data.address, stream)
            backward.run(data.address, stream)
            if self.differences(data, kept, 32 * m):
                fail(f"inverse transform of 2^{log_size} is not the same every time")
        self.passed(f"inverse coset transform of 2^{log_size}, dense", self.repeat)
        forward.run(data.address, stream)
        back = self.read(data, m)
        if not np.array_equal(back, host) or not below_r(back):
            fail(f"there and back at 2^{log_size}")
        kept.copy_from(data, 32 * m, stream=stream)
        for _ in range(self.repeat - 1):
            backward.run(data.address, stream)
            forward.run(data.address, stream)
            if self.differences(data, kept, 32 * m):
                fail(f"there and back at 2^{log_size} is not the same every time")
        self.passed(f"there and back at 2^{log_size}, every element", self.repeat)
        plain = domain.transform(False)
        kept.copy_from(data, 32 * m)
        for i in range(self.repeat):
            data.copy_from(kept, 32 * m, stream=stream)
            plain.run(data.address, stream)
            if i == 0:
                values = self.read(data, m)
                if original is not None:
                    original.copy_from(data, 32 * m)
            elif original is not None and self.differences(data, original, 32 * m):
                fail(f"forward transform of 2^{log_size} is not the same every time")
        # The input was in bit-reversed order: its first 64 are the coefficients at multiples of m/64.
        sums = [x * inverse_m % R for x in at_multiples(measure.class_sums(values, CLASSES), True)]
        if [sums[j] for j in reversal(6)] != from_limbs(host[:CLASSES]) or not below_r(values):
            fail(f"forward transform of 2^{log_size}: sums over all values")
        self.passed(f"forward transform of 2^{log_size}, dense, every value in a sum", self.repeat)
        for buffer in (data, kept, original):
            if buffer is not None:
                buffer.free()
        domain.free()

    def sparse(self, log_size: int) -> None:
        """Few coefficients, many values, at a size that may fill the card."""
        m, draw, card = 1 << log_size, random.Random(log_size), self.card
        need = 32 * m + Transform.table_bytes(log_size)
        if card.free_memory() < need:
            say(f"left out: 2^{log_size} needs {need} bytes, {card.free_memory()} are free")
            return
        data = card.buffer(32 * m)
        transform = Transform(card, log_size, inverse=False)
        w = omega(log_size)
        for _ in range(self.repeat):
            data.fill(0)
            coefficients = {draw.randrange(m): draw.randrange(R) for _ in range(8)} | {m - 1: 5}
            for k, x in coefficients.items():
                place = int(format(k, f"0{log_size}b")[::-1], 2)
                card.write_at(data.address + 32 * place, fr_mont([x]))
            transform.run(data.address, self.stream)
            self.stream.synchronize()
            for j in [0, 1, m - 1, m // 2, *(draw.randrange(m) for _ in range(60))]:
                got = np.empty((1, FR_LIMBS), np.uint64)
                card.read_at(data.address + 32 * j, got)
                if fr_ints(got) != [sum(x * pow(w, j * k, R) for k, x in coefficients.items()) % R]:
                    fail(f"sparse transform of 2^{log_size} at {j}")
        self.passed(f"forward transform of 2^{log_size}, nine coefficients, 64 values", self.repeat)
        transform.free()
        data.free()

    def quotient(self, log_size: int) -> None:
        """h of satisfied values: the identity at a point of odd order, and the times."""
        m, card, stream = 1 << log_size, self.card, self.stream
        quotient = Quotient(card, log_size)
        domain = quotient.domain
        a, b, c = (card.upload(random_elements(m, 100 + i)) for i in range(2)), None, None
        a, b = a
        c = card.buffer(32 * m)
        launch_over(card, kernels.multiply, m, stream, c.address, a.address, b.address, m)
        inputs = [card.buffer(32 * m) for _ in range(3)]
        for saved, vector in zip(inputs, (a, b, c), strict=True):
            stream.synchronize()
            saved.copy_from(vector, 32 * m)
        quotient.run(a.address, b.address, c.address, stream)
        stream.synchronize()
        domain.bit_reverse(a.address, stream)
        h = self.read(a, m)
        if h[-1].any() or not below_r(h):
            fail(f"quotient of 2^{log_size}: the last coefficient is not zero")
        h_x, x = at_odd_point(h)
        plain = domain.transform(True, 1, pow(m, -1, R))
        at_x = []
        for vector in inputs:
            b.copy_from(vector, 32 * m)
            plain.run(b.address, stream)
            domain.bit_reverse(b.address, stream)
            at_x.append(at_odd_point(self.read(b, m))[0] * pow(FR_RADIX, -1, R) % R)
        if (at_x[0] * at_x[1] - at_x[2] - h_x * (pow(x, m, R) - 1)) % R:
            fail(f"quotient of 2^{log_size}: a b − c is not h (x^m − 1)")
        self.same_every_time(quotient, log_size, (a, b, c), inputs, h)
        self.median_ms(
            f"quotient 2^{log_size}, seven transforms", lambda: quotient.run(a.address, b.address, c.address, stream), 5
        )
        self.median_ms(f"quotient 2^{log_size}, four transforms", lambda: quotient.product(a.address, b.address, stream), 5)
        quotient.free()
        for buffer in (a, b, c, *inputs):
            buffer.free()

    def same_every_time(self, quotient: Quotient, log_size: int, data: tuple[Any, ...], inputs: list[Any], h: U64) -> None:
        """h, and the product on the coset, of the same values again and again; the product is that of two checked transforms."""
        m, (a, b, c), stream = 1 << log_size, data, self.stream
        a.write(h)
        quotient.domain.bit_reverse(a.address, stream)
        kept = self.card.buffer(32 * m)
        kept.copy_from(a, 32 * m, stream=stream)
        for _ in range(self.repeat - 1):
            for vector, saved in zip(data, inputs, strict=True):
                vector.copy_from(saved, 32 * m, stream=stream)
            quotient.run(a.address, b.address, c.address, stream)
            if self.differences(a, kept, 32 * m):
                fail(f"quotient of 2^{log_size} is not the same every time")
        self.passed(f"quotient of 2^{log_size}: a b − c = h (x^m − 1) at a point", self.repeat)
        for vector, saved in zip((a, b), inputs, strict=False):
            vector.copy_from(saved, 32 * m, stream=stream)
            quotient.on_coset(vector.address, stream)
        launch_over(self.card, kernels.multiply, m, stream, kept.address, a.address, b.address, m)
        for _ in range(self.repeat):
            for vector, saved in zip((a, b), inputs, strict=False):
                vector.copy_from(saved, 32 * m, stream=stream)
            quotient.product(a.address, b.address, stream)
            if self.differences(a, kept, 32 * m):
                fail(f"product of 2^{log_size} on the coset is not that of both transforms")
        self.passed(f"product of 2^{log_size} on the coset: that of both transforms", self.repeat)
        kept.free()

    def times(self, log_size: int) -> None:
        """Transforms with coset and 1/m, pass by pass too, without them, and all passes by the kernels for any size."""
        m, card, stream = 1 << log_size, self.card, self.stream
        data = card.upload(random_elements(m, 7))
        for name, inverse, shift, factor in (
            ("forward", False, FR_GENERATOR, 1),
            ("inverse", True, FR_GENERATOR, pow(m, -1, R)),
            ("forward, subgroup", False, 1, 1),
            ("inverse, subgroup", True, 1, pow(m, -1, R)),
        ):
            for generic in (False, True):
                transform = Transform(card, log_size, inverse=inverse, shift=shift, factor=factor, generic=generic)
                what = f"ntt 2^{log_size} {name}" + (", generic kernels" if generic else "")
                self.median_ms(what, lambda t=transform: t.run(data.address, stream))
                for level in transform.levels:
                    self.median_ms(
                        f"{what}, pass of 2^{level.k} at stride 2^{level.log_stride}",
                        lambda t=transform, v=level: t.run_level(data.address, v, stream),
                        5,
                    )
                transform.free()
        data.free()

    def levels(self, log_size: int) -> None:
        """The passes of each place at the other assembler level, for comparison."""
        originals = {(name, place): getattr(radix8, name)[place] for name in ("dif", "dit") for place in radix8.PLACES}
        for (name, place), kernel in originals.items():
            other = compiler.Kernel(kernel.function, f"{kernel.name}_level3", kernel.threads, kernel.blocks, 0, 3)
            getattr(radix8, name)[place] = other
        try:
            before = dict(self.found["times_ms"])
            self.times(log_size)
            same = f"ntt 2^{log_size} "
            self.found["times_ms_level_3"] = {
                k: v for k, v in self.found["times_ms"].items() if k.startswith(same) and "generic" not in k
            }
            self.found["times_ms"] = before
        finally:
            for (name, place), kernel in originals.items():
                getattr(radix8, name)[place] = kernel


def logs(text: str) -> list[int]:
    """Comma-separated logarithms."""
    return [int(x) for x in text.split(",") if x]


def main() -> None:
    """Run everything; the JSON is written also when a check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--check", type=logs, default=[13, 17, 20, 24, 27])
    parser.add_argument("--sparse", type=logs, default=[28, 31])
    parser.add_argument("--time", type=logs, default=[20, 22, 24, 27])
    parser.add_argument("--quotient", type=logs, default=[24, 27])
    parser.add_argument("--small", type=int, default=11, help="largest size compared with plain integers")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--levels", type=int, default=27, help="size at which assembler levels are compared; 0: not")
    options = parser.parse_args()
    compiler.on_compile.append(lambda name, seconds: say(f"compiled {name} in {seconds:.1f} s"))
    run = Checks(device.cards(device.parse("cuda:0"))[0], options.repeat)
    with recorded(run.found, options.out):
        run.compile_all()
        run.rates(options.rounds)
        run.small(options.small)
        for log_size in options.time:
            run.times(log_size)
        for log_size in options.quotient:
            run.quotient(log_size)
        for log_size in options.check:
            run.large(log_size)
        for log_size in options.sparse:
            run.sparse(log_size)
        if options.levels:
            run.levels(options.levels)


if __name__ == "__main__":
    main()
