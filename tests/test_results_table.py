"""The recorded speeds (`tests/benchmarks/RESULTS.md`): one table, and the rows that `make bench` writes."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.__main__ import HEAD, table, values

FOLDER = Path(__file__).parent / "benchmarks"
ROW = re.compile(r"\| \d{4}-\d\d-\d\d \| [0-9a-f]{7,8} \| \d+ cores, Python [^|]+ \| (\w+) \| [^|]+ \|")


def test_the_results_are_one_table():
    """After the heading, each line is a row with date, commit, machine, benchmark and value."""
    text = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    assert [line for line in text.removeprefix(HEAD).splitlines() if not ROW.fullmatch(line)] == []


def test_every_row_names_a_benchmark():
    """A row of a benchmark that was removed is removed too."""
    text = (FOLDER / "RESULTS.md").read_text(encoding="utf-8")
    names = {found[1] for found in ROW.finditer(text)}
    assert {name for name in names if not (FOLDER / f"bench_{name}.py").exists()} == set()


def test_an_indented_line_belongs_to_the_value_before_it():
    """Details of a measurement are in the row of the measurement."""
    assert values("first 1 s   (target 2 s)\n  of CPU 0.5 s;\nsecond 3 s\n") == [
        "first 1 s (target 2 s); of CPU 0.5 s",
        "second 3 s",
    ]


def test_what_is_written_has_the_form_that_is_read():
    """The rows that `make bench` writes have the form of the table."""
    rows = table({"cel": "selectors: 0.3 s", "live": "read: 14 s\n  a | b"}, 1.25).removeprefix(HEAD).splitlines()
    assert [found[1] for row in rows if (found := ROW.fullmatch(row))] == ["cel", "live"]
