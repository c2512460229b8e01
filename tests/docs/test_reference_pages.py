"""The reference of the site: every public name, command, option, rule, driver, gate, key and format has its entry."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import dra_lab
from dra_lab.cli.commands import COMMANDS
from dra_lab.cli.parser import Parser, declare
from dra_lab.course.lesson_text import lessons
from dra_lab.drivers.profiles import known_drivers
from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.release import GATES, RELEASES
from dra_lab.sources.foreign.reading import XML_FORMATS
from dra_lab.words.glossary import GLOSSARY
from dra_lab.words.rule_catalogue import rule_catalogue, rule_groups

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The generated pages."""
    sys.path.insert(0, str(DOCS))
    try:
        import site_pages
    finally:
        sys.path.remove(str(DOCS))
    return dict(site_pages.pages())


def headings(page: str) -> set[str]:
    return set(re.findall(r"^## (.+)$", page, re.MULTILINE))


def test_every_public_name_has_an_entry(pages):
    """The page lists the names of `dra_lab.__all__` and no others."""
    assert headings(pages["reference/api.md"]) == {name for name in dra_lab.__all__ if not name.startswith("__")}


def test_every_command_has_an_entry(pages):
    """The page lists the commands of the parser and no others."""
    assert headings(pages["reference/cli.md"]) == {f"dra-lab {name}" for name in COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_an_entry(command: str, pages):
    """The section of a command has every option that help shows."""
    parser = Parser(prog=f"dra-lab {command}")
    declare(parser, COMMANDS[command])
    section = pages["reference/cli.md"].partition(f"## dra-lab {command}\n")[2].partition("\n## ")[0]
    options = {
        option for action in parser.declared for option in action.option_strings if action.help != "==SUPPRESS=="
    }
    assert {option for option in options if f"`{option}" not in section} == set()


@pytest.mark.parametrize("group", rule_groups())
def test_every_rule_has_an_entry_with_cause_and_remedy(group: str, pages):
    """The page of a group has each of its rules, at the address that messages show."""
    page = pages[f"reference/rules/{group}.md"]
    mine = {name: entry for name, entry in rule_catalogue().items() if entry.group == group}
    assert headings(page) == {f"`{name}`" for name in mine}
    assert [entry.page for entry in mine.values() if f"({entry.page.rpartition('#')[2]})=" not in page] == []


def test_the_index_has_every_rule(pages):
    """A rule is found without knowing its group."""
    assert [name for name in rule_catalogue() if f"[`{name}`]" not in pages["reference/rules/index.md"]] == []


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("reference/drivers.md", known_drivers()),
        ("reference/releases.md", (*GATES, *RELEASES)),
        ("reference/goals-and-links.md", tuple(GOAL_WORDS)),
        ("reference/keys.md", ("Delete", "Ctrl + Z", "Enter")),
        ("glossary.md", tuple(GLOSSARY.values())),
        ("course.md", tuple(lesson.title for lesson in lessons())),
    ],
)
def test_what_the_code_knows_is_on_its_page(page: str, names: tuple[str, ...], pages):
    """Each name has an entry."""
    assert [name for name in names if name not in pages[page]] == []


def test_every_figure_has_a_name_that_the_screen_shows():
    """The glossary of the site names no figure by its key in the code."""
    sys.path.insert(0, str(DOCS))
    try:
        import site_pages
    finally:
        sys.path.remove(str(DOCS))
    assert set(site_pages.FIGURES) == set(GLOSSARY)


def test_the_benchmarks_have_every_recorded_value(pages):
    """Each row of RESULTS.md is a row of the page."""
    recorded = (DOCS.parent / "tests" / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \d{4}-.*$", recorded, re.MULTILINE)
    assert len(re.findall(r"^\| `[a-z_]+` \|", pages["benchmarks.md"], re.MULTILINE)) == len(rows) > 0


@pytest.mark.parametrize("section", ["1.11", "3.5", "3.13", "4"])
def test_a_source_of_a_rule_is_a_link_to_its_section(section: str, pages):
    """A section of semantics.md is linked from the rules that name it."""
    rules = "\n".join(text for name, text in pages.items() if name.startswith("reference/rules/"))
    assert re.search(rf"\[semantics {re.escape(section)}\]\(\.\./\.\./semantics\.md#[\w-]+\)", rules)


def test_every_file_format_has_an_entry():
    """Topology files, captures and the formats of answers are on the page of formats."""
    page = (DOCS / "reference" / "file-formats.md").read_text(encoding="utf-8").casefold()
    formats = {name.partition(".")[0].casefold() for name in ("hwloc", "nccl", "nvidia-smi topo -m")}
    outputs = set()
    for command in COMMANDS.values():
        parser = Parser()
        declare(parser, command)
        outputs |= {one for action in parser.declared if "-o" in action.option_strings for one in action.choices or ()}
    missing = {f"-o {name}" for name in outputs - {"text"} if name not in page}
    assert len(XML_FORMATS) == 2
    assert {name for name in formats if name not in page} | missing == set()


def test_the_picture_of_the_packages_is_that_of_the_contract():
    """`docs/layers.svg` is drawn from the layers in pyproject.toml."""
    sys.path.insert(0, str(DOCS))
    try:
        import site_pictures
    finally:
        sys.path.remove(str(DOCS))
    assert (DOCS / "layers.svg").read_text(encoding="utf-8") == site_pictures.layers_svg()


def test_the_generated_pages_are_in_plain_words(pages, tmp_path):
    """What is made from the code keeps the rules of `.ci/prose.py`; the table of measurements is left out."""
    spec = spec_from_file_location("prose", DOCS.parent / ".ci" / "prose.py")
    prose = module_from_spec(spec)
    spec.loader.exec_module(prose)
    made = [tmp_path / name.replace("/", "-") for name in pages if name != "benchmarks.md"]
    for name, path in zip([name for name in pages if name != "benchmarks.md"], made, strict=True):
        path.write_text(pages[name], encoding="utf-8")
    assert [f"{one.path.name}: {one.sentence}" for one in prose.check(made)] == []
