"""Tests of code for CUDA that need no card. Those that compile need the packages of the extra `cuda`, which `test` brings."""

from __future__ import annotations

import importlib.util

import pytest


@pytest.fixture(scope="session")
def compiler() -> None:
    """Skip, visibly, where the extra is not installed."""
    if importlib.util.find_spec("numba_cuda") is None:
        pytest.skip("numba-cuda is not installed: pip install '.[test]'")
