"""Writing files so that nothing half-written ever has its final name."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cuzk import signals
from cuzk.errors import ResourceError, UsageError

_BLOCK = 4096


def open_regular(path: Path) -> IO[bytes]:
    """A regular file, open for reading. A pipe without a writer would block for ever, and a device may never end.

    Raises  OSError if it cannot be opened or is no regular file
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    raise OSError(errno.EINVAL, f"{kinds.get(stat.S_IFMT(mode), 'something else')}, not a regular file", str(path))


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file beside `path` that takes its name when the block ends well, and disappears when it does not.

    Raises  ResourceError if the directory cannot be written or the disk is full.
    """
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise ResourceError("cannot write here", file=path, got=error.strerror, hint="choose another place") from error
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            to_disk(file)
        signals.check()
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from error
        raise


def to_disk(file: IO[bytes]) -> None:
    """Wait until what was written is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def _cannot_write(path: Path, error: OSError) -> ResourceError:
    """The error for a file that could not be written to its end: where, how much room there is, and what to do."""
    free = None
    with contextlib.suppress(OSError):
        free = shutil.disk_usage(path.parent).free
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return ResourceError(
        "cannot write this file",
        file=path,
        where=f"directory {path.parent.resolve()}" + ("" if free is None else f", {free} bytes free"),
        got=error.strerror,
        hint="free space there, or choose another place" if full else "choose another place",
    )


def check_outputs(outputs: dict[str, Path | None], inputs: list[Path | None]) -> None:
    """Refuse, before any work, places where a result cannot or should not go.

    Raises  UsageError if a directory is missing, a name is no regular file, is one of the inputs, or is named twice;
            ResourceError if the directory cannot be written
    """
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        parent = path.parent if str(path.parent) else Path()
        if not parent.is_dir():
            raise UsageError("the directory does not exist", file=parent, where=option, hint="make it, or choose another place")
        if path.exists() and not path.is_file():
            raise UsageError("not a regular file: it would be replaced", file=path, where=option, hint="choose another place")
        if any(given is not None and path.exists() and given.exists() and path.samefile(given) for given in inputs):
            raise UsageError("an input would be overwritten", file=path, where=option, hint="choose another place")
        real = path.resolve()
        if real in taken:
            raise UsageError(f"{taken[real]} and {option} name one file", file=path, hint="choose two places")
        taken[real] = option
        _try_to_write(path, option)


def _try_to_write(path: Path, option: str) -> None:
    """Write one block beside where a result will go: better to hear of a full disk now than after the work."""
    try:
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".part", dir=path.parent) as file:
            file.write(bytes(_BLOCK))
            file.flush()
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            message, hint = "the directory cannot be written", "choose another place"
            raise ResourceError(message, file=path.parent, where=option, got=error.strerror, hint=hint) from error
        found = _cannot_write(path, error)
        found.where = f"{option}, {found.where}"
        raise found from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` under a temporary name, then rename. Raises ResourceError."""
    with replacing(Path(path)) as file:
        file.write(data)
