"""Whether a C1 holds: every path, column, label, encoding, commitment and challenge, before any synthesis.

Upstream's second phase trusts the first: a false C1 costs it a whole proof. Here everything that the circuit will enforce is
computed natively first, all partitions at once, and the first thing that does not hold is named.

The stages build on one another, so that the first failure is the cause and not a consequence: paths and column hashes,
then roots and comm_r, then challenges, then graph, labels and encoding.

Source  rust-fil-proofs at 87348a7: storage-proofs-porep/src/stacked/vanilla/{proof_scheme,params,labeling_proof}.rs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuzk import hashing
from cuzk.errors import FalseInput
from cuzk.field.params import R
from cuzk.formats.c1 import C1
from cuzk.kernels import vector_cpu
from cuzk.seal.replica import Replica, trim_to_fr
from cuzk.seal.sector import DRG_DEGREE, LABEL_PARENTS, PARENTS
from cuzk.seal.vanilla import OWN, MerklePaths, VanillaProofs, column_name

U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]

_PATH = "the Merkle path does not lead to its root"
_OTHER_GRAPH = "if every parent is wrong, the C1 is of another porep_id or API version"


@dataclass(frozen=True, slots=True)
class _Claim:
    """That two arrays over (partition, challenge, more axes) are equal: hashes (uint8[..., 32]) or integers."""

    proof: str | Callable[..., str]  # name of the proof, or a function of the further axes' indices
    message: str
    wanted: npt.NDArray[Any]
    got: npt.NDArray[Any]
    hint: str | None = None

    def first_difference(self) -> tuple[int, ...] | None:
        """Indices of the first place where the claim fails."""
        differ = self.wanted != self.got
        if self.got.dtype == np.uint8:
            differ = differ.any(axis=-1)
        return tuple(np.argwhere(differ)[0].tolist()) if differ.any() else None


def _shown(value: npt.NDArray[Any]) -> str | int:
    return value.tobytes().hex() if value.dtype == np.uint8 else int(value)


def _refuse(claims: list[_Claim], c1: C1, nodes: U64) -> None:
    """Raise for the first claim that fails, in order of partition, challenge, claim."""
    failures = [(at[:2], order, at) for order, claim in enumerate(claims) if (at := claim.first_difference()) is not None]
    if not failures:
        return
    (partition, challenge), order, at = min(failures)
    claim = claims[order]
    name = claim.proof if isinstance(claim.proof, str) else claim.proof(*at[2:])
    raise FalseInput(
        f"{name}: {claim.message}",
        file=c1.file,
        partition=partition,
        where=f"challenge {challenge} (node {int(nodes[partition, challenge])}), {name}",
        expected=_shown(np.broadcast_to(claim.wanted, claim.got.shape)[at]),
        got=_shown(claim.got[at]),
        hint=claim.hint,
    )


def _to_mont(hashes: U8) -> U64:
    """uint8[..., 32] canonical little-endian to uint64[..., 4] in Montgomery form."""
    limbs = np.ascontiguousarray(hashes).view("<u8").astype(np.uint64)
    return vector_cpu.to_montgomery(limbs.reshape(-1, 4)).reshape(limbs.shape)


def _to_bytes(values_mont: U64) -> U8:
    """The inverse of `_to_mont`."""
    canon = vector_cpu.to_canonical(np.ascontiguousarray(values_mont).reshape(-1, 4))
    return canon.astype("<u8").view(np.uint8).reshape(*values_mont.shape[:-1], 32)


def sha256_roots(paths: MerklePaths) -> U8:
    """Roots of binary SHA-256 paths, two bits cleared at every node. Shape (...) paths to uint8[..., 32]."""
    lead = paths.leaf.shape[:-1]
    levels = len(paths.arities)
    siblings = paths.siblings.reshape(-1, levels, 32)
    index = paths.index.reshape(-1, levels).tolist()
    roots = bytearray()
    for k, leaf in enumerate(paths.leaf.reshape(-1, 32)):
        node, beside = leaf.tobytes(), siblings[k].tobytes()
        for level, bit in enumerate(index[k]):
            other = beside[32 * level : 32 * level + 32]
            node = trim_to_fr(hashlib.sha256(other + node if bit else node + other).digest())
        roots += node
    return np.frombuffer(bytes(roots), np.uint8).reshape(*lead, 32)


def poseidon_roots(paths: MerklePaths) -> U8:
    """Roots of Poseidon paths, level by level over all paths at once. Shape (...) paths to uint8[..., 32]."""
    lead = paths.leaf.shape[:-1]
    node = _to_mont(paths.leaf).reshape(-1, 4)
    for level, arity in enumerate(paths.arities):
        position = paths.index[..., level].reshape(-1, 1) == np.arange(arity)
        children = np.empty((len(node), arity, 4), np.uint64)
        children[position] = node
        children[~position] = _to_mont(paths.level_siblings(level)).reshape(-1, 4)
        node = _hash_once(arity, children)
    return _to_bytes(node).reshape(*lead, 32)


def _hash_once(arity: int, children_mont: U64) -> U64:
    """Poseidon of each row, computed once where rows are equal: paths of near nodes, and all near the root, share nodes."""
    rows = np.ascontiguousarray(children_mont).reshape(len(children_mont), -1)
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize)))[:, 0]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return hashing.poseidon(arity, children_mont[first])[inverse.reshape(-1)]


def column_hashes(rows: U8) -> U8:
    """Poseidon of the labels of each column. Shape uint8[..., L, 32] to uint8[..., 32]."""
    layers = rows.shape[-2]
    hashes = hashing.poseidon(layers, _to_mont(rows).reshape(-1, layers, 4))
    return _to_bytes(hashes).reshape(*rows.shape[:-2], 32)


def comm_r_of(comm_c: U8, comm_r_last: U8) -> U8:
    """Poseidon of the roots of trees C and R."""
    return _to_bytes(hashing.poseidon(2, _to_mont(np.stack([comm_c, comm_r_last]))[None]))[0]


def _path_claims(vanilla: VanillaProofs) -> list[_Claim]:
    d, r, c = vanilla.comm_d_proofs, vanilla.comm_r_last_proof, vanilla.column_proof
    # Trees C and R have one shape: sixteen paths a challenge in one go.
    both = MerklePaths(
        arities=c.arities,
        leaf=np.concatenate([c.leaf, r.leaf[:, :, None]], axis=2),
        root=np.concatenate([c.root, r.root[:, :, None]], axis=2),
        siblings=np.concatenate([c.siblings, r.siblings[:, :, None]], axis=2),
        index=np.concatenate([c.index, r.index[:, :, None]], axis=2),
    )
    roots = poseidon_roots(both)
    hashes = column_hashes(vanilla.column_rows)
    return [
        _Claim("comm_d_proofs", _PATH, d.root, sha256_roots(d)),
        _Claim("comm_r_last_proof", _PATH, r.root, roots[:, :, -1]),
        _Claim(column_name, "the column's hash is not the leaf of its path", c.leaf, hashes),
        _Claim(column_name, _PATH, c.root, roots[:, :, :-1]),
    ]


def _most_common(hashes: U8, count: int) -> list[U8]:
    """The values that occur most often, so that one odd proof is named rather than all the others."""
    values, counts = np.unique(hashes.reshape(-1, 32), axis=0, return_counts=True)
    return list(values[np.argsort(-counts, kind="stable")[:count]])


def _roots_under_comm_r(c1: C1, vanilla: VanillaProofs) -> tuple[U8, U8]:
    """The roots of trees C and R whose hash is comm_r; comm_r itself is refused here, being of no challenge."""
    candidates = 4  # roots differ only where something is false
    pairs = [
        (comm_c, comm_r_last)
        for comm_c in _most_common(vanilla.column_proof.root, candidates)
        for comm_r_last in _most_common(vanilla.comm_r_last_proof.root, candidates)
    ]
    hashes = [comm_r_of(*pair).tobytes() for pair in pairs]
    if c1.comm_r in hashes:
        return pairs[hashes.index(c1.comm_r)]
    raise FalseInput(
        "comm_r is not the hash of the roots of trees C and R",
        file=c1.file,
        where="comm_r",
        expected=c1.comm_r.hex(),
        got=hashes[0].hex(),
    )


def _root_claims(c1: C1, vanilla: VanillaProofs) -> list[_Claim]:
    """Roots against the commitments."""
    comm_c, comm_r_last = _roots_under_comm_r(c1, vanilla)
    comm_d = np.frombuffer(c1.comm_d, np.uint8)
    return [
        _Claim("comm_d_proofs", "the root is not comm_d", comm_d, vanilla.comm_d_proofs.root),
        _Claim("comm_r_last_proof", "the root is not that of tree R", comm_r_last, vanilla.comm_r_last_proof.root),
        _Claim(column_name, "the root is not that of tree C", comm_c, vanilla.column_proof.root),
    ]


def _index_claims(vanilla: VanillaProofs, nodes: U64, parents: U64) -> list[_Claim]:
    """Every path leads from the node that the challenge and the graph demand."""
    wanted = np.concatenate([nodes[..., None], parents], axis=-1)
    index, path_index = vanilla.column_index.astype(np.uint64), vanilla.column_proof.node_index()
    d, r = vanilla.comm_d_proofs.node_index(), vanilla.comm_r_last_proof.node_index()
    return [
        _Claim("comm_d_proofs", "the path is of another node", nodes, d),
        _Claim("comm_r_last_proof", "the path is of another node", nodes, r),
        _Claim(column_name, "the column is of another node", wanted, index, _OTHER_GRAPH),
        _Claim(column_name, "the path is of another node", wanted, path_index, _OTHER_GRAPH),
    ]


def parent_labels(column_rows: U8) -> U8:
    """The 37 labels hashed into each layer's label, from the parents' columns.

    Layer 1: the DRG parents in turn; later layers: these in the layer itself and the expander parents in the one before.

    Shape   uint8[..., 15, L, 32] to uint8[..., L, 37, 32]
    Source  proof.rs 382-422
    """
    layers = column_rows.shape[-2]
    turn = np.arange(LABEL_PARENTS)
    drg = column_rows[..., OWN + 1 : OWN + 1 + DRG_DEGREE, :, :]
    expander = column_rows[..., OWN + 1 + DRG_DEGREE :, :, :]
    out = [drg[..., turn % DRG_DEGREE, 0, :]]
    for layer in range(1, layers):
        both = np.concatenate([drg[..., layer, :], expander[..., layer - 1, :]], axis=-2)
        out.append(both[..., turn % PARENTS, :])
    return np.stack(out, axis=-3)


def labels_of(replica_id: bytes, nodes: U64, parents: U8) -> U8:
    """Labels by SHA-256 of replica_id, layer, node and 37 parent labels, two bits cleared.

    Shape   nodes (P, c), parents uint8[P, c, L, 37, 32]; result uint8[P, c, L, 32]
    Source  labeling_proof.rs 28-50
    """
    layers = parents.shape[2]
    flat = parents.reshape(-1, layers, LABEL_PARENTS * 32)
    out = bytearray()
    for k, node in enumerate(nodes.reshape(-1).tolist()):
        for layer in range(layers):
            head = replica_id + (layer + 1).to_bytes(4, "big") + node.to_bytes(8, "big") + bytes(20)
            out += trim_to_fr(hashlib.sha256(head + flat[k, layer].tobytes()).digest())
    return np.frombuffer(bytes(out), np.uint8).reshape(*nodes.shape, layers, 32)


def _sums(a: U8, b: U8) -> U8:
    """a + b in Fr. Shape uint8[..., 32]."""
    pairs = zip(a.reshape(-1, 32), b.reshape(-1, 32), strict=True)
    sums = [(int.from_bytes(x.tobytes(), "little") + int.from_bytes(y.tobytes(), "little")) % R for x, y in pairs]
    return np.frombuffer(b"".join(s.to_bytes(32, "little") for s in sums), np.uint8).reshape(a.shape)


def _label_claims(vanilla: VanillaProofs, replica_id: bytes, nodes: U64) -> list[_Claim]:
    """Labels recomputed from the parents' columns; labeling and encoding proofs say the same."""
    layers = vanilla.sector.layers
    parents = parent_labels(vanilla.column_rows)
    labels = labels_of(replica_id, nodes, parents)
    replica_nodes = _sums(labels[:, :, -1], vanilla.comm_d_proofs.leaf)

    def proof(layer: int) -> str:
        return f"labeling_proofs[{layer}]"

    def parent(layer: int, slot: int) -> str:
        return f"labeling_proofs[{layer}].parents[{slot}]"

    def encoding_parent(slot: int) -> str:
        return f"encoding_proof.parents[{slot}]"

    of_layer = np.arange(1, layers + 1, dtype=np.uint32)
    same = "is not the label in that parent's column"
    return [
        _Claim(proof, "layer_index is another layer", of_layer, vanilla.label_layer),
        _Claim(proof, "node is not the challenge", nodes[..., None], vanilla.label_node),
        _Claim(parent, same, parents, vanilla.label_parents),
        _Claim(
            lambda layer: f"label of layer {layer + 1} (c_x.column.rows[{layer}])",
            "the column does not hold the label that the parents give",
            vanilla.column_rows[:, :, OWN],
            labels,
        ),
        _Claim("encoding_proof", "layer_index is not the last layer", of_layer[-1:], vanilla.encoding_layer),
        _Claim("encoding_proof", "node is not the challenge", nodes, vanilla.encoding_node),
        _Claim(encoding_parent, same, parents[:, :, -1], vanilla.encoding_parents),
        _Claim(
            "encoding",
            "the leaf of comm_r_last_proof is not the last label plus the data",
            vanilla.comm_r_last_proof.leaf,
            replica_nodes,
        ),
    ]


def check(c1: C1, replica: Replica, progress: Any = None) -> None:
    """Check everything that a C1 claims against the replica's public facts.

    Cost    32 GiB: 31 500 Poseidon hashes less those that paths share (17 306 in all), 5 400 SHA-256 of two blocks, 1 980
            of twenty
    Raises  FalseInput with partition, challenge, proof, wanted and computed value for the first claim that fails
    """
    vanilla = c1.vanilla
    if progress is not None:
        progress.label("checking the C1")
    nodes = replica.challenges()
    _refuse(_path_claims(vanilla), c1, nodes)
    _refuse(_root_claims(c1, vanilla), c1, nodes)
    hint = "if every challenge is wrong: seed, replica_id or comm_r are of another proof, or the registered proof is"
    first_node = vanilla.label_node[:, :, 0]
    _refuse([_Claim("challenge", "not the one that seed and ids give", nodes, first_node, hint)], c1, nodes)
    claims = _index_claims(vanilla, nodes, replica.parents(nodes))
    _refuse(claims + _label_claims(vanilla, replica.replica_id, nodes), c1, nodes)
