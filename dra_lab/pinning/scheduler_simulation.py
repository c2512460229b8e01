"""Pods that arrive one after the other at a copy of kube-scheduler: what first fit takes on each node."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count

from msgspec.structs import replace

from dra_lab.index.node_index import node_index
from dra_lab.model.claims import AllocatedDevices, AllocationResult
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.placement import FirstFitStatus, Placement
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import RECORDED_RELEASES, KubernetesRelease, gates_of
from dra_lab.pinning import node_search
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.pinning.place_selectors import admitted_nodes
from dra_lab.pinning.pod_kinds import PlannedReplica, PodKind
from dra_lab.planner.node.goal_table import Scale, broken_links, value_placements
from dra_lab.scheduler.candidates import held_devices
from dra_lab.scheduler.first_fit import Verdict
from dra_lab.scheduler.identical_nodes import NodeStates
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.sketch.compile_links import MOST_ALTERNATIVES
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
    `broken` are must-links that the devices do not keep because the manifest cannot express them. `cut_off` says that
    the time for all searches was over or the run was cancelled.
    """

    verdict: Verdict
    placements: tuple[Placement, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    holds: tuple[Hold, ...] = ()
    score: int = 0
    broken: tuple[str, ...] = ()
    cut_off: bool = False

    @property
    def status(self) -> FirstFitStatus:
        """Return how the search ended."""
        return self.verdict.status

    @property
    def unknown(self) -> bool:
        """Say whether the search ended for want of our own time: whether kube-scheduler ends it is not known."""
        return self.cut_off or node_search.is_undecided(self.verdict)

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
        self.cluster = cluster
        self.pods = tuple(pods)
        self.release = release
        self.recorded = release.version in RECORDED_RELEASES
        self.budget = budget or PinBudget()
        self.most_steps = 0
        self.longest = 0.0
        self._gates = gates_of(release)
        self._views = node_index(self.cluster, release)
        self._held = AllocatedDevices() if idle else held_devices(cluster, self._gates)
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
            return SimulatedPod(Verdict(FirstFitStatus.STOPPED, message="no time was left"), cut_off=True)
        held = self._held_after(node, history)
        verdict, cut_off = node_search.search(self.cluster, node, pod.claims, self.release, self.budget, held)
        self.most_steps = max(self.most_steps, verdict.steps)
        self.longest = max(self.longest, verdict.seconds)
        if verdict.status is not FirstFitStatus.ALLOCATED or verdict.allocations is None:
            return SimulatedPod(verdict, cut_off=cut_off)
        placements = tuple(_placements(pod, verdict.allocations))
        devices = {item.id: item.device for item in self._views.view(node).devices}
        places, lists = localities(self.cluster, node), self._gates.list_attributes
        scale = Scale(pod.drawn, places, devices, pod.paired, lists)
        goals, broken = value_placements(scale, placements, pod.order), broken_links(scale, placements)
        holds = _holds(verdict.allocations)
        score = _score(pod, verdict.allocations) if self.release.is_at_least("1.35") else 0
        return SimulatedPod(replace(verdict, allocations=None), placements, goals, holds, score, broken)

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


Served = list[tuple[PlannedReplica, str, SimulatedPod]]
"""Replicas in order of arrival, the node of each ("" for none), what first fit took there or why it took nothing."""

_State = tuple[Hashable, History]
"""Kind of a node, and the pods that stand on it."""

NOWHERE = SimulatedPod(Verdict(FirstFitStatus.NONE, message="no admitted node has what it requests"))


def run_pods(
    simulation: SchedulerSimulation,
    order: Sequence[PlannedReplica],
    rng: random.Random | None,
    *,
    any_node: bool = False,
) -> Served | None:
    """Let pods arrive; without `rng` on the worst node each time. None: our own time was over, or that of a search.

    With `rng` a pod goes to a node with the best score. With `any_node` it goes to any node, half of the time to the
    one before, because other plugins decide as well and may fill one node after the other.
    """
    states: dict[str, _State] = {name: (kind, ()) for kind, names in simulation.kinds.items() for name in names}
    offers: dict[int, _Offers] = {}
    everything: History = ()
    served: Served = []
    for replica in order:
        if simulation.shared:
            # what stands on one node may matter on every other
            offers.clear()
        own = offers.get(replica.workload)
        if own is None:
            own = offers[replica.workload] = _Offers(
                simulation, replica.workload, states, everything, any_node=any_node
            )
        if own.cut_off or simulation.budget.reached:
            return None
        node, taken = own.choose(rng, everything[-1][0] if any_node and everything else "")
        served.append((replica, node, taken))
        if not node:
            continue
        everything = (*everything, (node, replica.workload))
        before = states[node]
        states[node] = (before[0], (*before[1], (node if simulation.shared else "", replica.workload)))
        for offer in offers.values() if not simulation.shared else ():
            offer.move(node, before)
    return served


class _Offers:
    """What first fit takes for the next pod of a workload, on each admitted node as it stands.

    A node that got a pod is entered again, and its older entries are skipped.
    """

    def __init__(
        self,
        simulation: SchedulerSimulation,
        workload: int,
        states: Mapping[str, _State],
        everything: History = (),
        *,
        any_node: bool = False,
    ) -> None:
        """Look at every node; `everything` are the pods that stand already, which is asked where devices are shared."""
        self._any_node = any_node
        self.cut_off = False
        self._simulation, self._workload, self._states, self._everything = simulation, workload, states, everything
        self._taken: dict[_State, SimulatedPod] = {}
        self._by_score: dict[int, list[tuple[str, _State]]] = defaultdict(list)
        self._worst: list[tuple[tuple[int, ...], int, str, _State]] = []
        self._number = count()
        self._failing: dict[_State, int] = defaultdict(int)
        for node in states:
            self._enter(node)

    def move(self, node: str, before: _State) -> None:
        """Look at a node again on which a pod was placed."""
        if before in self._failing and self._simulation.admits(self._workload, node):
            self._failing[before] -= 1
        self._enter(node)

    def choose(self, rng: random.Random | None, before: str = "") -> tuple[str, SimulatedPod]:
        """Return a node and what is taken there; "" and the reason where a pod is not placed.

        `before` is taken half of the time if it has a place.
        As with kube-scheduler a search that fails on any admitted node ends the attempt.
        """
        failing = next((state for state, nodes in self._failing.items() if nodes), None)
        if failing is not None:
            return "", self._taken[failing]
        if rng is None:
            while self._worst and self._states[self._worst[0][2]] != self._worst[0][3]:
                heappop(self._worst)
            return (self._worst[0][2], self._taken[self._worst[0][3]]) if self._worst else ("", NOWHERE)
        own = bool(before) and self._simulation.admits(self._workload, before)
        again = self._taken.get(self._states[before]) if own else None
        if again is not None and again.status is FirstFitStatus.ALLOCATED and rng.random() < 0.5:
            return before, again
        for score in sorted(self._by_score, reverse=True):
            nodes = self._by_score[score]
            while nodes:
                at = rng.randrange(len(nodes))
                node, state = nodes[at]
                if self._states[node] == state:
                    return node, self._taken[state]
                nodes[at] = nodes[-1]
                nodes.pop()
        return "", NOWHERE

    def _enter(self, node: str) -> None:
        if not self._simulation.admits(self._workload, node) or self.cut_off:
            return
        state = self._states[node]
        taken = self._taken.get(state)
        if taken is None:
            history = self._everything if self._simulation.shared else state[1]
            taken = self._taken[state] = self._simulation.taken(node, history, self._workload)
        self.cut_off |= taken.unknown
        if taken.status in (FirstFitStatus.ERROR, FirstFitStatus.STOPPED):
            self._failing[state] += 1
        elif taken.status is FirstFitStatus.ALLOCATED:
            self._by_score[0 if self._any_node else taken.score].append((node, state))
            heappush(self._worst, (tuple(-value for value in taken.values), next(self._number), node, state))
