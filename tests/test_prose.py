"""The check of plain words (`.ci/prose.py`): which sentences it finds, and in which texts it looks."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

_SPEC = spec_from_file_location("prose", Path(__file__).parents[1] / ".ci" / "prose.py")
prose = module_from_spec(_SPEC)
_SPEC.loader.exec_module(prose)
BAD = "nobody"
"""A word that breaks a rule, kept out of the sentences of this module."""


def rules(tmp_path: Path, name: str, text: str) -> list[str]:
    """Return the names of the rules that a file breaks."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [found.rule.partition(" ")[0] for found in prose.check([path])]


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("opening", "Who waits sees."),
        ("opening", "Of two, one."),
        ("opening", "What fits is shown."),
        ("opening", "Where are there GPUs."),
        ("passive", "It is told once."),
        ("actor", "It has nobody."),
        ("again", "It is read anew."),
        ("number", "There are so many."),
        ("undo", "Ctrl+Z takes back."),
        ("on", "NICs at its root."),
        ("long", "word " * 36),
    ],
)
def test_each_rule_finds_its_sentence(tmp_path, rule, sentence):
    """A sentence that breaks a rule is found with the name of this rule and no other."""
    assert rules(tmp_path, "text.md", sentence) == [rule]


@pytest.mark.parametrize(
    "sentence",
    [
        "Of course it fits.",
        "What to install?",
        "What if nodes fail?",
        "Where is it?",
        "It is told apart.",
        "The option takes a NIC back.",
        "A NIC on its root.",
        "word " * 35,
    ],
)
def test_a_plain_sentence_is_not_found(tmp_path, sentence):
    """Questions, fixed phrases and a sentence of 35 words keep the rules."""
    assert rules(tmp_path, "text.md", sentence) == []


@pytest.mark.parametrize("end", [". ", "! ", "? ", "\n\n", "\n- ", "\n2. "])
def test_sentences_are_counted_one_by_one(tmp_path, end):
    """A full stop, an empty line and an item of a list end a sentence."""
    assert rules(tmp_path, "text.md", f"{'word ' * 20}{end}{'word ' * 20}") == []


@pytest.mark.parametrize("text", ["```\n{}\n```\n", "| {} |\n", "    {}\n"])
def test_code_and_tables_of_markdown_are_not_prose(tmp_path, text):
    """Fenced and indented code and tables are left out."""
    assert rules(tmp_path, "text.md", text.format("It has nobody.")) == []


@pytest.mark.parametrize(
    "text", [f'"""It has {BAD} here now."""', f"# It has {BAD}.", f'print("It has {BAD} here now.")']
)
def test_docstrings_comments_and_messages_are_prose(tmp_path, text):
    """A module is read without running it."""
    assert rules(tmp_path, "module.py", text) == ["actor"]


def test_a_comment_of_several_lines_is_one_text(tmp_path):
    """A sentence that goes on in the next line is counted as a whole."""
    assert rules(tmp_path, "module.py", f"# {'word ' * 18}\n# {'word ' * 18}\n") == ["long"]


def test_a_string_of_several_lines_is_data(tmp_path):
    """A manifest or script in a module may have any length; a docstring may not."""
    text = "word " * 20 + "\n" + "word " * 20
    found = [rules(tmp_path, "module.py", f'{start}"""{text}"""\n') for start in ("", "DATA = ")]
    assert found == [["long"], []]


def test_names_are_not_sentences(tmp_path):
    """A string with fewer than four spaces is a name or a label."""
    assert rules(tmp_path, "module.py", f'NAME = "{BAD} has it"') == []


def test_a_notebook_is_read_by_cells(tmp_path):
    """The Markdown cells are prose, and the line is the number of the cell."""
    cells = [{"cell_type": kind, "source": ["It has nobody."]} for kind in ("code", "markdown")]
    path = tmp_path / "book.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert [found.line for found in prose.check([path])] == [2]


def test_strings_of_typescript_are_prose(tmp_path):
    """Messages and names of tests are read, names of classes are not."""
    text = f'const a = "there is {BAD} in this text";\nconst b = "{BAD}";\n'
    assert rules(tmp_path, "view.tsx", text) == ["actor"]


def test_generated_files_are_not_read(tmp_path):
    """The generator's sentences are checked where they are written."""
    (tmp_path / "generated").mkdir()
    assert rules(tmp_path, "generated/models.ts", f'"there is {BAD} in this text"') == []


@pytest.mark.parametrize(("name", "expected"), [("plain.md", 0), ("broken.md", 1)])
def test_a_broken_rule_fails_the_command(monkeypatch, capsys, tmp_path, name, expected):
    """The exit status is 1 if a sentence breaks a rule, and the line names file, rule and sentence."""
    (tmp_path / "plain.md").write_text("A pod fits.", encoding="utf-8")
    (tmp_path / "broken.md").write_text("It has nobody.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    listed = type("Listed", (), {"stdout": f"{name}\0"})
    monkeypatch.setattr(prose.subprocess, "run", lambda *_args, **_options: listed)
    assert prose.main([]) == expected
    assert (f"broken.md:1: actor (name the actor): It has {BAD}." in capsys.readouterr().out) == bool(expected)


def test_the_contributors_guide_names_every_rule():
    """CONTRIBUTING.md has each rule of the check by its name."""
    guide = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [name for name, _, _ in prose.RULES if f"`{name}`" not in guide] == []
