"""The answer to a question of a session as it grows: a plan, a better one, and what else is known of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import DraLabError, InputError
from dra_lab.model.goals import UNPLACED
from dra_lab.model.headroom import Headroom, Stranded
from dra_lab.model.placement import FirstFitStatus, with_measured
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import KnownValue, PodDrawing
from dra_lab.model.workload import asked_name
from dra_lab.session.gang_answers import GangAnswer, known_of_gangs
from dra_lab.session.job import Run
from dra_lab.session.question import SessionQuestion
from dra_lab.words.plan_json import plain_value, values_of_bandwidth

if TYPE_CHECKING:
    from dra_lab.pictures.charts.amounts import Amounts
    from dra_lab.planner.fleet.why_stranded import WhyStranded

AMOUNTS = ("in_use", "planned", "free", "stranded", "blocked")
"""The amounts of a fleet's bars, in their order."""


class Answer(Struct, frozen=True):
    """What is known so far of a question: its plan, then `headroom`, how many more pods fit, and what is `stranded`.

    `amounts` are those of every node and kind of device, with the plan's pods. `gangs` is None without gangs. For one
    pod that does not fit, `room` is the plan with the fewest running pods that make room. What is `sought` may still
    come: "copies" or "room". `complete` says that all is there.
    """

    question: SessionQuestion
    plan: Plan
    headroom: tuple[Headroom, ...] = ()
    stranded: Stranded | None = None
    amounts: tuple[Amounts, ...] = ()
    complete: bool = False
    gangs: GangAnswer | None = None
    room: Plan | None = None
    sought: Literal["", "copies", "room"] = ""

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
        wanted = self.plan.wanted_pods
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


def with_amounts(answer: Answer) -> Answer:
    """Return an answer with the amounts of every node after its plan."""
    from dra_lab.pictures.charts.amounts import node_amounts

    amounts = node_amounts(answer.question.cluster, answer.plan, answer.stranded)
    return replace(answer, amounts=amounts)


COPIES_AFTER = 0.1
"""How long an answer is drawn before more is found, in seconds: the threads share one interpreter."""

ROOM_SECONDS = 10.0
"""How long running pods are looked for whose move makes room."""

COPIES_SECONDS = 5.0
"""How long copies are counted; what is known then is a bound."""


def pod_answer(
    question: SessionQuestion, run: Run[Answer], time_limit: float | None, counts_copies: Callable[[], bool]
) -> Answer:
    """Return the plan of the drawn pod, and what is sought after it; shows a misfit earlier. Raises as `plan_pod`."""
    from dra_lab.planner.plan_pod import plan_pod

    cluster, sketch, common = question.cluster, question.sketch, asked(question, run)
    assert sketch is not None, "one pod is drawn"

    def misfit(plan: Plan) -> None:
        """Show that nothing fits while the reasons are looked for: until they are there the answer stays stale."""
        run.show(Answer(question, plan))
        run.stop.wait(0.05)  # those who draw it go first: both threads share one interpreter

    found = plan_pod(
        cluster, sketch, node=question.node, goals=question.goals, time_limit=time_limit, early=misfit, **common
    )
    plan = changed(found, regrets=with_measured(found.regrets, question.measured)) if question.measured else found
    may_make_room = not plan.fits and bool(cluster.pods and not question.node and sketch.requests)
    return Answer(question, plan, sought="room" if may_make_room else "copies" if plan.fits and counts_copies() else "")


def with_sought(answer: Answer, run: Run[Answer]) -> Answer:
    """Return the answer for one pod with the copies that fit, or what makes room for a misfit.

    If that is stopped, or has a rule that is not known, there is no such number, and no such card.
    """
    from dra_lab.planner.make_room import make_room
    from dra_lab.planner.questions import how_many_more

    question, found = answer.question, replace(answer, sought="")
    cluster, sketch = question.cluster, question.sketch
    assert sketch is not None, "one pod is drawn"
    if run.stop.wait(COPIES_AFTER):
        return found
    with suppress(DraLabError):
        if answer.sought == "room":
            common = {**asked(question, run), "movable": question.movable, "time_limit": ROOM_SECONDS}
            found = replace(found, room=make_room(cluster, sketch, **common))
        else:
            limits: dict[str, Any] = {"time_limit": COPIES_SECONDS, "cancel": run.stop}
            copies = how_many_more(cluster, *question.workloads, release=question.release, **limits)
            found = replace(found, headroom=(copies,))
    return replace(answer, sought="") if run.stop.is_set() else found


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


def fleet_answers(question: SessionQuestion, run: Run[Answer], time_limit: float | None) -> Iterator[Answer]:
    """Yield the answer as it grows: a first plan, a better one, how many more fit, what is stranded, schedulers.

    Raises as `plan_fleet` does, and InputError for pods that are pinned beside a gang.
    """
    from dra_lab.planner.questions import how_many_more, stranded

    is_gang, find = question.has_gangs, _planner(question, run)
    first = SAME_SECONDS if question.bound else FIRST_SECONDS
    for plan in _plans(find, run, time_limit, first):
        answer = with_amounts(Answer(question, plan, gangs=GangAnswer() if is_gang else None))
        yield answer
    if is_gang:
        for known in known_of_gangs(question, plan, {**asked(question, run), "time_limit": AFTER_SECONDS}):
            if run.stop.is_set():
                break
            answer = replace(answer, gangs=known)
            yield answer
    if plan.status not in WITHOUT and not run.stop.is_set():
        after = {**asked(question, run), "time_limit": AFTER_SECONDS, "after": plan}
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


def asked(question: SessionQuestion, run: Run[Answer]) -> dict[str, Any]:
    """Return the arguments that every question to the planner has."""
    return {"release": question.release, "cancel": run.stop, "progress": run.report}


def _planner(question: SessionQuestion, run: Run[Answer]) -> Callable[[float | None], Plan]:
    """Return what plans the workloads in a number of seconds."""
    from dra_lab.planner.fleet.pinned import plan_pinned
    from dra_lab.planner.plan_workloads import plan_workloads

    cluster, workloads, pins, common = question.cluster, question.workloads, question.pins, asked(question, run)
    if pins and not question.has_gangs:
        return lambda seconds: plan_pinned(cluster, workloads, pins, goals=question.goals, time_limit=seconds, **common)
    if pins:
        names = " and ".join(pins)
        raise InputError(f"{names}: a plan with gangs takes no pinned pods. Unpin them, or give up the gangs")
    goals = () if question.has_gangs else question.goals
    common |= {"goals": goals, "first_fit": False}
    return lambda seconds: plan_workloads(cluster, workloads, time_limit=seconds, **common)


def _plans(
    find: Callable[[float | None], Plan], run: Run[Answer], time_limit: float | None, first: float
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


def _beside_first_fit(question: SessionQuestion, plan: Plan, run: Run[Answer]) -> Plan:
    """Return a plan with what kube-scheduler takes instead, and the bandwidths that a person measured."""
    from dra_lab.planner.fleet.plan_fleet import with_first_fit

    if plan.first_fit is None:
        limits: dict[str, Any] = {"time_limit": COMPARE_SECONDS, "cancel": run.stop}
        plan = with_first_fit(question.cluster, plan, release=question.release, goals=question.goals, **limits)
    return changed(plan, regrets=with_measured(plan.regrets, question.measured))


def stranded_devices(question: SessionQuestion, plan: Plan, node: str) -> WhyStranded:
    """Return why devices of a node are stranded after a plan."""
    from dra_lab.planner.fleet.why_stranded import WhyStranded, why_stranded

    try:
        return why_stranded(question.cluster, question.workloads, node, release=question.release, after=plan)
    except DraLabError:  # the answer already says it
        return WhyStranded(node)
