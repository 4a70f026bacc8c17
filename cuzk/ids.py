"""What the caller knows of a sector: ids, and for form B the registered proof; from option texts to a resolved replica."""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.errors import UsageError
from cuzk.formats import c1_resolve, registry
from cuzk.formats.c1 import C1
from cuzk.replica import Replica


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

        Raises  UsageError for texts that say nothing or contradict the C1; FalseInput if replica_id is not that of the ids
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
