"""The state of each device of a node, for a drawing and its plan: the meaning behind patterns and letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from dra_lab.authoring.device_use import is_used_up, keeps_away
from dra_lab.authoring.free_words import doubt_words
from dra_lab.index.counters_left import without_counters
from dra_lab.index.device_health import UNHEALTHY, device_health
from dra_lab.index.in_use import in_use_of
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.plan import FirstFit, Placement, Plan
from dra_lab.model.quantity import format_quantity
from dra_lab.model.release import KubernetesRelease, release_of_text
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.topology.locality import skipped_devices

SHOWN = ("best", "scheduler", "plain", "both", "both-plain")
"""What a picture shows: the plan, kube-scheduler with its manifest, with counts and selectors only, or the plan and one
of the two over each other."""


class State(StrEnum):
    """The state of a device before anything is chosen."""

    FREE = "free"
    SHARED = "partly in use"
    IN_USE = "in use"
    TAINTED = "tainted"
    INELIGIBLE = "not eligible"


@dataclass(frozen=True, slots=True)
class DeviceState:
    """A device's state; `chosen` and `scheduler` are requests of the drawing (`gpu`, `gpu/aligned`) or "".

    `why` says more in words: who holds it, which taint, why it is not eligible; `unhealthy` is what kubelet reports.
    """

    state: State = State.FREE
    chosen: str = ""
    scheduler: str = ""
    why: tuple[str, ...] = ()
    unhealthy: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """What is drawn on top: the requests of the filled devices, and of those that only kube-scheduler takes.

    `compared`: the two lie over each other; `without_links`: kube-scheduler then has counts and selectors only.
    """

    filled: Mapping[DeviceID, str] = field(default_factory=dict)
    scheduler: Mapping[DeviceID, str] = field(default_factory=dict)
    compared: bool = False
    without_links: bool = False


def shown(plan: Plan | None, node_name: str, show: str) -> Shown:
    """Return which devices of a node are chosen, by what `show` asks for. Raises ValueError for an unknown `show`."""
    if show not in SHOWN:
        raise ValueError(f"show={show!r}: use one of {', '.join(SHOWN)}")
    if plan is None or plan.node != node_name:
        return Shown()
    fits = {"scheduler": plan.first_fit, "plain": plan.first_fit_plain}
    if show in fits:
        return Shown(_by_device(_taken(fits[show])))
    over = {"both": plan.first_fit, "both-plain": plan.first_fit_plain}
    if show in over:
        theirs, plain = _by_device(_taken(over[show])), show == "both-plain"
        return Shown(_by_device(plan.placements), theirs, compared=True, without_links=plain)
    return Shown(_by_device(plan.placements))


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


def _by_device(placements: Sequence[Placement]) -> Mapping[DeviceID, str]:
    return {placement.device: placement.reference for placement in placements}


def device_states(
    cluster: Cluster,
    node_name: str,
    *,
    sketch: ClaimSketch | None = None,
    request: str = "",
    on_top: Shown | None = None,
    release: str = "",
) -> Mapping[DeviceID, DeviceState]:
    """Return the state of every device that a node has.

    With a sketch, devices that none of its requests can take are not eligible; with `request` only that one counts.
    `release` decides which taints count, "" for the cluster's own. Raises NodeError for an unknown node.
    """
    on_top = on_top or Shown()
    target = cluster.target_release(release_of_text(release) if release else None)
    seen = [(found.id, found.device) for found in devices_on(gather_pools(cluster, node_name))]
    unfit = _ineligible(cluster, seen, sketch, request, target) if sketch is not None else {}
    unfit |= {skipped.id: skipped.reason for skipped in skipped_devices(cluster, node_name)}
    seen += [(skipped.id, skipped.device) for skipped in skipped_devices(cluster, node_name)]
    rules, doubt = target.enabled("DRADeviceTaintRules"), doubt_words(cluster)
    states = {}
    for device_id, device in seen:
        state, why = _basic(cluster, device_id, device, unfit, rules=rules)
        if doubt and state is State.FREE:
            why = (*why, doubt)
        chosen, scheduler = on_top.filled.get(device_id, ""), on_top.scheduler.get(device_id, "")
        unhealthy = device_health(cluster).get(device_id) == UNHEALTHY
        states[device_id] = DeviceState(state, chosen, scheduler, why, unhealthy)
    return states


def _basic(
    cluster: Cluster, device_id: DeviceID, device: Device, unfit: Mapping[DeviceID, str], *, rules: bool
) -> tuple[State, tuple[str, ...]]:
    holder = cluster.allocated.exclusive.get(device_id)
    sharers = cluster.allocated.shares.get(device_id, ())
    taints = [taint for taint in cluster.taints_of(device_id, device, rules=rules) if keeps_away(taint)]
    lacks = without_counters(cluster).get(device_id, "")
    why = []
    if lacks:
        why.append(f"partitions in use leave too little of {lacks}")
    if holder is not None:
        why.append(f"in use by {holder}")
    elif sharers:
        partly = "" if is_used_up(cluster, device_id, device) else "partly "
        why.append(f"{partly}in use by {', '.join(dict.fromkeys(sharers))}{_left(cluster, device_id)}")
    if device_health(cluster).get(device_id) == UNHEALTHY:
        why.append("reported unhealthy")
    if taints:
        why.append(f"tainted {', '.join(str(taint) for taint in taints)}")
    if device_id in unfit:
        why.append(unfit[device_id])
    if taints:
        return State.TAINTED, tuple(why)
    if is_used_up(cluster, device_id, device):
        return State.IN_USE, tuple(why)
    if device_id in unfit:
        return State.INELIGIBLE, tuple(why)
    return (State.SHARED if sharers else State.FREE), tuple(why)


def _left(cluster: Cluster, device_id: DeviceID) -> str:
    """Return what is left of a shared device in words: ` (80Gi of 96Gi memory left)`."""
    row = in_use_of(cluster, device_id)
    amounts = row.capacity.items() if row is not None else ()
    parts = [f"{format_quantity(a.left)} of {format_quantity(a.total)} {key.rpartition('/')[2]}" for key, a in amounts]
    return f" ({', '.join(parts)} left)" if parts else ""


def _ineligible(
    cluster: Cluster,
    seen: Sequence[tuple[DeviceID, Device]],
    sketch: ClaimSketch,
    request: str,
    release: KubernetesRelease,
) -> dict[DeviceID, str]:
    """Return the devices that no wanted request matches, each with the reason."""
    # The selector engine is started only for pictures that need it.
    from dra_lab.authoring.palette import with_documented_classes
    from dra_lab.cel.matching import Matching

    wanted = [part for part in sketch.requests if not request or part.name == split_request(request)[0]]
    if not wanted:
        return {}
    matching = Matching(with_documented_classes(cluster), release)
    found = {}
    for device_id, device in seen:
        reasons = []
        for ask in (ask for part in wanted for ask in asks(part)):
            match = matching.match(ask, device_id.driver, device)
            if match.stage == "match":
                break
            reasons.append(
                _reason(ask.reference, match.stage, match.expression, match.error, read=bool(cluster.classes))
            )
        else:
            found[device_id] = reasons[0] if len(wanted) == 1 and reasons else "not eligible for any request"
    return found


def _reason(reference: str, stage: str, expression: str, error: str, *, read: bool) -> str:
    words = {
        "class": "not of its device class",
        "selector": f"its selector is false: {expression}",
        "error": f"its selector fails: {error}",
        "no-class": "its device class is not in this cluster" if read else "no DeviceClasses were read",
    }
    return f"not eligible for {reference}: {words.get(stage, stage)}"
