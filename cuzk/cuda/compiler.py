"""From a Python function to machine code for a card: Numba and NVVM make PTX, ptxas makes a cubin, and the cubin is kept.

Neither step needs a card, so that what runs on a card is what a machine without one has compiled, measured and tested. The
assembler is the `ptxas` of the wheel nvidia-cuda-nvcc, or of a toolkit; it tells registers and spills of each kernel, and its
optimisation level is a choice of each kernel. Kernels take unsigned 64-bit words (addresses, counts), nothing else.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from cuzk.errors import DeviceError

Capability = tuple[int, int]
_lock = threading.RLock()


def missing(package: str) -> DeviceError:
    """The error for an environment without the CUDA extra."""
    return DeviceError(f"{package} is not installed", hint="pip install 'cuzk[cuda]', or use --device cpu")


@functools.cache
def ptxas() -> str:
    """Path of the assembler. Raises: DeviceError if there is none."""
    wheels = (Path(p) / "nvidia" / name / "bin" / "ptxas" for p in sys.path for name in ("cu13", "cuda_nvcc"))
    toolkits = (Path(p) / "bin" / "ptxas" for p in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda") if p)
    on_path = (Path(p).with_name("ptxas") for p in (shutil.which("ptxas"), shutil.which("nvcc")) if p)
    for path in (*wheels, *on_path, *toolkits):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise missing("ptxas (package nvidia-cuda-nvcc)")


def _nvvm() -> str:
    """The version of NVVM: of its package, or, of one that a toolkit brought, its place."""
    try:
        return f"nvidia-nvvm {importlib.metadata.version('nvidia-nvvm')}"
    except importlib.metadata.PackageNotFoundError:
        from cuda import pathfinder

        library = Path(pathfinder.load_nvidia_dynamic_lib("nvvm").abs_path or "").resolve()
        return f"NVVM {library} of {library.stat().st_size} bytes"


@functools.cache
def versions() -> tuple[str, ...]:
    """Versions of everything between source and machine code."""
    try:
        found = [f"{name} {importlib.metadata.version(name)}" for name in ("numba", "numba-cuda", "llvmlite", "cuda-bindings")]
    except importlib.metadata.PackageNotFoundError as error:
        raise missing(str(error.name)) from None
    found.append(_nvvm())
    release = subprocess.run([ptxas(), "--version"], capture_output=True, text=True, check=True).stdout
    build = re.search(r"V(\d+(?:\.\d+)+)", release)
    return (*found, f"ptxas {build[1] if build else release}", f"Python {'.'.join(platform.python_version_tuple()[:2])}")


class _Standin:
    """What Numba asks a card for while it compiles."""

    def __init__(self, capability: Capability) -> None:
        self.compute_capability = capability


@contextmanager
def _compiling_for(capability: Capability) -> Iterator[None]:
    # Device functions called by a kernel ask the current card for its capability, even if the kernel is compiled for a given one.
    from numba.cuda import dispatcher

    with _lock:
        before = dispatcher.get_current_device
        dispatcher.get_current_device = lambda: _Standin(capability)
        try:
            yield
        finally:
            dispatcher.get_current_device = before


# Called with the name of a kernel and the seconds it took, whenever the cache had no code for it.
on_compile: list[Callable[[str, float], None]] = []
# Every kernel that has been declared, by module and name.
kernels: dict[str, Kernel] = {}


class Kernel:
    """A CUDA kernel and how it wants to be compiled and started.

    `threads` a block; `blocks` a multiprocessor at least, which bounds the registers; `dynamic_shared` bytes of shared memory
    beyond what the code declares; `level` of the assembler's optimisation.
    """

    def __init__(
        self, function: Callable[..., None], name: str, threads: int, blocks: int, dynamic_shared: int, level: int
    ) -> None:
        self.function, self.name, self.threads, self.blocks = function, name, threads, blocks
        self.dynamic_shared, self.level = dynamic_shared, level
        self.module = function.__module__
        self.arguments = function.__code__.co_argcount
        self.key = f"{self.module}.{name}"
        # Machine code by capability that no file keeps, with the digest of what made it.
        self._unkept: dict[Capability, tuple[str, tuple[bytes, dict[str, int]]]] = {}
        assert self.key not in kernels, f"two kernels {self.key}"
        kernels[self.key] = self

    def ptx(self, capability: Capability) -> str:
        """Parallel Thread Execution code, its entry named as the kernel."""
        try:
            from numba import cuda
            from numba.cuda import types
        except ImportError:
            raise missing("numba-cuda") from None
        signature = types.void(*([types.uint64] * self.arguments))
        bounds = (self.threads, self.blocks) if self.blocks else self.threads
        with _compiling_for(capability):
            text, _ = cuda.compile(
                self.function, signature, device=False, cc=capability, abi="numba", output="ptx", launch_bounds=bounds
            )
        text = text if isinstance(text, str) else text.decode()
        entry = re.search(r"\.entry\s+([^\s(]+)", text)
        assert entry, "no entry in the compiled code"
        # Numba's name of the environment counts compilations, and nothing uses it: without it, the same source is the same code.
        text = re.sub(r"^.*_ZN08NumbaEnv.*\n", "", text, flags=re.MULTILINE)
        return text.replace(entry[1], self.name)

    def digest(self, capability: Capability) -> str:
        """Names the machine code: everything that could change it."""
        from cuzk import jit

        what = (self.key, self.threads, self.blocks, self.dynamic_shared, self.level, capability, versions())
        sources = jit.source_digest(self.module), jit.source_digest(__name__)
        return hashlib.sha256(repr((what, sources)).encode()).hexdigest()[:24]

    def _kept_in(self, capability: Capability) -> Path | None:
        from cuzk import jit

        folder = jit.code_cache_dir()
        return folder / "cuda" / f"{self.name}-{self.digest(capability)}.cubin" if folder else None

    def _from_before(self, capability: Capability) -> tuple[bytes, dict[str, int]] | None:
        digest, made = self._unkept.get(capability, ("", None))
        return made if digest == self.digest(capability) else None

    def is_kept(self, capability: Capability) -> bool:
        """Whether there is machine code from before."""
        path = self._kept_in(capability)
        return (path is not None and path.is_file()) or self._from_before(capability) is not None

    def compiled(self, capability: Capability) -> tuple[bytes, dict[str, int]]:
        """Machine code, and what the assembler reports: registers, stack, spills, shared and constant bytes."""
        from cuzk import jit

        path = self._kept_in(capability)
        if kept := (path and _load(path)) or self._from_before(capability):
            return kept
        start = time.perf_counter()
        made = assemble(self.ptx(capability), capability, self.level)
        for callback in on_compile:
            callback(self.key.removeprefix("cuzk."), time.perf_counter() - start)
        if path is not None:
            try:
                _save(path, *made)
                return made
            except OSError as error:
                jit.warn_not_kept(str(path.parent), error.strerror or str(error))
        self._unkept[capability] = self.digest(capability), made
        return made

    def cubin(self, capability: Capability) -> bytes:
        """Machine code for cards of a compute capability."""
        return self.compiled(capability)[0]


def compile_all(wanted: Iterable[Kernel], capability: Capability) -> int:
    """Make the machine code that is not kept yet, and say how many kernels that were.

    Numba works for one kernel at a time, the assembler for several beside it. `on_compile` is told of each.
    """
    missing_code = [kernel for kernel in wanted if not kernel.is_kept(capability)]
    if missing_code:
        with ThreadPoolExecutor(min(len(missing_code), 8), thread_name_prefix="compile") as pool:
            list(pool.map(lambda kernel: kernel.compiled(capability), missing_code))
    return len(missing_code)


def assemble(text: str, capability: Capability, level: int) -> tuple[bytes, dict[str, int]]:
    """Machine code of PTX, and the assembler's report. Raises: DeviceError if the assembler refuses it."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "kernel.ptx", Path(folder) / "kernel.cubin"
        source.write_text(text)
        architecture = f"-arch=sm_{capability[0]}{capability[1]}"
        command = [ptxas(), architecture, f"-O{level}", "-v", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode or not target.is_file():
            raise DeviceError(
                "ptxas refused the code of a kernel",
                got=done.stderr.strip()[-500:] or f"exit code {done.returncode} and no output file",
                hint="nvidia-nvvm must not be newer than nvidia-cuda-nvcc: pip install 'cuzk[cuda]'",
            )
        return target.read_bytes(), report(done.stderr)


_REPORT = {
    "registers": r"Used (\d+) registers",
    "stack": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
    "shared": r"(\d+) bytes smem",
}


def report(text: str) -> dict[str, int]:
    """What `ptxas -v` says of one kernel, in registers and bytes a thread (shared: a block)."""
    found = {key: re.search(pattern, text) for key, pattern in _REPORT.items()}
    assert found["registers"], f"no report: {text[-300:]}"
    return {key: int(match[1]) if match else 0 for key, match in found.items()}


def _load(path: Path) -> tuple[bytes, dict[str, int]] | None:
    # One file, its report first, so that the two cannot disagree.
    try:
        head, _, body = path.read_bytes().partition(b"\n")
        facts = json.loads(head)
        digest = facts.pop("sha256")
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return (body, facts) if hashlib.sha256(body).hexdigest() == digest else None


def _save(path: Path, code: bytes, facts: dict[str, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps(facts | {"sha256": hashlib.sha256(code).hexdigest()}).encode()
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(head + b"\n" + code)
    os.replace(file.name, path)
