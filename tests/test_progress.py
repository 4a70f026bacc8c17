"""Progress where no bar is drawn: shares, and an estimate only from steps that tell."""

from __future__ import annotations

import io
import re

import pytest

from cuzk import jit, progress
from cuzk.cuda import compiler
from cuzk.progress import Progress


class Clock:
    """Time that passes when it is told to."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    monkeypatch.setattr(jit, "on_compile", [])
    monkeypatch.setattr(compiler, "on_compile", [])
    return made


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if " %, " in line]


def test_no_estimate_before_enough_is_known(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress()
    with shown.bar("proving", 100.0):
        clock.now += 20
        shown.advance(2, "making h")
        assert lines(capsys.readouterr().err) == ["making h: 2 %, 20 s"]
        for _ in range(10):
            clock.now += 1
            shown.advance(2, "making h")
        assert lines(capsys.readouterr().err) == ["making h: 22 %, 30 s, about 39 s left"]


def test_compiling_says_nothing_about_the_rest(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Two steps of a second each among ones in which code is made for a minute."""
    shown = Progress()
    shown.announce_compilation()
    with shown.bar("proving", 100.0):
        clock.now += 1
        shown.advance(1)
        for seconds, compiles in ((60, "kernel"), (1, ""), (60, "card"), (1, "")):
            if compiles == "kernel":
                jit.on_compile[0]("msm_cpu.sums")
            elif compiles == "card":
                compiler.on_compile[0]("msm_cuda.sums", 59.0)
            clock.now += seconds
            shown.advance(1)
        clock.now += 10
        shown.advance(5, "last")
    found = lines(capsys.readouterr().err)
    assert found[0] == "proving: 2 %, 61 s"
    assert found[1] == "proving: 4 %, 122 s, about 96 s left"
    assert found[2] == "last: 10 %, 133 s, about 154 s left"


def test_a_bar_on_a_terminal_has_the_same_estimate(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    shown = Progress()
    with shown.bar("proving", 100.0):
        clock.now += 50
        shown.advance(10)
        shown._bar.refresh()
        assert " < " not in terminal.getvalue()
        clock.now += 10
        shown.advance(10)
        shown._bar.refresh()
    assert re.search(r" < 01:20", terminal.getvalue())


def test_a_bar_inside_a_bar_moves_the_outer_one(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    shown = Progress()
    with shown.bar("outer", 10.0), shown.bar("inner", 1.0):
        clock.now += 10
        shown.advance(1)
    assert lines(capsys.readouterr().err) == ["outer: 10 %, 10 s"]
    with Progress(quiet=True).bar("none", 1.0) as quiet:
        quiet.advance(1)
    assert capsys.readouterr().err == ""
