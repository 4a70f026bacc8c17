"""What options choose: the device, the partitions, and whose sector it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuzk import device
from cuzk.errors import DeviceError, UsageError
from cuzk.formats import c1_resolve, registry
from cuzk.formats.c1 import C1
from cuzk.progress import Progress
from cuzk.seal.replica import Replica


@dataclass(frozen=True, slots=True)
class Ids:
    """Option values as given; None where absent. Absent ids are never assumed."""

    miner: int | None = None
    sector: int | None = None
    registered_proof: str | None = None
    porep_id: str | None = None
    api_version: str | None = None
    feature: str | None = None

    def resolve(self, content: C1) -> Replica:
        """The public facts of the proof that `content` is for.

        Raises  UsageError for texts that say nothing or contradict the C1; FalseInput if SectorNum or
                replica_id is not that of the ids
        """
        return c1_resolve.resolve(
            content,
            miner=self.miner,
            sector=self.sector,
            registered_proof=None if self.registered_proof is None else registry.parse(self.registered_proof),
            porep_id=None if self.porep_id is None else _porep_id(self.porep_id),
            api_version=self.api_version,
            feature=self.feature,
        )


def _porep_id(text: str) -> bytes:
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise UsageError("not hex", where="--porep-id", expected="32 bytes as hex", got=ascii(text)[:80]) from None


def choose_cards(wanted: str, progress: Progress) -> list[Any]:
    """The cards of this run: those asked for, or with `auto` all that work, a line for each that does not; none for the CPU.

    Raises  UsageError; DeviceError or ResourceError if a card was asked for and does not work
    """
    return device.cards(device.parse(wanted), probe, progress.line)


def device_names(cards: Sequence[Any]) -> str:
    """The device of a run as results name it: `cuda:0,cuda:1`, or `cpu` without cards."""
    return ",".join(f"cuda:{card.ordinal}" for card in cards) or "cpu"


def probe(card: Any) -> None:
    """Run a kernel and look at what it did: only then is a card said to work. Raises DeviceError."""
    from cuzk.kernels import vector_cuda
    from cuzk.kernels.launch import launch

    with card.upload(np.arange(12, dtype=np.uint32)) as words, card.upload(np.zeros(1, np.uint32)) as out:
        launch(card, vector_cuda.count_differences, 1, None, out.address, words.address, words.address + 16, 2)
        if int(out.read(1, np.uint32)[0]) != 2:
            raise DeviceError("a card computes wrong results", where=device.named(card), hint="use another card")


def chosen_partitions(count: int, wanted: int | None) -> list[int]:
    """All partitions, or the one that was asked for. Raises UsageError."""
    if wanted is None:
        return list(range(count))
    if not 0 <= wanted < count:
        raise UsageError("no such partition", where="--partition", expected=f"0 to {count - 1}", got=wanted)
    return [wanted]
