import hashlib
import random

import numpy as np
import pytest

from cuzk.formats import registry
from cuzk.seal import chacha, graph, sector

# rust-fil-proofs storage-proofs-porep/parent_cache.json: SHA-256 over all nodes' fourteen parents as little-endian u32.
PARENT_CACHE_2KIB = [(0, "1.0.0", "3da49221e2ed5537"), (5, "1.1.0", "840057702eea7652")]


def test_chacha20_rfc8439_block():
    # RFC 8439 section 2.3.2.
    key = np.frombuffer(bytes(range(32)), "<u4")
    tail = np.frombuffer(bytes.fromhex("01000000" + "000000090000004a00000000"), "<u4").reshape(1, 4)
    block = chacha.blocks(key, tail, 20).astype("<u4").tobytes().hex()
    assert block == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"
    )


def test_chacha8_zero_key_block():
    # draft-strombergson-chacha-test-vectors, TC1, 256-bit key, 8 rounds.
    block = chacha.blocks(np.zeros(8, np.uint32), np.zeros((1, 4), np.uint32), 8).astype("<u4").tobytes().hex()
    assert block == (
        "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
        "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42"
    )


@pytest.mark.parametrize(("number", "api_version", "digest"), PARENT_CACHE_2KIB)
def test_parents_of_every_node_match_the_published_digest(number, api_version, digest):
    found = graph.parents(np.arange(64, dtype=np.uint64), 64, registry.porep_id(number), api_version)
    assert hashlib.sha256(found.astype("<u4").tobytes()).hexdigest().startswith(digest)


def test_porep_id_and_api_version_change_the_graph():
    nodes = np.arange(64, dtype=np.uint64)
    of = {
        (number, version): graph.parents(nodes, 64, registry.porep_id(number), version).tobytes()
        for number in (0, 5)
        for version in ("1.0.0", "1.1.0")
    }
    assert len(set(of.values())) == 4
    assert graph.parents(nodes, 64, registry.porep_id(5), "1.2.0").tobytes() == of[5, "1.1.0"]


def test_first_nodes_and_predecessor_slot():
    nodes = np.array([0, 1, 2, 3, 1000, (1 << 30) - 1], np.uint64)
    porep_id = registry.porep_id(8)
    new = graph.drg_parents(nodes, porep_id, "1.1.0")
    old = graph.drg_parents(nodes, porep_id, "1.0.0")
    assert not new[:2].any()
    assert (new[2:, 0] == nodes[2:] - 1).all()
    assert (old[2:, 5] == nodes[2:] - 1).all()
    assert (old[:, :5] == new[:, 1:]).all()
    assert (new[2:] < nodes[2:, None]).all()


@pytest.mark.parametrize("size", ["32GiB", "64GiB"])
def test_api_1_0_0_cuts_expander_parents_to_32_bits(size):
    nodes = sector.parse(size).nodes
    rng = random.Random(7)
    some = np.array([0, nodes - 1, *(rng.randrange(nodes) for _ in range(40))], np.uint64)
    old = graph.expander_parents(some, nodes, registry.porep_id(3), "1.0.0")
    new = graph.expander_parents(some, nodes, registry.porep_id(3), "1.1.0")
    assert (old == new % np.uint64(1 << 29)).all()
    assert (old != new).any()
    assert (new < nodes).all()


@pytest.mark.parametrize("log2_nodes", [0, 1, 6, 7])
def test_expander_slots_are_a_permutation(log2_nodes):
    nodes = 1 << log2_nodes
    keys = graph._feistel_keys(registry.porep_id(5))
    half_bits = (log2_nodes + 3 + 1) // 2
    images = [graph._permute(i, 8 * nodes, half_bits, keys) for i in range(8 * nodes)]
    assert sorted(images) == list(range(8 * nodes))
    found = graph.expander_parents(np.arange(nodes, dtype=np.uint64), nodes, registry.porep_id(5), "1.1.0")
    assert found.reshape(-1).tolist() == [i // 8 for i in images]
