"""Hint streams against the order that the circuit documents, and against the Rust stack's witness."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.circuits import params, porep
from cuzk.circuits.hints import hints
from cuzk.field.limbs import from_limbs
from cuzk.formats import c1
from tests.circuits import oracle_witness
from tests.formats import c1_cases as cases


def test_equal_to_the_rust_stacks_values():
    wanted = oracle_witness.hints(porep.record(2048))
    got = hints(c1.loads(cases.wrapper_bytes("2kib-v1_1")), 0)
    for a, b in zip(got, wanted, strict=True):
        assert a.bits.shape == b.bits.shape
        assert (a.bits == b.bits).all()
        assert (a.elems_canon == b.elems_canon).all()


def named(counts, stream):
    """The stream cut into the documented pieces."""
    assert stream.shape[-1] == sum(n for _, n in counts)
    ends = np.cumsum([n for _, n in counts])[:-1]
    return dict(zip([name for name, _ in counts], np.split(stream, ends, axis=-1), strict=True))


def value(bits):
    return sum(int(b) << i for i, b in enumerate(bits))


@pytest.mark.parametrize("case", ["32kib-v1_1", "8mib-v1_1", "2kib-non-interactive"])
def test_pieces_stand_where_the_circuit_takes_them(case):
    made, wanted = cases.load(case), cases.expected(case)
    order = porep.hint_order(params.porep_shape(made.sector))
    for partition in {0, made.vanilla.partitions - 1}:
        prologue, repeated = hints(made, partition)
        inputs = [int.from_bytes(bytes.fromhex(x), "little") for x in wanted["public_inputs_le"][partition]]
        assert from_limbs(prologue.elems_canon)[:3] == inputs[:3]
        for i in range(made.vanilla.challenges):
            bits = named(order.challenge_bits, repeated.bits[i])
            # The circuit's inputs are the packed indices, in the order of the bit stream.
            assert [value(b) for b in bits.values()] == inputs[3 + 18 * i : 21 + 18 * i]
            elems = named(order.challenge_elems, np.arange(repeated.elems_canon.shape[1]))
            rows = made.vanilla.column_rows[partition, i]
            for k, parent in enumerate(porep.PARENTS):
                column = repeated.elems_canon[i, elems[f"{parent}_column"]]
                assert column.astype("<u8").tobytes() == rows[1 + k].tobytes()
            leaf = repeated.elems_canon[i, elems["data_leaf"]]
            assert leaf.tobytes() == made.vanilla.comm_d_proofs.leaf[partition, i].tobytes()


def test_partitions_differ():
    made = cases.load("2kib-non-interactive")
    assert len({hints(made, k)[1].elems_canon.tobytes() for k in range(13)}) == 13
    with pytest.raises(IndexError):
        hints(made, 13)
