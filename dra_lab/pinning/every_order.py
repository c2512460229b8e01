"""Every order of arrival and every choice of nodes: the order that serves the fewest replicas as planned, exactly.

First fit has no choice on a node. What is taken there depends only on the pods that stand there and on their order. So
the states of one node are gone through, equal states once, and nodes are then combined by a dynamic programme over the
number of pods of each workload. Workloads whose devices do not meet are looked at one by one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod

from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.sketch import asks
from dra_lab.pinning.pod_kinds import PodKind
from dra_lab.pinning.replay_result import Expected
from dra_lab.pinning.scheduler_simulation import History, SchedulerSimulation, SimulatedPod
from dra_lab.pinning.simulated_runs import NOWHERE, Served
from dra_lab.sketch.cluster_candidates import candidates

_Pods = tuple[int, ...]
"""How many pods of each workload of a group."""

_Key = tuple[_Pods, Hashable]
"""The pods of a state, and what they hold."""

_FAILED = (FirstFitStatus.ERROR, FirstFitStatus.STOPPED)

_Trace = tuple["_Trace", str, History] | None
"""The nodes before, a node, and the pods that arrived there in order."""


@dataclass(frozen=True)
class Every:
    """The fewest and the most pods that any order places, and the orders that serve the fewest as planned."""

    fewest: int
    most: int
    worst: tuple[Served, ...]


class _Undecided(Exception):
    """Not every order can be gone through: there are too many states, or a search failed."""


@dataclass(frozen=True)
class _Goal:
    """Pods of a workload whose values are no worse than some planned value: as many as planned are wanted."""

    workload: int
    values: tuple[int, ...]
    wanted: int


@dataclass
class _State:
    """A state of a site: an order that leads there, for each goal the order with the fewest pods that count."""

    history: History
    blocked: int = 0
    fewest: dict[int, tuple[int, History]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Site:
    """Equal nodes, or all nodes where devices are shared: its states as (pods, workloads without a place, state)."""

    nodes: tuple[str, ...]
    states: tuple[tuple[_Pods, int, _State], ...]


def every_order(
    simulation: SchedulerSimulation, expected: Sequence[Expected], planned: Mapping[int, Sequence[tuple[int, ...]]]
) -> Every | None:
    """Go through every order and every choice of nodes; None where there are too many or a search fails.

    `planned` are the values of the planned replicas by workload. In `Every.worst` is an order for each group of
    workloads and goal that is missed, with all pods.
    """
    fewest = most = 0
    worst: list[Served] = []
    try:
        left = _Left(simulation.budget.pin_sizes.states, simulation.budget.pin_sizes.steps)
        for group in _groups(simulation):
            own = [replica for replica in expected if replica.workload in group]
            found = _Group(simulation, group, own, planned, left).examine()
            fewest, most = fewest + found.fewest, most + found.most
            worst += found.worst
    except _Undecided:
        return None
    return Every(fewest, most, tuple(worst))


@dataclass
class _Left:
    """States and steps that are left."""

    states: int
    steps: int

    def take(self, *, states: int = 0, steps: int = 0) -> None:
        self.states -= states
        self.steps -= steps
        if self.states < 0 or self.steps < 0:
            raise _Undecided


def _groups(simulation: SchedulerSimulation) -> list[tuple[int, ...]]:
    """Return the workloads in groups whose devices do not meet: what one group takes, no other can have."""
    groups: list[tuple[tuple[int, ...], frozenset[Hashable]]] = []
    for number, pod in enumerate(simulation.pods):
        own: tuple[int, ...] = (number,)
        devices = _devices(simulation, number, pod)
        for other in [group for group in groups if not devices.isdisjoint(group[1])]:
            groups.remove(other)
            own, devices = (*other[0], *own), devices | other[1]
        groups.append((own, devices))
    return [tuple(sorted(own)) for own, _ in groups]


def _devices(simulation: SchedulerSimulation, workload: int, pod: PodKind) -> frozenset[Hashable]:
    """Return the devices that a workload can take, and the pools whose counters it can use."""
    found: set[Hashable] = set()
    requests = [request for claim in pod.claims for request in claim.spec.devices.requests]
    for ask in (ask for request in requests for ask in asks(request)):
        for item in candidates(simulation.cluster, ask, simulation.release).devices:
            node = item.slice.spec.node_name or ""
            if node and not simulation.admits(workload, node):
                continue
            found.add(item.id)
            if item.device.consumes_counters:
                found.add((item.id.driver, item.id.pool))
    return frozenset(found)


class _Group:
    """Workloads that compete for devices."""

    def __init__(
        self,
        simulation: SchedulerSimulation,
        workloads: Sequence[int],
        expected: Sequence[Expected],
        planned: Mapping[int, Sequence[tuple[int, ...]]],
        left: _Left,
    ) -> None:
        self._simulation, self._workloads, self._expected, self._left = simulation, workloads, expected, left
        count = Counter(replica.workload for replica in expected)
        self._all: _Pods = tuple(count[workload] for workload in workloads)
        self._goals = [
            _Goal(workload, values, sum(one <= values for one in planned.get(workload, ())))
            for workload in workloads
            for values in sorted(set(planned.get(workload, ())))
        ]

    def examine(self) -> Every:
        """Return the worst orders. Raises _Undecided."""
        sites = [self._site(nodes, together=together) for nodes, together in self._kinds()]
        if self._goals and len(self._workloads) == 1 and not self._simulation.shared:
            # every pod on every node is served as planned: no choice of nodes can be worse
            headroom = sum(len(site.nodes) * max(pods for (pods,), _, _ in site.states) for site in sites)
            as_planned = all(state.fewest[0][0] == pods for site in sites for (pods,), _, state in site.states)
            placed = min(headroom, *self._all)
            if as_planned and placed >= self._goals[-1].wanted:
                return Every(placed, placed, ())
        finals: dict[_Pods, _Trace] = {}
        worst: list[Served] = []
        every = range(len(self._workloads))
        for goal in range(len(self._goals)) or (-1,):
            least: tuple[int, _Trace] | None = None
            for without in (set(w) for size in range(len(every) + 1) for w in combinations(every, size)):
                for pods, (good, trace) in self._combined(sites, goal, sum(1 << w for w in without)).items():
                    if any((pods[w] < self._all[w]) != (w in without) for w in every):
                        continue
                    finals.setdefault(pods, trace)
                    if least is None or good < least[0]:
                        least = good, trace
            if goal >= 0 and least is not None and least[0] < self._goals[goal].wanted:
                worst.append(self._served(least[1]))
        if not finals:
            raise _Undecided
        totals = [sum(pods) for pods in finals]
        return Every(min(totals), max(totals), tuple(worst))

    def _kinds(self) -> Iterator[tuple[tuple[str, ...], bool]]:
        """Yield nodes that are equal for all workloads; where devices are shared all nodes together, and True."""
        if self._simulation.shared:
            yield tuple(name for names in self._simulation.kinds.values() for name in names), True
            return
        for names in self._simulation.kinds.values():
            by_admission: dict[tuple[bool, ...], list[str]] = defaultdict(list)
            for name in names:
                by_admission[tuple(self._simulation.admits(w, name) for w in self._workloads)].append(name)
            for admitted, own in by_admission.items():
                if any(admitted):
                    yield tuple(own), False

    def _site(self, nodes: tuple[str, ...], *, together: bool) -> _Site:
        """Go through the states of a node, or of all nodes together."""
        start = _State((), fewest=dict.fromkeys(range(-1, len(self._goals)), (0, ())))
        layer: dict[_Key, _State] = {(tuple(0 for _ in self._workloads), frozenset()): start}
        found: list[tuple[_Pods, int, _State]] = []
        # pods of one workload have one state for each number of them: each kind of node has a limit of its own
        left = self._left if together or len(self._workloads) > 1 else replace(self._left)
        while layer:
            left.take(states=len(layer))
            further: dict[_Key, _State] = {}
            for key, state in layer.items():
                steps = list(self._steps(nodes if together else nodes[:1], key[0], state))
                for place, node, taken in steps:
                    self._enter(further, key, state, place, (node if together else "", taken))
                found.append((key[0], state.blocked, state))
            layer = further
        return _Site(nodes[:1] if together else nodes, tuple(found))

    def _steps(self, nodes: Sequence[str], pods: _Pods, state: _State) -> Iterator[tuple[int, str, SimulatedPod]]:
        """Yield what one more pod of each workload takes on each node; note the workloads without a place."""
        for place, workload in enumerate(self._workloads):
            if pods[place] == self._all[place]:
                continue
            own = [
                (node, self._simulation.taken(node, state.history, workload))
                for node in nodes
                if self._simulation.admits(workload, node)
            ]
            if any(taken.unknown or taken.status in _FAILED for _, taken in own):
                raise _Undecided
            allocated = [(place, node, taken) for node, taken in own if taken.status is FirstFitStatus.ALLOCATED]
            if not allocated:
                state.blocked |= 1 << place
            elif state.blocked >> place & 1:
                raise _Undecided  # it had no place with fewer pods there: then the order of attempts matters
            yield from allocated

    def _enter(
        self, further: dict[_Key, _State], key: _Key, state: _State, place: int, step: tuple[str, SimulatedPod]
    ) -> None:
        (pods, holds), (node, taken) = key, step
        arrived = node, self._workloads[place]
        more = tuple(count + (number == place) for number, count in enumerate(pods))
        own = further.setdefault((more, _added(holds, taken)), _State((*state.history, arrived)))
        own.blocked |= state.blocked
        for goal, (good, history) in state.fewest.items():
            counts = good + self._counts(goal, arrived[1], taken)
            if goal not in own.fewest or counts < own.fewest[goal][0]:
                own.fewest[goal] = counts, (*history, arrived)

    def _counts(self, goal: int, workload: int, taken: SimulatedPod) -> bool:
        wanted = self._goals[goal] if goal >= 0 else None
        return wanted is not None and wanted.workload == workload and taken.values <= wanted.values

    def _combined(self, sites: Sequence[_Site], goal: int, blocked: int) -> dict[_Pods, tuple[int, _Trace]]:
        """Return, by the pods that are placed, the fewest that count and an order; no `blocked` workload has room."""
        found: dict[_Pods, tuple[int, _Trace]] = {tuple(0 for _ in self._workloads): (0, None)}
        for site in sites:
            own: dict[_Pods, tuple[int, History]] = {}
            for pods, without, state in site.states:
                if without & blocked == blocked and (pods not in own or state.fewest[goal][0] < own[pods][0]):
                    own[pods] = state.fewest[goal]
            for node in site.nodes:
                self._left.take(steps=min(len(found), prod(n + 1 for n in self._all)) * len(own))
                after: dict[_Pods, tuple[int, _Trace]] = {}
                for pods, (good, trace) in found.items():
                    for more, (counts, history) in own.items():
                        both = tuple(map(int.__add__, pods, more))
                        if any(map(int.__gt__, both, self._all)):
                            continue
                        if both not in after or good + counts < after[both][0]:
                            after[both] = good + counts, (trace, node, history)
                found = after
        return found

    def _served(self, trace: _Trace) -> Served:
        """Return an order with what first fit takes, the pods without a place last."""
        left: dict[int, list[Expected]] = defaultdict(list)
        for replica in reversed(self._expected):
            left[replica.workload].append(replica)
        served: Served = []
        while trace is not None:
            trace, node, history = trace
            for number, (where, workload) in enumerate(history):
                on = where or node
                served.append((left[workload].pop(), on, self._simulation.taken(on, history[:number], workload)))
        served += [(replica, "", NOWHERE) for replicas in left.values() for replica in replicas]
        return served


def _added(holds: Hashable, taken: SimulatedPod) -> Hashable:
    """Return what is held after a pod took its devices too: equal sets are equal states."""
    assert isinstance(holds, frozenset)
    counted = Counter(dict(holds))
    counted.update((device, share, tuple(sorted(amounts.items()))) for device, share, amounts in taken.holds)
    return frozenset(counted.items())
