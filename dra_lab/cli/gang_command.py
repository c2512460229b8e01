"""The plan of gangs on the command line: where they fit, how many more, and what each scheduler finds."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dra_lab.cli.gang_options import GangInput, GangsInput, gangs_of
from dra_lab.cli.options import cluster_of, print_answer, release_of
from dra_lab.errors import Cancelled, InputError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.model.headroom import Headroom
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.waiting import command_waits
from dra_lab.words.plan_outcome import DOES_NOT_FIT, plan_outcome

if TYPE_CHECKING:
    from dra_lab.model.gang_verdicts import GangVerdicts
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.pinning.gang_choices import GangChoice
    from dra_lab.words.document import Part

_AFTER_SECONDS = 30.0
_TO_ADD = 10.0
"""Seconds for the nodes to add, which are a remark beside the answer."""

_MOST_TYPES = 4
_UNANSWERED = (PlanStatus.STOPPED, PlanStatus.NOT_CHECKED, PlanStatus.EMPTY)


def run_gangs(options: argparse.Namespace) -> int:
    """Place the gangs, print the answer, and return its exit status.

    Raises InputError for options of one claim or of replicas.
    """
    from dra_lab.checks.cluster_checks import check_cluster
    from dra_lab.findings import sort_findings
    from dra_lab.planner.gangs import plan_gangs
    from dra_lab.words.gang_json import gang_json

    refuse_options(options)
    release = release_of(options)
    given = gangs_of(options)
    with command_waits() as (show, cancel):
        plan = plan_gangs(
            given.cluster,
            given.every,
            release=release,
            time_limit=options.time_limit,
            progress=show,
            cancel=cancel,
        )
        counts = _counts(given, plan, release, options.time_limit, show, cancel)
        choices, unread = _choices(given, plan, release, options.time_limit, cancel)
        verdicts, unknown = queue_verdicts(given, plan, release)
        added = nodes_that_help(given, plan, release, options.time_limit, cancel)
    read = cluster_of(options)
    findings = (*given.findings, *read.findings, *check_cluster(read), *plan.findings, *unread, *unknown)
    findings = sort_findings(dict.fromkeys(findings))
    whole, queues = replace(plan, findings=findings), {one.gang.name: one.queue for one in given.gangs}
    parts = _shown(options.detail, plan, counts, choices, verdicts, added)
    answer = partial(gang_json, whole, counts, choices, queues, verdicts, added)
    return print_answer(options, answer, parts, findings, plan_outcome(plan))


def refuse_options(options: argparse.Namespace) -> None:
    """Raise InputError for an option that has no meaning for gangs."""
    if options.node:
        raise InputError("--node is for one claim; a gang goes to any domain, or with --level host to one node")
    if options.goals:
        raise InputError("--goals is not for gangs, whose goals have a fixed order; leave it out")
    if options.objective != "replicas":
        raise InputError("--objective is for replicas; gangs have an order of goals of their own; leave it out")
    if getattr(options, "measured", None):
        raise InputError("--measured is for the plan of one claim; leave it out")


def queue_verdicts(
    given: GangsInput, plan: Plan, release: KubernetesRelease
) -> tuple[dict[str, GangVerdicts], tuple[Finding, ...]]:
    """Return what quota, Kueue's counts and devices say of each gang with a queue, and queues that are not there."""
    from dra_lab.planner.gangs import gang_verdicts

    found: dict[str, GangVerdicts] = {}
    findings: list[Finding] = []
    for one in given.gangs:
        if not one.queue or plan.status in _UNANSWERED:
            continue
        common: dict[str, Any] = {"plan": plan, "release": release, "requests": one.requests or None}
        try:
            found[one.gang.name] = gang_verdicts(given.cluster, one.gang, queue=one.queue, **common)
        except InputError as error:
            advice = "Only the devices are answered."
            findings.append(Finding("gang-queue-unknown", Severity.WARNING, one.gang.name, error.message, advice))
    return found, tuple(findings)


def nodes_that_help(
    given: GangsInput, plan: Plan, release: KubernetesRelease, time_limit: float | None, cancel: threading.Event
) -> AddedNodes | None:
    """Return the fewest nodes like those of the cluster with which everything fits, None if that is not known."""
    from dra_lab.model.node_type import NodeType
    from dra_lab.planner.gangs.nodes_to_add import nodes_to_add

    if plan_outcome(plan) != DOES_NOT_FIT or cancel.is_set():
        return None
    kinds: dict[Hashable, str] = {}
    for node, slices in given.cluster.slices_by_node.items():
        kinds.setdefault(tuple(sorted((one.spec.driver, len(one.spec.devices or ())) for one in slices)), node)
    types = [NodeType.like(node) for node in [*kinds.values()][:_MOST_TYPES]]
    limit = _TO_ADD if time_limit is None else min(time_limit, _TO_ADD)
    try:
        found = nodes_to_add(given.cluster, given.every, types, release=release, time_limit=limit, cancel=cancel)
    except (InputError, UnsupportedFeature):
        return None
    return found if found.count else None


def _counts(
    given: GangsInput,
    plan: Plan,
    release: KubernetesRelease,
    time_limit: float | None,
    progress: Any,
    cancel: threading.Event,
) -> list[tuple[Headroom, Headroom]]:
    """Return how many of each gang fit now and after the plan, each within the time limit, or 30 s without one."""
    from dra_lab.planner.questions import how_many_more

    found: list[tuple[Headroom, Headroom]] = []
    if plan.status in _UNANSWERED:
        return found
    common: dict[str, Any] = {"release": release, "progress": progress, "cancel": cancel}
    common["time_limit"] = _AFTER_SECONDS if time_limit is None else time_limit
    for one in given.gangs:
        if cancel.is_set():
            break
        now = how_many_more(given.cluster, one.gang, **common)
        after = how_many_more(given.cluster, one.gang, after=plan, **common) if plan.placed else now
        found.append((now, after))
    return found


def _choices(
    given: GangsInput, plan: Plan, release: KubernetesRelease, time_limit: float | None, cancel: threading.Event
) -> tuple[list[Sequence[GangChoice]], tuple[Finding, ...]]:
    """Return what schedulers do with each gang, and what is not known of that."""
    from dra_lab.pinning.gang_choices import gang_choices
    from dra_lab.pinning.pin_budget import budget_of

    found: list[Sequence[GangChoice]] = []
    findings: tuple[Finding, ...] = ()
    if plan.status in _UNANSWERED:
        return found, ()
    with suppress(Cancelled):
        for one in given.gangs:
            budget = budget_of(_AFTER_SECONDS if time_limit is None else time_limit, cancel)
            common: dict[str, Any] = {"requests": one.requests, "budget": budget}
            try:
                found.append(gang_choices(given.cluster, one.gang, one.hierarchy, release, plan, **common))
            except UnsupportedFeature as error:
                finding = Finding("gang-not-replayed", Severity.WARNING, one.gang.name, error.message)
                return found, (finding,)
        findings = tuple(
            _unknown_requests(one) for one, mine in zip(given.gangs, found, strict=False) if _guesses(one, mine)
        )
    return found, findings


def _guesses(one: GangInput, choices: Sequence[GangChoice]) -> bool:
    """Say whether Kueue was replayed with pods of which it is not known what they request of a node."""
    return not any(one.requests.values()) and any(choice.replay.domains for choice in choices)


def _unknown_requests(one: GangInput) -> Finding:
    message = (
        f"Kueue counts CPUs and memory, and {one.source} says none for its pods, so Kueue may put all pods on one node"
    )
    advice = "Write requests for the containers of the Job that you submit, and plan that Job."
    return Finding("gang-requests-unknown", Severity.NOTE, one.gang.name, message, advice)


def _shown(
    detail: str,
    plan: Plan,
    counts: Sequence[tuple[Headroom, Headroom]],
    choices: Sequence[Sequence[GangChoice]],
    verdicts: Mapping[str, GangVerdicts],
    added: AddedNodes | None,
) -> Iterator[Part]:
    from dra_lab.words.document import Sentence, Words
    from dra_lab.words.fleet_document import fleet_sentence
    from dra_lab.words.gang_document import added_words, long_gang_parts, short_gang_parts
    from dra_lab.words.gang_verdicts_document import verdict_parts, verdict_sentence

    if detail == "answer":
        yield Sentence(fleet_sentence(plan))
        yield from (Sentence(verdict_sentence(found)) for found in verdicts.values())
        return
    first, *rest = (long_gang_parts if detail == "all" else short_gang_parts)(plan, counts, choices)
    yield first
    if added is not None:
        yield Words(added_words(added))
    # "Kueue: yes" below says nothing of the quota
    yield from (Words(verdict_sentence(found)) for found in verdicts.values())
    yield from rest
    if detail == "all":
        for found in verdicts.values():
            yield from (part for part in verdict_parts(found) if not isinstance(part, Sentence))
