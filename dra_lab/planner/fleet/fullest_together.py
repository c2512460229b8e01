"""How many pods of one kind nodes that share devices hold together: each with what it is dealt, then all at once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from dra_lab.model.names import DeviceID
from dra_lab.planner.fleet.coupled_tables import MOST_PARTS, MOST_VECTORS
from dra_lab.planner.fleet.fullest_site import Known, counts_within, decide, table_of
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.room import MOST
from dra_lab.planner.fleet.sites import Site, dealt_site, whole_site
from dra_lab.planner.fleet.together import deal
from dra_lab.planner.node_classes import fingerprint
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.progress import Limits


def fullest_together(fleet: Fleet, site: Site, solver: str, limits: Limits) -> tuple[int, int]:
    """Return how many pods of the fleet's one workload nodes that share devices hold together: at least, at most.

    What each node holds with the devices that are dealt to it is held; more than each would hold if nobody else took
    any, or than the devices of all last for, is not. Between the two, numbers on each node are tried where they are few
    enough to be listed.
    """
    nodes = site.all_nodes
    dealt, memo = deal(fleet, nodes), dict[Hashable, tuple[int, int]]()
    least = most = 0
    whole = []
    for number, node in enumerate(nodes):
        if limits.reached:
            return least, most + MOST * (len(nodes) - number)
        alone = whole_site(fleet, node)
        whole.append(alone.problem)
        bound = _once(fleet, alone, solver, limits, memo)[1]
        least += _once(fleet, dealt_site(fleet, node, dealt), solver, limits, memo)[0] if bound else 0
        most += bound
        limits.tell("nodes", f"counted on {number + 1} of {len(nodes)} nodes that share devices")
    most = min(most, *_by_devices(whole))
    if least < most and len(site.parts) <= MOST_PARTS:
        return _listed(fleet, site, solver, limits, (least, most))
    return min(least, most), most


def _once(
    fleet: Fleet, site: Site, solver: str, limits: Limits, memo: dict[Hashable, tuple[int, int]]
) -> tuple[int, int]:
    """Return what a node holds by itself; equal ones are counted once."""
    key = fingerprint(site.problem, replicas=fleet.scan.rules.replicas)
    if key not in memo:
        known = Known(site, 0, MOST)
        decide(fleet, known, solver, limits)
        memo[key] = known.least, known.most
    return memo[key]


def _by_devices(problems: Sequence[AllocationProblem]) -> Iterator[int]:
    """Yield numbers of pods for which there are devices: for each request, and for all of a pod."""
    yield MOST * len(problems)
    every: set[DeviceID] = set()
    needed = 0
    for indices in problems[0].requests:
        taken: set[DeviceID] = set()
        needs, alone = [], True
        for problem in problems:
            asks = [ask for ask in indices if ask not in problem.impossible]
            mine = [group for group in problem.groups if set(asks) & set(group.asks)]
            alone = alone and not any(group.shareable for group in mine)
            alone = alone and not any(problem.asks[ask].admin_access for ask in asks)
            taken.update(device for group in mine for device in group.devices)
            needs += [problem.need(ask) for ask in asks if mine and problem.need(ask)]
        if alone and needs:
            yield len(taken) // min(needs)
            every |= taken
            needed += min(needs)
    if needed:
        yield len(every) // needed


def _listed(fleet: Fleet, site: Site, solver: str, limits: Limits, known: tuple[int, int]) -> tuple[int, int]:
    """Try all numbers of pods on the nodes, those with most pods first."""
    least, most = known
    table = table_of(site, [min(most, wanted) for wanted in fleet.demand], solver)
    vectors = counts_within(table.room, table.room.caps, MOST_VECTORS)
    if vectors is None:
        return known
    for counts in sorted(vectors, key=sum, reverse=True):
        if not least < sum(counts) <= most:
            continue
        if limits.reached:
            return least, sum(counts)
        found = table.decide(counts, limits, decide_only=True)
        if found.lower is not None:
            return (sum(counts) if found.upper is not None else least), sum(counts)
    return least, least
