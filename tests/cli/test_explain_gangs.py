"""`dra-lab explain --gang`: what schedulers do with a gang."""

from __future__ import annotations

import pytest

from dra_lab.cli import main

POD = "sample:h100-pod"
GANG = ["explain", POD, "--claim", f"{POD}/eight-pairs", "--gang", "3", "--level", "leaf switch"]


def refusal(capsys, *arguments: str) -> str:
    """Return the error of a command that ends with status 2."""
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([*GANG, "--node", "h100-01"], "--node is for one pod"),
        ([*GANG, "--step"], "--step is for one pod"),
        ([*GANG[:4], "--scheduler", "kueue"], "write --gang SIZE after --claim"),
        ([*GANG[:4], "--replicas", "2"], "write --gang SIZE after --claim"),
        ([*GANG, "--claim", f"{POD}/eight-pairs"], "one --claim is explained at a time"),
    ],
)
def test_options_that_have_no_meaning_are_refused(more, expected, capsys):
    """The message says what to write instead."""
    assert expected in refusal(capsys, *more)
