"""A plan in words: one sentence, and the reasons behind it, for reports and terminals. Plain text, no markup."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.model.plan import FirstFit, FirstFitStatus, GoalValue, Plan, PlanStatus

_COUNTED = {
    "numa": ("NUMA node", "NUMA nodes"),
    "roots": ("PCIe root", "PCIe roots"),
    "unpaired": ("GPU without a NIC of its own", "GPUs without a NIC of their own"),
    "preferences": ("preferred link broken", "preferred links broken"),
}


def answer_sentence(plan: Plan) -> str:
    """Return the answer in one or two sentences: where it fits, the best node and its goals, or why it does not fit."""
    match plan.status:
        case PlanStatus.EMPTY:
            return "Nothing is drawn yet."
        case PlanStatus.STOPPED:
            return "Not answered: the search was stopped before it found anything."
        case PlanStatus.INFEASIBLE:
            return _misfit(plan)
    phrases = [*goal_phrases(plan.goals), proof_words(plan)]
    return f"Fits on {_nodes(plan)}. Best on {plan.node}: {', '.join(phrases)}."


def _misfit(plan: Plan) -> str:
    reason = plan.shortfalls[0] if plan.shortfalls else None
    if reason is None:
        return "Does not fit on any node."
    message = reason.message.rstrip(".")
    return f"Does not fit: {message}.{f' {reason.advice}' if reason.advice else ''}"


def _nodes(plan: Plan) -> str:
    total = sum(len(node_class.nodes) for node_class in plan.node_classes)
    idle = len(plan.fitting_idle_nodes)
    known = any(node_class.fits_idle is not None for node_class in plan.node_classes)
    nodes = "node" if total == 1 else "nodes"
    return f"{len(plan.fitting_nodes)} of {total} {nodes} now" + (f" ({idle} when idle)" if known else "")


def goal_phrases(goals: Sequence[GoalValue]) -> list[str]:
    """Return what the goals say, worth telling only: spans always, broken links and lonely GPUs where there are any."""
    phrases = []
    for goal in goals:
        if goal.goal not in _COUNTED or (goal.value == 0):
            continue
        one, many = _COUNTED[goal.goal]
        unknown = f" ({goal.unknown} of unknown place)" if goal.unknown else ""
        phrases.append(f"{goal.value} {one if goal.value == 1 else many}{unknown}")
    return phrases


def proof_words(plan: Plan) -> str:
    """Return how sure the plan is: "proven", or "best so far, not proven" with the first gap."""
    if plan.proven:
        return "proven optimal"
    open_goal = next((goal for goal in plan.goals if not goal.proven), None)
    gap = open_goal.value - open_goal.bound if open_goal is not None and open_goal.bound is not None else None
    return "best so far, not proven" + (f", gap {gap}" if gap else "")


def first_fit_words(first_fit: FirstFit | None) -> str:
    """Return what kube-scheduler's first fit ends with, in a few words."""
    if first_fit is None:
        return "not asked"
    words = {
        FirstFitStatus.ALLOCATED: "allocates",
        FirstFitStatus.NONE: "finds nothing on this node",
        FirstFitStatus.ERROR: "gives up the whole pod",
        FirstFitStatus.STOPPED: f"stopped after {first_fit.steps} steps",
    }[first_fit.status]
    told = words if not first_fit.message else f"{words}: {first_fit.message}"
    return told if first_fit.recorded else f"{told} (from documentation, not recorded)"
