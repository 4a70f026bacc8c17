"""Progress on stderr, with an estimate of the time left: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tqdm import tqdm

LINE_SECONDS = 10.0  # between lines where stderr is no terminal


class Progress:
    """One bar over the whole run, made of phases with weights, and lines above it."""

    def __init__(self, quiet: bool = False) -> None:
        """`quiet`: no bar and no lines."""
        self.quiet = quiet
        self._bar: tqdm | None = None
        self._label, self._total, self._done = "", 1.0, 0.0
        self._began = self._last_line = 0.0

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
        form = "{l_bar}{bar}| {elapsed} < {remaining}"
        with tqdm(total=total, desc=label, unit=unit, file=sys.stderr, bar_format=form, disable=None, dynamic_ncols=True) as bar:
            self._bar = bar
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
            left = elapsed * (self._total - self._done) / self._done
            share = 100 * self._done / self._total
            print(f"{label or self._label}: {share:.0f} %, {elapsed:.0f} s, about {left:.0f} s left", file=sys.stderr, flush=True)

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
            if not said:
                said = True
                self.line(
                    f"compiling for this machine ({config.cpu_path()}), once; kept in {jit.code_cache_dir() or 'memory only'}"
                )
            self.line(f"compiling {name}  [{time.perf_counter() - began:.0f} s]")

        jit.on_compile[:] = [say]
        compiler.on_compile[:] = [lambda name, seconds: self.line(f"compiled {name} for the card in {seconds:.1f} s")]
