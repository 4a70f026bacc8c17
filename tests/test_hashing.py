"""Batched Poseidon against plain integers and against hashes that the Rust stack made."""

from __future__ import annotations

import numpy as np
import pytest

from cuzk.errors import InternalError
from cuzk.field.limbs import fr_ints, fr_mont, from_limbs
from cuzk.field.params import R
from cuzk.hashing import poseidon, poseidon_bytes
from cuzk.spec import poseidon as spec
from tests.circuits import oracle_witness
from tests.circuits.naive import NASTY
from tests.conftest import Draw


def batch(values: list[int], arity: int) -> np.ndarray:
    return fr_mont(values).reshape(-1, arity, 4)


@pytest.mark.parametrize("arity", [2, 4, 8, 11])
@pytest.mark.parametrize("n", [1, 3, 17])
def test_poseidon_equals_plain_integers(arity: int, n: int, draw: Draw) -> None:
    values = draw.many(R, n * arity)
    want = [spec.poseidon(values[i : i + arity]) for i in range(0, len(values), arity)]
    assert fr_ints(poseidon(arity, batch(values, arity), threads=1 + n % 2)) == want


@pytest.mark.parametrize("arity", [2, 8, 11])
def test_poseidon_of_bytes(arity: int, draw: Draw) -> None:
    values = draw.many(R, 3 * arity)
    preimages = np.frombuffer(b"".join(v.to_bytes(32, "little") for v in values), np.uint8).reshape(-1, arity, 32)
    want = [spec.poseidon(values[i : i + arity]).to_bytes(32, "little") for i in range(0, len(values), arity)]
    assert [h.tobytes() for h in poseidon_bytes(preimages)] == want
    assert poseidon_bytes(preimages[:0]).shape == (0, 32)


@pytest.mark.parametrize("value", NASTY)
def test_poseidon_of_nasty_values(value: int) -> None:
    assert fr_ints(poseidon(8, batch([value] * 8, 8))) == [spec.poseidon([value] * 8)]


@pytest.mark.parametrize("tag", [0, 3, 1 << 40, R - 1])
def test_poseidon_with_another_tag(tag: int) -> None:
    assert fr_ints(poseidon(2, batch([5, 6], 2), tag)) == [spec.poseidon([5, 6], tag)]


def test_comm_r_of_a_real_sector() -> None:
    """comm_r = H(comm_c, comm_r_last); aux 257, 258 and 259 are comm_r, comm_r_last and comm_c."""
    values, _ = oracle_witness.aux_values()
    comm_r, comm_r_last, comm_c = from_limbs(values[257:260])
    assert fr_ints(poseidon(2, batch([comm_c, comm_r_last], 2))) == [comm_r]
    assert fr_ints(poseidon(2, batch([comm_r_last, comm_c], 2))) != [comm_r]


def test_an_empty_batch_gives_an_empty_batch() -> None:
    assert poseidon(8, np.zeros((0, 8, 4), np.uint64)).shape == (0, 4)


@pytest.mark.parametrize(("arity", "shape"), [(3, (1, 3, 4)), (8, (1, 7, 4)), (8, (8, 4)), (2, (1, 2, 6))])
def test_other_arities_and_shapes_are_refused(arity: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(InternalError, match="no such Poseidon"):
        poseidon(arity, np.zeros(shape, np.uint64))
