"""Which cards there are, which of them a run takes, and why one cannot be used."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cuzk import config
from cuzk.errors import CuzkError, DeviceError, UsageError

# What the assembler of CUDA 13 makes code for.
OLDEST_CAPABILITY = (7, 5)
# What to do about a result that is wrong, before anything else is suspected.
ELSEWHERE = "use another card, or --device cpu: if that proof holds, this card computes wrong results; else "


@dataclass(frozen=True)
class Choice:
    """What `--device` asks for: `kind` is auto, cpu or cuda; `ordinals` are the cards, empty for all of them."""

    kind: str
    ordinals: tuple[int, ...] = ()


def parse(text: str) -> Choice:
    """`auto`, `cpu`, `cuda` or `cuda:0,1`. Raises: UsageError for anything else."""
    match = re.fullmatch(r"(auto|cpu|cuda)|cuda:([0-9]{1,4}(?:,[0-9]{1,4})*)", text.strip().lower())
    if not match:
        raise UsageError("no such device", where="--device", expected="auto, cpu, cuda or cuda:0,1", got=ascii(text[:40]))
    if match[1]:
        return Choice(match[1])
    ordinals = tuple(int(x) for x in match[2].split(","))
    if len(set(ordinals)) != len(ordinals):
        raise UsageError("a card is named twice", where="--device", got=text[:40])
    return Choice("cuda", ordinals)


@functools.cache
def card(ordinal: int) -> Any:
    """One card, opened once for the process (under the simulator: host memory).

    Raises  DeviceError without a driver, without such a card, for a card too old, or without the compiler packages
    """
    if config.cuda_simulated():
        from cuzk.cuda import simulated

        return simulated.Card(ordinal)
    from cuzk.cuda import driver

    found = driver.driver()
    if ordinal >= found.count():
        raise DeviceError(
            "no such card",
            where=f"cuda:{ordinal}",
            expected=f"cuda:0 to cuda:{found.count() - 1}",
            hint="name a card that nvidia-smi lists, or widen CUDA_VISIBLE_DEVICES",
        )
    opened = driver.Card(ordinal, found)
    if opened.capability < OLDEST_CAPABILITY:
        raise DeviceError(
            "this card is too old for the CUDA 13 compiler",
            where=named(opened),
            expected=f"compute capability {_dotted(OLDEST_CAPABILITY)} or higher",
            got=_dotted(opened.capability),
            hint="use a newer card, or --device cpu",
        )
    return opened


def cards(
    choice: Choice, check: Callable[[Any], None] = lambda card: None, say: Callable[[str], None] = lambda line: None
) -> list[Any]:
    """The cards that a run uses, those that `check` lets pass; none for `cpu`.

    `auto` leaves out what cannot be used: each is told to `say`, except that there is no driver at all.
    Raises  DeviceError or ResourceError if `cuda` was asked for and a card it names cannot be used
    """
    if choice.kind == "cpu":
        return []
    found: list[Any] = []
    try:
        ordinals = choice.ordinals or tuple(range(count()))
        if not config.cuda_simulated():
            _compiler()
    except CuzkError as error:
        if choice.kind != "auto":
            raise
        if not _no_driver(error):
            say(unused("no card", error, "is"))
        return []
    for ordinal in ordinals:
        try:
            opened = card(ordinal)
            check(opened)
        except CuzkError as error:
            if choice.kind != "auto":
                raise
            say(unused(f"cuda:{ordinal}", error))
        else:
            found.append(opened)
    return found


def _no_driver(error: CuzkError) -> bool:
    from cuzk.cuda import driver

    return isinstance(error, driver.NoDriver)


def unused(what: str, error: CuzkError, verb: str = "is not") -> str:
    """One line about a card that `auto` does without."""
    details = [f"needs {error.expected}"] if error.expected is not None else []
    details += [f"has {error.got}" if details else str(error.got)] if error.got is not None else []
    return " ".join(f"{what} {verb} used: {error.message}{': ' if details else ''}{', '.join(details)}".split())


def count() -> int:
    """Cards that this process sees. Raises: DeviceError if there is no driver or no card."""
    if config.cuda_simulated():
        return 1
    from cuzk.cuda import driver

    return driver.driver().count()


def named(card: Any) -> str:
    """A card as messages name it: `cuda:0 NVIDIA H200`."""
    return f"cuda:{card.ordinal} {card.name}"


def _compiler() -> tuple[str, ...]:
    from cuzk.cuda import compiler

    return compiler.versions()


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def facts() -> dict[str, Any]:
    """Driver, cards and compiler as found, for people and machines; what is wrong stands under `problem`."""
    out: dict[str, Any] = {"driver": None, "cards": [], "compiler": []}
    try:
        if not config.cuda_simulated():
            from cuzk.cuda import driver

            version = driver.driver().version()
            out["driver"] = f"CUDA {version // 1000}.{version % 1000 // 10}"
        for ordinal in range(count()):
            try:
                out["cards"].append(_facts(card(ordinal)))
            except CuzkError as error:
                out.setdefault("problem", error.as_dict())
        if not config.cuda_simulated():
            out["compiler"] = list(_compiler())
    except CuzkError as error:
        out["problem"] = error.as_dict()
    return out


def _facts(opened: Any) -> dict[str, Any]:
    return {
        "device": f"cuda:{opened.ordinal}",
        "name": opened.name,
        "uuid": opened.uuid,
        "compute_capability": _dotted(opened.capability),
        "multiprocessors": opened.multiprocessors,
        "memory": opened.total_memory,
        "free_memory": opened.free_memory(),
    }
