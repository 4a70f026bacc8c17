"""Progress on stderr, with an estimate of the time left: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

LINE_SECONDS = 10.0  # between lines where stderr is no terminal
KNOWN_SECONDS = 1.0  # of work that tells how fast it goes


class _Rate:
    """How fast a bar moves, by the steps that tell: not the first, before which all was made ready, and none that compiled."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self._counts = False
        self._seconds = self._amount = 0.0

    def disturbed(self) -> None:
        """Something is done in this step that the next ones will not do."""
        self._counts = False

    def step(self, amount: float) -> None:
        """A step is complete."""
        now = time.perf_counter()
        if self._counts:
            self._seconds += now - self._last
            self._amount += amount
        self._last, self._counts = now, True

    def left(self, amount: float) -> float | None:
        """Seconds that `amount` will take; None as long as nobody can tell."""
        known = self._seconds >= KNOWN_SECONDS or self._amount >= amount
        return amount * self._seconds / self._amount if known and self._amount > 0 else None


class _Bar(tqdm):
    """tqdm's bar with our own estimate."""

    rate = _Rate()

    @property
    def format_dict(self) -> dict[str, object]:
        """What the bar's text is made of."""
        found = dict(super().format_dict)
        left = self.rate.left(self.total - self.n)
        return found | {"left": "" if left is None else f" < {tqdm.format_interval(left)}"}


class Progress:
    """One bar over the whole run, made of phases with weights, and lines above it."""

    def __init__(self, quiet: bool = False) -> None:
        """`quiet`: no bar and no lines."""
        self.quiet = quiet
        self._bar: tqdm | None = None
        self._label, self._total, self._done = "", 1.0, 0.0
        self._began = self._last_line = 0.0
        self._rate = _Rate()

    def line(self, text: str) -> None:
        """A line on stderr, above the bar."""
        if not self.quiet:
            tqdm.write(text, file=sys.stderr)

    @contextmanager
    def bar(self, label: str, total: float, unit: str = "%") -> Iterator[Progress]:
        """A bar that `advance` moves; a bar inside a bar is a no-op."""
        if self.quiet or self._bar is not None:
            yield self
            return
        form = "{l_bar}{bar}| {elapsed}{left}"
        with _Bar(total=total, desc=label, unit=unit, file=sys.stderr, bar_format=form, disable=None, dynamic_ncols=True) as bar:
            self._bar = bar
            self._rate = bar.rate = _Rate()
            self._label, self._total, self._done = label, total, 0.0
            self._began = self._last_line = time.perf_counter()
            try:
                yield self
            finally:
                self._bar = None

    def advance(self, amount: float, label: str | None = None) -> None:
        """Move the bar of the innermost `bar` block."""
        if self._bar is not None:
            if label:
                self._bar.set_description(label, refresh=False)
            self._rate.step(amount)
            self._bar.update(amount)
            self._plain_line(amount, label)

    def _plain_line(self, amount: float, label: str | None) -> None:
        """Where tqdm draws no bar: what share is done and how long the rest may take."""
        bar = self._bar
        if bar is None or not bar.disable:
            return
        self._done += amount
        now = time.perf_counter()
        if now - self._last_line >= LINE_SECONDS and self._done:
            self._last_line = now
            elapsed = now - self._began
            left = self._rate.left(self._total - self._done)
            share = 100 * self._done / self._total
            known = "" if left is None else f", about {left:.0f} s left"
            print(f"{label or self._label}: {share:.0f} %, {elapsed:.0f} s{known}", file=sys.stderr, flush=True)

    def label(self, text: str) -> None:
        """Say what is being done."""
        self._label = text
        if self._bar is not None:
            self._bar.set_description(text)

    def announce_compilation(self) -> None:
        """Say what is being compiled from now on, since it takes seconds: once for each version of the code, then it is kept."""
        from cuzk import config, jit
        from cuzk.cuda import compiler

        began = time.perf_counter()
        said = False

        def say(name: str) -> None:
            nonlocal said
            self._rate.disturbed()
            if not said:
                said = True
                self.line(
                    f"compiling for this machine ({config.cpu_path()}), once; kept in {jit.code_cache_dir() or 'memory only'}"
                )
            self.line(f"compiling {name}  [{time.perf_counter() - began:.0f} s]")

        jit.on_compile[:] = [say]

        def say_for_card(name: str, seconds: float) -> None:
            self._rate.disturbed()
            self.line(f"compiled {name} for the card in {seconds:.1f} s")

        compiler.on_compile[:] = [say_for_card]
