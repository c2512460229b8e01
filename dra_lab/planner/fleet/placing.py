"""From patterns to pods: which replica stands on which node with which devices, and what each is worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dra_lab.errors import SolverError
from dra_lab.model.fleet import NODES, UNPLACED, Replica
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GoalValue, Placement
from dra_lab.model.quantity import format_quantity
from dra_lab.planner.fleet.bounds import Answer
from dra_lab.planner.fleet.copies import Part
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.coupled_tables import CoupledTable
from dra_lab.planner.fleet.pods import Fleet, Pod
from dra_lab.planner.fleet.sites import Site, devices_of
from dra_lab.planner.joined import MARK
from dra_lab.planner.values import Scale, value_placements
from dra_lab.topology.locality import localities


@dataclass(frozen=True)
class Stand:
    """The pods on one node: as many of each part as `counts` says, in the way that its site's table knows."""

    site: Site
    node: str
    counts: Counts
    takes: tuple[tuple[int, int, int, int], ...]


def stands_of(answer: Answer) -> list[Stand]:
    """Return which node takes which pattern: patterns with most replicas first, nodes by name."""
    stands: list[Stand] = []
    if answer.chosen is None:
        return stands
    for chosen, tables in zip(answer.chosen, answer.racked.tables, strict=True):
        members = iter([(table, node) for table in tables for node in table.site.members])
        for counts, times in sorted(chosen.items(), key=lambda row: (-sum(row[0]), row[0])):
            for _ in range(times):
                table, node = next(members)
                spread = table.spread(counts) if isinstance(table, CoupledTable) else counts
                stands.append(Stand(table.site, node, spread, table.takes(counts)))
    return sorted(stands, key=lambda stand: stand.node)


def replicas_of(fleet: Fleet, stands: Sequence[Stand], order: Sequence[str]) -> tuple[Replica, ...]:
    """Return every placed pod with its devices; pods of a workload are numbered by node."""
    numbers = [0] * len(fleet.pods)
    valued = _Valued(fleet, tuple(order))
    found = []
    for stand in stands:
        for part, inner in _placed(fleet, stand):
            number, node = part.pod, stand.site.node(stand.node, part)
            pod = fleet.pods[number]
            placements = tuple(_drawn(pod, placement) for placement in inner)
            goals = valued.goals(number, node, inner)
            found.append(Replica(pod.workload.name, numbers[number], node, placements, goals))
            numbers[number] += 1
    return tuple(sorted(found, key=lambda replica: (_position(fleet, replica.workload), replica.number)))


def _position(fleet: Fleet, name: str) -> int:
    return next(at for at, pod in enumerate(fleet.pods) if pod.workload.name == name)


class _Valued:
    """The goals of pods: those of the same devices by position on the same hardware are counted once."""

    def __init__(self, fleet: Fleet, order: tuple[str, ...]) -> None:
        self._fleet, self._order = fleet, order
        self._known: dict[object, tuple[GoalValue, ...]] = {}
        self._positions: tuple[str, dict[DeviceID, int]] = ("", {})

    def goals(self, number: int, node: str, inner: tuple[Placement, ...]) -> tuple[GoalValue, ...]:
        """Return the goals of one pod of workload `number` on a node."""
        state = self._fleet.survey.states.get(node)
        if state is None:
            return self._count(number, node, inner)
        if self._positions[0] != node:
            devices = self._fleet.scan.views.view(node).devices
            self._positions = (node, {item.id: at for at, item in enumerate(devices)})
        at = self._positions[1]
        key = (state.layout, number, tuple((placement.request, at[placement.device]) for placement in inner))
        if key not in self._known:
            self._known[key] = self._count(number, node, inner)
        return self._known[key]

    def _count(self, number: int, node: str, inner: tuple[Placement, ...]) -> tuple[GoalValue, ...]:
        return value_placements(scale_on(self._fleet, self._fleet.pods[number], node), inner, self._order)


def _placed(fleet: Fleet, stand: Stand) -> Iterator[tuple[Part, tuple[Placement, ...]]]:
    """Yield (kind of pod, placements for the pod's expanded drawing) of each replica on a node."""
    left = {at: list(devices) for at, devices in devices_of(fleet, stand.site, stand.node).items()}
    problem = stand.site.problem
    parts = [part for part, count in zip(stand.site.parts, stand.counts, strict=True) for _ in range(count)]
    takes: dict[int, list[tuple[int, int, int, int]]] = {}
    for take in stand.takes:
        takes.setdefault(take[0], []).append(take)
    for number, part in enumerate(parts):
        placements: list[Placement] = []
        for _, ask, group, count in sorted(takes.get(number, ())):
            devices = left[group][:count]
            inspected = any(problem.asks[other].admin_access for other in problem.groups[group].asks)
            if not (problem.groups[group].shareable or inspected):
                del left[group][:count]
            uses = dict(dict(problem.groups[group].uses).get(ask, ()))
            consumed = {key: format_quantity(amount) for key, amount in sorted(uses.items())}
            reference = _reference(fleet, part.pod, problem.asks[ask].reference)
            placements.extend(Placement(reference, device, consumed=dict(consumed)) for device in devices)
        yield part, tuple(placements)


def _reference(fleet: Fleet, pod: int, joint: str) -> str:
    """Return the reference in the pod's drawing of one in the fleet's (`workload.claim:request`)."""
    where, _, reference = joint.partition(MARK)
    workload = fleet.pods[pod].workload
    if len(workload.claims) == 1:
        return reference
    return f"{workload.claims[int(where.partition('.')[2])].name}{MARK}{reference}"


def _drawn(pod: Pod, placement: Placement) -> Placement:
    """Return a placement under the names of the drawing as it was given."""
    if not pod.several:
        return replace(placement, request=pod.drawn(0, placement.request))
    claim, _, reference = placement.request.partition(MARK)
    position = [sketch.name for sketch in pod.workload.claims].index(claim)
    return replace(placement, request=pod.drawn(position, reference), claim=claim)


def scale_on(fleet: Fleet, pod: Pod, node: str) -> Scale:
    """Return what the devices of a pod on a node are valued with, under the names of its expanded drawing."""
    scan = fleet.scan
    return Scale(pod.sketch, localities(scan.cluster, node), _Devices(fleet, node), pod.paired, scan.rules.lists)


class _Devices(dict):  # type: ignore[type-arg]
    """The devices of a node, looked at only when a link needs their attributes."""

    def __init__(self, fleet: Fleet, node: str) -> None:
        super().__init__()
        self._fleet, self._node = fleet, node

    def __missing__(self, device: DeviceID) -> object:
        self.update(self._fleet.scan.devices(self._node))
        return self[device]


def goals_of(fleet: Fleet, replicas: Sequence[Replica], order: Sequence[str], nodes: int) -> Mapping[str, GoalValue]:
    """Return the goals of a fleet counted again from its replicas."""
    found = {}
    for goal in order:
        if goal == UNPLACED:
            found[goal] = GoalValue(goal, sum(fleet.demand) - len(replicas))
        elif goal == NODES:
            found[goal] = GoalValue(goal, nodes)
        else:
            mine = [value for replica in replicas for value in replica.goals if value.goal == goal]
            found[goal] = GoalValue(goal, sum(v.value for v in mine), unknown=sum(v.unknown for v in mine))
    return found


def proven_goals(answer: Answer, counted: Mapping[str, GoalValue]) -> tuple[GoalValue, ...]:
    """Return the goals with their bounds; raises SolverError where the devices are not worth what the solver says."""
    goals = []
    for goal in answer.goals:
        if counted[goal.goal].value != goal.value:
            raise SolverError(
                f"goal {goal.goal!r} of the fleet: the solver says {goal.value}, the devices have "
                f"{counted[goal.goal].value}; please report the claims and the cluster"
            )
        goals.append(replace(counted[goal.goal], bound=goal.bound, proven=goal.proven))
    return tuple(goals)
