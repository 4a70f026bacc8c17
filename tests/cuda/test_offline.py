"""Every CUDA kernel compiles without a card, uses no more registers and spills than recorded, and is integer code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cuzk import jit
from cuzk.cuda import compiler as compilers
from cuzk.cuda import offline
from cuzk.errors import DeviceError
from tests.conftest import ROOT

RECORD = ROOT / "docs/measurements/kernels-sm90.json"
# Kernels with signed arithmetic that is none on limbs, and why.
SIGNED: dict[str, str] = {
    f"cuzk.kernels.tree_cuda.pair_add_{curve}_{length}": "the sign bit of a reference, tested as the sign of a word"
    for curve in ("g1", "g2")
    for length in ("long", "short")
}

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return json.loads(RECORD.read_text())


def test_registers_and_spills_have_not_risen(record: dict[str, Any]) -> None:
    found = offline.record()["kernels"]
    advice = f"if that is meant: {record['command']}"
    assert sorted(found) == sorted(record["kernels"]), advice
    for name, facts in found.items():
        before = record["kernels"][name]
        for key in ("registers", "stack", "spill_stores", "spill_loads", "shared"):
            assert facts[key] <= before[key], f"{name}: {key} {before[key]} → {facts[key]}; {advice}"


def test_code_is_integer_code() -> None:
    for key, kernel in offline.declared().items():
        found = offline.faults(kernel.ptx(offline.CAPABILITY))
        if key in SIGNED:
            found = [line for line in found if offline._FLOAT.search(line)]
        assert not found, f"{key}: {found[:3]}"


def test_faults_are_seen() -> None:
    assert offline.faults("add.f64 %fd1, %fd2, %fd3;\nsetp.lt.s64 %p1, %rd1, %rd2;\nmin.s32 %r1, %r2, %r3;") == [
        "add.f64 %fd1, %fd2, %fd3;",
        "setp.lt.s64 %p1, %rd1, %rd2;",
        "min.s32 %r1, %r2, %r3;",
    ]
    assert len(offline.faults("setp.lt.s64 %p1, %rd1, %rd2;")) == 1
    assert len(offline.faults("cvt.rn.f64.s64 %fd1, %rd1;")) == 1
    innocent = "setp.lt.u64 %p1, %rd1, %rd2;\nsetp.eq.s32 %p1, %r1, 0;\nmin.u32 a, b, 1;\nld.global.v4.u32 {a,b,c,d}, [e];"
    assert offline.faults(innocent) == []


def test_machine_code_is_kept_and_checked(fresh_cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jit.code_cache_dir.cache_clear()
    kernel = next(k for key, k in offline.declared().items() if key.endswith("products_fr"))
    seen: list[str] = []
    monkeypatch.setattr(compilers, "on_compile", [lambda name, seconds: seen.append(name)])
    first = kernel.compiled((9, 0))
    assert kernel.compiled((9, 0)) == first and seen == ["kernels.rates_cuda.products_fr"]
    kept = next((fresh_cache / "jit/cuda").glob("products_fr-*.cubin"))
    kept.write_bytes(kept.read_bytes()[:-1])
    assert kernel.compiled((9, 0)) == first and len(seen) == 2
    kept.write_bytes(b"")
    assert kernel.compiled((9, 0)) == first and len(seen) == 3
    jit.code_cache_dir.cache_clear()


def test_what_is_not_kept_is_compiled_side_by_side(fresh_cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jit.code_cache_dir.cache_clear()
    short = ("clear_points", "count_differences", "list_gap", "scan")
    wanted = [kernel for kernel in offline.declared().values() if kernel.name in short]
    assert len(wanted) == len(short)
    seen: list[str] = []
    monkeypatch.setattr(compilers, "on_compile", [lambda name, seconds: seen.append(name.split(".")[-1])])
    wanted[0].compiled((9, 0))
    assert compilers.compile_all(wanted, (9, 0)) == 3 and sorted(seen) == sorted(short)
    assert compilers.compile_all(wanted, (9, 0)) == 0 and len(seen) == 4
    assert compilers.compile_all(wanted[:1], (10, 0)) == 1
    jit.code_cache_dir.cache_clear()


def test_the_source_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the module, and of all that it imports: another source, another name in the cache."""
    kernel = next(k for key, k in offline.declared().items() if key.endswith("find_false"))
    before = kernel.digest((9, 0))
    source = jit._source
    for changed in (kernel.module, "cuzk.field.fr_cuda", "cuzk.field.ptx", "cuzk.cuda.compiler"):
        other = lambda name, changed=changed: (source(name)[0] + b"#" * (name == changed), source(name)[1])  # noqa: E731
        monkeypatch.setattr(jit, "_source", other)
        jit.source_digest.cache_clear()
        assert kernel.digest((9, 0)) != before, changed
    monkeypatch.setattr(jit, "_source", source)
    jit.source_digest.cache_clear()
    assert kernel.digest((9, 0)) == before


def test_keys_of_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = next(iter(offline.declared().values()))
    keys = {kernel.digest((9, 0)), kernel.digest((10, 0))}
    monkeypatch.setattr(kernel, "level", 1)
    keys.add(kernel.digest((9, 0)))
    monkeypatch.setattr(compilers, "versions", lambda: ("others",))
    keys.add(kernel.digest((9, 0)))
    assert len(keys) == 4


def test_refused_code_is_a_device_error() -> None:
    with pytest.raises(DeviceError, match="ptxas refused"):
        compilers.assemble(".version 99.0\n.target sm_90\n", (9, 0), 3)


def test_two_kernels_of_one_name() -> None:
    kernel = next(iter(offline.declared().values()))
    with pytest.raises(AssertionError, match="two kernels"):
        compilers.Kernel(kernel.function, kernel.name, 32, 0, 0, 3)
