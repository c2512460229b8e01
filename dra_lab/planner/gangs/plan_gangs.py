"""plan_gangs: gangs and ordinary workloads over a cluster, each gang in one domain of its level, with a proof."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from msgspec.structs import replace as changed

from dra_lab.errors import SolverError
from dra_lab.findings import Finding, Severity
from dra_lab.index.not_read import not_read
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.placement import PlacedPod, SharedClaim
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Question, Workload
from dra_lab.planner.arguments import hierarchy_of, workloads_given
from dra_lab.planner.budget import Budget, Progress, awaited
from dra_lab.planner.fleet.master import GoalBound
from dra_lab.planner.fleet.placing import pods_of
from dra_lab.planner.fleet.question import Clock
from dra_lab.planner.gangs.headroom import headroom_by_domain
from dra_lab.planner.gangs.needs import nodes_of_claims, read_needs
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, problem_of
from dra_lab.planner.gangs.search import best_solution
from dra_lab.topology.hierarchies import hierarchies as levels_of
from dra_lab.topology.hierarchy_findings import preferred_rules


@awaited
def plan_gangs(
    cluster: Cluster,
    workloads: Sequence[Workload],
    *,
    hierarchies: Sequence[Hierarchy] | None = None,
    release: KubernetesRelease | str | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Plan:
    """Return where workloads go that have gangs among them, best first, with what is proven of it.

    A gang has all pods of its minimum or none. All its pods are in one domain of its required level. Other pods have
    priority 0. Nodes that are cordoned take no pods. Arguments and errors are those of `make_plan`; `hierarchies` are
    the levels above the nodes, those of the cluster by default.
    """
    began = time.monotonic()
    release = cluster.target_release(release)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    workloads = workloads_given("workloads", workloads)
    question = Question(workloads, cluster.name, str(release))
    plan = Plan(PlanStatus.EMPTY, question, findings=cluster.findings, moves=cluster.moves)
    gangs, single = plan.gangs, [workload for workload in workloads if not workload.is_gang]
    unread = not_read(cluster, [claim for one in workloads for claim in (*one.claims, *one.every_shared_claim)])
    if unread is not None:
        return replace(plan, status=PlanStatus.NOT_CHECKED, shortfalls=(unread,))
    known = levels_of(cluster) if hierarchies is None else hierarchies
    needs = read_needs(gangs, single, known, cluster.node_names, partial(nodes_of_claims, cluster, release))
    if not any(kind.replicas for kind in needs.kinds):
        return plan
    clock = Clock()
    problem = problem_of(cluster, needs, release, budget, solver, clock)
    useless = [finding for gang in gangs for finding in preferred_rules(gang, hierarchy_of(gang, known))]
    # The rest of the time is for writing down which pod gets which devices, and for the domains.
    planning = budget.part(1 - budget.shares.compare_at_least)
    solution, best = best_solution(problem, solver, planning)
    clock.lap("master")
    pods, shared = written(problem, solution, gangs, single)
    clock.lap("placing")
    goals = _with_proofs(problem, (*pods, *shared), best)
    sure = all(goal.proven for goal in goals)
    status = PlanStatus.OPTIMAL if sure else PlanStatus.FEASIBLE
    if not pods:
        status = PlanStatus.INFEASIBLE if sure else PlanStatus.STOPPED
    headroom = headroom_by_domain(problem, gangs, solver, budget)
    clock.lap("domains")
    missed = []
    if number := len(problem.not_examined):
        text = f"{number:,} nodes were not examined before the time limit; more gangs may fit there"
        missed = [Finding("not-examined", Severity.WARNING, "", text, "Plan again with a longer time limit.")]
    return replace(
        plan,
        status=status,
        pods=pods,
        shared=shared,
        goals=goals,
        where=headroom,
        not_examined=number,
        states=len(problem.profiles),
        cordoned=len(cluster.cordoned),
        findings=(*plan.findings, *useless, *missed),
        seconds=time.monotonic() - began,
        parts=dict(clock.parts),
    )


def _with_proofs(
    problem: GangProblem, every: Sequence[PlacedPod | SharedClaim], best: Sequence[GoalBound]
) -> tuple[GoalValue, ...]:
    """Return the goals, proven if all before them are; raise SolverError if the devices do not have their values."""
    sure, goals = True, []
    for goal in best:
        have = sum(value.value for one in every for value in one.goals if value.goal == goal.goal)
        if goal.goal in problem.device and have != goal.value:
            raise SolverError(
                f"goal {goal.goal!r} of the gangs: the solver says {goal.value}, the devices have {have}; please "
                "report the claims and the cluster"
            )
        sure = sure and goal.proven
        goals.append(GoalValue(goal.goal, goal.value, goal.bound, sure))
    return tuple(goals)


def written(
    problem: GangProblem, solution: GangSolution, gangs: Sequence[Workload], single: Sequence[Workload]
) -> tuple[tuple[PlacedPod, ...], tuple[SharedClaim, ...]]:
    """Return each pod with its devices, those of gangs first, and what the claims have that pods share."""
    table_of = {node: problem.profiles[problem.on[node].profile].table for node in solution.nodes}
    by_node = [table_of[node].on_nodes(node, counts) for node, counts in sorted(solution.nodes.items())]
    kind_of = {workload.name: kind for kind, workload in enumerate(problem.needs.kinds)}
    free: dict[tuple[int, int], list[PlacedPod]] = {}
    for pod in pods_of(problem.fleet, by_node, problem.device):
        free.setdefault((kind_of[pod.workload], problem.on[pod.node].region), []).append(pod)

    def given(kind: int, pods: Mapping[int, int]) -> list[PlacedPod]:
        return [free[kind, region].pop(0) for region, count in sorted(pods.items()) for _ in range(count)]

    copies = [list(need.gangs) for need in problem.needs.gangs]
    placed: list[list[_Replica]] = [[] for _ in gangs]
    for one in solution.instances:
        at = copies[one.need].pop(0)
        kinds = [group.kind for group in problem.needs.gangs[one.need].groups]
        rows = [given(kind, row) for kind, row in zip(kinds, one.groups, strict=True)]
        placed[at].append(_replica(gangs[at], len(placed[at]), one.domain, iter(rows)))
    every = [replica for replicas in placed for replica in replicas]
    pods = [pod for pods, _ in every for pod in pods]
    for (kind, _), row, workload in zip(problem.needs.ordinary, solution.ordinary, single, strict=True):
        pods += [changed(pod, workload=workload.name, replica=at) for at, pod in enumerate(given(kind, row))]
    return tuple(pods), tuple(claim for _, shared in every for claim in shared)


_Replica = tuple[list[PlacedPod], list[SharedClaim]]


def _replica(gang: Workload, number: int, domain: tuple[str, ...], rows: Iterator[list[PlacedPod]]) -> _Replica:
    """Return the pods and shared claims of a replica from what was placed for it.

    Pods that have claims come first in `rows`, then the claims that pods of a group share, and those of the gang.
    """
    own = {group.name: next(rows) for group in gang.pods if group.claims}
    held = {group.name: next(rows)[0] for group in gang.pods if group.shared_claims}
    if gang.shared_claims:
        held[""] = next(rows)[0]
    pods = []
    for group in gang.pods:
        beside = held.get(group.name, held.get(""))
        alone = [changed(beside, devices=(), goals=())] * group.count if beside is not None else []
        pods += [
            changed(pod, workload=gang.name, replica=number, group=group.name, number=at, domain=domain)
            for at, pod in enumerate(own.get(group.name, alone))
        ]
    shared = [SharedClaim(gang.name, number, name, pod.node, pod.devices, pod.goals) for name, pod in held.items()]
    return pods, shared
