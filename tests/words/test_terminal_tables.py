"""Documents on a terminal: colour and width, and nothing that is cut."""

from __future__ import annotations

import re
from io import StringIO

import pytest

from dra_lab.findings import Finding, Severity
from dra_lab.words.document import Item, Lines, Sentence, Table, Words
from dra_lab.words.terminal import print_findings, print_terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
LONG = "Fits on 3 of 4 nodes now. Best on a node with a name that is longer than most terminals are wide."
PARTS = (
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
        """Return True."""
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
        print_terminal(PARTS, stream, outcome)
        return stream.getvalue()

    return printed


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_lines_are_no_wider_than_the_terminal(width, shown):
    """COLUMNS, or the terminal itself, says how wide a line is."""
    assert max(len(ESCAPE.sub("", line).rstrip()) for line in shown(width).splitlines()) <= width


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_a_figure_is_never_cut_or_wrapped(width, shown):
    """Words wrap, and a figure stays whole in one line at any width."""
    lines = ESCAPE.sub("", shown(width)).splitlines()
    assert (sum("1,234,567" in line for line in lines), sum("0.45" in line for line in lines)) == (2, 2)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_character_is_left_out(width, shown):
    """A name that is wider than its column goes on in the next line."""
    letters = "".join(ESCAPE.sub("", shown(width)).split())
    assert "".join(LONG.split()) in letters
    assert "…" not in letters


def test_the_outcome_colours_the_first_sentence_alone(shown):
    """Green for what fits, red for what does not."""
    green, red = shown(200, "fits").splitlines()[0], shown(200, "does-not-fit").splitlines()[0]
    assert green.startswith("\x1b[1;32mFits on 3 of 4 nodes now.\x1b[0m Best on")
    assert red.startswith("\x1b[1;31mFits on")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_colour_can_be_turned_off(variables, shown):
    """No escape of a colour is written where none is wanted."""
    assert re.findall(r"\x1b\[[0-9;]*3[0-9]m", shown(80, "fits", **variables)) == []


def test_a_name_cannot_steer_the_terminal():
    """A name from a cluster is plain text."""
    stream = Terminal()
    print_terminal([Sentence("a\x1b[2Jb\u202ec"), Words("[red]x[/red] :smile:")], stream)
    text = ESCAPE.sub("", stream.getvalue())
    assert ("\x1b" in text, "\u202e" in text, "[red]x[/red] :smile:" in text) == (False, False, True)


def test_a_finding_begins_with_its_severity():
    """The word is coloured, and the text is that of a plain line."""
    stream, finding = Terminal(), Finding("rule", Severity.WARNING, "gpu", "is [tainted]", "Do this.")
    print_findings([str(finding)], stream)
    assert ESCAPE.sub("", stream.getvalue()) == f"{finding}\n"
