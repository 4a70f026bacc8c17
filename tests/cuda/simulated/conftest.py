"""These tests run under Numba's CUDA simulator, which must be chosen before Numba is imported: see test_simulator.py."""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

import numpy as np
import pytest

from cuzk import config

collect_ignore_glob = [] if config.cuda_simulated() else ["test_*.py"]

_lock = threading.Lock()


@pytest.fixture(autouse=True)
def _nothing_left_over() -> None:
    """Buffers of earlier tests go before a test counts memory, not while it does."""
    gc.collect()


def _one_shared_array(self: Any, shape: Any, dtype: Any, alignment: Any = None) -> Any:
    """`FakeCUDAShared.array`, which gives two threads that come at once an array each."""
    from numba.cuda.np import numpy_support
    from numba.cuda.types import Type

    kind = numpy_support.as_dtype(dtype) if isinstance(dtype, Type) else np.dtype(dtype)
    if shape == 0:
        return np.frombuffer(self._dynshared.data, kind, self._dynshared_size // kind.itemsize)
    caller = sys._getframe(1)
    with _lock:
        return self._allocations.setdefault((caller.f_code.co_filename, caller.f_lineno), np.empty(shape, kind))


if config.cuda_simulated():
    from numba.cuda.simulator import kernelapi

    kernelapi.FakeCUDAShared.array = _one_shared_array
    # Threads wait for one another at every barrier: five milliseconds each, unless Python hands over sooner.
    sys.setswitchinterval(1e-5)
