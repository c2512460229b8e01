"""The most of each kind of device that pods use, site by site: all states at once, then those that are left open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.at_once import SHARE
from dra_lab.planner.fleet.coupled_tables import MOST_PARTS
from dra_lab.planner.fleet.fullest import in_turn
from dra_lab.planner.fleet.fullest_site import table_of
from dra_lab.planner.fleet.listed import hardware_of
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.sites import Site, dealt_site, whole_site
from dra_lab.planner.fleet.together import deal
from dra_lab.planner.fleet.usage import Asked
from dra_lab.planner.fleet.usage_at_once import used_at_once
from dra_lab.planner.fleet.usage_listed import UsedOn

_ALONE, _TOGETHER = (150, 32), (40, 16)
"""Numbers of pods that are tried, and pods that are modelled at once, at most: on one node, and on several together."""

Used = dict[str, tuple[int, int]]
"""What pods use of each kind: at least, at most."""


def most_used(
    fleet: Fleet, sites: Sequence[Site], free: Sequence[Mapping[str, int]], solver: str, budget: Budget
) -> list[Used]:
    """Return for each site what pods use at most of each kind; `free` is what a member has of it.

    States of one kind of hardware are bounded together; what is then open is solved, those first that leave most open.
    """
    budget.tell("patterns", f"looking at what pods use on {len(sites):,} different nodes")
    number = {id(site): at for at, site in enumerate(sites)}
    used: list[Used] = [{kind: (0, amount) for kind, amount in row.items()} for row in free]
    hardware, _ = hardware_of(fleet, sites, budget)
    kinds = sorted({kind for row in free for kind, amount in row.items() if amount})
    work = [UsedOn(found, kind) for found in hardware for kind in kinds if not budget.reached]
    for step, _ in enumerate(in_turn([found.close(solver, budget) for found in work])):
        if not step % 50:
            budget.tell("patterns", f"looked at {step:,} parts of node states")
    for found in work:
        for site, least, most in zip(found.hardware.sites, found.least.tolist(), found.most.tolist(), strict=True):
            at = number[id(site)]
            known = free[at].get(found.kind, 0)
            used[at][found.kind] = min(known, least), min(known, most)
    for at, kind in _open(sites, used):
        if budget.reached:
            break
        used[at][kind] = _narrowed(used[at][kind], _alone(fleet, sites[at], kind, free[at][kind], solver, budget))
        budget.tell("patterns", f"looked at {kind} on {sites[at].members[0]}")
    return used


def _open(sites: Sequence[Site], used: Sequence[Used]) -> Iterator[tuple[int, str]]:
    rows = [
        (-(most - least) * site.count, at, kind)
        for at, (site, row) in enumerate(zip(sites, used, strict=True))
        for kind, (least, most) in row.items()
        if least < most
    ]
    return ((at, kind) for _, at, kind in sorted(rows))


def _narrowed(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return max(one[0], other[0]), min(one[1], other[1])


def _alone(fleet: Fleet, site: Site, kind: str, free: int, solver: str, budget: Budget) -> tuple[int, int]:
    table = table_of(site, fleet.demand, solver)
    return Asked(table, kind, free, budget, *(_TOGETHER if site.nodes else _ALONE)).most_used()


def most_used_together(fleet: Fleet, site: Site, free: Mapping[str, int], solver: str, budget: Budget) -> Used:
    """Return what pods use at most of each kind on nodes that share devices, of which so much is `free` in all.

    One model says it for all of them. Where that would be too large, or time does not reach, what each node uses of the
    devices that are dealt to it can be used; more than each node would use if nobody else took any cannot. Few nodes
    are also looked at as one.
    """
    found = used_at_once(fleet, site, free, solver, budget.part(SHARE))
    left = {kind: n for kind, n in free.items() if kind not in found or found[kind][0] < found[kind][1]}
    for kind, (least, most) in _one_by_one(fleet, site, left, solver, budget).items():
        found[kind] = _narrowed(found.get(kind, (0, most)), (least, most))
    return {kind: found[kind] for kind in free}


def _one_by_one(fleet: Fleet, site: Site, free: Mapping[str, int], solver: str, budget: Budget) -> Used:
    nodes = site.all_nodes
    dealt = deal(fleet, nodes) if free else {}
    found: Used = {}
    for kind, amount in free.items():
        least = most = 0
        for node in nodes:
            if not amount or (budget.reached and most >= amount):
                break
            whole = _alone(fleet, whole_site(fleet, node), kind, amount, solver, budget)
            least += _alone(fleet, dealt_site(fleet, node, dealt), kind, amount, solver, budget)[0]
            most += whole[1]
        found[kind] = min(least, amount), min(most, amount)
        if found[kind][0] < found[kind][1] and len(site.parts) <= MOST_PARTS and not budget.reached:
            found[kind] = _narrowed(found[kind], _alone(fleet, site, kind, amount, solver, budget))
        budget.tell("patterns", f"looked at {kind} on {len(nodes)} nodes that share devices")
    return found
