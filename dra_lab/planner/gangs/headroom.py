"""Headroom for gangs: how many more fit, in all and in each domain, and what the domains lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import BEYOND, GANGS
from dra_lab.model.headroom import DOMAIN, MOST_COUNTED, Bounded, Fit, Headroom, counted_to
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.model.workload import HOST, Workload
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.question import Clock
from dra_lab.planner.gangs.needs import (
    GangNeed,
    GroupNeed,
    Needs,
    Path,
    Together,
    nodes_of_claims,
    read_needs,
    required_only,
)
from dra_lab.planner.gangs.problem import GangProblem, problem_of
from dra_lab.planner.gangs.search import best_solution
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.why.funnel import matching_devices, noun_of

_Bounds = tuple[int, int]
"""At least, at most."""

_NAMED = 3
"""Nodes that a reason names."""


def headroom_of_gang(
    cluster: Cluster,
    gang: Workload,
    hierarchies: Sequence[Hierarchy],
    release: KubernetesRelease,
    budget: Budget,
    solver: str,
) -> Headroom:
    """Return how many more gangs fit with their minimum, in all and in each domain of the required level."""
    every = dict(_by_level(cluster, gang, hierarchies, partial(nodes_of_claims, cluster, release)))
    problem = problem_of(cluster, every[gang.level], release, budget, solver, Clock())
    problem = problem.decided(budget.part(budget.shares.step))
    where: tuple[Fit, ...] = ()
    levels: dict[str, Bounded] = {}
    for level, needs in every.items():
        headrooms = _DomainHeadroom(problem.of(needs), needs.gangs[0], solver, budget)
        if level == gang.level:
            headrooms.budget = budget.part(budget.shares.step)
        counts = [headrooms.gangs(path) for path in headrooms.nodes_of]
        count, bound = (min(MOST_COUNTED, sum(numbers)) for numbers in zip((0, 0), *counts, strict=True))
        levels[level] = counted_to(count, bound)
        if level == gang.level:
            where = tuple(headrooms.headroom(gang, path) for path in headrooms.nodes_of)
    return Headroom(gang.name, levels[gang.level], where, levels)


def _by_level(
    cluster: Cluster, gang: Workload, hierarchies: Sequence[Hierarchy], seen: Together
) -> Iterator[tuple[str, Needs]]:
    """Yield the needs of a gang with each level required, without those that its groups do not allow."""
    plain = replace(required_only(gang, hierarchies), replicas=MOST_COUNTED)
    yield gang.level, read_needs([plain], (), hierarchies, cluster.node_names, seen)
    named = [one for one in hierarchies if gang.hierarchy in ("", one.name)]
    mine = named[0] if len(named) == 1 else None
    names = ["", *([level.name for level in mine.levels] if mine is not None else []), HOST]
    for name in names:
        if name != gang.level:
            try:
                other = replace(plain, level=name, hierarchy=mine.name if mine is not None else gang.hierarchy)
                yield name, read_needs([other], (), hierarchies, cluster.node_names, seen)
            except InputError:
                continue


def headroom_by_domain(problem: GangProblem, gangs: Sequence[Workload], solver: str, budget: Budget) -> tuple[Fit, ...]:
    """Return for each gang what each domain of its required level has, as long as there is time."""
    found: list[Fit] = []
    known: dict[GangNeed, list[Fit]] = {}
    place = {at: need for need in problem.needs.gangs for at in need.gangs}
    problem = problem.decided(budget.part(budget.shares.step))
    for at, gang in enumerate(gangs):
        if at not in place or budget.reached:
            continue
        groups = tuple(replace(group, preferred=-1) for group in place[at].groups)
        required = replace(place[at], groups=groups, preferences=(), priority=0, gangs=())
        if required not in known:
            headrooms = _DomainHeadroom(problem, required, solver, budget)
            known[required] = [headrooms.headroom(gang, path) for path in headrooms.nodes_of]
        for headroom in known[required]:
            replicas = headroom.replicas.at_most(gang.replicas)
            found.append(changed(headroom, workload=gang.name, replicas=replicas))
    return tuple(found)


class _DomainHeadroom:
    """How many gangs, and how many pods of one, each domain has: domains with the same nodes have the same."""

    def __init__(self, problem: GangProblem, need: GangNeed, solver: str, budget: Budget) -> None:
        self.problem, self.need, self.solver, self.budget = problem, need, solver, budget
        self.nodes_of: dict[Path, list[str]] = {}
        for node, path in problem.needs.tiers[need.required].paths.items():
            self.nodes_of.setdefault(path, []).append(node)
        self._known: dict[object, _Bounds] = {}

    def headroom(self, gang: Workload, path: Path) -> Fit:
        """Return what a domain has for a gang."""
        need, (count, count_bound), (most, bound) = self.need, self.gangs(path), self._pods(path)
        # Pods that have only shared claims have a place where these have one, also if no whole gang fits.
        beside = gang.size - sum(group.most for group in need.groups[: need.pods])
        most += beside if count else 0
        bound = min(gang.size, bound + (beside if count_bound or len(need.groups) > 1 else 0))
        reasons = _lacking(self.problem, need, self.nodes_of[path], self.budget) if most < gang.size else []
        fits = Bounded(count, count_bound), Bounded(most, bound)
        return Fit(gang.name, DOMAIN, path, *fits, gang.least, gang.size, tuple(reasons))

    def gangs(self, path: Path) -> _Bounds:
        """Return how many gangs a domain has, at least and at most."""
        caps = zip(self.need.groups, self._caps(path), strict=True)
        most = min(cap // group.least for group, cap in caps if group.least)
        have, bound = self._bounds(path, replace(self.need, gangs=(0,) * most), GANGS, most)
        return have, bound if self._is_examined(path) else MOST_COUNTED

    def _pods(self, path: Path) -> _Bounds:
        """Return how many pods of one gang a domain has; the claims that they share have a place with them."""
        pods = self.need.pods
        alone = [replace(group, least=0 if at < pods else 1) for at, group in enumerate(self.need.groups)]
        most = sum(min(group.most, cap) for group, cap in zip(alone[:pods], self._caps(path), strict=False))
        have, bound = self._bounds(path, replace(self.need, groups=tuple(alone), gangs=(0,)), BEYOND, most)
        return have, bound if self._is_examined(path) else sum(group.most for group in alone[:pods])

    def _caps(self, path: Path) -> list[int]:
        regions = self.problem.inside[self.need.required].get(path, [])
        return [self.problem.pods_in(regions, group.kind) for group in self.need.groups]

    def _is_examined(self, path: Path) -> bool:
        return self.problem.not_examined.isdisjoint(self.nodes_of[path])

    def _bounds(self, path: Path, need: GangNeed, goal: str, most: int) -> _Bounds:
        """Return how many gangs, or pods beyond their minimum, have a place in a domain, if counting allows `most`."""
        problem = self.problem
        if not most or self.budget.reached:
            return 0, most
        regions = problem.inside[need.required][path]
        cells = {at: problem.cells[at] for region in regions for at in problem.cells_of.get(region, ())}
        plain = not any(group.required >= 0 or group.slices for group in need.groups)
        if plain and len(need.groups) == 1:
            [group] = need.groups
            have = sum(problem.profiles[at.profile].most(group.kind) * len(nodes) for at, nodes in cells.items())
            return (have // group.least if goal == GANGS else min(have, group.most)), most
        held = Counter[int]()
        for at, nodes in cells.items():
            held[at.profile] += len(nodes)
        key = goal, frozenset(held.items()) if plain else path
        if key not in self._known:
            needs = replace(problem.needs, gangs=[need], ordinary=[])
            mine = replace(problem, cells=cells, needs=needs)
            goals = mine.needs.goals.index(goal) + 1
            *_, found = best_solution(mine, self.solver, self.budget, goals=goals)[1]
            wants = needs.wanted[goal]
            self._known[key] = wants - found.value, min(most, wants - (found.bound or 0))
        return self._known[key]


def _lacking(problem: GangProblem, need: GangNeed, nodes: Sequence[str], budget: Budget) -> list[str]:
    """Return what keeps pods of a gang away from nodes: devices in use or with a taint, too few devices, a cordon.

    If time ends before all nodes were looked at, it is not known, and nothing is returned.
    """
    reasons: dict[str, dict[str, None]] = {}
    able = [node for node in nodes if node not in problem.cordoned]
    for group in need.groups:
        for node in able:
            if budget.reached:
                return []
            for reason in _on_node(problem, group, node):
                reasons.setdefault(reason, {})[node] = None
    found = []
    for reason, mine in sorted(reasons.items(), key=lambda row: -len(row[1])):
        named = ", ".join(islice(mine, _NAMED)) + (f" and {len(mine) - _NAMED} more" if len(mine) > _NAMED else "")
        found.append(f"{reason} {named}")
    closed = len(nodes) - len(able)
    found += [f"{closed} {'node' if closed == 1 else 'nodes'} cordoned"] if closed else []
    return found or ["too few devices in all"]


def _on_node(problem: GangProblem, group: GroupNeed, node: str) -> Iterator[str]:
    """Yield what a node lacks for pods of a group, request by request: words that end before the name of the node."""
    scan, pod = problem.fleet.scan, problem.fleet.pods[group.kind]
    inner = [ask for request in pod.sketch.requests for ask in asks(request)]
    single = {request.name for request in pod.sketch.requests if len(asks(request)) == 1}
    for joint, ask in zip(scan.rules.asks[slice(*pod.asks)], inner, strict=True):
        if ask.request not in single or ask.all_devices or ask.admin_access or ask.capacity:
            continue
        stages = Counter(stage for _, stage in matching_devices(scan, joint, node))
        free, used = stages[Stage.FREE], stages[Stage.IN_USE]
        if (free + used) // ask.count > free // ask.count:
            yield f"{noun_of(scan, joint, node)} in use on"
        elif stages.total() < ask.count:
            yield f"too few devices for request {ask.reference} on"
        elif free + used < ask.count:
            yield f"{noun_of(scan, joint, node)} with a taint that request {ask.reference} does not tolerate on"
