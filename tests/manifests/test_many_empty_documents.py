"""YAML with many documents without a value: they are counted, and everything else keeps its place."""

from __future__ import annotations

import random

import pytest
import yaml

from dra_lab.errors import ManifestError
from dra_lab.manifests.yaml_text import load_yaml

PIECES = (
    "---\n", "--- \n", "--- # c\n", "---\n# x\n\n", "---\r\n", "---\nnull\n", "---\na: 1\n", "---\nb: |\n  x\n  ---\n",
    '---\nd: "\n\n  e"\n',
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
def test_documents_have_the_values_that_yaml_gives_them(seed):
    """Comments, blank lines, block texts and long runs of empty documents in any order: the values of PyYAML."""
    chance = random.Random(seed)
    for _ in range(20):
        pieces = chance.choices(PIECES, k=chance.randint(1, 14))
        runs = [chance.choice(PIECES[:5]) * 150 for _ in range(chance.randint(0, 2))]
        text = "".join(chance.sample([*pieces, *runs], len(pieces) + len(runs)))
        expected = [value for value in yaml.safe_load_all(text) if value is not None]
        assert [value for value, _, _ in read(text)[0]] == expected


def test_hundreds_of_thousands_of_empty_documents_are_read():
    """A file of separators alone has no document."""
    assert list(load_yaml("---\n" * 200_000, "x")) == []
