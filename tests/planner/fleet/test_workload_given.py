"""What a person may give as a workload, and what cannot be multiplied."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dra_lab import ClaimSketch, Workload, load_cluster, read_sketch
from dra_lab.errors import InputError
from dra_lab.planner.fleet import multiple, plan_fleet

ONE = ClaimSketch(name="one")


def test_one_claim_stands_for_a_tuple_of_one():
    """A drawing, its claim in a tuple, and in a list are the same pod."""
    assert Workload("a", ONE, replicas=3) == Workload("a", (ONE,), replicas=3) == Workload("a", [ONE], replicas=3)


def test_a_workload_can_be_changed_as_before():
    """`dataclasses.replace` keeps the other fields."""
    assert replace(Workload("a", ONE), replicas=5) == Workload(name="a", what=(ONE,), replicas=5)


@pytest.mark.parametrize("times", [0, -1, True, 1.5, "2"])
def test_a_claim_is_multiplied_by_a_whole_number_from_one(times):
    """A request for no device is none that the API server takes."""
    with pytest.raises(InputError, match="times must be a whole number, 1 or more"):
        multiple(ONE, times)


def test_a_request_that_a_claim_does_not_have_is_refused():
    """The message names those that it has."""
    with pytest.raises(InputError, match="no request 'gpus' to scale; requests: gpu"):
        multiple(read_sketch("sample:two-sockets/lesson"), 2, ["gpus"])


@pytest.mark.parametrize("changes", [{"replicas": -1}, {"pods": ()}])
def test_workloads_that_cannot_be_planned_are_refused(changes):
    """A message says which workload it is."""
    with pytest.raises(InputError, match="one-gpu"):
        plan_fleet(load_cluster("sample:two-sockets"), [replace(Workload("one-gpu", ONE), **changes)])


def test_two_workloads_of_one_name_are_refused():
    """Their pods could not be told apart."""
    with pytest.raises(InputError, match="twice"):
        plan_fleet(load_cluster("sample:two-sockets"), [Workload("a", ONE)] * 2)
