"""The recorded verdicts of Kubernetes 1.36.2 on 2,500 selectors (`tests/conformance/cel.ndjson.gz`)."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import pytest

from dra_lab.cel.replay_cel import replay_cel
from dra_lab.errors import InputError

CASES = Path(__file__).parents[1] / "conformance" / "cel.ndjson.gz"


@cache
def cases():
    with gzip.open(CASES, "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize("part", range(10))
def test_every_recorded_answer_agrees(part):
    """A selector means what it means to Kubernetes: the result, or the kind of error, and the estimate of its cost."""
    chosen = cases()[part::10]
    answers = [replay_cel(case) for case in chosen]
    keys = ("result", "errorKind", "maxCost")
    wrong = [
        (case["expression"], answer, case["expect"])
        for case, answer in zip(chosen, answers, strict=True)
        if [answer[key] for key in keys] != [case["expect"][key] for key in keys]
    ]
    assert (wrong, len(chosen)) == ([], 250)


def test_a_case_without_a_readable_device_is_refused_by_its_id():
    """A broken case is an input error that names it, not a wrong answer."""
    with pytest.raises(InputError, match="cel-1"):
        replay_cel({"id": "cel-1", "expression": "true", "device": {"driver": "d", "attributes": {"x": {"int": "?"}}}})
