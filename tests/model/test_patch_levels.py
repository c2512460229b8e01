"""Releases by patch level: which rules a version has, and which version a cluster has."""

import re
from dataclasses import replace

import pytest
from msgspec import structs

from dra_lab import KubernetesRelease, load_cluster, make_plan, read_sketch
from dra_lab.errors import InputError
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_lab.sources.snapshots import make_snapshot, write_snapshot

VERSIONS = {
    "1.34": "1.34",
    "1.35.7": "1.35",
    "1.36": "1.36.3",
    "1.36.0": "1.36.2",
    "1.36.2": "1.36.2",
    "1.36.5": "1.36.3",
    "v1.36.5-eks-1": "1.36.3",
    "v1.36.2+k3s1": "1.36.2",
    "1.37": "1.37.1",
    "1.37.0": "1.37.0",
    "1.37.0-rc.0": "1.37.0",
    "1.37.12": "1.37.1",
    "1.38": "1.38",
    "v1.38.0-alpha.2": "1.38",
    "1.38.1": "1.38",
}


@pytest.mark.parametrize(("version", "rules"), VERSIONS.items())
def test_a_version_has_the_rules_of_the_last_level_that_is_known(version, rules):
    release = KubernetesRelease(version)
    assert (release.version, release) == (rules, KubernetesRelease(rules))


@pytest.mark.parametrize("version", ["", "1", "1.33", "1.39", "2.36", "1.36.x", "1.3", "1.37.", "latest"])
def test_an_unknown_version_is_refused(version):
    with pytest.raises(InputError, match=r"not known; use one of 1\.34, 1\.35, 1\.36, 1\.37, 1\.38 \(alpha\)"):
        KubernetesRelease(version)


def test_gates_follow_the_release_unless_overridden():
    """DRAConsumableCapacity is off before 1.36, on from 1.36, and an override wins."""
    assert not KubernetesRelease("1.35").enabled("DRAConsumableCapacity")
    assert KubernetesRelease("1.36").enabled("DRAConsumableCapacity")
    assert not KubernetesRelease("1.37", {"DRAConsumableCapacity": False}).enabled("DRAConsumableCapacity")


def test_an_unknown_gate_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"known|use one of"):
        KubernetesRelease("1.36", {"X": True})


REFUSED = [
    ("DRADeviceTaints", False, "Kubernetes 1.38 (alpha) locks the feature gate DRADeviceTaints to true"),
    ("DRADeviceTaintRules", False, "Kubernetes 1.38 (alpha) locks the feature gate DRADeviceTaintRules to true"),
    ("DynamicResourceAllocation", True, "Kubernetes 1.38 (alpha) no longer has the feature gate"),
]


@pytest.mark.parametrize(("gate", "on", "message"), REFUSED)
def test_1_38_refuses_gates_that_1_37_takes(gate, on, message):
    """A locked gate cannot be turned off, and kube-scheduler does not start with one that is gone."""
    assert KubernetesRelease("1.37", {gate: on}).enabled(gate) == on
    with pytest.raises(InputError, match=re.escape(message)):
        KubernetesRelease("1.38", {gate: on})


def test_what_a_gate_was_for_stays_on_when_it_is_gone():
    assert KubernetesRelease("1.38").enabled("DynamicResourceAllocation")
    assert KubernetesRelease("1.38", {"DRADeviceTaints": True}).enabled("DRADeviceTaintRules")


GATES_SINCE = {
    "OpportunisticBatching": ("1.34", "1.35", True),
    "DRADeviceAttributesDownwardAPI": ("1.35", "1.37", True),
    "SchedulerPreQueueingHints": ("1.36", "1.37", False),
    "CompositePodGroup": ("1.36", "1.37", False),
    "PodGroupPreemptionPolicy": ("1.36", "1.37", False),
}


@pytest.mark.parametrize("gate", GATES_SINCE)
def test_a_gate_is_known_from_its_release_on(gate):
    before, since, on = GATES_SINCE[gate]
    with pytest.raises(InputError, match=f"has no feature gate {gate}"):
        KubernetesRelease(before, {gate: True})
    assert KubernetesRelease(since).enabled(gate) == on
    assert KubernetesRelease(since, {gate: not on}).enabled(gate) != on


CLUSTERS = [
    ("", ["v1.36.2", "v1.36.4"], "1.36.2"),
    ("", ["v1.37.1", "v1.36.9"], "1.36.3"),
    ("", ["v1.31.4"], "1.34"),
    ("", ["v1.37.0", "v1.35.2"], "1.35"),
    ("", ["v1.39.0"], "1.38"),
    ("", ["v1.38.0-alpha.2"], "1.38"),
    ("", ["unknown"], "1.36.3"),
    ("v1.37.0", ["v1.36.2"], "1.37.0"),
    ("v1.36.3", ["v1.36.2"], "1.36.3"),
]


def with_versions(server, kubelets):
    cluster = load_cluster("sample:two-sockets")
    node = cluster.nodes[0]

    def at(number, version):
        info = structs.replace(node.status.node_info, kubelet_version=version)
        metadata = structs.replace(node.metadata, name=f"n{number}")
        return structs.replace(node, metadata=metadata, status=structs.replace(node.status, node_info=info))

    return replace(cluster, nodes=tuple(map(at, range(len(kubelets)), kubelets)), server_version=server)


@pytest.mark.parametrize(("server", "kubelets", "expected"), CLUSTERS)
def test_the_version_of_the_api_server_decides_then_the_lowest_kubelet(server, kubelets, expected):
    assert with_versions(server, kubelets).default_release == expected


def test_a_snapshot_keeps_the_version_of_the_api_server(tmp_path):
    write_snapshot(make_snapshot(with_versions("v1.37.0", ["v1.36.2"])), tmp_path / "c")
    assert load_cluster(tmp_path / "c").default_release == "1.37.0"


@pytest.mark.parametrize(("release", "tainted"), [("1.36", False), ("1.37.0", True), ("1.37.1", False)])
@pytest.mark.parametrize("selector", [None, DeviceTaintSelector()], ids=["no selector", "an empty selector"])
def test_a_taint_rule_without_a_selector_selects_nothing_from_1_37_1(release, tainted, selector):
    spec = DeviceTaintRuleSpec(device_selector=selector, taint=DeviceTaint(key="k", effect="NoSchedule"))
    rule = DeviceTaintRule(metadata=ObjectMeta(name="r"), spec=spec)
    cluster = replace(load_cluster("sample:two-sockets"), taint_rules=(rule,))
    plan = make_plan(cluster, read_sketch("sample:two-sockets/lesson"), release=release)
    assert plan.fits != (tainted or (selector is not None and release == "1.37.1"))
