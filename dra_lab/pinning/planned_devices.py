"""What is planned, as the search for pins looks at it: the devices of each claim of each workload over all replicas."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dra_lab.model.fleet import FleetPlan
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import GoalValue, Placement, Plan
from dra_lab.model.sketch import ClaimSketch


@dataclass(frozen=True)
class Planned:
    """The planned devices of one claim: by drawn request, over all replicas and by replica; what holds for all.

    `chosen` are the alternatives of each replica by drawn request, "" for a request without.
    """

    workload: int
    claim: int
    devices: Mapping[str, tuple[DeviceID, ...]]
    nodes: tuple[str, ...]
    alternatives: Mapping[str, frozenset[str]]
    goals: Sequence[Sequence[GoalValue]]
    replicas: Sequence[Mapping[str, tuple[DeviceID, ...]]] = ()
    chosen: Sequence[Mapping[str, str]] = ()

    def always(self, goal: str, value: int) -> bool:
        """Say whether a goal has a value in every planned replica, no device being of unknown place."""
        found = [g for goals in self.goals for g in goals if g.goal == goal]
        return bool(found) and all(g.value == value and not g.unknown for g in found)


def sketches_of(plan: Plan | FleetPlan) -> tuple[tuple[ClaimSketch, ...], ...]:
    """Return the drawings of a plan, by workload and claim."""
    if isinstance(plan, Plan):
        return (tuple(plan.claims.values()) or (plan.sketch,),)
    return tuple(workload.claims for workload in plan.workloads)


def names_of(plan: Plan | FleetPlan) -> tuple[str, ...]:
    """Return the names of a plan's workloads."""
    return (plan.sketch.name,) if isinstance(plan, Plan) else tuple(workload.name for workload in plan.workloads)


def planned_of(plan: Plan | FleetPlan, drawn: Sequence[Sequence[ClaimSketch]]) -> Iterator[Planned]:
    """Yield the planned devices of every claim of every workload."""
    names = names_of(plan)
    for workload, sketches in enumerate(drawn):
        if isinstance(plan, Plan):
            replicas = [(plan.node, plan.placements, plan.goals)]
        else:
            replicas = [(r.node, r.placements, r.goals) for r in plan.replicas if r.workload == names[workload]]
        for claim, sketch in enumerate(sketches):
            of_claim = partial(_is_of, sketches=sketches, claim=claim)
            devices: dict[str, list[DeviceID]] = defaultdict(list)
            alternatives: dict[str, set[str]] = defaultdict(set)
            for placement in (p for _, placements, _ in replicas for p in placements if of_claim(p)):
                request, sub = split_request(placement.request)
                devices[request].append(placement.device)
                alternatives[request].add(sub)
            known: Mapping[str, tuple[DeviceID, ...]] = {
                request.name: tuple(dict.fromkeys(devices[request.name])) for request in sketch.requests
            }
            single = [_by_request(sketch, [p for p in placements if of_claim(p)]) for _, placements, _ in replicas]
            chosen = [dict(split_request(p.request) for p in ps if of_claim(p)) for _, ps, _ in replicas]
            nodes = tuple(dict.fromkeys(node for node, _, _ in replicas))
            used = {name: frozenset(subs) for name, subs in alternatives.items()}
            if nodes:
                yield Planned(workload, claim, known, nodes, used, [goals for _, _, goals in replicas], single, chosen)


def _by_request(sketch: ClaimSketch, placements: Sequence[Placement]) -> Mapping[str, tuple[DeviceID, ...]]:
    return {
        request.name: tuple(p.device for p in placements if split_request(p.request)[0] == request.name)
        for request in sketch.requests
    }


def _is_of(placement: Placement, *, sketches: Sequence[ClaimSketch], claim: int) -> bool:
    return len(sketches) == 1 or placement.claim in (sketches[claim].name, str(claim))
