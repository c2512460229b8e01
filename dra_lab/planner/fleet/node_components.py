"""Nodes as components that no pod straddles: each GPU with its partitions or shares is filled by itself.

Benchmark row that needs it: shares of GPU memory on 200 nodes (`bench_crowded`) take 0.5 s to the proof, and 3.5 s
without it, with the number of nodes open.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from msgspec.structs import replace as changed

from dra_lab.index.counter_draws import Counter as SharedCounter
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import pod_limits
from dra_lab.planner.fleet.fill import most_vectors
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.sites import Site, devices_of, idle_site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node_classes import canonical
from dra_lab.planner.states.columns import Array, Columns, columns_of, joined
from dra_lab.planner.states.node_state import state_problem
from dra_lab.planner.states.stock import is_listable

Positions = tuple[int, ...]
"""Groups of a problem, by their positions."""


@dataclass(frozen=True)
class _Component:
    """One component of each member of a site: its groups, in the order in which equal components have theirs."""

    site: Site
    number: int
    groups: Positions


def with_components(fleet: FleetProblem, sites: Sequence[Site], budget: Budget) -> list[Site]:
    """Return the sites, those that hold too many pods to list all their numbers replaced by their components.

    Two groups of devices are in one component if some pod can take of both, or if they draw on the same counter.
    Identical components, of one node or of several, are one site. The node of a pod is known then. The number of nodes
    that some numbers of pods use is not, so components are counted instead. At a limit the sites that are left stay as
    they are, and come last.
    """
    kept: list[Site] = []
    left: list[Site] = []
    identical: dict[object, list[_Component]] = {}
    known: dict[int, tuple[Positions, ...]] = {}
    most = most_vectors(len(sites), fleet.sizes)
    looks = _Looks(fleet)
    for site in sites:
        if budget.reached:
            left.append(site)
            continue
        components = _of_site(fleet, site, known, most)
        if len(components) < 2:
            kept.append(site)
            continue
        for number, groups in enumerate(components):
            key, order = looks.of(site, groups)
            identical.setdefault(key, []).append(_Component(site, number, tuple(groups[at] for at in order)))
    # Components of one node are asked for one after the other.
    latest: dict[str, Mapping[int, list[DeviceID]]] = {}

    def whole(site: Site, node: str) -> Mapping[int, list[DeviceID]]:
        if node not in latest:
            latest.clear()
            latest[node] = devices_of(fleet, site, node)
        return latest[node]

    return [*kept, *(_site_of(components, whole) for components in identical.values()), *left]


def _site_of(components: Sequence[_Component], whole: Callable[[Site, str], Mapping[int, list[DeviceID]]]) -> Site:
    where = {
        f"{node} {component.number}": (node, component) for component in components for node in component.site.members
    }
    members = tuple(sorted(where, key=lambda member: (where[member][0], where[member][1].number)))
    first, component = where[members[0]]
    parts = tuple(part._replace(node=first) for part in component.site.parts)
    problem = _narrowed(component.site.problem, component.groups)

    def devices(member: str) -> Mapping[int, list[DeviceID]]:
        node, mine = where[member]
        every = whole(mine.site, node)
        return {at: list(every[mine.site.kept[group]]) for at, group in enumerate(mine.groups)}

    home_nodes = {member: node for member, (node, _) in where.items()}
    return Site(members, parts, lambda: problem, devices=devices, home_nodes=home_nodes)


@dataclass
class _Looks:
    """The fingerprints of components, each looked at once by what is left there: of many nodes only few differ."""

    fleet: FleetProblem
    known: dict[Hashable, tuple[object, Positions]] = field(default_factory=dict)
    counters: dict[tuple[int, Positions], Positions] = field(default_factory=dict)

    def of(self, site: Site, groups: Positions) -> tuple[object, Positions]:
        """Return the fingerprint of a component, and its order of the groups, by their places in `groups`."""
        state = site.state
        if state is None:
            return self._look(site, groups)
        mine = tuple(site.kept[at] for at in groups)
        held = dict(state.left)
        left = tuple((at, held[at]) for at in mine if at in held)
        counters = tuple(state.counters[at] for at in self._drawn_on(state.layout, mine)) if state.counters else ()
        key = (state.layout, mine, tuple(state.free[at] for at in mine), left, counters)
        if key not in self.known:
            self.known[key] = self._look(site, groups)
        return self.known[key]

    def _look(self, site: Site, groups: Positions) -> tuple[object, Positions]:
        if site.state is None:
            return canonical(_narrowed(site.problem, groups), None, self.fleet.scan.rules.replicas)
        # without making the problem of the whole node
        at = {site.kept[group]: number for number, group in enumerate(groups)}
        problem, kept = state_problem(self.fleet.scan.layouts[site.state.layout], site.state, frozenset(at))
        mine = _narrowed(problem, tuple(range(len(kept))))
        key, order = canonical(mine, None, self.fleet.scan.rules.replicas)
        return key, tuple(at[kept[group]] for group in order)

    def _drawn_on(self, layout: int, groups: Positions) -> Positions:
        """Return the counters, by position, that some groups of a layout draw on."""
        if (layout, groups) not in self.counters:
            problem = self.fleet.scan.layouts[layout].problem
            drawn = {counter for at in groups for counter, _ in problem.groups[at].draws}
            self.counters[layout, groups] = tuple(at for at, (name, _) in enumerate(problem.counters) if name in drawn)
        return self.counters[layout, groups]


def _of_site(
    fleet: FleetProblem, site: Site, known: dict[int, tuple[Positions, ...]], most: int
) -> tuple[Positions, ...]:
    """Return the components of a site, () where it is better looked at whole; `known` are those of idle hardware."""
    if site.nodes:
        return ()
    if site.state is None:
        return components_of(site.problem, site.parts, fleet.sizes.pod_ways) if _is_full(fleet, site, most) else ()
    layout = site.state.layout
    if layout not in known:
        idle = fleet.scan.layouts[layout].problem
        whole = idle_site(idle, site.parts)
        known[layout] = components_of(idle, site.parts, fleet.sizes.pod_ways) if _is_full(fleet, whole, most) else ()
    at = {group: position for position, group in enumerate(site.kept)}
    mine = (tuple(at[group] for group in groups if group in at) for groups in known[layout])
    return tuple(groups for groups in mine if groups)


def _is_full(fleet: FleetProblem, site: Site, most: int) -> bool:
    # a solver decides each number where counters are shared
    most = fleet.sizes.replicas if site.problem.counters else most
    return pod_limits(site, fleet.demand).vectors(most) is None


def components_of(problem: AllocationProblem, parts: Sequence[CopyPart], most: int) -> tuple[Positions, ...]:
    """Return the groups of a problem that no pod and no counter joins with others, together; () if that is unknown.

    It is not known either where a pod has more than `most` ways. Groups that no pod can take are on none.
    """
    if not is_listable(problem, parts) or any(ask.admin_access for ask in problem.asks):
        return ()
    counters = {counter: number for number, (counter, _) in enumerate(problem.counters)}
    rows: list[Array] = []
    for part in parts:
        columns = columns_of(problem, part, (), most)
        if columns is None:
            return ()
        rows.append(_touched(problem, counters, columns))
    if not rows:
        return ()
    groups = (found[found < len(problem.groups)] for found in joined(np.concatenate(rows)))
    return tuple(tuple(found.tolist()) for found in groups)


def _touched(problem: AllocationProblem, counters: Mapping[SharedCounter, int], columns: Columns) -> Array:
    """Return every set of groups that some way of a pod takes of, with the counters behind them."""
    behind = np.zeros((len(columns.pairs), len(problem.groups) + len(counters)), np.float32)
    for at, (_, group) in enumerate(columns.pairs):
        behind[
            at, [group, *(len(problem.groups) + counters[counter] for counter, _ in problem.groups[group].draws)]
        ] = 1
    return (columns.takes > 0).astype(np.float32) @ behind > 0


def _narrowed(problem: AllocationProblem, groups: Positions) -> AllocationProblem:
    """Return a problem with some of its groups; counters are named by their order, equal components have other ones."""
    mine = [problem.groups[at] for at in groups]
    used = sorted({counter for group in mine for counter, _ in group.draws})
    sets = {owner: number for number, owner in enumerate(dict.fromkeys(counter[:2] for counter in used))}
    named = {counter: (sets[counter[:2]], "", counter[2]) for counter in used}
    drawn = tuple(changed(g, draws=tuple(sorted((named[c], amount) for c, amount in g.draws))) for g in mine)
    left = tuple(sorted((named[counter], amount) for counter, amount in problem.counters if counter in named))
    return changed(problem, groups=drawn, counters=left)
