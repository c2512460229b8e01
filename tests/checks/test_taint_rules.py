"""Taint rules of a cluster, and a release whose kube-scheduler does not look at them."""

from __future__ import annotations

import dataclasses

import pytest
from checked_plans import checked_fleet, checked_plan

from dra_lab import KubernetesRelease, Workload
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster


def rules(plan):
    """The rules of what a plan says beside its answer."""
    return [finding.rule for finding in plan.findings]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (KubernetesRelease("1.36"), True),
        (KubernetesRelease("1.37"), False),
        (KubernetesRelease("1.36", gates={"DRADeviceTaintRules": True}), False),
    ],
)
def test_rules_that_are_left_out_are_reported(release, expected):
    """The plan of a claim and of a fleet has the finding; with the gate on, the rules count and it has none."""
    taint = DeviceTaint(key="broken", effect="NoSchedule")
    spec = DeviceTaintRuleSpec(taint=taint, device_selector=DeviceTaintSelector(driver="gpu.nvidia.com"))
    rule = DeviceTaintRule(metadata=ObjectMeta(name="r"), spec=spec)
    cluster = dataclasses.replace(load_cluster("sample:two-sockets"), taint_rules=(rule,))
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    plan = checked_plan(cluster, sketch, release=release)
    fleet = checked_fleet(cluster, [Workload("w", (sketch,), replicas=1)], release=release, first_fit=False)
    assert ("taint-rules-ignored" in rules(plan), "taint-rules-ignored" in rules(fleet)) == (expected, expected)
    assert "taint-rules-ignored" not in rules(checked_plan(load_cluster("sample:two-sockets"), sketch, release=release))
