"""What would fit of a claim that fits on no node: its devices on the nearest node, and those that find no partner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.pictures.device_states import State, device_states, shown

_SECONDS = 1.0
"""How long the part that fits is searched."""


def partial_fit(cluster: Cluster, plan: Plan, node: str) -> Plan | None:
    """Return the plan of the claim with fewer devices on its nearest node; None for a claim that fits, and elsewhere.

    The counts are those of the change that the planner tried, and nothing else of the claim is changed.
    """
    if plan.fits or plan.reasons is None or plan.reasons.nearest != node:
        return None
    changes = (change.sketch for change in plan.reasons.relaxations if change.fitting and change.sketch is not None)
    fewer = next((sketch for sketch in changes if _without_counts(sketch) == _without_counts(plan.sketch)), None)
    if fewer is None:
        return None
    # The planner is started only for claims that do not fit.
    from dra_lab.planner.plan_pod import plan_pod

    part = plan_pod(cluster, fewer, node=node, release=plan.release or None, time_limit=_SECONDS)
    return part if part.fits else None


def unplaced(cluster: Cluster, plan: Plan, part: Plan) -> Mapping[DeviceID, str]:
    """Return the free devices that the rest of the claim would get, were there partners for them, by their request."""
    placed = Counter(split_request(placement.request)[0] for placement in part.placements)
    found: dict[DeviceID, str] = {}
    for request in plan.sketch.requests:
        wanted = min((ask.count or 0 for ask in asks(request)), default=0)
        on_top = shown(part, part.node, "best")
        states = device_states(
            cluster, part.node, sketch=plan.sketch, request=request.name, on_top=on_top, release=plan.release
        )
        free = [device for device, one in states.items() if one.state is State.FREE and not one.chosen]
        left = max(0, wanted - placed[request.name])
        found |= dict.fromkeys([device for device in free if device not in found][:left], request.name)
    return found


def _without_counts(sketch: ClaimSketch) -> ClaimSketch:
    requests = (
        request if request.exactly is None else replace(request, exactly=replace(request.exactly, count=1))
        for request in sketch.requests
    )
    return replace(sketch, requests=tuple(requests))
