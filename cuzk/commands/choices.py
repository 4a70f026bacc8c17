"""What options choose: the device, the partitions, and whose sector it is."""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.errors import DeviceError, UsageError
from cuzk.formats import c1_resolve, registry
from cuzk.formats.c1 import C1
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


def choose_device(wanted: str) -> str:
    """The device of this run. Asking for CUDA where there is none is an error, never a silent CPU run.

    Raises  DeviceError, UsageError
    """
    if wanted in ("auto", "cpu"):
        return "cpu"
    if wanted == "cuda" or wanted.startswith("cuda:"):
        raise DeviceError("no CUDA prover in this version", expected="auto or cpu", got=wanted, hint="use --device cpu")
    raise UsageError("unknown device", where="--device", expected="auto, cpu, cuda or cuda:0,1", got=wanted)


def chosen_partitions(count: int, wanted: int | None) -> list[int]:
    """All partitions, or the one that was asked for. Raises UsageError."""
    if wanted is None:
        return list(range(count))
    if not 0 <= wanted < count:
        raise UsageError("no such partition", where="--partition", expected=f"0 to {count - 1}", got=wanted)
    return [wanted]
