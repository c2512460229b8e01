"""The words, the document and the table of a trace."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan

from dra_lab import load_cluster, read_sketch
from dra_lab.errors import InputError
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.trace import Check, Reason
from dra_lab.words.shown import in_html, in_words
from dra_lab.words.trace_document import trace_frame
from dra_lab.words.trace_words import reason_words

EKS = "sample:eks-p4d"


@pytest.fixture(scope="module")
def plan():
    """The plan of two pairs on the sample."""
    return checked_plan(load_cluster(EKS), read_sketch(f"{EKS}/gpu-nic-pairs"))


@pytest.mark.parametrize("links", [True, False])
def test_a_trace_ends_with_the_first_fit_of_its_plan(plan, links):
    """On the plan's node the devices and the goals' values are those that the plan has."""
    found, known = plan.trace(links=links).end, plan.first_fit if links else plan.first_fit_plain
    assert [p.device for p in found.placements] == [p.device for p in known.placements]
    assert {g.goal: g.value for g in found.goals}.items() <= {g.goal: g.value for g in known.goals}.items()


def test_a_trace_of_another_node_says_why_nothing_is_allocated(plan):
    """A node that is full gives a trace that rejects every device."""
    trace = plan.trace("ip-192-168-158-9.ec2.internal")
    assert (trace.end.status, trace.counts.allocated) == ("none", 0)


def test_a_plan_of_nothing_has_no_trace():
    """The message says that there is nothing to trace."""
    with pytest.raises(InputError, match="no request"):
        checked_plan(load_cluster(EKS), ClaimSketch()).trace()


def test_a_trace_is_shown_with_its_end_first(plan):
    """Text and HTML begin with what the search ends with."""
    trace = plan.trace(links=False)
    first = "kube-scheduler 1.36.2 without links on ip-192-168-128-17.ec2.internal allocates 4 devices in 20 steps."
    assert str(trace).splitlines()[0] == in_words(trace).splitlines()[0] == first
    assert first in in_html(trace)


def test_the_frame_has_each_row_or_each_step(plan):
    """Without a window the rows are folded; the steps of a window have a row each."""
    trace = plan.trace()
    assert len(trace_frame(trace)) == len(trace.rows)
    assert list(trace_frame(trace, 5, 9)["step"]) == [5, 6, 7, 8, 9]


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
