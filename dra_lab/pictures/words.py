"""Numbers, a plan's proof and kube-scheduler's first fit in a few words. Plain text, no markup."""

from __future__ import annotations

from dra_lab.model.plan import FirstFit, FirstFitStatus, Plan, PlanStatus


def counted(number: int, noun: str) -> str:
    """Return `1 node`, `1,404 nodes`: a number and what is counted, whose plural has an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def proof_words(plan: Plan) -> str:
    """Return how sure the plan is: "proven optimal", "proven: it does not fit", or what is open with the first gap."""
    if plan.status is PlanStatus.NOT_CHECKED:
        return "not checked"
    if plan.proven:
        return "proven optimal" if plan.fits else "proven: it does not fit"
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
