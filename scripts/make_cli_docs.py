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

    def section(context: click.Context) -> None:
        parts.append(f"## {context.command_path}\n\n```\n{context.get_help().rstrip()}\n```\n")

    # The settings of a real call, so that the text is what a user sees.
    whole = click.Context(cli, info_name="cuzk", terminal_width=110, **cli.context_settings)
    section(whole)
    for name in sorted(cli.commands):
        section(click.Context(cli.commands[name], info_name=name, parent=whole))
    return "\n".join(parts)


if __name__ == "__main__":
    TARGET.write_text(render())
    print(f"wrote {TARGET.relative_to(ROOT)}")
