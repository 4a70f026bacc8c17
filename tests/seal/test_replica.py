import json
from dataclasses import replace
from pathlib import Path

import pytest

from cuzk.errors import UsageError
from cuzk.seal import replica, sector

VECTORS = Path(__file__).parents[1] / "vectors" / "c1"
FEATURE = {"2kib-synthetic": "synthetic", "2kib-non-interactive": "non-interactive"}
CASES = ["2kib-v1_1", "2kib-v1", "2kib-synthetic", "2kib-non-interactive", "4kib-v1_1", "32kib-v1_1", "8mib-v1_1"]


def expected(case):
    return json.loads((VECTORS / case / "expected.json").read_text())


def replica_of(case):
    e = expected(case)
    raw = {k: bytes.fromhex(e[k]) for k in ("porep_id", "replica_id", "comm_d", "comm_r", "seed", "ticket")}
    size = sector.BY_SIZE[e["sector_size"]]
    feature = FEATURE.get(case, "interactive")
    return replica.Replica(sector=size, api_version=e["api_version"], feature=feature, **raw)


def inputs_le(r):
    return [[x.to_bytes(32, "little").hex() for x in r.public_inputs(k)] for k in range(r.partitions)]


@pytest.mark.parametrize("case", CASES)
def test_public_inputs_equal_upstream(case):
    e, r = expected(case), replica_of(case)
    assert r.partitions == e["partitions"]
    assert inputs_le(r) == e["public_inputs_le"]


@pytest.mark.parametrize("case", CASES)
def test_replica_id_equals_upstream(case):
    e, r = expected(case), replica_of(case)
    assert replica.prover_id(e["miner_id"]).hex() == e["prover_id"]
    assert replica.replica_id(e["miner_id"], e["sector_number"], r.ticket, r.comm_d, r.porep_id) == r.replica_id


def test_replica_id_depends_on_every_part():
    e, r = expected("2kib-v1_1"), replica_of("2kib-v1_1")
    miner, number = e["miner_id"], e["sector_number"]
    found = {
        replica.replica_id(miner, number, r.ticket, r.comm_d, r.porep_id),
        replica.replica_id(miner + 1, number, r.ticket, r.comm_d, r.porep_id),
        replica.replica_id(miner, number + 1, r.ticket, r.comm_d, r.porep_id),
        replica.replica_id(miner, number, r.seed, r.comm_d, r.porep_id),
        replica.replica_id(miner, number, r.ticket, r.comm_r, r.porep_id),
        replica.replica_id(miner, number, r.ticket, r.comm_d, b"\1" + r.porep_id[1:]),
    }
    assert len(found) == 6


@pytest.mark.parametrize(
    "changed",
    [{"seed": b"\3" * 32}, {"porep_id": bytes(32)}, {"api_version": "1.0.0"}, {"feature": "synthetic"}],
    ids=lambda c: next(iter(c)),
)
def test_public_inputs_depend_on(changed):
    r = replica_of("2kib-v1_1")
    assert inputs_le(replace(r, **changed)) != inputs_le(r)


@pytest.mark.parametrize(
    ("miner", "payload"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (1000, "e807"), ((1 << 63) - 1, "ff" * 8 + "7f")],
)
def test_prover_id_is_leb128(miner, payload):
    assert replica.prover_id(miner) == bytes.fromhex(payload).ljust(32, b"\0")


@pytest.mark.parametrize("miner", [-1, 1 << 63])
def test_prover_id_range(miner):
    with pytest.raises(UsageError, match="no such miner id"):
        replica.prover_id(miner)


@pytest.mark.parametrize("number", [-1, 1 << 64])
def test_sector_number_range(number):
    with pytest.raises(UsageError, match="no such sector number"):
        replica.replica_id(1, number, bytes(32), bytes(32), bytes(32))
