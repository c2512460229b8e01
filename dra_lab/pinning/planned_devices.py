"""What is planned, as the search for pins sees it: the devices of each claim of each workload over all replicas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dra_lab.model.goals import GoalValue
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.placement import Placement
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch


@dataclass(frozen=True)
class PlannedReplica:
    """A replica: its workload and its number there (both from 0), and its planned node, devices and goals.

    One without a place in the plan has no node. It arrives at kube-scheduler too, and may be placed.
    """

    workload: int
    number: int
    node: str = ""
    placements: Sequence[Placement] = ()
    goals: tuple[GoalValue, ...] = ()

    @property
    def planned(self) -> bool:
        """Say whether it has a place in the plan."""
        return bool(self.node)


@dataclass(frozen=True)
class Planned:
    """The planned devices of one claim: by drawn request, over all replicas and by replica.

    `chosen` are the alternatives of each replica by drawn request, "" for a request without.
    """

    workload: int
    claim: int
    devices: Mapping[str, tuple[DeviceID, ...]]
    nodes: tuple[str, ...]
    goals: Sequence[Sequence[GoalValue]]
    replicas: Sequence[Mapping[str, tuple[DeviceID, ...]]]
    chosen: Sequence[Mapping[str, str]]

    def always(self, goal: str, value: int) -> bool:
        """Say whether a goal has a value in every planned replica, no device being of unknown place."""
        found = [g for goals in self.goals for g in goals if g.goal == goal]
        return bool(found) and all(g.value == value and not g.unknown for g in found)

    def alternatives(self, request: str) -> frozenset[str]:
        """Return the alternatives of a request that replicas are planned with."""
        return frozenset(chosen[request] for chosen in self.chosen if request in chosen)


def sketches_of(plan: Plan) -> tuple[tuple[ClaimSketch, ...], ...]:
    """Return the drawings of a plan, by workload and claim."""
    return tuple(workload.claims for workload in plan.workloads)


def names_of(plan: Plan) -> tuple[str, ...]:
    """Return the names of a plan's workloads."""
    return tuple(workload.name for workload in plan.workloads)


def replicas_of(plan: Plan) -> list[PlannedReplica]:
    """Return the placed replicas of a plan."""
    index = {name: number for number, name in enumerate(names_of(plan))}
    return [PlannedReplica(index[r.workload], r.replica, r.node, r.devices, r.goals) for r in plan.pods]


def planned_of(plan: Plan) -> Iterator[Planned]:
    """Yield the planned devices of every claim of every workload that has placed replicas."""
    replicas = replicas_of(plan)
    for workload, sketches in enumerate(sketches_of(plan)):
        own = [replica for replica in replicas if replica.workload == workload]
        for claim, sketch in enumerate(sketches if own else ()):
            of_claim = (sketch.name, str(claim))
            placed = [[p for p in r.placements if len(sketches) == 1 or p.claim in of_claim] for r in own]
            single = [_by_request(sketch, placements) for placements in placed]
            every = {
                request.name: tuple(dict.fromkeys(device for one in single for device in one[request.name]))
                for request in sketch.requests
            }
            chosen = [dict(split_request(p.request) for p in placements) for placements in placed]
            nodes = tuple(dict.fromkeys(r.node for r in own))
            yield Planned(workload, claim, every, nodes, [r.goals for r in own], single, chosen)


def _by_request(sketch: ClaimSketch, placements: Sequence[Placement]) -> Mapping[str, tuple[DeviceID, ...]]:
    return {
        request.name: tuple(p.device for p in placements if split_request(p.request)[0] == request.name)
        for request in sketch.requests
    }
