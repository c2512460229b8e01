"""A request for all devices that kube-scheduler gives up at keeps the pod off a node, whichever alternative it is."""

from __future__ import annotations

import pytest
from random_devices import GPU, selector
from sharing_nodes import ask, node, planned
from small_nodes import a_slice, gpu

from dra_lab.model.claims import ALL, DeviceRequest, DeviceSubRequest
from dra_lab.model.placement import FirstFitStatus

FAILS = "device.attributes['gpu.nvidia.com'].nothing == 1"


def one_or_all(*texts: str) -> DeviceRequest:
    """Ask for one GPU, or else for all that some selectors choose."""
    one = DeviceSubRequest(name="one", device_class_name=GPU, count=1)
    every = DeviceSubRequest(
        name="every", device_class_name=GPU, allocation_mode=ALL, selectors=tuple(map(selector, texts))
    )
    return DeviceRequest(name="r", first_available=(one, every))


def test_a_pool_that_is_not_whole_keeps_the_pod_away():
    """The devices of all are listed before any search: the alternative before it is never tried.

    Rule: docs/semantics.md 3.4.7.
    """
    slices = [a_slice(GPU, gpu(0), node=name) for name in ("n1", "n2")]
    cluster = node(*slices, a_slice("other.example", gpu(0), count=2))
    plan = planned(cluster, one_or_all())
    assert plan.fitting_nodes == ("n2",)
    assert plan.first_fit.status is FirstFitStatus.ALLOCATED
    (reason,) = planned(cluster, one_or_all(), node="n1").shortfalls
    assert "pool other.example/n1 is not complete" in reason.message


def test_only_the_request_for_all_is_named():
    """The other requests could be served, so they are not named, and no correction lowers the count of all."""
    cluster = node(a_slice(GPU, gpu(0), gpu(1)), a_slice("other.example", gpu(0), count=2))
    (reason,) = planned(cluster, ask("x"), one_or_all()).shortfalls
    assert reason.subject == "r/every"
    assert "instead of all" in reason.advice


def test_a_selector_that_fails_keeps_the_pod_away():
    """It is evaluated on every device when the list is made (docs/semantics.md 3.4.8)."""
    assert not planned(node(a_slice(GPU, gpu(0))), one_or_all(FAILS)).fits


@pytest.mark.parametrize("texts", [(), ("device.driver == 'x'",)])
def test_whole_pools_leave_the_alternatives_alone(texts):
    """That all are none, or can be had, stops no other alternative."""
    plan = planned(node(a_slice(GPU, gpu(0), gpu(1))), one_or_all(*texts))
    assert [placement.request for placement in plan.placements] == ["r/one"]
