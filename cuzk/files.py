"""Writing files so that nothing half-written ever has its final name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from cuzk.errors import ResourceError


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
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise ResourceError("cannot write this file", file=path, got=error.strerror) from error
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` under a temporary name, then rename. Raises ResourceError."""
    with replacing(Path(path)) as file:
        file.write(data)
