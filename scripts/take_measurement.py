"""Take what a device measured into docs/measurements: checked, with the commit it is of, without the folders it was made in.

Usage: python scripts/take_measurement.py FILE.json… [--as NAME.json] [--commit COMMIT]

A check on a card and `cuzk bench` both record a digest of the package's sources. The commit is the one whose sources have that
digest: `--commit`, HEAD, or one of the last that changed the package; a file of none of them is refused, since nobody could make
it again. For a file that has no digest the commit it names, or `--commit`, is believed.

Several files of `cuzk bench` of the same sources become one: python scripts/take_measurement.py field.json … --as h200-bench.json
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from cuzk.bench.machine import digest

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "measurements"
SEARCHED = 200  # commits
# Folders before a name: whatever lies before scripts/ in this checkout's copy, and any other absolute path.
_FOLDERS = re.compile(r"(?<![\w./-])/(?:[\w.+@-]+/)+(?=[\w.-])")
_CHECKOUT = re.compile(r"(?<![\w./-])/(?:[\w.+@-]+/)+(?=scripts/)")


def refuse(text: str) -> None:
    """What cannot be taken ends the run."""
    raise SystemExit(f"not taken: {text}")


def git(*arguments: str) -> bytes:
    """The output of a command of git; ends the run if git does not know what it is asked about."""
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    if done.returncode:
        refuse(f"git {' '.join(arguments)}: {done.stderr.decode().strip()}")
    return done.stdout


@functools.cache
def commit_named(name: str) -> str:
    """The whole name of a commit."""
    return git("rev-parse", "--verify", f"{name}^{{commit}}").decode().strip()


@functools.cache
def _content(blob: str) -> bytes:
    return git("cat-file", "blob", blob)


@functools.cache
def sources_of(commit: str) -> str:
    """What `cuzk.bench.machine.sources` says of a checkout of a commit."""
    files = []
    for line in git("ls-tree", "-r", "-z", commit, "--", "cuzk").decode().split("\0"):
        facts, _, path = line.partition("\t")
        if path.endswith(".py"):
            files.append((path, _content(facts.split()[2])))
    return digest(files)


def commit_of(sources: str, wanted: str | None) -> str:
    """The commit whose sources have a digest: `wanted` if one is named, else HEAD or one of the last that changed them."""
    if wanted:
        if sources_of(commit_named(wanted)) != sources:
            refuse(f"commit {wanted} has other sources: expected {sources_of(commit_named(wanted))}, got {sources}")
        return commit_named(wanted)
    last = git("rev-list", f"--max-count={SEARCHED}", "HEAD", "--", "cuzk").decode().split()
    for commit in (commit_named("HEAD"), *last):
        if sources_of(commit) == sources:
            return commit
    refuse(f"HEAD and the last {SEARCHED} commits that changed cuzk/ have other sources than {sources}; name one: --commit")
    raise AssertionError


def plain(value: Any) -> Any:
    """A JSON value without folders in its strings."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return _FOLDERS.sub("", _CHECKOUT.sub("", value)) if isinstance(value, str) else value


def unfit(found: dict[str, Any]) -> str:
    """Why a file is no measurement; empty if it is one."""
    if "subjects" in found:
        return "; ".join(f"{row['name']}: a wrong result" for row in found["rows"] if row["result"]["holds"] is not True)
    return "" if found.get("passed") is True else found.get("error") or "its checks did not pass"


def together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """One file of several of `cuzk bench`, each of its subjects."""
    for part in parts[1:]:
        for what in ("device", "commit"):
            if part[what] != parts[0][what]:
                refuse(f"files of more than one {what}: {parts[0][what]} and {part[what]}")
    whole = dict(parts[0])
    if all("command" in part for part in parts):
        whole["command"] = "; ".join(part["command"] for part in parts)
    for part in parts[1:]:
        for key in ("subjects", "rows"):
            whole[key] = whole[key] + part[key]
        for key in ("noise", "kernels", "clocks"):
            whole[key] = whole[key] | {name: v for name, v in part[key].items() if name not in whole[key]}
        whole |= {"load_after": part["load_after"], "seconds": round(whole["seconds"] + part["seconds"], 3)}
    if len(set(whole["subjects"])) < len(whole["subjects"]):
        refuse(f"a subject more than once: {', '.join(whole['subjects'])}")
    return whole


def prepared(path: Path, wanted: str | None) -> dict[str, Any]:
    """A file as it is kept: its commit in it, checked against its sources where it says them."""
    found = json.loads(path.read_bytes())
    if reason := unfit(found):
        refuse(f"{path.name}: {reason}")
    said = found["machine"] if "subjects" in found else found
    sources, commit = said.get("sources"), said.get("commit")
    if sources:
        commit = commit_of(sources, wanted)
    elif not commit or commit.endswith("+"):
        if not wanted:
            refuse(f"{path.name}: it says neither a commit nor its sources; name the commit: --commit")
        commit = commit_named(str(wanted))
    elif wanted and commit_named(wanted) != commit:
        refuse(f"{path.name}: it is of commit {commit}, not of {wanted}")
    return plain(found | {"commit": commit})  # type: ignore[no-any-return]


def main() -> None:
    """Take each file, or all as one."""
    parser = argparse.ArgumentParser(description="Take measurements of a device into docs/measurements.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--as", dest="name", metavar="NAME")
    parser.add_argument("--commit")
    options = parser.parse_args()
    taken = {path.name: prepared(path, options.commit) for path in options.files}
    if options.name:
        if len(taken) > 1 and not all("subjects" in found for found in taken.values()):
            refuse("only files of `cuzk bench` become one")
        taken = {options.name: together(list(taken.values())) if len(taken) > 1 else next(iter(taken.values()))}
    for name, found in taken.items():
        (TARGET / name).write_text(json.dumps(found, indent=1) + "\n")
        print(f"{name}: commit {found['commit'][:12]}")


if __name__ == "__main__":
    main()
