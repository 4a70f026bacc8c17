"""The documents match the code."""

from __future__ import annotations

import re

from cuzk.cli import cli
from cuzk.errors import EXIT_CODES
from scripts import make_cli_docs, make_performance
from tests.conftest import ROOT

FORBIDDEN = re.compile(r"\b(TODO|FIXME|XXX)\b")


def test_cli_reference_is_current() -> None:
    assert (ROOT / "docs/cli.md").read_text() == make_cli_docs.render(), "run: python scripts/make_cli_docs.py"


def test_performance_page_is_current() -> None:
    found = (ROOT / "docs/performance.md").read_text()
    assert found == make_performance.render(), "run: python scripts/make_performance.py"


def test_every_target_names_a_row_that_was_measured() -> None:
    for target in make_performance.read("targets.json"):
        if make_performance.read(target["file"]) is not None:
            assert make_performance.chosen(target) is not None, target["what"]


def test_every_command_has_help_and_an_example_or_no_arguments() -> None:
    for name, command in cli.commands.items():
        assert command.help, name
        if any(p.param_type_name == "argument" for p in command.params):
            assert "Example:" in command.help, name


def test_every_option_has_a_meaning() -> None:
    for name, command in cli.commands.items():
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert parameter.opts, (name, parameter)


def test_exit_codes_are_in_the_help() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    for code, meaning in EXIT_CODES.items():
        assert f"{code}  {meaning}" in text


def test_decisions_are_numbered_and_titled() -> None:
    pages = sorted(p for p in (ROOT / "docs/decisions").glob("*.md"))
    assert pages
    for number, page in enumerate(pages, 1):
        assert page.name.startswith(f"{number:04}-"), page.name
        assert page.read_text().startswith(f"# {number}. "), page.name


def test_links_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_readme_commands_are_those_that_ci_runs() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci/run").read_text()
    assert "pip install . && cuzk prove examples/c1-2kib.json -o proof.bin" in readme
    assert "cuzk prove examples/c1-2kib.json -o" in ci
    assert "pip install '.[test]' && pytest" in readme


def test_nothing_is_left_open_in_the_code() -> None:
    for path in sorted((ROOT / "cuzk").rglob("*.py")):
        text = path.read_text()
        assert not FORBIDDEN.search(text), path
        assert "raise NotImplementedError" not in text or path.name == "emit.py", path
