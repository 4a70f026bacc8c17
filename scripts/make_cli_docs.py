"""Write docs/cli.md from the commands' own help.

Usage: python scripts/make_cli_docs.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from cuzk.cli import cli  # noqa: E402

TARGET = ROOT / "docs" / "cli.md"


def render() -> str:
    """The text of docs/cli.md."""
    parts = ["# Command line\n\nMade from `--help` by `python scripts/make_cli_docs.py`.\n"]

    def section(command: click.Command, name: str, level: int) -> None:
        context = click.Context(command, info_name=name, terminal_width=110, max_content_width=110)
        parts.append(f"{'#' * level} {name}\n\n```\n{command.get_help(context).rstrip()}\n```\n")

    section(cli, "cuzk", 2)
    for name in sorted(cli.commands):
        section(cli.commands[name], f"cuzk {name}", 2)
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(render())
    print(f"wrote {TARGET.relative_to(ROOT)}")
