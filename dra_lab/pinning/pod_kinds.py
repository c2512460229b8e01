"""The pods of a workload: their claims as exported, and the drawing by which their devices are valued."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GOAL_WORDS, goal_order
from dra_lab.model.nodes import ObjectMeta
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
    on = with_documented_classes(cluster)
    written = exported or planned
    compiled = [compile_claim(sketch, on, release) for sketch in written]
    claims = tuple(
        ResourceClaim(metadata=ObjectMeta(name=sketch.name), spec=one.spec)
        for sketch, one in zip(written, compiled, strict=True)
    )
    expanded = [expand(sketch, on, release) for sketch in planned]
    origin = tuple(
        _to_expanded(one.origin, made.origin, made.sketch, drawn)
        for one, made, drawn in zip(compiled, expanded, parts or [{}] * len(expanded), strict=True)
    )
    joined = {str(number): one.sketch for number, one in enumerate(expanded)}
    drawn = expanded[0].sketch if len(expanded) == 1 else join_sketches(joined, name)
    ways = [ask for one in expanded for request in one.sketch.requests for ask in asks(request)]
    kinds = {shape.kind for ask in ways for shape in candidates(on, ask, release).shapes}
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
