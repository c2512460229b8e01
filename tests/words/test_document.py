"""A document has the same parts as text, as HTML and as a DataFrame; each renderer makes text fit for its place."""

from __future__ import annotations

import re
from io import StringIO

import pytest

from dra_lab.findings import Finding, Severity
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
from dra_lab.words.terminal import print_findings, print_terminal

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
    shown = as_text([part]) + as_html([part]) + as_html([part], page=True).replace("\n", "")
    assert not {"\x1b", "\u202e"} & set(shown)
    assert "\nforged" not in shown
    assert "<img" not in as_html([part])


@pytest.mark.parametrize("part", PARTS)
def test_no_part_lets_text_become_markdown(part):
    shown = as_markdown([part])
    assert shown.count("<") == shown.count("\\<")
    assert "\nforged" not in shown


def test_a_table_is_a_table_of_markdown():
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
    assert (as_text([part]), as_html([part])) == ("", '<div class="dra-result"></div>')


def test_a_column_without_a_value_is_not_shown():
    """A column that was not requested takes no space; the first column names the rows and stays."""
    table = Table(("node", "takes", "free"), [("", "", 1404), ("b", None, 7)])
    assert as_text([table]).splitlines() == ["node   free", "      1,404", "b         7"]


def test_a_list_says_what_is_the_matter_and_then_what_to_do():
    part = Lines("Findings", [Item("It is stale.", "Read it again.", "warning", ["gpu: true"])])
    assert as_text([part]) == "Findings\n  - warning: It is stale. Read it again.\n      gpu: true"
    assert '<span class="advice">Read it again.</span><pre>gpu: true</pre>' in as_html([part])


def test_the_headings_of_a_page_are_headings():
    """In a notebook they are paragraphs, so that they are no part of its table of contents."""
    parts = [Sentence("It fits."), Lines("Nodes", ["n1"])]
    assert as_html(parts, page=True).count("<h1>It fits.</h1><h2>Nodes</h2>") == 1
    assert "<h" not in as_html(parts)


def test_a_picture_is_markup_in_html_and_words_in_text():
    part = Table(("bar",), [(Picture("<i></i>", "half"),)])
    assert "<i></i>" in as_html([part])
    assert as_text([part]) == "bar\nhalf"


def test_printable_text_stays_as_it_is():
    assert printable("GPU ×2 – ü") == "GPU ×2 – ü"
    assert printable("a\tb\x07") == "a b\ufffd"


ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
LONG = "Fits on 3 of 4 nodes now. Best on a node with a name that is longer than most terminals are wide."
PRINTED = (
    Sentence(LONG),
    Table(
        ("request", "device", "free", "share"),
        [("gpu", "gpu.nvidia.com/ip-192-168-128-17.ec2.internal/gpu-4", 1234567, "0.45 to 0.64")] * 2,
        "Devices",
    ),
    Lines("Suggestions", [Item("Ask for 4 GPUs on one NUMA node in place of 8.", mark="warning", code=["a: 1"])]),
    Words("-v shows 12 more."),
)


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch):
    """Return what is printed for parts at a width, with environment variables."""

    def printed(width: int, outcome: str = "", **variables: str) -> str:
        for name in ("NO_COLOR", "COLORTERM", "FORCE_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in ({"TERM": "xterm", "COLUMNS": str(width)} | variables).items():
            monkeypatch.setenv(name, value)
        stream = Terminal()
        print_terminal(PRINTED, stream, outcome)
        return stream.getvalue()

    return printed


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_lines_are_no_wider_than_the_terminal(width, shown):
    assert max(len(ESCAPE.sub("", line).rstrip()) for line in shown(width).splitlines()) <= width


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_figure_is_never_cut_or_wrapped(width, shown):
    lines = ESCAPE.sub("", shown(width)).splitlines()
    assert (sum("1,234,567" in line for line in lines), sum("0.45" in line for line in lines)) == (2, 2)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_character_is_left_out(width, shown):
    letters = "".join(ESCAPE.sub("", shown(width)).split())
    assert "".join(LONG.split()) in letters
    assert "…" not in letters


def test_the_outcome_colours_the_first_sentence_alone(shown):
    green, red = shown(200, "fits").splitlines()[0], shown(200, "does-not-fit").splitlines()[0]
    assert green.startswith("\x1b[1;32mFits on 3 of 4 nodes now.\x1b[0m Best on")
    assert red.startswith("\x1b[1;31mFits on")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_colour_can_be_turned_off(variables, shown):
    assert re.findall(r"\x1b\[[0-9;]*3[0-9]m", shown(80, "fits", **variables)) == []


def test_a_name_cannot_steer_the_terminal():
    stream = Terminal()
    print_terminal([Sentence("a\x1b[2Jb\u202ec"), Words("[red]x[/red] :smile:")], stream)
    text = ESCAPE.sub("", stream.getvalue())
    assert ("\x1b" in text, "\u202e" in text, "[red]x[/red] :smile:" in text) == (False, False, True)


def test_a_finding_begins_with_its_severity():
    stream, finding = Terminal(), Finding("rule", Severity.WARNING, "gpu", "is [tainted]", "Do this.")
    print_findings([str(finding)], stream)
    assert ESCAPE.sub("", stream.getvalue()) == f"{finding}\n"
