"""How many more replicas of a workload fit, now or after a plan; and the largest job that still fits."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec.structs import replace as changed

from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import MOST_COUNTED, FleetPlan, Headroom, HeadroomOnNodes, Workload
from dra_lab.model.gang import GangPlan
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.arguments import workload_given
from dra_lab.planner.budget import Budget, Progress
from dra_lab.planner.fleet.after import held_after
from dra_lab.planner.fleet.pods import FleetProblem, look_at
from dra_lab.planner.fleet.published import PublishedBounds
from dra_lab.planner.fleet.sites import Site, each_alone, sites_of
from dra_lab.planner.waiting import awaited

if TYPE_CHECKING:
    from dra_lab.planner.fleet.site_bounds import Known
    from dra_lab.planner.fleet.tree_table import TreeTable

_GOALS = ("roots",)
"""The goals by which pods are placed if only their number is requested."""

MOST = MOST_COUNTED
"""More pods than this are not counted on one node."""


@awaited
def how_many_more(
    cluster: Cluster,
    workload: Workload,
    *,
    release: KubernetesRelease | str | None = None,
    after: FleetPlan | GangPlan | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Headroom:
    """Return how many more pods of a workload can start together, on each class of equal nodes and in all.

    Preferences may be broken, must-links not. A pod with admin access alone takes nothing away: the number ends at MOST
    on a node.

    Args:
        cluster: The cluster to count on.
        workload: The pods to count; its `replicas` do not matter.
        release: The release to plan for; default: that of the cluster.
        after: A plan whose pods count as there; default: none.
        time_limit: Seconds after which the count so far is returned; default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        The count and its bound. If a limit ended the search, `bound` is above `count`.

    Raises:
        InputError: The release is unknown.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import Workload, how_many_more, load_cluster, read_sketch
        >>> headroom = how_many_more(
        ...     load_cluster("sample:two-sockets"), Workload("lesson", read_sketch("sample:two-sockets/lesson"))
        ... )
        >>> headroom.count, headroom.bound
        (3, 3)
    """
    began = time.monotonic()
    release = cluster.target_release(release)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    workload = workload_given("workload", workload)
    headroom = headroom_of_claim(cluster, workload, release, held_after(cluster, after, release), budget, solver)
    return changed(headroom, seconds=time.monotonic() - began)


def headroom_of_claim(
    cluster: Cluster,
    workload: Workload,
    release: KubernetesRelease,
    held: AllocatedDevices | None,
    budget: Budget,
    solver: str,
) -> Headroom:
    """Return how many more pods of a workload fit beside what is held."""
    workloads, looking = [replace(workload, replicas=MOST)], budget.part(budget.shares.first)
    fleet = look_at(cluster, workloads, release, looking, held)
    return headroom_of_fleet(fleet, budget, solver)


def headroom_of_fleet(fleet: FleetProblem, budget: Budget, solver: str) -> Headroom:
    """Return how many pods of a fleet's one workload fit, with no more on a node than its replicas."""
    # The solver takes half a second to import; only who asks waits for it.
    from dra_lab.planner.fleet.most import most_pods, most_together
    from dra_lab.planner.fleet.node_components import with_components
    from dra_lab.planner.fleet.site_bounds import known_sites
    from dra_lab.planner.fleet.tree_table import tree_tables

    published = PublishedBounds(fleet)
    trees = tree_tables(fleet, _GOALS, solver, budget)
    if trees is not None:
        return _headroom_on_trees(fleet, trees, published, budget)
    sites, most = sites_of(fleet, budget), fleet.demand[0]
    shared = [site for site in sites if site.nodes]
    alone = with_components(fleet, [site for site in sites if not site.nodes], budget)
    found = known_sites(fleet, alone, most, budget, published=published)
    for known in sorted(found, key=lambda known: (-known.gap, known.site.members[0])):
        if not known.gap or budget.reached:
            break
        if budget.due:
            _report(found, budget)
        known.learn(*most_pods(known.site, most, solver, budget))
    classes = _on_nodes(found, published)
    joint = [_on_all(site, most_together(fleet, site, most, solver, budget), published) for site in shared]
    together = tuple(site.all_nodes for site in shared)
    return _headroom(fleet, [*classes, *joint, *_not_examined(fleet, [*classes, *joint], published)], together)


def _on_all(site: Site, known: tuple[int, int], published: PublishedBounds) -> HeadroomOnNodes:
    """Return what nodes that share devices hold together."""
    least, bound = known
    return HeadroomOnNodes(
        site.all_nodes, least, bound if least == bound else min(bound, published.most(site.all_nodes))
    )


def _not_examined(
    fleet: FleetProblem, classes: Sequence[HeadroomOnNodes], published: PublishedBounds
) -> Iterator[HeadroomOnNodes]:
    """Yield the nodes that time did not suffice for, with what counting published devices allows there."""
    seen = {node for found in classes for node in found.nodes}
    identical: dict[int, list[str]] = {}
    for node in fleet.scan.rules.nodes:
        if node not in seen:
            identical.setdefault(published.on(node), []).append(node)
    yield from (HeadroomOnNodes(tuple(nodes), 0, bound) for bound, nodes in identical.items())


def holds_one(fleet: FleetProblem, budget: Budget, solver: str) -> tuple[str, bool]:
    """Return a node that holds a pod of a fleet's one workload, "" if none was found; and whether that is proven.

    Devices that several nodes see are counted on each of them, because one pod stands on one node.
    """
    from dra_lab.planner.fleet.most import most_pods
    from dra_lab.planner.fleet.site_bounds import by_hardware, known_sites
    from dra_lab.planner.fleet.tree_fill import Fill
    from dra_lab.planner.fleet.tree_numbers import TreeNumbers
    from dra_lab.planner.fleet.tree_states import tree_of

    tree = tree_of(fleet)
    if tree is not None:
        fill: Fill | None = None
        for node, free in fleet.survey.states.items():
            state = tree.state(free)
            if budget.reached:
                return "", False
            fill = fill or Fill(tree, _GOALS)
            if TreeNumbers(fill, fill, state, (1,)).most[0] and fill.best(state, 0) is not None:
                return node, True
        return "", fleet.scan.complete
    left: list[Known] = []
    published = PublishedBounds(fleet)
    for identical in by_hardware(each_alone(fleet, sites_of(fleet, budget))):
        found = known_sites(fleet, identical, 1, budget, published=published)
        if holding := [known.site for known in found if known.least]:
            return min(min(site.members) for site in holding), True
        left += [known for known in found if known.most]
    for known in sorted(left, key=lambda known: known.site.members[0]):
        if budget.reached:
            break
        known.learn(*most_pods(known.site, 1, solver, budget))
        if known.least:
            return known.site.members[0], True
    return "", fleet.scan.complete and not any(known.most for known in left)


def _report(found: Sequence[Known], budget: Budget) -> None:
    """Report how many pods fit on all nodes."""
    least = sum(known.least * known.site.count for known in found)
    most = sum(known.most * known.site.count for known in found)
    budget.report_step("nodes", f"at least {least:,} fit, not more than {most:,}", least, most)


def _headroom(
    fleet: FleetProblem, classes: Sequence[HeadroomOnNodes], together: tuple[tuple[str, ...], ...]
) -> Headroom:
    """Return what classes hold in all, those that hold most first."""
    times = [1 if c.nodes in together else len(c.nodes) for c in classes]
    count = sum(c.each * n for c, n in zip(classes, times, strict=True))
    bound = sum(c.bound * n for c, n in zip(classes, times, strict=True))
    ordered = tuple(sorted(classes, key=lambda c: (-c.each, c.nodes)))
    return Headroom(fleet.pods[0].workload.name, count, bound, ordered, together)


def _headroom_on_trees(
    fleet: FleetProblem, trees: Sequence[TreeTable], published: PublishedBounds, budget: Budget
) -> Headroom:
    """Return how many pods of a fleet's one workload fit; of the trees with most copies first, if time is short."""
    copies = Counter[int]()
    for table in trees:
        copies[id(table.numbers)] += len(table.site.members)
    found: dict[int, tuple[int, int]] = {}
    for table in sorted(trees, key=lambda table: -copies[id(table.numbers)]):
        if budget.due:
            budget.report_step("nodes", f"counted on {len(found):,} of {len(copies):,} kinds of node states")
        if id(table.numbers) not in found:
            found[id(table.numbers)] = table.count(budget)
    identical: dict[tuple[int, int], list[str]] = {}
    for table in trees:
        identical.setdefault(found[id(table.numbers)], []).extend(table.site.members)
    classes = [HeadroomOnNodes(tuple(sorted(nodes)), least, most) for (least, most), nodes in identical.items()]
    return _headroom(fleet, [*classes, *_not_examined(fleet, classes, published)], ())


def _on_nodes(found: Sequence[Known], published: PublishedBounds) -> list[HeadroomOnNodes]:
    """Return what nodes hold, those with equal numbers of equal sites together; components are summed up."""
    classes = [
        HeadroomOnNodes(known.site.members, known.least, known.most) for known in found if not known.site.home_nodes
    ]
    sums: dict[str, list[int]] = {}
    for known in found:
        for node in known.site.home_nodes.values():
            mine = sums.setdefault(node, [0, 0])
            mine[0], mine[1] = mine[0] + known.least, mine[1] + known.most
    identical: dict[tuple[int, int], list[str]] = {}
    for node, (least, bound) in sorted(sums.items()):
        most = bound if least == bound else published.on(node)
        identical.setdefault((min(published.largest, least), min(published.largest, bound, most)), []).append(node)
    return classes + [HeadroomOnNodes(tuple(nodes), least, bound) for (least, bound), nodes in identical.items()]
