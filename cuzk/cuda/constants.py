"""Constants of several words in kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cuzk import config


def constants(values: Sequence[int]) -> tuple[Any, ...]:
    """Words below 2^32 as a tuple that kernels may use as a global: typed unsigned, plain integers under the simulator."""
    if config.cuda_simulated():
        return tuple(int(v) for v in values)
    return tuple(np.uint32(v) for v in values)
