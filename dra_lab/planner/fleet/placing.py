"""From patterns to pods: which replica stands on which node with which devices, and the values of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from operator import attrgetter, itemgetter

from dra_lab.errors import SolverError
from dra_lab.model.goals import NODES, UNPLACED, GoalValue
from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.placement import PlacedPod, Placement
from dra_lab.model.quantity import format_quantity
from dra_lab.planner.fleet.question import FleetPod, FleetProblem
from dra_lab.planner.fleet.site_classes import BestPlan
from dra_lab.planner.fleet.sites import PodsOnNode, Site, devices_of
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart, JointProblem
from dra_lab.planner.node.goal_table import DrawnAsks, Scale, asked_of, value_placements
from dra_lab.planner.node.solver_outcome import agreed
from dra_lab.planner.places.counting import Counts
from dra_lab.planner.states.node_state import PodTakes
from dra_lab.topology.locality import localities


def pods_by_node(answer: BestPlan) -> list[PodsOnNode]:
    """Return which node takes which pattern: patterns with most replicas first, nodes by name."""
    if answer.chosen is None:
        return []
    by_node: list[PodsOnNode] = []
    for table, member, counts in answer.classed.placed(answer.chosen):
        by_node.append(table.on_nodes(member, counts))
    by_node += answer.classed.on_shared(answer.chosen)
    return _joined(sorted(by_node, key=attrgetter("node")))


def _joined(by_node: Sequence[PodsOnNode]) -> list[PodsOnNode]:
    """Return pods on leaves of one node together; they take of different groups."""
    found: list[PodsOnNode] = []
    for _, some in groupby(by_node, key=lambda on_node: (on_node.node, id(on_node.site))):
        mine = list(some)
        if len(mine) == 1:
            found += mine
            continue
        counts = tuple(map(sum, zip(*(one.counts for one in mine), strict=True)))
        found.append(PodsOnNode(mine[0].site, mine[0].node, counts, partial(_by_part, mine)))
    return found


def _by_part(leaves: Sequence[PodsOnNode]) -> tuple[PodTakes, ...]:
    rows = [(at, take) for one in leaves for at, take in zip(_parts(one.counts), one.takes, strict=True)]
    return tuple(take for _, take in sorted(rows, key=itemgetter(0)))


def _parts(counts: Counts) -> Iterator[int]:
    """Yield the position of the part of each pod."""
    for at, count in enumerate(counts):
        yield from [at] * count


_Placed = tuple[tuple[Placement, ...], tuple[GoalValue, ...]]
"""The placements of one pod, and their values."""


def pods_of(fleet: FleetProblem, by_node: Sequence[PodsOnNode], order: Sequence[str]) -> tuple[PlacedPod, ...]:
    """Return every placed pod with its devices and values of goals; pods of a workload are numbered by node."""
    found: list[list[PlacedPod]] = [[] for _ in fleet.pods]
    writer = _Writer(fleet, tuple(order))
    for on_node in by_node:
        for pod, node, placed in writer.placed(on_node):
            name, mine = fleet.pods[pod].workload.name, found[pod]
            for placements, goals in placed:
                mine.append(PlacedPod(name, len(mine), node, placements, goals))
    return tuple(chain.from_iterable(found))


@dataclass(frozen=True, slots=True)
class _Row:
    """Devices of a group for an ask, as placements tell them.

    `inner` is the reference in the pod's expanded drawing. `alone` says that no other pod gets such a device, `admin`
    that the pod only looks into it. `look` is a number for the request and the kind of devices, `places` has one for
    each place where they are, -1 if it is not known.
    """

    look: int
    places: tuple[int, ...]
    inner: str
    request: str
    claim: str
    consumed: Mapping[str, str]
    alone: bool
    admin: bool


@dataclass(slots=True)
class _Known:
    """What is the same for all pods that take the same of equal nodes; `goals` are not known before the first of them.

    `takes` has the row, ask, group and number of devices of each take; devices that a pod keeps come first in `order`.
    """

    takes: Sequence[tuple[_Row, int, int, int]]
    order: Sequence[int]
    goals: tuple[GoalValue, ...] | None = None


class _Writer:
    """Pods on nodes; the values of equal devices of the same hardware are counted once."""

    def __init__(self, fleet: FleetProblem, order: tuple[str, ...]) -> None:
        self._fleet, self._order = fleet, order
        self._rows: dict[tuple[object, ...], _Row] = {}
        self._numbers: dict[object, int] = {}
        self._goals: dict[object, tuple[GoalValue, ...]] = {}
        self._asked: dict[int, DrawnAsks] = {}
        # With a site each: its place in memory, by which it is known here, is not used again.
        self._pods: dict[object, tuple[Site, dict[PodTakes, _Known]]] = {}
        self._views: dict[tuple[int, str], tuple[Site, tuple[DeviceGroup, ...]]] = {}
        self._looks_in = any(ask.admin_access for ask in fleet.scan.rules.asks)

    def placed(self, on_node: PodsOnNode) -> Iterator[tuple[int, str, list[_Placed]]]:
        """Yield the pods of each workload on a node."""
        site = on_node.site
        where: object = id(site)
        if site.state is not None:
            where = self._fleet.scan.layouts[site.state.layout].kinds or site.state.layout
        every = self._fleet.survey.devices(on_node.node, held_too=True) if self._looks_in and site.state else {}
        groups = {group for mine in on_node.takes for _, group, _ in mine}
        left = devices_of(self._fleet, site, on_node.node, groups)
        for part, node, takes in on_node.parts():
            _, known = self._pods.setdefault((where, part.asks), (site, {}))
            placed: list[_Placed] = []
            for mine in takes:
                pod = known.get(mine)
                if pod is None:
                    pod = known[mine] = self._looked_up(site, part, mine)
                placements = _given_to(pod, left, every)
                if pod.goals is None:
                    pod.goals = self._valued(node, part, pod, placements)
                placed.append((placements, pod.goals))
            yield part.pod, node, placed

    def _looked_up(self, site: Site, part: CopyPart, mine: PodTakes) -> _Known:
        """Return the rows of what a pod takes of groups of a site's problem, or of its layout if its state is known."""
        layout = None if site.state is None else self._fleet.scan.layouts[site.state.layout]
        problem, kinds = (site.problem, ()) if layout is None else (layout.problem, layout.kinds)
        takes = []
        groups = self._seen(site, problem, part.node)
        for ask, at, count in sorted(mine):
            one = groups[at]
            # Members are equal up to the names of devices and places, and so are their values.
            where: object = (id(site), part.node) if layout is None else kinds or id(problem)
            key = (ask, where, at)
            row = self._rows.get(key)
            if row is None:
                row = self._rows[key] = self._made(site, problem, part, ask, one)
            takes.append((row, ask, at, count))
        order = sorted(range(len(takes)), key=lambda at: takes[at][0].admin)
        return _Known(takes, order)

    def _seen(self, site: Site, problem: AllocationProblem, node: str) -> tuple[DeviceGroup, ...]:
        """Return the groups of a problem as a node sees them; nodes that share devices see other places."""
        if not isinstance(problem, JointProblem):
            return problem.groups
        key = (id(site), node)
        if key not in self._views:
            self._views[key] = (site, problem.seen_from(node))
        return self._views[key][1]

    def _made(self, site: Site, problem: AllocationProblem, part: CopyPart, ask: int, group: DeviceGroup) -> _Row:
        uses = dict(dict(group.uses).get(ask, ()))
        consumed = {key: format_quantity(amount) for key, amount in sorted(uses.items())}
        admin = problem.asks[ask].admin_access
        # where devices are told apart for it, each has a group of its own
        inspected = site.state is None and any(problem.asks[other].admin_access for other in group.asks)
        pod = self._fleet.pods[part.pod]
        where, _, reference = problem.asks[ask].reference.partition(MARK)
        alone = not (group.shareable or inspected or admin)
        look = self._number(ask, group.kind, group.shareable, *map(len, group.places))
        places: list[tuple[object, object]] = [("numa", group.numa), ("root", group.root)]
        places += [(link, place) for link, mine in enumerate(group.places) for place in mine]
        numbers = tuple([-1 if place is None else self._number(what, place) for what, place in places])
        if not pod.several:
            return _Row(look, numbers, reference, pod.drawn(0, reference), "", consumed, alone, admin)
        position = int(where.partition(".")[2])
        claim = pod.workload.claims[position].name
        inner = f"{claim}{MARK}{reference}"
        return _Row(look, numbers, inner, pod.drawn(position, reference), claim, consumed, alone, admin)

    def _valued(self, node: str, part: CopyPart, pod: _Known, placements: Sequence[Placement]) -> tuple[GoalValue, ...]:
        first: dict[int, int] = {}
        for _, _, group, _ in pod.takes:
            first.setdefault(group, len(first))
        identical = (part.pod, *_renumbered(pod.takes, first))
        if identical not in self._goals:
            inner = [row.inner for row, _, _, count in pod.takes for _ in range(count)]
            scale = scale_on(self._fleet, self._fleet.pods[part.pod], node)
            renamed = [Placement(name, placement.device) for placement, name in zip(placements, inner, strict=True)]
            if part.pod not in self._asked:
                self._asked[part.pod] = asked_of(scale.sketch)
            self._goals[identical] = value_placements(scale, renamed, self._order, self._asked[part.pod])
        return self._goals[identical]

    def _number(self, *what: object) -> int:
        return self._numbers.setdefault(what, len(self._numbers))


def _given_to(
    pod: _Known, left: Mapping[int, list[DeviceID]], every: Mapping[int, list[DeviceID]]
) -> tuple[Placement, ...]:
    """Return the placements of one pod, in the order of its takes, and leave what is `left` for others.

    If claims look into devices, `every` has them all; a pod does not look into a device that is its own already.
    """
    given: dict[int, list[DeviceID]] = {}
    for at in pod.order:
        row, _, group, count = pod.takes[at]
        if every and row.admin:
            own = {device for devices in given.values() for device in devices}
            given[at] = [device for device in every[group] if device not in own][:count]
        else:
            able = left.get(group, [])
            given[at] = able[:count]
            if row.alone:
                del able[:count]
    rows = enumerate(row for row, _, _, _ in pod.takes)
    return tuple([Placement(row.request, one, "", row.consumed, row.claim) for at, row in rows for one in given[at]])


def _renumbered(takes: Sequence[tuple[_Row, int, int, int]], first: Mapping[int, int]) -> list[int]:
    """Return what a pod takes with numbers instead of places: goals count which places are the same, not their names.

    NUMA nodes, and the roots of each, are in the order of what is taken there: most pods with the same values have
    the same numbers then. `first` has a number for each group.
    """
    inside: dict[int, dict[int, list[tuple[int, int, int, int]]]] = {}
    for at, (row, _, group, count) in enumerate(takes):
        numa, root = row.places[:2]
        # A number below -1 stands for a group.
        inside.setdefault(numa, {}).setdefault(root, []).append((row.look, count, at, -2 - first[group]))
    numas = [sorted([sorted(root) for root in roots.values()], key=_looks) for roots in inside.values()]
    numas.sort(key=lambda roots: [*map(_looks, roots)])
    numbers: dict[int, int] = {}
    found: list[int] = []
    for look, count, at, group in (one for roots in numas for root in roots for one in root):
        found += (look, count, numbers.setdefault(group, len(numbers)))
        found += [-1 if place == -1 else numbers.setdefault(place, len(numbers)) for place in takes[at][0].places]
    return found


def _looks(root: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Return what is taken on a root, wherever it is."""
    return [one[:2] for one in root]


def scale_on(fleet: FleetProblem, pod: FleetPod, node: str) -> Scale:
    """Return what the devices of a pod on a node are valued with, under the names of its expanded drawing."""
    scan = fleet.scan
    return Scale(pod.sketch, localities(scan.cluster, node), _Devices(fleet, node), pod.paired, scan.rules.lists)


class _Devices(dict):  # type: ignore[type-arg]
    """The devices of a node, looked at only when a link needs their attributes."""

    def __init__(self, fleet: FleetProblem, node: str) -> None:
        super().__init__()
        self._fleet, self._node = fleet, node

    def __missing__(self, device: DeviceID) -> object:
        self.update(self._fleet.scan.devices(self._node))
        return self[device]


def goals_of(
    fleet: FleetProblem, replicas: Sequence[PlacedPod], order: Sequence[str], nodes: int
) -> Mapping[str, GoalValue]:
    """Return the goals of a fleet counted again from its replicas."""
    # Pods with identical values share one tuple of goals: thousands of pods, some hundred values.
    times = Counter(id(replica.goals) for replica in replicas)
    values = [(value, times[at]) for at, goals in {id(r.goals): r.goals for r in replicas}.items() for value in goals]
    found = {}
    for goal in order:
        if goal == UNPLACED:
            found[goal] = GoalValue(goal, sum(fleet.demand) - len(replicas))
        elif goal == NODES:
            found[goal] = GoalValue(goal, nodes)
        else:
            mine = [(value, often) for value, often in values if value.goal == goal]
            unknown = sum(often * value.unknown for value, often in mine)
            found[goal] = GoalValue(goal, sum(often * value.value for value, often in mine), unknown=unknown)
    return found


def proven_goals(answer: BestPlan, counted: Mapping[str, GoalValue]) -> tuple[GoalValue, ...]:
    """Return the goals with their bounds; raises SolverError if the devices have higher values than the solver.

    Pods at a limit may have better values than it says: pieces of one place count once.
    """
    goals = []
    for goal in answer.goals:
        value = counted[goal.goal].value
        if value > goal.value:
            raise SolverError(
                f"goal {goal.goal!r} of the fleet: the solver says {goal.value}, the devices have "
                f"{value}; please report the claims and the cluster"
            )
        bound = None if goal.bound is None else agreed(goal.bound, value)
        goals.append(replace(counted[goal.goal], bound=bound, proven=bound is not None and bound >= value))
    return tuple(goals)
