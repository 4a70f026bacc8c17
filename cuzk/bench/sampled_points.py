"""Whether the points of a parameter file are the multiples of their generators that the toxic waste makes them."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuzk.bench import measure, msm
from cuzk.bench.sampled_columns import columns, logarithm
from cuzk.circuits.template import Shape
from cuzk.field.limbs import FR_LIMBS, fp_ints
from cuzk.field.params import R
from cuzk.formats import srs
from cuzk.groth16.crs import VECTORS, VK_FIXED_BYTES
from cuzk.groth16.logarithms import Logarithms, ToxicWaste
from cuzk.msm import pippenger
from cuzk.msm.rows import rows_from_be
from cuzk.r1cs.density import densities
from cuzk.spec import curve as spec
from cuzk.spec import encoding

SPEC = (
    "the six fixed points of the verifying key, and samples of every vector as multiples of the generator, by cuzk.spec.curve; "
    "their logarithms in plain integers"
)
SUMS = (
    "random sums of all points of each vector by the CPU, (Σ k_i s_i) G by cuzk.spec.curve for the logarithms k_i of "
    "cuzk.groth16.logarithms"
)
CHUNK = 1 << 20
SAMPLES = 16


def head_holds(data: bytes, waste: ToxicWaste) -> bool:
    """Whether a verifying key or parameter file begins with its fixed points."""
    points = [(spec.G1, waste.alpha), (spec.G1, waste.beta), (spec.G2, waste.beta), (spec.G2, waste.gamma)]
    points += [(spec.G1, waste.delta), (spec.G2, waste.delta)]
    return data.startswith(b"".join(encoding.to_uncompressed(curve, curve.mul(curve.generator, k)) for curve, k in points))


def _variables(shape: Shape) -> dict[str, npt.NDArray[np.int64]]:
    """Which variable each point of a vector is of: inputs, then aux."""
    of, n = densities(shape), shape.num_inputs
    in_b = np.flatnonzero(np.concatenate([of.b_inputs, of.b_aux]))
    in_a = np.flatnonzero(np.concatenate([np.ones(n, np.bool_), of.a_aux]))
    return {"ic": np.arange(n), "l": np.arange(n, n + shape.num_aux), "a": in_a, "b_g1": in_b, "b_g2": in_b}


def samples_hold(shape: Shape, waste: ToxicWaste, file: srs.ParamsFile, samples: int = SAMPLES) -> bool:
    """Whether the first, the last and some other points of each vector are what they must be, but those of ONE."""
    start = (pow(waste.tau, 1 << shape.domain_log2, R) - 1) * pow(waste.delta, -1, R)
    variables = _variables(shape)
    for name, group in (("ic", "g1"), *VECTORS):
        points, curve = file.vector_be(name), spec.G1 if group == "g1" else spec.G2
        n = len(points)
        for i in sorted({0, n - 1, *random.Random(n).choices(range(n), k=samples)}) if n else ():
            if name == "h":
                k = start * pow(waste.tau, i, R) % R
            elif variable := int(variables[name][i]):
                k = logarithm(name, waste, columns(shape, variable, waste.tau))
            else:
                continue
            if points[i].tobytes() != encoding.to_uncompressed(curve, curve.mul(curve.generator, k)):
                return False
    return True


def sums_hold(shape: Shape, waste: ToxicWaste, path: Path, every: int = 1) -> bool:
    """Whether random sums of the points of each vector, and samples of them, are what they must be.

    `every`: of the pieces of `CHUNK` points only each so many is looked at.
    """
    of = Logarithms(shape, waste)
    file = srs.ParamsFile(path, of.lengths, shape.name)
    for name, curve in VECTORS:
        points = file.vector_be(name)
        for first in range(0, len(points), every * CHUNK):
            piece = points[first : first + CHUNK]
            factors = measure.random_words((len(piece), FR_LIMBS), first)
            found = pippenger.msm(rows_from_be(curve, piece), factors)
            if fp_ints(found.reshape(-1, 6)) != msm.expected(curve, of.scalars(name, first, len(piece)), factors):
                return False
    return head_holds(file.data[:VK_FIXED_BYTES].tobytes(), waste) and samples_hold(shape, waste, file)
