"""YAML with many documents without a value: they are counted, not parsed, and everything else keeps its place."""

from __future__ import annotations

import random

import pytest

from dra_lab.errors import ManifestError
from dra_lab.manifests import yaml_text
from dra_lab.manifests.yaml_text import load_yaml

PIECES = (
    "---\n", "--- \n", "--- # c\n", "---\n# x\n\n", "---\r\n", "---\nnull\n", "---#x\n", "--- 5\n", "---\na: 1\n",
    "---\nb: |\n  x\n  ---\n", '---\nd: "\n\n  e"\n',
)  # fmt: skip


def read(text):
    """The values with their numbers and lines, and the errors."""
    errors: list[ManifestError] = []
    found = [(d.value, d.number, d.line()) for d in load_yaml(text, "x", broken=errors.append)]
    return found, [str(error) for error in errors]


def test_a_document_after_many_empty_ones_keeps_its_number_and_line():
    """Messages name the document and the line as a person counts them."""
    assert read("---\n" * 200 + "a: 1\n" + "--- # none\n\n" * 150 + "---\nb: 2\n") == (
        [({"a": 1}, 200, 201), ({"b": 2}, 351, 503)],
        [],
    )


def test_a_broken_document_after_many_empty_ones_keeps_its_number():
    """A broken document is reported with its place; the documents around it are read."""
    found, (error,) = read("a: 1\n" + "---\n" * 200 + "[broken\n---\nb: 2\n")
    assert [number for _, number, _ in found] == [1, 202]
    assert "document 201:" in error


@pytest.mark.parametrize("seed", range(20))
def test_counting_empty_documents_gives_what_parsing_them_gives(seed, monkeypatch):
    """Comments, blank lines, block texts and broken parts in any order: the same values, numbers, lines and errors."""
    chance = random.Random(seed)
    for _ in range(50):
        text = "".join(chance.choices(PIECES, k=chance.randint(0, 14)))
        text += "---\n[broken\n---\ny: 1\n" if chance.random() < 0.2 else ""
        monkeypatch.setattr(yaml_text, "_MANY", 2)
        found = read(text)
        monkeypatch.setattr(yaml_text, "_MANY", 1_000)
        assert found == read(text)


def test_empty_documents_are_not_parsed(monkeypatch):
    """200,000 of them took 12 s; the parser now sees the first and the last at most."""
    seen: list[int] = []
    documents = yaml_text._documents

    def noted(text, *rest):
        seen.append(len(text))
        return documents(text, *rest)

    monkeypatch.setattr(yaml_text, "_documents", noted)
    assert list(load_yaml("---\n" * 200_000, "x")) == []
    assert sum(seen) < 100
