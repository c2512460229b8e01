"""The goals of a plan, counted again from its devices, and whether its proofs agree with its bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from dra_lab.cel.matching import Matching
from dra_lab.index.documented_classes import known_classes
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import NODES, UNPLACED, GoalValue
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, asks, pod_drawing
from tests.oracle.referee_devices import InUse, NodeDevices
from tests.oracle.referee_pods import PodRules


def wrong_goals(cluster: Cluster, plan: Plan, release: KubernetesRelease) -> Iterator[str]:
    """Yield what is wrong with the goals of a plan for one pod, and with those of kube-scheduler's first fits."""
    yield from _wrong_proofs(plan.goals, proven=plan.status is PlanStatus.OPTIMAL)
    if plan.placements:
        node = NodeDevices(cluster, plan.node, Matching(cluster, release, known_classes(cluster)), release)
        pod = PodRules(node, InUse(cluster, release), plan.sketch, plan.placements)
        pairs = asks_for_nics(cluster, plan.sketch, release)
        yield from _wrong_values(plan.goals, goal_values(pod, pairs=pairs), "plan")
        for fit in (plan.first_fit, plan.first_fit_plain):
            if fit is not None and fit.placements:
                values = goal_values(replace(pod, placements=fit.placements), pairs=pairs)
                yield from _wrong_values(fit.goals, values, "first fit")


def wrong_sums(cluster: Cluster, plan: Plan, release: KubernetesRelease) -> Iterator[str]:
    """Yield what is wrong with the goals of each replica of a fleet, and with their sums."""
    yield from _wrong_proofs(plan.goals, proven=plan.status is PlanStatus.OPTIMAL)
    if plan.status is PlanStatus.OPTIMAL and not plan.goals:
        yield "the plan is called proven without a goal"
    if not plan.pods:
        return
    matching, in_use = Matching(cluster, release, known_classes(cluster)), InUse(cluster, release)
    sketches = {workload.name: pod_drawing(workload.name, workload.claims) for workload in plan.workloads}
    pairs = {name: asks_for_nics(cluster, sketch, release) for name, sketch in sketches.items()}
    views = {name: NodeDevices(cluster, name, matching, release) for name in plan.on_node}
    sums: Counter[str] = Counter()
    for one in plan.pods:
        pod = PodRules(views[one.node], in_use, sketches[one.workload], one.devices)
        yield from _wrong_values(one.goals, goal_values(pod, pairs=pairs[one.workload]), one.name)
        sums.update({goal.goal: goal.value for goal in one.goals})
    if plan.goals and not sums.keys() <= {goal.goal for goal in plan.goals}:
        yield f"replicas have the goals {sorted(sums)}, and the plan does not"
    wanted = sum(workload.replicas for workload in plan.workloads)
    counted = {**sums, UNPLACED: wanted - len(plan.pods), NODES: len(plan.nodes)}
    yield from _wrong_values(plan.goals, {goal.goal: 0 for goal in plan.goals} | counted, "fleet")


def _wrong_proofs(goals: Sequence[GoalValue], *, proven: bool) -> Iterator[str]:
    """A goal is proven if its bound is its value; no bound is above a value; a proven plan has proven all."""
    for goal in goals:
        if goal.bound is not None and goal.bound > goal.value:
            yield f"the bound {goal.bound} of {goal.goal} is above the value {goal.value}"
        if goal.proven and goal.bound != goal.value:
            yield f"{goal.goal} is called proven, and its bound is not its value"
        if proven and not goal.proven:
            yield f"the plan is called proven, and {goal.goal} is not"


def _wrong_values(goals: Sequence[GoalValue], values: dict[str, int], name: str) -> Iterator[str]:
    for goal in goals:
        if goal.goal in values and goal.value != values[goal.goal]:
            yield f"{name}: {goal.goal} is {goal.value}, and its devices have {values[goal.goal]}"


def goal_values(pod: PodRules, *, pairs: bool) -> dict[str, int]:
    """Return the values of all goals but `damage`; with `pairs` the claim asks for NICs somewhere in the cluster."""
    chosen = [pod.node.places[device] for device in dict.fromkeys(p.device for p in pod.placements)]
    gpus = [place.pcie_root for place in chosen if place.kind == "gpu"]
    nics = Counter(place.pcie_root.value for place in chosen if place.kind == "nic" and place.pcie_root)
    known = Counter(root.value for root in gpus if root is not None)
    alone = gpus.count(None) + sum(max(0, count - nics[root]) for root, count in known.items())
    return {
        "alternatives": sum(pod.asks[reference].rank for reference in pod.taken),
        "preferences": sum(_lost(pod, link) for link in pod.sketch.links if not link.must),
        "numa": _places(place.place("numaNode") for place in chosen if place.kind in ("gpu", "nic", "cpu")),
        "unpaired": alone if pairs else 0,
        "roots": _places(place.place("pcieRoot") for place in chosen if place.kind in ("gpu", "nic")),
    }


def _places(found) -> int:
    """Count places; a device without a known place counts as its own."""
    values = [place.value if place is not None else None for place in found]
    return len({*values} - {None}) + values.count(None)


def _lost(pod: PodRules, link) -> int:
    """Return what a preferred link loses; a group keeps the one-to-one links between the same requests too."""
    others = [one for one in pod.sketch.links if one.must and set(one.requests) == set(link.requests)]
    return pod.node.losses(link, pod.parts(link), [one for one in others if one.how is How.PAIRWISE])


def asks_for_nics(cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease) -> bool:
    """Say whether some request may take a NIC anywhere in the cluster; a claim without has no GPU to pair."""
    matching = Matching(cluster, release, known_classes(cluster))
    wanted = [ask for request in sketch.requests for ask in asks(request)]
    for name in cluster.node_names:
        node = NodeDevices(cluster, name, matching, release)
        nics = [device for device in node.devices if node.places[device].kind == "nic"]
        if any(node.stage(ask, device) == "match" for device in nics for ask in wanted):
            return True
    return False
