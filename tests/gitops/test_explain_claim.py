"""What `explain` says of a claim: its plan, the tests of a node's devices, and kube-scheduler's search for a device."""

from __future__ import annotations

import pytest

from dra_lab import Workload, explain, frame, load_cluster, make_plan, read_sketch
from dra_lab.errors import InputError

CLUSTER = load_cluster("sample:eks-p4d")
PAIRS, FIVE = read_sketch("sample:eks-p4d/gpu-nic-pairs"), read_sketch("sample:eks-p4d/five-pairs")


def test_a_claim_that_fits_nowhere_has_its_plan_and_the_test_that_fails():
    found = explain(CLUSTER, FIVE)
    assert found.plan.shortfalls == make_plan(CLUSTER, FIVE).shortfalls
    rows = frame(found)
    assert {(row.request, row.left, row.of) for row in rows.itertuples() if row[-1]} == {("nic", 4, 15)}


def test_a_node_that_serves_a_claim_has_its_tests_too():
    node = CLUSTER.node_names[-1]
    found = explain(CLUSTER, PAIRS, node=node)
    assert (found.tests.node, found.tests.fits) == (node, found.plan.fits)


def test_a_device_is_explained_by_kube_schedulers_search():
    found = explain(CLUSTER, Workload("pairs", PAIRS, replicas=9), device="gpu-3")
    assert (found.device.device, found.tests) == ("gpu-3", None)
    assert "kube-scheduler allocates it first and gives it back" in str(found)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"device": "gpu-99"}, "there is no device 'gpu-99' on"),
        ({"pod": "a"}, "a claim or workload is explained alone"),
        ({"queue": "train", "node": "n"}, "a gang is explained in all domains"),
    ],
)
def test_a_question_that_cannot_be_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        explain(CLUSTER, PAIRS, **more)
