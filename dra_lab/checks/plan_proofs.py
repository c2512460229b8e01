"""Whether a plan is consistent: its status, bounds and proofs, and the fit of every node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dra_lab.checks.plan_audit import broken
from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import GoalValue, NodeFit, Plan, PlanStatus


def check_statements(plan: Plan, cluster: Cluster) -> Iterator[Finding]:
    """A plan has devices where it fits, on an open node as good as any, and reports every node once."""
    if plan.fits != bool(plan.placements) and plan.sketch.requests:
        yield broken("status", plan.status, f"{len(plan.placements)} devices are placed")
    yield from check_proofs(plan.goals, proven=plan.status is PlanStatus.OPTIMAL)
    if plan.node in cluster.cordoned and plan.node not in (plan.admitted or ()):
        yield broken("node", plan.node, "the node of the plan is cordoned")
    if not plan.node_classes:
        return
    times = Counter(node for equal in plan.node_classes for node in equal.nodes)
    if times != Counter(cluster.node_names):
        yield broken("nodes", cluster.name, "its node classes do not cover every node once")
    best = {node for equal in plan.node_classes if equal.fit is NodeFit.BEST for node in equal.nodes}
    if plan.fits and plan.node not in best:
        yield broken("nodes", plan.node, "the node of the plan is not among the best ones")


def check_proofs(goals: Sequence[GoalValue], *, proven: bool) -> Iterator[Finding]:
    """A goal is proven if its bound is its value; no bound is above a value; a `proven` plan has proven all."""
    for goal in goals:
        if goal.bound is not None and goal.bound > goal.value:
            yield broken("bound", goal.goal, f"the bound {goal.bound} is above the value {goal.value}")
        if goal.proven and goal.bound != goal.value:
            yield broken("bound", goal.goal, "it is called proven without a bound that says so")
        if proven and not goal.proven:
            yield broken("status", goal.goal, "the plan is called proven, this goal is not")
