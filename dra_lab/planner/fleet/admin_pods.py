"""Pods with admin access to all their devices: they take nothing, so that they are placed beside all others.

Benchmark row that needs it: 200 such pods beside 2,500 claims on 500 mixed nodes (`bench_crowded`) place 1,980 pods,
all goals proven, and 603 in 10 s without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import GoalBound
from dra_lab.planner.fleet.pack import Values, device_goals, pack
from dra_lab.planner.fleet.question import FleetProblem, Work
from dra_lab.planner.fleet.site_classes import BestPlan
from dra_lab.planner.fleet.sites import PodsOnNode, parts_on, plain_site
from dra_lab.planner.states.node_state import PodTakes


@dataclass(frozen=True)
class _Best:
    """The best devices of a pod: its values, and on each kind of hardware that has them what it takes there.

    It is `exact` if no other hardware has better ones. Without `takes`, none was found.
    """

    values: Values = ()
    takes: dict[int, PodTakes] = field(default_factory=dict)
    exact: bool = True


@dataclass(frozen=True)
class AdminPods:
    """The workloads with admin access, the best of each, and the fleet without them.

    All pods of one stand on one node: wherever they are, they could as well stand where the best of them is.
    """

    whole: FleetProblem
    rest: FleetProblem
    order: tuple[str, ...]
    best: dict[int, _Best]

    def added(self, work: Work, answer: BestPlan, by_node: Sequence[PodsOnNode]) -> tuple[BestPlan, list[PodsOnNode]]:
        """Return an answer for the rest, and who stands where in it, with these pods beside it."""
        if answer.chosen is None:
            return answer, list(by_node)
        every = list(by_node)
        used = {node for on_node in by_node for _, node, _ in on_node.parts()}
        more = Counter[str]()
        for pod, best in self.best.items():
            replicas = self.whole.pods[pod].workload.replicas
            nodes = self._nodes(best, used, all_able=work.question.on_each)
            wanted = len(self.whole.scan.rules.nodes) if work.question.on_each else 1
            more[UNPLACED] += replicas * (wanted - len(nodes)) * work.question.worths[pod]
            if not best.takes:
                continue
            more[NODES] += len(set(nodes) - used)
            used.update(nodes)
            every.extend(self._on_node(pod, best, node) for node in nodes)
            for goal, value in zip(device_goals(self.order), best.values, strict=True):
                more[goal] += value * replicas * len(nodes)
        # A solution that gives way in a goal that is not proven may be better in the goals after it.
        goals, sure, exact = [], self.whole.scan.complete, all(best.exact for best in self.best.values())
        for known in answer.goals:
            found = _with(known, more[known.goal], sure=sure and exact)
            goals.append(found if exact or known.goal == UNPLACED else replace(found, bound=0))
            sure = sure and goals[-1].proven
        answer.goals = tuple(goals)
        return answer, sorted(every, key=lambda on_node: on_node.node)

    def _nodes(self, best: _Best, used: Collection[str], *, all_able: bool) -> list[str]:
        """Return a node with the best, one that is used already if there is any, or all nodes that have it."""
        able = [node for node, state in self.whole.survey.states.items() if state.layout in best.takes]
        return able if all_able else sorted(able, key=lambda node: (node not in used, node))[:1]

    def _on_node(self, pod: int, best: _Best, node: str) -> PodsOnNode:
        state = self.whole.survey.states[node]
        site = plain_site(self.whole, state, [node])
        replicas = self.whole.pods[pod].workload.replicas
        counts = tuple(replicas if part.pod == pod else 0 for part in parts_on(self.whole, node))
        return PodsOnNode(site, node, counts, lambda: (best.takes[state.layout],) * replicas)


def _with(goal: GoalBound, more: int, *, sure: bool) -> GoalBound:
    if goal.bound is None or not sure:
        return replace(goal, value=goal.value + more)
    # Another best plan for the rest may use a node that these would share.
    bound = max(goal.bound, min(1, more)) if goal.goal == NODES else goal.bound + more
    return replace(goal, value=goal.value + more, bound=bound)


def admin_pods(work: Work) -> AdminPods | None:
    """Return the pods with admin access; None if there are none, or if they are better planned with all others.

    That is if the states of nodes are not known, and if the nodes used count more than the values of devices.
    """
    fleet, order = work.question.fleet, work.question.order
    asks = fleet.scan.rules.asks
    mine = [
        at
        for at, pod in enumerate(fleet.pods)
        if pod.workload.replicas and all(ask.admin_access for ask in asks[slice(*pod.asks)])
    ]
    last = device_goals(order)[-1:]
    if not mine or not fleet.survey.plain or any(order.index(goal) > order.index(NODES) for goal in last):
        return None
    budget = work.budget.part(work.budget.shares.last / 2)
    best = {pod: _best(work, pod, budget) for pod in mine}
    pods = tuple(
        replace(pod, workload=replace(pod.workload, replicas=0)) if at in best else pod
        for at, pod in enumerate(fleet.pods)
    )
    return AdminPods(fleet, replace(fleet, pods=pods), tuple(order), best)


def _best(work: Work, pod: int, budget: Budget) -> _Best:
    """Return the best of a pod over all kinds of hardware, or over those that there is time for."""
    fleet, order = work.question.fleet, work.question.order
    node = next(iter(fleet.survey.states))
    part = next(part for part in parts_on(fleet, node) if part.pod == pod)
    best, exact = _Best(), True
    for number, layout in fleet.scan.layouts.items():
        found = pack(layout.problem, [part], [1], device_goals(order), budget, solver=work.solver)
        exact = exact and found.exact
        if found.upper is not None and (not best.takes or found.upper < best.values):
            best = _Best(found.upper)
        if found.upper is not None and found.upper == best.values:
            best.takes[number] = found.takes[0]
        if budget.reached:
            return replace(best, exact=False)
    return replace(best, exact=exact)
