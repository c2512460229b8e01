"""Why replicas have no place: too little is free in all, or what is free is scattered over the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as changed

from msgspec.structs import replace

from dra_lab.errors import DraLabError
from dra_lab.model.goals import NODES
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.sketch import Ask, asks
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.question import FleetPod, FleetProblem
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.planner.pod_claims import read_claims
from dra_lab.planner.why.funnel import matching_devices
from dra_lab.planner.why.node_reasons import devices
from dra_lab.sketch.links import listed


def unplaced(fleet: FleetProblem, plan: Plan, budget: Budget) -> tuple[Shortfall, ...]:
    """Return, for each workload with replicas that are not placed, what each of its requests lacks after the plan.

    Devices that a request alone decides are counted (`count`): with fewer free than one replica takes there is a
    shortage, with enough in all and too few on every node they are scattered. Where no request by itself is short, the
    requests, links and capacities are so together. Where all had to be placed and none is (`objective` nodes), only
    what all replicas together lack is counted. Where the plan is not proven, this is why no more were found. There are
    no reasons if not all nodes were looked at. A device with a taint that a request does not tolerate is not free for
    it.
    """
    placed = plan.placed
    short = [(pod, missing) for pod in fleet.pods if (missing := pod.workload.replicas - placed[pod.workload.name])]
    if not short or not fleet.scan.complete:
        # What is free on nodes that were not examined is not known.
        return ()
    taken = {placement.device for replica in plan.pods for placement in replica.devices}
    whole = plan.objective == NODES and not plan.pods
    found: list[Shortfall] = []
    for pod, missing in short:
        mine = list(_lacking(fleet, pod, taken, missing, whole=whole))
        alone = None if mine or placed[pod.workload.name] else _alone(fleet, pod, missing, budget)
        found.extend(mine or ([] if whole and alone is None else [alone or _together(fleet, pod, missing)]))
    return tuple(found)


def _lacking(
    fleet: FleetProblem, pod: FleetPod, taken: set[DeviceID], missing: int, *, whole: bool
) -> Iterator[Shortfall]:
    """Yield what single requests lack; requests with alternatives and for all devices are not counted.

    `whole` asks for the devices of all replicas instead of one's.
    """
    drawn = fleet.scan.rules.asks[slice(*pod.asks)]
    inner = [ask for request in pod.sketch.requests for ask in asks(request)]
    single = {request.name for request in pod.sketch.requests if len(asks(request)) == 1}
    for joint, ask in zip(drawn, inner, strict=True):
        if ask.request not in single or ask.all_devices or ask.capacity or ask.admin_access:
            continue
        matching, free, most = False, set[DeviceID](), 0
        for node in fleet.scan.rules.nodes:
            stages = matching_devices(fleet.scan, joint, node)
            here = {device for device, stage in stages if stage is Stage.FREE and device not in taken}
            free |= here
            matching, most = matching or bool(stages), max(most, len(here))
            if not whole and most >= ask.count:
                break
        name, every = ask.reference if pod.several else pod.drawn(0, ask.reference), len(free)
        if whole and missing * ask.count > every:
            yield _short_in_all(pod, ask, missing, every)
        if most >= ask.count:
            continue
        subject, rule, short = f"{pod.workload.name}: {name}", "count", every < ask.count
        left = f"{devices(every)} for request {name} {'is' if every == 1 else 'are'} left free"
        text = f"{_no_place(pod, missing)}: {left}, {'one replica takes' if short else 'no node has'} {ask.count}"
        advice = "Free or add devices." if short else "Free devices that are on one node, or ask for fewer a pod."
        if not matching:
            rule, advice = "class", "Choose another device class, or relax the selectors."
            text = f"no device of the cluster matches request {name}: its class is {ask.device_class_name}"
        yield Shortfall(rule, subject, text, ask.count, most, advice=advice)


def _short_in_all(pod: FleetPod, ask: Ask, missing: int, every: int) -> Shortfall:
    needed, name = missing * ask.count, pod.workload.name
    take = f"1 replica of {name} takes" if missing == 1 else f"{missing:,} replicas of {name} take"
    text = f"{take} {devices(needed)} for request {ask.request}, {every:,} {'is' if every == 1 else 'are'} free"
    advice = "Free or add devices, or ask for fewer replicas."
    return Shortfall("count", f"{name}: {ask.request}", text, needed, every, advice=advice)


def _no_place(pod: FleetPod, missing: int) -> str:
    name = pod.workload.name
    return f"1 replica of {name} has no place" if missing == 1 else f"{missing:,} replicas of {name} have no place"


def _alone(fleet: FleetProblem, pod: FleetPod, missing: int, budget: Budget) -> Shortfall | None:
    """Return why not even one pod fits, as its plan says it; None if one fits alone, or if that is not known."""
    claims = replace(read_claims(pod.workload), nodes=fleet.scan.rules.only)
    seconds = budget.shares.explain if budget.left is None else min(budget.shares.explain, budget.left)
    try:
        plan = plan_pod(fleet.scan.cluster, claims, release=fleet.scan.release, time_limit=seconds)
    except DraLabError:
        return None
    if plan.status is not PlanStatus.INFEASIBLE or not plan.shortfalls:
        return None
    first = plan.shortfalls[0]
    message = f"{_no_place(pod, missing)}: {first.message[:1].lower()}{first.message[1:]}"
    return changed(first, subject=f"{pod.workload.name}: {first.subject}", message=message)


def _together(fleet: FleetProblem, pod: FleetPod, missing: int) -> Shortfall:
    """Return that no request is short by itself, with what one more pod needs besides whole devices."""
    needs = {
        "links": any(link.must for link in pod.sketch.links),
        "capacity": any(ask.capacity for request in pod.sketch.requests for ask in asks(request)),
        "shared counters": any(one.spec.shared_counters for one in fleet.scan.cluster.slices),
    }
    with_its = f" with its {listed(name for name, here in needs.items() if here)}" if any(needs.values()) else ""
    text = f"no request is short of whole devices by itself, but no node was found for one more replica{with_its}"
    advice = "Ask for fewer replicas, or see on a node why its free devices are stranded."
    return Shortfall("count", pod.workload.name, f"{_no_place(pod, missing)}: {text}", advice=advice)
