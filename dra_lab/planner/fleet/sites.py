"""Where pods can stand: classes of equal nodes, and the devices of each of them behind one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.names import DeviceID
from dra_lab.planner.fleet.copies import Part
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.node_classes import canonical
from dra_lab.planner.problem import AllocationProblem, DeviceGroup
from dra_lab.planner.scan import EqualNodes
from dra_lab.planner.stages import Tie


@dataclass(frozen=True)
class Site:
    """Equal places for pods: `members` are nodes with one and the same state, each by itself.

    `problem` is that of a member, its groups in the order of their fingerprint, which is the same for all members;
    `parts` are the kinds of pods that may stand there. `layout` numbers the hardware (-1: not known as such), `free`
    how many devices of each of its groups are free, and `kept` the groups of the layout that the problem has.
    """

    members: tuple[str, ...]
    problem: AllocationProblem
    parts: tuple[Part, ...]
    layout: int = -1
    free: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Return the number of members."""
        return len(self.members)

    @cached_property
    def zero(self) -> tuple[int, ...]:
        """Return the counts of an empty site."""
        return (0,) * len(self.parts)


def sites_of(fleet: Fleet) -> tuple[Site, ...]:
    """Return the classes of nodes with equal state, most members first.

    Raises UnsupportedFeature where pods on different nodes may take the same device.
    """
    _refuse_shared_nodes(fleet)
    alike: dict[object, list[EqualNodes]] = {}
    for equal in fleet.scan.classes:
        alike.setdefault(equal.now, []).append(equal)
    sites = [_site(fleet, classes) for classes in alike.values()]
    return tuple(sorted(sites, key=lambda site: (-site.count, site.members[0])))


def _site(fleet: Fleet, classes: list[EqualNodes]) -> Site:
    members = tuple(sorted(node for equal in classes for node in equal.nodes))
    first = members[0]
    parts = tuple(
        Part(number, first, pod.asks, pod.requests, pod.links, pod.paired) for number, pod in enumerate(fleet.pods)
    )
    problem, kept = table(fleet, first)
    layout, free = fleet.scan.states[first]
    return Site(members, problem, parts, layout, free, kept)


def table(fleet: Fleet, node: str) -> tuple[AllocationProblem, tuple[int, ...]]:
    """Return a node's problem with its groups in the order of their fingerprint, and that order.

    Where the node's layout is known, the groups hold as many devices as are free, not those that are.
    """
    scan = fleet.scan
    layout, free = scan.states[node]
    if layout < 0:
        problem = _told_apart(scan.problem(node))
        order = _order(problem, None, scan.rules.replicas)
        return replace(problem, groups=tuple(problem.groups[at] for at in order)), order
    problem = scan.layouts[layout].problem
    order = _order(problem, free, scan.rules.replicas)
    groups = tuple(replace(g, devices=g.devices[: free[at]]) for at in order for g in (problem.groups[at],))
    return replace(problem, groups=groups), order


def _order(problem: AllocationProblem, free: tuple[int, ...] | None, replicas: int) -> tuple[int, ...]:
    order = canonical(problem, free, replicas)[1]
    # The order of devices counts there, and stands in the fingerprint.
    return tuple(sorted(order)) if any(group.tie is Tie.TERMS for group in problem.groups) else order


def _told_apart(problem: AllocationProblem) -> AllocationProblem:
    """Return the problem with a group for each device that some ask may look into (`adminAccess`)."""
    groups: list[DeviceGroup] = []
    for group in problem.groups:
        if any(problem.asks[ask].admin_access for ask in group.asks):
            groups.extend(replace(group, devices=(device,)) for device in group.devices)
        else:
            groups.append(group)
    return replace(problem, groups=tuple(groups))


def devices_of(fleet: Fleet, site: Site, node: str) -> Mapping[int, tuple[DeviceID, ...]]:
    """Return the free devices of a member by the position of their group in the site's problem."""
    layout, _ = fleet.scan.states[node]
    if layout < 0:
        problem, _ = table(fleet, node)
        return {at: group.devices for at, group in enumerate(problem.groups)}
    order = site.kept if fleet.scan.states[node] == (site.layout, site.free) else table(fleet, node)[1]
    held = fleet.scan.rules.allocated.exclusive
    found: dict[int, list[DeviceID]] = {}
    for item, group in zip(fleet.scan.views.view(node).devices, fleet.scan.layouts[layout].group_of, strict=True):
        if group >= 0 and item.id not in held:
            found.setdefault(group, []).append(item.id)
    return {at: tuple(found.get(group, ())) for at, group in enumerate(order)}


def _refuse_shared_nodes(fleet: Fleet) -> None:
    if not fleet.scan.cluster.network_slices:
        return
    seen: dict[DeviceID, str] = {}
    for equal in fleet.scan.classes:
        for node in equal.nodes:
            for group in fleet.scan.problem(node).groups:
                for device in group.devices:
                    if seen.setdefault(device, node) != node:
                        raise UnsupportedFeature(
                            "network-attached devices",
                            f"{device} can be reached from {seen[device]} and from {node}, and a plan for many pods "
                            "does not know that yet; add a selector that leaves such devices out",
                        )
