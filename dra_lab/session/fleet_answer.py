"""The answer to a fleet: the plan, how many more pods fit, what is stranded, and the amounts of every node."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import DraLabError, InputError
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import GangChoice, GangVerdicts
from dra_lab.model.goals import UNPLACED
from dra_lab.model.headroom import NODE, Bounded, Headroom, Stranded
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.placement import FirstFitStatus, with_measured
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import KnownValue, PodDrawing
from dra_lab.model.what_if import uncordoned, when_idle
from dra_lab.model.workload import HOST, Workload, asked_name, workload_of
from dra_lab.session.job import Run
from dra_lab.words.plan_json import plain_value, values_of_bandwidth

if TYPE_CHECKING:
    from dra_lab.pictures.charts.amounts import Amounts
    from dra_lab.planner.fleet.why_stranded import WhyStranded


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


AMOUNTS = ("in_use", "planned", "free", "stranded", "blocked")
"""The amounts of a fleet's bars, in their order."""


class FleetQuestion(Struct, frozen=True):
    """What is asked of a fleet: the cluster with its layers, the workloads and the settings.

    `measured` are bandwidths that a person measured, by path, as in `Drawing`.
    """

    cluster: Cluster
    pods: tuple[PodDrawing, ...]
    release: KubernetesRelease
    goals: tuple[str, ...] = ()
    measured: Mapping[str, tuple[float, float]] = {}

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads as the planner takes them; one without a request takes no part."""
        return tuple(workload_of(pod) for pod in self.pods if any(claim.requests for claim in pod.claims))

    @property
    def has_gangs(self) -> bool:
        """Say whether a workload is drawn as a gang, if only of one pod."""
        return any(pod.gang is not None for pod in self.pods)

    @property
    def bound(self) -> frozenset[str]:
        """Return the workloads whose pods use the same values of an attribute."""
        return frozenset(pod.pod for pod in self.pods if pod.gang is not None and pod.gang.same)

    @property
    def pins(self) -> Mapping[str, Mapping[str, int]]:
        """Return how many pods of a workload must run on a node."""
        return {pod.pod: pod.pins for pod in self.pods if pod.pins}

    def is_same(self, other: FleetQuestion | None) -> bool:
        """Say whether another question is this one; clusters are compared by identity, as they are large."""
        if other is None or other.cluster is not self.cluster:
            return False
        mine, theirs = ((one.pods, one.release, one.goals, one.measured) for one in (self, other))
        return mine == theirs


class FleetAnswer(Struct, frozen=True):
    """What is known so far: `headroom` and `stranded` come after the plan, and `complete` says that all is there.

    `amounts` are those of every node and kind of device, with the plan's pods. `gangs` is None without gangs.
    """

    question: FleetQuestion
    plan: Plan
    headroom: tuple[Headroom, ...] = ()
    stranded: Stranded | None = None
    amounts: tuple[Amounts, ...] = ()
    complete: bool = False
    gangs: GangAnswer | None = None

    def drawn(self, planned: str) -> PodDrawing:
        """Return the workload of the question that a workload of the plan is, or is a part of."""
        pods = {pod.pod: pod for pod in self.question.pods}
        return pods[asked_name(planned, pods)]

    @property
    def is_planned(self) -> bool:
        """Say whether the plan is final; what else is known of it may still grow."""
        return self.complete or (self.gangs is not None and (self.plan.proven or bool(self.gangs.nodes)))

    @property
    def sentence(self) -> str:
        """Return the answer in one to three short sentences."""
        from dra_lab.words.answer_sentence import answer_sentence

        return answer_sentence(self.plan, self.question.cluster)

    @property
    def figures(self) -> Mapping[str, KnownValue]:
        """Return the numbers of the answer by name, as a kept plan has them (`model.sketch.Kept`)."""
        wanted = sum(workload.replicas * workload.size for workload in self.question.workloads)
        least = None if self.gangs is not None else self.plan.goal(UNPLACED)
        bound = wanted - least.bound if least is not None and least.bound is not None else None
        found = {"placed": KnownValue(value=len(self.plan.pods), bound=bound), "wanted": KnownValue(value=wanted)}
        found["nodes"] = KnownValue(value=len(self.plan.nodes))
        first_fit = self.plan.first_fit
        if first_fit is not None and first_fit.status is not FirstFitStatus.STOPPED:
            found |= values_of_bandwidth([*map(plain_value, self.plan.regrets)])
        found |= {
            f"more/{headroom.workload}": KnownValue(value=headroom.count.value, bound=headroom.count.bound)
            for headroom in self.headroom
        }
        for gang, count in self.gangs.more.items() if self.gangs is not None else ():
            found[f"more/{gang}"] = KnownValue(value=count.count.value, bound=count.count.bound)
        for kind in self.stranded.kinds if self.stranded is not None else ():
            sure = kind.stranded if kind.proven else None
            found[f"stranded/{kind.kind}"] = KnownValue(value=kind.stranded, bound=sure)
        return found | {
            goal.goal: KnownValue(value=goal.value, bound=goal.bound)
            for goal in self.plan.goals
            if goal.goal not in found
        }


def values_of_amounts(amounts: Iterable[Amounts]) -> dict[str, KnownValue]:
    """Return what a kept fleet says of all devices: `amount/KIND/planned` and so on, in whole devices or CPUs."""
    sums: dict[str, float] = {}
    for amount in amounts:
        values = (amount.in_use, amount.planned, amount.free, amount.stranded, amount.blocked)
        for name, value in zip(AMOUNTS, values, strict=True):
            key = f"amount/{amount.kind}/{name}"
            sums[key] = sums.get(key, 0.0) + value
    return {key: KnownValue(value=round(value), bound=round(value)) for key, value in sums.items() if round(value)}


def pods_of(pod: PodDrawing) -> int:
    """Return how many pods of a workload are wanted, those of all its gangs together."""
    return pod.replicas * (pod.gang.size if pod.gang is not None else 1)


def with_amounts(answer: FleetAnswer) -> FleetAnswer:
    """Return an answer with the amounts of every node after its plan."""
    from dra_lab.pictures.charts.amounts import node_amounts

    amounts = node_amounts(answer.question.cluster, answer.plan, answer.stranded)
    return replace(answer, amounts=amounts)


FIRST_SECONDS = 0.7
"""Seconds until the first plan; a plan that is not proven by then is improved."""

SAME_SECONDS = 5.0
"""The same for pods that use the same values: several sets of values are planned."""

AFTER_SECONDS = 10.0
"""Seconds for each question after the plan: how many more pods fit, and what is stranded."""

COMPARE_SECONDS = 2.0
"""Seconds for what kube-scheduler would take instead, on as many nodes as that allows."""

WITHOUT = (PlanStatus.STOPPED, PlanStatus.NOT_CHECKED, PlanStatus.EMPTY)
"""Statuses of a plan after which nothing else is asked."""


def fleet_answers(question: FleetQuestion, run: Run[FleetAnswer], time_limit: float | None) -> Iterator[FleetAnswer]:
    """Yield the answer as it grows: a first plan, a better one, how many more fit, what is stranded, schedulers.

    Raises as `plan_fleet` does, and InputError for pods that are pinned beside a gang.
    """
    from dra_lab.planner.fleet import stranded
    from dra_lab.planner.questions import how_many_more

    is_gang, find = question.has_gangs, _planner(question, run)
    first = SAME_SECONDS if question.bound else FIRST_SECONDS
    for plan in _plans(find, run, time_limit, first):
        answer = with_amounts(FleetAnswer(question, plan, gangs=GangAnswer() if is_gang else None))
        yield answer
    if is_gang:
        for known in known_of_gangs(question, plan, {**_asked(question, run), "time_limit": AFTER_SECONDS}):
            if run.stop.is_set():
                break
            answer = replace(answer, gangs=known)
            yield answer
    if plan.status not in WITHOUT and not run.stop.is_set():
        after = {**_asked(question, run), "time_limit": AFTER_SECONDS, "after": plan}
        single = [workload for workload in question.workloads if not workload.is_gang]
        headrooms = tuple(how_many_more(question.cluster, workload, **after) for workload in single)
        plan = plan if is_gang else plan.checked_against(headrooms)
        answer = replace(answer, plan=plan, headroom=headrooms)
        yield answer
        claims = [claim for workload in question.workloads for claim in workload.claims]
        answer = with_amounts(replace(answer, stranded=stranded(question.cluster, claims, **after)))
        if not is_gang and not run.stop.is_set():
            yield answer
            answer = replace(answer, plan=_beside_first_fit(question, plan, run))
    yield replace(answer, complete=not run.stop.is_set())


def _asked(question: FleetQuestion, run: Run[FleetAnswer]) -> dict[str, Any]:
    """Return the arguments that every question to the planner has."""
    return {"release": question.release, "cancel": run.stop, "progress": run.report}


def _planner(question: FleetQuestion, run: Run[FleetAnswer]) -> Callable[[float | None], Plan]:
    """Return what plans the workloads in a number of seconds."""
    from dra_lab.planner.fleet.pinned import plan_pinned
    from dra_lab.planner.plan_workloads import plan_workloads

    cluster, workloads, pins, common = question.cluster, question.workloads, question.pins, _asked(question, run)
    if pins and not question.has_gangs:
        return lambda seconds: plan_pinned(cluster, workloads, pins, goals=question.goals, time_limit=seconds, **common)
    if pins:
        names = " and ".join(pins)
        raise InputError(f"{names}: a plan with gangs takes no pinned pods. Unpin them, or give up the gangs")
    goals = () if question.has_gangs else question.goals
    common |= {"goals": goals, "first_fit": False}
    return lambda seconds: plan_workloads(cluster, workloads, time_limit=seconds, **common)


def _plans(
    find: Callable[[float | None], Plan], run: Run[FleetAnswer], time_limit: float | None, first: float
) -> Iterator[Plan]:
    """Yield a first plan, and if that is not proven, the better one of it and one with the time that is left."""
    began = time.monotonic()
    plan = find(first if time_limit is None else min(first, time_limit))
    yield plan
    if not plan.proven and plan.status not in (PlanStatus.EMPTY, PlanStatus.NOT_CHECKED) and not run.stop.is_set():
        left = None if time_limit is None else max(0.0, time_limit - (time.monotonic() - began))
        yield better(plan, find(left))


def better(before: Plan, now: Plan) -> Plan:
    """Return the better of two plans of one question: the later one, unless its goals are worse."""
    if not now.goals:
        return before if before.goals else now
    values = [{goal.goal: goal.value for goal in plan.goals} for plan in (before, now)]
    order = [goal.goal for goal in now.goals]
    if any(name not in values[0] for name in order):
        return now
    return before if [values[0][name] for name in order] < [values[1][name] for name in order] else now


def _beside_first_fit(question: FleetQuestion, plan: Plan, run: Run[FleetAnswer]) -> Plan:
    """Return a plan with what kube-scheduler takes instead, and the bandwidths that a person measured."""
    from dra_lab.planner.fleet.plan_fleet import with_first_fit

    plan = with_first_fit(
        question.cluster,
        plan,
        release=question.release,
        goals=question.goals,
        time_limit=COMPARE_SECONDS,
        cancel=run.stop,
    )
    return changed(plan, regrets=with_measured(plan.regrets, question.measured))


def stranded_devices(question: FleetQuestion, plan: Plan, node: str) -> WhyStranded:
    """Return why devices of a node are stranded after a plan."""
    from dra_lab.planner.fleet.why_stranded import WhyStranded, why_stranded

    try:
        return why_stranded(question.cluster, question.workloads, node, release=question.release, after=plan)
    except DraLabError:  # the answer already says it
        return WhyStranded(node)


CHOICE_SECONDS = 6.0
"""Seconds for what all schedulers do with one gang."""


def known_of_gangs(question: FleetQuestion, plan: Plan, common: Mapping[str, Any]) -> Iterator[GangAnswer]:
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


def _node_headroom(question: FleetQuestion, gang: Workload, fleet: Plan, common: Mapping[str, Any]) -> NodeHeadroom:
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


def _choices(question: FleetQuestion, gang: Workload, plan: Plan, stop: threading.Event) -> tuple[GangChoice, ...]:
    """Return what schedulers do with a gang; nothing for what they cannot be asked."""
    from dra_lab.pinning.gang_choices import gang_choices
    from dra_lab.pinning.pin_budget import budget_of

    if stop.is_set():
        return ()
    hierarchy, budget = hierarchy_of(question.cluster, gang), budget_of(CHOICE_SECONDS, stop)
    with suppress(DraLabError):
        return gang_choices(question.cluster, gang, hierarchy, question.release, plan, budget=budget)
    return ()


def _verdicts(question: FleetQuestion, gang: Workload, plan: Plan, stop: threading.Event) -> GangVerdicts | str:
    """Return what the quota of Kueue's queue says of a gang; a text if that is not known, "" without queues."""
    from dra_lab.planner.gangs.gang_verdicts import gang_verdicts

    name = asked_name(gang.name, [pod.pod for pod in question.pods])
    queue = next((pod.gang.queue for pod in question.pods if pod.pod == name and pod.gang is not None), "")
    if stop.is_set() or not (queue or question.cluster.queues):
        return ""
    try:
        return gang_verdicts(question.cluster, gang, queue=queue, plan=plan, release=question.release, cancel=stop)
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
