"""Messages stay readable, however long the values in a file are: what is left out is counted."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.findings import MAX_TEXT, Finding, Origin, Severity, shortened
from dra_lab.model.reasons import Shortfall

LONG = "x" * 1_000_000
WORDS = "x y " * 250_000


@pytest.mark.parametrize("long", [LONG, WORDS])
@pytest.mark.parametrize(
    "said",
    [
        lambda text: str(Finding("r", Severity.ERROR, text, text, text, Origin("f", 1, text, text))),
        lambda text: str(InputError(text, origin=Origin("f", 1, text, text))),
        lambda text: Shortfall("class", "gpu", text, advice=text).message,
    ],
)
def test_a_message_with_a_long_value_is_short(said, long):
    assert len(said(long)) < 6 * MAX_TEXT
    assert "(1,000,000 characters)" in said(long)


def test_usual_messages_stay_as_they_are():
    """Names of 253 characters, the longest that Kubernetes has, are whole."""
    text = f"there is no node {'n' * 253!r}"
    assert shortened(text) == text


@pytest.mark.parametrize("command", ["plan", "check"])
def test_a_class_of_millions_of_characters_is_shortened(command, tmp_path, capsys):
    exactly = {"deviceClassName": "c" * 1_000_000, "count": 1}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "one"}}
    (tmp_path / "claim.json").write_text(json.dumps({**head, "spec": spec}))
    file = str(tmp_path / "claim.json")
    main(["plan", "sample:eks-p4d", "--claim", file] if command == "plan" else ["check", "sample:eks-p4d", file])
    output = capsys.readouterr()
    assert len(output.out) + len(output.err) < 10_000
