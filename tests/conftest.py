"""Fixtures and the one source of random and nasty values."""

from __future__ import annotations

import os
import random
import secrets
import tempfile
from pathlib import Path

import pytest

# Tests never touch the user's caches. Compiled code is kept between runs under a fixed name, since it is keyed on everything
# that could change it; the rest of the cache directory of a test run is thrown away where a test asks for `fresh_cache`.
os.environ.setdefault("CUZK_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"cuzk-tests-{os.getuid()}"))
os.environ.pop("CUZK_TIMING", None)
os.environ.pop("FIL_PROOFS_PARAMETER_CACHE", None)

ROOT = Path(__file__).parent.parent
VECTORS = Path(__file__).parent / "vectors"


class Draw:
    """Random values mixed with nasty ones; replay with CUZK_TEST_SEED."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)

    def below(self, n: int) -> int:
        """A value in [0, n): uniform, or 0, 1, n − 1, a power of two, or a run of ones."""
        kind = self.random.randrange(8)
        bits = n.bit_length()
        if kind == 0:
            return self.random.choice([0, 1 % n, n - 1, n // 2])
        if kind == 1:
            return (1 << self.random.randrange(bits)) % n
        if kind == 2:
            low = self.random.randrange(bits)
            return ((1 << self.random.randrange(low, bits + 1)) - (1 << low)) % n
        return self.random.randrange(n)

    def many(self, n: int, count: int) -> list[int]:
        """`count` values below n; 0, 1 and n − 1 always among the first three."""
        values = [0, 1 % n, n - 1][:count]
        return values + [self.below(n) for _ in range(count - len(values))]

    def __repr__(self) -> str:
        return f"Draw(seed={self.seed}; replay with CUZK_TEST_SEED={self.seed})"


@pytest.fixture
def draw() -> Draw:
    """A generator whose seed shows in the report of a failing test."""
    seed = int(os.environ.get("CUZK_TEST_SEED") or secrets.randbits(32))
    print(f"CUZK_TEST_SEED={seed}")
    return Draw(seed)


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory for this test."""
    monkeypatch.setenv("CUZK_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"
