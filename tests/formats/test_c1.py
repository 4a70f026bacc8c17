"""Reading and writing of well-formed C1s, equal to what the Rust stack wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cuzk.errors import UsageError
from cuzk.field.params import R
from cuzk.formats import c1, c1_layout, c1_write, registry
from cuzk.seal.sector import SECTORS
from tests.conftest import Draw
from tests.formats import c1_cases as cases

# Exact sizes of bincode files, from the published field layout.
BINCODE_BYTES = {
    "2KiB": 28_248, "4KiB": 30_136, "16KiB": 36_472, "32KiB": 38_360, "8MiB": 60_120, "16MiB": 62_008,
    "512MiB": 76_056, "1GiB": 77_944, "32GiB": 11_014_808, "64GiB": 11_184_728,
}  # fmt: skip


@pytest.mark.parametrize("sector", SECTORS, ids=lambda s: s.name)
def test_record_has_the_published_size(sector):
    assert c1_layout.file_type(sector, sector.partitions).itemsize == BINCODE_BYTES[sector.name]


def test_leaves_cover_every_byte_of_a_record_once():
    for sector in SECTORS[:8]:
        record = np.zeros((), c1_layout.file_type(sector, 1))
        base = c1_layout.address(record)
        seen = np.zeros(record.dtype.itemsize, np.uint8)
        for leaf in c1_layout.leaves(record):
            shape = leaf.array.shape[:-1] if leaf.is_hash else leaf.array.shape
            width = 32 if leaf.is_hash else leaf.array.itemsize
            for at in np.ndindex(shape):
                offset = leaf.offset(at, base)
                seen[offset : offset + width] += 1
        assert (seen == 1).all()


@pytest.mark.parametrize("case", cases.CASES)
def test_bincode_values(case):
    made, wanted = cases.load(case), cases.expected(case)
    vanilla = made.vanilla
    assert (made.form, made.registered_proof, made.sector_number) == ("bincode", None, None)
    assert made.sector.size == wanted["sector_size"]
    assert vanilla.partitions == wanted["partitions"]
    for name in c1_layout.COMMITMENTS:
        assert getattr(made, name).hex() == wanted[name]
    published = [[int.from_bytes(bytes.fromhex(x), "little") for x in p[3:]] for p in wanted["public_inputs_le"]]
    inputs = np.array(published, np.uint64).reshape(vanilla.partitions, vanilla.challenges, 18)
    assert (vanilla.comm_d_proofs.node_index() == inputs[..., 0]).all()
    assert (vanilla.column_proof.node_index()[..., 1:] == inputs[..., 1:15]).all()
    assert (vanilla.column_index[..., 1:] == inputs[..., 1:15]).all()
    assert (vanilla.label_node == inputs[..., 15, None]).all()
    assert (vanilla.encoding_node == inputs[..., 15]).all()
    assert (vanilla.comm_r_last_proof.node_index() == inputs[..., 16]).all()
    assert (vanilla.column_proof.node_index()[..., 0] == inputs[..., 17]).all()
    assert (vanilla.comm_d_proofs.root == np.frombuffer(made.comm_d, np.uint8)).all()


@pytest.mark.parametrize("case", cases.WRAPPED)
def test_three_forms_are_one_value(case):
    wrapper, raw = c1.loads(cases.wrapper_bytes(case)), c1.loads(cases.raw_bytes(case))
    wanted = cases.expected(case)
    assert (wrapper.form, raw.form) == ("wrapper", "json")
    assert wrapper.sector_number == wanted["sector_number"]
    assert raw.sector_number is None
    for made in (wrapper, raw):
        assert made.registered_proof.name == wanted["registered_proof"]
        assert c1_write.bincode(made.vanilla, cases.commitments(made)) == cases.bincode_bytes(case)


@pytest.mark.parametrize("case", cases.CASES)
def test_written_forms_equal_upstreams(case):
    made = cases.load(case)
    assert c1_write.bincode(made.vanilla, cases.commitments(made)) == cases.bincode_bytes(case)
    if case not in cases.WRAPPED:
        return
    wanted = cases.expected(case)
    raw = c1_write.raw_json(registry.parse(wanted["registered_proof"]), made.vanilla, cases.commitments(made))
    assert raw == cases.raw_bytes(case)
    assert c1_write.wrapper(wanted["sector_number"], wanted["sector_size"], raw) == cases.wrapper_bytes(case)


def test_non_interactive_json():
    made = cases.load("2kib-non-interactive")
    raw = c1_write.raw_json(registry.parse(15), made.vanilla, cases.commitments(made))
    again = c1.loads(raw)
    assert again.vanilla.partitions == 13
    assert c1_write.bincode(again.vanilla, cases.commitments(again)) == cases.bincode_bytes("2kib-non-interactive")


@pytest.mark.parametrize("size", ["2KiB", "8MiB", "512MiB", "32GiB", "64GiB"])
def test_random_values_of_every_registered_size_round_trip(size, draw):
    proof = next(p for p in registry.REGISTERED if p.sector.name == size)
    record = random_record(proof.sector, proof.sector.partitions, draw.seed)
    made = c1.loads(record.tobytes())
    assert made.sector is proof.sector
    # JSON of the large sizes takes seconds: one partition's worth of layout is the same code.
    if proof.sector.partitions == 1:
        raw = c1_write.raw_json(proof, made.vanilla, cases.commitments(made))
        made = c1.loads(c1_write.wrapper(1, proof.sector.size, raw))
    assert c1_write.bincode(made.vanilla, cases.commitments(made)) == record.tobytes()


def random_record(sector, partitions, seed):
    """A well-formed record of random content."""
    rng = np.random.default_rng(seed)
    record = np.zeros((), c1_layout.file_type(sector, partitions))
    for leaf in c1_layout.leaves(record):
        if leaf.count is not None:
            leaf.array[...] = leaf.count
        elif leaf.is_hash:
            leaf.array[...] = rng.integers(0, 256, leaf.array.shape, dtype=np.uint8)
            leaf.array[..., 31] &= 0x3F
        else:
            leaf.array[...] = rng.integers(0, leaf.below or 1 << 30, leaf.array.shape)
    return record


def test_keys_may_come_in_any_order_and_more_may_be_there():
    def turned(value):
        if isinstance(value, dict):
            made = {key: turned(value[key]) for key in sorted(value, reverse=True)}
            return {"unknown": {"true": True, "list": [None, 1.5]}, **made} if "root" in made else made
        return [turned(item) for item in value] if isinstance(value, list) else value

    made = c1.loads(b" \n\t" + json.dumps(turned(cases.raw_value("2kib-v1_1")), indent=1).encode() + b"\r\n")
    assert c1_write.bincode(made.vanilla, cases.commitments(made)) == cases.bincode_bytes("2kib-v1_1")


def test_repeated_unknown_keys_are_ignored():
    made = c1.loads(b'{"x":{"y":1,"y":2},"x":3,' + cases.raw_bytes("2kib-v1_1")[1:])
    assert made.comm_r == cases.load("2kib-v1_1").comm_r


def test_largest_elements_are_accepted():
    value = cases.raw_value("2kib-v1_1")
    value["comm_r"] = list((R - 1).to_bytes(32, "little"))
    value["seed"] = value["ticket"] = [255] * 32
    made = c1.loads(cases.dumps(value))
    assert made.comm_r == (R - 1).to_bytes(32, "little")
    assert made.seed == b"\xff" * 32


def test_load_reads_files(tmp_path):
    made = c1.load(cases.EXAMPLE)
    assert made.file == str(cases.EXAMPLE)
    with pytest.raises(UsageError, match="cannot read the C1"):
        c1.load(tmp_path / "absent.json")
    with pytest.raises(UsageError, match="cannot read the C1"):
        c1.load(tmp_path)


def test_packaged_example_is_the_example():
    assert (cases.ROOT / "cuzk" / "data" / "c1-2kib.json").read_bytes() == cases.EXAMPLE.read_bytes()


def test_describe():
    facts = c1.loads(cases.wrapper_bytes("2kib-synthetic")).describe()
    assert next(iter(facts)) == "kind"
    assert facts["kind"] == "c1"
    assert facts["bytes"] == len(cases.wrapper_bytes("2kib-synthetic"))
    assert facts["registered_proof"] == "StackedDrg2KiBV1_1_Feat_SyntheticPoRep"
    assert (facts["feature"], facts["api_version"], facts["sector_number"]) == ("synthetic", "1.2.0", 15)
    json.dumps(facts)
    assert cases.load("2kib-non-interactive").describe()["feature"] == "non-interactive"
    assert cases.load("2kib-v1").describe()["feature"] is None


def test_elements_are_compared_with_r(draw: Draw):
    highest = R >> 192 << 192  # of these the rest decides
    nasty = [R - 1, R, R + 1, highest, highest - 1, highest + (1 << 192) - 1, 0, (1 << 256) - 1]
    for values in (nasty, [R - 1, 5], [highest - 1, 0], draw.many(1 << 256, 50)):
        hashes = np.frombuffer(b"".join(v.to_bytes(32, "little") for v in values), np.uint8).reshape(-1, 32)
        assert c1_layout.at_least_r(hashes).tolist() == [v >= R for v in values]
        assert c1_layout.at_least_r(np.repeat(hashes, 2, axis=0)[::2][:, None]).tolist() == [[v >= R] for v in values]
