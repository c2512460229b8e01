"""kube-scheduler beside a plan: what its first fit takes on a node, its search step by step, and what it costs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from dra_lab.index.node_index import node_index
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit, FirstFitStatus, GoalRegret, PathShare, PlacedPod, Placement, Regret
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.trace import Trace
from dra_lab.planner.node.goal_table import Scale, value_placements
from dra_lab.planner.pod_claims import CompiledPod, compile_pod
from dra_lab.scheduler.first_fit import Verdict
from dra_lab.scheduler.node_trace import trace_claims
from dra_lab.topology.locality import localities
from dra_lab.topology.places import PATHS, Locality, pair_paths


def with_goals(verdict: Verdict, compiled: CompiledPod, scale: Scale, order: Sequence[str]) -> FirstFit:
    """Return a verdict with the goals' values of its devices, which are named by the requests of the drawing."""
    if verdict.status is not FirstFitStatus.ALLOCATED or not verdict.allocations:
        return FirstFit(verdict.status, (), (), verdict.message, verdict.steps, verdict.recorded)
    placements = tuple(
        Placement(
            compiled.reference(name, result.request),
            result.id,
            result.request,
            {key: str(amount) for key, amount in result.consumed_capacity.items()},
        )
        for name, allocation in zip(compiled.claims, verdict.allocations, strict=True)
        for result in allocation.devices.results
    )
    goals = value_placements(scale, placements, order)
    pods = (PlacedPod("", 0, "", placements, goals),)
    return FirstFit(verdict.status, pods, goals, verdict.message, verdict.steps, verdict.recorded)


class PlanTracer(Struct, frozen=True):
    """Makes the traces of a plan. `sketch` is the drawing as it was planned, `origin` maps its requests to the drawn.

    `paired` says whether the claim asks for both GPUs and NICs, `node` is where a trace is made that names no node.
    """

    cluster: Cluster
    sketch: ClaimSketch
    release: KubernetesRelease
    order: tuple[str, ...]
    origin: Mapping[str, str]
    lists: bool
    paired: bool
    node: str

    def trace(
        self,
        node: str,
        *,
        links: bool,
        time_limit: float = 10.0,
        cancel: threading.Event | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Trace[FirstFit]:
        """Return the trace on a node, "" for the plan's; without `links` of counts and selectors only.

        Raises NodeError for an unknown node, UnsupportedFeature for a rule of an alpha gate, Cancelled.
        """
        name = node or self.node
        compiled = compile_pod(self.sketch, self.cluster, self.release, links=links)
        claims = compiled.resource_claims
        trace = trace_claims(
            self.cluster, name, claims, self.release, time_limit=time_limit, cancel=cancel, progress=progress
        )
        devices = {item.id: item.device for item in node_index(self.cluster, self.release).view(name).devices}
        scale = Scale(self.sketch, localities(self.cluster, name), devices, self.paired, self.lists)
        origin = {}
        for (part, one), claim in zip(compiled.claims.items(), claims, strict=True):
            for reference in (ask.reference for request in one.spec.devices.requests for ask in asks(request)):
                request, slash, alternative = compiled.reference(part, reference).partition("/")
                drawn = f"{self.origin.get(request, request)}{slash}{alternative}"
                origin[claim.metadata.name, reference] = drawn
        end = with_goals(trace.end, compiled, scale, self.order)
        return Trace(name, trace.release, end, trace.counts, trace.rows, trace.look, trace.test, links, origin)


def _paths(places: Mapping[DeviceID, Locality], placements: Iterable[Placement]) -> Counter[str]:
    chosen = dict.fromkeys(placement.device for placement in placements)
    return Counter(pair_paths(places[device] for device in chosen))


def _shares(paths: Counter[str]) -> tuple[PathShare, ...]:
    """Return how the GPUs of an allocation reach their NICs, the nearest first; () without GPUs or NICs."""
    found = []
    for path, cost in PATHS.items():
        ratios = (f"{m.low:.2f}" if m.low == m.high else f"{m.low:.2f} to {m.high:.2f}" for m in cost.against)
        against = tuple(f"{ratio} {m.what} ({m.source})" for ratio, m in zip(ratios, cost.against, strict=True))
        share = PathShare(
            path, cost.path, paths[path], cost.low, cost.high, cost.kind, cost.sources, against, cost.note
        )
        if paths[path]:
            found.append(share)
    return tuple(found)


def regret_of(
    against: str,
    found: FirstFit | None,
    goals: Sequence[GoalValue],
    placements: Sequence[Placement],
    places: Mapping[DeviceID, Locality],
) -> Regret | None:
    """Return the regret of one first fit, None where it allocated nothing or was not simulated."""
    if found is None or found.status is not FirstFitStatus.ALLOCATED:
        return None
    theirs = {goal.goal: goal.value for goal in found.goals}
    differing = tuple(
        GoalRegret(goal.goal, goal.value, theirs[goal.goal])
        for goal in goals
        if goal.goal in theirs and theirs[goal.goal] != goal.value and not goal.at_most
    )
    paths = (_shares(_paths(places, taken)) for taken in (placements, found.placements))
    return Regret(against, differing, *paths)


def fleet_regret(cluster: Cluster, plan: Plan) -> Regret | None:
    """Return what the first fit costs over all replicas that it placed nodes for; None where it was not simulated.

    A GPU's NIC is one of its own replica. Where not every node was compared, all of it is about the nodes that were.
    """
    found = plan.first_fit
    if found is None:
        return None
    nodes = frozenset(found.compared if found.status is FirstFitStatus.STOPPED else plan.nodes)
    pairs = plan.against_first_fit
    differing = tuple(
        GoalRegret(goal.goal, *pairs[goal.goal])
        for goal in plan.goals
        if goal.goal in pairs and pairs[goal.goal][0] != pairs[goal.goal][1]
    )
    paths = (
        sum((_paths(localities(cluster, r.node), r.devices) for r in pods if r.node in nodes), Counter[str]())
        for pods in (plan.pods, found.pods)
    )
    return Regret("manifest", differing, *map(_shares, paths))
