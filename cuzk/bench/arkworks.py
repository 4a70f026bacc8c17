"""The peer: sums of points by arkworks through the package py_arkworks_bls12381, on one thread."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from cuzk.curve import encoding
from cuzk.errors import UsageError
from cuzk.field.limbs import FP_BYTES, FR_BYTES, U64

PACKAGE = "py_arkworks_bls12381"
_CLASSES = {"g1": "G1Point", "g2": "G2Point"}


def module() -> Any:
    """The package. Raises UsageError if it is not installed."""
    try:
        return importlib.import_module(PACKAGE)
    except ImportError:
        hint = "pip install 'cuzk[bench]'"
        raise UsageError(
            "the peer is not installed", where="--peers", expected=PACKAGE, got="no such package", hint=hint
        ) from None


class Sum:
    """Σ s_i P_i, its inputs built beforehand."""

    def __init__(self, curve: str, points_mont: U64, scalars_canon: U64) -> None:
        """Points finite, affine, Montgomery; scalars below r."""
        package = module()
        self._class = getattr(package, _CLASSES[curve])
        data = encoding.encode(curve, points_mont, compressed=False).reshape(len(points_mont), -1, FP_BYTES)
        if curve == "g2":
            data = data[:, [1, 0, 3, 2]]  # files have c1 first, arkworks c0
        points = np.ascontiguousarray(data).reshape(len(points_mont), -1)
        read = self._class.from_xy_bytes_unchecked_be
        self._points = [read(p.tobytes()) for p in points]
        scalars = np.ascontiguousarray(scalars_canon).view(np.uint8).reshape(-1, FR_BYTES)
        self._scalars = [package.Scalar.from_le_bytes(s.tobytes()) for s in scalars]
        self.result: Any = None

    def task(self) -> Callable[[], None]:
        """What is timed: the call alone."""
        call, points, scalars = self._class.multiexp_unchecked, self._points, self._scalars

        def run() -> None:
            self.result = call(points, scalars)

        return run

    def coordinates(self) -> list[int]:
        """x, y of the last result (G2: x.c0, x.c1, y.c0, y.c1)."""
        data = bytes(self.result.to_xy_bytes_le())
        return [int.from_bytes(data[i : i + FP_BYTES], "little") for i in range(0, len(data), FP_BYTES)]
