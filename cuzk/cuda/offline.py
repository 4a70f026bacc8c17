"""What the compiler makes of every CUDA kernel, without a card: registers, spills, and that the code is integer code.

Usage: python -m cuzk.cuda.offline [RECORD.json], which compiles all kernels for sm_90 and prints or writes their resources.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cuzk.cuda import compiler

CAPABILITY = (9, 0)
# Floating point in any form, and what depends on a sign: order, minimum, division (equality does not).
_FLOAT = re.compile(r"\.f(?:16|32|64)\b")
_SIGNED = re.compile(r"\b(?:setp?\.(?:lt|le|gt|ge)(?:\.\w+)*|slct\.\w+|min|max|div|rem)\.s(?:16|32|64)\b")
# A word above −1 or below 0 is no order of limbs: that tests one bit, such as the sign of a reference to a point.
_TOP_BIT = re.compile(r"\bsetp\.(?:gt\.s(?:16|32|64)\s+%\w+, %\w+, -1|lt\.s(?:16|32|64)\s+%\w+, %\w+, 0);$")


def declared() -> dict[str, compiler.Kernel]:
    """Every kernel of this package, by module and name."""
    package = importlib.import_module("cuzk.kernels")
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.endswith("_cuda"):
            importlib.import_module(f"cuzk.kernels.{module.name}")
    return dict(sorted(compiler.kernels.items()))


def resources(capability: compiler.Capability = CAPABILITY) -> dict[str, dict[str, int]]:
    """Registers, stack and spill bytes a thread and shared bytes a block of every kernel, with its threads and code size."""

    def one(kernel: compiler.Kernel) -> dict[str, int]:
        code, found = kernel.compiled(capability)
        shared = found["shared"] + kernel.dynamic_shared
        return found | {"shared": shared, "threads": kernel.threads, "blocks": kernel.blocks, "code": len(code)}

    kernels = declared()
    with ThreadPoolExecutor(2) as pool:  # Numba compiles under one lock; the assembler runs beside it
        return dict(zip(kernels, pool.map(one, kernels.values()), strict=True))


def faults(ptx: str) -> list[str]:
    """Instructions that have no place in exact unsigned arithmetic: any floating point, signed comparisons and divisions."""
    lines = (line.strip() for line in ptx.splitlines())
    return [line for line in lines if _FLOAT.search(line) or (_SIGNED.search(line) and not _TOP_BIT.search(line))]


def record(capability: compiler.Capability = CAPABILITY) -> dict[str, Any]:
    """The content of `docs/measurements/kernels-sm90.json`."""
    return {
        "command": "python -m cuzk.cuda.offline docs/measurements/kernels-sm90.json",
        "architecture": f"sm_{capability[0]}{capability[1]}",
        "compiler": list(compiler.versions()),
        "kernels": {key.removeprefix("cuzk.kernels."): value for key, value in resources(capability).items()},
    }


def main() -> None:
    """Write the record, or print it as a table."""
    compiler.on_compile.append(lambda name, seconds: print(f"{name} {seconds:.1f} s", file=sys.stderr, flush=True))
    found = record()
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")
        return
    for name, facts in found["kernels"].items():
        print(f"{name:40}", "  ".join(f"{key} {value}" for key, value in facts.items()))


if __name__ == "__main__":
    main()
