"""The check of a C1 beside its proofs: what is false there is the error, and nothing passes unchecked."""

from __future__ import annotations

import threading

import pytest

from cuzk.commands.ready import _beside
from cuzk.errors import FalseInput, InternalError
from cuzk.timing import Timer


def false() -> None:
    raise FalseInput("a path does not lead to its root")


def test_a_true_input_passes_and_its_check_is_on_a_track() -> None:
    timer, seen = Timer(), []
    with _beside(lambda: seen.append(1), timer):
        seen.append(2)
    assert sorted(seen) == [1, 2]
    assert [(span.track, span.name) for span in timer.spans] == [("beside", "check_c1")]
    with _beside(None, timer):
        pass


def test_a_false_input_is_the_error_whatever_the_proofs_met() -> None:
    with pytest.raises(FalseInput), _beside(false, Timer()):
        pass
    with pytest.raises(FalseInput), _beside(false, Timer()):
        raise InternalError("the witness does not satisfy the circuit")


def test_an_error_of_the_proofs_stays_where_the_input_is_true() -> None:
    with pytest.raises(InternalError), _beside(lambda: None, Timer()):
        raise InternalError("a proof failed its check")


def test_the_check_waits_for_the_first_work_of_a_card() -> None:
    began, timer = threading.Event(), Timer()
    with _beside(began.set, timer) as begin:
        assert not began.wait(0.1)
        begin()
        assert began.wait(10)
        begin()


def test_without_any_work_the_check_is_made_at_the_end() -> None:
    seen: list[int] = []
    with pytest.raises(InternalError), _beside(lambda: seen.append(1), Timer()):
        raise InternalError("no card does anything")
    assert seen == [1]
