"""The most pods of each workload that counting alone allows on hardware that is no tree of places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import replicated
from dra_lab.planner.replicas import most_replicas

Counts = tuple[int, ...]
"""Numbers of replicas, part by part."""


def most_of_parts(site: Site, demand: Sequence[int]) -> Counts:
    """Return the most pods of each part of a site alone; `demand` is the number of replicas wanted of each workload."""
    caps = []
    for at, part in enumerate(site.parts):
        cap = demand[part.pod]
        # A pod with admin access takes nothing.
        if cap > 0 and not any(ask.admin_access for ask in site.problem.asks[slice(*part.asks)]):
            one = replicated(site.problem, site.parts, [int(n == at) for n in range(len(site.parts))]).problem
            one = replace(one, groups=tuple(group for group in one.groups if group.asks))
            cap = min([cap, most_replicas(one), *_most_of_devices(one)])
        caps.append(max(cap, 0))
    return tuple(caps)


def most_of_pods(site: Site, demand: Sequence[int]) -> Counts:
    """Return the most pods of each workload alone, on all nodes of a member of a site."""
    most = [0] * len(demand)
    for part, cap in zip(site.parts, most_of_parts(site, demand), strict=True):
        most[part.pod] += cap
    return tuple(map(min, most, demand))


def _most_of_devices(problem: AllocationProblem) -> Iterator[int]:
    """Yield the most pods by the devices that requests share because no others serve them; `problem` is that of one."""
    rows: list[tuple[frozenset[int], int]] = []
    for indices in problem.requests:
        able = [ask for ask in indices if ask not in problem.impossible]
        serving = (at for at, group in enumerate(problem.groups) if not set(able).isdisjoint(group.asks))
        rows.append((frozenset(serving), min(map(problem.need, able), default=1)))
    for groups in {*(groups for groups, _ in rows), frozenset[int]().union(*(groups for groups, _ in rows))}:
        need = sum(count for mine, count in rows if mine <= groups)
        if need and not any(problem.groups[at].shareable for at in groups):
            yield sum(problem.groups[at].size for at in groups) // need
