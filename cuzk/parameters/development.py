"""Parameters of our own, for tests: made from known waste, and accepted by no chain.

A directory holds `cuzk-dev-NAME.params` and `cuzk-dev-NAME.vk` in the standard format, and `cuzk-dev-NAME.json`, which says what
they are. The JSON file is written last, so its presence means that the others are whole. Each file appears by rename.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuzk import __version__, config, device
from cuzk.circuits.template import Shape
from cuzk.errors import MalformedInput, ParametersError, ResourceError, UsageError
from cuzk.files import open_regular, replacing, to_disk, write_atomically
from cuzk.formats import srs, toxic_waste
from cuzk.groth16.crs import VECTORS, Lengths
from cuzk.groth16.setup import Setup, ToxicWaste, development_tag, development_waste, lengths, memory_need, random_waste
from cuzk.memory import predicted_peak, predicted_peak_beside_cards
from cuzk.progress import Progress
from cuzk.r1cs import digest
from cuzk.seal.sector import BY_SIZE
from cuzk.sizes import size_text
from cuzk.timing import Timer

WARNING = "development parameters of cuzk: for tests only, accepted by no chain"
PREFIX = "cuzk-dev-"
CIRCUITS = "circuits"
SECONDS_A_POINT = {"ifma": 5e-6, "scalar": 13e-6}  # of one thread; a point of G2 counts as three
MAX_NAME = 100
# From this sector size on a file takes longer to read than a card takes to make the points.
LARGE = 512 << 20


@dataclass(frozen=True, slots=True)
class Files:
    """The three files of one circuit in a directory."""

    params: Path
    vk: Path
    sidecar: Path

    @classmethod
    def of(cls, directory: Path, name: str) -> Files:
        """The files for a circuit of this name.

        Raises  MalformedInput if the name cannot be part of a file name
        """
        if not re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}", name):
            raise MalformedInput(
                "this circuit name cannot be part of a file name",
                expected=f"1 to {MAX_NAME} letters, digits, dots, hyphens and underscores",
                got=repr(name[:MAX_NAME]),
                hint="rename the circuit",
            )
        return cls(*(directory / f"{PREFIX}{name}.{ending}" for ending in ("params", "vk", "json")))


@dataclass(frozen=True, slots=True)
class Waste:
    """Toxic waste and where it is from, in words that may be shown."""

    secret: ToxicWaste
    origin: str  # public | file | random
    tag: str | None = None  # what public waste is derived from


def label_of(shape: Shape) -> str:
    """What the public waste of a circuit is named after: the sector size, or the circuit."""
    size = shape.facts.get("sector_size")
    return BY_SIZE[size].name if isinstance(size, int) else shape.name


def choose_waste(shape: Shape, file: Path | None = None, fresh: bool = False) -> Waste:
    """The waste that `cuzk setup` was asked for: from a file, fresh, or else the public one.

    Raises  UsageError if both were asked for; MalformedInput for a bad file
    """
    if file is not None and fresh:
        raise UsageError("--toxic-waste and --random exclude each other")
    if file is not None:
        return Waste(toxic_waste.read(file), "file")
    if fresh:
        return Waste(random_waste(), "random")
    label = label_of(shape)
    return Waste(development_waste(label), "public", development_tag(label))


def read_sidecar(files: Files) -> dict[str, Any] | None:
    """What the sidecar says; None where there is none.

    Raises  ParametersError if it is unreadable
    """
    try:
        with open_regular(files.sidecar) as file:
            content = json.loads(file.read())
        if not isinstance(content, dict):
            raise ValueError("no object")
        Lengths(**content["lengths"])
        for part in ("params", "vk"):
            int(content[part]["bytes"])
            bytes.fromhex(content[part]["sha256"])
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ParametersError("the file cannot be read", file=files.sidecar, got=error.strerror) from error
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ParametersError(
            "the file that describes development parameters is damaged",
            file=files.sidecar,
            expected="a JSON object with lengths, params and vk",
            got="another content",
            hint=f"delete {files.sidecar.parent / files.params.stem}.*; cuzk setup makes them again",
        ) from None
    return content


def is_large(shape: Shape) -> bool:
    """Whether cards make the parameters of this circuit for themselves, without a file."""
    size = shape.facts.get("sector_size")
    return isinstance(size, int) and size >= LARGE


def circuit_digest(shape: Shape) -> str | None:
    """Tells apart explicit circuits of the same name; sector sizes name theirs."""
    return None if "sector_size" in shape.facts else str(digest.digest(shape)["digest"])


def refuse_too_large(shape: Shape, directory: Path, where: str, memory: int) -> None:
    """Raise ResourceError unless there are `memory` bytes of memory, and room on the disk for the files."""
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    to_prove = where == "--params dev"
    elsewhere = "set CUZK_CACHE_DIR to a directory on" if to_prove else "name with -o a directory on"
    # Setup itself takes as much memory as making them on the card that proves.
    on_cards = f"prove with {'' if to_prove else '--params dev '}--device cuda, " if is_large(shape) else ""
    filecoins = "or use Filecoin's parameters (--params DIR)"
    for what, need, have, hint in (
        (
            "memory",
            memory,
            config.available_memory(),
            f"use a machine with more of it, {on_cards if to_prove else ''}{filecoins}",
        ),
        (
            "disk",
            lengths(shape).file_bytes + (1 << 20),
            shutil.disk_usage(existing).free,
            f"free space, {elsewhere} a larger disk, {on_cards}{filecoins}",
        ),
    ):
        if need > have:
            raise ResourceError(
                f"not enough {what} for development parameters of {shape.name}",
                file=directory,
                where=where,
                expected=size_text(need),
                got=size_text(have),
                hint=hint,
            )


def _announce(shape: Shape, directory: Path, card: Any, progress: Progress) -> None:
    """Say how much is going to be written, and about how long it takes a CPU."""
    total = lengths(shape)
    seconds = SECONDS_A_POINT[config.cpu_path()] * (total.points + 2 * total.b) / config.thread_count()
    if total.file_bytes >= 1 << 20:
        long = f"{seconds / 60:.0f} min" if seconds >= 100 else f"{seconds:.0f} s"
        how = f"in about {long}" if card is None else f"made on cuda:{card.ordinal}, {card.name}"
        progress.line(f"parameters of {shape.name}: {size_text(total.file_bytes)} will be written to {directory}, {how}")


def _refuse_another(shape: Shape, files: Files) -> None:
    """Raise UsageError if files of the same name are of a sector size and this is an explicit circuit, or the other way round."""
    try:
        content = read_sidecar(files)
    except ParametersError:
        return
    if content is not None and ("sector_size" in content) != ("sector_size" in shape.facts):
        kinds = ("a circuit file", "a sector size")
        raise UsageError(
            "this directory has parameters of another circuit with the same name: they would be replaced",
            file=files.params,
            expected=f"parameters of {kinds['sector_size' in shape.facts]}",
            got=f"parameters of {kinds['sector_size' in content]} ({files.sidecar.name})",
            hint="choose another directory, or rename the circuit",
        )


def write(shape: Shape, waste: Waste, directory: Path, progress: Progress, card: Any = None) -> dict[str, Any]:
    """Make the three files in `directory` (made if absent): on a card, if one is given, the same files as on the CPU.

    Returns what the sidecar says, where the files are, and the time by phase.
    Raises  ResourceError if disk or memory do not suffice; MalformedInput for a circuit with an unconstrained variable;
            UsageError if files of another circuit stand in the way; DeviceError if the card fails
    """
    files = Files.of(directory, shape.name)
    _refuse_another(shape, files)
    try:
        refuse_too_large(shape, directory, "cuzk setup", _memory(shape, card))
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError("cannot make the directory", file=directory, got=error.strerror, hint="choose another one") from error
    _announce(shape, directory, card, progress)
    timer = Timer()
    total = lengths(shape)
    with progress.bar(f"parameters {shape.name}", total.points + 2 * total.b, "point"):
        progress.label("evaluating the columns at tau")
        reference = _reference(shape, waste, card, timer)
        with contextlib.suppress(FileNotFoundError):
            files.sidecar.unlink()  # what it says does not hold from here on
        with replacing(files.params) as file:
            digests = srs.write(file, reference, progress, timer)
            with timer.phase("write"):
                to_disk(file)
    with timer.phase("vk"):
        vk = reference.vk_be()
        write_atomically(files.vk, vk)
    content = {
        "what": WARNING,
        "accepted_by_chain": False,
        "circuit": shape.name,
        "circuit_digest": circuit_digest(shape),
        **({"sector_size": shape.facts["sector_size"]} if "sector_size" in shape.facts else {}),
        "toxic_waste": waste.origin,
        "toxic_tag": waste.tag,
        "lengths": asdict(reference.lengths),
        "params": {"file": files.params.name, "bytes": reference.lengths.file_bytes, "sha256": digests["file"]},
        "vk": {"file": files.vk.name, "bytes": len(vk), "sha256": hashlib.sha256(vk).hexdigest()},
        "vectors": {name: {"points": reference.lengths.vector(name), "sha256": digests[name]} for name, _ in VECTORS},
        "made_by": f"cuzk {__version__}",
    }
    write_atomically(files.sidecar, json.dumps(content, indent=1).encode() + b"\n")
    seconds = timer.stop()
    return {**content, "directory": str(directory), "seconds": round(seconds, 3), "phases": timer.totals()}


def _memory(shape: Shape, card: Any) -> int:
    """Bytes of the host that making the files takes."""
    if card is None:
        return memory_need(shape)
    from cuzk.groth16 import setup_blocks_cuda

    return memory_need(shape) + setup_blocks_cuda.HOST_BYTES


def _reference(shape: Shape, waste: Waste, card: Any, timer: Timer) -> srs.Reference:
    """What makes the points: the CPU, or a card."""
    if card is None:
        return Setup(shape, waste.secret, timer)
    from cuzk.groth16 import setup_blocks_cuda

    return setup_blocks_cuda.CardSetup(shape, waste.secret, card, timer)


def default_directory() -> Path:
    """Where development parameters are kept for `--params auto` and `dev`."""
    return config.cache_dir() / "params"


def kept(shape: Shape) -> Files:
    """The files of a circuit in the cache directory. Circuits from files stand apart by digest, since they may have any name.

    Raises  MalformedInput if the name cannot be part of a file name
    """
    digest = circuit_digest(shape)
    return Files.of(default_directory() / CIRCUITS / digest[:16] if digest else default_directory(), shape.name)


def _usable(files: Files, wanted: Lengths, digest: str | None) -> bool:
    """Whether the files are complete and for this circuit. Damage after completion is found by the reader, not here."""
    try:
        content = read_sidecar(files)
    except ParametersError:
        return False
    if content is None or Lengths(**content["lengths"]) != wanted or content.get("circuit_digest") != digest:
        return False
    return files.params.exists() and files.vk.exists()


def able(shape: Shape, card: Any, progress: Progress) -> Any:
    """The card, if it has the memory to make the points of a circuit; else None, for the CPU, and a line that says so."""
    from cuzk.groth16 import setup_blocks_cuda

    try:
        setup_blocks_cuda.check(lengths(shape), card)
    except ResourceError as error:
        progress.line(device.unused(f"{device.named(card)} for parameters", error))
        return None
    return card


def ensure(shape: Shape, progress: Progress, card: Any = None) -> Files:
    """The development parameters of a circuit in the cache directory, made when absent, half made or of an older circuit.

    A card, if one is given and has the memory, makes those of a sector size, the same files as the CPU.
    Of two processes the second waits for the first and says so; the lock is the kernel's and dies with its holder.
    Raises  ResourceError if they cannot be made here; DeviceError if the card fails
    """
    files = kept(shape)
    directory = files.params.parent
    wanted, digest = lengths(shape), circuit_digest(shape)
    if _usable(files, wanted, digest):
        return files
    try:
        directory.mkdir(parents=True, exist_ok=True)
        # Parameters that this machine could make, but not prove with, would be made for nothing.
        prove = predicted_peak(shape) if card is None else predicted_peak_beside_cards(shape)
        if card is not None:
            card = able(shape, card, progress) if "sector_size" in shape.facts else None
        refuse_too_large(shape, directory, "--params dev", max(_memory(shape, card), prove))
        with _only_one(directory / f".{PREFIX}{shape.name}.lock", f"development parameters of {shape.name}", progress):
            if _usable(files, wanted, digest):
                return files
            _sweep(files)
            progress.line(f"making development parameters of {shape.name}, once; kept in {directory}")
            write(shape, choose_waste(shape), directory, progress, card)
    except ResourceError as error:
        if not error.hint:
            error.hint = "free space, or set CUZK_CACHE_DIR to a directory on a larger disk"
        raise
    except OSError as error:
        raise ResourceError(
            "development parameters cannot be kept",
            file=error.filename or directory,
            got=error.strerror,
            hint="set CUZK_CACHE_DIR to a directory that can be written",
        ) from error
    return files


def _sweep(files: Files) -> None:
    """Remove what a killed process left half written."""
    for path in (files.params, files.vk, files.sidecar):
        for left in path.parent.glob(f".{path.name}.*.part"):
            with contextlib.suppress(OSError):
                left.unlink()


@contextlib.contextmanager
def _only_one(lock: Path, what: str, progress: Progress) -> Iterator[None]:
    """Hold a lock file's kernel lock; a second process says who it waits for."""
    with lock.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.line(f"waiting for {_holder(lock)}, which makes {what}")
            fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(f"{os.getpid()} {time.time():.0f}\n")
        file.flush()
        yield


def _holder(lock: Path) -> str:
    try:
        pid, since = lock.read_text(encoding="utf-8").split()
        return f"process {int(pid)} (for {max(0, time.time() - int(since)):.0f} s)"
    except (OSError, ValueError):
        return "another process"
