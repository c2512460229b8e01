"""The pods of a workload: their claims as exported, and the drawing by which their devices are valued."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GOAL_WORDS, GoalValue, goal_order
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import Placement
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.planner.pod_claims import join_sketches
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.compile import compile_claim
from dra_lab.sketch.numbered_requests import expand

COUNTED = tuple(name for name, words in GOAL_WORDS.items() if words.why)
"""The goals of the devices that are taken; `damage` is about other replicas."""


Parts = Sequence[Mapping[str, str]]
"""By claim: the drawn request of each request that an export has in place of it, {} where the names are the same.

A reference to an alternative of the export has the drawn alternative: `gpu/a-place-0` is `gpu/a`.
"""


@dataclass(frozen=True)
class PodKind:
    """Pods of one workload: the claims as exported, and the drawing by which their devices are valued.

    `origin` maps, per claim, a reference of the manifest to the reference in `drawn`.
    """

    name: str
    claims: tuple[ResourceClaim, ...]
    origin: tuple[Mapping[str, str], ...]
    drawn: ClaimSketch
    paired: bool
    order: tuple[str, ...]


def pod_kind(
    cluster: Cluster,
    release: KubernetesRelease,
    name: str,
    planned: Sequence[ClaimSketch],
    exported: Sequence[ClaimSketch] = (),
    order: Sequence[str] = (),
    *,
    parts: Parts = (),
) -> PodKind:
    """Return the pods of a workload from its drawings as planned, and as they are exported where that is tighter.

    `parts` says which drawn request a request of an exported drawing is a part of.
    """
    written = exported or planned
    compiled = [compile_claim(sketch, cluster, release) for sketch in written]
    claims = tuple(
        ResourceClaim(metadata=ObjectMeta(name=sketch.name), spec=one.spec)
        for sketch, one in zip(written, compiled, strict=True)
    )
    expanded = [expand(sketch, cluster, release) for sketch in planned]
    origin = tuple(
        _to_expanded(one.origin, made.origin, made.sketch, drawn)
        for one, made, drawn in zip(compiled, expanded, parts or [{}] * len(expanded), strict=True)
    )
    joined = {str(number): one.sketch for number, one in enumerate(expanded)}
    drawn = expanded[0].sketch if len(expanded) == 1 else join_sketches(joined, name)
    ways = [ask for one in expanded for request in one.sketch.requests for ask in asks(request)]
    kinds = {shape.kind for ask in ways for shape in candidates(cluster, ask, release).shapes}
    goals = tuple(goal for goal in order or goal_order(()) if goal in COUNTED)
    return PodKind(name, claims, origin, drawn, {"gpu", "nic"} <= kinds, goals)


def _to_expanded(
    origin: Mapping[str, str], planned: Mapping[str, str], sketch: ClaimSketch, parts: Mapping[str, str]
) -> dict[str, str]:
    """Map a manifest's references to the expanded drawing: all parts of one request are worth the same.

    Alternatives that only the manifest has are worth the request.
    """
    plain = {request.name for request in sketch.requests if request.exactly is not None}
    first: dict[str, str] = {}
    for part, drawn in planned.items():
        first.setdefault(drawn, part)
    found = {}
    for written, drawn in origin.items():
        request, slash, sub = parts.get(drawn, drawn).partition("/")
        request = parts.get(request, request)
        part = first.get(request, request)
        found[written] = part if part in plain else f"{part}{slash}{sub}"
    return found


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
            single = [
                {
                    request.name: tuple(p.device for p in placements if split_request(p.request)[0] == request.name)
                    for request in sketch.requests
                }
                for placements in placed
            ]
            every = {
                request.name: tuple(dict.fromkeys(device for one in single for device in one[request.name]))
                for request in sketch.requests
            }
            chosen = [dict(split_request(p.request) for p in placements) for placements in placed]
            nodes = tuple(dict.fromkeys(r.node for r in own))
            yield Planned(workload, claim, every, nodes, [r.goals for r in own], single, chosen)
