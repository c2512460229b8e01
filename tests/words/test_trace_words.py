"""The words, the document and the table of a trace."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan

from dra_lab import load_cluster, read_sketch
from dra_lab.errors import InputError
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.trace import Check, Reason
from dra_lab.words.trace_words import reason_words

EKS = "sample:eks-p4d"


@pytest.fixture(scope="module")
def plan():
    """The plan of two pairs on the sample."""
    return checked_plan(load_cluster(EKS), read_sketch(f"{EKS}/gpu-nic-pairs"))


def test_a_plan_of_nothing_has_no_trace():
    """The message says that there is nothing to trace."""
    with pytest.raises(InputError, match="no request"):
        checked_plan(load_cluster(EKS), ClaimSketch()).trace()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason(Check.IN_USE, "claim a/b"), "in use by a/b"),
        (Reason(Check.IN_USE, "request gpu"), "request gpu already has it"),
        (Reason(Check.GATE, "DRAX"), "it needs the feature gate DRAX, which is off"),
        (Reason(Check.CONSTRAINT, "resource.kubernetes.io/pcieRoot", "10", "20"), "PCIe root is 20, must be 10"),
        (Reason(Check.CONSTRAINT, "a/b", "10", ""), "it publishes no a/b, which a constraint compares"),
        (Reason(Check.COUNTERS, "set/memory", "4", "2"), "it needs 4 of the counter set/memory, of which 2 is left"),
    ],
)
def test_a_failed_test_is_named_with_its_values(reason, words):
    """The words have what was expected and what was found."""
    assert reason_words(reason) == words
