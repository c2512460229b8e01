"""Reasons and regret as plain values for machines, in the names and order of the plan's JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_lab.model.reasons import Conflict, Funnel, Reasons, Relaxation, SelectorFailure
from dra_lab.model.regret import PathShare, Regret


def reasons_json(reasons: Reasons | None) -> dict[str, Any] | None:
    """Return the reasons; None for a claim that fits or of which nothing is known."""
    if reasons is None:
        return None
    return {
        "nearest": reasons.nearest,
        "complete": reasons.complete,
        "failures": [_failure(failure) for failure in reasons.failures],
        "scarcity": [
            {
                "request": s.request,
                "kind": s.kind,
                "needed": s.needed,
                "free": s.free,
                "most": s.most,
                "node": s.node,
                "message": s.message,
            }
            for s in reasons.scarcity
        ],
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
