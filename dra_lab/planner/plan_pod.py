"""One pod on every node: the best allocation with its proof, or the reasons why there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.checks.taint_validation import ignored_taint_rules
from dra_lab.findings import sentence_case
from dra_lab.index.not_read import not_read
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import goal_order
from dra_lab.model.headroom import CORDONED, NodeFit, node_fit
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Question
from dra_lab.planner.budget import Budget, Progress, awaited
from dra_lab.planner.node.eligible import refuse_claim, rules_of
from dra_lab.planner.node.variables import check_solver
from dra_lab.planner.plan_findings import cordoned_nodes, cordoned_shortfall
from dra_lab.planner.pod_claims import Planned, PodClaims, expand_pod, held_cluster, pod_findings, read_claims
from dra_lab.planner.scan import look_at_nodes


@awaited
def plan_pod(
    cluster: Cluster,
    claims: Planned,
    *,
    release: KubernetesRelease | str | None = None,
    node: str = "",
    goals: Sequence[str] = (),
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
    early: Callable[[Plan], None] | None = None,
) -> Plan:
    """Return the best allocation of a drawing on a cluster, proven goal by goal, or why it does not fit.

    Arguments are those of `make_plan`; `early` is called in this thread with the proof that a claim fits nowhere,
    before the search for the reasons.
    """
    began = time.monotonic()
    release = cluster.target_release(release)
    pod = read_claims(claims)
    sketch = pod.sketch
    order = goal_order(goals)
    check_solver(solver)
    if node:
        cluster.node_named(node)
    allowed = pod.allowed(cluster)
    findings = (*pod_findings(pod, allowed), *cluster.findings, *ignored_taint_rules(cluster, release))
    findings += cordoned_nodes(cluster) if pod.nodes is None else ()
    plan = Plan(
        PlanStatus.EMPTY,
        Question((pod.workload,), cluster.name, str(release), node, tuple(goals)),
        findings=findings,
        moves=cluster.moves,
        allocated_claims=pod.allocated,
        admitted=allowed,
        drawn=None if pod.name else sketch,
    )
    nowhere = allowed is not None and (not allowed or (bool(node) and node not in allowed))
    if not sketch.requests:
        return _elsewhere(plan, cluster, pod, node) if pod.allocated and nowhere else plan
    unread = not_read(cluster, (sketch,), selects_nodes=pod.nodes is not None)
    if unread is not None:
        return replace(plan, status=PlanStatus.NOT_CHECKED, shortfalls=(unread,))
    if nowhere:
        return _elsewhere(plan, cluster, pod, node)
    refuse_claim(sketch)
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    held = held_cluster(cluster, pod)
    expansion = expand_pod(pod, held, release)
    rules = rules_of(held, expansion.sketch, release, allowed)
    # Part of the time is kept for solving: better the best of the nodes that were seen than none of all of them.
    scan = look_at_nodes(rules, budget.part(budget.shares.first))
    scan.count_matching()
    # The solver takes half a second to import; only who plans waits for it, and only a misfit for its reasons.
    from dra_lab.planner.answer import PodWork, plan_of_fit
    from dra_lab.planner.choose import choose_node
    from dra_lab.planner.kube_scheduler import PlanTracer

    choice = choose_node(scan, order, budget, solver=solver, workload=pod.workload.name, pinned=node)
    work = PodWork(cluster, plan, scan, expansion, order, budget, solver, choice, exact=bool(pod.exact))
    if choice.node:
        plan = plan_of_fit(work)
    else:
        from dra_lab.planner.why.misfit import plan_of_misfit

        plan = plan_of_misfit(work, node, early)
    named = (plan.node, node, *(reason.node for reason in plan.shortfalls), *rules.nodes)
    where = next(filter(None, named), "")
    tracer = PlanTracer(held, rules.sketch, release, order, expansion.origin, rules.lists, scan.paired, where)
    return replace(plan, seconds=time.monotonic() - began, tracer=tracer.trace if where else None)


def _elsewhere(plan: Plan, cluster: Cluster, pod: PodClaims, node: str) -> Plan:
    """Return the plan of a pod that may start on no node that is examined: allocated claims, or cordoned nodes."""
    where = f"on node {node}" if node else "on any node of the cluster"
    reasons = tuple(
        Shortfall(
            "node",
            claim.metadata.name,
            f"claim {claim.metadata.name} is allocated, and its nodeSelector does not let the pod run {where}",
            node=node,
            advice="Leave the node open, or free the claim.",
        )
        for claim in plan.allocated_claims
    )
    if pod.why_nowhere:
        reasons = (Shortfall("node", "pod", sentence_case(pod.why_nowhere), node=node),)
    closed = cluster.cordoned if pod.nodes is None else frozenset()
    admitting = changed(pod, nodes=frozenset(cluster.node_names)).allowed(cluster) or cluster.node_names
    if stopped := closed.intersection((node,) if node else admitting):
        reasons = (cordoned_shortfall(cluster, stopped),)
    others = tuple(name for name in cluster.node_names if name not in closed)
    tied = plan.admitted is not None and not plan.admitted.intersection(others)
    name, verdict = plan.workloads[0].name, NodeFit.NO if tied else NodeFit.UNKNOWN
    fits = [node_fit(name, others, verdict, fits_idle=False if tied else None)] if others else []
    fits += [node_fit(name, closed, NodeFit.NO, label=CORDONED)] if closed else []
    return replace(plan, status=PlanStatus.INFEASIBLE, where=tuple(fits), shortfalls=reasons)
