"""Montgomery products for x86-64 with BMI2 and ADX, as inline assembly.

`mulx` leaves the flags alone, and `adcx`, `adox` keep two carry chains apart, in the carry and in the overflow flag, so that
a row of a product adds its low and its high halves at the same time. LLVM does not form these chains by itself.

Source  Ozturk, Guilford, Gopal: Large integer squaring on Intel architecture processors, Intel white paper (2013).
"""

from __future__ import annotations

import functools

from llvmlite import binding

from cuzk import config

FEATURES = frozenset({"bmi2", "adx"})
CLOBBERED = ("rax", "rdx", "r14", "r15", "cc", "memory")


@functools.cache
def usable() -> bool:
    """Whether this host has the instructions (and the assembler is ready for them)."""
    if not binding.get_process_triple().startswith("x86_64") or not config.cpu_features() >= FEATURES:
        return False
    binding.initialize_native_asmparser()
    return True


def constraints(limbs: int) -> str:
    """Operand constraints: `limbs` results in registers of their own; pointers to the factors and to the modulus."""
    return ",".join(["=&r"] * limbs + ["r"] * 2 + [f"~{{{name}}}" for name in CLOBBERED])


@functools.cache
def text(limbs: int, negated_inverse: int, pairs: int) -> str:
    """Assembly of (sum of `pairs` products + m p) / 2^(64 limbs).

    The factors lie one after the other: x, y of the first pair, then of the next, `limbs` words each. For each word y_i,
    t := (t + sum of x y_i + m p) / 2^64 with m = t_0 negated_inverse mod 2^64, so t < (pairs + 1) p, which must fit the limbs.
    """
    t = [f"${j}" for j in range(limbs)]
    lines: list[str] = []

    def factor(word: int) -> str:
        return f"{8 * word}(${limbs})"

    for i in range(limbs):
        for k in range(pairs):
            x = [factor(2 * limbs * k + j) for j in range(limbs)]
            lines += ["xorl %eax, %eax", f"movq {factor(2 * limbs * k + limbs + i)}, %rdx"]
            lines += _first_row(t, x) if i == k == 0 else _row(t, x, "%r14" if k == 0 else "%r15")
            if k:
                lines.append("addq %r15, %r14")
        lines += _reduction(t, negated_inverse, f"${limbs + 1}")
    return "\n\t".join(lines)


def _first_row(t: list[str], x: list[str]) -> list[str]:
    """r14:t = x rdx; the carry flag is clear."""
    lines = [f"mulxq {x[0]}, {t[0]}, {t[1]}"]
    for j in range(1, len(t)):
        lines += [f"mulxq {x[j]}, %rax, {t[j + 1] if j + 1 < len(t) else '%r14'}", f"adcxq %rax, {t[j]}"]
    return [*lines, "movl $$0, %eax", "adcxq %rax, %r14"]


def _row(t: list[str], x: list[str], top: str) -> list[str]:
    """top:t = t + x rdx; both flags are clear."""
    lines = [f"mulxq {x[0]}, %rax, {top}", f"adoxq %rax, {t[0]}"]
    for j in range(1, len(t)):
        lines += [f"adcxq {top}, {t[j]}", f"mulxq {x[j]}, %rax, {top}", f"adoxq %rax, {t[j]}"]
    return [*lines, "movl $$0, %eax", f"adcxq %rax, {top}", f"adoxq %rax, {top}"]


def _reduction(t: list[str], negated_inverse: int, modulus: str) -> list[str]:
    """t = (r14:t + m p) / 2^64."""
    lines = [f"movabsq $${negated_inverse}, %rdx", f"imulq {t[0]}, %rdx", "xorl %eax, %eax"]
    lines += [f"mulxq 0({modulus}), %rax, %r15", f"adcxq {t[0]}, %rax", f"movq %r15, {t[0]}"]
    for j in range(1, len(t)):
        lines += [f"adcxq {t[j]}, {t[j - 1]}", f"mulxq {8 * j}({modulus}), %rax, {t[j]}", f"adoxq %rax, {t[j - 1]}"]
    return [*lines, "movl $$0, %eax", f"adcxq %rax, {t[-1]}", f"adoxq %r14, {t[-1]}"]
