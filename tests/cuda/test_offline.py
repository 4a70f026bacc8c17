"""Every CUDA kernel compiles without a card, uses no more registers and spills than recorded, and is integer code."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
from typing import Any

import pytest

from cuzk import jit
from cuzk.cuda import compiler as compilers
from cuzk.cuda import offline
from cuzk.errors import DeviceError
from tests.conftest import ROOT

RECORD = ROOT / "docs/measurements/kernels-sm90.json"

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
        assert not found, f"{key}: {found[:3]}"


def test_faults_are_seen() -> None:
    assert offline.faults("add.f64 %fd1, %fd2, %fd3;\nsetp.lt.s64 %p1, %rd1, %rd2;\nmin.s32 %r1, %r2, %r3;") == [
        "add.f64 %fd1, %fd2, %fd3;",
        "setp.lt.s64 %p1, %rd1, %rd2;",
        "min.s32 %r1, %r2, %r3;",
    ]
    assert len(offline.faults("setp.lt.s64 %p1, %rd1, %rd2;")) == 1
    assert len(offline.faults("cvt.rn.f64.s64 %fd1, %rd1;")) == 1
    for line in (
        "@%p1 slct.b32.s32 %r1, %r2, %r3, %r4;",
        "slct.u64.s32 %rd1, %rd2, %rd3, %r4;",
        "set.ge.u32.s32 %r1, %r2, %r3;",
        "setp.gt.and.s32 %p1, %r1, -1, %p2;",
        "setp.gt.s32 %p1, %r1, 0;",
        "setp.lt.s32 %p1, %r1, -1;",
        "setp.gt.s32 %p1, %r1, -10;",
    ):
        assert offline.faults(line) == [line]
    innocent = "setp.lt.u64 %p1, %rd1, %rd2;\nsetp.eq.s32 %p1, %r1, 0;\nmin.u32 a, b, 1;\nld.global.v4.u32 {a,b,c,d}, [e];"
    assert offline.faults(innocent) == []
    assert offline.faults("\tsetp.gt.s32 \t%p1, %r1, -1;\n\tsetp.lt.s64 \t%p1, %rd1, 0;") == []


def test_a_signed_order_of_limbs_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """In real code; the sign of a reference, in the same kernel, is none."""
    from numba import int32

    from cuzk.cuda import memory
    from cuzk.cuda.words import uint32

    load, store = memory.load(2), memory.store(1)

    def sound(out, data):  # type: ignore[no-untyped-def]
        a, b = load(data)
        store(out, a if a >> uint32(31) else b)

    def unsound(out, data):  # type: ignore[no-untyped-def]
        a, b = load(data)
        if a >> uint32(31):
            a = b
        store(out, a if int32(a) < int32(b) else uint32(0))

    for function, faulty in ((sound, False), (unsound, True)):
        monkeypatch.setattr(compilers, "kernels", {})
        code = compilers.Kernel(function, function.__name__, 32, 0, 0, 3).ptx(offline.CAPABILITY)
        assert bool(offline.faults(code)) == faulty, offline.faults(code)


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


def test_without_a_cache_a_kernel_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """No folder, or one that nothing can be written to; another digest is another code."""
    kernel = next(k for key, k in offline.declared().items() if key.endswith("find_false"))
    (tmp_path / "cuda").write_text("no folder")
    seen: list[str] = []
    monkeypatch.setattr(compilers, "on_compile", [lambda name, seconds: seen.append(name)])
    for folder, warned in ((None, False), (tmp_path, True)):
        monkeypatch.setattr(kernel, "_unkept", {})
        monkeypatch.setattr(jit, "code_cache_dir", lambda folder=folder: folder)
        jit.warn_not_kept.cache_clear()
        seen.clear()
        with pytest.warns(UserWarning, match="not kept") if warned else contextlib.nullcontext():
            assert compilers.compile_all([kernel], (9, 0)) == 1
        first = kernel.compiled((9, 0))
        assert kernel.is_kept((9, 0)) and compilers.compile_all([kernel], (9, 0)) == 0
        assert kernel.compiled((9, 0)) == first and len(seen) == 1
        assert not kernel.is_kept((10, 0))
        monkeypatch.setattr(kernel, "level", 1)
        assert not kernel.is_kept((9, 0))
        monkeypatch.setattr(kernel, "level", 3)


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


@pytest.mark.parametrize("package", ["numba", "numba-cuda", "llvmlite", "cuda-bindings", "nvidia-nvvm"])
def test_versions_are_part_of_the_key(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = next(iter(offline.declared().values()))
    before, version = kernel.digest((9, 0)), importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.0" if name == package else version(name))
    compilers.versions.cache_clear()
    try:
        assert f"{package} 0.0" in compilers.versions() and kernel.digest((9, 0)) != before
    finally:
        compilers.versions.cache_clear()


def test_nvvm_of_a_toolkit_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version

    def absent(name: str) -> str:
        if name == "nvidia-nvvm":
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    compilers.versions.cache_clear()
    try:
        assert any(word.startswith("NVVM /") and "libnvvm" in word for word in compilers.versions())
    finally:
        compilers.versions.cache_clear()


def test_refused_code_is_a_device_error() -> None:
    with pytest.raises(DeviceError, match="ptxas refused"):
        compilers.assemble(".version 99.0\n.target sm_90\n", (9, 0), 3)


def test_two_kernels_of_one_name() -> None:
    kernel = next(iter(offline.declared().values()))
    with pytest.raises(AssertionError, match="two kernels"):
        compilers.Kernel(kernel.function, kernel.name, 32, 0, 0, 3)
