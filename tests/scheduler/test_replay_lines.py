"""Replaying recorded cases line by line."""

from __future__ import annotations

import json

import pytest

from dra_lab.errors import InputError, ManifestError
from dra_lab.scheduler.replay import replay_lines

EMPTY = {
    "id": "empty-1",
    "slices": [],
    "classes": [],
    "claims": [{"metadata": {"name": "c"}}],
    "nodes": [{"metadata": {"name": "n1"}}],
}


def test_every_line_is_answered_in_order():
    """A claim without requests is allocated with nothing, on any node (dra-semantics 8, case 4)."""
    lines = [json.dumps({**EMPTY, "id": name}) for name in ("a", "b")]
    answers = list(replay_lines([lines[0], "", lines[1]]))
    assert [answer["id"] for answer in answers] == ["a", "b"]
    assert answers[0]["results"]["n1"] == {"allocation": [{"devices": {}}], "error": ""}


@pytest.mark.parametrize("line", ["{", "[]", '{"slices": 1}', '{"id": "a", "features": {"x": "y"}}'])
def test_a_broken_line_is_refused_with_its_reason(line):
    """Broken JSON and documents of another form raise our own error."""
    with pytest.raises(ManifestError):
        list(replay_lines([line]))


def test_another_kind_is_refused():
    """CEL and validation cases are replayed elsewhere."""
    with pytest.raises(InputError, match="cel"):
        list(replay_lines([], "cel"))
