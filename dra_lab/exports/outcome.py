"""What an export answers, as `plan.json` records it and as `dra-lab export` and `dra-lab check` both exit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.exports.loop_result import Loop
from dra_lab.model.fleet import UNPLACED, FleetPlan
from dra_lab.model.plan import FirstFitStatus, Plan, PlanStatus, Start

FITS, DOES_NOT_FIT, NOT_CHECKED, STOPPED = "fits", "does-not-fit", "not-checked", "stopped"

_NOT_EVERY = "no order of arrival was found that serves a replica worse, but not every order was run"


def plan_outcome(plan: Plan | FleetPlan) -> str:
    """Return whether everything has a place in a plan: fits, does-not-fit (proven), not-checked, or stopped."""
    if plan.status is PlanStatus.NOT_CHECKED:
        return NOT_CHECKED
    if isinstance(plan, Plan):
        refused = plan.status is PlanStatus.INFEASIBLE
        return FITS if plan.fits else DOES_NOT_FIT if refused else STOPPED
    unplaced = plan.goal(UNPLACED)
    if plan.status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE) and unplaced is not None and not unplaced.value:
        return FITS
    if plan.status is PlanStatus.EMPTY:
        return FITS
    proven = unplaced is not None and unplaced.bound is not None and unplaced.bound > 0
    return DOES_NOT_FIT if plan.status is PlanStatus.INFEASIBLE or proven else STOPPED


def pod_outcome(plan: Plan | FleetPlan) -> str:
    """Return the outcome of a plan whose manifests are applied as they are, without pins.

    It is `plan_outcome`, except that a pod for which kube-scheduler finds no devices, or which it gives up, does not
    fit: it never starts, although an allocation exists. If a search did not end, that is not decided.
    """
    outcome = plan_outcome(plan)
    first_fit = plan.first_fit if isinstance(plan, Plan) and plan.fits else None
    if plan.start is Start.NEVER or (first_fit is not None and first_fit.status is FirstFitStatus.ERROR):
        return DOES_NOT_FIT
    return STOPPED if outcome == FITS and plan.start is Start.OPEN else outcome


def export_answer(plan: Plan | FleetPlan | None, loop: Loop | None) -> dict[str, Any]:
    """Return the answer of an export as plain values.

    `outcome` is that of the plan, but what has a place there and never starts does not fit either. `asPlanned` says
    whether kube-scheduler allocates every planned replica as planned, with every must-link kept, on our copy of it;
    None if that was not found out. `reasons` are those against it.
    """
    outcome = STOPPED if plan is None else plan_outcome(plan)
    if loop is None:
        return {"outcome": outcome, "asPlanned": None, "reasons": []}
    reasons = [f"replica {miss.number + 1} of {miss.workload} {miss.why}" for miss in loop.misses]
    if loop.never_starts:
        return {"outcome": DOES_NOT_FIT, "asPlanned": False, "reasons": reasons}
    if loop.kept < loop.wanted and loop.runs:
        return {"outcome": outcome, "asPlanned": False, "reasons": reasons}
    nothing = not loop.wanted and outcome == FITS
    as_planned = True if nothing or (loop.as_planned and loop.runs and not loop.undecided) else None
    open_ = loop.not_run or (_NOT_EVERY if loop.undecided else "")
    return {"outcome": outcome, "asPlanned": as_planned, "reasons": [open_] if open_ else []}


def exit_status(answer: Mapping[str, Any], *, allow_worse: bool = False) -> int:
    """Return the exit status of an answer: 0 as planned, 1 not, 2 not decided.

    `allow_worse` accepts replicas that are allocated otherwise than planned, or not known to be as planned, and
    must-links that are not kept. It does not accept replicas without a place in the plan.
    """
    if answer["outcome"] != FITS:
        return 1 if answer["outcome"] == DOES_NOT_FIT else 2
    if allow_worse or answer["asPlanned"]:
        return 0
    return 2 if answer["asPlanned"] is None else 1
