"""What kube-scheduler's first fit makes of pods on given nodes: a start without a model, and a plan to compare with."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from msgspec.structs import replace as changed

from dra_lab.errors import Cancelled, UnsupportedFeature
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import FirstFit, FirstFitStatus, PlacedPod, Placement
from dra_lab.model.plan import Plan
from dra_lab.model.sketch import asks
from dra_lab.model.what_if import part_of_cluster
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import OnePod, values_of
from dra_lab.planner.fleet.placing import goals_of, scale_on
from dra_lab.planner.fleet.question import FleetPod, FleetProblem
from dra_lab.planner.fleet.sites import Site, devices_of
from dra_lab.planner.node.goal_table import broken_links, value_placements
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import CompiledClaim, compile_claim


class PodAsWritten:
    """The claims of a workload's pods as Kubernetes reads them, and the way back from requests to asks."""

    def __init__(self, fleet: FleetProblem, pod: FleetPod) -> None:
        """Compile the claims of a pod."""
        self.pod = pod
        self.compiled: list[CompiledClaim] = [
            compile_claim(claim, fleet.scan.cluster, fleet.release) for claim in pod.workload.claims
        ]
        every = [ask for request in pod.sketch.requests for ask in asks(request)]
        self.ask_of = {ask.reference: at for at, ask in enumerate(every)}
        self.admin = [bool(ask.admin_access) for ask in every]

    def first_fit(
        self, fleet: FleetProblem, cluster: Cluster, node: str, name: str, budget: Budget
    ) -> tuple[FirstFitStatus, list[ResourceClaim]]:
        """Return how first fit ends for one pod on a node, and its allocated claims.

        Raises Cancelled, and UnsupportedFeature for rules that first fit does not know.
        """
        claims = [
            ResourceClaim(metadata=ObjectMeta(name=f"{name}-{at}"), spec=compiled.spec)
            for at, compiled in enumerate(self.compiled)
        ]
        limit = budget.shares.search if budget.left is None else min(budget.shares.search, budget.left)
        verdict = first_fit(cluster, node, claims, fleet.release, time_limit=limit, cancel=budget.cancel)
        allocated = zip(claims, verdict.allocations or (), strict=False)
        return verdict.status, [changed(one, status=changed(one.status, allocation=given)) for one, given in allocated]

    def claim(self, at: int) -> str:
        """Return the name of a claim where a pod has several, else ""."""
        return self.pod.workload.claims[at].name if self.pod.several else ""

    def drawn(self, at: int, request: str) -> str:
        """Return a request of a claim as it is drawn."""
        return self.compiled[at].origin.get(request, request)

    def expanded(self, at: int, request: str) -> str:
        """Return a request of a claim as the pod's expanded drawing names it: parts of a split one have names there."""
        claim = self.claim(at)
        names = [f"{claim}{MARK}{name}" if claim else name for name in (self.drawn(at, request), request)]
        return next((name for name in names if name in self.ask_of), names[0])


@dataclass
class FirstFitPods:
    """First fit on the nodes of one member of a site, one after the other; `order` are goals of devices."""

    fleet: FleetProblem
    site: Site
    order: Sequence[str]
    claims: Sequence[PodAsWritten]

    @cached_property
    def _nodes(self) -> tuple[str, ...]:
        return self.site.nodes[0] if self.site.nodes else self.site.members[:1]

    @cached_property
    def _group_of(self) -> dict[DeviceID, int]:
        groups = devices_of(self.fleet, self.site, self._nodes[0])
        return {device: group for group, devices in groups.items() for device in devices}

    def placed(self, pods: Sequence[int], demand: Sequence[int], budget: Budget) -> Iterator[OnePod]:
        """Yield pods, workload after workload, each on the first node that has devices for it.

        Pods with admin access fit beside all others, so that they come last; none is tried that also takes devices.
        """
        held: list[ResourceClaim] = []
        parts = {node: part_of_cluster(self.fleet.scan.cluster, node) for node in self._nodes}
        for pod in sorted(pods, key=lambda pod: any(self.claims[pod].admin)):
            rest = 0 if len(set(self.claims[pod].admin)) > 1 else demand[pod]
            for node in self._nodes:
                where = node if self.site.nodes else self.site.parts[0].node
                at = next(n for n, part in enumerate(self.site.parts) if (part.pod, part.node) == (pod, where))
                while rest and not budget.reached:
                    cluster = parts[node].with_objects(claims=(*parts[node].claims, *held))
                    try:
                        _, found = self.claims[pod].first_fit(self.fleet, cluster, node, f"pod-{len(held)}", budget)
                    except (Cancelled, UnsupportedFeature):
                        return
                    one = self._scheduled(node, at, found) if found else None
                    if one is None:
                        break
                    held += found
                    rest -= 1
                    yield one

    def _scheduled(self, node: str, at: int, found: Sequence[ResourceClaim]) -> OnePod | None:
        """Return a pod by asks and groups; None if it breaks a required link, or takes what the problem has not."""
        part, mine = self.site.parts[at], self.claims[self.site.parts[at].pod]
        taken, placements = Counter[tuple[int, int]](), []
        for number, claim in enumerate(found):
            assert claim.status.allocation is not None, "only allocated claims are placed"
            for result in claim.status.allocation.devices.results:
                name = mine.expanded(number, result.request)
                if result.id not in self._group_of or name not in mine.ask_of:
                    return None
                if Placement(name, result.id) in placements:
                    # kube-scheduler gives a request two shares of one device; the planner gives it other devices.
                    return None
                taken[part.asks[0] + mine.ask_of[name], self._group_of[result.id]] += 1
                placements.append(Placement(name, result.id))
        if broken_links(scale_on(self.fleet, mine.pod, node), placements):
            return None
        takes = tuple((ask, group, count) for (ask, group), count in taken.items())
        return OnePod(at, takes, values_of(self.site, part, takes, self.order))


@dataclass
class _Trial:
    """First fit on the nodes of a plan."""

    fleet: FleetProblem
    order: tuple[str, ...]
    claims: dict[str, PodAsWritten]
    budget: Budget
    numbers: dict[str, int] = field(default_factory=dict)
    replicas: list[PlacedPod] = field(default_factory=list)


def first_fit_of(fleet: FleetProblem, plan: Plan, order: Sequence[str], budget: Budget) -> FirstFit | None:
    """Return what first fit takes where the plan's pods stand: those planned for a node, one after the other, on it.

    Other plugins decide which node kube-scheduler would pick, so the result does not depend on that. Pods come in the
    order of the plan's workloads, with the claims that the drawings compile to. A pod without devices is not placed,
    the next one is tried. After `Shares.compare` seconds the status is STOPPED, and a finding says how many nodes were
    compared; the goals are those of these nodes, and `unplaced` counts the pods planned there. None where nothing was.
    """
    budget.report_step("first fit", "what kube-scheduler would take on the same nodes")
    claims = {pod.workload.name: PodAsWritten(fleet, pod) for pod in fleet.pods}
    trial = _Trial(fleet, tuple(order), claims, budget.until(time.monotonic() + budget.shares.compare))
    compared, on_node = [], plan.on_node
    for node, replicas in on_node.items():
        if trial.budget.reached:
            break
        if _on_node(trial, node, replicas):
            compared.append(node)
    if not compared:
        return None
    planned = sum(len(on_node[node]) for node in compared)
    counted = goals_of(fleet, trial.replicas, order, len({replica.node for replica in trial.replicas}))
    goals = [counted[goal] for goal in order]
    if len(compared) < len(on_node):
        goals[0] = replace(goals[0], value=planned - len(trial.replicas))
    return FirstFit(
        FirstFitStatus.ALLOCATED if len(compared) == len(on_node) else FirstFitStatus.STOPPED,
        tuple(trial.replicas),
        tuple(goals),
        compared=tuple(compared) if len(compared) < len(on_node) else (),
    )


def _on_node(trial: _Trial, node: str, replicas: Sequence[PlacedPod]) -> bool:
    """Try the pods of one node; say whether it was done to the end."""
    part = part_of_cluster(trial.fleet.scan.cluster, node)
    held: list[ResourceClaim] = []
    found: list[PlacedPod] = []
    for replica in replicas:
        if trial.budget.reached:
            return False
        cluster, claims = part.with_objects(claims=(*part.claims, *held)), trial.claims[replica.workload]
        try:
            name = f"{replica.workload}-{replica.replica}"
            status, allocated = claims.first_fit(trial.fleet, cluster, node, name, trial.budget)
        except (Cancelled, UnsupportedFeature):
            return False
        if status is FirstFitStatus.STOPPED:
            return False
        if allocated:
            found.append(_placed(trial, claims, replica, allocated))
            held.extend(allocated)
    trial.replicas.extend(found)
    return True


def _placed(trial: _Trial, mine: PodAsWritten, planned: PlacedPod, claims: Sequence[ResourceClaim]) -> PlacedPod:
    """Return a replica with the devices that its claims were allocated."""
    inner: list[Placement] = []
    outer: list[Placement] = []
    for at, claim in enumerate(claims):
        assert claim.status.allocation is not None, "only allocated claims are placed"
        for result in claim.status.allocation.devices.results:
            consumed = {key: str(amount) for key, amount in result.consumed_capacity.items()}
            drawn = mine.pod.drawn(at, mine.drawn(at, result.request))
            outer.append(Placement(drawn, result.id, result.request, consumed, mine.claim(at)))
            inner.append(Placement(mine.expanded(at, result.request), result.id, consumed=consumed))
    goals = value_placements(scale_on(trial.fleet, mine.pod, planned.node), inner, trial.order)
    return PlacedPod(planned.workload, planned.replica, planned.node, tuple(outer), goals)
