"""Registered seal proofs: the twenty names and numbers under which Filecoin knows a PoRep.

Source  rust-filecoin-proofs-api at 0e64ce8: src/registry.rs; the numbers are those of go-state-types abi/sector.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.errors import UsageError
from cuzk.seal import sector
from cuzk.seal.sector import Sector


@dataclass(frozen=True, slots=True)
class RegisteredProof:
    """One registered seal proof."""

    number: int
    name: str
    sector: Sector
    api_version: str
    feature: str

    @property
    def porep_id(self) -> bytes:
        """Number and nonce 0 as little-endian 64-bit integers, then zeros: 32 bytes. Source: registry.rs 284-302."""
        return porep_id(self.number)

    @property
    def vanilla_key(self) -> str:
        """The key under which JSON holds the vanilla proofs: always the V1 name of the size."""
        return f"StackedDrg{self.sector.name}V1"

    @property
    def partitions(self) -> int:
        """Number of partitions."""
        return self.sector.partitions_of(self.feature)


def porep_id(number: int) -> bytes:
    """The porep_id of a registered proof number with nonce 0."""
    return number.to_bytes(8, "little") + bytes(24)


# Suffix, API version and feature of each family. The synthetic names say V1_1 but run at 1.2.0.
_FAMILIES = (
    ("V1", "1.0.0", "interactive"),
    ("V1_1", "1.1.0", "interactive"),
    ("V1_1_Feat_SyntheticPoRep", "1.2.0", "synthetic"),
    ("V1_2_Feat_NonInteractivePoRep", "1.2.0", "non-interactive"),
)
_SIZES = tuple(sector.parse(name) for name in ("2KiB", "8MiB", "512MiB", "32GiB", "64GiB"))

REGISTERED: tuple[RegisteredProof, ...] = tuple(
    RegisteredProof(len(_SIZES) * f + s, f"StackedDrg{size.name}{suffix}", size, api_version, feature)
    for f, (suffix, api_version, feature) in enumerate(_FAMILIES)
    for s, size in enumerate(_SIZES)
)
BY_NAME: dict[str, RegisteredProof] = {p.name: p for p in REGISTERED}


def of_size(size: Sector) -> list[RegisteredProof]:
    """The registered proofs of a sector size: four, or none."""
    return [p for p in REGISTERED if p.sector is size]


def parse(text: str | int) -> RegisteredProof:
    """The registered proof of a name or a number 0 to 19.

    Raises  UsageError if there is none.
    """
    word = str(text).strip()
    if word in BY_NAME:
        return BY_NAME[word]
    if word.isascii() and word.isdigit() and len(word) <= 2 and int(word) < len(REGISTERED):
        return REGISTERED[int(word)]
    raise UsageError(
        "unknown registered proof",
        where="--registered-proof",
        expected=f"0 to {len(REGISTERED) - 1} or a name such as {REGISTERED[5].name}",
        got=repr(text)[:80],
    )
