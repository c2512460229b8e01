"""A plan as plain values for machines."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_lab.model.goals import GoalValue
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFit, FirstFitStatus, Placement
from dra_lab.model.plan import Plan
from dra_lab.model.reasons import Conflict, Funnel, Reasons, Relaxation, SelectorFailure, Shortfall
from dra_lab.model.regret import PathShare, Regret
from dra_lab.words.answer_json import answer_json
from dra_lab.words.facts import regret
from dra_lab.words.plan_outcome import FITS, pod_outcome


def plan_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain values with fixed names and order; no times, so the same plan gives the same text.

    `outcome` is that of the manifest without pins. `firstFit` and `firstFitPlain` carry the regret by goal: how much
    worse than the plan (0 left out).
    """
    outcome = pod_outcome(plan)
    more = {
        "status": plan.status.value,
        "fits": outcome == FITS,
        "proven": plan.proven,
        "cluster": plan.cluster,
        "release": plan.release,
        "node": plan.node,
        "devices": [placement_value(placement) for placement in plan.placements],
        "firstFit": _first_fit(plan, plan.first_fit),
        "firstFitPlain": _first_fit(plan, plan.first_fit_plain),
        "nodes": {
            "fitting": list(plan.fitting_nodes),
            "fittingIdle": list(plan.fitting_idle_nodes),
            "classes": [
                {
                    "nodes": list(node_class.nodes),
                    "fit": node_class.fit.value,
                    "fitsIdle": node_class.fits_idle,
                    "goals": [goal_value(goal) for goal in node_class.goals],
                }
                for node_class in plan.node_classes
            ],
        },
        "shortfalls": [shortfall_value(shortfall) for shortfall in plan.shortfalls],
        "suggestions": [
            {
                "title": s.title,
                "detail": s.detail,
                "source": s.source,
                "selectors": {request: list(texts) for request, texts in s.selectors.items()},
            }
            for s in plan.suggestions
        ],
        "reasons": reasons_json(plan.reasons),
        "regrets": [regret_json(cost) for cost in plan.regrets],
        "sketch": msgspec.to_builtins(plan.sketch, builtin_types=()),
    }
    return answer_json("Plan", outcome, plan.findings, map(goal_value, plan.goals), **more)


def _device(device: DeviceID) -> dict[str, str]:
    return {"driver": device.driver, "pool": device.pool, "device": device.device}


def placement_value(placement: Placement) -> dict[str, Any]:
    """Return a chosen device as plain values."""
    return {
        **({"claim": placement.claim} if placement.claim else {}),
        "request": placement.request,
        "manifestRequest": placement.manifest_request,
        **_device(placement.device),
        "consumed": dict(placement.consumed),
    }


def goal_value(goal: GoalValue) -> dict[str, Any]:
    """Return a goal with its proof as plain values."""
    return {
        "goal": goal.goal,
        "value": goal.value,
        "bound": goal.bound,
        "proven": goal.proven,
        "unknown": goal.unknown,
        **({"atMost": True} if goal.at_most else {}),
        **({"of": goal.of} if goal.of else {}),
    }


def _first_fit(plan: Plan, found: FirstFit | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "status": found.status.value,
        "message": found.message,
        "steps": found.steps,
        "recorded": found.recorded,
        "devices": [placement_value(placement) for placement in found.placements],
        "goals": [goal_value(goal) for goal in found.goals],
        "regret": regret(plan, found) if found.status is FirstFitStatus.ALLOCATED else {},
    }


def shortfall_value(s: Shortfall) -> dict[str, Any]:
    """Return a reason as plain values."""
    return {
        "rule": s.rule,
        "subject": s.subject,
        "node": s.node,
        "needed": s.needed,
        "available": s.available,
        "message": s.message,
        "advice": s.advice,
    }


def reasons_json(reasons: Reasons | None) -> dict[str, Any] | None:
    """Return the reasons; None for a claim that fits or of which nothing is known."""
    if reasons is None:
        return None
    return {
        "nearest": reasons.nearest,
        "complete": reasons.complete,
        "failures": [_failure(failure) for failure in reasons.failures],
        "scarcity": [msgspec.to_builtins(scarce) for scarce in reasons.scarcity],
        "conflicts": [_conflict(conflict) for conflict in reasons.conflicts],
        "funnels": [_funnel(funnel) for funnel in reasons.funnels],
        "relaxations": [_relaxation(change) for change in reasons.relaxations],
    }


def _failure(failure: SelectorFailure) -> dict[str, Any]:
    return {
        "request": failure.request,
        "expression": failure.expression,
        "devices": [{"driver": d.driver, "pool": d.pool, "device": d.device} for d in failure.devices],
        "message": failure.message,
        "guarded": failure.guarded,
    }


def _conflict(conflict: Conflict) -> dict[str, Any]:
    return {
        "node": conflict.node,
        "minimal": conflict.minimal,
        "smallest": conflict.smallest,
        "elements": [{"kind": e.kind, "subject": e.subject, "text": e.text} for e in conflict.elements],
    }


def _funnel(funnel: Funnel) -> dict[str, Any]:
    return {
        "request": funnel.request,
        "needed": funnel.needed,
        "node": funnel.node,
        "nodes": funnel.nodes,
        "failing": funnel.failing,
        "steps": [{"test": step.test, "text": step.text, "left": step.count} for step in funnel.steps],
    }


def _relaxation(change: Relaxation) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "subject": change.subject,
        "title": change.title,
        "fitting": change.fitting,
        "total": change.total,
        "undecided": change.undecided,
        "example": change.example,
        "unknown": change.unknown,
        "sketch": None if change.sketch is None else msgspec.to_builtins(change.sketch, builtin_types=()),
    }


def regret_json(regret: Regret) -> dict[str, Any]:
    """Return one regret: the goals that differ, and how the GPUs reach their NICs in both allocations."""
    return {
        "against": regret.against,
        "goals": [{"goal": g.goal, "best": g.best, "theirs": g.theirs} for g in regret.goals],
        "best": [_share(share) for share in regret.best],
        "theirs": [_share(share) for share in regret.theirs],
    }


def _share(share: PathShare) -> dict[str, Any]:
    return {
        "path": share.path,
        "gpus": share.gpus,
        "low": share.low,
        "high": share.high,
        "kind": share.kind,
        "sources": list(share.sources),
        "outside": list(share.against),
        "note": share.note,
    }
