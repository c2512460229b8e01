"""Kueue's choice of domains comes out as Kueue's own tests say it does.

`kueue_cases/tas_cache_test.json` has the nodes, the pod sets and the expected assignments or messages. Source:
kubernetes-sigs/kueue v0.19.2 (8eab68778fc1, Apache-2.0), pkg/cache/scheduler/tas_cache_test.go; `line` is the line
there. Left out are replacements of nodes, elastic jobs, usage of other flavors, and two alpha features: balanced
placement and preferred node affinity.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dra_lab.model.nodes import Node, NodeSpec, NodeStatus, ObjectMeta
from dra_lab.model.pods import Container, Pod, PodSpec, PodStatus, ResourceRequirements
from dra_lab.scheduler.kueue.assignment import KueueFlavor, KueuePodSet, kueue_assignments, pod_requests

CASES = json.loads((Path(__file__).parent / "kueue_cases" / "tas_cache_test.json").read_text())

Case = dict[str, Any]


def node(given: Case) -> Node:
    """Return the node of a case."""
    return Node(
        metadata=ObjectMeta(name=given["name"], labels=given["labels"]),
        spec=NodeSpec(unschedulable=given.get("unschedulable", False), taints=tuple(given.get("taints", ()))),
        status=NodeStatus(allocatable=given["allocatable"]),
    )


def pod(number: int, given: Case) -> Pod:
    """Return the pod of a case."""
    container = Container(resources=ResourceRequirements(requests=given["requests"]))
    spec = PodSpec(node_name=given["node"], containers=(container,))
    return Pod(ObjectMeta(name=f"pod-{number}"), spec, PodStatus(phase=given["phase"]))


def pod_set(given: Case) -> KueuePodSet:
    """Return the pod set of a case."""
    fields = {key: value for key, value in given.items() if key not in ("pods", "message")}
    slices = tuple((key, size) for key, size in fields.pop("slices", ()))
    return KueuePodSet(slices=slices, tolerations=tuple(fields.pop("tolerations", ())), **fields)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"line {case['line']}")
def test_assignments_and_messages_are_those_of_kueue(case: Case) -> None:
    """Each recorded case has the same domains, the same number of pods and the same message."""
    flavor = KueueFlavor(
        tuple(case["levels"]),
        node_labels=case.get("nodeLabels", {}),
        not_ready=frozenset(one["name"] for one in case["nodes"] if one.get("notReady")),
        node_leaves=False,  # 0.19.2 has no gate TASNodeFeasibilityForAllLevels
    )
    found = kueue_assignments(
        flavor,
        [node(one) for one in case["nodes"]],
        [pod(number, one) for number, one in enumerate(case.get("pods", ()))],
        [pod_set(one) for one in case["podSets"]],
    )
    wanted = {
        one["name"]: ([(tuple(path), count) for path, count in one.get("pods", ())], one.get("message", ""))
        for one in case["podSets"]
        if "pods" in one or "message" in one
    }
    assert {one.pod_set: (list(one.pods), one.message) for one in found} == wanted


RACK = "example.com/rack"


def rack_nodes(**more: Case) -> list[Node]:
    """Return two nodes of one rack with four CPUs each; `more` are fields of one by its name."""
    every = ({"name": name, "labels": {RACK: "r1"}, "allocatable": {"cpu": 4, "pods": 9}} for name in ("a", "b"))
    return [node({**one, **more.get(str(one["name"]), {})}) for one in every]


@pytest.mark.parametrize(("node_leaves", "fits"), [(True, False), (False, True)])
def test_a_pod_fits_a_node_and_not_only_a_rack(node_leaves: bool, fits: bool) -> None:
    """Two nodes of four CPUs are no place for a pod of six, from 0.20 on (TASNodeFeasibilityForAllLevels)."""
    flavor, six = KueueFlavor((RACK,), node_leaves=node_leaves), KueuePodSet("p", 1, {"cpu": 6}, RACK)
    (found,) = kueue_assignments(flavor, rack_nodes(), [], [six])
    assert (found.pods, bool(found.message)) == (((("r1",), 1),) if fits else (), not fits)


def test_taints_count_although_a_topology_does_not_end_with_the_host_name() -> None:
    """The assignment names the rack, for which only the other node counts."""
    taint = {"taints": [{"key": "broken", "effect": "NoSchedule"}]}
    (found,) = kueue_assignments(KueueFlavor((RACK,)), rack_nodes(a=taint), [], [KueuePodSet("p", 2, {"cpu": 4}, RACK)])
    assert "allows to fit only 1 out of 2 pod(s)" in found.message
    assert found.message.endswith('excluded: taint "broken:NoSchedule": 1')


def test_the_host_name_is_no_level_of_a_topology_without_it() -> None:
    """Nodes are counted one by one, and cannot be asked for."""
    host = KueuePodSet("p", 1, required="kubernetes.io/hostname")
    (found,) = kueue_assignments(KueueFlavor((RACK,)), rack_nodes(), [], [host])
    assert found.message == "no requested topology level: kubernetes.io/hostname"


def test_pods_of_one_rack_are_added_up() -> None:
    """kube-scheduler chooses their nodes."""
    (found,) = kueue_assignments(KueueFlavor((RACK,)), rack_nodes(), [], [KueuePodSet("p", 2, {"cpu": 4}, RACK)])
    assert found.pods == ((("r1",), 2),)


def test_the_cases_occur() -> None:
    """Every way that is replayed has a recorded case."""
    sets = [one for case in CASES for one in case["podSets"]]
    assert {key for one in sets for key in one} >= {"required", "preferred", "slices", "group", "message"}


def test_init_containers_count_by_the_largest() -> None:
    """A pod requests what its containers need together, or more if one init container needs more."""

    def container(cpu: str, restart: str = "") -> Container:
        return Container(restart_policy=restart, resources=ResourceRequirements(requests={"cpu": cpu}))

    spec = PodSpec(
        containers=(container("1"), container("1")), init_containers=(container("1", "Always"), container("3"))
    )
    assert pod_requests(Pod(ObjectMeta(name="p"), spec))["cpu"] == 4
