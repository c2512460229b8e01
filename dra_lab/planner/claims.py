"""ResourceClaims as the planner reads them: each constraint a link at exactly its attribute, several claims joined."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.model.claims import DeviceConstraint, ResourceClaim, ResourceClaimSpec
from dra_lab.model.sketch import ClaimSketch, Link, constrained
from dra_lab.planner.joined import join_sketches


def exact_sketch(spec: ResourceClaimSpec, name: str) -> ClaimSketch:
    """Return a drawing that demands what `spec` demands of kube-scheduler, no more and no less.

    Every `constraints[]` becomes a must-link at the attribute that it names, never at a level: an empty text is a value
    like any other there. A constraint without requests ties all; with both attributes it is matchAttribute alone.
    Names are taken as they are. Rules: docs/semantics.md 1.13, 3.9. Raises nothing; for people there is
    `authoring.read_back.sketch_of`.
    """
    devices = spec.devices
    everything = tuple(request.name for request in devices.requests)
    links = tuple(
        _link(constraint, f"constraint-{number}", everything) for number, constraint in enumerate(devices.constraints)
    )
    return ClaimSketch(name, devices.requests, links, devices.config)


def pod_sketch(claims: Sequence[ResourceClaim]) -> ClaimSketch:
    """Return the claims of one pod as one drawing, in the pod's order; with several, requests are `number:request`."""
    drawn = [exact_sketch(claim.spec, claim.metadata.name or "claim") for claim in claims]
    if len(drawn) == 1:
        return drawn[0]
    return join_sketches({str(number): sketch for number, sketch in enumerate(drawn)}, "pod")


def _link(constraint: DeviceConstraint, name: str, everything: tuple[str, ...]) -> Link:
    how, attribute = constrained(constraint)
    return Link(name, constraint.requests or everything, attribute, how)
