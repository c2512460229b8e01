"""Headroom for gangs: how many more fit, in all and in each domain, and what the domains lack."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import MOST_COUNTED, FleetPlan
from dra_lab.model.gang import GANGS, HOST, Gang, GangCount, GangHeadroom, GangPlan
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.arguments import gangs_given
from dra_lab.planner.budget import Budget, Progress, Sizes
from dra_lab.planner.fleet.after import held_after
from dra_lab.planner.fleet.fleet_work import Clock
from dra_lab.planner.gangs.levels import Together, together
from dra_lab.planner.gangs.model import GangModel
from dra_lab.planner.gangs.needs import GangNeed, Needs, read_needs, without_preferences
from dra_lab.planner.gangs.problem import GangProblem, problem_of
from dra_lab.planner.gangs.reasons import lacking
from dra_lab.planner.gangs.search import best_solution
from dra_lab.planner.states.columns import Array
from dra_lab.planner.waiting import awaited
from dra_lab.topology.hierarchies import hierarchies as levels_of

Cells = Sequence[tuple[int, int]]
"""Profiles, each with a number of nodes."""


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
    problem = problem_of(cluster, every[gang.required], release, budget, held, solver, Clock())
    problems = {level: problem.of(needs) for level, needs in every.items()}
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
    _, (goal,) = best_solution(problem, solver, budget, goals=1)
    return MOST_COUNTED - goal.value, MOST_COUNTED - (goal.bound or 0)


def headroom_by_domain(
    problem: GangProblem, gangs: Sequence[Gang], solver: str, budget: Budget
) -> tuple[GangHeadroom, ...]:
    """Return for each gang what each domain of its required level has, as long as there is time."""
    found: list[GangHeadroom] = []
    known: dict[GangNeed, list[GangHeadroom]] = {}
    place = {at: need for need in problem.needs.gangs for at in need.gangs}
    for at, gang in enumerate(gangs):
        if at not in place or budget.reached:
            continue
        required = without_preferences(place[at])
        if required not in known:
            known[required] = list(_headroom_of_need(problem, required, gang, solver, budget))
        for headroom in known[required]:
            count, bound = (min(gang.replicas, number) for number in (headroom.gangs, headroom.gangs_bound))
            found.append(changed(headroom, gang=gang.name, gangs=count, gangs_bound=bound))
    return tuple(found)


def _headroom_of_need(
    problem: GangProblem, need: GangNeed, gang: Gang, solver: str, budget: Budget
) -> Iterator[GangHeadroom]:
    """Yield what each domain has for a gang."""
    beside = gang.size - sum(group.most for group in need.groups[: need.pods])
    rooms = _Rooms(problem, need, solver, budget.sizes)
    for path, nodes in problem.nodes_inside[need.required].items():
        regions = problem.inside[need.required].get(path, [])
        most, bound, count, count_bound = rooms.of(regions, budget)
        # Pods that have only shared claims have a place where these have one, also if no whole gang fits.
        most += beside if count else 0
        bound += beside if count_bound or len(need.groups) > 1 else 0
        reasons = lacking(problem, need, nodes, budget) if most < gang.size else []
        yield GangHeadroom(gang.name, path, most, bound, gang.least, gang.size, count, count_bound, tuple(reasons))


class _Rooms:
    """How many pods of one gang, and how many gangs, domains have: domains with the same nodes have the same."""

    def __init__(self, problem: GangProblem, need: GangNeed, solver: str, sizes: Sizes) -> None:
        self.problem, self.need, self.solver, self.sizes = problem, need, solver, sizes
        self.plain = not any(group.required >= 0 or group.slices for group in need.groups)
        self.listed = self.plain and all(profile.least is not None for profile in problem.profiles)
        self.least, self.most, self.shared = np.zeros((3, problem.kinds), np.int64)
        for at, group in enumerate(need.groups):
            self.least[group.kind] += group.least
            self.most[group.kind] += group.most
            self.shared[group.kind] += at >= need.pods
        self._known: dict[object, tuple[int, int, int, int]] = {}

    def of(self, regions: Sequence[int], budget: Budget) -> tuple[int, int, int, int]:
        """Return the most pods of one gang in regions and its bound, and the same of whole gangs."""
        problem, need = self.problem, self.need
        pods = [(group, problem.pods_in(regions, group.kind)) for group in need.groups]
        bound = sum(min(group.most, cap) for group, cap in pods[: need.pods])
        count = min(cap // group.least for group, cap in pods if group.least)
        cells = problem.profiles_of(regions)
        if self.plain and len(need.groups) == 1:
            [group] = need.groups
            have = sum(problem.profiles[profile].most[group.kind] * nodes for profile, nodes in cells)
            return min(have, group.most, bound), bound, have // group.least, count
        key = cells if self.plain else tuple(regions)
        if key in self._known:
            return self._known[key]
        if not (bound or count) or problem.not_examined:
            return 0, bound, 0, count
        found = self._of_tables(regions, cells) if self.listed and not budget.reached else None
        if found is None:
            part = replace(problem, cells={at: nodes for at, nodes in problem.cells.items() if at[0] in regions})
            one = self._of_model(part, budget, bound, whole=False)
            found = *one, *self._of_model(part, budget, count, whole=True)
            if budget.reached:
                return found
        self._known[key] = found
        return found

    def _of_tables(self, regions: Sequence[int], cells: Cells) -> tuple[int, int, int, int] | None:
        """Return the numbers by listing all numbers of pods that fit together, None if they are too many."""
        headroom = np.array([self.problem.pods_in(regions, kind) for kind in range(self.problem.kinds)])
        times = int(min(headroom[self.least > 0] // self.least[self.least > 0]))
        limits = np.minimum(headroom, np.maximum(self.most, self.least * times))
        if np.prod(limits + 1.0) > self.sizes.domain_pods:
            return None
        bounds = self._fits(cells, limits, least=True)
        found = bounds if self.problem.closed else self._fits(cells, limits, least=False)
        pods, gangs = [], []
        for fits in (found, bounds):
            every = np.argwhere(fits)
            every = every[((every >= self.shared) & (every <= self.most)).all(axis=1)] - self.shared
            pods.append(int(every.sum(axis=1).max(initial=0)))
            gangs.append(next((n for n in range(times, 0, -1) if fits[tuple(self.least * n)]), 0))
        return pods[0], pods[1], gangs[0], gangs[1]

    def _fits(self, cells: Cells, limits: Array, *, least: bool) -> Array:
        """Say of all numbers of pods up to limits whether nodes hold them, by the ways that may exist or were found."""
        fits = np.zeros(limits + 1, bool)
        fits[(0,) * len(limits)] = True
        for number, nodes in cells:
            profile = self.problem.profiles[number]
            able = np.array([*((profile.least or {}) if least else profile.found)], np.int64)
            ways = able[(able <= limits).all(axis=1)]
            for _ in range(nodes):
                before, fits = fits, fits.copy()
                for counts in ways:
                    start = tuple(slice(None, end) for end in limits + 1 - counts)
                    fits[tuple(slice(count, None) for count in counts)] |= before[start]
        return fits

    def _of_model(self, part: GangProblem, budget: Budget, most: int, *, whole: bool) -> tuple[int, int]:
        """Return the most gangs, or pods of one gang, that nodes have, and what they surely do not exceed."""
        if not most:
            return 0, 0
        pods = self.need.pods
        groups = tuple(
            replace(group, least=group.least if whole or at >= pods else 0) for at, group in enumerate(self.need.groups)
        )
        alone = replace(self.need, groups=groups, gangs=(0,) * (most if whole else 1))
        part = replace(part, needs=Needs(part.needs.kinds, part.needs.tiers, [alone], []))
        found, bound = 0, most
        for least in (False,) if part.closed else (False, True):
            model = GangModel(part, self.solver, budget, least=least)
            outcome = model.minimise(model.sums[GANGS] if whole else model.of_groups(pods), budget)
            if not least:
                found = -(outcome.value or 0)
            if (least or part.closed) and (outcome.infeasible or outcome.bound is not None):
                bound = min(most, found if outcome.bound is None else -outcome.bound)
        return found, bound
