"""Stopping on SIGINT, SIGTERM and SIGHUP: in order, once, and surely.

Python raises KeyboardInterrupt wherever the main thread happens to be, which may be inside a callback of the compiler that loses
it. So the signal is remembered as well, and `check` raises it again at the next safe place: between tasks and before a rename.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any

_AGAIN_SECONDS = 2.0  # a second signal within this time is taken for the same wish, so that it does not break the clean-up
_received: list[float] = []
_stopped_in: list[tuple[str, int | None]] = []


def _numbers() -> list[int]:
    """The signals that end a run: SIGHUP too, unless whoever started it said that it is to outlive its terminal (nohup)."""
    hangup = [] if signal.getsignal(signal.SIGHUP) in (signal.SIG_IGN, None) else [signal.SIGHUP]
    return [signal.SIGINT, signal.SIGTERM, *hangup]


def install() -> None:
    """Take over the signals. Only the command line does this; outside of the main thread it cannot be done."""
    _received.clear()
    _stopped_in.clear()
    if threading.current_thread() is not threading.main_thread():
        return
    sys.unraisablehook = _silent_if_stopped
    for number in _numbers():
        signal.signal(number, _stop)


def _silent_if_stopped(lost: Any) -> None:
    if not isinstance(lost.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


def _stop(number: int, frame: Any) -> None:
    now = time.monotonic()
    first = not _received or now - _received[-1] > _AGAIN_SECONDS
    _received.append(now)
    if first:
        raise KeyboardInterrupt


def note(phase: str, partition: int | None) -> None:
    """The run was stopped in this phase; the first to say so is the innermost."""
    if not _stopped_in:
        _stopped_in.append((phase, partition))


def stopped_in() -> tuple[str | None, int | None]:
    """Phase and partition that the run was stopped in, as far as known."""
    return _stopped_in[0] if _stopped_in else (None, None)


def check() -> None:
    """Raise KeyboardInterrupt if a signal came and was lost."""
    if _received:
        raise KeyboardInterrupt


def finish() -> None:
    """The run is being ended: further signals change nothing."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _numbers():
        signal.signal(number, signal.SIG_IGN)
