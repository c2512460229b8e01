"""The needs of a lesson: each is read from the plan of the drawing, so any shape of a drawing may pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec.structs import asdict

from dra_lab.course.lesson_text import LessonNeed, LessonText
from dra_lab.index.node_index import NodeIndex, node_index
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan, Workload
from dra_lab.model.gang import GangPlan, gang_of
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import FirstFit, FirstFitStatus, Placement, Plan
from dra_lab.model.quantity import QuantityText, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, Drawing, asks
from dra_lab.pinning.plan_replay import replay_plan
from dra_lab.planner import make_plan
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.gangs import plan_gangs
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
        return make_plan(self.cluster, self.sketch)

    @cached_property
    def first_fits(self) -> tuple[FirstFit, ...]:
        """Return what kube-scheduler does with the manifest on every node where the claim fits."""
        plans = (make_plan(self.cluster, self.sketch, node=node) for node in self.plan.fitting_nodes)
        return tuple(plan.first_fit for plan in plans if plan.first_fit is not None)

    @cached_property
    def fleet(self) -> FleetPlan:
        """Return the plan of as many pods as the lesson asks for."""
        return plan_fleet(self.cluster, [Workload("pod", self.sketch, replicas=self.lesson.replicas)])

    @cached_property
    def gangs(self) -> GangPlan | None:
        """Return the plan of the drawn gangs, None if no gang is drawn."""
        drawn = [gang_of(pod, pod.gang) for pod in self.drawing.workloads if pod.gang is not None]
        return plan_gangs(self.cluster, drawn) if drawn else None

    @cached_property
    def index(self) -> NodeIndex:
        """Return what class and selectors accept on each node."""
        return node_index(self.cluster, self.release)

    @cached_property
    def class_of(self) -> Mapping[str, str]:
        """Return the DeviceClass of every reference of the drawing."""
        return {ask.reference: ask.device_class_name for ask in _asks(self.sketch)}

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


def _asks(sketch: ClaimSketch) -> tuple[Ask, ...]:
    return tuple(ask for request in sketch.requests for ask in asks(request))


def _devices(answer: DrawnAnswer, wanted: Mapping[str, int]) -> bool:
    counted = Counter(answer.class_of.get(one.reference, "") for one in answer.plan.placements)
    return answer.plan.fits and all(counted[name] == count for name, count in wanted.items())


def _best(answer: DrawnAnswer, wanted: Mapping[str, int]) -> bool:
    return answer.plan.fits and all(answer.plan.goal(goal) == value for goal, value in wanted.items())


def _first_fit(answer: DrawnAnswer, wanted: Mapping[str, int]) -> bool:
    found = answer.first_fits
    kept = (one.goal(goal) == value for one in found for goal, value in wanted.items())
    return bool(found) and all(one.status is FirstFitStatus.ALLOCATED for one in found) and all(kept)


def _accepts(answer: DrawnAnswer, wanted: Mapping[str, str]) -> bool:
    drawn = _asks(answer.sketch)
    by_class = {name: [ask for ask in drawn if ask.device_class_name == name] for name in wanted}
    return all(
        own and all(answer.accepted(ask) == answer.accepted_by(name, wanted[name]) for ask in own)
        for name, own in by_class.items()
    )


def _takes(answer: DrawnAnswer, wanted: Mapping[str, str]) -> bool:
    for name, cel in wanted.items():
        good = answer.accepted_by(name, cel)
        taken = [[p.device for p in found if answer.class_of.get(p.reference) == name] for found in answer.placed()]
        if not all(devices and good.issuperset(devices) for devices in taken):
            return False
    return True


def _amount(answer: DrawnAnswer, wanted: Mapping[str, QuantityText]) -> bool:
    for placement in answer.plan.placements:
        taken = {name.rpartition("/")[2]: amount for name, amount in placement.consumed.items()}
        if not all(parse_quantity(taken.get(name, "0")) >= parse_quantity(least) for name, least in wanted.items()):
            return False
    return answer.plan.fits


def _nodes(answer: DrawnAnswer, wanted: int) -> bool:
    return len(answer.plan.fitting_nodes) == wanted


def _placed(answer: DrawnAnswer, wanted: int) -> bool:
    return len(answer.fleet.replicas) >= wanted


def _gangs(answer: DrawnAnswer, wanted: Mapping[str, int]) -> bool:
    """Say whether a gang of `pods` pods has a place in at most the given number of domains of each level."""
    if answer.gangs is None or not answer.gangs.placed:
        return False
    trees = hierarchies(answer.cluster)
    for one in answer.gangs.placed:
        used = {level: _domains(trees, level, one.nodes) for level in wanted if level != "pods"}
        if len(one.replicas) < wanted.get("pods", 1) or not one.domain:
            return False
        if any(len(domains) > wanted[level] for level, domains in used.items()):
            return False
    return True


def _domains(trees: Sequence[Hierarchy], level: str, nodes: Sequence[str]) -> set[tuple[str, ...]]:
    having = (tree for tree in trees if any(level.casefold() == one.name.casefold() for one in tree.levels))
    tree = next(having)
    depth = tree.level_index(level) + 1
    return {tree.path_of(node)[:depth] for node in nodes}


def _as_planned(answer: DrawnAnswer, wanted: bool) -> bool:  # noqa: FBT001
    if not answer.plan.fits:
        return False
    return replay_plan(answer.cluster, answer.plan, answer.release).as_planned is wanted


def _prefers(answer: DrawnAnswer, wanted: bool) -> bool:  # noqa: FBT001
    drawn = answer.sketch
    return wanted is any(not link.must for link in drawn.links)


CHECKS: Mapping[str, Callable[[DrawnAnswer, Any], bool]] = {
    "devices": _devices,
    "best": _best,
    "first_fit": _first_fit,
    "accepts": _accepts,
    "takes": _takes,
    "amount": _amount,
    "nodes": _nodes,
    "placed": _placed,
    "gangs": _gangs,
    "as_planned": _as_planned,
    "prefers": _prefers,
}
"""By member of `LessonNeed`, whether the drawing meets it.

- `devices`: the best allocation takes this many devices of each class.
- `best`: the best allocation has these values of the goals.
- `firstFit`: kube-scheduler's first fit with the manifest has them on every node where the claim fits.
- `accepts`: every request of a class accepts exactly the devices that this CEL expression accepts.
- `takes`: the best allocation and kube-scheduler take devices of a class that this CEL expression accepts.
- `amount`: each allocated device gives at least this much of a capacity.
- `nodes`: the claim fits on this many nodes.
- `placed`: at least this many pods of the lesson have a place.
- `gangs`: a gang with a level is drawn; it has at least this many `pods`, in at most this many domains of a level.
- `asPlanned`: kube-scheduler allocates as well as planned with the manifest, in every order of pods.
- `prefers`: some link is a preference.
"""


def meets(answer: DrawnAnswer, need: LessonNeed) -> bool:
    """Say whether a drawing meets a need."""
    wanted = asdict(need)
    return all(check(answer, wanted[name]) for name, check in CHECKS.items() if wanted[name] is not None)
