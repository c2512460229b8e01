"""The needs of a lesson: each is read from the plan of the drawing, so any shape of a drawing may pass."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from msgspec.structs import asdict, replace

from dra_lab.course.lesson_text import LessonNeed, LessonText
from dra_lab.index.node_index import NodeIndex, node_index
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit, FirstFitStatus, PlacedReplica, Placement
from dra_lab.model.plan import Plan
from dra_lab.model.quantity import QuantityText, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, Drawing, PodDrawing, asks
from dra_lab.model.workload import Workload, workload_of
from dra_lab.pinning.plan_replay import replay_plan
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.planner.rails import plan_same
from dra_lab.sketch.compile import compile_claim
from dra_lab.topology.hierarchies import hierarchies


@dataclass(frozen=True)
class DrawnAnswer:
    """A student's drawing on the cluster of the lesson, and the plans that its needs are read from, each made once."""

    lesson: LessonText
    cluster: Cluster
    drawing: Drawing

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawn claims."""
        return self.drawing.sketch

    @cached_property
    def release(self) -> KubernetesRelease:
        """Return the release that the lesson is about."""
        return self.cluster.target_release(None)

    @cached_property
    def plan(self) -> Plan:
        """Return the best allocation of the drawn claims."""
        return plan_pod(self.cluster, self.sketch)

    @cached_property
    def first_fits(self) -> tuple[FirstFit, ...]:
        """Return what kube-scheduler does with the manifest on every node where the claim fits, in two slice orders.

        A drawing that gets the right devices only because of the order in which the drivers list them does not pass.
        """
        plans = self.plan, plan_pod(_reordered(self.cluster, self.class_of), self.sketch)
        return tuple(plan.trace(node).end for plan in plans for node in self.plan.fitting_nodes)

    @cached_property
    def fleet(self) -> Plan:
        """Return the plan of as many pods as the lesson asks for."""
        return plan_fleet(self.cluster, [Workload("pod", self.sketch, replicas=self.lesson.replicas)])

    @cached_property
    def gangs(self) -> Plan | None:
        """Return the plan of the gang of the drawn claim, None if it is no gang."""
        pod = self.gang_pod
        return plan_same(self.cluster, [workload_of(pod)]) if pod and pod.gang else None

    @property
    def gang_pod(self) -> PodDrawing | None:
        """Return the workload of the drawn claim, None if the claim belongs to none."""
        return next((pod for pod in self.drawing.workloads if pod.pod == self.drawing.editing), None)

    @cached_property
    def index(self) -> NodeIndex:
        """Return what class and selectors accept on each node."""
        return node_index(self.cluster, self.release)

    @cached_property
    def class_of(self) -> Mapping[DeviceID, str]:
        """Return the DeviceClass that the lesson names for each of its devices, whatever class a drawing requests."""
        named = {name for need in self.lesson.needs for name in need.devices or ()}
        return {device: name for name in named for device in self.accepted_by(name, "")}

    @property
    def has_others(self) -> bool:
        """Say whether the best allocation has a device of a kind that no need of the lesson names."""
        return any(one.device not in self.class_of for one in self.plan.placements)

    def accepted(self, ask: Ask) -> frozenset[DeviceID]:
        """Return the devices of the whole cluster that a class and selectors accept."""
        return frozenset(
            item.id
            for node in self.cluster.node_names
            for item, stage in zip(self.index.view(node).devices, self.index.stages(ask, node), strict=True)
            if stage == "match"
        )

    def accepted_by(self, device_class: str, cel: str) -> frozenset[DeviceID]:
        """Return the devices that a class and one selector accept."""
        return self.accepted(Ask("wanted", 0, device_class, (cel,) if cel else (), False, 1, (), {}, False))

    def placed(self) -> Iterator[Sequence[Placement]]:
        """Yield the devices of the best allocation, and of kube-scheduler on every fitting node."""
        yield self.plan.placements
        for found in self.first_fits:
            yield found.placements


def _reordered(cluster: Cluster, devices: Collection[DeviceID]) -> Cluster:
    """Return the cluster with opposite orders in the slices of every second driver that has some of the devices."""
    drivers = sorted({device.driver for device in devices}, reverse=True)[::2]
    return cluster.with_objects(
        slices=tuple(
            replace(one, spec=replace(one.spec, devices=tuple(reversed(one.spec.devices))))
            if one.spec.driver in drivers and one.spec.devices
            else one
            for one in cluster.slices
        )
    )


def _devices(answer: DrawnAnswer, wanted: Mapping[str, int]) -> bool:
    counted = Counter(answer.class_of.get(one.device, "") for one in answer.plan.placements)
    return answer.plan.fits and all(counted[name] == count for name, count in wanted.items())


def _values(goals: Sequence[GoalValue], wanted: Mapping[str, int]) -> bool:
    return wanted.items() <= {goal.goal: goal.value for goal in goals}.items()


def _best(answer: DrawnAnswer, wanted: Mapping[str, int]) -> bool:
    return answer.plan.fits and _values(answer.plan.goals, wanted)


def _first_fit(answer: DrawnAnswer, wanted: Mapping[str, int]) -> bool:
    found = answer.first_fits
    kept = (_values(one.goals, wanted) for one in found)
    return bool(found) and all(one.status is FirstFitStatus.ALLOCATED for one in found) and all(kept)


def _accepts(answer: DrawnAnswer, wanted: Mapping[str, str]) -> bool:
    drawn = [answer.accepted(ask) for request in answer.sketch.requests for ask in asks(request)]
    return all(
        bool(own) and all(accepted == answer.accepted_by(name, cel) for accepted in own)
        for name, cel in wanted.items()
        for own in ([accepted for accepted in drawn if accepted & answer.accepted_by(name, "")],)
    )


def _takes(answer: DrawnAnswer, wanted: Mapping[str, str]) -> bool:
    for name, cel in wanted.items():
        good = answer.accepted_by(name, cel)
        taken = [[p.device for p in found if answer.class_of.get(p.device) == name] for found in answer.placed()]
        if not all(devices and good.issuperset(devices) for devices in taken):
            return False
    return True


def _amount(answer: DrawnAnswer, wanted: Mapping[str, QuantityText]) -> bool:
    taken = _taken(answer)
    return answer.plan.fits and all(taken[name] >= parse_quantity(least) for name, least in wanted.items())


def _exact_amount(answer: DrawnAnswer, wanted: Mapping[str, QuantityText]) -> bool:
    taken = _taken(answer)
    return answer.plan.fits and all(taken[name] == parse_quantity(amount) for name, amount in wanted.items())


def _taken(answer: DrawnAnswer) -> Mapping[str, Fraction]:
    taken: dict[str, Fraction] = defaultdict(Fraction)
    for placement in answer.plan.placements:
        for name, amount in placement.consumed.items():
            taken[name.rpartition("/")[2]] += parse_quantity(amount)
    return taken


def _nodes(answer: DrawnAnswer, wanted: int) -> bool:
    return len(answer.plan.fitting_nodes) == wanted


def _placed(answer: DrawnAnswer, wanted: int) -> bool:
    return len(answer.fleet.pods) >= wanted


def _gangs(answer: DrawnAnswer, wanted: Mapping[str, int]) -> bool:
    """Say whether the gang starts with `pods` pods or not at all, in one domain with so few domains of each level."""
    pod, plan = answer.gang_pod, answer.gangs
    if pod is None or pod.gang is None or plan is None or not plan.placed_gangs:
        return False
    least = pod.gang.size if pod.gang.min is None else pod.gang.min
    trees = hierarchies(answer.cluster)
    levels = {level: most for level, most in wanted.items() if level != "pods"}
    return least >= wanted.get("pods", 1) and all(
        one.domain and len(_domains(trees, level, _nodes_in(answer.cluster, trees, one))) <= most
        for one in plan.placed_gangs
        for level, most in levels.items()
    )


def _same(answer: DrawnAnswer, wanted: Collection[str]) -> bool:
    """Say whether all pods of each gang are bound to the same values of one of these attributes."""
    plan = answer.gangs
    if plan is None or not plan.placed_gangs:
        return False
    bound = {(one.workload, one.replica) for one in plan.same if one.attribute in wanted}
    is_linked = all((one.workload, one.replica) in bound for one in plan.placed_gangs)
    return is_linked or any(_is_fixed(answer, attribute) for attribute in wanted)


def _is_fixed(answer: DrawnAnswer, attribute: str) -> bool:
    """Say whether selectors leave as many values of an attribute as a pod has devices with it."""
    views = (answer.index.view(node) for node in answer.cluster.node_names)
    found = {item.id: item.device.lookup(attribute, item.driver) for view in views for item in view.devices}
    drawn = [(ask.count, answer.accepted(ask)) for request in answer.sketch.requests for ask in asks(request)]
    counts = sum(count for count, accepted in drawn if any(found[device] for device in accepted))
    values = {one.value for _, accepted in drawn for device in accepted if (one := found[device]) is not None}
    return bool(values) and len(values) in (1, counts)


def _nodes_in(cluster: Cluster, trees: Sequence[Hierarchy], gang: PlacedReplica) -> Sequence[str]:
    """Return every node on which the pods could have been placed: the level must demand what it achieved."""
    depth = len(gang.domain)
    inside = [node for node in cluster.node_names if any(tree.path_of(node)[:depth] == gang.domain for tree in trees)]
    return inside or gang.nodes


def _domains(trees: Sequence[Hierarchy], level: str, nodes: Sequence[str]) -> set[tuple[str, ...]]:
    having = (tree for tree in trees if any(level.casefold() == one.name.casefold() for one in tree.levels))
    tree = next(having)
    depth = tree.level_index(level) + 1
    return {tree.path_of(node)[:depth] for node in nodes}


def _as_planned(answer: DrawnAnswer, wanted: bool) -> bool:  # noqa: FBT001
    if not answer.plan.fits:
        return False
    return replay_plan(answer.cluster, answer.plan, answer.release).as_planned is wanted


def _prefers(answer: DrawnAnswer, wanted: str) -> bool:
    """Say whether alternatives of the manifest demand one place, and other alternatives of the same requests do not.

    A preferred link is written as such alternatives, and a student can draw them as well.
    """
    devices = compile_claim(answer.sketch, answer.cluster, answer.release).spec.devices
    names = {one.name for one in devices.requests}
    alternatives = [{f"{one.name}/{sub.name}" for sub in one.first_available} for one in devices.requests]
    near = [one for one in devices.constraints if (one.match_attribute or "").rpartition("/")[2] == wanted]
    ends = [set(one.requests or names) for one in near]
    preferred = [own for own in ends if any(own & some and some - own for some in alternatives)]
    return bool(names) and names == {end.partition("/")[0] for own in preferred for end in own}


def _untainted(answer: DrawnAnswer, wanted: bool) -> bool:  # noqa: FBT001
    nodes = map(answer.index.view, answer.plan.fitting_nodes)
    closed = {
        item.id
        for view in nodes
        for item in view.devices
        if any(taint.effect != "None" for taint in item.device.taints)
    }
    return answer.plan.fits and wanted is closed.isdisjoint(p.device for found in answer.placed() for p in found)


CHECKS: Mapping[str, Callable[[DrawnAnswer, Any], bool]] = {
    "devices": _devices,
    "best": _best,
    "first_fit": _first_fit,
    "accepts": _accepts,
    "takes": _takes,
    "amount": _amount,
    "exact_amount": _exact_amount,
    "nodes": _nodes,
    "placed": _placed,
    "gangs": _gangs,
    "same": _same,
    "as_planned": _as_planned,
    "prefers": _prefers,
    "untainted": _untainted,
}
"""By member of `LessonNeed`, whether the drawing meets it.

- `devices`: the best allocation has this many devices of each class.
- `best`: the best allocation has these values of the goals.
- `firstFit`: kube-scheduler's first fit allocates on every node where the claim fits, with these values of the goals.
- `accepts`: every request for a device of a class accepts exactly the devices that this CEL expression accepts.
- `takes`: the best allocation and kube-scheduler take devices of a class that this CEL expression accepts.
- `amount`: the best allocation has at least this much of a capacity in all.
- `exactAmount`: the best allocation has exactly this much of a capacity in all.
- `nodes`: the claim fits on this many nodes.
- `placed`: at least this many pods of the lesson have a place.
- `gangs`: the claim is that of a gang which starts with at least this many `pods`. It requires one domain, which has at
  most this many domains of each level.
- `same`: the claim is that of a gang whose pods are bound to the same values of one of these attributes.
- `asPlanned`: kube-scheduler allocates as well as planned with the manifest, in every simulated order of pods.
- `prefers`: the manifest prefers one place of this kind for all requests, and does not demand it.
- `untainted`: no allocated device has a taint with an effect.
"""


def meets(answer: DrawnAnswer, need: LessonNeed) -> bool:
    """Say whether a drawing meets a need."""
    wanted = asdict(need)
    return all(check(answer, wanted[name]) for name, check in CHECKS.items() if wanted[name] is not None)
