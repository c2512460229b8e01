"""The audit: claims that would not be granted again, each reason by itself, with the device and what to do next."""

from __future__ import annotations

import pytest
from small_holders import a_claim, held_by, result
from small_nodes import ROOT, a_slice, cluster, device
from small_plans import GPU

from dra_lab import check
from dra_lab.checks.in_use_audit import MAX_FINDINGS, audit_claims
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceSelector,
    DeviceToleration,
)
from dra_lab.model.device import DeviceCapacity, DeviceTaint
from dra_lab.model.nodes import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeStatus,
    NodeSystemInfo,
    ObjectMeta,
)
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector


def selectors(*texts: str) -> tuple[DeviceSelector, ...]:
    return tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in texts)


def a_class(expression: str = "true", name: str = "gpu") -> DeviceClass:
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(selectors=selectors(expression)))


def reasons(found) -> list[str]:
    """The rules of a cluster's audit; every row says why and what next."""
    rows = audit_claims(found)
    assert all(row.why and row.advice.endswith((".", "has().")) and row.claim for row in rows)
    return [row.rule for row in rows]


def test_a_claim_whose_devices_are_as_they_were_is_not_in_the_audit():
    assert reasons(held_by(a_claim(result()), classes=(a_class(),))) == []


def test_what_is_gone_is_reported_by_what_is_gone():
    """A device of a pool that is there, and a pool as a whole."""
    assert reasons(held_by(a_claim(result("gpu-7")))) == ["device-vanished"]
    assert reasons(held_by(a_claim(result(pool="n9")))) == ["pool-vanished"]


def test_an_old_generation_does_not_count_as_published():
    """Only the newest generation of a pool is used."""
    old, new = a_slice(GPU, device("gpu-0")), a_slice(GPU, device("gpu-1"), generation=2)
    assert reasons(cluster(old, new, claims=(a_claim(result()),))) == ["device-vanished"]


def test_a_pool_that_kube_scheduler_skips_is_reported():
    """Its devices are published, and kube-scheduler allocates none of them."""
    assert reasons(cluster(a_slice(GPU, device("gpu-0"), count=2), claims=(a_claim(result()),))) == ["pool-unusable"]


@pytest.mark.parametrize(("name", "expected"), [("n1", []), ("n9", ["node-vanished"])])
def test_a_node_that_is_gone_is_reported(name, expected):
    """The allocation's node selector fits no node any more."""
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(field,)),))
    nodes = (Node(metadata=ObjectMeta(name="n1")),)
    assert reasons(held_by(a_claim(result(), node_selector=selector), nodes=nodes)) == expected


TAINT = DeviceTaint(key="broken", value="yes", effect="NoExecute")
RULE = DeviceTaintRule(
    metadata=ObjectMeta(name="rule"),
    spec=DeviceTaintRuleSpec(taint=TAINT, device_selector=DeviceTaintSelector(pool="n1", device="gpu-0")),
)


def nodes_of(release: str) -> tuple[Node, ...]:
    """The node of the device, with a kubelet of a release."""
    info = NodeSystemInfo(kubelet_version=f"v{release}.0")
    return (Node(metadata=ObjectMeta(name="n1"), status=NodeStatus(node_info=info)),)


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (None, ["taint-not-tolerated"]),
        (DeviceToleration(key="other", operator="Exists"), ["taint-not-tolerated"]),
        (DeviceToleration(key="broken", value="no"), ["taint-not-tolerated"]),
        (DeviceToleration(key="broken", value="yes"), []),
        (DeviceToleration(key="broken", operator="Exists", effect="NoExecute"), []),
        (DeviceToleration(operator="Exists"), []),
    ],
)
def test_a_new_taint_counts_unless_the_request_tolerates_it(toleration, expected):
    claim = a_claim(result(), tolerations=(toleration,) if toleration else ())
    assert reasons(cluster(a_slice(GPU, device("gpu-0", taints=(TAINT,))), claims=(claim,))) == expected
    assert reasons(held_by(claim, taint_rules=(RULE,), nodes=nodes_of("1.37"))) == expected


@pytest.mark.parametrize(
    ("release", "taints", "rules", "expected"),
    [
        ("1.35", (TAINT,), (), []),
        ("1.36", (TAINT,), (), ["taint-not-tolerated"]),
        ("1.36", (), (RULE,), []),
        ("1.37", (), (RULE,), ["taint-not-tolerated"]),
    ],
)
def test_taints_count_as_in_the_clusters_release(release, taints, rules, expected):
    """Where kube-scheduler does not look at taints, or at rules that taint, the claim would be granted again."""
    parts = a_slice(GPU, device("gpu-0", taints=taints))
    found = cluster(parts, claims=(a_claim(result()),), taint_rules=rules, nodes=nodes_of(release))
    assert reasons(found) == expected


def test_a_cluster_that_was_upgraded_is_audited_anew():
    """Earlier findings about its claims are not kept."""
    before = held_by(a_claim(result()), taint_rules=(RULE,), nodes=nodes_of("1.36"))
    assert reasons(before) == []
    assert reasons(before.with_objects(nodes=nodes_of("1.37"))) == ["taint-not-tolerated"]


@pytest.mark.parametrize(
    ("device_class", "own", "expected"),
    [
        (a_class(), (), []),
        (a_class(name="other"), (), ["class-missing"]),
        (a_class("device.driver == 'other'"), (), ["class-no-longer-selects"]),
        (a_class(), ("device.driver == 'other'",), ["request-no-longer-selects"]),
        (a_class(), (f"device.attributes['{GPU}'].gone == 1",), ["selector-fails"]),
        (a_class("no CEL"), (), ["selector-fails"]),
    ],
)
def test_classes_and_selectors_are_asked_again(device_class, own, expected):
    """The finding names why a device is no longer selected: class gone, class changed, device changed, failing."""
    claim = a_claim(result(), selectors=selectors(*own))
    assert reasons(held_by(claim, classes=(device_class,))) == expected


def test_classes_that_were_not_read_say_nothing():
    """Without any class in what was read, none is called missing."""
    assert reasons(held_by(a_claim(result()))) == []


MEMORY = {"memory": DeviceCapacity(value="40Gi")}


def test_capacity_that_is_too_small_is_reported():
    """Asked of a whole device, or taken by shares of it."""
    asked = a_claim(result(), capacity=CapacityRequirements(requests={"memory": "80Gi"}))
    assert reasons(cluster(a_slice(GPU, device("gpu-0", capacity=MEMORY)), claims=(asked,))) == ["capacity-too-small"]
    assert reasons(held_by(asked)) == ["capacity-too-small"]
    shares = tuple(
        a_claim(result(share_id=f"s{n}", consumed_capacity={"memory": "30Gi"}), name=f"c{n}") for n in range(2)
    )
    shared = device("gpu-0", capacity=MEMORY, allow_multiple_allocations=True)
    assert reasons(cluster(a_slice(GPU, shared), claims=shares)) == ["capacity-too-small"] * 2
    assert reasons(cluster(a_slice(GPU, shared), claims=shares[:1])) == []


def test_a_device_that_two_claims_hold_is_reported_of_both():
    """One of the two allocations is an error."""
    claims = (a_claim(result(), name="c0"), a_claim(result(), name="c1"))
    assert reasons(held_by(*claims)) == ["device-held-twice"] * 2
    share = a_claim(result(share_id="s"), name="c2")
    shared = device("gpu-0", allow_multiple_allocations=True)
    assert reasons(cluster(a_slice(GPU, shared), claims=(claims[0], share))) == ["device-held-twice"] * 2


def test_a_share_of_a_device_that_is_not_shared_any_more_is_reported():
    assert reasons(held_by(a_claim(result(share_id="s")))) == ["device-not-shared"]


@pytest.mark.parametrize(
    ("kind", "roots", "expected"),
    [
        ("match_attribute", ("a", "a"), []),
        ("match_attribute", ("a", "b"), ["constraint-broken"]),
        ("match_attribute", ("a", None), ["constraint-broken"]),
        ("distinct_attribute", ("a", "b"), []),
        ("distinct_attribute", ("a", "a"), ["constraint-broken"]),
    ],
)
def test_constraints_are_held_against_what_is_published_now(kind, roots, expected):
    """Devices that moved apart, or lost the attribute."""
    devices = (device(f"gpu-{n}", {ROOT: root} if root else {}) for n, root in enumerate(roots))
    constraint = DeviceConstraint(requests=("r",), **{kind: ROOT})
    claim = a_claim(result(), result("gpu-1"), constraints=(constraint,))
    assert reasons(cluster(a_slice(GPU, *devices), claims=(claim,))) == expected


def test_admin_access_shares_its_device_with_everybody():
    watching = a_claim(result(admin_access=True), name="monitor", admin_access=True)
    assert reasons(held_by(a_claim(result()), watching)) == []


def test_many_claims_of_a_rule_are_counted_in_the_findings():
    """The table has all of them, the findings the first ones and a count."""
    claims = tuple(a_claim(result("gpu-7"), name=f"c{n}", pods=("p",)) for n in range(MAX_FINDINGS + 5))
    found = held_by(*claims)
    vanished = [finding for finding in check(found) if finding.rule == "device-vanished"]
    assert (len(vanished), len(audit_claims(found))) == (MAX_FINDINGS + 1, MAX_FINDINGS + 5)
    assert vanished[-1].message.startswith("5 more claims")
