"""The outcome of a plan in one word, as JSON, the exit status and the record of an export have it."""

from __future__ import annotations

from dra_lab.model.goals import GANGS, UNPLACED
from dra_lab.model.placement import FirstFitStatus, Start
from dra_lab.model.plan import Plan, PlanStatus

FITS, DOES_NOT_FIT, NOT_CHECKED, STOPPED = "fits", "does-not-fit", "not-checked", "stopped"


def plan_outcome(plan: Plan) -> str:
    """Return whether everything has a place in a plan: fits, does-not-fit (proven), not-checked, or stopped."""
    if plan.status is PlanStatus.NOT_CHECKED:
        return NOT_CHECKED
    if plan.is_one_pod:
        refused = plan.status is PlanStatus.INFEASIBLE
        held = plan.status is PlanStatus.EMPTY and bool(plan.allocated_claims)
        return FITS if plan.fits or held else DOES_NOT_FIT if refused else STOPPED
    first = [goal for goal in plan.goals if goal.goal.partition(" ")[0] in (GANGS, UNPLACED)]
    missing = any(goal.value for goal in first) or not first
    if plan.status is PlanStatus.EMPTY or (plan.status is not PlanStatus.STOPPED and not missing):
        return FITS
    proven = any(goal.bound for goal in first)
    return DOES_NOT_FIT if plan.status is PlanStatus.INFEASIBLE or proven else STOPPED


def pod_outcome(plan: Plan) -> str:
    """Return the outcome of a plan whose manifests are applied as they are, without pins.

    It is `plan_outcome`, except that a pod for which kube-scheduler finds no devices, or which it gives up, does not
    fit: it never starts, although an allocation exists. If a search did not end, that is not decided.
    """
    outcome = plan_outcome(plan)
    first_fit = plan.first_fit if plan.fits else None
    if plan.start is Start.NEVER or (first_fit is not None and first_fit.status is FirstFitStatus.ERROR):
        return DOES_NOT_FIT
    return STOPPED if outcome == FITS and plan.start is Start.OPEN else outcome
