"""The recorded verdicts of Kubernetes 1.36.2 on 2,500 selectors (`tests/conformance/cel.ndjson.gz`)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dra_lab.cel.replay_cel import replay_cel
from dra_lab.errors import InputError

CASES = Path(__file__).parents[1] / "conformance" / "cel.ndjson.gz"


@pytest.fixture(scope="module")
def cases():
    with gzip.open(CASES, "rt") as lines:
        return [json.loads(line) for line in lines]


def test_every_recorded_result_and_kind_of_error_agrees(cases):
    """A selector means what it means to Kubernetes: the same result, or the same kind of error."""
    wrong = []
    for case in cases:
        answer = replay_cel(case)
        if (answer["result"], answer["errorKind"]) != (case["expect"]["result"], case["expect"]["errorKind"]):
            wrong.append((case["expression"], answer, case["expect"]))
    assert not wrong
    assert len(cases) == 2500


def test_every_recorded_estimate_of_the_cost_agrees(cases):
    """The estimate is Kubernetes' own, so a selector that we call too costly is one that the API server refuses."""
    wrong = [
        (case["expression"], found, case["expect"]["maxCost"])
        for case in cases
        if (found := replay_cel(case)["maxCost"]) != case["expect"]["maxCost"]
    ]
    assert not wrong


def test_a_case_without_a_readable_device_is_refused_by_its_id():
    """A broken case is an input error that names it, not a wrong answer."""
    with pytest.raises(InputError, match="cel-1"):
        replay_cel({"id": "cel-1", "expression": "true", "device": {"driver": "d", "attributes": {"x": {"int": "?"}}}})
