"""Best against first fit: goal by goal, and what the paths from GPUs to NICs leave of the bandwidth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit, FirstFitStatus, GoalRegret, PathShare, Placement, Regret
from dra_lab.model.plan import Plan
from dra_lab.topology.bandwidth import PATHS, pair_paths
from dra_lab.topology.locality import Locality, localities


def _paths(places: Mapping[DeviceID, Locality], placements: Iterable[Placement]) -> Counter[str]:
    chosen = dict.fromkeys(placement.device for placement in placements)
    return Counter(pair.path for pair in pair_paths(places[device] for device in chosen))


def _shares(paths: Counter[str]) -> tuple[PathShare, ...]:
    """Return how the GPUs of an allocation reach their NICs, the nearest first; () without GPUs or NICs."""
    found = []
    for path, cost in PATHS.items():
        ratios = (f"{m.low:.2f}" if m.low == m.high else f"{m.low:.2f} to {m.high:.2f}" for m in cost.against)
        against = tuple(f"{ratio} {m.what} ({m.source})" for ratio, m in zip(ratios, cost.against, strict=True))
        share = PathShare(
            path, cost.path, paths[path], cost.low, cost.high, cost.kind, cost.sources, against, cost.note
        )
        if paths[path]:
            found.append(share)
    return tuple(found)


def regret_of(
    against: str,
    found: FirstFit | None,
    goals: Sequence[GoalValue],
    placements: Sequence[Placement],
    places: Mapping[DeviceID, Locality],
) -> Regret | None:
    """Return the regret of one first fit, None where it allocated nothing or was not simulated."""
    if found is None or found.status is not FirstFitStatus.ALLOCATED:
        return None
    theirs = {goal.goal: goal.value for goal in found.goals}
    differing = tuple(
        GoalRegret(goal.goal, goal.value, theirs[goal.goal])
        for goal in goals
        if goal.goal in theirs and theirs[goal.goal] != goal.value and not goal.at_most
    )
    paths = (_shares(_paths(places, taken)) for taken in (placements, found.placements))
    return Regret(against, differing, *paths)


def fleet_regret(cluster: Cluster, plan: Plan) -> Regret | None:
    """Return what the first fit costs over all replicas that it placed nodes for; None where it was not simulated.

    A GPU's NIC is one of its own replica. Where not every node was compared, all of it is about the nodes that were.
    """
    found = plan.first_fit
    if found is None:
        return None
    nodes = frozenset(found.compared if found.status is FirstFitStatus.STOPPED else plan.nodes)
    pairs = plan.against_first_fit
    differing = tuple(
        GoalRegret(goal.goal, *pairs[goal.goal])
        for goal in plan.goals
        if goal.goal in pairs and pairs[goal.goal][0] != pairs[goal.goal][1]
    )
    paths = (
        sum((_paths(localities(cluster, r.node), r.devices) for r in pods if r.node in nodes), Counter[str]())
        for pods in (plan.pods, found.pods)
    )
    return Regret("manifest", differing, *map(_shares, paths))
