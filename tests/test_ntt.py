"""Transforms against the specification, against evaluation at single points, and against what they are defined to do."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from cuzk import ntt as ntt_module
from cuzk.errors import InternalError, ResourceError
from cuzk.field.limbs import fr_ints, fr_mont, from_limbs, to_limbs
from cuzk.field.params import FR_GENERATOR, R
from cuzk.ntt import Domain, lagrange_at
from cuzk.spec import ntt as spec
from cuzk.spec.field import Fr
from tests.conftest import ROOT, Draw

TRANSFORMS = ["ntt", "intt", "coset_ntt", "coset_intt"]


def apply(name: str, domain: Domain, values: list[int]) -> list[int]:
    array = fr_mont(values)
    getattr(domain, name)(array)
    assert max(from_limbs(array)) < R
    return fr_ints(array)


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("log2_size", range(13))
def test_equals_the_specification(log2_size: int, name: str, draw: Draw) -> None:
    values = draw.many(R, 1 << log2_size)
    assert apply(name, Domain(log2_size), values) == getattr(spec, name)(Fr, values), draw


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize(("log2_size", "limit"), [(9, 3), (10, 4), (12, 4), (12, 3)])
def test_more_than_two_passes(log2_size: int, limit: int, name: str, draw: Draw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ntt_module, "PASS_LOG2_SIZE", limit)
    domain = Domain(log2_size)
    assert len(domain.passes) == -(-log2_size // limit) > 2
    values = draw.many(R, 1 << log2_size)
    assert apply(name, domain, values) == getattr(spec, name)(Fr, values), draw


@pytest.mark.parametrize("value", [0, 1, R - 1, R - 2**32, (1 << 254) - 1, 1 << 254, 2**64 - 1])
@pytest.mark.parametrize("log2_size", [6, 7, 11])
def test_constant_vectors_transform_to_one_value(log2_size: int, value: int) -> None:
    # Raw container words, so that limbs take the extreme patterns; a transform does not care about the Montgomery factor.
    domain = Domain(log2_size)
    array = to_limbs([value] * domain.size, 4)
    domain.ntt(array)
    assert from_limbs(array) == [value * domain.size % R] + [0] * (domain.size - 1)


@pytest.mark.parametrize("log2_size", [14, 17])
def test_single_points_of_large_transforms(log2_size: int, draw: Draw) -> None:
    domain = Domain(log2_size)
    array = np.random.default_rng(draw.seed).integers(0, 1 << 62, (domain.size, 4), np.uint64)
    coefficients, original = fr_ints(array), array.copy()
    for name, shift in (("ntt", 1), ("coset_ntt", FR_GENERATOR)):
        getattr(domain, name)(array)
        for k in (0, domain.size - 1, draw.random.randrange(domain.size)):
            x = shift * pow(domain.omega, k, R) % R
            assert fr_ints(array[k : k + 1]) == [spec.evaluate(Fr, coefficients, x)], (draw, name, k)
        getattr(domain, "intt" if name == "ntt" else "coset_intt")(array)
        assert np.array_equal(array, original), draw


def test_linear(draw: Draw) -> None:
    domain = Domain(8)
    x, y, k = draw.many(R, 256), draw.many(R, 256), draw.below(R)
    combined = apply("ntt", domain, [(u + k * v) % R for u, v in zip(x, y, strict=True)])
    parts = zip(apply("ntt", domain, x), apply("ntt", domain, y), strict=True)
    assert combined == [(u + k * v) % R for u, v in parts], draw


def test_plans_cover_every_size() -> None:
    for log2_size in range(6, 32):
        passes = Domain(log2_size).passes
        assert sum(p.k for p in passes) == log2_size
        assert all(3 <= p.k <= ntt_module.PASS_LOG2_SIZE for p in passes)
        assert all(p.before << p.k << (p.stride.bit_length() - 1) == 1 << log2_size for p in passes)
        assert passes[-1].stride == 1


@pytest.mark.parametrize("log2_size", [-1, 32, 64])
def test_refuses_other_sizes(log2_size: int) -> None:
    with pytest.raises(ResourceError, match="no such evaluation domain"):
        Domain(log2_size)


@pytest.mark.parametrize(("rows", "log2_size"), [(0, 0), (1, 0), (2, 1), (3, 2), (64, 6), (65, 7), (1 << 31, 31)])
def test_smallest_domain(rows: int, log2_size: int) -> None:
    assert Domain.holding(rows).log2_size == log2_size == spec.log2_domain(rows)


def test_no_domain_holds_more_than_2_31_rows() -> None:
    with pytest.raises(ResourceError):
        Domain.holding((1 << 31) + 1)


@pytest.mark.parametrize("shape", [(63, 4), (65, 4), (64, 5), (256,)])
def test_refuses_arrays_of_another_shape(shape: tuple[int, ...]) -> None:
    with pytest.raises(InternalError):
        Domain(6).ntt(np.zeros(shape, np.uint64))


def test_refuses_arrays_of_another_kind() -> None:
    with pytest.raises(InternalError):
        Domain(6).ntt(np.zeros((64, 4), np.int64))  # type: ignore[arg-type]
    with pytest.raises(InternalError):
        Domain(6).ntt(np.zeros((128, 4), np.uint64)[::2])


@pytest.mark.parametrize("log2_size", [0, 1, 5, 6, 9])
def test_lagrange_basis(log2_size: int, draw: Draw) -> None:
    domain, tau = Domain(log2_size), draw.random.randrange(2, R)
    assert fr_ints(lagrange_at(domain, tau)) == list(spec.lagrange_at(Fr, log2_size, tau)), draw


def test_lagrange_basis_at_a_point_of_the_domain() -> None:
    domain = Domain(7)
    assert fr_ints(lagrange_at(domain, pow(domain.omega, 5, R))) == [int(i == 5) for i in range(128)]


def test_scalar_path_agrees() -> None:
    """The whole of this file and its neighbours on 64-bit limbs, whatever this host has."""
    if os.environ.get("CUZK_CPU") == "scalar":
        pytest.skip("already on the scalar path")
    files = ["tests/test_ntt.py", "tests/field/test_fr_vector.py", "tests/groth16/test_quotient.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not large", *files]
    done = subprocess.run(command, env={**os.environ, "CUZK_CPU": "scalar"}, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:]
