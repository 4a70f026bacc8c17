"""`.params` files: a verifying key and the five vectors of a common reference string, read by memory map.

    offset 0        alpha_g1 96 | beta_g1 96 | beta_g2 192 | gamma_g2 192 | delta_g1 96 | delta_g2 192
    offset 864      number of ic points, uint32 big-endian; then ic, 96 bytes each
    then five times number of points, uint32 big-endian; then the points: h, l, a, b_g1 in G1 (96 bytes), b_g2 in G2 (192)

Points are uncompressed and big-endian. There is no magic number and no version; whatever follows the last vector is not part of
the format (a ceremony may have left its record there).

Every fault is a ParametersError that names the file: nothing that reads points later can meet a damaged one.

Source  bellperson src/groth16/params.rs and verifying_key.rs at 0.27.0.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import IO, Protocol

import numpy as np

from cuzk import workers
from cuzk.curve import encoding
from cuzk.errors import ParametersError, ResourceError
from cuzk.field.limbs import U8
from cuzk.files import open_regular
from cuzk.formats import vk
from cuzk.formats.remember import Identity
from cuzk.groth16.crs import COUNT_BYTES, POINT_BYTES, VECTORS, VK_FIXED_BYTES, Lengths
from cuzk.groth16.keys import VerifyingKey
from cuzk.progress import Progress
from cuzk.timing import Timer

# A private map that is never written to needs no memory of its own, so none need be reserved for it.
_NO_RESERVE = 0x4000 if sys.platform == "linux" else 0
CHUNK_POINTS = 1 << 19
AGAIN = "fetch or make the file again"


def map_file(path: Path) -> tuple[U8, os.stat_result]:
    """The bytes of a file, and its status when it was opened.

    Alias   the array is writable for Numba's sake (a read-only one is another type); a write would stay in this process
    Raises  ParametersError if the file is absent, empty, no regular file, or cannot be read; ResourceError without room for it
    """
    try:
        with open_regular(path) as handle:
            stat = os.fstat(handle.fileno())
            if stat.st_size == 0:
                raise ParametersError(
                    "the file is empty, as an interrupted run leaves it",
                    file=path,
                    expected=f"at least {VK_FIXED_BYTES} bytes",
                    got="0 bytes",
                    hint=AGAIN,
                )
            view = _mapped(handle, path, stat.st_size)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ParametersError("the file cannot be read", file=path, expected="a readable file", got=reason) from error
    return np.frombuffer(view, np.uint8), stat


def _mapped(file: IO[bytes], path: Path, size: int) -> mmap.mmap:
    try:
        return mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE | _NO_RESERVE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise ResourceError(
            "no room to map the file, which is not at fault",
            file=path,
            expected=f"{size} bytes of address space",
            got=error.strerror,
            hint="raise the limit of memory (ulimit -v)",
        ) from error


class Reference(Protocol):
    """A reference string that can be written: what `groth16.setup` makes."""

    lengths: Lengths

    def vk_be(self) -> bytes: ...

    def blocks(self, name: str) -> Generator[U8]: ...


class ParamsFile:
    """A mapped `.params` file whose lengths add up. Points are slices of the map: nothing is read before it is used."""

    def __init__(self, path: Path, expected: Lengths | None = None, circuit: str = "") -> None:
        """Map the file and read its six counts.

        Raises  ParametersError if the counts do not fit the size, or differ from those `expected` for `circuit`
        """
        self.path = path
        self.expected = expected
        try:
            self.data, stat = map_file(path)
        except ParametersError as error:
            if error.got == "0 bytes" and expected is not None:
                error.expected = f"{expected.file_bytes} bytes"
            raise
        self.size = stat.st_size
        self.identity = Identity.of(stat)
        self._offsets: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self.lengths = self._read_counts(circuit)
        self.trailing = self.size - self.lengths.file_bytes

    def _count(self, name: str, offset: int, width: int) -> int:
        """The count at `offset`, which starts a vector of points of `width` bytes that must end within the file."""
        need = offset + COUNT_BYTES
        count = int.from_bytes(self.data[offset:need].tobytes(), "big") if need <= self.size else 0
        self._offsets[name], self._counts[name] = need, count
        need += width * count
        if need > self.size:
            raise self._misfit(name, count, need)
        return count

    def _misfit(self, name: str, count: int, need: int) -> ParametersError:
        """The error for a vector that ends beyond the file: bytes are missing, or this count or an earlier one is wrong."""
        wanted = self.expected
        offset = self._offsets[name] - COUNT_BYTES
        if wanted is not None and self.size == wanted.file_bytes:
            for known, have in self._counts.items():
                if have != (want := wanted.ic if known == "ic" else wanted.vector(known)):
                    return self._wrong_count(known, want, have)
        if (have := self._counts.get("h", 0)) & (have + 1):
            return self._wrong_count("h", "one less than a power of two", have)
        if name == "b_g2" and count != self._counts["b_g1"]:
            return self._unequal()
        return ParametersError(
            "the parameter file is cut short, or one of its counts is damaged",
            file=self.path,
            where=f"vector {name}, {count} points by the count at byte {offset}",
            expected=f"{wanted.file_bytes if wanted else f'at least {need}'} bytes",
            got=f"{self.size} bytes",
            hint=AGAIN,
        )

    def _wrong_count(self, name: str, expected: object, got: int) -> ParametersError:
        return ParametersError(
            f"the parameter file is damaged: the length of its vector {name} is wrong",
            file=self.path,
            where=f"count at byte {self._offsets[name] - COUNT_BYTES}",
            expected=expected,
            got=got,
            hint=AGAIN,
        )

    def _unequal(self) -> ParametersError:
        return self._wrong_count("b_g2", f"{self._counts['b_g1']}, as many as in b_g1", self._counts["b_g2"])

    def _read_counts(self, circuit: str) -> Lengths:
        counts = self._counts
        offset = VK_FIXED_BYTES - COUNT_BYTES
        for name, group in (("ic", "g1"), *VECTORS):
            count = self._count(name, offset, POINT_BYTES[group])
            offset = self._offsets[name] + POINT_BYTES[group] * count
        if counts["b_g1"] != counts["b_g2"]:
            raise self._unequal()
        lengths = Lengths(counts["ic"], counts["h"], counts["l"], counts["a"], counts["b_g1"])
        if self.expected is not None and lengths != self.expected:
            other = f"another circuit than {circuit}" if circuit else "another circuit"
            raise ParametersError(
                f"the file is of {other}, or damaged: its vectors have other lengths",
                file=self.path,
                expected=self.expected,
                got=lengths,
                hint="name the directory that has the parameters of this circuit, or fetch or make the file again",
            )
        return lengths

    def refuse_trailing(self) -> None:
        """Raise ParametersError if anything follows the last vector."""
        if self.trailing:
            raise ParametersError(
                "the file goes on after its last vector",
                file=self.path,
                where=f"byte {self.lengths.file_bytes}",
                expected=f"{self.lengths.file_bytes} bytes",
                got=f"{self.size} bytes, {self.trailing} too many",
                hint="fetch or make the file again; a ceremony's record must be cut off first",
            )

    def vector_be(self, name: str) -> U8:
        """The points of h, l, a, b_g1, b_g2 or ic, uint8[n, 96 or 192], big-endian as in the file."""
        width = POINT_BYTES["g2" if name == "b_g2" else "g1"]
        count = self.lengths.ic if name == "ic" else self.lengths.vector(name)
        start = self._offsets[name]
        return self.data[start : start + width * count].reshape(count, width)

    def forget(self, name: str) -> None:
        """Give back the memory of a vector that was read and is not read again: its pages stay in the system's cache."""
        first, length = self._offsets[name], self.vector_be(name).nbytes
        start, stop = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE, (first + length) // mmap.PAGESIZE * mmap.PAGESIZE
        region = getattr(self.data.base, "obj", None)  # the map behind the array
        if stop > start and isinstance(region, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            region.madvise(mmap.MADV_DONTNEED, start, stop - start)

    @property
    def vk_be(self) -> U8:
        """The verifying key, byte for byte a `.vk` file."""
        return self.data[: self.lengths.vk_bytes]

    @property
    def h_be(self) -> U8:
        """tau^i Z(tau) / delta, in G1."""
        return self.vector_be("h")

    @property
    def l_be(self) -> U8:
        """(beta A_j + alpha B_j + C_j) / delta for every aux variable, in G1."""
        return self.vector_be("l")

    @property
    def a_be(self) -> U8:
        """A_j for the variables that occur in A, inputs first, in G1."""
        return self.vector_be("a")

    @property
    def b_g1_be(self) -> U8:
        """B_j for the variables that occur in B, inputs first, in G1."""
        return self.vector_be("b_g1")

    @property
    def b_g2_be(self) -> U8:
        """B_j as in `b_g1_be`, in G2."""
        return self.vector_be("b_g2")

    def read_vk(self) -> VerifyingKey:
        """The verifying key, every point of it canonical, finite, on its curve and of order r.

        Raises  ParametersError naming point and byte
        """
        try:
            return vk.parse(self.vk_be, self.path, error=ParametersError).key
        except ParametersError as error:
            error.message = f"the file is damaged: its verifying key cannot be one ({error.message})"
            error.hint = AGAIN
            raise

    def check_same_vk(self, vk_path: Path) -> None:
        """Raise ParametersError unless the `.vk` file holds the same key as this file's head."""
        other, _ = map_file(vk_path)
        own = self.vk_be
        if len(other) != len(own):
            raise ParametersError(
                "the verifying key file does not belong to the parameter file",
                file=vk_path,
                where=f"beside {self.path.name}",
                expected=f"{len(own)} bytes ({self.lengths.ic} ic points)",
                got=f"{len(other)} bytes",
                hint="fetch or make both files again",
            )
        if not np.array_equal(own, other):
            first = int(np.flatnonzero(own != other)[0])
            raise ParametersError(
                "the verifying key file differs from the head of the parameter file: one of the two is damaged",
                file=vk_path,
                where=f"byte {first}, beside {self.path.name}",
                expected=f"byte {int(own[first]):#04x}, as in {self.path}",
                got=f"byte {int(other[first]):#04x}",
                hint="fetch or make both files again",
            )

    def pieces(self) -> list[tuple[str, int, int]]:
        """All points of the five vectors cut into (vector, start, stop), for `check_piece`."""
        return [
            (name, start, min(start + CHUNK_POINTS, self.lengths.vector(name)))
            for name, _ in VECTORS
            for start in range(0, self.lengths.vector(name), CHUNK_POINTS)
        ]

    def check_piece(self, name: str, start: int, stop: int, subgroup: bool) -> int:
        """Check points start..stop of a vector: canonical, finite, on the curve and, where asked for, in the subgroup.

        Returns the number of bytes. Uses all threads. Raises ParametersError with the byte offset of the first bad point
        """
        piece = self.vector_be(name)[start:stop]
        group = "g2" if name == "b_g2" else "g1"
        check_points(self.path, name, piece, group, self._offsets[name] + POINT_BYTES[group] * start, subgroup, index=start)
        return piece.nbytes


def check_points(path: Path, name: str, be: U8, group: str, offset: int, subgroup: bool, index: int = 0) -> None:
    """Check points that stand at byte `offset` of a file as number `index` and on of the vector `name`.

    Raises  ParametersError that names file, vector, number and byte
    """
    found = (encoding.check_subgroup if subgroup else encoding.check_points)(group, be)
    if found is None:
        return
    i, fault = found
    raise ParametersError(
        "the file is damaged: it holds a point that cannot be one",
        file=path,
        where=f"{name}[{index + i}], byte {offset + i * be.shape[1]}",
        expected=f"canonical coordinates of a finite point on the curve{' and in the subgroup of order r' if subgroup else ''}",
        got=fault.text,
        hint=AGAIN,
    )


def write(file: IO[bytes], reference: Reference, progress: Progress, timer: Timer | None = None) -> dict[str, str]:
    """Write a whole parameter file, block by block. Returns the SHA-256 of the file (`file`) and of each vector's points.

    Cost    memory of one block; a G2 point counts three times in the progress; a phase a vector
    """
    whole, timer = hashlib.sha256(), timer or Timer(silent=True)
    digests = {}

    def put(data: bytes | memoryview, *others: Callable[[bytes | memoryview], object]) -> None:
        # Each in a thread of its own: a digest takes as long as a disk.
        workers.run_all(lambda take: take(data), [(file.write,), (whole.update,), *((other,) for other in others)])

    with timer.phase("vk"):
        put(reference.vk_be())
    for name, group in VECTORS:
        vector = hashlib.sha256()
        put(reference.lengths.vector(name).to_bytes(COUNT_BYTES, "big"))
        with timer.phase(f"points_{name}"), closing(reference.blocks(name)) as blocks:
            for block in blocks:
                put(block.data, vector.update)
                progress.advance(len(block) * (3 if group == "g2" else 1), f"making {name}")
        digests[name] = vector.hexdigest()
    digests["file"] = whole.hexdigest()
    return digests
