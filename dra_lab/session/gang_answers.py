"""What a session finds out about gangs after their plan: what nodes hold, how many more fit, what schedulers do."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import GangChoice, GangVerdicts
from dra_lab.model.headroom import NODE, Bounded, Headroom
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.what_if import uncordoned, when_idle
from dra_lab.model.workload import HOST, Workload, asked_name
from dra_lab.session.question import SessionQuestion


class NodeHeadroom(Struct, frozen=True):
    """How many pods of a gang each node holds alone: `idle` if nothing were in use, `now`, and `left` after the plan.

    `exact` says that all three are proven and that nodes do not share devices, so that they may be added.
    """

    idle: Mapping[str, int] = {}
    now: Mapping[str, int] = {}
    left: Mapping[str, int] = {}
    exact: bool = False


class GangAnswer(Struct, frozen=True):
    """What is known of gangs so far, by the name of the gang where it is about one.

    `more` counts the gangs that fit after the plan, `total` those that fit on the cluster without it, with every level.
    `choices` are what schedulers do, and `verdicts` what Kueue's quota says, in place of it why that is not known.
    """

    nodes: Mapping[str, NodeHeadroom] = {}
    more: Mapping[str, Headroom] = {}
    total: Mapping[str, Headroom] = {}
    choices: Mapping[str, tuple[GangChoice, ...]] = {}
    verdicts: Mapping[str, GangVerdicts | str] = {}


CHOICE_SECONDS = 6.0
"""Seconds for what all schedulers do with one gang."""


def known_of_gangs(question: SessionQuestion, plan: Plan, common: Mapping[str, Any]) -> Iterator[GangAnswer]:
    """Yield what is known of the gangs after their plan: nodes, then how many more fit, then the schedulers.

    `common` are arguments of every question to the planner.
    """
    from dra_lab.planner.questions import how_many_more

    known, stop, names = GangAnswer(), common["cancel"], [pod.pod for pod in question.pods]
    if plan.status in (PlanStatus.EMPTY, PlanStatus.NOT_CHECKED) or stop.is_set():
        return
    headrooms = {gang.name: _node_headroom(question, gang, plan, common) for gang in plan.gangs}
    yield (known := replace(known, nodes=headrooms))
    for gang in plan.gangs:
        at_least = _on_other_values if asked_name(gang.name, names) in question.bound else lambda found: found
        more = at_least(how_many_more(question.cluster, gang, after=plan, **common))
        yield (known := replace(known, more={**known.more, gang.name: more}))
        total = at_least(how_many_more(question.cluster, gang, **common)) if plan.pods else more
        yield (known := replace(known, total={**known.total, gang.name: total}))
    for gang in plan.gangs:
        known = replace(
            known,
            choices={**known.choices, gang.name: _choices(question, gang, plan, stop)},
            verdicts={**known.verdicts, gang.name: _verdicts(question, gang, plan, stop)},
        )
        yield known


def _on_other_values(found: Headroom) -> Headroom:
    """Return how many gangs fit with the chosen values of `same`, when others may fit with other values."""
    levels = {name: Bounded(count.value) for name, count in found.levels.items()}
    return replace(found, count=Bounded(found.count.value), levels=levels)


def _node_headroom(question: SessionQuestion, gang: Workload, fleet: Plan, common: Mapping[str, Any]) -> NodeHeadroom:
    from dra_lab.planner.questions import how_many_more

    member = Workload(gang.name, gang.pods[0].claims)
    # Each node alone: the screen says itself which of them are cordoned.
    cluster = uncordoned(question.cluster, question.cluster.cordoned)
    now = how_many_more(cluster, member, **common)
    idle = how_many_more(when_idle(cluster), member, **common)
    left = how_many_more(cluster, member, after=fleet, **common) if fleet.pods else now
    every = (idle, now, left)
    exact = all(headroom.proven and all(fit.kind == NODE for fit in headroom.where) for headroom in every)
    return NodeHeadroom(_by_node(idle), _by_node(now), _by_node(left), exact)


def _by_node(headroom: Headroom) -> dict[str, int]:
    """Return how many pods each node holds, without nodes that share devices."""
    return {node: fit.replicas.value for fit in headroom.where if fit.kind == NODE for node in fit.members}


def _choices(question: SessionQuestion, gang: Workload, plan: Plan, stop: threading.Event) -> tuple[GangChoice, ...]:
    """Return what schedulers do with a gang; nothing for what they cannot be asked."""
    from dra_lab.pinning.gang_choices import gang_choices
    from dra_lab.pinning.pin_budget import budget_of

    if stop.is_set():
        return ()
    hierarchy, budget = hierarchy_of(question.cluster, gang), budget_of(CHOICE_SECONDS, stop)
    with suppress(DraLabError):
        return gang_choices(question.cluster, gang, hierarchy, question.release, plan, budget=budget)
    return ()


def _verdicts(question: SessionQuestion, gang: Workload, plan: Plan, stop: threading.Event) -> GangVerdicts | str:
    """Return what the quota of Kueue's queue says of a gang; a text if that is not known, "" without queues."""
    from dra_lab.planner.gangs.gang_verdicts import gang_verdicts

    name = asked_name(gang.name, [pod.pod for pod in question.pods])
    queue = next((pod.gang.queue for pod in question.pods if pod.pod == name and pod.gang is not None), "")
    if stop.is_set() or not (queue or question.cluster.queues):
        return ""
    try:
        return gang_verdicts(question.cluster, gang, plan, queue=queue, release=question.release)
    except DraLabError as error:
        return error.message


def hierarchy_of(cluster: Cluster, gang: Workload) -> Hierarchy | None:
    """Return the hierarchy whose levels a gang names, the first one for a gang that names only hosts."""
    from dra_lab.topology.hierarchies import hierarchies

    known = hierarchies(cluster)
    if gang.hierarchy:
        return next((one for one in known if one.name == gang.hierarchy), None)
    wanted = {level for level in (gang.level, gang.prefer_level) if level}
    able = (tree for tree in known if wanted <= {HOST, *(name for one in tree.levels for name in (one.name, one.key))})
    return next(able, known[0] if known else None)
