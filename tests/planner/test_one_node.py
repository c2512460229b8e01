"""Why one node or device does not serve a claim, also where others do."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan

from dra_lab.model.names import DeviceID
from dra_lab.planner.why.why_not import why_not
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.words.drawing_words import nouns
from dra_lab.words.why_not_document import bars, device_lines, link_bars, node_sentence

FULL = "ip-192-168-158-9.ec2.internal"
FREE = "ip-192-168-140-52.ec2.internal"


@pytest.fixture(scope="module")
def cluster():
    return load_cluster("sample:eks-p4d")


@pytest.fixture(scope="module")
def sketch():
    return read_sketch("sample:eks-p4d/gpu-nic-pairs")


def test_a_full_node_says_who_uses_its_devices_though_others_serve_the_claim(cluster, sketch):
    """Published, matching, free: the test that leaves too few is marked, with the claims that hold the devices."""
    found = why_not(cluster, sketch, FULL)
    gpu = bars(found, nouns(sketch, cluster))[0]
    assert [(bar.label, bar.count, bar.short) for bar in gpu.bars] == [
        ("on the node", 15, False),
        ("of the class", 8, False),
        ("free", 0, True),
    ]
    assert gpu.bars[-1].note == "training/llm-70b-0-devices-2ddgn uses 8"
    assert node_sentence(found, None, "158-9") == "158-9 cannot serve this claim."


def test_every_node_is_answered_as_the_plan_decides_it(cluster, sketch):
    """A node fits here exactly if the plan says that it does."""
    plan = checked_plan(cluster, sketch)
    fits = {name for name in cluster.node_names if why_not(cluster, sketch, name).fits}
    assert fits == set(plan.fitting_nodes)


def test_a_node_that_serves_the_claim_says_so(cluster, sketch):
    """Nothing is marked as too few."""
    found = why_not(cluster, sketch, FREE)
    assert node_sentence(found, None, "140-52") == "Nothing blocks this claim on 140-52."
    assert not any(bar.short for row in bars(found, {}) for bar in row.bars)


def test_a_link_that_is_in_the_way_has_a_bar(cluster):
    """Four pairs are the most that a node has."""
    five = read_sketch("sample:eks-p4d/five-pairs")
    (bar,) = link_bars(why_not(cluster, five, FREE), five)
    assert (bar.label, bar.count, bar.of, bar.short) == ("pairs on the same PCIe root", 4, 5, True)


def test_a_device_names_the_first_test_that_it_fails_with_values(cluster, sketch):
    """In use by whom; a false selector with the value that the device publishes."""
    found = why_not(cluster, sketch, FULL)
    plain = next(d for d, tests in found.devices.items() if tests[1].test == "selector")
    assert "(rdma is False)" in next(device_lines(found, plain, None))
    gpu = DeviceID("gpu.nvidia.com", FULL, "gpu-0")
    assert list(device_lines(found, gpu, None)) == ["gpu: in use by training/llm-70b-0-devices-2ddgn."]


def test_a_chosen_device_says_for_what(cluster, sketch):
    """The plan is on the same node."""
    plan = checked_plan(cluster, sketch)
    device, request = next(iter(plan.chosen().items()))
    assert list(device_lines(why_not(cluster, sketch, plan.node), device, plan)) == [
        f"{request}: chosen for this request."
    ]
