"""The planning of a fleet: a plan with growing limits, then how many more pods fit, what is stranded, schedulers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dra_lab.errors import DraLabError, InputError
from dra_lab.model.placement import with_measured
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.session.fleet_answer import FleetAnswer, FleetQuestion, GangAnswer, with_amounts
from dra_lab.session.job import Run

if TYPE_CHECKING:
    from dra_lab.planner.fleet.why_stranded import WhyStranded

FIRST_SECONDS = 0.7
"""Seconds until the first plan; a plan that is not proven by then is improved."""

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
    for plan in _plans(find, run, time_limit):
        answer = with_amounts(FleetAnswer(question, plan, gangs=GangAnswer() if is_gang else None))
        yield answer
    if is_gang:
        from dra_lab.session.fleet_gangs import known_of_gangs  # what simulates gangs is imported for them only

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
    from dra_lab.planner.questions import plan_workloads

    cluster, workloads, pins, common = question.cluster, question.workloads, question.pins, _asked(question, run)
    if pins and not question.has_gangs:
        return lambda seconds: plan_pinned(cluster, workloads, pins, goals=question.goals, time_limit=seconds, **common)
    if pins:
        names = " and ".join(pins)
        raise InputError(f"{names}: a plan with gangs takes no pinned pods. Unpin them, or give up the gangs")
    goals = () if question.has_gangs else question.goals
    common |= {"goals": goals, "first_fit": False}
    return lambda seconds: plan_workloads(cluster, workloads, time_limit=seconds, **common)


def _plans(find: Callable[[float | None], Plan], run: Run[FleetAnswer], time_limit: float | None) -> Iterator[Plan]:
    """Yield a first plan, and if that is not proven, the better one of it and one with the time that is left."""
    began = time.monotonic()
    plan = find(FIRST_SECONDS)
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
