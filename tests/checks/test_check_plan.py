"""The referee finds the rule of DRA that a plan breaks, and nothing in the plans of sessions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checked_plans import broken_rules
from msgspec.structs import replace as changed
from small_claims import a_class, alternative, holding, one_of, request
from small_nodes import ROOT, a_slice, cluster, device
from small_plans import first_fit, with_pod

from dra_lab import (
    ClaimSketch,
    KubernetesRelease,
    Link,
    PodGroup,
    Session,
    Workload,
    load_cluster,
    read_sketch,
    samples,
)
from dra_lab.checks.plans import check_plan
from dra_lab.model.device import Counter, DeviceCapacity, DeviceCounterConsumption, DeviceTaint
from dra_lab.model.headroom import NodeClass, NodeFit
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, NodeSpec, ObjectMeta
from dra_lab.model.placement import Placement
from dra_lab.model.plan import Plan, PlanStatus, plan_of_pod
from dra_lab.model.sketch import How
from dra_lab.model.slices import CounterSet
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.gangs import plan_gangs

GPU = "gpu.nvidia.com"
RELEASE = KubernetesRelease("1.36")
OLD = KubernetesRelease("1.36", {"DRAPartitionableDevices": False})

DRAWS = DeviceCounterConsumption(counter_set="memory", counters={"slices": Counter(value=4)})
PUBLISHED = (
    device("a0", {ROOT: "a"}),
    device("a1", {ROOT: "a"}),
    device("b0", {ROOT: "b"}),
    device("used", {ROOT: "b"}),
    device("lost"),
    device("tainted", taints=(DeviceTaint(key="broken", effect="NoSchedule"),)),
    device("shared", capacity={"m": DeviceCapacity(value="8")}, allow_multiple_allocations=True),
    *(device(f"part{n}", consumes_counters=(DRAWS,)) for n in range(3)),
    *(device(f"more{n}") for n in range(33)),
)
COUNTERS = a_slice(GPU, count=2)
COUNTERS = changed(
    COUNTERS,
    metadata=ObjectMeta(name="counters"),
    spec=changed(
        COUNTERS.spec,
        devices=None,
        shared_counters=(CounterSet(name="memory", counters={"slices": Counter(value=8)}),),
    ),
)
CLUSTER = cluster(
    a_slice(GPU, *PUBLISHED, count=2),
    COUNTERS,
    a_slice(GPU, device("a0"), node="n2"),
    classes=(a_class("gpu", f'device.driver == "{GPU}"'), a_class("more", 'device.driver == "other"')),
    claims=(holding(f"{GPU}/n1/used"),),
    nodes=(
        *(Node(metadata=ObjectMeta(name=f"n{n}")) for n in (1, 2)),
        Node(ObjectMeta(name="n3"), NodeSpec(unschedulable=True)),
    ),
)


def taken(*pairs: tuple[str, str], node: str = "n1", **fields) -> tuple[Placement, ...]:
    """Return placements of (request, device)."""
    return tuple(Placement(name, DeviceID(GPU, node, one), **fields) for name, one in pairs)


def linked(how: How, *requests, ends=("a", "b")):
    """Return a drawing with a link on the PCIe root."""
    return ClaimSketch("c", requests, (Link("l", ends, "pcieRoot", how),))


ONE = ClaimSketch("c", (request("a"),))
TWO = ClaimSketch("c", (request("a"), request("b")))
SHARE = ClaimSketch("c", (request("a", capacity={"m": "5"}), request("b", capacity={"m": "5"})))
ANY = ClaimSketch("c", (one_of("a", alternative("x"), alternative("y", count=2)),))
TOGETHER = linked(How.TOGETHER, request("a"), request("b"))
APART = linked(How.APART, request("a"), request("b"))
PAIRS = linked(How.PAIRWISE, request("a", count=2), request("b", count=2))

KEPT = {
    "one device": (ONE, taken(("a", "a0"))),
    "two requests": (TWO, taken(("a", "a0"), ("b", "a1"))),
    "a share": (ONE, taken(("a", "shared"), consumed={"m": "8"})),
    "two partitions": (TWO, taken(("a", "part0"), ("b", "part1"))),
    "the second alternative": (ANY, taken(("a/y", "a0"), ("a/y", "a1"))),
    "devices on one root": (TOGETHER, taken(("a", "a0"), ("b", "a1"))),
    "devices on two roots": (APART, taken(("a", "a0"), ("b", "b0"))),
}

BROKEN = {
    "a device that the node does not see": ("device", ONE, taken(("a", "a0"), node="n2")),
    "a request that is not drawn": ("request", ONE, taken(("x", "a0"))),
    "a device of another class": ("selector", ClaimSketch("c", (request("a", "more"),)), taken(("a", "a0"))),
    "a device that a claim holds": ("in-use", ONE, taken(("a", "used"))),
    "a taint that is not tolerated": ("taint", ONE, taken(("a", "tainted"))),
    "one device for two requests": ("taken-twice", TWO, taken(("a", "a0"), ("b", "a0"))),
    "one device twice for a request": (
        "taken-twice",
        ClaimSketch("c", (request("a", count=2),)),
        taken(("a", "a0"), ("a", "a0")),
    ),
    "shares of more than there is": ("capacity", SHARE, taken(("a", "shared"), ("b", "shared"))),
    "a capacity that the device lacks": ("capacity", SHARE, taken(("a", "a0"), ("b", "shared"))),
    "a share that takes another amount": ("capacity", ONE, taken(("a", "shared"), consumed={"m": "3"})),
    "counters that are used up": (
        "counters",
        ClaimSketch("c", (request("a", count=3),)),
        taken(*(("a", f"part{n}") for n in range(3))),
    ),
    "a request without devices": ("alternative", TWO, taken(("a", "a0"))),
    "two alternatives at once": ("alternative", ANY, taken(("a/x", "a0"), ("a/y", "a1"))),
    "fewer devices than requested": ("count", ClaimSketch("c", (request("a", count=2),)), taken(("a", "a0"))),
    "not every device of All": ("count", ClaimSketch("c", (request("a", everything=True),)), taken(("a", "a0"))),
    "33 devices": (
        "limit",
        ClaimSketch("c", (request("a", count=33),)),
        taken(*(("a", f"more{n}") for n in range(33))),
    ),
    "a link over two roots": ("link", TOGETHER, taken(("a", "a0"), ("b", "b0"))),
    "devices apart on one root": ("link", APART, taken(("a", "a0"), ("b", "a1"))),
    "a pair over two roots": ("link", PAIRS, taken(("a", "a0"), ("a", "a1"), ("b", "b0"), ("b", "used"))),
    "a link of a device without a root": ("link", TOGETHER, taken(("a", "a0"), ("b", "lost"))),
}


def rules(plan, on=CLUSTER, release=RELEASE) -> set[str]:
    """Return the rules that a plan breaks."""
    return {finding.rule.removeprefix("plan-") for finding in check_plan(on, plan, release)}


def of(sketch, placements, **fields) -> Plan:
    """Return a plan on n1."""
    return plan_of_pod(PlanStatus.FEASIBLE, sketch, "n1", placements, **fields)


@pytest.mark.parametrize("name", KEPT)
def test_devices_that_keep_the_rules_are_accepted(name):
    """No rule is reported without a cause."""
    assert rules(of(*KEPT[name])) == set()


@pytest.mark.parametrize("name", BROKEN)
def test_devices_that_break_a_rule_are_found(name):
    """The finding names the rule."""
    rule, sketch, placements = BROKEN[name]
    assert rule in rules(of(sketch, placements))


def test_the_first_fit_of_a_plan_keeps_the_rules_but_for_links():
    """kube-scheduler takes no device twice, and need not keep what a manifest cannot express."""
    plan = of(TOGETHER, taken(("a", "a0"), ("b", "a1")))
    for devices, found in ((("a0", "b0"), set()), (("a0", "a0"), {"taken-twice"})):
        first = first_fit(taken(*zip("ab", devices, strict=True)))
        assert rules(replace(plan, first_fit=first)) == found


def test_a_partition_is_hidden_while_its_gate_is_off():
    """A feature gate of the release decides which devices exist for kube-scheduler."""
    assert "gate" in rules(of(ONE, taken(("a", "part0"))), release=OLD)


STATEMENTS = {
    "a fit without devices": ("served", of(ONE, ())),
    "a misfit with devices": ("status", replace(of(ONE, taken(("a", "a0"))), status=PlanStatus.INFEASIBLE)),
    "a cordoned node": ("node", with_pod(of(ONE, ()), node="n3")),
    "a node that no class has": (
        "nodes",
        of(ONE, taken(("a", "a0")), node_classes=(NodeClass(("n1",), NodeFit.BEST),)),
    ),
    "a node that is not a best one": (
        "nodes",
        of(ONE, taken(("a", "a0")), node_classes=(NodeClass(CLUSTER.node_names, NodeFit.WORSE),)),
    ),
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_plan_that_contradicts_itself_is_found(name):
    """Status, node and node classes agree with the devices."""
    rule, plan = STATEMENTS[name]
    assert rule in rules(plan)


# ---------------------------------------------------------------- several pods

LESSON = read_sketch("sample:two-sockets/lesson")
SOCKETS = load_cluster("sample:two-sockets")


def fleet():
    """Return a plan of two pods."""
    return plan_fleet(SOCKETS, [Workload("w", LESSON, replicas=2)], release=RELEASE, first_fit=False)


FLEETS = {
    "the devices of another pod": ("in-use", lambda one: {"node": one.node, "devices": one.devices}),
    "an unknown node": ("node", lambda _: {"node": "nowhere"}),
    "an unknown workload": ("workload", lambda _: {"workload": "none"}),
    "a number twice": ("replicas", lambda one: {"replica": one.replica}),
    "a number too high": ("replicas", lambda _: {"replica": 99}),
    "no devices": ("served", lambda _: {"devices": ()}),
}


def test_a_fleet_that_keeps_the_rules_is_accepted():
    """Two pods beside each other are no finding."""
    assert check_plan(SOCKETS, fleet(), RELEASE) == ()


@pytest.mark.parametrize("name", FLEETS)
def test_a_fleet_that_breaks_a_rule_is_found(name):
    """The second pod is changed, with the first one in place."""
    rule, change = FLEETS[name]
    plan = fleet()
    first, second = plan.pods
    wrong = replace(plan, pods=(first, changed(second, **change(first))))
    assert f"plan-{rule}" in {finding.rule for finding in check_plan(SOCKETS, wrong, RELEASE)}


def gang():
    """Return a plan of a gang of two pods on one node."""
    group = PodGroup("w", LESSON, count=2)
    return plan_gangs(SOCKETS, [Workload("g", [group], level="host")], release=RELEASE)


GANGS = {
    "a pod less than the minimum": ("minimum", lambda pods, _: pods[1:]),
    "a pod on another host": ("level", lambda pods, other: (pods[0], changed(pods[1], node=other))),
    "an unknown gang": ("workload", lambda pods, _: tuple(changed(pod, workload="none") for pod in pods)),
}


def test_a_gang_that_keeps_the_rules_is_accepted():
    """Two pods on one host are no finding."""
    assert check_plan(SOCKETS, gang(), RELEASE) == ()


@pytest.mark.parametrize("name", GANGS)
def test_a_gang_that_breaks_a_rule_is_found(name):
    """Minimum, level and name of a placed gang are checked."""
    rule, change = GANGS[name]
    plan = gang()
    other = next(node for node in SOCKETS.node_names if node not in plan.nodes)
    wrong = replace(plan, pods=change(plan.pods, other))
    assert f"plan-{rule}" in {finding.rule for finding in check_plan(SOCKETS, wrong, RELEASE)}


# ---------------------------------------------------------------- plans that are shown

EXAMPLES = [(sample.name, example) for sample in samples() for example in sample.examples]


@pytest.mark.parametrize(("sample", "example"), EXAMPLES)
def test_plans_of_sessions_keep_every_rule(sample, example):
    """A session shows a plan of each example that breaks no rule."""
    on = load_cluster(f"sample:{sample}")
    session = Session(on, sketch=read_sketch(f"sample:{sample}/{example}"))
    session.wait()
    plan = session.answer
    session.close()
    assert broken_rules(on, plan) == []
