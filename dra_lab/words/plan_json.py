"""A plan as plain values for machines: sentence, summary and fields; and the figures of a kept plan from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dra_lab.findings import Finding, Origin
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.goals import GANGS, UNPLACED
from dra_lab.model.headroom import DOMAIN, Bounded, Fit, Headroom, LargestJob, Stranded, StrandedKind
from dra_lab.model.names import DeviceID
from dra_lab.model.node_type import AddedNodes
from dra_lab.model.placement import FirstFitStatus, PlacedPod, SharedClaim, Start
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import ClaimSketch, KnownValue
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.facts import regret

if TYPE_CHECKING:
    from dra_lab.words.plan_document import AfterPlan


JSON_VERSION = "dra-lab/v3"


def answer_json(
    kind: str,
    outcome: str,
    findings: Iterable[Finding] = (),
    goals: Iterable[dict[str, Any]] = (),
    *,
    first: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return an answer as plain values: what stands `first`, `outcome`, `goals`, `findings`, the fields of its kind."""
    return {
        "apiVersion": JSON_VERSION,
        "kind": kind,
        **(first or {}),
        "outcome": outcome,
        "goals": [*goals],
        "findings": [finding_value(finding) for finding in dict.fromkeys(findings)],
        **fields,
    }


def finding_value(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain values; `origin` is one line, `file` to `path` are its parts."""
    place = finding.origin or Origin()
    parts = {"file": place.source, "line": place.line, "object": place.object, "path": place.path}
    return {**plain_value(finding), "origin": str(finding.origin or ""), **parts}


_LATER_WORD = re.compile(r"_(\w)")

_OF_THE_API = (ClaimSketch, ResourceClaim)
_NOT_WRITTEN = ("seconds", "parts", "tracer", "on")
"""Fields that differ between equal answers, or that have a meaning in a process alone."""

_IF_ANY = (
    *("at_most", "of", "claim", "group", "number", "domain", "label", "leader", "slices", "shared_claims", "same"),
    *("verdict", "values", "fits_idle"),
)
"""Fields that are written only if they have a value."""

_PROPERTIES: Mapping[type, tuple[str, ...]] = {
    Bounded: ("exact",),
    Headroom: ("proven",),
    LargestJob: ("proven",),
    Stranded: ("proven",),
    StrandedKind: ("stranded", "least", "proven"),
}
"""Properties that are written beside the fields."""


def plain_value(value: Any) -> Any:
    """Return a value of an answer as plain values; a device is `driver`, `pool` and `device` of what has it."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, DeviceID):
        return value._asdict()
    if isinstance(value, _OF_THE_API):
        return msgspec.to_builtins(value, builtin_types=())
    if isinstance(value, Mapping):
        return {str(key): plain_value(one) for key, one in value.items()}
    if isinstance(value, Struct) or is_dataclass(value):
        return _object(value)
    if isinstance(value, frozenset | set):
        return sorted(map(plain_value, value))
    if isinstance(value, Iterable):
        return [plain_value(one) for one in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _object(value: Any) -> dict[str, Any]:
    own = value.__struct_fields__ if isinstance(value, Struct) else [field.name for field in fields(value)]
    found: dict[str, Any] = {}
    for name in (*own, *_PROPERTIES.get(type(value), ())):
        one = getattr(value, name)
        if name in _NOT_WRITTEN or (name in _IF_ANY and not one):
            continue
        if isinstance(one, DeviceID):
            found |= one._asdict()
        else:
            found[camel(name)] = plain_value(one)
    return found


def camel(name: str) -> str:
    """Return the name of a field as JSON has it: `not_examined` is `notExamined`."""
    return _LATER_WORD.sub(lambda word: word[1].upper(), name)


FITS, DOES_NOT_FIT, NOT_CHECKED, STOPPED = "fits", "does-not-fit", "not-checked", "stopped"


def plan_outcome(plan: Plan) -> str:
    """Return whether everything has a place in a plan: fits, does-not-fit (proven), not-checked, or stopped."""
    if plan.status is PlanStatus.NOT_CHECKED:
        return NOT_CHECKED
    if plan.status is PlanStatus.EMPTY:
        return FITS if plan.allocated_claims or not plan.replicas else STOPPED
    missing = [goal for goal in plan.goals if goal.goal.partition(" ")[0] in (GANGS, UNPLACED) and goal.value]
    if plan.fits and not missing:
        return FITS
    proven = plan.status is PlanStatus.INFEASIBLE or any(goal.bound for goal in missing)
    return DOES_NOT_FIT if proven else STOPPED


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


PAGE = 500
"""Pods on a page."""

_FIELDS = (
    *("shortfalls", "suggestions", "reasons", "regrets"),
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
            "classes": [*map(_node_class, plan.node_classes)],
        },
        firstFit=_first_fit(plan, plain=False),
        firstFitPlain=_first_fit(plan, plain=True),
        after=None if after is None else _after(after),
        **({"moves": [*map(plain_value, plan.moves)]} if plan.moves else {}),
        **({} if plan.least_moves is None else {"leastMoves": plan.least_moves}),
        **({"same": [plain_value(one) for one in plan.same]} if plan.same else {}),
        objective=plan.objective,
        where=[plain_value(fit) for fit in plan.where if fit.kind == DOMAIN],
        **{camel(name): plain_value(getattr(plan, name)) for name in _FIELDS},
    )


def _node_class(fit: Fit) -> dict[str, Any]:
    """Return equal nodes with their verdict on one pod."""
    goals, label = [*map(plain_value, fit.values)], {"label": fit.label} if fit.label else {}
    return {"nodes": list(fit.members), "fit": fit.verdict, "fitsIdle": fit.fits_idle, "goals": goals, **label}


def _pod(pod: PlacedPod | SharedClaim) -> dict[str, Any]:
    values: dict[str, Any] = plain_value(pod)
    return values | {"goals": {goal.goal: goal.value for goal in pod.goals}}


def _first_fit(plan: Plan, *, plain: bool) -> dict[str, Any] | None:
    found = plan.first_fit_plain if plain else plan.first_fit
    if found is None:
        return None
    shown: dict[str, Any] = plain_value(replace(found, pods=()))
    del shown["pods"]
    devices = [] if plan.sums_over_pods else [plain_value(one) for one in found.placements]
    return shown | {"devices": devices, "placed": dict(found.placed), "regret": regret(plan, found)}


def _after(after: AfterPlan) -> dict[str, Any]:
    found: dict[str, Any] = plain_value(replace(after, alone={}, added=None))
    found["alone"] = {name: answer_sentence(plan) for name, plan in after.alone.items()}
    if after.added is not None:
        found["added"] = added_json(after.added)
    return {name: value for name, value in found.items() if value}


def added_json(added: AddedNodes) -> dict[str, Any]:
    """Return the nodes that must be added, by type and domain, as JSON."""
    rows = [{"like": one.type, "domain": [*one.domain], "count": one.count} for one in added.added]
    return {"count": added.count, "proven": added.proven, "nodes": rows}


def _summary(plan: Plan) -> dict[str, int]:
    return {
        "replicas": plan.replicas,
        "replicasPlaced": sum(plan.placed.values()),
        "pods": plan.wanted_pods,
        "podsPlaced": len(plan.pods),
        "nodes": len(plan.nodes),
    }


_ALLOCATED = "allocated"


def values_of_plan(plan: Mapping[str, Any]) -> dict[str, KnownValue]:
    """Return the figures of a plan's JSON. Raises KeyError, TypeError or ValueError for another value."""
    nodes, summary = plan["nodes"], plan["summary"]
    found = {"placed": _exact(int(summary["podsPlaced"])), "wanted": _exact(int(summary["pods"]))}
    if total := sum(len(kind["nodes"]) for kind in nodes["classes"]):
        found |= {"fitting": _exact(len(nodes["fitting"])), "fitting/of": _exact(total)}
    known = {str(goal["goal"]): KnownValue(value=int(goal["value"]), bound=goal.get("bound")) for goal in plan["goals"]}
    if any(name.partition(" ")[0] == "gangs" for name in known):
        return found | _of_gangs(plan, known)
    if found["placed"].value:
        found |= known
        gpus = max((int(goal.get("of", 0)) for goal in plan["goals"]), default=0)
        found |= {"gpus": _exact(gpus)} if gpus else {}
    return found | values_of_bandwidth(plan["regrets"]) | dict(_scheduler(plan.get("firstFit"), plan["goals"]))


def _of_gangs(plan: Mapping[str, Any], known: Mapping[str, KnownValue]) -> dict[str, KnownValue]:
    gangs = {str(one["name"]) for one in plan["workloads"] if is_gang(one)}
    wanted = sum(int(one["replicas"]) for one in plan["workloads"] if one["name"] in gangs)
    placed = sum(int(one["placed"]) for one in plan["workloads"] if one["name"] in gangs)
    least = [found.bound for name, found in known.items() if name.partition(" ")[0] == "gangs"]
    most = None if None in least else wanted - sum(bound or 0 for bound in least)
    found = {"gangs": KnownValue(value=placed, bound=most), "gangs/of": _exact(wanted)}
    found["gangs/open"] = _exact(sum(not goal["proven"] for goal in plan["goals"]))
    if plan["summary"]["podsPlaced"]:
        found |= {name: known[name] for name in ("numa", "unpaired", "roots") if name in known}
        found |= {f"gangs/{name}": known[name] for name in ("levels", "nodes") if name in known}
    return found


def is_gang(workload: Mapping[str, Any]) -> bool:
    """Say whether the JSON of a workload has replicas of more than one pod, or a level."""
    groups = workload["pods"]
    alone = len(groups) == 1 and groups[0]["count"] == 1 and not groups[0].get("sharedClaims")
    beside = ("level", "preferLevel", "priority", "sharedClaims")
    return not alone or any(workload.get(name) for name in beside)


def values_of_bandwidth(regrets: Sequence[Mapping[str, Any]]) -> dict[str, KnownValue]:
    """Return the bandwidth of the JSON of regrets: that of the plan and, with its manifests, of kube-scheduler."""
    best = next((cost["best"] for cost in regrets), ())
    theirs = next((cost["theirs"] for cost in regrets if cost["against"] == "manifest"), ())
    return {**dict(_bandwidth("", best)), **dict(_bandwidth("scheduler/", theirs))}


def _scheduler(found: Mapping[str, Any] | None, goals: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, KnownValue]]:
    if found is None or not goals:
        return
    allocated = found["status"] == _ALLOCATED
    theirs = {str(goal["goal"]): int(goal["value"]) for goal in found["goals"]} if allocated else {}
    ours = {str(goal["goal"]): int(goal["value"]) for goal in goals}
    if found["status"] != "stopped":
        yield "scheduler", _exact(int(allocated and all(ours.get(goal) == value for goal, value in theirs.items())))
    for goal, value in theirs.items():
        yield f"scheduler/{goal}", _exact(value)


def _bandwidth(prefix: str, shares: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, KnownValue]]:
    """Yield the percentages of the worst GPU; nothing where one of them is not known."""
    ends = [(share["low"], share["high"]) for share in shares]
    if not ends or any(low is None or high is None for low, high in ends):
        return
    low, high = min(ends)
    yield f"{prefix}bandwidth/low", _exact(round(100 * low))
    yield f"{prefix}bandwidth/high", _exact(round(100 * high))


def _exact(value: int) -> KnownValue:
    return KnownValue(value=value, bound=value)
