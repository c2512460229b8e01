"""What an export answers, as `plan.json` records it and as `dra-lab export` and `dra-lab check` both exit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.model.fleet import FleetPlan
from dra_lab.model.plan import Plan
from dra_lab.pinning.replay_result import Replay
from dra_lab.words.plan_outcome import DOES_NOT_FIT, FITS, STOPPED, plan_outcome


def export_answer(plan: Plan | FleetPlan | None, replay: Replay | None) -> dict[str, Any]:
    """Return the answer of an export as plain values.

    `outcome` is that of the plan, but what has a place there and never starts does not fit either. `asPlanned` says
    whether kube-scheduler allocates every planned replica as planned, with every must-link kept, in each run of our
    copy of it; None if runs are missing. `reasons` are those against it.
    """
    outcome = STOPPED if plan is None else plan_outcome(plan)
    if replay is None:
        return {"outcome": outcome, "asPlanned": None, "reasons": []}
    reasons = [f"replica {miss.number + 1} of {miss.workload} {miss.why}" for miss in replay.misses]
    if replay.never_starts:
        return {"outcome": DOES_NOT_FIT, "asPlanned": False, "reasons": reasons}
    if replay.kept < replay.wanted and replay.runs:
        return {"outcome": outcome, "asPlanned": False, "reasons": reasons}
    nothing = not replay.wanted and outcome == FITS
    as_planned = True if nothing or (replay.as_planned and replay.runs) else None
    return {"outcome": outcome, "asPlanned": as_planned, "reasons": [replay.not_run] if replay.not_run else []}


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
