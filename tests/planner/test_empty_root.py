"""A PCIe root that is published as an empty text: equal to itself for a claim, and never told as a known place."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import pytest
from checked_plans import checked_plan
from small_nodes import a_slice, cluster, gpu, nic
from small_plans import request

from dra_lab import ClaimSketch, How, KubernetesRelease, Link
from dra_lab.model.claims import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector, ResourceClaim
from dra_lab.model.device import DeviceAttribute
from dra_lab.model.nodes import ObjectMeta
from dra_lab.sketch.read_back import sketch_of

CASES = Path(__file__).parents[1] / "conformance" / "allocation.ndjson.gz"
EMPTY = tuple(f"odd-open-2-{number}" for number in (12, 220, 524, 604, 956, 1452, 1676, 1788, 1884))
RELEASE = KubernetesRelease("1.36")
ROOT = "resource.kubernetes.io/pcieRoot"


def rootless(published):
    return msgspec.structs.replace(published, attributes={**published.attributes, ROOT: DeviceAttribute(string="")})


def node():
    classes = tuple(
        DeviceClass(
            metadata=ObjectMeta(name=driver),
            spec=DeviceClassSpec(selectors=(DeviceSelector(CELDeviceSelector(f'device.driver == "{driver}"')),)),
        )
        for driver in ("gpu.nvidia.com", "dra.net")
    )
    slices = (a_slice("gpu.nvidia.com", rootless(gpu(0))), a_slice("dra.net", rootless(nic("a"))))
    return cluster(*slices, classes=classes)


def pair(**link) -> ClaimSketch:
    requests = (request("gpu", "gpu.nvidia.com"), request("nic", "dra.net"))
    return ClaimSketch(requests=requests, links=(Link("pair", ("gpu", "nic"), **link),))


@pytest.mark.parametrize("name", EMPTY)
def test_claims_read_back_mean_what_kube_scheduler_means(name):
    """A recorded claim fits where kube-scheduler allocated it, also as the drawing that people see."""
    with gzip.open(CASES) as lines:
        case = next(json.loads(line) for line in lines if line[7 : line.index(b'"', 7)].decode() == name)
    from dra_lab.scheduler.replay_allocator import read_case

    read = read_case(case)
    (claim,) = msgspec.convert(case["claims"], tuple[ResourceClaim, ...])
    for node_name, expected in case["expect"].items():
        plan = checked_plan(read.cluster, sketch_of(claim.spec, "recorded"), release=RELEASE, node=node_name)
        assert expected["error"] or plan.fits == (expected["allocation"] is not None), plan.shortfalls


def test_a_demand_is_met_and_the_root_reported_as_not_known():
    """One root is demanded: two empty texts meet the demand, with a warning, and the goals count unknown devices."""
    plan = checked_plan(node(), pair(), release=RELEASE)
    assert plan.fits
    assert {goal.goal: goal.unknown for goal in plan.goals}["roots"] == 2
    assert "root-not-known" in {finding.rule for finding in plan.findings}


@pytest.mark.parametrize("link", [{"must": False}, {"how": How.PAIRWISE}])
def test_nothing_else_takes_it_for_a_place(link):
    """A preference is not kept by empty texts, and pairs are not formed of them."""
    plan = checked_plan(node(), pair(**link), release=RELEASE)
    assert not plan.fits if link.get("how") else plan.goal("preferences").value == 1
