"""Best against first fit: goal by goal, and what the paths from GPUs to NICs leave of the bandwidth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dra_lab.model.names import DeviceID
from dra_lab.model.plan import FirstFit, FirstFitStatus, GoalValue, Placement
from dra_lab.model.regret import GoalRegret, PathShare, Regret
from dra_lab.topology.bandwidth import PATHS, pair_paths
from dra_lab.topology.locality import Locality


def path_shares(places: Mapping[DeviceID, Locality], placements: Iterable[Placement]) -> tuple[PathShare, ...]:
    """Return how the GPUs of an allocation reach their NICs, the nearest first; () without GPUs or NICs."""
    chosen = dict.fromkeys(placement.device for placement in placements)
    pairs = Counter(pair.path for pair in pair_paths(places[device] for device in chosen))
    return tuple(_share(path, pairs[path]) for path in PATHS if pairs[path])


def _share(path: str, gpus: int) -> PathShare:
    cost = PATHS[path]
    against = tuple(f"{_ratio(m.low, m.high)} {m.what} ({m.source})" for m in cost.against)
    return PathShare(path, cost.path, gpus, cost.low, cost.high, cost.kind, cost.sources, against, cost.note)


def _ratio(low: float, high: float) -> str:
    return f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"


def regret_of(
    against: str,
    goals: Sequence[GoalValue],
    placements: Sequence[Placement],
    found: FirstFit | None,
    places: Mapping[DeviceID, Locality],
) -> Regret | None:
    """Return the regret of one first fit, None where it allocated nothing or was not asked."""
    if found is None or found.status is not FirstFitStatus.ALLOCATED:
        return None
    theirs = {goal.goal: goal.value for goal in found.goals}
    differing = tuple(
        GoalRegret(goal.goal, goal.value, theirs[goal.goal])
        for goal in goals
        if goal.goal in theirs and theirs[goal.goal] != goal.value
    )
    return Regret(against, differing, path_shares(places, placements), path_shares(places, found.placements))
