"""Which parameter files a run uses, and that they are what they should be.

`auto` looks in Filecoin's directory, then, for test sizes, takes development parameters from the cache directory, which are made
when absent. `dev` is those alone. A directory is searched for Filecoin's file name first, then for `cuzk-dev-NAME`.

What is checked before anything is proved: on every run sizes, vector lengths against the circuit, nothing after the last vector,
the verifying key's points, and the `.vk` file beside it; once for each file, by size, time and inode, the digest of the whole
file and every point.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuzk import config
from cuzk.circuits.params import circuit_name, porep_shape
from cuzk.circuits.template import Shape
from cuzk.errors import ParametersError, UsageError
from cuzk.field.limbs import U8
from cuzk.formats import manifest, remember, srs, vk
from cuzk.formats.remember import Checked, Identity
from cuzk.groth16.keys import VerifyingKey
from cuzk.groth16.setup import lengths
from cuzk.parameters import development
from cuzk.progress import Progress
from cuzk.seal.sector import BY_SIZE, Sector
from cuzk.timing import Timer

if TYPE_CHECKING:
    from cuzk.groth16.needs_cuda import Load

LARGEST_TEST_SIZE = 1 << 30
HASH_BYTES = 16 << 20
VERIFY = ("cached", "full")


@dataclass(frozen=True, slots=True)
class Located:
    """Where a circuit's parameters are. `files` is None for development parameters, which may have to be made."""

    name: str
    kind: str  # filecoin | development | explicit
    params: Path
    vk: Path

    @property
    def entry(self) -> manifest.Entry | None:
        """What Filecoin's manifest says of the parameter file; None for one of ours."""
        return manifest.load().of(self.params.name)

    @property
    def accepted_by_chain(self) -> bool | None:
        """Whether proofs with these parameters are accepted where Filecoin's are; None if neither name nor list tells."""
        if self.kind == "development" or self.sidecar is not None:
            return False
        return True if self.entry is not None else None

    @property
    def sidecar(self) -> development.Files | None:
        """The development files that these are, if their names say so."""
        files = development.Files(self.params, self.vk, self.params.with_suffix(".json"))
        return files if self.params.name.startswith(development.PREFIX) else None


class Parameters:
    """Checked parameters of one circuit, open for proving: points are read from the file as they are used."""

    folded = False
    held_bytes = 0  # of host memory, until `forget`

    def __init__(
        self,
        located: Located,
        file: srs.ParamsFile,
        key: VerifyingKey,
        digest: str,
        source: str = "",
        vk_compared: bool = True,
    ) -> None:
        """`source`: who says that the digest is the one it must be; empty if nobody does. `vk_compared`: with a `.vk` file."""
        self.vk_compared = vk_compared
        self.located, self.file, self.vk, self.digest, self.source = located, file, key, digest, source
        self.kind, self.path = located.kind, located.params
        self.h_be, self.l_be, self.a_be = file.h_be, file.l_be, file.a_be
        self.b_g1_be, self.b_g2_be = file.b_g1_be, file.b_g2_be

    def points(self, timer: Timer) -> Load:
        """The source of points for cards."""
        from cuzk.groth16.key_cuda import load_from

        return load_from(self)

    def forget(self) -> None:
        """Nothing is held beside the file."""

    def as_dict(self) -> dict[str, Any]:
        """The `parameters` object of `--json`."""
        compared = self.located.vk if self.vk_compared else None
        return {
            "kind": self.kind,
            "path": str(self.path),
            "digest": self.digest,
            "vk": None if compared is None else str(compared),
            **({} if compared else {"warning": _alone(self.located)}),
            "accepted_by_chain": self.located.accepted_by_chain,
            "folded": self.folded,
        }

    @property
    def doubt(self) -> str:
        """What to do if a proof made with these parameters is false."""
        if self.source:
            return (
                f"run again with --verify-params full, which reads {self.path} again ({self.source}); if that passes, report it"
            )
        return (
            f"the parameters may be damaged where single points do not show it, since no list has their digest: compare "
            f"{self.digest} with that of a whole copy of {self.path}, or fetch or make the file again; if it is whole, report it"
        )


def locate(sector_size: int, params: str, progress: Progress) -> Located:
    """The parameter files of the PoRep circuit of a sector size, before any of them is read.

    Raises  ParametersError if there are none and none can be made
    """
    name = circuit_name(sector_size)
    size = BY_SIZE[sector_size]
    if params == "dev":
        return _development(name)
    if params != "auto":
        directory = Path(params).expanduser()
        candidates = [directory / f"{porep_shape(size).file_stem}.params", development.Files.of(directory, name).params]
        found = _first(directory, candidates)
        if isinstance(found, Path):
            return Located(name, "explicit", found, found.with_suffix(".vk"))
        raise _absent(size, directory, [path.name for path in candidates], found)
    directory = config.filecoin_parameter_dir()
    path = directory / f"{porep_shape(size).file_stem}.params"
    try:
        if path.exists():
            published = manifest.load().of(path.name) is not None
            return Located(name, "filecoin" if published else "explicit", path, path.with_suffix(".vk"))
    except OSError as error:
        if sector_size > LARGEST_TEST_SIZE:
            raise ParametersError("the file cannot be read", file=path, got=error.strerror) from error
        progress.line(f"cannot look into {directory}: {error.strerror}")
    if sector_size > LARGEST_TEST_SIZE:
        raise _absent(size, directory, [path.name], "no such file" if directory.is_dir() else "no such directory")
    return _development(name)


def locate_circuit(file: Path, shape: Shape, params: str) -> Located:
    """The parameter files of the explicit circuit in `file`: development ones, in the cache directory or in the one given.

    Raises  ParametersError if a directory was given and they are not there
    """
    name = shape.name
    if params in ("auto", "dev"):
        return _of_files(name, development.kept(shape))
    directory = Path(params).expanduser()
    ours = development.Files.of(directory, name)
    missing = _first(directory, [ours.params])
    if isinstance(missing, Path):
        return Located(name, "explicit", missing, missing.with_suffix(".vk"))
    raise ParametersError(
        f"there are no parameters of the circuit {name}",
        file=directory,
        where="--params",
        expected=ours.params.name,
        got=missing,
        hint=f"cuzk setup {file} -o {directory}, or --params dev",
    )


def _development(name: str) -> Located:
    return _of_files(name, development.Files.of(development.default_directory(), name))


def _of_files(name: str, files: development.Files) -> Located:
    return Located(name, "development", files.params, files.vk)


def _first(directory: Path, candidates: list[Path]) -> Path | str:
    """The first of the files that exists, or in words what is missing."""
    try:
        for path in candidates:
            if path.exists():
                return path
        return "no such file" if directory.is_dir() else "no such directory"
    except OSError as error:
        raise ParametersError("the directory cannot be read", file=directory, where="--params", got=error.strerror) from error


def _absent(size: Sector, directory: Path, names: list[str], missing: str) -> ParametersError:
    """The error that says which file is wanted, where it was looked for, who decides that, and what to do."""
    published = manifest.load().of(names[0])
    from_variable = directory == config.filecoin_parameter_dir()
    by = "FIL_PROOFS_PARAMETER_CACHE" if from_variable else "--params"
    do = []
    if published:
        do.append(f"fetch it (lotus fetch-params {size.name}) and set {by} to its directory")
    do.append("name its directory with --params DIR" if from_variable else "name another directory")
    if size.size <= LARGEST_TEST_SIZE:
        do.append("or use --params dev")
    known = f"{manifest.load()}, digest {published.digest}" if published else "no published file"
    return ParametersError(
        f"there are no parameters for {size.name} sectors",
        file=directory,
        where=f"searched: {directory} ({by})",
        expected=f"{' or '.join(names)} ({known})",
        got=missing,
        hint="; ".join(do),
    )


def open_checked(located: Located, shape: Shape, verify_params: str, progress: Progress, card: Any = None) -> Parameters:
    """Open a circuit's parameters and make sure of them. Development parameters are made if they are not there, on a card if
    one is given.

    `verify_params`: `cached` reads the whole file unless this very file was read before; `full` reads it again and checks that
    every point has order r.

    Raises  ParametersError for every fault, naming the file
    """
    if verify_params not in VERIFY:
        raise UsageError("unknown check", where="--verify-params", expected=" | ".join(VERIFY), got=verify_params)
    if located.kind == "development":
        development.ensure(shape, progress, card)
    if located.accepted_by_chain is False:
        progress.line(f"{development.WARNING}: {located.params}")
    elif located.accepted_by_chain is None:
        progress.line(f"no published parameters, whether a chain accepts them is not known here: {located.params}")
    compared = _has_vk(located, progress)
    try:
        return _open(located, shape, verify_params == "full", compared, progress)
    except ParametersError as error:
        if located.kind == "development":
            error.hint = f"delete {located.params.with_suffix('')}.*: they will be made again"
        elif located.entry is not None:
            error.hint = f"fetch the file again; the expectation is from {manifest.load()}"
        raise


def _open(located: Located, shape: Shape, full: bool, compared: bool, progress: Progress) -> Parameters:
    file = srs.ParamsFile(located.params, lengths(shape), located.name)
    file.refuse_trailing()
    expected = _published_digests(located) | _sidecar_digests(located, shape)
    key = _key_of(file, expected.get(located.params.name), progress)
    if compared:
        if located.vk.name in expected:
            _compare(located.vk, *expected[located.vk.name], _hash_bytes(located.vk, expected[located.vk.name][0]))
        file.check_same_vk(located.vk)
    algorithm, wanted, source = expected.get(located.params.name, ("sha256", None, ""))
    checked = remember.recall(located.params, file.identity)
    known = checked is not None and checked.on_curve and (wanted is None or checked.digests.get(algorithm) == wanted)
    if full or not known or checked is None:
        checked = _check_whole(file, algorithm, wanted, source, full, progress)
    name, digest = next(iter(checked.digests.items()))
    return Parameters(located, file, key, f"{name}:{digest}", source if wanted is not None else "", compared)


def _alone(located: Located) -> str:
    return (
        f"there is no {located.vk.name} beside {located.params.name}: the verifying key is that in the latter alone, "
        "compared with nothing"
    )


def _has_vk(located: Located, progress: Progress) -> bool:
    """Whether there is a `.vk` file beside the parameters; a warning if there is none.

    Raises  ParametersError where Filecoin's parameters are looked for: they come in pairs
    """
    if not located.params.exists() or located.vk.exists():
        return True  # parameters that have gone are the reader's to report
    if located.kind == "filecoin":
        raise ParametersError(
            "Filecoin's parameters are not complete: the verifying key file is missing",
            file=located.params.parent,
            where=f"beside {located.params.name}",
            expected=located.vk.name,
            got="no such file",
            hint=f"fetch it again, or name {located.params.parent} with --params, to do with the key in {located.params.name}",
        )
    progress.line(f"warning: {_alone(located)}")
    return False


def _key_of(file: srs.ParamsFile, known: tuple[str, str, str] | None, progress: Progress) -> VerifyingKey:
    """The verifying key of a parameter file. If it is damaged and a digest is known, both digests are named."""
    try:
        return file.read_vk()
    except ParametersError as error:
        if known is not None:
            algorithm, wanted, source = known
            with progress.bar(f"digest of {file.path.name}", file.size, "B"):
                error.got = _digest(file.data, algorithm, progress)
            error.expected = wanted
            error.where = f"{error.where}; {algorithm} of all {file.size} bytes, as {source} says"
        raise


def _published_digests(located: Located) -> dict[str, tuple[str, str, str]]:
    """file name -> (algorithm, digest, who says so), from Filecoin's manifest."""
    entries = (manifest.load().of(path.name) for path in (located.params, located.vk))
    return {e.file: ("blake2b", e.digest, str(manifest.load())) for e in entries if e is not None}


def _sidecar_digests(located: Located, shape: Shape | None = None) -> dict[str, tuple[str, str, str]]:
    """The same from the sidecar. Raises ParametersError if it is of another circuit than `shape`, or damaged."""
    files = located.sidecar
    content = development.read_sidecar(files) if files is not None else None
    if files is None or content is None:
        return {}
    made_for = content.get("circuit_digest")
    if shape is not None and made_for is not None and made_for != development.circuit_digest(shape):
        raise ParametersError(
            "the parameters were made for another circuit of the same name",
            file=files.params,
            expected=f"circuit digest {development.circuit_digest(shape)}",
            got=f"{made_for} ({files.sidecar.name})",
            hint="cuzk setup CIRCUIT.json makes parameters for this one",
        )
    parts = {files.params.name: "params", files.vk.name: "vk"}
    return {name: ("sha256", content[part]["sha256"], files.sidecar.name) for name, part in parts.items()}


def _hashing(algorithm: str) -> Any:
    return hashlib.blake2b() if algorithm == "blake2b" else hashlib.sha256()


def _hex(algorithm: str, state: Any) -> str:
    return str(state.hexdigest())[: manifest.DIGEST_DIGITS] if algorithm == "blake2b" else str(state.hexdigest())


def _digest(data: U8, algorithm: str, progress: Progress | None = None) -> str:
    state = _hashing(algorithm)
    for chunk in _chunks(data):
        state.update(chunk.data)
        if progress is not None:
            progress.advance(len(chunk))
    return _hex(algorithm, state)


def _hash_bytes(path: Path, algorithm: str) -> str:
    return _digest(srs.map_file(path)[0], algorithm)


def _compare(path: Path, algorithm: str, wanted: str, source: str, got: str) -> None:
    if got != wanted:
        raise ParametersError(
            "the file is damaged or another one: its digest is not the one it must have",
            file=path,
            where=f"{algorithm} of all {path.stat().st_size} bytes, as {source} says",
            expected=wanted,
            got=got,
            hint="fetch or make the file again",
        )


def _chunks(data: U8) -> Iterator[U8]:
    return (data[i : i + HASH_BYTES] for i in range(0, len(data), HASH_BYTES))


def _check_whole(
    file: srs.ParamsFile, algorithm: str, wanted: str | None, source: str, subgroup: bool, progress: Progress
) -> Checked:
    """Read the whole file: digest, then every point. What was found is remembered, unless the file changed meanwhile."""
    path = file.path
    remember.forget(path)
    with progress.bar(f"checking {path.name}", 2 * file.size, "B"):
        progress.label("digest of the parameters")
        digest = _digest(file.data, algorithm, progress)
        if wanted is not None:
            _compare(path, algorithm, wanted, source, digest)
        progress.label("points of the parameters")
        for piece in file.pieces():
            progress.advance(file.check_piece(*piece, subgroup=subgroup))
    checked = Checked({algorithm: digest}, on_curve=True, in_subgroup=subgroup)
    if Identity.of(path.stat()) != file.identity:
        raise ParametersError(
            "the file changed while it was read", file=path, hint="let whoever writes it finish, then run again"
        )
    remember.remember(path, file.identity, checked)
    return checked


def verifying_key(sector_size: int, params: str, progress: Progress) -> tuple[VerifyingKey, Path]:
    """The verifying key for a sector size, checked, and the file that it is from: its `.vk`, else the head of its parameter file.

    Raises  ParametersError if there is none, or if it is damaged
    """
    located = locate(sector_size, params, progress)
    if located.kind == "development" and not (located.vk.exists() and located.params.exists()):
        from cuzk.formats import shapes

        development.ensure(shapes.load_or_record(sector_size, progress), progress)
    expected = _published_digests(located) | _sidecar_digests(located)
    if not _has_vk(located, progress):
        return _key_of(srs.ParamsFile(located.params), expected.get(located.params.name), progress), located.params
    if located.vk.name in expected:
        algorithm, wanted, source = expected[located.vk.name]
        _compare(located.vk, algorithm, wanted, source, _hash_bytes(located.vk, algorithm))
    return vk.read(located.vk, error=ParametersError).key, located.vk
