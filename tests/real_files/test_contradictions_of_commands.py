"""The detector of contradictions finds each sort of them, and none in answers that agree with themselves."""

from __future__ import annotations

import json

import pytest
from contradictions import of_command

CLASS = "warning: dranet.net: this DeviceClass is not in this cluster; the documented one is used and exported."
GIVES_UP = "error: a.yaml:3, Pod/a: Pod/a: a selector fails on d; kube-scheduler gives up the pod."


@pytest.mark.parametrize(
    ("command", "status", "out", "err", "said"),
    [
        ("check", 0, "Valid, and everything fits.\n", GIVES_UP, "everything fits"),
        ("check", 0, "Valid, and everything fits.\nPod/a: not checked\n", "", "everything fits"),
        ("check", 1, "Pod/a: fits\nValid, and everything fits.\n", "", "exit status is 1"),
        ("check", 0, "Pod/a: does not fit\n", "", "exit status is 0"),
        ("check", 1, f"Pod/a: fits\n{GIVES_UP}\n", "", "a workload fits, and"),
        ("check", 1, "Pod/a: fits\nPod/a: does not fit\n", "", "does not fit and fits"),
        ("check", 0, "Pod/a: fits\n  Fits 2 times, 4 wanted.\n", "", "2 times of 4"),
        ("check", 0, "3 objects: 1 valid and fitting, 1 not valid or not fitting, 0 not checked.\n", "", "add up"),
        ("check", 0, "2 objects: 1 valid and fitting, 1 not valid or not fitting, 0 not checked.\n", "", "do not fit"),
        ("plan", 1, "6 of 8 replicas placed; no more fit, proven\n2 more, proven\n", "", "no more fit"),
        ("plan", 0, "6 of 8 replicas placed\n", "", "exit status is 0"),
        ("plan", 1, "Fits on 3 of 4 nodes now.\n", "", "says 'Fits on"),
        ("plan", 0, "", "error: there is no file\n", "refused"),
        ("plan", 1, "Does not fit. 15 are published here, 0 are of class dranet.net (node a).\n", CLASS, "announced"),
        ("plan", 2, "", "Traceback (most recent call last):\n", "traceback"),
        ("plan", 1, json.dumps({"outcome": "fits"}), "", "outcome is fits"),
        (
            "check",
            0,
            json.dumps({"outcome": "fits", "findings": [{"severity": "error", "message": "gives up the pod"}]}),
            "",
            "gives up",
        ),
    ],
)
def test_statements_that_exclude_each_other_are_found(command, status, out, err, said):
    """Each pair of statements that cannot both be true is reported."""
    assert any(said in found for found in of_command(command, status, out, err, ("dra.net",)))


@pytest.mark.parametrize(
    ("command", "status", "out", "err"),
    [
        ("check", 0, "Pod/a: fits\n  Fits 8 times, 1 wanted.\n\nValid, and everything fits.\n", CLASS),
        ("check", 0, "1 object: 1 valid and fitting, 0 not valid or not fitting, 0 not checked.\n", ""),
        ("check", 1, "Pod/a: fits\nPod/b: does not fit\n1 of 2\n", "error: b.yaml: Pod/b: no node has 9 GPUs"),
        (
            "check",
            2,
            "Pod/a: not checked\n1 object: 0 valid and fitting, 0 not valid or not fitting, 1 not checked.\n",
            "",
        ),
        ("plan", 1, "Does not fit. 15 are published here, 0 are of class dranet.net (node a).\n", ""),
        ("plan", 1, "6 of 8 replicas placed; no more fit, proven\n", ""),
        ("plan", 2, "", "error: there is no file\n"),
        ("plan", 1, json.dumps({"outcome": "does-not-fit"}), ""),
    ],
)
def test_answers_that_agree_with_themselves_are_left_alone(command, status, out, err):
    """An answer whose statements can all be true is not reported."""
    assert of_command(command, status, out, err, ("dra.net",)) == []
