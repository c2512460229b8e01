"""The state of each device of a node, for a drawing and its plan, and what would fit of a claim that fits nowhere."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from msgspec.structs import replace

from dra_lab.cel.matching import Match
from dra_lab.index.in_use import UNHEALTHY, Amount, device_health, shares_in_use, without_counters
from dra_lab.index.node_index import node_index
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceTaint
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.placement import FirstFit, Placement
from dra_lab.model.plan import Plan
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.release import KubernetesRelease, release_of_text
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.pictures.partitions import blockers, named_amounts
from dra_lab.sketch.cluster_candidates import is_used_up, keeps_away
from dra_lab.sketch.kind_counts import doubt_words
from dra_lab.topology.locality import skipped_devices

SHOWN = ("best", "scheduler", "plain", "both", "both-plain")
"""What a picture shows: the plan, kube-scheduler with its manifest, with counts and selectors only, or the plan and one
of the two over each other."""


class State(StrEnum):
    """The state of a device before anything is chosen."""

    FREE = "free"
    SHARED = "partly in use"
    IN_USE = "in use"
    BLOCKED = "blocked"
    TAINTED = "tainted"
    UNHEALTHY = "unhealthy"
    INELIGIBLE = "does not match"
    SKIPPED = "skipped"
    UNKNOWN = "use unknown"

    @property
    def css(self) -> str:
        """Return the end of the class of its outline: `in-use`."""
        return self.name.lower().replace("_", "-")


WORDED = (State.TAINTED, State.UNHEALTHY, State.SKIPPED)
"""The states that are written on a device; no plan changes them, so they may make it higher."""


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A device's state; `chosen` and `scheduler` are requests of the drawing (`gpu`, `gpu/aligned`) or "".

    `why` says more in words: who holds it, which taint, why it is not eligible. `unhealthy` is what kubelet or the
    driver reports. `holders` are the claims that use it, and `blockers` the partitions that leave too little of its
    counters. `amounts` are what is left of each capacity of a shareable device (`24 of 40 Gi free`), or what is taken
    if it is chosen (`takes 32 of 112 CPUs`). `used` is the used part of the first one and `taken` the chosen, 0 to 1.
    `unplaced` is the request that would take it if the claim fitted.
    """

    state: State = State.FREE
    chosen: str = ""
    scheduler: str = ""
    why: tuple[str, ...] = ()
    unhealthy: bool = False
    holders: tuple[str, ...] = ()
    blockers: tuple[DeviceID, ...] = ()
    amounts: tuple[str, ...] = ()
    used: float = 0.0
    taken: float = 0.0
    unplaced: str = ""


@dataclass(frozen=True, slots=True)
class OnTop:
    """What is drawn on top: the requests of the filled devices, and of those that only kube-scheduler takes.

    `compared`: the two lie over each other; `without_links`: kube-scheduler then has counts and selectors only.
    `amounts` are the capacities that are taken of filled devices.
    """

    filled: Mapping[DeviceID, str] = field(default_factory=dict)
    scheduler: Mapping[DeviceID, str] = field(default_factory=dict)
    compared: bool = False
    without_links: bool = False
    amounts: Mapping[DeviceID, Mapping[str, str]] = field(default_factory=dict)


def shown(plan: Plan | None, node_name: str, show: str) -> OnTop:
    """Return which devices of a node are chosen, by what `show` asks for. Raises ValueError for an unknown `show`."""
    if show not in SHOWN:
        raise ValueError(f"show={show!r}: use one of {', '.join(SHOWN)}")
    if plan is None or plan.node != node_name:
        return OnTop()
    if show == "best":
        return _filled(plan.placements)
    plain = show in ("plain", "both-plain")
    theirs = _taken(plan.first_fit_plain if plain else plan.first_fit)
    if show in ("scheduler", "plain"):
        return _filled(theirs)
    both, only = _filled(plan.placements), _filled(theirs).filled
    return dataclasses.replace(both, scheduler=only, compared=True, without_links=plain)


def over_each_other(plan: Plan) -> str:
    """Return which comparison shows a difference: "both", "both-plain", or "" where kube-scheduler takes the same.

    With this manifest first; where that takes the best devices, or none, what it takes without links.
    """
    for show, fit in (("both", plan.first_fit), ("both-plain", plan.first_fit_plain)):
        taken = {placement.device for placement in _taken(fit)}
        if taken and taken != set(plan.chosen()):
            return show
    return ""


def _taken(first_fit: FirstFit | None) -> Sequence[Placement]:
    return first_fit.placements if first_fit is not None else ()


def _filled(placements: Sequence[Placement]) -> OnTop:
    amounts = {placement.device: placement.consumed for placement in placements if placement.consumed}
    return OnTop({placement.device: placement.reference for placement in placements}, amounts=amounts)


def device_states(
    cluster: Cluster,
    node_name: str,
    *,
    sketch: ClaimSketch | None = None,
    request: str = "",
    on_top: OnTop | None = None,
    release: str = "",
) -> Mapping[DeviceID, DeviceState]:
    """Return the state of every device that a node has.

    With a sketch, devices that none of its requests can take are not eligible; with `request` only that one counts.
    `release` decides which taints count, "" for the cluster's own. Raises NodeError for an unknown node.
    """
    on_top = on_top or OnTop()
    target = cluster.target_release(release_of_text(release) if release else None)
    seen = [(found.id, found.device) for found in devices_on(gather_pools(cluster, node_name))]
    unfit = _ineligible(cluster, seen, sketch, request, target) if sketch is not None else {}
    skipped = {skipped.id: skipped for skipped in skipped_devices(cluster, node_name)}
    seen += [(device_id, one.device) for device_id, one in skipped.items()]
    blocked = blockers(cluster, dict(seen), on_top.filled.keys())
    found = {}
    for device_id, device in seen:
        reasons = (skipped[device_id].reason if device_id in skipped else "", unfit.get(device_id, ""))
        taints = cluster.taints_of(device_id, device, rules=target.counted_rules)
        state = _state(cluster, device_id, device, taints, blocked.get(device_id, ()), *reasons)
        chosen, scheduler = on_top.filled.get(device_id, ""), on_top.scheduler.get(device_id, "")
        amounts, used, taken = _amounts(cluster, device_id, device, on_top.amounts.get(device_id, {}))
        found[device_id] = dataclasses.replace(
            state, chosen=chosen, scheduler=scheduler, amounts=amounts, used=used, taken=taken
        )
    return found


def _state(
    cluster: Cluster,
    device_id: DeviceID,
    device: Device,
    every_taint: Sequence[DeviceTaint],
    blocking: tuple[DeviceID, ...],
    skipped: str,
    unfit: str,
) -> DeviceState:
    """Return the state of a device before anything is chosen of it."""
    holders = tuple(dict.fromkeys(cluster.allocated.holders(device_id)))
    shared = device_id in cluster.allocated.shares
    lacks = without_counters(cluster).get(device_id, "")
    full = bool(holders) and is_used_up(cluster, device_id, device)
    taints = [taint for taint in every_taint if keeps_away(taint)]
    unhealthy = is_unhealthy(cluster, device_id, device)
    why = []
    if blocking or lacks:
        users = {one: ", ".join(cluster.allocated.holders(one)) for one in blocking}
        named = (f"{one.device} ({f'in use by {by}' if by else 'chosen'})" for one, by in users.items())
        names = ", ".join(named) or "partitions in use"
        why.append(f"blocked by {names}" + (f"; {lacks}" if lacks else ""))
    if holders:
        amounts = shares_in_use(cluster, device_id).items()
        parts = (f"{format_quantity(a.left)} of {format_quantity(a.total)} {k.rpartition('/')[2]}" for k, a in amounts)
        left = f" ({', '.join(parts)} left)" if amounts else ""
        why.append(f"{'' if full else 'partly '}in use by {', '.join(holders)}{left}")
    if unhealthy:
        why.append("reported unhealthy")
    if taints:
        why.append(f"tainted {', '.join(str(taint) for taint in taints)}")
    why += [reason for reason in (skipped, unfit) if reason]
    states = (
        (bool(taints), State.TAINTED),
        (full, State.IN_USE),
        (bool(blocking or lacks), State.BLOCKED),
        (unhealthy, State.UNHEALTHY),
        (bool(skipped), State.SKIPPED),
        (bool(unfit), State.INELIGIBLE),
        (shared, State.SHARED),
        (not cluster.claims_known, State.UNKNOWN),
    )
    state = next((state for holds, state in states if holds), State.FREE)
    if state in (State.FREE, State.UNKNOWN) and (doubt := doubt_words(cluster)):
        why.append(doubt)
    return DeviceState(state, why=tuple(why), unhealthy=unhealthy, holders=holders, blockers=blocking)


def is_unhealthy(cluster: Cluster, device_id: DeviceID, device: Device) -> bool:
    """Say whether kubelet (KEP-4680) or the driver's attributes `health` or `healthy` report a device as unhealthy."""
    if device_health(cluster).get(device_id) == UNHEALTHY:
        return True
    health = device.lookup(f"{device_id.driver}/health", device_id.driver)
    healthy = device.lookup(f"{device_id.driver}/healthy", device_id.driver)
    return (health is not None and health.value == UNHEALTHY) or (healthy is not None and healthy.value is False)


def _amounts(
    cluster: Cluster, device_id: DeviceID, device: Device, takes: Mapping[str, str]
) -> tuple[tuple[str, ...], float, float]:
    """Return what is left or taken of a shareable device: memory first, else what is used most; and these two parts."""
    if not device.allow_multiple_allocations or not device.capacity:
        return (), 0.0, 0.0
    consumed = cluster.allocated.consumed.get(device_id, {})
    amounts = {
        key: Amount(total, consumed.get(key, Fraction()))
        for key, capacity in device.capacity.items()
        if (total := parse_quantity(capacity.value)) > 0
    }
    if not amounts:
        return (), 0.0, 0.0
    used = {key: amount.used / amount.total for key, amount in amounts.items()}
    keys = sorted(amounts, key=lambda key: (key.rpartition("/")[2] == "memory", used[key]), reverse=True)
    taken = {key: parse_quantity(takes.get(key, "0")) for key in keys}
    left = {
        key: words if cluster.claims_known else words.partition(" of ")[2]
        for key, words in named_amounts(amounts).items()
    }
    chosen = named_amounts({key: Amount(amount.total, amount.total - taken[key]) for key, amount in amounts.items()})
    free = " free" if cluster.claims_known else ""
    shown = tuple(f"takes {chosen[key]}" if taken[key] else f"{left[key]}{free}" for key in keys)
    first = keys[0]
    part = min(1.0, float(used[first]))
    return shown, part, min(1 - part, float(taken[first] / amounts[first].total))


def _ineligible(
    cluster: Cluster,
    seen: Sequence[tuple[DeviceID, Device]],
    sketch: ClaimSketch,
    request: str,
    release: KubernetesRelease,
) -> dict[DeviceID, str]:
    wanted = [part for part in sketch.requests if not request or part.name == split_request(request)[0]]
    if not wanted:
        return {}
    matching = node_index(cluster, release).matching
    found = {}
    for device_id, device in seen:
        reasons = []
        for ask in (ask for part in wanted for ask in asks(part)):
            match = matching.match(ask, device_id.driver, device)
            if match.stage == "match":
                break
            reasons.append(f"does not match {ask.reference}: {_why(match, read=bool(cluster.classes))}")
        else:
            found[device_id] = reasons[0] if len(wanted) == 1 and reasons else "does not match any request"
    return found


def _why(match: Match, *, read: bool) -> str:
    words = {
        "class": "not of its device class",
        "selector": f"its selector is false: {match.expression}",
        "error": f"its selector fails: {match.error}",
        "no-class": "its device class is not in this cluster" if read else "no DeviceClasses were read",
    }
    return words.get(match.stage, match.stage)


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
