"""The only place with JIT options and with the code cache.

`@kernel` marks compiled entry points, called from Python; they release the GIL, so threads run them side by side. `@shared`
marks building blocks that kernels call: plain arithmetic that a CUDA kernel can call as well.

Numba's own cache looks at the time stamp of one file. Ours is a directory for each module with kernels, named by a digest of that
module and of every module of this package that it imports, directly or not, the versions of Python, Numba, llvmlite and NumPy,
and the arithmetic path, so that no stale code can be loaded.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib
import os
import pickle
import platform
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import Cache, CompileResultCacheImpl
from numba.core.serialize import dumps

from cuzk import config

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Building blocks are never called from Python: half of their compile time is the code for that.
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


_ROOT = Path(__file__).parent
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(cuzk[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]+)|import[ \t]+(cuzk[\w.]*))", re.MULTILINE
)


@functools.cache
def _source(module: str) -> tuple[bytes, frozenset[str]]:
    """Source of a module of this package, and the modules of this package that it imports; empty if there is no such module."""
    base = _ROOT.parent.joinpath(*module.split("."))
    path = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    if not path.is_file():
        return b"", frozenset()
    text = path.read_text(encoding="utf-8")
    found = set()
    for origin, names, plain in _IMPORT.findall(text):
        found.add(origin or plain)
        found |= {f"{origin}.{word}" for word in re.findall(r"\w+", names)}
    return text.encode(), frozenset(found)


@functools.cache
def source_digest(module: str) -> str:
    """Digest of the source of a module and of every module of this package that it imports, directly or not."""
    seen: set[str] = set()
    waiting = [module, __name__]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += _source(name)[1]
    digest = hashlib.sha256()
    for name in sorted(seen):
        digest.update(name.encode() + b"\0" + _source(name)[0] + b"\0")
    return digest.hexdigest()


@functools.cache
def code_digest(module: str) -> str:
    """Digest of everything that could change code compiled from a module, except the CPU model, which Numba's own key has."""
    digest = hashlib.sha256(source_digest(module).encode())
    versions = (platform.python_version(), numba.__version__, llvmlite.__version__, np.__version__, config.cpu_path())
    bounds = os.environ.get("NUMBA_BOUNDSCHECK", "")
    digest.update(repr((versions, sys.platform, platform.machine(), bounds)).encode())
    return digest.hexdigest()[:24]


@functools.cache
def code_cache_dir() -> Path | None:
    """The code cache directory, made if need be; None (with one warning) where there is none and none can be made.

    One that can only be read serves what is in it.
    """
    path = config.cache_dir() / "jit"
    try:
        path.mkdir(parents=True, exist_ok=True)
        return path
    except OSError as error:
        warnings.warn(f"compiled code is not kept: {path}: {error.strerror}; set CUZK_CACHE_DIR", stacklevel=2)
        return None


@functools.cache
def warn_not_kept(path: str, reason: str) -> None:
    """Say, once for each place and reason, that compiled code is made anew every time."""
    warnings.warn(f"compiled code is not kept: {path}: {reason}; set CUZK_CACHE_DIR", stacklevel=3)


class _Locator:
    """Numba's locator protocol over `code_cache_dir`."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._module = py_func.__module__

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(code_cache_dir()) + f"/{self._module.removeprefix('cuzk.')}-{code_digest(self._module)}"

    def get_source_stamp(self) -> str:
        return code_digest(self._module)

    def get_disambiguator(self) -> str:
        return str(self._lineno)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _CacheImpl(CompileResultCacheImpl):
    """Numba's, with a digest over what is kept: the linker ends the process when it is handed a damaged object file."""

    _locator_classes = [_Locator]  # noqa: RUF012 (Numba's protocol)

    def reduce(self, cres: Any) -> tuple[bytes, bytes]:
        payload = dumps(super().reduce(cres))
        return hashlib.sha256(payload).digest(), payload

    def rebuild(self, target_context: Any, payload: tuple[bytes, bytes]) -> Any:
        digest, data = payload
        if hashlib.sha256(data).digest() != digest:
            raise ValueError("a damaged cache file")
        return super().rebuild(target_context, pickle.loads(data))


# Called with the name of a function that is about to be compiled because the cache has no code for it.
on_compile: list[Callable[[str], None]] = []


class _CodeCache(Cache):
    """Numba's cache file format in our directory; a miss is announced, since compiling takes seconds."""

    _impl_class: Any = _CacheImpl
    variant = ""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # Numba pickles what a closure holds, and compiled functions pickle differently in every process.
        # The variant stands for it.
        if not self.variant:
            return super()._index_key(sig, codegen)
        return sig, codegen.magic_tuple(), self.variant, hashlib.sha256(self._py_func.__code__.co_code).hexdigest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a damaged cache file is a miss, whatever its unpickling raises
            found = None
            self._forget()
        if found is None:
            for callback in on_compile:
                callback(f"{self._py_func.__module__.removeprefix('cuzk.')}.{self._py_func.__qualname__}")
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        # Numba reads, extends and writes the index without a lock: two processes at once could file code under a wrong signature.
        try:
            self._impl.locator.ensure_cache_path()
            with open(f"{self._cache_path}/.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                try:
                    super().save_overload(sig, data)
                except OSError:
                    raise
                except Exception:  # an index that was damaged since it was read: begin a new one
                    self._forget()
                    super().save_overload(sig, data)
        except Exception as error:  # the code is there: that it cannot be kept must not end the run
            reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            warn_not_kept(str(code_cache_dir()), reason)

    def _forget(self) -> None:
        """Empty an index that cannot be read."""
        with contextlib.suppress(Exception):
            self.flush()


def kernel(function: Callable[..., Any] | None = None, *, variant: str = "") -> Any:
    """Compile an entry point: releases the GIL, kept in the code cache, compiled at its first call for each signature.

    `variant` must tell apart the kernels that a factory makes from one piece of source (for G1 and G2, say): the cache sees the
    source and the types of the arguments, not what the closure holds.
    """
    if function is None:
        return functools.partial(kernel, variant=variant)
    if variant:
        function.__qualname__ = f"{function.__name__}-{variant}"
    dispatcher = numba.njit(**_OPTIONS)(function)
    if code_cache_dir() is not None:
        dispatcher._cache = _CodeCache(function)
        dispatcher._cache.variant = variant
    return dispatcher


def shared(function: Callable[..., Any]) -> Any:
    """Compile a building block, to be called from kernels (CPU or CUDA) only; `.py_func` is the Python twin."""
    return numba.njit(**_OPTIONS, **_NO_WRAPPERS)(function)


def cuda_kernel(
    *, threads: int, blocks: int = 0, dynamic_shared: int = 0, level: int = 3, variant: str = ""
) -> Callable[[Callable[..., None]], Any]:
    """Declare a CUDA kernel: a function of unsigned 64-bit words, compiled for an architecture when it first starts there.

    `blocks` a multiprocessor bounds the registers; `level` is the assembler's; `variant` as in `kernel`.
    """
    # By name, so that code for the CPU does not depend on the source of the compiler for CUDA (see `_source`).
    compiler = importlib.import_module("cuzk.cuda.compiler")

    def declare(function: Callable[..., None]) -> Any:
        name = f"{function.__name__}_{variant}" if variant else function.__name__
        return compiler.Kernel(function, name, threads, blocks, dynamic_shared, level)

    return declare


def cuda_shared(function: Callable[..., Any]) -> Any:
    """Declare a building block of CUDA kernels, inlined wherever it is called; plain Python under the simulator."""
    if config.cuda_simulated():
        return function
    from numba import cuda

    return cuda.jit(device=True, forceinline=True)(function)


def cuda_simulation(function: Callable[..., None]) -> Any:
    """A kernel's function under Numba's CUDA simulator, started as `f[blocks, threads](…)`."""
    from numba import cuda

    return cuda.jit(function)
