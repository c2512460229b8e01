"""`dra-lab explain --gang`: what a scheduler does with a gang, step by step if it is replayed, beside the best plan."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dra_lab.cli.gang_options import gangs_of
from dra_lab.cli.options import cluster_of, print_answer, release_of
from dra_lab.errors import InputError
from dra_lab.model.gang import GangPlan
from dra_lab.model.gang_replay import GangRegret, GangReplay, GangVerdict
from dra_lab.planner.waiting import command_waits

if TYPE_CHECKING:
    from dra_lab.words.document import Part

_PIN = "If the gang has a level, dra-lab export --pin holds the pods to the planned domain."
_SECONDS = 60.0
"""Seconds for the plan, and for the searches of each scheduler."""

ReplaysWithRegret = Sequence[tuple[GangReplay, GangRegret | None]]
"""The choice of each scheduler and its regret, None for one that is not replayed."""


def explain_gangs(options: argparse.Namespace) -> int:
    """Plan the gangs, replay each scheduler, print what is asked for, and return the exit status."""
    from dra_lab.checks.cluster_checks import check_cluster
    from dra_lab.findings import sort_findings
    from dra_lab.pinning.gang_choices import not_replayed
    from dra_lab.pinning.trace_gang import SCHEDULERS, gang_regret, trace_gang
    from dra_lab.planner.gangs import plan_gangs
    from dra_lab.words.gang_json import gang_outcome

    for option, value in (("node", options.node), ("device", options.device)):
        if value:
            raise InputError(f"--{option} is for one pod; leave it out to explain a gang, or leave out --gang")
    release = release_of(options)
    given = gangs_of(options)
    cluster = given.cluster
    found: list[tuple[GangReplay, GangRegret | None]] = []
    with command_waits() as (show, cancel):
        gangs = [one.gang for one in given.gangs]
        limits: dict[str, Any] = {"release": release, "time_limit": _SECONDS, "cancel": cancel}
        plan = plan_gangs(cluster, gangs, given.workloads, progress=show, **limits)
        for one in given.gangs:
            open_ones = not_replayed(one.gang, one.hierarchy, plan)
            for scheduler in [options.scheduler] if options.scheduler else SCHEDULERS:
                if scheduler in open_ones:
                    found.append((open_ones[scheduler], None))
                    continue
                common = {**limits, "requests": one.requests}
                replay = trace_gang(cluster, one.gang, scheduler, **common)
                found.append((replay, gang_regret(cluster, one.gang, plan, scheduler, **common)))
    outcome = gang_outcome(plan)
    read = cluster_of(options)
    findings = sort_findings(dict.fromkeys((*given.findings, *read.findings, *check_cluster(read), *plan.findings)))
    answer = partial(_json, plan, found, outcome, findings)
    return print_answer(options, answer, _parts(options, plan, found), findings, outcome)


def _parts(options: argparse.Namespace, plan: GangPlan, found: ReplaysWithRegret) -> Iterator[Part]:
    """Yield the answer of the planner, then what each scheduler does, with its steps if they are asked for."""
    from dra_lab.words.document import Sentence, Words
    from dra_lab.words.gang_document import gang_sentence
    from dra_lab.words.gang_replay_document import regret_parts, regret_sentence, replay_parts, replay_sentence

    yield Sentence(gang_sentence(plan))
    for replay, regret in found:
        if options.step and regret is not None:
            yield from replay_parts(replay, options.detail)
        else:
            yield Words(replay_sentence(replay))
        if regret is None:
            pin = _PIN if replay.verdict is GangVerdict.MAYBE else ""
            yield Words(f"dra-lab does not replay {replay.scheduler}. {pin}".rstrip())
        elif options.detail == "all":
            yield from regret_parts(regret)
        else:
            yield Words(regret_sentence(regret))
    if not options.step and options.detail == "short" and any(regret for _, regret in found):
        yield Words("--step shows each step of their choice.")


def _json(plan: GangPlan, found: ReplaysWithRegret, outcome: str, findings: Sequence[Any]) -> dict[str, Any]:
    from dra_lab.words.answer_json import answer_json
    from dra_lab.words.gang_replay_document import regret_json, replay_json
    from dra_lab.words.plan_json import goal_value

    rows = [{**replay_json(replay), "regret": regret and regret_json(regret)} for replay, regret in found]
    return answer_json("GangExplanation", outcome, findings, map(goal_value, plan.goals), schedulers=rows)
