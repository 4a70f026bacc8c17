"""The only place with JIT options and with the code cache.

`@kernel` marks compiled entry points, called from Python; they release the GIL, so threads run them side by side. `@shared`
marks building blocks that kernels call: plain arithmetic that a CUDA kernel can call as well.

Numba's own cache looks at the time stamp of one file. Ours is a directory named by a digest of every source file of this
package, the versions of Python, Numba, llvmlite and NumPy, and the arithmetic path, so that no stale code can be loaded.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.caching import Cache, CompileResultCacheImpl

from cuzk import config

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
# Building blocks are never called from Python: half of their compile time is the code for that.
_NO_WRAPPERS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@functools.cache
def code_digest() -> str:
    """Digest of everything that could change compiled code, except the CPU model, which Numba's own key has."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    versions = (platform.python_version(), numba.__version__, llvmlite.__version__, np.__version__, config.cpu_path())
    bounds = os.environ.get("NUMBA_BOUNDSCHECK", "")
    digest.update(repr((versions, sys.platform, platform.machine(), bounds)).encode())
    return digest.hexdigest()[:24]


@functools.cache
def code_cache_dir() -> Path | None:
    """The code cache directory, made if need be; None (with one warning) where it cannot be written."""
    path = config.cache_dir() / "jit" / code_digest()
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        warnings.warn(f"compiled code is not kept: {path}: {error.strerror}; set CUZK_CACHE_DIR", stacklevel=2)
        return None


class _Locator:
    """Numba's locator protocol over `code_cache_dir`."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._module = py_func.__module__

    def ensure_cache_path(self) -> None:
        pass

    def get_cache_path(self) -> str:
        return str(code_cache_dir())

    def get_source_stamp(self) -> str:
        return code_digest()

    def get_disambiguator(self) -> str:
        return f"{self._module}-{self._lineno}"

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _CacheImpl(CompileResultCacheImpl):
    _locator_classes = [_Locator]  # noqa: RUF012 (Numba's protocol)


# Called with the name of a function that is about to be compiled because the cache has no code for it.
on_compile: list[Callable[[str], None]] = []


class _CodeCache(Cache):
    """Numba's cache file format in our directory; a miss is announced, since compiling takes seconds."""

    _impl_class: Any = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a damaged cache file is a miss, whatever its unpickling raises
            found = None
        if found is None:
            for callback in on_compile:
                callback(f"{self._py_func.__module__.removeprefix('cuzk.')}.{self._py_func.__qualname__}")
        return found


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
    return dispatcher


def shared(function: Callable[..., Any]) -> Any:
    """Compile a building block, to be called from kernels (CPU or CUDA) only; `.py_func` is the Python twin."""
    return numba.njit(**_OPTIONS, **_NO_WRAPPERS)(function)
