"""A document has the same parts as text, as HTML and as a DataFrame; each renderer makes text fit for its place."""

from __future__ import annotations

import pytest

from dra_lab.words.document import (
    Column,
    Item,
    Lines,
    Picture,
    Sentence,
    Table,
    Words,
    as_frame,
    as_html,
    as_markdown,
    as_text,
    printable,
)

HOSTILE = "<img src=x>\x1b[2J\nforged\u202e"
TABLE = Table((Column("goal", "meaning"), Column("best"), Column(name="exact")), [("roots", "at most 2", 2)], "Goals")
PARTS = (
    Sentence(HOSTILE),
    Words(HOSTILE),
    Lines(HOSTILE, [HOSTILE, Item(HOSTILE, HOSTILE, HOSTILE, [HOSTILE])]),
    Table((HOSTILE,), [(HOSTILE,)], HOSTILE, [HOSTILE]),
)


@pytest.mark.parametrize("part", PARTS)
def test_no_part_lets_text_control_a_terminal_or_become_markup(part):
    """Escapes, line ends and marks that turn the direction of writing are replaced, and tags stay text."""
    shown = as_text([part]) + as_html([part]) + as_html([part], page=True).replace("\n", "")
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "\nforged" not in shown
    assert "<img" not in as_html([part])


@pytest.mark.parametrize("part", PARTS)
def test_no_part_lets_text_become_markdown(part):
    """Tags are escaped, and a line stays a line."""
    shown = as_markdown([part])
    assert shown.count("<") == shown.count("\\<")
    assert "\nforged" not in shown


def test_a_table_is_a_table_of_markdown():
    """With the heads that people see."""
    assert as_markdown([TABLE]).splitlines() == [
        "Goals:",
        "",
        "| goal | best |",
        "| --- | --- |",
        "| roots | at most 2 |",
    ]


def test_people_and_data_frames_see_their_columns_of_one_table():
    """A column without a head is for DataFrames, one without a name for people."""
    assert as_text([TABLE]).splitlines() == ["Goals", "  goal   best", "  roots  at most 2"]
    assert as_frame(TABLE).to_dict("records") == [{"meaning": "roots", "exact": 2}]


@pytest.mark.parametrize("part", [Table(("a",), []), Lines("a", []), Picture("")])
def test_a_part_without_contents_is_not_shown(part):
    """No heading stands above nothing."""
    assert (as_text([part]), as_html([part])) == ("", '<div class="dra-result"></div>')


def test_a_column_without_a_value_is_not_shown():
    """A column that was not requested takes no space; the first column names the rows and stays."""
    table = Table(("node", "takes", "free"), [("", "", 1404), ("b", None, 7)])
    assert as_text([table]).splitlines() == ["node   free", "      1,404", "b         7"]


def test_a_list_says_what_is_the_matter_and_then_what_to_do():
    """The word that a line begins with, the advice and the code are told apart in HTML."""
    part = Lines("Findings", [Item("It is stale.", "Read it again.", "warning", ["gpu: true"])])
    assert as_text([part]) == "Findings\n  - warning: It is stale. Read it again.\n      gpu: true"
    assert '<span class="advice">Read it again.</span><pre>gpu: true</pre>' in as_html([part])


def test_the_headings_of_a_page_are_headings():
    """In a notebook they are paragraphs, so that they are no part of its table of contents."""
    parts = [Sentence("It fits."), Lines("Nodes", ["n1"])]
    assert as_html(parts, page=True).count("<h1>It fits.</h1><h2>Nodes</h2>") == 1
    assert "<h" not in as_html(parts)


def test_a_picture_is_markup_in_html_and_words_in_text():
    """It was escaped where it was made."""
    part = Table(("bar",), [(Picture("<i></i>", "half"),)])
    assert "<i></i>" in as_html([part])
    assert as_text([part]) == "bar\nhalf"


def test_printable_text_stays_as_it_is():
    """Nearly all text is printable; what is not is replaced sign by sign."""
    assert printable("GPU ×2 – ü") == "GPU ×2 – ü"
    assert printable("a\tb\x07") == "a b\ufffd"
