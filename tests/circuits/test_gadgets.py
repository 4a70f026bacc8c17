"""Every gadget against the digest that the Rust constraint system gives for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cuzk.circuits import boolean, labeling, num, pack, sha256, uint
from cuzk.circuits.insertion import insert, select
from cuzk.circuits.merkle import enforce_inclusion, poseidon_node, sha256_node
from cuzk.circuits.params import TreeShape
from cuzk.circuits.poseidon import poseidon_hash
from cuzk.circuits.stages import Library
from cuzk.r1cs.digest import digest
from tests.circuits.expansion import summary

VECTORS = Path(__file__).parents[1] / "vectors" / "r1cs"
ORACLE = {line["circuit"]: line for line in map(json.loads, (VECTORS / "gadgets.jsonl").read_text().splitlines())}


def bits(cs, n):
    return [boolean.alloc(cs) for _ in range(n)]


def nums(cs, n):
    return [num.alloc(cs) for _ in range(n)]


def inserted(cs, size):
    siblings, element = nums(cs, size - 1), num.alloc(cs)
    insert(cs, element, bits(cs, size.bit_length() - 1), siblings)


def logic(cs):
    a, b = bits(cs, 2)
    for op in (
        boolean.xor(cs, a, b),
        boolean.and_(cs, a, b),
        boolean.and_(cs, a, boolean.not_(b)),
        boolean.and_(cs, boolean.not_(a), boolean.not_(b)),
    ):
        assert not boolean.is_constant(op)


def choice_and_majority(cs):
    a, b, c = bits(cs, 3)
    boolean.ch(cs, a, b, c)
    boolean.maj(cs, a, b, c)


def selected(cs):
    candidates = nums(cs, 8)
    select(cs, candidates, bits(cs, 3))


def label_unit_test(cs):
    parents = [bits(cs, 256) for _ in range(37)]
    labeling.create_label(cs, bits(cs, 256), parents, uint.constant(3), uint.constant(22, 64))


def por(base, sub=0, top=0, node=poseidon_node, private=False):
    shape = TreeShape(64 * (sub or 1) * (top or 1), base, sub, top)
    return lambda cs: enforce_inclusion(cs, shape, None, None, node, private)


GADGETS = {
    "K01 empty": lambda cs: None,
    "K02 one bit": boolean.alloc,
    "K03 num inputize": lambda cs: num.inputize(cs, num.alloc(cs)),
    "K04 to_bits_le": lambda cs: num.to_bits_le(cs, num.alloc(cs)),
    "K12 insert 2": lambda cs: inserted(cs, 2),
    "K14 insert 4": lambda cs: inserted(cs, 4),
    "K18 insert 8": lambda cs: inserted(cs, 8),
    **{f"K2-{n} poseidon arity {n}": lambda cs, n=n: poseidon_hash(cs, nums(cs, n)) for n in (2, 4, 8, 11)},
    "K32 sha256 of 512 bits": lambda cs: sha256.sha256(cs, bits(cs, 512)),
    "K33 hash2_circuit sha256": lambda cs: sha256.hash2_circuit(cs, nums(cs, 2)),
    "K4 PoR 2": por(2),
    "K4 PoR 4": por(4),
    "K4 PoR 8": por(8),
    "K4 PoR 8-2": por(8, 2),
    "K4 PoR 8-8": por(8, 8),
    "K4 PoR 8-4-2": por(8, 4, 2),
    "K4 PoR 8-8-2": por(8, 8, 2),
    "K4 PoR 8 private": por(8, private=True),
}

# inputs, aux, constraints, nnz, digest from the description of the circuits: found by two slow builders that share no
# code, and for the bit and SHA-256 gadgets implied by Zcash's Sprout circuit, whose digest its own tests assert.
DESCRIBED = {
    "K05": (logic, 1, 6, 6, [9, 8, 6], "2008e06cee6fa6ebb16ec4e8dac01e6a2df6a586ed53b900c5a16e061dc41544"),
    "K06": (
        choice_and_majority,
        1,
        6,
        6,
        [12, 6, 5],
        "d1ccc39420d89f655a1aa06eb5721fd8a7b50531c0ca048bc039818d825e4915",
    ),
    "K07": (
        lambda cs: pack.pack_into_inputs(cs, bits(cs, 300)),
        *(3, 300, 302, [900, 302, 2], "eb5c5885192eeac7598afd7dae124c8f65e2fc606b868a4a99ae0fdd4f9f6aa5"),
    ),
    "K19": (selected, 1, 18, 10, [20, 10, 14], "947ef30b1c67bfdbbabf8c7f14efcbb1f4d43a41877d4ab403f8eb925d186587"),
    "K2-16": (
        lambda cs: poseidon_hash(cs, nums(cs, 16)),
        *(1, 777, 761, [6371, 777, 938], "8a505dae4403e57b9e890c342d06175b1277033ebb1977417179b9170815d9f7"),
    ),
    "K2-24": (
        lambda cs: poseidon_hash(cs, nums(cs, 24)),
        *(1, 1033, 1009, [9883, 1033, 1242], "d2442574550d759d9931eb827be35995fabe934c7105e21f4c2af40ca8003f1f"),
    ),
    "K2-36": (
        lambda cs: poseidon_hash(cs, nums(cs, 36)),
        *(1, 1421, 1385, [16967, 1421, 1703], "82a32bd5b41ed6413f3b858da811eb7f9a1519b160c082be307a21ff64364465"),
    ),
    "K2-g": (
        lambda cs: poseidon_hash(cs, nums(cs, 2), 1 << 40),
        *(1, 313, 311, [2119, 313, 386], "9675551c881122d99caf9a20a4bf87878e1863c432265a33e98e1c1a74e246a8"),
    ),
    "K31": (
        lambda cs: sha256.compress(cs, bits(cs, 512), sha256.initial_chain()),
        *(1, 26326, 26352, [60480, 26384, 56886], "a91be46c89fe4cb18f85d99956bf9b1afe0a96d1b6c960a30d4e9dcafcf501ba"),
    ),
    "K34": (
        label_unit_test,
        *(1, 531505, 532025, [1231915, 532057, 1149345]),
        "0759ddd2645a276700fad35fe3125ec00ac1c96ee74bdab68cc2edc81f8d301e",
    ),
    "K4 PoR sha 2": (
        por(2, node=sha256_node),
        *(3, 272012, 272295, [625064, 272475, 581241]),
        "06101b213e985a06aa97367fb756d504912d2edfa7169fe7390f3563e2b7bdbf",
    ),
}


def recorded(gadget, name="gadget"):
    library = Library()
    cs = library.stage()
    gadget(cs)
    return library.shape(name, cs)


def test_every_oracle_gadget_is_here():
    assert set(GADGETS) == set(ORACLE)


@pytest.mark.parametrize("circuit", GADGETS)
def test_gadget_equals_rust(circuit):
    shape = recorded(GADGETS[circuit])
    got = digest(shape)
    assert {k: got[k] for k in ORACLE[circuit] if k != "circuit"} == {k: v for k, v in ORACLE[circuit].items() if k != "circuit"}
    slow = summary(shape)
    assert slow == {k: got[k] for k in slow}


@pytest.mark.parametrize("circuit", DESCRIBED)
def test_gadget_equals_description(circuit):
    gadget, *expected = DESCRIBED[circuit]
    shape = recorded(gadget)
    got = digest(shape)
    assert [got[k] for k in ("inputs", "aux", "constraints", "nnz", "digest")] == expected
    if shape.num_rows < 30000:
        slow = summary(shape)
        assert slow == {k: got[k] for k in slow}
