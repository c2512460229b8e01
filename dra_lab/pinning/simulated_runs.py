"""One run of arriving pods: each goes to the node with the best score, to any node, or where it is served worst."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count

from dra_lab.model.placement import FirstFitStatus
from dra_lab.pinning.planned_devices import PlannedReplica
from dra_lab.pinning.scheduler_simulation import History, SchedulerSimulation, SimulatedPod

Served = list[tuple[PlannedReplica, str, SimulatedPod]]
"""Replicas in order of arrival, the node of each ("" for none), what first fit took there or why it took nothing."""

_State = tuple[Hashable, History]
"""Kind of a node, and the pods that stand on it."""

NOWHERE = SimulatedPod(FirstFitStatus.NONE, message="no admitted node has what it requests")


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
