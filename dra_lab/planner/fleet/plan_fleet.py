"""plan_fleet: workloads × replicas over a cluster: most replicas, then the goals, with a proof or a bound each."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from dra_lab.checks.taint_validation import ignored_taint_rules
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.index.not_read import not_read
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import DAMAGE, FLEET_GOALS, GOALS, NODES, UNPLACED
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Question, Workload
from dra_lab.planner.arguments import workloads_given
from dra_lab.planner.budget import Budget, Progress, awaited
from dra_lab.planner.fleet.question import Clock, FleetProblem, FleetQuestion, Work, look_at
from dra_lab.planner.fleet.unplaced import unplaced
from dra_lab.planner.kube_scheduler import fleet_regret
from dra_lab.planner.plan_findings import cordoned_nodes
from dra_lab.planner.scan import coupled_devices

OBJECTIVES = ("replicas", "nodes")


@awaited
def plan_fleet(
    cluster: Cluster,
    workloads: Sequence[Workload],
    *,
    release: KubernetesRelease | str | None = None,
    goals: Sequence[str] = (),
    objective: str = "replicas",
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
    first_fit: bool = True,
) -> Plan:
    """Return where the replicas of workloads go, best first, with what is proven of it.

    Arguments and errors are those of `make_plan`. `goals` are of FLEET_GOALS; `damage`, which is about one claim, is
    passed over. `objective` "nodes" places all pods on the fewest nodes, or proves that they do not all fit.
    `first_fit` compares with the replicas that kube-scheduler would place, if time suffices to look at every node.

    Example:
        >>> from dra_lab import Workload, load_cluster, read_sketch
        >>> from dra_lab.planner.fleet import plan_fleet
        >>> pods = Workload("lesson", read_sketch("sample:two-sockets/lesson"), replicas=3)
        >>> plan = plan_fleet(load_cluster("sample:two-sockets"), [pods])
        >>> plan.placed, plan.proven
        ({'lesson': 3}, True)
    """
    began = time.monotonic()
    workloads = workloads_given("workloads", workloads)
    release = cluster.target_release(release)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    order = fleet_order(goals, objective)
    plan = Plan(
        PlanStatus.EMPTY,
        Question(workloads, cluster.name, str(release), goals=tuple(goals), objective=objective),
        findings=(*cluster.findings, *ignored_taint_rules(cluster, release), *cordoned_nodes(cluster)),
        moves=cluster.moves,
    )
    if not any(workload.replicas for workload in workloads):
        return plan
    unread = not_read(cluster, (claim for workload in workloads for claim in workload.claims))
    if unread is not None:
        return replace(plan, status=PlanStatus.NOT_CHECKED, shortfalls=(unread,))
    clock = Clock()
    fleet = look_at(cluster, workloads, release, budget.part(budget.shares.first))
    clock.lap("scan")
    work = Work(FleetQuestion(fleet, order, all_placed=objective == "nodes"), budget, solver, clock)
    plan = _planned(work, plan)
    # After the time limit the reasons would make the answer late.
    if plan.status is PlanStatus.INFEASIBLE or (plan.pods and not budget.reached):
        plan = replace(plan, shortfalls=unplaced(fleet, plan, budget))
    # How claims are written depends on all devices. To read them takes as long as to look at every node.
    if first_fit and plan.pods and fleet.scan.complete and not budget.reached:
        plan = _with_first_fit(fleet, plan, order, budget)
        clock.lap("first fit")
    return replace(plan, seconds=time.monotonic() - began, parts=dict(clock.parts))


def with_first_fit(
    cluster: Cluster,
    plan: Plan,
    *,
    release: KubernetesRelease | str | None = None,
    goals: Sequence[str] = (),
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Plan:
    """Return a plan with what kube-scheduler would take for its pods on the same nodes, and what that costs.

    It is for a plan made with `first_fit=False`; other arguments are those of `plan_fleet`.
    """
    release = cluster.target_release(release)
    budget = Budget(None if time_limit is None else time.monotonic() + time_limit, cancel)
    fleet = look_at(cluster, plan.workloads, release, budget)
    return _with_first_fit(fleet, plan, fleet_order(goals, plan.objective), budget) if plan.pods else plan


def _with_first_fit(fleet: FleetProblem, plan: Plan, order: Sequence[str], budget: Budget) -> Plan:
    from dra_lab.planner.fleet.first_fit import first_fit_of

    plan = replace(plan, first_fit=first_fit_of(fleet, plan, order, budget))
    found = fleet_regret(fleet.scan.cluster, plan)
    return replace(plan, regrets=() if found is None else (found,))


def fleet_order(goals: Sequence[str], objective: str) -> tuple[str, ...]:
    """Return all goals of a fleet in their order. Raises InputError for one, or an objective, that is not known."""
    if objective not in OBJECTIVES:
        raise InputError(f"objective {objective!r} is not known; use one of {', '.join(OBJECTIVES)}")
    for goal in goals:
        if goal not in FLEET_GOALS and goal not in GOALS:
            raise InputError(f"goal {goal!r} is not known; use {', '.join(FLEET_GOALS)}")
    wanted = [goal for goal in goals if goal != DAMAGE]
    first = [UNPLACED, NODES] if objective == "nodes" else [UNPLACED]
    return tuple(dict.fromkeys((*first, "alternatives", "preferences", *wanted, *FLEET_GOALS)))


def _writing(work: Work) -> float:
    """Return how many seconds it may take to write down which replica gets which devices."""
    fleet, shares = work.question.fleet, work.budget.shares
    # A node that shares devices is looked at once more with all that it sees, which is quick for each device.
    seen = sum(map(len, coupled_devices(fleet.scan).values()))
    return shares.placing * (_devices(fleet) + len(fleet.survey.states)) + shares.seen * seen


def _devices(fleet: FleetProblem) -> int:
    """Return how many devices all pods request; those that are free if they are fewer and none can be shared."""
    wanted, survey = 0, fleet.survey
    for pod, replicas in zip(fleet.pods, fleet.demand, strict=True):
        counts: dict[str, int] = {}
        for ask in fleet.scan.rules.asks[slice(*pod.asks)]:
            counts[ask.request] = min(ask.count, counts.get(ask.request, ask.count))
        wanted += replicas * sum(counts.values())
    groups = (group for layout in survey.scan.layouts.values() for group in layout.problem.groups)
    if not survey.plain or any(group.shareable for group in groups):
        return wanted
    return min(wanted, sum(sum(state.free) for state in survey.states.values()))


def _planned(work: Work, plan: Plan) -> Plan:
    # The solver takes half a second to import; only who plans waits for it.
    from dra_lab.planner.fleet.placing import goals_of, pods_of, proven_goals
    from dra_lab.planner.fleet.search import search

    found = search(replace(work, budget=work.budget.before(_writing(work))))
    answer = found.answer
    plan = replace(plan, states=found.states, not_examined=answer.not_examined)
    if answer.not_examined:
        left_out = f"{answer.not_examined:,} of {len(work.question.fleet.scan.rules.nodes):,} nodes"
        message = f"{left_out} were not examined before the time limit; more replicas may fit there"
        late = Finding("not-examined", Severity.WARNING, "", message, "Plan again with a longer time limit.")
        plan = replace(plan, findings=(*plan.findings, late))
    if answer.chosen is None:
        status = PlanStatus.INFEASIBLE if answer.infeasible else PlanStatus.STOPPED
        return replace(plan, status=status)
    pods = pods_of(work.question.fleet, found.by_node, work.question.order)
    counted = goals_of(work.question.fleet, pods, work.question.order, len({pod.node for pod in pods}))
    goals = proven_goals(answer, counted)
    work.clock.lap("placing")
    status = PlanStatus.OPTIMAL if all(goal.proven for goal in goals) else PlanStatus.FEASIBLE
    if not pods:
        status = PlanStatus.INFEASIBLE if goals[0].proven else PlanStatus.STOPPED
        # without a placed pod no goal has a value, and there is nothing to prove
        goals = tuple(goal for goal in goals if goal.goal == UNPLACED)
    return replace(plan, status=status, pods=pods, goals=goals)
