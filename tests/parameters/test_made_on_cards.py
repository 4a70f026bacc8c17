"""Development parameters that are absent: a card makes them and a file keeps them, unless they are large or it is small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cuzk.circuits.template import Shape
from cuzk.errors import DeviceError
from cuzk.formats import circuit
from cuzk.groth16 import setup_blocks_cuda
from cuzk.parameters import development, policy, resident
from cuzk.progress import Progress
from tests.conftest import VECTORS

pytestmark = pytest.mark.usefixtures("fresh_cache")


def card(free: int = 8 << 30) -> Any:
    return SimpleNamespace(ordinal=1, name="Test card", multiprocessors=132, free_memory=lambda: free)


def small(size: int | None = 2048) -> Shape:
    """A circuit of few rows that says it is of a sector size."""
    shape, _ = circuit.load(VECTORS / "groth16" / "cubic" / "circuit.json")
    return shape if size is None else replace(shape, facts=shape.facts | {"sector_size": size})


@pytest.fixture
def made_on(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Which card made parameters; the CPU really does."""
    seen: list[Any] = []
    write = development.write

    def noted(shape: Shape, waste: Any, directory: Path, progress: Progress, card: Any = None) -> Any:
        seen.append(card)
        return write(shape, waste, directory, progress)

    monkeypatch.setattr(development, "write", noted)
    return seen


def located(shape: Shape) -> policy.Located:
    files = development.kept(shape)
    return policy.Located(shape.name, "development", files.params, files.vk)


def test_a_card_makes_what_is_absent_once(made_on: list[Any]) -> None:
    shape, mine = small(), card()
    assert not resident.wanted(located(shape), shape)
    for _ in range(2):
        found = policy.open_checked(located(shape), shape, "cached", Progress(quiet=True), mine)
        assert found.path.exists() and found.as_dict()["folded"] is False
    assert made_on == [mine], "kept: the second run makes nothing"


def test_the_cpu_makes_them_without_a_card_and_those_of_small_circuits(made_on: list[Any]) -> None:
    development.ensure(small(), Progress(quiet=True))
    development.ensure(small(None), Progress(quiet=True), card())
    assert made_on == [None, None]


def test_a_card_without_room_leaves_them_to_the_cpu(made_on: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(Progress, "line", lambda self, text: lines.append(text))
    development.ensure(small(), Progress(), card(free=1 << 20))
    assert made_on == [None]
    assert any(line.startswith("cuda:1 Test card for parameters is not used: not enough device memory") for line in lines)


def test_a_card_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise DeviceError("a card computes wrong points")

    monkeypatch.setattr(setup_blocks_cuda, "CardSetup", fail)
    shape = small()
    with pytest.raises(DeviceError):
        development.ensure(shape, Progress(quiet=True), card())
    assert not list(development.default_directory().glob("*.params"))


@pytest.mark.parametrize(
    ("size", "large"), [(2048, False), (16 << 20, False), (512 << 20, True), (32 << 30, True), (None, False)]
)
def test_those_of_large_sectors_are_kept_nowhere(size: int | None, large: bool) -> None:
    shape = small(size)
    assert resident.wanted(located(shape), shape) is large
    assert not resident.wanted(replace(located(shape), kind="explicit"), shape)
