"""The StackedDRG PoRep circuit of one partition: a header, then the same stage for every challenge.

Hints
    What the witness takes from outside, in the order in which it is taken; elements and bits are two streams.
    `hint_order` gives the same table as data. L is the number of layers; a path lists its siblings from the leaf
    upwards, each level in the order of the Merkle proof without the path's own element; an index is little-endian: bit
    i has weight 2^i.

    stage      stream    hints
    prologue   elements  replica_id, comm_d, comm_r, comm_r_last, comm_c
    prologue   bits      none
    challenge  elements  data_leaf; siblings in tree D; for each of 6 DRG and 8 expander parents its column (L labels,
                         layer 1 first) and its siblings in tree C; siblings in tree R; siblings of the own column
                         in tree C
    challenge  bits      index in tree D; for each of 6 DRG and 8 expander parents its index in tree C; challenge (64
                         bits); index in tree R; index in tree C

Public inputs, after ONE: replica_id, comm_d, comm_r, then for each challenge the 18 indices in the order of its bit
hints.

Source  rust-fil-proofs storage-proofs-porep/src/stacked/circuit/{proof,params,column_proof}.rs.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuzk.circuits import column, labeling, num, uint
from cuzk.circuits.encoding import encode
from cuzk.circuits.merkle import enforce_inclusion, poseidon_node, sha256_node
from cuzk.circuits.pack import reverse_bit_numbering
from cuzk.circuits.params import PorepShape, circuit_name, porep_shape
from cuzk.circuits.stages import Library, from_prologue
from cuzk.circuits.system import Recorder
from cuzk.circuits.template import Shape
from cuzk.seal.sector import DRG_DEGREE, EXPANDER_DEGREE

Counts = tuple[tuple[str, int], ...]
HEADER = ("replica_id", "comm_d", "comm_r", "comm_r_last", "comm_c")
PARENTS = tuple(f"{kind}_parent_{i}" for kind, n in (("drg", DRG_DEGREE), ("exp", EXPANDER_DEGREE)) for i in range(n))
INPUTS_PER_CHALLENGE = len(PARENTS) + 4


@dataclass(frozen=True, slots=True)
class HintOrder:
    """(name, count) of the hints of each stage and stream, in order."""

    prologue_elems: Counts
    prologue_bits: Counts
    challenge_elems: Counts
    challenge_bits: Counts


def hint_order(shape: PorepShape) -> HintOrder:
    """The hints that the witness of `record_shape(shape)` takes."""
    tree, tree_d = shape.tree, shape.tree_d
    elems = [("data_leaf", 1), ("comm_d_siblings", tree_d.siblings)]
    bits = [("comm_d_index", tree_d.index_bits)]
    for parent in PARENTS:
        elems += [(f"{parent}_column", shape.layers), (f"{parent}_siblings", tree.siblings)]
        bits += [(f"{parent}_index", tree.index_bits)]
    bits += [("challenge", 64)]
    for name in ("comm_r_last", "comm_c"):
        elems += [(f"{name}_siblings", tree.siblings)]
        bits += [(f"{name}_index", tree.index_bits)]
    return HintOrder(tuple((name, 1) for name in HEADER), (), tuple(elems), tuple(bits))


@dataclass(frozen=True, slots=True)
class _Header:
    """What the challenges use of the header."""

    replica_id_bits: list[int]
    comm_d: int
    comm_r_last: int
    comm_c: int


def _header(cs: Recorder) -> _Header:
    def alloc(name: str) -> int:
        with cs.namespace(name):
            return num.alloc(cs)

    def inputize(name: str, x: int) -> None:
        with cs.namespace(f"{name}_input"):
            num.inputize(cs, x)

    replica_id = alloc("replica_id")
    inputize("replica_id", replica_id)
    with cs.namespace("replica_id_bits"):
        bits = reverse_bit_numbering(num.to_bits_le(cs, replica_id))
    comm_d = alloc("comm_d")
    inputize("comm_d", comm_d)
    comm_r = alloc("comm_r")
    inputize("comm_r", comm_r)
    comm_r_last, comm_c = alloc("comm_r_last"), alloc("comm_c")
    with cs.namespace("H_comm_c_comm_r_last"):
        root = poseidon_node(cs, [comm_c, comm_r_last])
    with cs.namespace("enforce comm_r = H(comm_c || comm_r_last)"):
        num.equal(cs, comm_r, root)
    return _Header(bits, comm_d, comm_r_last, comm_c)


def _parent_columns(cs: Recorder, shape: PorepShape, comm_c: int) -> list[list[int]]:
    """The columns of all parents, each shown to stand in tree C."""
    columns = []
    for parent in PARENTS:
        with cs.namespace(f"{parent}_num"):
            rows = column.alloc(cs, shape.layers)
        with cs.namespace(f"{parent}_constraint"):
            digest = column.hash_single_column(cs, rows)
        with cs.namespace(f"{parent}_inclusion"):
            enforce_inclusion(cs, shape.tree, digest, comm_c)
        columns.append(rows)
    return columns


def _labels(cs: Recorder, shape: PorepShape, header: _Header, columns: list[list[int]], challenge: list[int]) -> list[int]:
    """The labels of the challenged node, layer 1 first, computed from those of its parents."""
    labels = []
    for layer in range(1, shape.layers + 1):
        with cs.namespace(f"labeling_{layer}"):
            # DRG parents in this layer, expander parents in the one before; the first layer has none of these.
            rows = [c[layer - 1] for c in columns[:DRG_DEGREE]]
            if layer > 1:
                rows += [c[layer - 2] for c in columns[DRG_DEGREE:]]
            parents = []
            for i, row in enumerate(rows):
                with cs.namespace(f"{'drg' if i < DRG_DEGREE else 'exp'}_parent_{i}_bits"):
                    parents.append(reverse_bit_numbering(num.to_bits_le(cs, row)))
            with cs.namespace("create_label"):
                slots = labeling.expand_parents(parents)
                labels.append(labeling.create_label(cs, header.replica_id_bits, slots, uint.constant(layer), challenge))
    return labels


def _challenge(cs: Recorder, shape: PorepShape, header: _Header) -> None:
    with cs.namespace("data_leaf"):
        data_leaf = num.alloc(cs)
    with cs.namespace("comm_d_inclusion"):
        enforce_inclusion(cs, shape.tree_d, data_leaf, header.comm_d, sha256_node)
    columns = _parent_columns(cs, shape, header.comm_c)
    with cs.namespace("challenge"):
        challenge = uint.alloc64(cs)
    with cs.namespace("challenge input"):
        uint.pack_into_input(cs, challenge)
    labels = _labels(cs, shape, header, columns, challenge)
    with cs.namespace("encode_node"):
        encoded = encode(cs, labels[-1], data_leaf)
    with cs.namespace("comm_r_last_data_inclusion"):
        enforce_inclusion(cs, shape.tree, encoded, header.comm_r_last)
    with cs.namespace("c_x_column_hash"):
        digest = column.hash_single_column(cs, labels)
    with cs.namespace("c_x_inclusion"):
        enforce_inclusion(cs, shape.tree, digest, header.comm_c)


def record_shape(shape: PorepShape, name: str, facts: dict[str, int | str] | None = None) -> Shape:
    """The constraint system for any tree shape, number of layers (2 or 11) and of challenges.

    Names of segments are upstream's namespaces; those of the repeated stage go without `challenge_K`.
    """
    library = Library()
    prologue, repeated = library.stage(), library.stage()
    header = _header(prologue)
    comm_d, comm_r_last, comm_c = from_prologue([header.comm_d, header.comm_r_last, header.comm_c])
    _challenge(repeated, shape, _Header(from_prologue(header.replica_id_bits), comm_d, comm_r_last, comm_c))
    return library.shape(name, prologue, repeated, shape.challenges, facts)


def record(sector_size: int) -> Shape:
    """The constraint system of one partition of a sector size.

    Cost    each template once, whatever the number of challenges and layers
    Raises  UsageError if the size is none of the ten
    """
    shape = porep_shape(sector_size)
    facts: dict[str, int | str] = {
        "kind": "porep",
        "sector_size": sector_size,
        "layers": shape.layers,
        "challenges": shape.challenges,
    }
    return record_shape(shape, circuit_name(sector_size), facts)
