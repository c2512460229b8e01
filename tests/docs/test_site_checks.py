"""The checks of the built site find what they are for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def check(tmp_path):
    """Return the problems of a site of one page and an empty other one."""
    sys.path.insert(0, str(DOCS))
    try:
        import site_checks
    finally:
        sys.path.remove(str(DOCS))

    def problems(body: str) -> list[str]:
        (tmp_path / "index.html").write_text(f"<html><body>{body}</body></html>", encoding="utf-8")
        (tmp_path / "other.html").write_text('<h1 id="here">Other</h1>', encoding="utf-8")
        return list(site_checks.problems(tmp_path))

    return problems


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="none.html">x</a>', "index.html: the link none.html is dead"),
        ('<a href="other.html#there">x</a>', "index.html: other.html#there has no such place"),
        (
            '<script src="https://cdn.example/x.js"></script>',
            "index.html: a browser would fetch https://cdn.example/x.js",
        ),
        ('<img src="none.png">', "index.html: there is no none.png"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "index.html: a browser would fetch //cdn.example/x.css"),
    ],
)
def test_a_problem_is_found(body: str, problem: str, check):
    """Dead links, missing places, and files of other machines are found."""
    assert check(body) == [problem]


@pytest.mark.parametrize("body", ['<a href="other.html#here">x</a>', '<a href="https://kubernetes.io/">x</a>', "text"])
def test_a_good_page_has_no_problem(body: str, check):
    """Links inside that lead somewhere, and links to other sites, are fine."""
    assert check(body) == []
