"""Sector sizes and what follows from them: nodes, layers, challenges, partitions, tree shape.

A sector is a sequence of 32-byte nodes, sealed by `layers` labels a node. Tree D (binary, SHA-256) is over the data,
trees C and R (Poseidon) over the column hashes and the replica. Trees C and R are octal at the base; some sizes join
`sub_arity` base trees, and of those `top_arity`, because their node count is no power of eight.

Source  rust-fil-proofs at 87348a7: filecoin-proofs/src/constants.rs, storage-proofs-porep/src/stacked/vanilla.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.errors import UsageError

NODE_BYTES = 32
DRG_DEGREE = 6
EXPANDER_DEGREE = 8
PARENTS = DRG_DEGREE + EXPANDER_DEGREE
LABEL_PARENTS = 37  # parent labels hashed into a label, with repetition
BASE_ARITY = 8
MAX_CHALLENGES_PER_PARTITION = 18


@dataclass(frozen=True, slots=True)
class Sector:
    """One sector size. `challenges` is per partition; `ni_partitions` holds for non-interactive PoRep."""

    name: str
    size: int
    layers: int
    sub_arity: int
    top_arity: int
    challenges: int
    partitions: int
    ni_partitions: int

    @property
    def nodes(self) -> int:
        """Number of 32-byte nodes, a power of two."""
        return self.size // NODE_BYTES

    @property
    def tree_d_levels(self) -> int:
        """Levels of tree D: log2(nodes)."""
        return self.nodes.bit_length() - 1

    @property
    def tree_d_arities(self) -> tuple[int, ...]:
        """Arity of each level of tree D, leaf-most first."""
        return (2,) * self.tree_d_levels

    @property
    def base_levels(self) -> int:
        """Octal levels of trees C and R: log8(nodes / sub_arity / top_arity)."""
        base_nodes = self.nodes // max(1, self.sub_arity) // max(1, self.top_arity)
        return (base_nodes.bit_length() - 1) // 3

    @property
    def tree_arities(self) -> tuple[int, ...]:
        """Arity of each level of trees C and R, leaf-most first."""
        joins = tuple(a for a in (self.sub_arity, self.top_arity) if a)
        return (BASE_ARITY,) * self.base_levels + joins

    def partitions_of(self, feature: str) -> int:
        """Number of partitions for a feature (see `cuzk.seal.challenges.FEATURES`)."""
        return self.ni_partitions if feature == "non-interactive" else self.partitions


def _sector(name: str, size: int, sub_arity: int, top_arity: int) -> Sector:
    # Minimum challenge totals 2 and 26 (test sizes), 176 and 2253, spread evenly over the partitions and rounded up.
    if size < 32 << 30:
        layers, minimum, partitions, ni_minimum, ni_partitions = 2, 2, 1, 26, 13
    else:
        layers, minimum, partitions, ni_minimum, ni_partitions = 11, 176, 10, 2253, 126
    challenges = -(-minimum // partitions)
    assert challenges == -(-ni_minimum // ni_partitions) <= MAX_CHALLENGES_PER_PARTITION
    sector = Sector(name, size, layers, sub_arity, top_arity, challenges, partitions, ni_partitions)
    assert BASE_ARITY**sector.base_levels * max(1, sub_arity) * max(1, top_arity) == sector.nodes
    return sector


SECTORS: tuple[Sector, ...] = (
    _sector("2KiB", 2 << 10, 0, 0),
    _sector("4KiB", 4 << 10, 2, 0),
    _sector("16KiB", 16 << 10, 8, 0),
    _sector("32KiB", 32 << 10, 8, 2),
    _sector("8MiB", 8 << 20, 0, 0),
    _sector("16MiB", 16 << 20, 2, 0),
    _sector("512MiB", 512 << 20, 0, 0),
    _sector("1GiB", 1 << 30, 2, 0),
    _sector("32GiB", 32 << 30, 8, 0),
    _sector("64GiB", 64 << 30, 8, 2),
)
BY_SIZE: dict[int, Sector] = {s.size: s for s in SECTORS}
_BY_NAME = {s.name.lower(): s for s in SECTORS}


def parse(text: str | int) -> Sector:
    """The sector named by `2KiB`, …, `64GiB` in any case, or by its number of bytes.

    Raises  UsageError if there is no such size.
    """
    word = str(text).strip().lower()
    if word in _BY_NAME:
        return _BY_NAME[word]
    if word.isascii() and word.isdigit() and len(word) < 20 and int(word) in BY_SIZE:
        return BY_SIZE[int(word)]
    raise UsageError("unknown sector size", expected=", ".join(s.name for s in SECTORS) + " or bytes", got=repr(text)[:80])
