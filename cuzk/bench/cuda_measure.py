"""What a measurement on a card is: device time between events, the machine that it is of, and what each kernel takes."""

from __future__ import annotations

import itertools
import platform
import subprocess
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from cuzk import config, device, statistics
from cuzk.bench import measure
from cuzk.cuda import compiler, offline
from cuzk.kernels import vector_cuda
from cuzk.kernels.launch import launch_over

_BESIDE = 1 << 30  # bytes of a card that copies leave alone
_QUERY = "name,driver_version,uuid,clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw,pstate"


class Timing(NamedTuple):
    """Seconds of each run: of the device between events, and on the clock until what follows on the host is done."""

    device: list[float]
    wall: list[float]

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `seconds` are those of the device."""
        return {
            "seconds": statistics.summary(self.device).as_dict(),
            "times": [round(s, 9) for s in self.device],
            "wall_seconds": statistics.summary(self.wall).as_dict(),
        }


def timed(
    card: Any,
    stream: Any,
    work: Callable[[], object],
    runs: int,
    after: Callable[[], object] = lambda: None,
    times: int = 1,
    before: Callable[[], object] = lambda: None,
    look: Callable[[], object] = lambda: None,
) -> Timing:
    """Time `runs` runs of work(), which queues in a stream, `times` times each, and then after(), which may wait for it.

    Off the clock, before() lays out inputs and look() looks at the result. The work must have run before: nothing is compiled in
    a timing.
    """
    found = Timing([], [])
    for _ in range(runs):
        before()
        stream.synchronize()
        began = time.perf_counter()
        first, last = card.event().record(stream), card.event()
        for _ in range(times):
            work()
        last.record(stream)
        after()
        found.device.append(last.milliseconds_since(first) / 1e3 / times)
        found.wall.append((time.perf_counter() - began) / times)
        look()
    return found


class Kept:
    """The first bytes of some buffers as they are now: to lay out again before a run, or to compare with after it.

    Copies are on the card, where it has room to spare, else on the host.
    """

    def __init__(self, stream: Any, *pieces: tuple[Any, int]) -> None:
        """Each piece is a buffer and how many of its bytes, a multiple of 4."""
        self._stream, self._pieces, self._copies = stream, pieces, []
        stream.synchronize()
        for buffer, size in pieces:
            card = buffer.card
            if size + _BESIDE <= card.free_memory():
                copy = card.buffer(size)
                copy.copy_from(buffer, size, stream=stream)
            else:
                copy = buffer.read(size // 4, np.uint32)
            self._copies.append(copy)

    def restore(self) -> None:
        """The bytes back in the buffers."""
        for (buffer, size), copy in zip(self._pieces, self._copies, strict=True):
            if isinstance(copy, np.ndarray):
                buffer.write(copy, 0, self._stream)
            else:
                buffer.copy_from(copy, size, stream=self._stream)

    def spoil(self) -> None:
        """Other bytes in the buffers: nothing of an earlier run can pass for a result."""
        for buffer, size in self._pieces:
            buffer.fill(0xFF, size, stream=self._stream)

    def look(self, name: str) -> None:
        """Raises  InternalError if the buffers hold other bytes"""
        self._stream.synchronize()
        for (buffer, size), copy in zip(self._pieces, self._copies, strict=True):
            if isinstance(copy, np.ndarray):
                measure.same_again(np.array_equal(buffer.read(len(copy), np.uint32), copy), name)
                continue
            whole, rest = size // 16 * 16, (size % 16) // 4
            same = not whole or not differences(buffer.card, self._stream, buffer.address, copy.address, size)
            one, other = (b.read(rest, np.uint32, whole) for b in (buffer, copy))
            measure.same_again(same and np.array_equal(one, other), name)

    def free(self) -> None:
        """Give the copies back."""
        while self._copies:
            copy = self._copies.pop()
            if not isinstance(copy, np.ndarray):
                copy.free()

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self.free()


def row(card: Any, name: str, timing: Timing, **facts: Any) -> dict[str, Any]:
    """A line of a report: device time of a task on a card, and facts about it."""
    return {"name": name, "path": f"cuda:{card.ordinal}", **timing.as_dict(), **facts}


def per_ns(row: dict[str, Any], count: int) -> float:
    """How many of `count` items a nanosecond of a row's median time, four digits."""
    return float(f"{count / max(row['seconds']['median'], 1e-12) / 1e9:.4g}")


def differences(card: Any, stream: Any, a: int, b: int, size: int) -> int:
    """Pieces of 16 bytes that differ between two addresses."""
    with card.upload(np.zeros(4, np.uint32)) as out:
        launch_over(card, vector_cuda.count_differences, size // 16, stream, out.address, a, b, size // 16)
        stream.synchronize()
        return int(out.read(1, np.uint32)[0])


def machine() -> dict[str, Any]:
    """Card, driver, clocks, versions."""
    try:
        command = ["nvidia-smi", f"--query-gpu={_QUERY}", "--format=csv,noheader"]
        smi = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except OSError:
        smi = ""
    return {
        "facts": device.facts(),
        "nvidia_smi": {"query": _QUERY, "answer": smi.strip()},
        "python": platform.python_version(),
        "numpy": np.__version__,
        "tools": [] if config.cuda_simulated() else list(compiler.versions()),
    }


def kernels(card: Any, modules: Iterable[str]) -> dict[str, dict[str, int]]:
    """Registers, local memory, spills and threads of every kernel of some modules, as compiled and as loaded on a card."""
    names = tuple(f"cuzk.kernels.{name}." for name in modules)
    wanted = {key: kernel for key, kernel in offline.declared().items() if key.startswith(names)}
    if config.cuda_simulated():
        return {key.removeprefix("cuzk.kernels."): card.resources(kernel) for key, kernel in wanted.items()}
    compiler.compile_all(wanted.values(), card.capability)
    found = {}
    for key, kernel in wanted.items():
        facts = kernel.compiled(card.capability)[1]
        spills = {name: facts[name] for name in ("spill_stores", "spill_loads", "shared")}
        found[key.removeprefix("cuzk.kernels.")] = card.resources(kernel) | spills | {"threads": kernel.threads}
    return found


def _uuid(card: Any) -> str:
    """A card's name for the driver's own tool, whatever cards this process sees."""
    cuts = (0, 8, 12, 16, 20, 32)
    return "GPU-" + "-".join(card.uuid[a:b] for a, b in itertools.pairwise(cuts))


def clocks(card: Any) -> dict[str, str]:
    """Driver, clocks, temperature and power of a card now, by the driver's own tool; empty where that is absent."""
    names = _QUERY.split(",")[1:]
    try:
        command = ["nvidia-smi", f"--id={_uuid(card)}", f"--query-gpu={','.join(names)}", "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return {}
    values = [word.strip() for word in done.stdout.strip().split(",")]
    return dict(zip(names, values, strict=True)) if not done.returncode and len(values) == len(names) else {}
