"""What was checked once about a large file, kept in the cache directory so that it need not be read again.

A memory belongs to a path and holds only while size, modification time (nanoseconds) and inode are those that were checked.
One small JSON file per checked file, written to a temporary name and renamed, so that two processes never see half of one.
Neither the checked file nor its directory is written to, and no lock is taken.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from cuzk import config

VERSION = 1


@dataclass(frozen=True, slots=True)
class Identity:
    """Tells whether a file is still the one that was looked at."""

    size: int
    mtime_ns: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> Identity:
        """The identity of the file that was asked for its status."""
        return cls(stat.st_size, stat.st_mtime_ns, stat.st_ino)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check has established."""

    digests: dict[str, str]  # algorithm -> hexadecimal digest of the whole file
    on_curve: bool  # all points canonical, finite and on the curve
    in_subgroup: bool


def _place(path: Path) -> Path:
    return config.cache_dir() / "checked" / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]}.json"


def recall(path: Path, identity: Identity) -> Checked | None:
    """What is remembered of this very file; None where nothing is, or it has changed since, or the memory is unreadable."""
    try:
        content = json.loads(_place(path).read_text(encoding="utf-8"))
        if content["version"] != VERSION or content["path"] != str(path.resolve()) or Identity(**content["identity"]) != identity:
            return None
        digests = {str(k): str(v) for k, v in content["checked"]["digests"].items()}
        on_curve, in_subgroup = content["checked"]["on_curve"], content["checked"]["in_subgroup"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Checked(digests, on_curve is True, in_subgroup is True)


def remember(path: Path, identity: Identity, checked: Checked) -> bool:
    """Keep what was established; False where the cache directory cannot be written (then the check is repeated next time)."""
    place = _place(path)
    content = {"version": VERSION, "path": str(path.resolve()), "identity": asdict(identity), "checked": asdict(checked)}
    temporary = place.with_suffix(f".{os.getpid()}.tmp")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(content))
        temporary.replace(place)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        return False
    return True


def forget(path: Path) -> None:
    """Drop what is remembered of a file."""
    with contextlib.suppress(OSError):
        _place(path).unlink()
