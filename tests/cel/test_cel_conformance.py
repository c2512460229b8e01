"""The recorded verdicts of Kubernetes 1.36.2 on 2,500 selectors (`tests/conformance/cel.ndjson.gz`)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest

from dra_lab.cel.selector import compile_selector
from dra_lab.errors import CelCompileError, CelRuntimeError
from dra_lab.model.device import Device

CASES = Path(__file__).parents[1] / "conformance" / "cel.ndjson.gz"


@pytest.fixture(scope="module")
def cases():
    with gzip.open(CASES, "rt") as lines:
        return [json.loads(line) for line in lines]


def answer(case):
    """Return (result, kind of error) of one case."""
    published = dict(case["device"])
    driver = published.pop("driver")
    device = msgspec.convert({"name": "device", **published}, Device)
    try:
        return compile_selector(case["expression"]).matches(driver, device), ""
    except CelCompileError:
        return None, "compile"
    except CelRuntimeError:
        return None, "runtime"


def test_every_recorded_result_and_kind_of_error_agrees(cases):
    """A selector means what it means to Kubernetes: the same result, or the same kind of error."""
    wrong = [
        (case["id"], case["expression"], answer(case))
        for case in cases
        if answer(case) != (case["expect"]["result"], case["expect"]["errorKind"])
    ]
    assert not wrong
    assert len(cases) == 2500


def test_every_recorded_estimate_of_the_cost_agrees(cases):
    """The estimate is Kubernetes' own, so a selector that we call too costly is one that the API server refuses."""
    compiled = [case for case in cases if case["expect"]["maxCost"] is not None]
    wrong = [
        (case["expression"], found, case["expect"]["maxCost"])
        for case in compiled
        if (found := compile_selector(case["expression"]).max_cost) != case["expect"]["maxCost"]
    ]
    assert not wrong
