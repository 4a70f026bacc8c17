"""The PoRep circuit of a sector size: its tree shapes and the names of its parameter files. Imports nothing heavy.

Source  rust-fil-proofs storage-proofs-porep/src/stacked/vanilla/params.rs and storage-proofs-core/src/parameter_cache.rs.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from cuzk.errors import UsageError
from cuzk.seal import sector
from cuzk.seal.sector import BASE_ARITY, BY_SIZE, DRG_DEGREE, EXPANDER_DEGREE, SECTORS, Sector

CIRCUIT_VERSION = 28  # of the parameter files


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Arities of a Merkle tree with `leaves` leaves; a sub or top arity of 0 means that there is no such level."""

    leaves: int
    base: int
    sub: int = 0
    top: int = 0

    @property
    def base_levels(self) -> int:
        """Levels of the base trees."""
        per_base_tree = self.leaves // (self.sub or 1) // (self.top or 1)
        return (per_base_tree.bit_length() - 1) // (self.base.bit_length() - 1)

    @property
    def path(self) -> tuple[tuple[str, int], ...]:
        """(part, arity) of each level from the leaf upwards; part is `base`, `sub` or `top`."""
        levels = [("base", self.base)] * self.base_levels
        levels += [(part, arity) for part, arity in (("sub", self.sub), ("top", self.top)) if arity]
        return tuple(levels)

    @property
    def siblings(self) -> int:
        """Elements of an authentication path."""
        return sum(arity - 1 for _, arity in self.path)

    @property
    def index_bits(self) -> int:
        """Bits of a leaf's index."""
        return sum(arity.bit_length() - 1 for _, arity in self.path)

    @property
    def name(self) -> str:
        """As in Filecoin's parameter names."""
        return f"merkletree-poseidon_hasher-{self.base}-{self.sub}-{self.top}"


@dataclass(frozen=True, slots=True)
class PorepShape:
    """What the StackedDRG PoRep circuit of one partition depends on: layers, challenges per partition, trees C and R."""

    layers: int
    challenges: int
    tree: TreeShape

    @property
    def tree_d(self) -> TreeShape:
        """The binary tree of the data."""
        return TreeShape(self.tree.leaves, 2)

    @property
    def public_inputs(self) -> int:
        """Without ONE: replica_id, comm_d, comm_r, and of each challenge its parents and four indices of its own."""
        return 3 + self.challenges * (DRG_DEGREE + EXPANDER_DEGREE + 4)

    @property
    def identifier(self) -> str:
        """The string whose SHA-256 names Filecoin's parameter files; spaces and punctuation are exact."""
        graph = (
            f"stacked_graph::StackedGraph{{expansion_degree: {EXPANDER_DEGREE} "
            f"base_graph: drgraph::BucketGraph{{size: {self.tree.leaves}; degree: {DRG_DEGREE}; hasher: poseidon_hasher}} }}"
        )
        challenges = f"LayerChallenges {{ layers: {self.layers}, max_count: {self.challenges} }}"
        return f"layered_drgporep::PublicParams{{ graph: {graph}, challenges: {challenges}, tree: {self.tree.name} }}"

    @property
    def file_stem(self) -> str:
        """Name of Filecoin's parameter files without `.params` or `.vk`."""
        digest = hashlib.sha256(self.identifier.encode()).hexdigest()
        return f"v{CIRCUIT_VERSION}-stacked-proof-of-replication-{self.tree.name}-sha256_hasher-{digest}"


def porep_shape(size: int | Sector) -> PorepShape:
    """The circuit of a sector size (bytes).

    Raises  UsageError if it is none of the ten
    """
    known = size if isinstance(size, Sector) else BY_SIZE.get(size)
    if known is None:
        raise UsageError("unknown sector size", expected=", ".join(s.name for s in SECTORS), got=f"{size} bytes")
    return PorepShape(known.layers, known.challenges, TreeShape(known.nodes, BASE_ARITY, known.sub_arity, known.top_arity))


def circuit_name(size: int) -> str:
    """Our name of a sector size's circuit, as in `porep-2kib`. Raises UsageError."""
    return f"porep-{sector.parse(size).name.lower()}"


def parse_size(text: str) -> int:
    """A SIZE of the command line in bytes: `2KiB` in any case, or a number of bytes. Raises UsageError."""
    return sector.parse(text).size
