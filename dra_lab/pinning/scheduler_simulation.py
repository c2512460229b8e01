"""Pods that arrive one after the other at a copy of kube-scheduler: what first fit takes on each node."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.index.node_index import node_index
from dra_lab.index.pools import pools_of
from dra_lab.model.claims import AllocatedDevices, AllocationResult
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.placement import FirstFitStatus, Placement
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import RECORDED_RELEASES, KubernetesRelease, gates_of
from dra_lab.pinning import node_search
from dra_lab.pinning.node_pins import admitted_nodes
from dra_lab.pinning.pin_budget import NODE_SECONDS, PinBudget
from dra_lab.pinning.pod_kinds import PodKind
from dra_lab.planner.node.goal_table import Scale, broken_links, value_placements
from dra_lab.scheduler.candidates import check_supported, held_devices, view_node
from dra_lab.scheduler.first_fit import search_node
from dra_lab.scheduler.identical_nodes import NodeStates
from dra_lab.scheduler.search_limits import SearchLimits
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.sketch.prioritized_list import MOST_ALTERNATIVES
from dra_lab.topology.locality import localities

History = tuple[tuple[str, int], ...]
"""Pods that stand already, in order of arrival, as (node, workload): first fit has no choice, so they tell the state.

Where no device is shared between nodes only the pods of the same node matter, and the node is "".
"""

Hold = tuple[DeviceID, bool, Mapping[str, str]]
"""A device that is held: (device, as a share, consumed capacity)."""


@dataclass(frozen=True, slots=True)
class SimulatedPod:
    """What first fit takes for a pod on a node.

    `score` is kube-scheduler's for prioritised lists, before it is scaled. `goals` value the drawing as planned.
    `cut_off` says that the time for all searches was over or the run was cancelled. `broken` are must-links that the
    devices do not keep because the manifest cannot express them. `steps` and `seconds` are those of `Verdict`.
    """

    status: FirstFitStatus
    placements: tuple[Placement, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    holds: tuple[Hold, ...] = ()
    score: int = 0
    steps: int = 0
    seconds: float = 0.0
    message: str = ""
    cut_off: bool = False
    broken: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Say whether the search ended for want of our own time: whether kube-scheduler ends it is not known."""
        return self.cut_off or node_search.is_undecided(self.status, self.seconds)

    @property
    def values(self) -> tuple[int, ...]:
        """Return how many must-links are broken, then the goals' values in order of importance."""
        return (len(self.broken), *(goal.value for goal in self.goals))


class SchedulerSimulation:
    """Answers what first fit takes on a node with a history; equal nodes with equal histories are searched once."""

    def __init__(
        self,
        cluster: Cluster,
        pods: Sequence[PodKind],
        release: KubernetesRelease,
        *,
        affinity: Sequence[Affinity] = (),
        budget: PinBudget | None = None,
        idle: bool = False,
    ) -> None:
        """Take the nodes that an affinity admits; `affinity` is per workload, `idle` leaves out what is in use.

        No `budget` is one without an end.
        """
        self.cluster = with_documented_classes(cluster)
        self.pods = tuple(pods)
        self.release = release
        self.recorded = release.version in RECORDED_RELEASES
        self.budget = budget or PinBudget()
        self.most_steps = 0
        self.longest = 0.0
        self._gates = gates_of(release)
        self._views = node_index(self.cluster, release)
        self._held = held_devices(self.cluster, self._gates, ignore=idle)
        self._known: dict[Hashable, SimulatedPod] = {}
        # a device without a node of its own is there for several: then what stands on other nodes matters
        self.shared = bool(self.cluster.network_slices)
        self._admitted = [admitted_nodes(self.cluster, wanted) for wanted in affinity or [()] * len(self.pods)]
        self.kinds = self._kinds()
        self.kind_of = {name: kind for kind, names in self.kinds.items() for name in names}

    def admits(self, workload: int, node: str) -> bool:
        """Say whether the affinity of a workload's pods admits a node."""
        return node in self._admitted[workload]

    def taken(self, node: str, history: History, workload: int) -> SimulatedPod:
        """Return what first fit takes for a pod of a workload on a node on which pods stand already."""
        if not self.shared:
            history = tuple(("", number) for where, number in history if where in ("", node))
        key = (self.kind_of[node], history, workload)
        found = self._known.get(key)
        if found is None:
            rep = self.kinds[self.kind_of[node]][0]
            found = self._search(rep, history, workload)
            if not found.cut_off:
                self._known[key] = found
        return found

    def _kinds(self) -> dict[Hashable, tuple[str, ...]]:
        every = [claim for pod in self.pods for claim in pod.claims]
        names = set().union(*self._admitted)
        found: dict[Hashable, list[str]] = {}
        states = NodeStates(self.cluster, self.release, self._held)
        for number, group in enumerate(states.groups(every, cancel=self.budget.cancel)):
            for name in group:
                if name in names:
                    apart = name if self.shared else ""
                    found.setdefault((number, self._views.view(name).hardware, apart), []).append(name)
        return {key: tuple(group) for key, group in found.items()}

    def _search(self, node: str, history: History, workload: int) -> SimulatedPod:
        pod = self.pods[workload]
        if self.budget.reached:
            return SimulatedPod(FirstFitStatus.STOPPED, message="no time was left", cut_off=True)
        held = self._held_after(node, history)
        view = view_node(self.cluster, node, pools_of(self.cluster, node, self._gates), held, self._gates)
        check_supported(view, pod.claims, self.release)
        seconds = self.budget.node_seconds
        limits = SearchLimits(node_search.MOST_STEPS, seconds, self.budget.cancel, node_search.LONGEST)
        verdict = search_node(view, pod.claims, self._gates, limits, recorded=self.recorded)
        self.most_steps = max(self.most_steps, verdict.steps)
        self.longest = max(self.longest, verdict.seconds)
        if verdict.status is not FirstFitStatus.ALLOCATED or verdict.allocations is None:
            cut_off = node_search.is_undecided(verdict.status, verdict.seconds) and (
                seconds < NODE_SECONDS or self.budget.reached
            )
            return SimulatedPod(
                verdict.status, steps=verdict.steps, seconds=verdict.seconds, message=verdict.message, cut_off=cut_off
            )
        placements = tuple(_placements(pod, verdict.allocations))
        scale = self._scale(pod, node)
        goals, broken = value_placements(scale, placements, pod.order), broken_links(scale, placements)
        holds = _holds(verdict.allocations)
        score = _score(pod, verdict.allocations) if self.release.is_at_least("1.35") else 0
        return SimulatedPod(
            verdict.status, placements, goals, holds, score, verdict.steps, verdict.seconds, broken=broken
        )

    def _scale(self, pod: PodKind, node: str) -> Scale:
        devices = {item.id: item.device for item in self._views.view(node).devices}
        lists = self._gates.list_attributes
        return Scale(pod.drawn, localities(self.cluster, node), devices, pod.paired, lists)

    def _held_after(self, node: str, history: History) -> AllocatedDevices:
        base = self._held
        if not self.shared:
            # what is held on other nodes does not matter here, and there is much of it
            seen = {item.id for item in self._views.view(node).devices}
            base = AllocatedDevices(
                {device: holder for device in seen if (holder := base.exclusive.get(device))},
                {device: holders for device in seen if (holders := base.shares.get(device))},
                {device: amounts for device in seen if (amounts := base.consumed.get(device))},
            )
        exclusive, shares = dict(base.exclusive), dict(base.shares)
        consumed = {device: dict(amounts) for device, amounts in base.consumed.items()}
        for number, (where, workload) in enumerate(history):
            for hold in self.taken(where or node, history[:number], workload).holds:
                _hold(hold, f"arrived/{number}", exclusive, shares, consumed)
        return AllocatedDevices(exclusive, shares, consumed)


def _hold(
    hold: Hold,
    holder: str,
    exclusive: dict[DeviceID, str],
    shares: dict[DeviceID, tuple[str, ...]],
    consumed: dict[DeviceID, dict[str, Fraction]],
) -> None:
    device, as_share, taken = hold
    if not as_share:
        exclusive[device] = holder
        return
    shares[device] = (*shares.get(device, ()), holder)
    amounts = consumed.setdefault(device, {})
    for key, amount in taken.items():
        amounts[key] = amounts.get(key, Fraction()) + parse_quantity(amount)


def _holds(allocations: Sequence[AllocationResult]) -> tuple[Hold, ...]:
    """Return what a pod keeps from others; admin access keeps nothing (docs/semantics.md 3.14)."""
    results = [result for allocation in allocations for result in allocation.devices.results if not result.admin_access]
    return tuple(
        (r.id, r.share_id is not None, {key: str(amount) for key, amount in r.consumed_capacity.items()})
        for r in results
    )


def _placements(pod: PodKind, allocations: Sequence[AllocationResult]) -> list[Placement]:
    found = []
    for number, (origin, allocation) in enumerate(zip(pod.origin, allocations, strict=True)):
        for result in allocation.devices.results:
            request = origin.get(result.request, result.request)
            reference = f"{number}{MARK}{request}" if len(allocations) > 1 else request
            amounts = {key: str(amount) for key, amount in result.consumed_capacity.items()}
            found.append(Placement(reference, result.id, result.request, amounts))
    return found


def _score(pod: PodKind, allocations: Sequence[AllocationResult]) -> int:
    """Return the sum of (8 - index) over the requests with alternatives (since 1.35; docs/semantics.md 3.15.1)."""
    score = 0
    for claim, allocation in zip(pod.claims, allocations, strict=True):
        used = {result.request for result in allocation.devices.results}
        for request in claim.spec.devices.requests:
            for index, sub in enumerate(request.first_available):
                if f"{request.name}/{sub.name}" in used:
                    score += MOST_ALTERNATIVES - index
    return score
