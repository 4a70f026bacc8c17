"""What follows from a shape alone, made once and kept with it."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from cuzk.circuits.template import Shape

T = TypeVar("T")


def kept(make: Callable[[Shape], T]) -> Callable[[Shape], T]:
    """`make(shape)`, made at the first call and kept as long as the shape, for all threads. No one changes what is kept."""
    found: weakref.WeakKeyDictionary[Shape, T] = weakref.WeakKeyDictionary()
    lock = threading.Lock()

    @functools.wraps(make)
    def of(shape: Shape) -> T:
        with lock:
            if shape not in found:
                found[shape] = make(shape)
            return found[shape]

    return of
