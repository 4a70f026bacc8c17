"""The driver interface over a library that stands in for libcuda: what is called, what is checked, what is said."""

from __future__ import annotations

import ctypes
import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuzk import config, device
from cuzk.cli import main
from cuzk.cuda import driver
from cuzk.errors import DeviceError, ResourceError, UsageError
from tests.conftest import VECTORS


class Library:
    """Host memory as a card of 1 MiB; every call answers like the driver."""

    def __init__(self, version: int = 13000, cards: int = 2) -> None:
        self.version, self.cards = version, cards
        self.failing: dict[str, int] = {}
        self.memory: dict[int, Any] = {}
        self.launched: list[tuple[Any, ...]] = []
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name not in driver._SIGNATURES:
            raise AttributeError(name)

        def call(*arguments: Any) -> int:
            self.calls.append(name)
            assert len(arguments) == len(driver._SIGNATURES[name]), name
            if code := self.failing.get(name):
                return code
            answer = getattr(type(self), "_" + name, None)
            return (answer(self, *arguments) if answer else self.handle(*arguments)) or 0

        return call

    def handle(self, *arguments: Any) -> None:
        if arguments and hasattr(arguments[0], "_obj"):
            arguments[0]._obj.value = 77

    def _cuDriverGetVersion(self, out: Any) -> None:
        out._obj.value = self.version

    def _cuDeviceGetCount(self, out: Any) -> None:
        out._obj.value = self.cards

    def _cuDeviceGet(self, out: Any, ordinal: int) -> int:
        out._obj.value = ordinal
        return 0 if ordinal < self.cards else 101

    def _cuDeviceGetName(self, out: Any, size: int, _device: int) -> None:
        ctypes.memmove(out, b"Test card\0", 10)

    def _cuDeviceGetAttribute(self, out: Any, number: int, _device: int) -> None:
        out._obj.value = {75: 9, 76: 0, 16: 132}[number]

    def _cuDeviceTotalMem_v2(self, out: Any, _device: int) -> None:
        out._obj.value = 1 << 20

    def _cuMemGetInfo_v2(self, free: Any, total: Any) -> None:
        free._obj.value, total._obj.value = (1 << 20) - sum(len(m) for m in self.memory.values()), 1 << 20

    def _cuMemAlloc_v2(self, out: Any, size: int) -> int:
        if size > 1 << 20:
            return 2
        block = (ctypes.c_ubyte * size)()
        out._obj.value = ctypes.addressof(block)
        self.memory[ctypes.addressof(block)] = block
        return 0

    _cuMemHostAlloc = lambda self, out, size, flags: self._cuMemAlloc_v2(out, size)  # noqa: E731

    def _cuMemFree_v2(self, address: int) -> None:
        del self.memory[address]

    _cuMemFreeHost = _cuMemFree_v2

    def _copy(self, target: int, source: int, size: int, _stream: Any) -> None:
        ctypes.memmove(target, source, size)

    _cuMemcpyHtoDAsync_v2 = _cuMemcpyDtoHAsync_v2 = _cuMemcpyDtoDAsync_v2 = _copy

    def _cuMemsetD8Async(self, target: int, byte: int, size: int, _stream: Any) -> None:
        ctypes.memset(target, byte, size)

    def _cuEventElapsedTime(self, out: Any, _start: Any, _end: Any) -> None:
        out._obj.value = 2.5

    def _cuFuncGetAttribute(self, out: Any, number: int, _function: Any) -> None:
        out._obj.value = {4: 120, 3: 8}[number]

    def _cuLaunchKernel(self, *arguments: Any) -> None:
        places = arguments[9]
        values = [ctypes.c_uint64.from_address(p).value for p in places]
        self.launched.append((*arguments[1:9], values))

    def _cuGetErrorName(self, code: int, out: Any) -> None:
        out._obj.value = {700: b"CUDA_ERROR_ILLEGAL_ADDRESS"}.get(code)

    def _cuGetErrorString(self, code: int, out: Any) -> None:
        out._obj.value = {700: b"an illegal memory access was encountered"}.get(code)


class Code:
    """Stands in for a kernel."""

    key, name, threads, dynamic_shared, arguments = "m.k", "k", 128, 65536, 2

    def cubin(self, capability: tuple[int, int]) -> bytes:
        return b"machine code"


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def card(library: Library) -> driver.Card:
    return driver.Card(1, driver.Driver(library))


def test_facts_of_a_card(card: driver.Card) -> None:
    assert (card.name, card.capability, card.multiprocessors, card.total_memory) == ("Test card", (9, 0), 132, 1 << 20)
    assert len(card.uuid) == 32


def test_memory_goes_there_and_back(card: driver.Card, library: Library) -> None:
    array = np.arange(16, dtype=np.uint64).reshape(4, 4)
    with card.upload(array) as buffer, card.buffer(128) as other:
        assert card.free_memory() == (1 << 20) - 256
        other.copy_from(buffer, 64, offset=64, start=64)
        other.fill(0, 64)
        assert np.array_equal(other.read((4, 4), np.uint64), [[0] * 4, [0] * 4, *array[2:]])
        with pytest.raises(AssertionError):
            buffer.read(17, np.uint64)
        with pytest.raises(AssertionError):
            buffer.write(array, offset=8)
    assert not library.memory and card.free_memory() == 1 << 20
    card.buffer(64)
    assert not library.memory, "memory goes with its object"


def test_page_locked_memory(card: driver.Card, library: Library) -> None:
    array = card.pinned((3, 4), np.uint64)
    array[:] = 5
    assert array.shape == (3, 4) and array.sum() == 60 and library.memory
    del array
    assert not library.memory


def test_launch_passes_words(card: driver.Card, library: Library) -> None:
    stream = card.stream()
    card.launch(Code(), 7, (1 << 63, 5), stream)  # type: ignore[arg-type]
    assert library.launched == [(7, 1, 1, 128, 1, 1, 65536, 77, [1 << 63, 5])]
    card.launch(Code(), (2, 3), (1, 2), None)  # type: ignore[arg-type]
    assert library.launched[1][:2] == (2, 3) and library.launched[1][7] is None
    card.launch(Code(), 0, (1, 2), stream)  # type: ignore[arg-type]
    assert len(library.launched) == 2 and library.calls.count("cuModuleLoadData") == 1
    assert card.resources(Code()) == {"registers": 120, "local": 8}  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="2 arguments"):
        card.launch(Code(), 1, (1, 2, 3), stream)  # type: ignore[arg-type]


class Contexts(Library):
    """A context for each card, and in which one every call is made."""

    def __init__(self) -> None:
        super().__init__()
        self.current: int | None = None
        self.in_context: list[tuple[str, int | None]] = []

    def __getattr__(self, name: str) -> Any:
        call = super().__getattr__(name)

        def noted(*arguments: Any) -> int:
            self.in_context.append((name, self.current))
            return int(call(*arguments))

        return noted

    def _cuDevicePrimaryCtxRetain(self, out: Any, ordinal: int) -> None:
        out._obj.value = 10 + ordinal

    def _cuCtxSetCurrent(self, context: int | None) -> None:
        self.current = context


class Node:
    """Garbage once nothing else refers to it: part of a cycle."""

    def __init__(self, buffer: driver.Buffer) -> None:
        self.me, self.buffer = self, buffer


def test_what_is_collected_leaves_the_context_alone() -> None:
    """A buffer of one card may be collected within any call for another: after its context was made current, before the call."""
    library = Contexts()
    found = driver.Driver(library)
    first, second = driver.Card(0, found), driver.Card(1, found)
    gc.collect()
    Node(first.buffer(64))
    calls = second.enter()
    gc.collect()
    calls.get(ctypes.c_uint64, "cuMemAlloc_v2", 64)
    assert [c for name, c in library.in_context if name.startswith("cuMem")] == [10, 10, 11]
    second.buffer(64).free()
    assert library.in_context[-2] == ("cuMemFree_v2", 11) and library.current == 11


def test_a_kernel_that_is_compiled_first_goes_to_its_own_card() -> None:
    library = Contexts()
    found = driver.Driver(library)
    first, second = driver.Card(0, found), driver.Card(1, found)

    class Slow(Code):
        def cubin(self, capability: tuple[int, int]) -> bytes:
            first.enter()  # whatever runs meanwhile
            return super().cubin(capability)

    second.launch(Slow(), 1, (1, 2), None)  # type: ignore[arg-type]
    assert [context for name, context in library.in_context if name in ("cuModuleLoadData", "cuLaunchKernel")] == [11, 11]


def test_a_copy_from_an_array_that_ends_with_the_call_is_waited_for(card: driver.Card, library: Library) -> None:
    stream, strided = card.stream(), np.arange(32, dtype=np.uint64)[::2]
    with card.buffer(256) as buffer:
        before = library.calls.count("cuStreamSynchronize")
        buffer.write(strided, 0, stream)
        assert library.calls.count("cuStreamSynchronize") == before + 1
        buffer.write(strided.copy(), 128, stream)
        assert library.calls.count("cuStreamSynchronize") == before + 1
        assert buffer.read(16, np.uint64).tolist() == strided.tolist()


def test_events_and_streams(card: driver.Card) -> None:
    stream = card.stream()
    start, end = card.event().record(stream), card.event().record(stream)
    stream.wait(start)
    stream.synchronize()
    assert end.milliseconds_since(start) == 2.5


def test_a_failed_kernel_is_an_error(card: driver.Card, library: Library) -> None:
    library.failing["cuCtxSynchronize"] = 700
    with pytest.raises(DeviceError, match="ILLEGAL_ADDRESS") as error:
        card.synchronize()
    assert error.value.got == "an illegal memory access was encountered" and "new process" in str(error.value.hint)
    assert error.value.where == "cuda:1 Test card, cuCtxSynchronize"
    library.failing["cuCtxSynchronize"] = 999
    with pytest.raises(DeviceError, match="error 999"):
        card.synchronize()


def test_too_little_memory(card: driver.Card) -> None:
    with pytest.raises(ResourceError, match="out of memory") as error:
        card.buffer(2 << 20)
    assert error.value.expected == "2097152 bytes (2.0 MiB)" and error.value.got == "1048576 bytes (1.0 MiB) free"
    assert error.value.where == "cuda:1 Test card, cuMemAlloc_v2"
    with pytest.raises(ResourceError, match="page-locked"):
        card.pinned((1 << 22,), np.uint8)


@pytest.mark.parametrize(
    ("version", "cards", "message"), [(12080, 1, "driver is too old"), (13000, 0, "finds no card")], ids=["old", "none"]
)
def test_unusable_drivers(version: int, cards: int, message: str) -> None:
    with pytest.raises(DeviceError, match=message) as error:
        driver.checked(driver.Driver(Library(version, cards)))
    assert "--device cpu" in str(error.value.hint)


def test_no_device_code_of_the_driver() -> None:
    library = Library()
    library.failing["cuInit"] = 100
    with pytest.raises(DeviceError, match="finds no card"):
        driver.Driver(library)


def test_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    driver.driver.cache_clear()
    monkeypatch.setattr(driver, "LIBRARY", "libabsent.so.1")
    with pytest.raises(DeviceError, match="no usable NVIDIA driver") as error:
        driver.driver()
    assert error.value.code == 6 and "580" in str(error.value.hint)
    assert device.facts()["problem"]["kind"] == "device"
    lines: list[str] = []
    assert device.cards(device.parse("auto"), say=lines.append) == [] and lines == [], "most machines have none"
    with pytest.raises(DeviceError):
        device.cards(device.parse("cuda"))


def test_setup_without_a_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    driver.driver.cache_clear()
    monkeypatch.setattr(driver, "LIBRARY", "libabsent.so.1")
    command = ["setup", str(VECTORS / "groth16/cubic/circuit.json"), "-o", str(tmp_path / "new"), "--json", "--device"]
    with pytest.raises(SystemExit) as left:
        main([*command, "cuda"])
    assert left.value.code == 6 and not (tmp_path / "new").exists()
    with pytest.raises(SystemExit) as left:
        main([*command, "auto"])
    assert left.value.code == 0 and len(list((tmp_path / "new").iterdir())) == 3


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, library: Library) -> Library:
    """A machine with two cards and a compiler."""
    found = driver.Driver(library)
    monkeypatch.setattr(driver, "driver", lambda: found)
    monkeypatch.setattr(device, "_compiler", lambda: ("numba-cuda 0",))
    device.card.cache_clear()
    yield library
    device.card.cache_clear()


def test_choosing_cards(machine: Library) -> None:
    assert [c.ordinal for c in device.cards(device.parse("cuda"))] == [0, 1]
    assert [c.ordinal for c in device.cards(device.parse("cuda:1"))] == [1]
    assert [c.ordinal for c in device.cards(device.parse("auto"))] == [0, 1]
    assert device.cards(device.parse("cpu")) == []
    with pytest.raises(DeviceError, match="no such card") as error:
        device.cards(device.parse("cuda:0,2"))
    assert error.value.where == "cuda:2" and error.value.expected == "cuda:0 to cuda:1"
    facts = device.facts()
    assert facts["driver"] == "CUDA 13.0" and "problem" not in facts
    assert [c["device"] for c in facts["cards"]] == ["cuda:0", "cuda:1"]


def test_auto_leaves_out_the_cards_that_cannot_be_used(machine: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, a line each; by name the same is an error."""

    def attribute(self: Library, out: Any, number: int, ordinal: int) -> None:
        out._obj.value = {75: 6 if ordinal == 1 else 9, 76: 0, 16: 132}[number]

    def retain(self: Library, out: Any, ordinal: int) -> int:
        out._obj.value = 77
        return 2 if ordinal == 2 else 0

    def check(card: Any) -> None:
        if card.ordinal == 3:
            raise DeviceError("a card computes wrong results")

    machine.cards = 5
    monkeypatch.setattr(Library, "_cuDeviceGetAttribute", attribute)
    monkeypatch.setattr(Library, "_cuDevicePrimaryCtxRetain", retain, raising=False)
    lines: list[str] = []
    assert [c.ordinal for c in device.cards(device.parse("auto"), check, lines.append)] == [0, 4]
    assert [line.split(" is not used: ")[0] for line in lines] == ["cuda:1", "cuda:2", "cuda:3"]
    assert lines[0].endswith("needs compute capability 7.5 or higher, has 6.0") and "out of memory" in lines[1]
    facts = device.facts()
    assert [c["device"] for c in facts["cards"]] == ["cuda:0", "cuda:3", "cuda:4"] and facts["problem"][
        "where"
    ] == "cuda:1 Test card"
    for ordinal, kind in ((1, DeviceError), (2, ResourceError), (3, DeviceError)):
        with pytest.raises(kind):
            device.cards(device.parse(f"cuda:0,{ordinal}"), check)


@pytest.mark.parametrize(("code", "version", "word"), [(2, 13000, "out of memory"), (0, 12080, "has CUDA 12.8")])
def test_auto_says_why_no_card_is_used(code: int, version: int, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    library, lines = Library(version), []
    library.failing["cuInit"] = code
    monkeypatch.setattr(driver, "driver", lambda: driver.checked(driver.Driver(library)))
    assert device.cards(device.parse("auto"), say=lines.append) == [] and len(lines) == 1
    assert lines[0].startswith("no card is used: ") and word in lines[0]


def test_a_card_too_old(machine: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "OLDEST_CAPABILITY", (9, 1))
    with pytest.raises(DeviceError, match="too old for the CUDA 13 compiler") as error:
        device.card(0)
    assert error.value.got == "9.0"


def test_auto_without_the_compiler_is_the_cpu(machine: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> tuple[str, ...]:
        raise DeviceError("numba-cuda is not installed")

    monkeypatch.setattr(device, "_compiler", fail)
    assert device.cards(device.parse("auto")) == []
    with pytest.raises(DeviceError, match="not installed"):
        device.cards(device.parse("cuda:0"))


NO_DEVICES = ["", "gpu", "cuda:", "cuda:x", "cuda:0,", "cuda:-1", "cuda:0,0", "cpu:0", "cuda:１", "cuda:" + 5000 * "1"]


@pytest.mark.parametrize("text", NO_DEVICES, ids=lambda text: ascii(text[:12]))
def test_device_options_that_mean_nothing(text: str) -> None:
    with pytest.raises(UsageError):
        device.parse(text)


def test_device_options() -> None:
    assert device.parse("cuda:3,1") == device.Choice("cuda", (3, 1))
    assert device.parse(" CUDA ") == device.Choice("cuda")


def test_the_simulator_is_off_here() -> None:
    assert not config.cuda_simulated()
