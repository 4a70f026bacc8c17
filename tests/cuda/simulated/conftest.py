"""These tests run under Numba's CUDA simulator, which must be chosen before Numba is imported: see test_simulator.py."""

from __future__ import annotations

from cuzk import config

collect_ignore_glob = [] if config.cuda_simulated() else ["test_*.py"]
