"""A plan as plain values for machines: sentence and summary first, then the fields of `Plan`, its pods in pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dra_lab.model.placement import PlacedPod, SharedClaim
from dra_lab.model.plan import Plan
from dra_lab.words.answer_json import answer_json
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.facts import regret
from dra_lab.words.plain_values import camel, plain_value
from dra_lab.words.plan_outcome import FITS, pod_outcome

if TYPE_CHECKING:
    from dra_lab.words.plan_document import AfterPlan

PAGE = 500
"""Pods on a page."""

_FIELDS = (
    *("objective", "where", "shortfalls", "suggestions", "reasons", "regrets"),
    *("states", "not_examined", "cordoned", "start", "admitted"),
)
"""Fields of a plan that are written as they are."""


def plan_json(plan: Plan, after: AfterPlan | None = None) -> dict[str, Any]:
    """Return the plan as plain values with fixed names and order; no times, so the same plan gives the same text.

    `outcome` is that of the manifests without pins. `node` and `devices` are those of the first pod. `pods.pages` has
    all pods, PAGE on a page. `firstFit` and `firstFitPlain` have the regret by goal: how much worse they are than the
    plan (0 left out). `after` is what is known after the plan, None where nothing was asked.
    """
    outcome = pod_outcome(plan)
    pods = [*map(_pod, plan.pods)]
    return answer_json(
        "Plan",
        outcome,
        plan.findings,
        map(plain_value, plan.goals),
        first={"sentence": answer_sentence(plan), "summary": _summary(plan)},
        status=plan.status.value,
        fits=outcome == FITS,
        proven=plan.proven,
        cluster=plan.cluster,
        release=plan.release,
        node=plan.node,
        devices=[plain_value(placement) for placement in plan.placements],
        workloads=[plain_value(one) | {"placed": plan.placed[one.name]} for one in plan.workloads],
        pods={"count": len(pods), "pages": [pods[first : first + PAGE] for first in range(0, len(pods), PAGE)]},
        shared=[*map(_pod, plan.shared)],
        nodes={
            "fitting": list(plan.fitting_nodes),
            "fittingIdle": list(plan.fitting_idle_nodes),
            "classes": [plain_value(node_class) for node_class in plan.node_classes],
        },
        firstFit=_first_fit(plan, plain=False),
        firstFitPlain=_first_fit(plan, plain=True),
        after=None if after is None else _after(after),
        **{camel(name): plain_value(getattr(plan, name)) for name in _FIELDS},
    )


def _pod(pod: PlacedPod | SharedClaim) -> dict[str, Any]:
    values: dict[str, Any] = plain_value(pod)
    return values | {"goals": {goal.goal: goal.value for goal in pod.goals}}


def _first_fit(plan: Plan, *, plain: bool) -> dict[str, Any] | None:
    found = plan.first_fit_plain if plain else plan.first_fit
    if found is None:
        return None
    pairs = {goal: theirs - mine for goal, (mine, theirs) in plan.against_first_fit.items() if mine != theirs}
    shown: dict[str, Any] = plain_value(replace(found, pods=()))
    del shown["pods"]
    devices = [plain_value(one) for one in found.placements] if plan.is_one_pod else []
    more = {"devices": devices, "placed": dict(found.placed)}
    return shown | more | {"regret": regret(plan, found) if plain or plan.is_one_pod else pairs}


def _after(after: AfterPlan) -> dict[str, Any]:
    """Return what is known after the plan, without what was not asked for."""
    found: dict[str, Any] = plain_value(replace(after, alone={}, added=None))
    found["alone"] = {name: answer_sentence(plan) for name, plan in after.alone.items()}
    if after.added is not None:
        rows = [{"like": one.type, "domain": [*one.domain], "count": one.count} for one in after.added.added]
        found["added"] = {"count": after.added.count, "proven": after.added.proven, "nodes": rows}
    return {name: value for name, value in found.items() if value}


def _summary(plan: Plan) -> dict[str, int]:
    return {
        "replicas": plan.replicas,
        "replicasPlaced": sum(plan.placed.values()),
        "pods": sum(one.replicas * one.size for one in plan.workloads),
        "podsPlaced": len(plan.pods),
        "nodes": len(plan.nodes),
    }
