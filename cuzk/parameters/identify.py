"""Which circuit a parameter file is of, told by the lengths of its vectors; its name and its sidecar say where to look first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cuzk.circuits.params import circuit_name, porep_shape
from cuzk.errors import CuzkError, ParametersError
from cuzk.formats import manifest, shapes, srs
from cuzk.groth16.crs import VECTORS, Lengths
from cuzk.groth16.setup import lengths
from cuzk.parameters import development
from cuzk.seal.sector import SECTORS, Sector


def _lengths_of(size: Sector) -> Lengths:
    return lengths(shapes.load_or_record(size.size))


def _named_size(path: Path) -> Sector | None:
    """The sector size whose circuit the file's name says, Filecoin's or ours."""
    for size in SECTORS:
        if path.stem in (porep_shape(size).file_stem, f"{development.PREFIX}{circuit_name(size.size)}"):
            return size
    return None


def claimed(path: Path) -> tuple[Lengths, str] | None:
    """The lengths that a parameter file must have by its sidecar or its name, and the name of its circuit; None if neither says.

    Cost    recording a circuit once, then counting its densities
    """
    if path.name.startswith(development.PREFIX):
        try:
            content = development.read_sidecar(development.Files(path, path.with_suffix(".vk"), path.with_suffix(".json")))
        except CuzkError:
            content = None
        if content is not None:
            return Lengths(**content["lengths"]), str(content.get("circuit", path.stem.removeprefix(development.PREFIX)))
    size = _named_size(path)
    return None if size is None else (_lengths_of(size), circuit_name(size.size))


def _candidates(path: Path, found: Lengths) -> Iterator[Sector]:
    """Sector sizes that may be meant, the named one first: of the others only those with as many public inputs."""
    named = _named_size(path)
    if named is not None:
        yield named
    yield from (s for s in SECTORS if s is not named and porep_shape(s).public_inputs + 1 == found.ic)


def circuit_of(path: Path, found: Lengths) -> str | None:
    """Name of the circuit that has these lengths; None if it is none that we know."""
    known = claimed(path)
    if known is not None and known[0] == found:
        return known[1]
    return next((circuit_name(s.size) for s in _candidates(path, found) if _lengths_of(s) == found), None)


def open_whole(path: Path) -> srs.ParamsFile:
    """A parameter file whatever its circuit.

    Raises  ParametersError if its lengths do not fit its size: with what they must be, where name or sidecar say so
    """
    try:
        return srs.ParamsFile(path)
    except ParametersError:
        known = claimed(path)
        if known is not None:
            srs.ParamsFile(path, *known)
        raise


def describe(path: Path) -> dict[str, Any]:
    """Facts of a parameter file for `inspect`. Raises ParametersError if it is damaged, as far as lengths and key tell."""
    file = open_whole(path)
    file.read_vk()
    counts = {"ic": file.lengths.ic, **{name: file.lengths.vector(name) for name, _ in VECTORS}}
    entry, source = manifest.load().of(path.name), str(manifest.load())
    published = None if entry is None else {"sector_size": entry.sector_size, "digest": entry.digest, "manifest": source}
    return {
        "circuit": circuit_of(path, file.lengths),
        "points": counts,
        "domain_log2": file.lengths.h.bit_length(),
        "trailing_bytes": file.trailing,
        "filecoin": published,
    }
