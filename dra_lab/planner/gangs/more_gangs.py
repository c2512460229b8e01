"""how_many_more_gangs: how many gangs that are alike fit, in each domain and in all, and what each level costs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import MOST_COUNTED, FleetPlan
from dra_lab.model.gang import HOST, Gang, GangCount, GangPlan
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.arguments import gangs_given
from dra_lab.planner.budget import Budget, Progress
from dra_lab.planner.fleet.after import held_after
from dra_lab.planner.fleet.fleet_work import Clock
from dra_lab.planner.gangs.claim_nodes import together
from dra_lab.planner.gangs.domain_headroom import headroom_by_domain
from dra_lab.planner.gangs.needs import Needs, Together, read_needs
from dra_lab.planner.gangs.plan_gangs import tables_for
from dra_lab.planner.gangs.problem import GangProblem, over_nodes
from dra_lab.planner.waiting import awaited
from dra_lab.topology.hierarchies import hierarchies as levels_of


@awaited
def how_many_more_gangs(
    cluster: Cluster,
    gang: Gang,
    *,
    hierarchies: Sequence[Hierarchy] | None = None,
    release: KubernetesRelease | str | None = None,
    after: GangPlan | FleetPlan | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> GangCount:
    """Return how many more gangs fit with their minimum, in all and in each domain of the required level.

    Args:
        cluster: The cluster to count on.
        gang: The gang to count; its `replicas` and what it prefers do not matter.
        hierarchies: The levels above the nodes; default: those of the cluster.
        release: The release to plan for; default: that of the cluster.
        after: A plan whose pods count as there; default: none.
        time_limit: Seconds after which the count so far is returned; default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        The count and its bound, what each domain has, and the count with every other level instead of the required one.

    Raises:
        InputError: The gang, a level or the release is unknown or makes no sense.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import Gang, GangGroup, Workload, how_many_more_gangs, load_cluster, read_sketch

        Both workers must be on one node.

        >>> pair = GangGroup(Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2))
        >>> more = how_many_more_gangs(load_cluster("sample:two-sockets"), Gang("pair", [pair], required="host"))
        >>> more.count, more.levels[""]
        (1, (1, 1))
    """
    began = time.monotonic()
    release = cluster.target_release(release)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    (gang,) = gangs_given("gang", [gang])
    held = held_after(cluster, after, release)
    known = levels_of(cluster) if hierarchies is None else hierarchies
    every = dict(_by_level(cluster, gang, known, together(cluster, release)))
    fleet, pairs = tables_for(cluster, every[gang.required], release, budget, held, solver, Clock())
    problems = {level: over_nodes(fleet, needs, pairs, cluster.cordoned) for level, needs in every.items()}
    count, bound = _counted(problems[gang.required], solver, budget.part(budget.shares.step))
    counted = replace(_plain(gang), replicas=MOST_COUNTED)
    headrooms = headroom_by_domain(problems[gang.required], [counted], solver, budget.part(budget.shares.step))
    levels = {
        level: (count, bound) if level == gang.required else _counted(problem, solver, budget)
        for level, problem in problems.items()
    }
    return GangCount(gang.name, count, bound, headrooms, levels, time.monotonic() - began)


def _plain(gang: Gang) -> Gang:
    """Return a gang without what it prefers, and as many of it as are counted."""
    groups = [replace(group, preferred="") for group in gang.groups]
    return replace(gang, groups=groups, preferred="", replicas=MOST_COUNTED, priority=0)


def _by_level(
    cluster: Cluster, gang: Gang, hierarchies: Sequence[Hierarchy], seen: Together
) -> Iterator[tuple[str, Needs]]:
    """Yield the needs of a gang with each level required, without those that its groups do not allow."""
    plain = _plain(gang)
    yield gang.required, read_needs([plain], (), hierarchies, cluster.node_names, seen)
    named = [one for one in hierarchies if gang.hierarchy in ("", one.name)]
    mine = named[0] if len(named) == 1 else None
    names = ["", *([level.name for level in mine.levels] if mine is not None else []), HOST]
    for name in names:
        if name != gang.required:
            try:
                other = replace(plain, required=name, hierarchy=mine.name if mine is not None else gang.hierarchy)
                yield name, read_needs([other], (), hierarchies, cluster.node_names, seen)
            except InputError:
                continue


def _counted(problem: GangProblem, solver: str, budget: Budget) -> tuple[int, int]:
    """Return how many gangs fit, and how many surely do not exceed."""
    # The solver takes half a second to import; only who asks waits for it.
    from dra_lab.planner.gangs.improve import best_solution

    goal = best_solution(problem, solver, budget, goals=1).goals[0]
    return MOST_COUNTED - goal.value, MOST_COUNTED - (goal.bound or 0)
