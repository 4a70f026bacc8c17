"""Hardware and kernel counters around a stretch of work, of all threads of this process, by Linux's `perf_event_open`.

A counter that the kernel refuses is named with the reason and what to change; `getrusage` figures are there in any case.
Hardware counters that it allows in user mode only are counted there, and said to be. The kernel's own counters have no such
half: a context switch happens in the kernel, and would be counted as none.

Source  Linux, include/uapi/linux/perf_event.h and the manual page perf_event_open(2).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import resource
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

_HARDWARE, _SOFTWARE, _CACHE, _RAW = 0, 1, 3, 4
_SYSCALL = {"x86_64": 298, "aarch64": 241, "riscv64": 241}
# Caches of PERF_TYPE_HW_CACHE: cache | operation << 8 | result << 16; reads, misses.
_L1D, _LAST_LEVEL, _DTLB, _ITLB = 0, 2, 3, 4
_MISSES = 1 << 16
# struct perf_event_attr as far as PERF_ATTR_SIZE_VER0 (64 bytes), and its flag bits.
_ATTR = struct.Struct("<IIQQQQQIIQ")
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
_TIME_ENABLED, _TIME_RUNNING = 1, 2
_ENABLE, _DISABLE, _RESET = 0x2400, 0x2401, 0x2403

# L2 misses have no number of their own in the interface: event and mask by vendor, from the vendors' manuals.
_L2_RAW = {"GenuineIntel": 0x3F24, "AuthenticAMD": 0x0964, "HygonGenuine": 0x0964, "aarch64": 0x17}

# What getrusage has instead of a counter that was refused.
_STAND_IN = {
    "page_faults": "; minor_faults and major_faults of getrusage stand in",
    "context_switches": "; voluntary_switches and involuntary_switches of getrusage stand in",
}

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


class Event(NamedTuple):
    """A counter: its name, and its type and number in the kernel's interface."""

    name: str
    kind: int
    config: int | None


def vendor() -> str:
    """The processor's maker as the kernel tells it, or the architecture."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("vendor_id"):
                return line.split(":")[1].strip()
    return platform.machine()


def events() -> list[Event]:
    """What is counted."""
    return [
        Event("instructions", _HARDWARE, 1),
        Event("cycles", _HARDWARE, 0),
        Event("l1d_misses", _CACHE, _L1D | _MISSES),
        Event("l2_misses", _RAW, _L2_RAW.get(vendor())),
        Event("llc_misses", _CACHE, _LAST_LEVEL | _MISSES),
        Event("dtlb_misses", _CACHE, _DTLB | _MISSES),
        Event("itlb_misses", _CACHE, _ITLB | _MISSES),
        Event("page_faults", _SOFTWARE, 2),
        Event("context_switches", _SOFTWARE, 3),
        Event("cpu_migrations", _SOFTWARE, 4),
    ]


def refusal(event: Event, number: int) -> str:
    """Why the kernel refused a counter and what would help, for its error number."""
    name = errno.errorcode.get(number, str(number))
    if number in (errno.EACCES, errno.EPERM):
        level = PARANOID.read_text().strip() if PARANOID.exists() else "unknown"
        return (
            f"{name}: not allowed (kernel.perf_event_paranoid is {level}); as root: sysctl kernel.perf_event_paranoid=1, or give "
            f"CAP_PERFMON; in a container also allow the perf_event_open system call{_STAND_IN.get(event.name, '')}"
        )
    if number in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP, errno.EINVAL):
        if event.config is None:
            return "no event of this name is known for this processor"
        return f"{name}: this machine has no such counter; a virtual machine must be given one by its host (virtual PMU)"
    if number == errno.ENOSYS:
        return f"{name}: the kernel has no perf_event_open, or a filter (seccomp) hides it; allow this system call"
    if number == errno.EMFILE:
        return f"{name}: too many open files; raise ulimit -n"
    return f"{name}: {os.strerror(number)}"


def _open(event: Event, thread: int, user_only: bool) -> int:
    """A file descriptor of a counter of one thread and of those that it starts. Raises OSError."""
    number = _SYSCALL.get(platform.machine())
    if os.name != "posix" or platform.system() != "Linux" or number is None:
        raise OSError(errno.ENOSYS, "no perf_event_open here")
    if event.config is None:
        raise OSError(errno.ENOENT, "unknown event")
    flags = _DISABLED | _INHERIT | (_EXCLUDE_KERNEL | _EXCLUDE_HYPERVISOR if user_only else 0)
    attributes = ctypes.create_string_buffer(
        _ATTR.pack(event.kind, _ATTR.size, event.config, 0, 0, _TIME_ENABLED | _TIME_RUNNING, flags, 0, 0, 0), _ATTR.size
    )
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, attributes, thread, -1, -1, 0)
    if descriptor < 0:
        found = ctypes.get_errno()
        raise OSError(found, os.strerror(found))
    return int(descriptor)


def _open_all(event: Event, user_only: bool) -> list[int]:
    """As `_open`, for every thread of this process; all or none."""
    descriptors: list[int] = []
    try:
        for thread in sorted(int(name) for name in os.listdir("/proc/self/task")):
            descriptors.append(_open(event, thread, user_only))
    except OSError:
        for descriptor in descriptors:
            os.close(descriptor)
        raise
    return descriptors


class Counters:
    """Counters of all threads that exist now and of those that they start. Open it once the workers run.

    `values` are sums over all stretches in `counting`; where the hardware had to take turns they are scaled by the time
    counted. A name is either in `values` or in `refused`; those in `user_only` were counted in user mode only.
    """

    def __init__(self, wanted: list[Event] | None = None) -> None:
        self.refused: dict[str, str] = {}
        self.user_only: list[str] = []
        self._open: dict[str, list[int]] = {}
        for event in wanted or events():
            try:
                self._open[event.name] = self._descriptors(event)
            except OSError as error:
                self.refused[event.name] = refusal(event, error.errno or 0)
        self._usage = [0.0] * len(_USAGE)

    def _descriptors(self, event: Event) -> list[int]:
        """Without the kernel's share where that needs a privilege and the processor can tell the two apart."""
        try:
            return _open_all(event, False)
        except OSError as error:
            if error.errno != errno.EACCES or event.kind == _SOFTWARE:
                raise
        found = _open_all(event, True)
        self.user_only.append(event.name)
        return found

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count this stretch."""
        before = _usage()
        self._all(_ENABLE)
        try:
            yield
        finally:
            self._all(_DISABLE)
            self._usage = [u + x - y for u, x, y in zip(self._usage, _usage(), before, strict=True)]

    def _all(self, request: int) -> None:
        for descriptors in self._open.values():
            for descriptor in descriptors:
                fcntl.ioctl(descriptor, request, 0)

    def values(self) -> dict[str, int]:
        """What was counted, by name."""
        out = {}
        for name, descriptors in self._open.items():
            total = 0.0
            for descriptor in descriptors:
                value, enabled, running = struct.unpack("<QQQ", os.read(descriptor, 24))
                total += value * enabled / running if running else 0
            out[name] = round(total)
        return out

    def usage(self) -> dict[str, float]:
        """The same stretches as `getrusage` sees them, of the whole process."""
        return dict(zip(_USAGE, (round(x, 6) for x in self._usage), strict=True))

    def report(self) -> dict[str, Any]:
        """Values, which of them are of user mode only, instructions a cycle, refusals and usage, for JSON."""
        values = self.values()
        out: dict[str, Any] = {"values": values, "user_mode_only": self.user_only, "refused": self.refused, "usage": self.usage()}
        if values.get("cycles") and "instructions" in values:
            out["instructions_per_cycle"] = round(values["instructions"] / values["cycles"], 3)
        return out

    def close(self) -> None:
        """Give the descriptors back."""
        for descriptors in self._open.values():
            for descriptor in descriptors:
                os.close(descriptor)
        self._open = {}


_USAGE = ("user_seconds", "system_seconds", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")


def _usage() -> list[float]:
    u = resource.getrusage(resource.RUSAGE_SELF)
    return [u.ru_utime, u.ru_stime, u.ru_minflt, u.ru_majflt, u.ru_nvcsw, u.ru_nivcsw]
