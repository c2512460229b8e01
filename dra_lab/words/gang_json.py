"""Answers about gangs as plain values for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dra_lab.model.headroom import Bounded, Fit, Headroom
from dra_lab.model.placement import SharedClaim
from dra_lab.model.plan import Plan
from dra_lab.model.workload import Workload
from dra_lab.words.answer_json import answer_json
from dra_lab.words.fleet_json import replica_value
from dra_lab.words.gang_verdicts_document import verdicts_json
from dra_lab.words.plan_json import goal_value, placement_value, shortfall_value
from dra_lab.words.plan_outcome import plan_outcome

if TYPE_CHECKING:
    from dra_lab.model.gang_verdicts import GangVerdicts
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.pinning.gang_choices import GangChoice


def gang_json(
    plan: Plan,
    counts: Sequence[tuple[Headroom, Headroom]] = (),
    choices: Sequence[Sequence[GangChoice]] = (),
    queues: Mapping[str, str] | None = None,
    verdicts: Mapping[str, GangVerdicts] | None = None,
    added: AddedNodes | None = None,
) -> dict[str, Any]:
    """Return a plan of gangs as plain values, names and order fixed; no times, so that equal plans give equal text.

    `counts` has for each gang how many fit now and after the plan, `queues` its queue, and `verdicts` what that says.
    `added` are the nodes with which everything fits.
    """
    more = {
        "status": plan.status.value,
        "proven": plan.proven,
        "cluster": plan.cluster,
        "release": plan.release,
        "gangs": [
            {
                **_gang(plan, gang, (queues or {}).get(gang.name, "")),
                "domains": [_domain(headroom) for headroom in plan.where if headroom.workload == gang.name],
                "levels": _levels(counts[number][0]) if number < len(counts) else [],
                "more": _more(counts[number][1]) if number < len(counts) else None,
                "verdicts": _verdicts((verdicts or {}).get(gang.name)),
                "schedulers": [choice_json(one) for one in choices[number]] if number < len(choices) else [],
            }
            for number, gang in enumerate(plan.gangs)
        ],
        "placed": [
            {
                "gang": placed.workload,
                "number": placed.replica,
                "domain": list(placed.domain),
                "nodes": list(placed.nodes),
                "pods": [replica_value(pod) for pod in placed.pods],
                "shared": next((_shared(one) for one in placed.shared if not one.group), None),
                "groupShared": [_shared(one) for one in placed.shared if one.group],
            }
            for placed in plan.placed_gangs
        ],
        "workloads": [{"name": one.name, "replicas": one.replicas} for one in plan.workloads if not one.is_gang],
        "replicas": [replica_value(pod) for pod in plan.single_pods],
        "nodesToAdd": None if added is None else _added(added),
        "states": plan.states,
        "notExamined": plan.not_examined,
        "cordoned": plan.cordoned,
        "shortfalls": [shortfall_value(shortfall) for shortfall in plan.shortfalls],
    }
    return answer_json("GangPlan", plan_outcome(plan), plan.findings, map(goal_value, plan.goals), **more)


def _shared(claim: SharedClaim) -> dict[str, Any]:
    return {
        "workload": claim.group or "shared",
        "number": 0,
        "node": claim.node,
        "devices": [placement_value(placement) for placement in claim.devices],
        "goals": {goal.goal: goal.value for goal in claim.goals},
    }


def _gang(plan: Plan, gang: Workload, queue: str) -> dict[str, Any]:
    return {
        "name": gang.name,
        "replicas": gang.replicas,
        "placed": plan.placed[gang.name],
        "level": gang.level,
        "preferLevel": gang.prefer_level,
        "hierarchy": gang.hierarchy,
        "queue": queue,
        "priority": gang.priority,
        "size": gang.size,
        "least": gang.least,
        "groups": [
            {
                "name": group.name,
                "pods": group.count,
                "least": group.least,
                "level": group.level,
                "preferLevel": group.prefer_level,
                "slices": [{"size": size, "level": level} for size, level in group.slices],
                "leader": group.leader,
                "claims": [msgspec.to_builtins(claim, builtin_types=()) for claim in group.claims],
                "sharedClaims": [msgspec.to_builtins(claim, builtin_types=()) for claim in group.shared_claims],
            }
            for group in gang.pods
        ],
        "sharedClaims": [msgspec.to_builtins(claim, builtin_types=()) for claim in gang.shared_claims],
    }


def _domain(headroom: Fit) -> dict[str, Any]:
    return {
        "domain": list(headroom.members),
        "fits": headroom.fits,
        "proven": headroom.proven,
        "pods": headroom.pods.value,
        "podsBound": headroom.pods.bound,
        "size": headroom.size,
        "gangs": headroom.replicas.value,
        "gangsBound": headroom.replicas.bound,
        "lacking": list(headroom.reasons),
    }


def _verdicts(found: GangVerdicts | None) -> dict[str, Any] | None:
    """Return what quota, Kueue's counts and devices say, without the fields of an answer of its own."""
    if found is None:
        return None
    own = ("apiVersion", "kind", "goals", "findings", "gang", "cluster")
    return {name: value for name, value in verdicts_json(found).items() if name not in own}


def _levels(found: Headroom) -> list[dict[str, Any]]:
    return [{"level": level, **_number(number)} for level, number in found.levels.items()]


def _more(found: Headroom) -> dict[str, Any]:
    return {
        **_number(found.count),
        "domains": [
            {"domain": list(headroom.members), **_number(headroom.replicas), "pods": headroom.pods.value}
            for headroom in found.where
        ],
    }


def _number(number: Bounded) -> dict[str, Any]:
    return {"count": number.value, "bound": number.bound, "proven": number.exact, "capped": number.bound is None}


def choice_json(choice: GangChoice) -> dict[str, Any]:
    """Return what a scheduler does with a gang as JSON has it."""
    replay = choice.replay
    return {
        "scheduler": replay.scheduler,
        "verdict": replay.verdict.value,
        "sentence": replay.sentence,
        "domains": [
            {"domain": row.domain, "least": row.least, "most": row.most, "wanted": row.wanted} for row in replay.domains
        ],
        "started": None if choice.started is None else _range(choice.started),
        "claimsDoNotFitIn": list(choice.trapped),
    }


def _range(number: tuple[int, int]) -> dict[str, int]:
    return {"least": number[0], "most": number[1]}


def _added(found: AddedNodes) -> dict[str, Any]:
    rows = [{"like": one.type, "domain": list(one.domain), "count": one.count} for one in found.added]
    return {"count": found.count, "proven": found.proven, "added": rows}
