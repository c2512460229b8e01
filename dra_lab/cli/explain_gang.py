"""`dra-lab explain --gang`: what each scheduler does with a gang, after the answer of the planner."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dra_lab.cli.gang_options import asked_of
from dra_lab.cli.options import cluster_of, print_answer, release_of
from dra_lab.errors import InputError
from dra_lab.model.gang_verdicts import GangVerdict
from dra_lab.model.plan import Plan
from dra_lab.model.workload import Workload
from dra_lab.planner.waiting import command_waits

if TYPE_CHECKING:
    from dra_lab.pinning.gang_choices import GangChoice
    from dra_lab.words.document import Part

_PIN = "If the gang has a level, dra-lab export --pin holds the pods to the planned domain."
_SECONDS = 60.0
"""Seconds for the plan, and for the searches of the schedulers."""

_REPLAYED = ("kueue", "kube-scheduler")


def explain_gangs(options: argparse.Namespace) -> int:
    """Plan the gangs, replay the schedulers, print what is asked for, and return the exit status."""
    from dra_lab.checks.cluster_checks import check_cluster
    from dra_lab.findings import sort_findings
    from dra_lab.pinning.gang_choices import gang_choices
    from dra_lab.pinning.pin_budget import budget_of
    from dra_lab.planner.questions import plan_workloads
    from dra_lab.words.plan_json import plan_outcome

    for option, value in (("node", options.node), ("device", options.device), ("step", options.step)):
        if value:
            raise InputError(f"--{option} is for one pod; leave it out to explain a gang, or leave out --gang")
    release = release_of(options)
    given = asked_of(options)
    found: list[tuple[Workload, GangChoice]] = []
    with command_waits() as (show, cancel):
        limits: dict[str, Any] = {"release": release, "time_limit": _SECONDS, "cancel": cancel}
        plan = plan_workloads(given.cluster, given.every, progress=show, **limits)
        for one in given.gangs:
            common: dict[str, Any] = {"requests": one.requests, "budget": budget_of(_SECONDS, cancel)}
            choices = gang_choices(given.cluster, one.gang, one.hierarchy, release, plan, **common)
            found += ((one.gang, choice) for choice in _asked(choices, options.scheduler))
    outcome = plan_outcome(plan)
    read = cluster_of(options)
    findings = sort_findings(dict.fromkeys((*given.findings, *read.findings, *check_cluster(read), *plan.findings)))
    answer = partial(_json, plan, found, outcome, findings)
    return print_answer(options, answer, _parts(options, plan, found), findings, outcome)


def _asked(choices: Sequence[GangChoice], scheduler: str | None) -> Iterator[GangChoice]:
    """Yield the choice of the scheduler that is asked about, else of those that are replayed."""
    by_name = dict(zip(("kube-scheduler", "kueue", "kai", "volcano"), choices, strict=True))
    for name in [scheduler] if scheduler else _REPLAYED:
        yield by_name[name]


def _parts(options: argparse.Namespace, plan: Plan, found: Sequence[tuple[Workload, GangChoice]]) -> Iterator[Part]:
    """Yield the answer of the planner, then what each scheduler does."""
    from dra_lab.words.answer_sentence import answer_sentence
    from dra_lab.words.document import Sentence, Words
    from dra_lab.words.workload_words import choice_sentence, replay_table

    yield Sentence(answer_sentence(plan))
    for gang, choice in found:
        replay = choice.replay
        yield Words(choice_sentence(choice, gang))
        if options.detail == "all" and replay.domains:
            yield replay_table(replay)
        if options.scheduler and options.scheduler not in _REPLAYED:
            pin = _PIN if replay.verdict is GangVerdict.MAYBE else ""
            yield Words(f"dra-lab does not replay {replay.scheduler}. {pin}".rstrip())


def _json(
    plan: Plan, found: Sequence[tuple[Workload, GangChoice]], outcome: str, findings: Sequence[Any]
) -> dict[str, Any]:
    from dra_lab.words.plan_json import answer_json, plain_value

    rows = [{"gang": gang.name, **plain_value(choice)} for gang, choice in found]
    return answer_json("GangExplanation", outcome, findings, map(plain_value, plan.goals), schedulers=rows)
