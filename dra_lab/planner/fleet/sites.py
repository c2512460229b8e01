"""Where pods can stand: classes of equal nodes, and the devices of each of them behind one table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.question import FleetProblem
from dra_lab.planner.fleet.together import joint, joint_parts, shared_nodes, table
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.states.node_state import NodeState, PodTakes, kept_groups, state_problem


@dataclass(frozen=True)
class Site:
    """Equal places for pods: `members` are nodes with one and the same state, each by itself.

    `problem` is that of a member; its groups are in one order for all members. `parts` are the kinds of pods that may
    stand there. `state` is that of the first member where the nodes' states are known, and `keep` returns the group of
    its layout behind each group of the problem. If nodes share devices, a member is a set of them under the name of the
    first, and `nodes` holds these sets. A part is then a kind of pod on one node of the first set. `devices` finds the
    devices of a member if nothing else tells them. If members are components of nodes, `home_nodes` says of which node.
    """

    members: tuple[str, ...]
    parts: tuple[CopyPart, ...]
    make: Callable[[], AllocationProblem] = field(repr=False, compare=False)
    state: NodeState | None = None
    keep: Callable[[], tuple[int, ...]] | None = field(default=None, repr=False, compare=False)
    nodes: tuple[tuple[str, ...], ...] = ()
    devices: Callable[[str], Mapping[int, list[DeviceID]]] | None = field(default=None, repr=False, compare=False)
    home_nodes: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def problem(self) -> AllocationProblem:
        """Return the problem of a member."""
        return self.make()

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """Return the group that plans name for each group of the problem: of the layout if the state is known."""
        return tuple(range(len(self.problem.groups))) if self.keep is None else self.keep()

    @property
    def count(self) -> int:
        """Return the number of members."""
        return len(self.members)

    def node(self, member: str, part: CopyPart) -> str:
        """Return the node of a member on which pods of a part stand."""
        if not self.nodes:
            return self.home_nodes.get(member, member)
        return self.nodes[self.members.index(member)][self.nodes[0].index(part.node)]

    @property
    def all_nodes(self) -> tuple[str, ...]:
        """Return the nodes of all members."""
        if self.home_nodes:
            return tuple(dict.fromkeys(self.home_nodes.values()))
        return tuple(node for nodes in self.nodes for node in nodes) if self.nodes else self.members


@dataclass(frozen=True, eq=False)
class PodsOnNode:
    """The pods on one node: as many of each part as `counts` says. `takes` looks for their devices if they are needed.

    Counting pods needs no devices: 89,166 shares of memory on 300 nodes are counted in 0.9 s instead of 4.9 s.
    """

    site: Site
    node: str
    counts: tuple[int, ...]
    find: Callable[[], tuple[PodTakes, ...]] = field(repr=False)

    @cached_property
    def takes(self) -> tuple[PodTakes, ...]:
        """Return what each pod takes, part by part."""
        return self.find()

    def pods(self) -> Iterator[tuple[str, int]]:
        """Yield the node of each part that has pods, and their number."""
        for part, count in zip(self.site.parts, self.counts, strict=True):
            if count:
                yield self.site.node(self.node, part), count

    def parts(self) -> Iterator[tuple[CopyPart, str, tuple[PodTakes, ...]]]:
        """Yield each part that has pods, the node on which they are, and what they take."""
        first = 0
        for part, count in zip(self.site.parts, self.counts, strict=True):
            if count:
                yield part, self.site.node(self.node, part), self.takes[first : first + count]
            first += count


def sites_of(fleet: FleetProblem) -> tuple[Site, ...]:
    """Return the classes of nodes with equal state, most members first; nodes that share devices are one place."""
    identical: dict[NodeState, list[str]] = {}
    for node, state in fleet.survey.states.items():
        identical.setdefault(state, []).append(node)
    together = shared_nodes(fleet)
    coupled = {node for nodes in together for node in nodes}
    alone = [node for equal in fleet.scan.classes for node in equal.nodes if node not in coupled]
    sites = [plain_site(fleet, state, nodes) for state, nodes in identical.items()]
    sites += [*(_together(fleet, nodes) for nodes in together), *alone_sites(fleet, alone)]
    return tuple(sorted(sites, key=lambda site: (-site.count, site.members[0])))


def parts_on(fleet: FleetProblem, node: str) -> tuple[CopyPart, ...]:
    """Return the kinds of pods of a fleet, as they may stand on a node."""
    return tuple(
        CopyPart(number, node, pod.asks, pod.requests, pod.links, pod.paired) for number, pod in enumerate(fleet.pods)
    )


def plain_site(fleet: FleetProblem, state: NodeState, nodes: Sequence[str]) -> Site:
    """Return nodes that are all in one known state as a site."""
    layout = fleet.scan.layouts[state.layout]
    return Site(
        tuple(sorted(nodes)),
        parts_on(fleet, min(nodes)),
        lambda: state_problem(layout, state),
        state,
        partial(kept_groups, layout, state),
    )


def alone_sites(fleet: FleetProblem, nodes: Iterable[str]) -> list[Site]:
    """Return the classes of some nodes, each node by itself, as if no other node took what others see too."""
    wanted = set(nodes)
    identical: dict[object, list[str]] = {}
    for equal in fleet.scan.classes:
        if mine := [node for node in equal.nodes if node in wanted]:
            identical.setdefault(equal.now, []).extend(mine)
    found = []
    for mine in identical.values():
        members = tuple(sorted(mine))
        found.append(Site(members, parts_on(fleet, members[0]), partial(table, fleet, members[0])))
    return found


def _together(fleet: FleetProblem, nodes: tuple[str, ...]) -> Site:
    """Return nodes that share devices as one place, without looking at them yet."""
    parts = tuple(part for at, node in enumerate(nodes) for part in joint_parts(fleet, at, node))

    def make() -> AllocationProblem:
        found = joint(fleet, nodes)
        assert found is not None, "without a limit all nodes are looked at"
        return found

    def devices(_: str) -> Mapping[int, list[DeviceID]]:
        return {at: list(group.devices) for at, group in enumerate(site.problem.groups)}

    site = Site((nodes[0],), parts, make, nodes=(nodes,), devices=devices)
    return site


def seen_together(fleet: FleetProblem, site: Site, budget: Budget) -> Site | None:
    """Return nodes that share devices with their problem, None where time was up before all of them were looked at."""
    problem = joint(fleet, site.nodes[0], budget)
    return None if problem is None else replace(site, make=lambda: problem)


def whole_site(fleet: FleetProblem, node: str) -> Site:
    """Return a node that shares devices with others, as if no other node took them."""
    return Site((node,), parts_on(fleet, node), partial(table, fleet, node))


def devices_of(
    fleet: FleetProblem, site: Site, node: str, groups: Collection[int] | None = None
) -> Mapping[int, list[DeviceID]]:
    """Return the free devices of a member by group, as `Site.kept` names it, of some groups at least.

    The caller may take of the lists.
    """
    if site.devices is not None:
        return site.devices(node)
    if site.state is None:
        return {at: list(group.devices) for at, group in enumerate(table(fleet, node).groups)}
    return fleet.survey.devices(node, groups)
