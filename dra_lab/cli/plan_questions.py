"""The plan of a command, and the questions after it: how many more fit, which nodes help, what schedulers do."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace as changed

from dra_lab.cli.options import node_of, release_of, setting_of, with_cluster_findings
from dra_lab.cli.workloads import Asked
from dra_lab.errors import Cancelled, DraLabError, InputError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.sketch import claims_of
from dra_lab.pinning.pod_start import searched, start_of
from dra_lab.planner.budget import command_waits
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, plan_outcome

if TYPE_CHECKING:
    from dra_lab.model.gang_verdicts import GangChoice
    from dra_lab.model.node_type import AddedNodes
    from dra_lab.words.plan_document import AfterPlan

_SECONDS = 30.0
"""Seconds for each question after the plan, where no time limit is given."""

_SECONDS_ALONE = 60.0
"""Seconds for the plan of one pod, where no time limit is given."""

_TO_ADD = 10.0
"""Seconds for the nodes to add, which are a remark beside the answer."""

_MOST_TYPES = 4
_UNANSWERED = (PlanStatus.STOPPED, PlanStatus.NOT_CHECKED, PlanStatus.EMPTY)


def after_plan(
    options: argparse.Namespace, asked: Asked, plan: Plan, show: Any, cancel: threading.Event
) -> tuple[AfterPlan, list[Finding]]:
    """Return what is known after a plan, and findings: each question has the time limit, or 30 s without one.

    Nothing is asked once cancelled; a question that is cancelled while it is looked at has its bounds. The largest job
    and the stranded devices are asked for if the whole answer is printed.
    """
    from dra_lab.planner.plan_pod import plan_pod
    from dra_lab.planner.questions import how_many_more, largest_job, stranded
    from dra_lab.sketch.kind_counts import unread_words
    from dra_lab.words.plan_document import AfterPlan

    cluster, given = asked.cluster, getattr(options, "time_limit", None)
    common: dict[str, Any] = {"release": release_of(options), "progress": show, "cancel": cancel}
    common["time_limit"] = _SECONDS if given is None else given
    known, findings = AfterPlan(unread="" if plan.node_classes else unread_words(cluster)), list[Finding]()
    if plan.status in _UNANSWERED or cancel.is_set() or plan.allocated_claims:
        return known, findings
    gangs = {gang.name for gang in plan.gangs}
    more, total = {}, {}
    for workload in plan.workloads if plan.fits or gangs else ():
        if cancel.is_set():
            break
        more[workload.name] = how_many_more(cluster, workload, after=plan, **common)
        if workload.name in gangs:
            now = how_many_more(cluster, workload, **common) if plan.pods else more[workload.name]
            total[workload.name] = now
    known = changed(known, more=more, total=total)
    if (options.format == "json" or options.detail == "all") and not gangs:
        claims = [workload.claims[0] for workload in plan.workloads if workload.claims]
        jobs = tuple(largest_job(cluster, claim, after=plan, **common) for claim in claims)
        known = changed(known, jobs=jobs, stranded=stranded(cluster, claims, after=plan, **common))
    if not plan.fits and plan.replicas > 1:
        own: dict[str, Any] = {"release": common["release"], "time_limit": 10.0}
        single = [workload for workload in plan.workloads if not workload.is_gang]
        known = changed(known, alone={one.name: plan_pod(cluster, one, **own) for one in single})
    known = changed(known, added=_nodes_that_help(options, cluster, plan, common))
    return _of_gangs(known, asked, plan, common, findings) if gangs else known, findings


def _nodes_that_help(
    options: argparse.Namespace, cluster: Cluster, plan: Plan, common: Mapping[str, Any]
) -> AddedNodes | None:
    """Return the fewest nodes like those of the cluster with which everything fits, None if that is not known."""
    from dra_lab.model.node_type import NodeType
    from dra_lab.planner.questions import nodes_to_add

    outcome, exports = plan_outcome(plan), getattr(options, "export_autoscaler", None) is not None
    of_gangs = plan.gangs and not plan.fits and outcome == DOES_NOT_FIT
    if not (of_gangs or (exports and outcome != FITS)) or common["cancel"].is_set():
        return None
    kinds: dict[Hashable, str] = {}
    for node, slices in cluster.slices_by_node.items():
        kinds.setdefault(tuple(sorted((one.spec.driver, len(one.spec.devices or ())) for one in slices)), node)
    types = [NodeType.like(node) for node in [*kinds.values()][:_MOST_TYPES]]
    limit = common["time_limit"] if exports else min(common["time_limit"], _TO_ADD)
    with suppress(InputError, UnsupportedFeature):
        own: dict[str, Any] = {"release": common["release"], "cancel": common["cancel"], "time_limit": limit}
        found = nodes_to_add(cluster, plan.workloads, types, **own)
        return found if found.count else None
    return None


def _of_gangs(
    known: AfterPlan, asked: Asked, plan: Plan, common: Mapping[str, Any], findings: list[Finding]
) -> AfterPlan:
    """Return what is known with the queues of gangs, and with what schedulers do; add to the findings."""
    from dra_lab.pinning.gang_choices import gang_choices
    from dra_lab.pinning.pin_budget import budget_of
    from dra_lab.planner.gangs import gang_verdicts

    cluster, release = asked.cluster, common["release"]
    choices: dict[str, tuple[GangChoice, ...]] = {}
    verdicts = {}
    with suppress(Cancelled):
        for one in asked.gangs:
            try:
                budget = budget_of(common["time_limit"], common["cancel"])
                given: dict[str, Any] = {"requests": one.requests, "budget": budget}
                choices[one.gang.name] = tuple(gang_choices(cluster, one.gang, one.hierarchy, release, plan, **given))
            except UnsupportedFeature as error:
                findings.append(Finding("gang-not-replayed", Severity.WARNING, one.gang.name, error.message))
                break
    for one in (one for one in asked.gangs if one.queue):
        name, given = one.gang.name, {"release": release, "requests": one.requests or None}
        try:
            verdicts[name] = gang_verdicts(cluster, one.gang, plan, queue=one.queue, **given)
        except InputError as error:
            advice = "Only the devices are answered."
            findings.append(Finding("gang-queue-unknown", Severity.WARNING, name, error.message, advice))
    for one in asked.gangs:
        # Kueue was replayed with pods of which it is not known what they request of a node
        if not any(one.requests.values()) and any(c.replay.domains for c in choices.get(one.gang.name, ())):
            message = (
                f"Kueue counts CPUs and memory, and {one.source} says none for its pods, so Kueue may put all pods "
                "on one node"
            )
            advice = "Write requests for the containers of the Job that you submit, and plan that Job."
            findings.append(Finding("gang-requests-unknown", Severity.NOTE, one.gang.name, message, advice))
    queues = {one.gang.name: one.queue for one in asked.gangs}
    return changed(known, choices=choices, verdicts=verdicts, queues=queues)


# --------------------------------------------------------------------- the plan itself


def plan_asked(options: argparse.Namespace, asked: Asked, show: Any, cancel: threading.Event, **more: Any) -> Plan:
    """Return the plan of what a command asks for; `more` are arguments of `plan_workloads` for workloads."""
    from dra_lab.planner.plan_pod import plan_pod
    from dra_lab.planner.plan_workloads import plan_workloads

    limit: dict[str, Any] = {"time_limit": getattr(options, "time_limit", None)}
    common: dict[str, Any] = {"release": release_of(options), "progress": show, "cancel": cancel}
    if not asked.gangs:
        common["goals"] = setting_of(options, "goals")
    if asked.alone is not None:
        limit = {"time_limit": limit["time_limit"] or _SECONDS_ALONE}
        return plan_pod(asked.cluster, asked.alone, node=node_of(options), **common, **limit)
    if "objective" in options:
        common["objective"] = options.objective
    return plan_workloads(asked.cluster, asked.every, node=options.node, **{**common, **limit, **more})


def plan_one(options: argparse.Namespace, asked: Asked, *, search: bool = True) -> tuple[Plan, tuple[Finding, ...]]:
    """Return the plan of one pod with all findings; see `started`."""
    with command_waits() as (show, cancel):
        return started(options, asked, plan_asked(options, asked, show, cancel), cancel, search=search)


def started(
    options: argparse.Namespace, asked: Asked, plan: Plan, cancel: threading.Event, *, search: bool = True
) -> tuple[Plan, tuple[Finding, ...]]:
    """Return the plan after kube-scheduler's search for a pod of each placed workload, on every node that it may use.

    The findings are those of the plan, of what was read, of the searches and about the cluster. Without `search`, one
    pod is not searched.
    """
    found = [*asked.findings, *plan.findings]
    if asked.alone is None and (not plan.pods or plan.gangs):
        return plan, with_cluster_findings(options, found)
    found += _searches(options, asked, plan, cancel, search=search)
    findings = with_cluster_findings(options, found)
    if not (plan.fits and search):
        return plan, findings
    if plan.node_classes:
        return searched(plan, findings)
    return replace(plan, start=start_of(findings)), findings


def _searches(
    options: argparse.Namespace, asked: Asked, plan: Plan, cancel: threading.Event, *, search: bool
) -> Iterator[Finding]:
    """Yield what kube-scheduler's searches for the pods do, and what is wrong with the manifest of a drawing.

    A claim of a file is searched as the file has it, a drawing as its manifest will be.
    """
    from dra_lab.checks.document_checks import check_text
    from dra_lab.exports.manifests import manifest_yaml
    from dra_lab.pinning.node_search import start_findings

    release, seconds = release_of(options), getattr(options, "time_limit", None)
    if asked.pod is not None:
        yield from asked.pod.search(plan, time_limit=seconds or _SECONDS_ALONE, cancel=cancel)
        return
    pods = [(one.name, one.claims) for one in plan.workloads if plan.placed[one.name] and not one.is_gang]
    fits = True
    common: dict[str, Any] = {"time_limit": _SECONDS if seconds is None else seconds, "cancel": cancel}
    # cancelled, or what no manifest can express: the plan says so
    with suppress(DraLabError if asked.drawing is not None else Cancelled):
        if asked.drawing is not None:
            pods, fits = [(asked.drawing.name, claims_of(asked.drawing))], plan.fits
            yield from check_text(manifest_yaml(asked.drawing, asked.cluster, release).text, "the manifest", release)
            common["time_limit"] = _SECONDS
        for name, claims in pods if search else ():
            written = name in asked.written
            yield from start_findings(claims, asked.cluster, release, name, written=written, fits=fits, **common)
