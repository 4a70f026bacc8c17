"""Ids and registered proofs: given ones are checked, absent ones never assumed."""

from __future__ import annotations

import pytest

from cuzk.errors import FalseInput, UsageError
from cuzk.formats import c1, registry
from cuzk.formats.c1_resolve import resolve
from tests.formats import c1_cases as cases


def inputs_le(replica):
    return [[x.to_bytes(32, "little").hex() for x in replica.public_inputs(k)] for k in range(replica.partitions)]


def ids(case):
    wanted = cases.expected(case)
    return wanted["miner_id"], wanted["sector_number"]


@pytest.mark.parametrize("case", cases.CASES)
def test_public_inputs_of_bincode(case):
    made, wanted = cases.load(case), cases.expected(case)
    if case in ("4kib-v1_1", "32kib-v1_1"):
        replica = resolve(made, *ids(case), porep_id=bytes.fromhex(wanted["porep_id"]), api_version="1.1.0")
        assert replica.registered_proof is None
    else:
        replica = resolve(made, *ids(case))
        assert replica.registered_proof == wanted["registered_proof"]
    assert replica.ids_checked
    assert (replica.miner, replica.sector_number) == ids(case)
    assert inputs_le(replica) == wanted["public_inputs_le"]


@pytest.mark.parametrize("case", cases.WRAPPED)
def test_wrapper_gives_the_sector_number(case):
    made = c1.loads(cases.wrapper_bytes(case))
    miner, sector = ids(case)
    assert resolve(made, miner).ids_checked
    assert resolve(made, miner, sector).ids_checked
    unchecked = resolve(made)
    assert not unchecked.ids_checked
    assert (unchecked.miner, unchecked.sector_number) == (None, sector)
    assert not resolve(made, sector=sector).ids_checked
    assert inputs_le(unchecked) == cases.expected(case)["public_inputs_le"]


def test_sector_is_held_against_sector_num():
    made = c1.loads(cases.wrapper_bytes("2kib-v1_1"))
    for miner in (None, 1001):
        with pytest.raises(FalseInput, match=r"--sector 9 is not the C1's SectorNum 8") as caught:
            resolve(made, miner, 9)
        assert (caught.value.code, caught.value.where, caught.value.expected, caught.value.got) == (4, "SectorNum", 9, 8)


@pytest.mark.parametrize(("miner", "sector"), [(1002, 8), (1000, 8), (1001, 7), (1001, 9), (8, 1001)])
@pytest.mark.parametrize("form", ["raw", "bincode"])
def test_wrong_ids(form, miner, sector):
    made = c1.loads(getattr(cases, f"{form}_bytes")("2kib-v1_1"))
    with pytest.raises(FalseInput, match=f"replica_id is not that of miner {miner}, sector {sector}") as caught:
        resolve(made, miner, sector)
    assert made.replica_id.hex() == caught.value.got


def test_incomplete_ids():
    raw = c1.loads(cases.raw_bytes("2kib-v1_1"))
    with pytest.raises(UsageError, match="--miner without a sector number"):
        resolve(raw, 1001)
    with pytest.raises(UsageError, match="--sector without --miner"):
        resolve(raw, None, 8)
    with pytest.raises(UsageError, match="does not say its registered proof"):
        resolve(cases.load("2kib-v1_1"))


def test_bincode_with_stated_proof():
    made = cases.load("2kib-v1_1")
    assert not resolve(made, registered_proof=registry.parse(5)).ids_checked
    assert resolve(made, 1001, 8, registered_proof=registry.parse(5)).ids_checked
    with pytest.raises(FalseInput):
        resolve(made, 1001, 8, registered_proof=registry.parse(0))
    with pytest.raises(UsageError, match=r"StackedDrg8MiBV1_1 but the C1 is of a 2KiB sector"):
        resolve(made, registered_proof=registry.parse(6))
    with pytest.raises(UsageError, match=r"wrong number of partitions for StackedDrg2KiBV1_2"):
        resolve(made, registered_proof=registry.parse(15))
    with pytest.raises(UsageError, match=r"wrong number of partitions for StackedDrg2KiBV1_1"):
        resolve(cases.load("2kib-non-interactive"), registered_proof=registry.parse(5))


def test_bincode_with_stated_porep_id():
    made = cases.load("2kib-v1_1")
    five = registry.porep_id(5)
    assert resolve(made, porep_id=five).registered_proof == "StackedDrg2KiBV1_1"
    assert resolve(made, porep_id=five, api_version="1.1.0").registered_proof == "StackedDrg2KiBV1_1"
    other = resolve(made, porep_id=five, api_version="1.0.0")
    assert (other.registered_proof, other.api_version, other.feature) == (None, "1.0.0", "interactive")
    assert resolve(made, porep_id=five, api_version="1.2.0", feature="synthetic").feature == "synthetic"
    with pytest.raises(UsageError, match="without --api-version"):
        resolve(made, porep_id=b"\x7f" * 32)
    with pytest.raises(UsageError, match="without --api-version"):
        resolve(cases.load("4kib-v1_1"), porep_id=five)
    with pytest.raises(UsageError, match="wrong number of partitions for non-interactive 2KiB"):
        resolve(made, porep_id=five, api_version="1.2.0", feature="non-interactive")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"porep_id": bytes(31)}, "wrong length"),
        ({"porep_id": bytes(32), "api_version": "1.1"}, "unknown API version"),
        ({"porep_id": bytes(32), "api_version": "1.1.0", "feature": "Synthetic"}, "unknown feature"),
        ({"api_version": "1.1.0"}, "say nothing without --porep-id"),
        ({"feature": "synthetic"}, "say nothing without --porep-id"),
    ],
)
def test_odd_options(options, message):
    with pytest.raises(UsageError, match=message):
        resolve(cases.load("2kib-v1_1"), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"registered_proof": registry.parse(0)}, r"--registered-proof StackedDrg2KiBV1 is not the C1's StackedDrg2KiBV1_1"),
        ({"porep_id": registry.porep_id(0)}, "--porep-id contradicts StackedDrg2KiBV1_1"),
        ({"api_version": "1.0.0"}, "--api-version contradicts"),
        ({"feature": "synthetic"}, "--feature contradicts"),
    ],
)
def test_options_against_the_file(options, message):
    made = c1.loads(cases.raw_bytes("2kib-v1_1"))
    with pytest.raises(UsageError, match=message):
        resolve(made, **options)
    agreeing = {"porep_id": registry.porep_id(5), "api_version": "1.1.0", "feature": "interactive"}
    assert resolve(made, registered_proof=registry.parse(5), **agreeing).registered_proof == "StackedDrg2KiBV1_1"


def test_sizes_without_registered_proof():
    made = cases.load("4kib-v1_1")
    for given in (None, ids("4kib-v1_1")):
        with pytest.raises(UsageError, match="porep_id and API version of this 4KiB C1 are not known"):
            resolve(made, *(given or ()))
    with pytest.raises(FalseInput, match="replica_id is not that"):
        resolve(made, 1003, 23, porep_id=registry.porep_id(5), api_version="1.1.0")
    with pytest.raises(UsageError, match="but the C1 is of a 4KiB sector"):
        resolve(made, registered_proof=registry.parse(5))
