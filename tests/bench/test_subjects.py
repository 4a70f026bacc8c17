"""Small measurements of every subject that is cheap; checks that must notice a wrong result."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cuzk import config
from cuzk.bench import (
    arkworks,
    field,
    known,
    machine,
    measure,
    msm,
    ntt,
    process,
    sampled_columns,
    sampled_points,
    sampled_rows,
    synth,
)
from cuzk.bench import setup as bench_setup
from cuzk.bench.measure import Request
from cuzk.circuits.synthesis import Buffers, Synthesis
from cuzk.circuits.template import Shape, Witness
from cuzk.errors import InternalError, ResourceError
from cuzk.field import lanes
from cuzk.field.limbs import fr_ints
from cuzk.field.params import R
from cuzk.formats import circuit, srs, toxic_waste
from cuzk.groth16 import logarithms
from cuzk.groth16.logarithms import development_waste
from cuzk.ntt import Domain
from cuzk.r1cs import evaluation
from cuzk.spec import ntt as spec_ntt
from cuzk.spec import r1cs
from cuzk.spec.field import Fr
from tests import points as given
from tests.circuits import expansion
from tests.circuits.naive import random_shape
from tests.conftest import VECTORS, Draw
from tests.r1cs.test_evaluation import any_witness

KEYS = {"name", "threads", "path", "seconds", "times", "cpu_seconds", "result"}
CPUS = sorted({1, config.thread_count()})


def sound(row: dict[str, object], runs: int) -> None:
    assert set(row) >= KEYS
    seconds, result = row["seconds"], row["result"]
    assert isinstance(seconds, dict) and isinstance(result, dict)
    assert seconds["n"] == runs and 0 < seconds["min"] <= seconds["median"] <= seconds["max"]
    assert result["holds"] is True and len(result["sha256"]) == 64 and result["against"]


def test_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_LEAST_SECONDS", 0.0)
    rows = field.run(Request(runs=2), rounds=3)
    assert [r["name"] for r in rows] == ["fp mul", "fp sqr", "fr mul", "fr sqr"]
    for row in rows:
        sound(row, 2)
        assert row["ns_per_lane"] > 0 and row["lanes"] == lanes.LANES


def test_field_operands_are_what_they_stand_for(draw: Draw) -> None:
    for name, modulus in lanes.MODULI.items():
        values = draw.many(modulus, field._COUNT)
        assert field._unpack(field._pack(values, name), name) == values, draw


def test_ntt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_LEAST_SECONDS", 0.0)
    rows = ntt.run(Request(runs=2, sizes=(6, 15, 16)))
    assert [(r["name"], r["threads"]) for r in rows] == [(f"ntt 2^{k}", t) for k in (6, 15, 16) for t in CPUS]
    for row in rows:
        sound(row, 2)
        if row["threads"] == 1:
            assert row["against_product_alone"] > 0 and row["cpu_against_product_alone"] > 0
            keys = {"floor", "cpu_floor", "against_floor", "cpu_against_floor"}
            assert keys & set(row) == (keys if row["name"] == "ntt 2^16" else set()), "a short one has no floor"
        if "floor" in row:
            floor = row["floor"]
            ns = floor["fr_product_ns"] + floor["load_store_both_ns"]
            assert row["against_floor"] == pytest.approx(row["ns_per_butterfly"] / ns, rel=0.01, abs=0.001)
            assert row["cpu_against_floor"] > 0 and set(row["cpu_floor"]) == set(floor)
        elif row["threads"] > 1:
            assert row["speed_up"] > 0 and row["load_store_speed_up"] > 0 and row["products_speed_up"] > 0


def test_sizes_beyond_memory_are_refused_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "available_memory", lambda: 1 << 30)
    for run, size in ((ntt.run, 23), (msm.run, 22)):
        with pytest.raises(ResourceError, match=f"not enough memory for .* 2\\^{size}") as caught:
            run(Request(sizes=(4, size)))
        assert caught.value.hint == measure.SMALLER
    monkeypatch.setattr(config, "available_memory", lambda: 400 << 20)
    with pytest.raises(ResourceError, match="not enough memory for synthesis 2KiB") as caught:
        synth.run(Request(sizes=(2048,)))
    assert caught.value.hint == measure.SMALLER
    assert max(ntt.memory(21), msm.memory("g2", 19, False)) < 1 << 30
    assert msm.memory("g1", 20, True) > msm.memory("g1", 20, False)


def test_the_parts_of_the_floor_are_of_the_same_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    honest = measure.in_rounds

    def watched(tasks: list[measure.Task], runs: int) -> list[measure.Times]:
        seen.append([task.cpus for task in tasks])
        return honest(tasks, runs)

    monkeypatch.setattr(measure, "_LEAST_SECONDS", 0.0)
    monkeypatch.setattr(measure, "in_rounds", watched)
    ntt.run(Request(runs=1, sizes=(8,)))
    assert seen == [[*CPUS, *CPUS, *CPUS, 1]]


def test_transforms_that_do_nothing_after_the_first_have_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, calls = Domain.ntt, [0]

    def lazy(self: Domain, values: np.ndarray) -> None:
        calls[0] += 1
        if calls[0] <= 4:
            honest(self, values)

    monkeypatch.setattr(Domain, "ntt", lazy)
    with pytest.raises(InternalError, match="ntt 2\\^8: a timed run left another result"):
        ntt.run(Request(runs=3, sizes=(8,), threads=(1,)))
    assert calls == [5]


@pytest.mark.parametrize("field_name", sorted(lanes.MODULI))
def test_rounds_that_are_left_out_show(field_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mul, sqr = field.rates_cpu.PRODUCTS[field_name]
    fewer = tuple(lambda a, b, rounds, kernel=kernel: kernel(a, b, rounds - 1) for kernel in (mul, sqr))
    monkeypatch.setitem(field.rates_cpu.PRODUCTS, field_name, fewer)
    for name in ("mul", "sqr"):
        with pytest.raises(InternalError, match=f"{field_name} {name}: the result is wrong"):
            field.Products(field_name, name, 4)


def test_products_of_every_timed_run_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    job = field.Products("fr", "mul", 3)
    honest, calls = job._kernel, [0]

    def tired(a: np.ndarray, b: np.ndarray, rounds: int) -> None:
        calls[0] += 1
        honest(a, b, rounds if calls[0] < 3 else rounds - 1)

    monkeypatch.setattr(job, "_kernel", tired)
    with pytest.raises(InternalError, match="fr mul: a timed run left another result"):
        measure.in_rounds([job.task()], 5)
    assert calls == [3]


@pytest.mark.parametrize("place", [0, 1, 63, 64, 500, 1023])
def test_the_check_of_transforms_sees_every_value(place: int) -> None:
    values = measure.random_words((1024, 4), 1)
    after = values.copy()
    Domain(10).ntt(after)
    assert ntt.holds(values, after)
    after[place, 0] ^= np.uint64(1)
    assert not ntt.holds(values, after)


def test_the_check_of_transforms_sees_permutations_that_keep_every_64th_value_and_sums_over_residues() -> None:
    """The middle digit of an index reversed: 64 values and the sums over residues modulo 64 stay as they are."""
    values = measure.random_words((1 << 14, 4), 5)
    after = values.copy()
    Domain(14).ntt(after)
    digits = after.reshape(64, 4, 64, 4).copy()
    digits[:, 1:] = digits[:, 1:][:, ::-1]
    wrong = digits.reshape(-1, 4)
    assert np.array_equal(wrong[:: 1 << 8], after[:: 1 << 8]) and not np.array_equal(wrong, after)
    assert measure.class_sums(wrong, 64) == measure.class_sums(after, 64)
    assert ntt.holds(values, after) and not ntt.holds(values, wrong)


def test_a_transform_that_is_not_reduced_is_refused() -> None:
    values = measure.random_words((256, 4), 5)
    after = values.copy()
    Domain(8).ntt(after)
    small = min(range(256), key=lambda i: int(after[i, 3]))
    total = sum(int(w) << (64 * j) for j, w in enumerate(after[small])) + R
    after[small] = [(total >> (64 * j)) & (2**64 - 1) for j in range(4)]
    assert not ntt.holds(values, after)


def test_msm_with_its_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_LEAST_SECONDS", 0.0)
    rows = msm.run(Request(runs=2, sizes=(5,), peers=True))
    assert [(r["name"], r["threads"]) for r in rows] == [(f"msm {c} 2^5", t) for c in ("g1", "g2") for t in CPUS]
    for row in rows:
        sound(row, 2)
        assert ("peer" in row) == (row["threads"] == 1)
    assert rows[0]["peer"]["name"] == arkworks.PACKAGE and rows[0]["peer"]["seconds"]["n"] == 2
    assert rows[0]["peer"]["ratio"] > 0
    monkeypatch.setattr(msm.pippenger, "msm", lambda rows, scalars: np.zeros(12 if rows.curve == "g1" else 24, np.uint64))
    with pytest.raises(InternalError, match="the result is wrong"):
        msm.run(Request(runs=1, sizes=(5,)))


def test_sums_of_every_timed_run_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    honest, calls = msm.pippenger.msm, [0]

    def flaky(rows: object, scalars: np.ndarray) -> np.ndarray:
        calls[0] += 1
        found = honest(rows, scalars)
        return found if calls[0] < 4 else np.zeros_like(found)

    monkeypatch.setattr(msm.pippenger, "msm", flaky)
    with pytest.raises(InternalError, match="msm g1 2\\^5: a timed run left another result"):
        msm.run(Request(runs=5, sizes=(5,), threads=(1,)))
    assert calls == [4]


def test_the_ratio_to_a_peer_is_of_the_rounds_that_both_ran_in() -> None:
    mine, theirs = measure.Times([2.0, 2.0, 1.0, 1.0, 1.0], [1.0, 1.0, 4.0, 4.0, 4.0]), measure.Times([10.0, 10.0], [5.0, 5.0])
    found = msm.against_peer(mine, theirs)
    assert (found["ratio"], found["cpu_ratio"], found["rounds"]) == (5.0, 5.0, 2)


def test_the_expected_sum_is_the_peers(draw: Draw) -> None:
    logarithms, scalars = measure.random_words((7, 4), draw.random.randrange(1 << 30)), measure.random_words((7, 4), 2)
    for curve in ("g1", "g2"):
        points = [given.times(curve, sum(int(w) << (64 * i) for i, w in enumerate(k))) for k in logarithms]
        peer = arkworks.Sum(curve, given.containers(curve, points), scalars)
        peer.task()()
        assert msm.expected(curve, logarithms, scalars) == peer.coordinates(), draw


def test_known_digests_are_those_of_the_vectors() -> None:
    import json

    stated = known.digests()
    witness = json.loads((VECTORS / "witness/2kib-v1_1.json").read_text())["partitions"][0]
    proof = json.loads((VECTORS / "groth16/porep-2kib-v1_1-proof.json").read_text())
    setup = json.loads((VECTORS / "groth16/porep-2kib.json").read_text())
    assert stated["partition_0"] == {key: witness[key] for key in stated["partition_0"]}
    assert (stated["proof"], stated["randomness"]) == (proof["proof"], proof["randomness"])
    assert (stated["params_sha256"], stated["vk_sha256"]) == (setup["params_sha256"], setup["vk_sha256"])


CUBIC = VECTORS / "groth16" / "cubic"


def test_points_of_a_file_are_sampled(tmp_path: Path) -> None:
    """Points exchanged, a fixed point of the key exchanged, other waste: each is seen."""
    (shape, _), waste = circuit.load(CUBIC / "circuit.json"), toxic_waste.read(CUBIC / "circuit.json")
    lengths, data = logarithms.lengths(shape), (CUBIC / "cubic.params").read_bytes()
    file = srs.ParamsFile(CUBIC / "cubic.params", lengths, shape.name)
    assert sampled_points.samples_hold(shape, waste, file) and sampled_points.head_holds(data, waste)
    assert not sampled_points.head_holds(data, development_waste("cubic"))
    assert not sampled_points.samples_hold(shape, development_waste("cubic"), file)
    for name in ("ic", "h", "l", "a", "b_g1", "b_g2"):
        points = file.vector_be(name)
        start = points.__array_interface__["data"][0] - file.data.__array_interface__["data"][0]
        size, moved = points.shape[1], bytearray(data)
        moved[start : start + 2 * size] = data[start + size : start + 2 * size] + data[start : start + size]
        path = tmp_path / f"{name}.params"
        path.write_bytes(moved)
        assert not sampled_points.samples_hold(shape, waste, srs.ParamsFile(path, lengths, shape.name), 40), name


def setup_run(folder: Path, **said: str) -> process.Run:
    return process.Run(
        1.0, 1.0, 1, {part: {"file": f"x.{part}", "sha256": said.get(part, bench_setup._digest(folder / f"x.{part}"))}
        for part in ("params", "vk")}, True,
    )  # fmt: skip


def test_setups_of_other_sizes_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shape, _), waste = circuit.load(CUBIC / "circuit.json"), toxic_waste.read(CUBIC / "circuit.json")
    monkeypatch.setattr(bench_setup.shapes, "load_or_record", lambda *_: shape)
    monkeypatch.setattr(bench_setup, "development_waste", lambda _: waste)
    params, key = (CUBIC / "cubic.params").read_bytes(), (CUBIC / "cubic.vk").read_bytes()
    (tmp_path / "x.params").write_bytes(params)
    (tmp_path / "x.vk").write_bytes(key)
    run = setup_run(tmp_path)
    assert bench_setup.check(4096, [run, run], tmp_path, "setup", Request())["holds"] is True
    with pytest.raises(InternalError, match="other files than the last"):
        bench_setup.check(4096, [setup_run(tmp_path, params="00" * 32), run], tmp_path, "setup", Request())
    garbage = bytearray(params)
    garbage[-192:] = params[-384:-192]  # twice the same point of b_g2
    (tmp_path / "x.params").write_bytes(garbage)
    with pytest.raises(InternalError, match="other files than the last"):
        bench_setup.check(4096, [run], tmp_path, "setup", Request())
    with pytest.raises(InternalError, match="the result is wrong"):
        bench_setup.check(4096, [setup_run(tmp_path)], tmp_path, "setup", Request())


@pytest.mark.parametrize("seed", range(100, 104))
def test_single_rows_are_those_of_the_slow_twin(seed: int) -> None:
    shape = random_shape(seed)
    witness, twin = any_witness(shape, seed)
    inputs, aux = fr_ints(witness.inputs_mont), sampled_rows._Aux(witness)
    for number, values in enumerate(twin.rows()):
        assert tuple(r1cs.value(Fr, lc, inputs, aux) for lc in sampled_rows.row(shape, number)) == values, number


@pytest.mark.parametrize("seed", range(101, 105))
def test_single_columns_are_those_of_the_slow_twin(seed: int) -> None:
    """Every variable but ONE, against rows of plain integers."""
    shape, tau = random_shape(seed), 12345 + seed
    weights = list(spec_ntt.lagrange_at(Fr, shape.domain_log2, tau))
    wanted: dict[tuple[str, int], list[int]] = {("I", i): [weights[shape.num_rows + i], 0, 0] for i in range(shape.num_inputs)}
    for weight, row in zip(weights, expansion.rows(shape), strict=False):
        for k, lc in enumerate(row):
            for variable, coefficient in lc.items():
                wanted.setdefault(variable, [0, 0, 0])[k] += coefficient * weight
    n = shape.num_inputs
    for variable in range(1, n + shape.num_aux):
        name = ("I", variable) if variable < n else ("A", variable - n)
        assert sampled_columns.columns(shape, variable, tau) == [x % R for x in wanted.get(name, [0, 0, 0])], name


def test_row_values_that_are_not_the_circuits_are_seen() -> None:
    shape = random_shape(100)
    witness, twin = any_witness(shape, 100)
    rows, public = evaluation.evaluate(shape, witness), twin.inputs[1:]
    assert sampled_rows.hold(shape, Synthesis(witness, *rows), public, 2000)
    zeros = [np.zeros_like(x) for x in rows]
    assert not sampled_rows.hold(shape, Synthesis(witness, *zeros), public, 2000)
    assert not sampled_rows.hold(shape, Synthesis(witness, *rows), [public[0] + 1, *public[1:]], 2000)
    seen = 0
    for number in range(1, 60):  # none of them is looked at in any case
        other = [x.copy() for x in rows]
        other[1][number, 0] ^= np.uint64(1)
        seen += not sampled_rows.hold(shape, Synthesis(witness, *other), public, 60)
    assert seen > 10, "samples are of many rows"
    for k in range(3):
        other = [x.copy() for x in rows]
        other[k][shape.num_rows - 1, 0] ^= np.uint64(1)
        assert not sampled_rows.hold(shape, Synthesis(witness, *other), public, 2000)
        other[k][shape.num_rows - 1, 0] ^= np.uint64(1)
        other[k][shape.num_rows, 0] ^= np.uint64(1)  # a final row
        assert not sampled_rows.hold(shape, Synthesis(witness, *other), public, 2000)


@pytest.mark.parametrize("what", ["zeros", "nothing", "other"])
def test_every_synthesis_is_looked_at(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shape, runs = random_shape(100), [0]
    witness, twin = any_witness(shape, 100)

    def synthesize(shape: Shape, *rest: object) -> Synthesis:
        runs[0] += 1
        into = rest[-1]
        assert isinstance(into, Buffers)
        if what == "nothing" and runs[0] > 1:
            return Synthesis(Witness(*into.values), *into.out)
        for target, source in zip(into.values, (witness.inputs_mont, witness.bits, witness.elems_mont), strict=True):
            target[:] = source
        for target, source in zip(into.out, evaluation.evaluate(shape, witness), strict=True):
            target[:] = 0 if what == "zeros" else source
        into.out.c[0, 0] ^= np.uint64(what == "other" and runs[0] == 3)
        return Synthesis(Witness(*into.values), *into.out)

    monkeypatch.setattr(synth.synthesis, "synthesize", synthesize)
    monkeypatch.setattr(synth, "hints", lambda *_: (None, None))
    monkeypatch.setattr(synth, "content_of", lambda _: SimpleNamespace(sector=SimpleNamespace(size=4096)))
    monkeypatch.setattr(synth.shapes, "load_or_record", lambda *_: shape)
    monkeypatch.setattr(synth.evaluation, "first_false_row", lambda *_: None)  # most of its rows are false
    monkeypatch.setattr(synth, "_public_inputs", lambda _: twin.inputs[1:])
    message = {"zeros": "the result is wrong"}.get(what, "a timed run left another result")
    with pytest.raises(InternalError, match=message):
        synth.run(Request(runs=3, sizes=(4096,), threads=(1,)))
    assert runs == [{"zeros": 1, "nothing": 2, "other": 3}[what]]


def test_peak_memory_is_the_childs_own() -> None:
    before = process.cuzk(["config"], "scalar").peak_memory
    held = np.ones(400 << 17)  # 400 MiB
    after = process.cuzk(["config"], "scalar").peak_memory
    assert after < before + (100 << 20) and held.nbytes == 400 << 20


def test_processes_are_cold_until_they_add_nothing(fresh_cache: object, monkeypatch: pytest.MonkeyPatch) -> None:
    added = iter([True, False, True, False, False])

    def run(arguments: list[str], path: str) -> process.Run:
        return process.Run(1.0, 1.0, 1, {}, not next(added))

    monkeypatch.setattr(process, "cuzk", run)
    assert len(process.warm_runs(["prove"], "scalar", 3, first=True)) == 3
    monkeypatch.setattr(process, "cuzk", lambda arguments, path: process.Run(1.0, 1.0, 1, {}, False))
    with pytest.raises(InternalError, match="at every run"):
        process.warm_runs(["prove"], "scalar", 1, first=False)


def test_the_machine() -> None:
    found = machine.describe((arkworks.PACKAGE,))
    assert found["cpu"]["model"] and found["cores"] >= found["usable_cores"] >= 1
    assert set(found["versions"]) == {"cuzk", "python", "numba", "llvmlite", "numpy", arkworks.PACKAGE}
    assert None not in found["versions"].values()
