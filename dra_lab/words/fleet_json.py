"""Answers about fleets as plain values for machines."""

from __future__ import annotations

from typing import Any

import msgspec

from dra_lab.model.headroom import NODE, Headroom, LargestJob, Stranded, StrandedKind
from dra_lab.model.placement import FirstFitStatus, PlacedPod
from dra_lab.model.plan import Plan
from dra_lab.model.workload import Workload
from dra_lab.words.answer_json import answer_json
from dra_lab.words.plan_json import (
    goal_value,
    placement_value,
    regret_json,
    shortfall_value,
)
from dra_lab.words.plan_outcome import pod_outcome


def fleet_json(plan: Plan) -> dict[str, Any]:
    """Return a fleet plan as plain values, names and order fixed; no times, so that equal plans give equal text."""
    more = {
        "status": plan.status.value,
        "proven": plan.proven,
        "objective": plan.objective,
        "cluster": plan.cluster,
        "release": plan.release,
        "workloads": [_workload(plan, workload) for workload in plan.workloads],
        "nodes": list(plan.nodes),
        "replicas": [replica_value(replica) for replica in plan.pods],
        "firstFit": _first_fit(plan),
        "regrets": [regret_json(regret) for regret in plan.regrets],
        "states": plan.states,
        "shortfalls": [shortfall_value(shortfall) for shortfall in plan.shortfalls],
    }
    return answer_json("FleetPlan", pod_outcome(plan), plan.findings, map(goal_value, plan.goals), **more)


def _workload(plan: Plan, workload: Workload) -> dict[str, Any]:
    return {
        "name": workload.name,
        "replicas": workload.replicas,
        "placed": plan.placed[workload.name],
        "claims": [msgspec.to_builtins(sketch, builtin_types=()) for sketch in workload.claims],
    }


def replica_value(replica: PlacedPod) -> dict[str, Any]:
    """Return a placed pod as plain values; a pod of a gang by its group and its number there."""
    return {
        "workload": replica.group or replica.workload,
        "number": replica.number if replica.group else replica.replica,
        "node": replica.node,
        "devices": [placement_value(placement) for placement in replica.devices],
        "goals": {goal.goal: goal.value for goal in replica.goals},
    }


def _first_fit(plan: Plan) -> dict[str, Any] | None:
    found = plan.first_fit
    if found is None:
        return None
    regret = {goal: theirs - mine for goal, (mine, theirs) in plan.against_first_fit.items() if mine != theirs}
    return {
        "placed": dict(found.placed),
        "goals": [goal_value(goal) for goal in found.goals],
        "regret": regret,
        "comparedNodes": len(found.compared) if found.status is FirstFitStatus.STOPPED else len(plan.nodes),
    }


def headroom_json(headroom: Headroom) -> dict[str, Any]:
    """Return how many more replicas fit as plain values; `together`: the numbers hold for all its nodes together."""
    return {
        "workload": headroom.workload,
        "count": headroom.count.value,
        "bound": headroom.count.bound,
        "proven": headroom.proven,
        "capped": headroom.count.bound is None,
        "classes": [
            {
                "nodes": list(fit.members),
                "each": fit.replicas.value,
                "bound": fit.replicas.bound,
                "together": fit.kind != NODE,
            }
            for fit in headroom.where
        ],
    }


def job_json(job: LargestJob) -> dict[str, Any]:
    """Return the largest job of a claim as plain values."""
    return {
        "claim": job.claim,
        "scale": job.scale,
        "scaleBound": job.scale_bound,
        "replicas": job.replicas.value,
        "replicasBound": job.replicas.bound,
        "capped": job.replicas.bound is None,
        "proven": job.proven,
        "node": job.node,
        "sketch": None if job.sketch is None else msgspec.to_builtins(job.sketch, builtin_types=()),
    }


def stranded_json(lost: Stranded) -> dict[str, Any]:
    """Return what is stranded as plain values, in all and on every node."""
    return {
        "claims": list(lost.claims),
        "proven": lost.proven,
        "notExamined": lost.not_examined,
        "kinds": [_kind(kind) for kind in lost.kinds],
        "nodes": [
            {"nodes": list(c.nodes), "together": c.together, "kinds": [_kind(kind) for kind in c.kinds]}
            for c in lost.nodes
        ],
    }


def _kind(kind: StrandedKind) -> dict[str, Any]:
    numbers = {"free": kind.free, "usable": kind.usable, "bound": kind.bound, "stranded": kind.stranded}
    return {"kind": kind.kind, **numbers, "partitions": kind.partitions, "proven": kind.proven}
