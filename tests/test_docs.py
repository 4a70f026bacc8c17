"""The documents match the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from cuzk.cli import cli
from cuzk.errors import EXIT_CODES
from scripts import make_cli_docs, make_performance
from tests.conftest import ROOT

# A measured time or rate in prose: such numbers stand in docs/performance.md, made from measurements, and nowhere else.
_NUMBER = r"(?<![\w.,^–-])\d[\d,.]*(?:\s?(?:–|to|and|,)\s?\d[\d,.]*)*"
TIMING = re.compile(
    rf"{_NUMBER}\s(?:ns|ms|µs|ps|s(?![ *^]\S*[=+^])|[GM]i?B/s|G/s)(?![\w^)])"
    r"|\b(?:some|few|tenth of a) (?:seconds?|minutes?|hours?)\b"
)
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


def prose() -> Iterator[tuple[str, str]]:
    """Pages without code, and docstrings of the package."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if page.name != "performance.md":
            yield page.name, re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
    for path in sorted((ROOT / "cuzk").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                yield str(path.relative_to(ROOT)), ast.get_docstring(node) or ""


def test_no_measured_time_stands_outside_the_page_that_is_made_from_measurements() -> None:
    found = [
        f"{where}: {text[max(0, m.start() - 40) : m.end() + 20]!r}" for where, text in prose() for m in TIMING.finditer(text)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "measured"),
    [
        ("Cost 16, 25, 41 µs a hash", True),
        ("it took 15.4 s, at 0.45 to 0.8 GB/s", True),
        ("0.9 s on one core", True),
        ("about 3 s at 32 GiB", True),
        ("takes a tenth of a second", True),
        ("some minutes", True),
        ("4.18 G/s against 4.03", True),
        ("averages over 1, 5 and 15 minutes", False),
        ("s^2 = 1 + u; x + 3 s C^2, cost 3 S", False),
        ("a second process waits; bytes a second that threads wrote", False),
        ("5 400 hashes of 2 KiB, 12.7 GB written, 3 M + 1 S", False),
    ],
)
def test_what_a_measured_time_is(text: str, measured: bool) -> None:
    assert bool(TIMING.search(text)) is measured
