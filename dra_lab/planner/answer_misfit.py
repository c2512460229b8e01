"""The plan of a claim that fits nowhere, or of which nothing is known yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.planner.answer import Work, once
from dra_lab.planner.misfit import explain_misfit
from dra_lab.planner.plan_findings import failure_shortfalls
from dra_lab.planner.pod_claims import compile_pod
from dra_lab.planner.reasons import Question, find_reasons
from dra_lab.planner.relaxations import as_suggestions


def plan_of_misfit(work: Work, pinned: str, early: Callable[[Plan], None] | None = None) -> Plan:
    """Return the plan with its reasons, within their own time; `pinned` is the only node asked about ("": all).

    `early` gets the plan with what is short, before every change is tried.
    """
    plan = replace(work.plan, node_classes=work.choice.classes)
    if not work.choice.decided:
        return replace(plan, status=PlanStatus.STOPPED, findings=once(work.findings))
    compiled = compile_pod(work.scan.sketch, work.scan.cluster, work.scan.release)
    plan = replace(plan, status=PlanStatus.INFEASIBLE, findings=once((*work.findings, *compiled.findings)))
    misfit = explain_misfit(work.scan, work.budget, solver=work.solver, pinned=pinned)
    shortfalls = misfit.shortfalls
    if early is not None:
        early(replace(plan, shortfalls=shortfalls))
    asked = {pinned} if pinned else set(work.scan.rules.nodes)
    idle = tuple(name for name in plan.fitting_idle_nodes if name in asked)
    unknown = sum(name in asked for c in plan.node_classes if c.fits_idle is None for name in c.nodes)
    whole = work.several or work.exact
    drawn = work.scan.sketch if whole else work.sketch
    question = Question(work.cluster, drawn, work.scan, work.budget, work.solver, pinned, idle, unknown, expanded=whole)
    suggestions = work.suggestions()
    reasons = find_reasons(question, shortfalls, suggestions)
    reasons = changed(reasons, complete=reasons.complete and misfit.complete)
    return replace(
        plan,
        shortfalls=(*failure_shortfalls(reasons.failures), *shortfalls),
        suggestions=work.offered(as_suggestions(reasons.relaxations, suggestions)),
        reasons=reasons,
    )
