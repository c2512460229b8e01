"""Recorded cases are answered line by line; a line that is not a case is reported with its place."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.replay import replay_file

EMPTY = {
    "id": "empty-1",
    "slices": [],
    "classes": [],
    "claims": [{"metadata": {"name": "c"}}],
    "nodes": [{"metadata": {"name": "n1"}}],
}


def test_every_line_is_answered_in_order(tmp_path):
    """A claim without requests is allocated with nothing, on any node (docs/semantics.md 3.12.6)."""
    lines = [json.dumps({**EMPTY, "id": name}) for name in ("a", "b")]
    (tmp_path / "cases").write_text(f"{lines[0]}\n\n{lines[1]}\n")
    answers = list(replay_file(tmp_path / "cases"))
    assert [answer["id"] for answer in answers] == ["a", "b"]
    assert answers[0]["results"]["n1"] == {"allocation": [{"devices": {}}], "error": ""}


@pytest.mark.parametrize("line", ["{", "[]", '{"slices": 1}', '{"id": "a", "features": {"x": "y"}}'])
def test_a_broken_line_is_refused_with_its_place(tmp_path, line):
    """Broken JSON and documents of another form raise our own error, which names file and line."""
    (tmp_path / "cases").write_text(f"\n{line}\n")
    with pytest.raises(InputError, match="cases:2"):
        list(replay_file(tmp_path / "cases"))


def test_a_file_without_cases_is_noted(tmp_path, capsys):
    """Silence would look like an answer to every case."""
    (tmp_path / "empty.ndjson").touch()
    assert main(["replay", str(tmp_path / "empty.ndjson")]) == 0
    assert "has no case" in capsys.readouterr().err
