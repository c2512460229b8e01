"""`dra-lab explain`: why a pod is pending, why a claim fits on a node or not, and kube-scheduler's search there."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dra_lab.cli.claim_options import ClaimOptions, add_claims, add_gangs, is_gang, what_to_try
from dra_lab.cli.options import (
    POD_HELP,
    add_cluster,
    add_planning,
    add_what_if,
    cluster_of,
    print_answer,
    release_of,
    with_cluster_findings,
)
from dra_lab.cli.output import add_output
from dra_lab.cli.plan_questions import plan_asked, plan_one
from dra_lab.cli.workloads import asked_of, asked_pod, may_be_pod
from dra_lab.errors import InputError
from dra_lab.model.gang_verdicts import GangVerdict
from dra_lab.model.plan import Plan
from dra_lab.model.pod_reason import Explanation
from dra_lab.model.workload import Workload
from dra_lab.planner.budget import command_waits
from dra_lab.topology.locality import device_names
from dra_lab.words.document import Sentence
from dra_lab.words.plan_json import DOES_NOT_FIT, FITS, STOPPED

if TYPE_CHECKING:
    from dra_lab.model.gang_verdicts import GangChoice
    from dra_lab.words.document import Part

EXAMPLES = (
    "dra-lab explain dump.json --pod team-a/train-7",
    "dra-lab explain cluster/ --claim claim.yaml --device gpu-0 -o json",
    'dra-lab explain sample:h100-pod --claim sample:h100-pod/eight-pairs --gang 3 --level "leaf switch"',
)


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_cluster(parser)
    add_claims(parser, "default: every pending pod of the cluster; ", "with --gang: number of such gangs (default: 1)")
    text = f"the pod of the cluster that is explained (NAMESPACE/NAME); with --claim, {POD_HELP}"
    parser.add_argument("--pod", default="", metavar="NAME", help=text)
    parser.add_argument("--device", default="", metavar="ID", help="why this device: driver/pool/device, or its name")
    text = "show kube-scheduler's search on the node step by step"
    parser.add_argument("--step", action="store_true", help=text)
    add_planning(parser)
    add_gangs(parser)
    text = "with --gang: the scheduler whose choice is explained (default: the two that are replayed)"
    parser.add_argument("--scheduler", choices=("kueue", "kube-scheduler", "kai", "volcano"), help=text)
    add_what_if(parser)
    add_output(parser, all_of_it="print the whole answer: every request's devices, and every step of the search")


def run(options: argparse.Namespace) -> int:
    """Plan on the node, trace kube-scheduler's search there, and print what is asked for."""
    from dra_lab.gitops.explain import claim_explanation
    from dra_lab.words.explain_claim import claim_json, claim_parts, steps_parts
    from dra_lab.words.plan_json import pod_outcome
    from dra_lab.words.trace_words import Names

    about_pods = "claims" not in options and not (options.step or options.device)
    if about_pods and (options.pod or cluster_of(options).pods):
        from dra_lab.gitops.explain import explain

        reasons = explain(cluster_of(options), pod=options.pod, release=release_of(options), node=options.node)
        return _print_pods(options, reasons)
    claim = _one_claim(options) if "claims" in options or not options.pod else ClaimOptions("")
    options.claim = claim.claim
    if options.claim and is_gang(options):
        return _explain_gangs(options)
    for option, value in (("scheduler", options.scheduler), ("replicas", claim.replicas)):
        if value is not None:
            raise InputError(f"--{option} {value} is for a gang; write --gang SIZE after --claim")
    if options.node:
        cluster_of(options).node_named(options.node)
    status = None if options.step or options.device or not options.claim else _explain_written_pod(options)
    if status is not None:
        return status
    asked = asked_pod(options)
    plan, findings = plan_one(options, asked)
    plain = {"node": options.node, "device": options.device, "search": options.step}
    found = claim_explanation(asked.cluster, plan, **plain)
    parts = claim_parts(found, options.detail, hints=True)
    if options.step and not options.device and found.trace is not None:
        names = Names(device_names(asked.cluster, found.trace.node))
        parts = steps_parts(found.trace, options.detail, names)
    return print_answer(options, partial(claim_json, found), parts, findings, pod_outcome(plan))


def _one_claim(options: argparse.Namespace) -> ClaimOptions:
    """Return the only --claim of a command. Raises InputError without one, or for several."""
    if "claims" not in options:
        from dra_lab.gitops.object_pods import READ_PODS

        pods = "" if options.cluster.startswith("sample:") else f". To explain pending pods, read them too: {READ_PODS}"
        raise InputError(f"--claim is missing; {what_to_try(options.cluster)}{pods}")
    if len(options.claims) > 1:
        names = " and ".join(one.claim for one in options.claims)
        raise InputError(f"one --claim is explained at a time; leave out one of {names}")
    claim: ClaimOptions = options.claims[0]
    return claim


def _explain_written_pod(options: argparse.Namespace) -> int | None:
    """Print why the pod of --claim would stay pending, None if nothing but its devices can keep it pending."""
    if not may_be_pod(options.claim):
        return None
    from dra_lab.gitops.claims_of_file import waiting_pod
    from dra_lab.gitops.pending import blocked_before, reason_of

    waiting = waiting_pod(options.claim, cluster_of(options), release_of(options), pod=options.pod)
    if waiting is None or not blocked_before(waiting, node=options.node):
        return None
    return _print_pods(options, Explanation(waiting.objects.cluster.name, (reason_of(waiting, node=options.node),)))


def _print_pods(options: argparse.Namespace, found: Explanation) -> int:
    from dra_lab.words.explain_document import explanation_json, explanation_parts

    unknown = any(pod.rule == "unknown" for pod in found.pods)
    outcome = DOES_NOT_FIT if any(pod.blocked for pod in found.pods) else STOPPED if unknown else FITS
    answer, findings = partial(explanation_json, found), cluster_of(options).findings
    return print_answer(options, answer, explanation_parts(found), findings, outcome)


_PIN = "If the gang has a level, dra-lab export --pin holds the pods to the planned domain."
_SECONDS = 60.0
"""Seconds for the plan, and for the searches of the schedulers."""

_REPLAYED = ("kueue", "kube-scheduler")


def _explain_gangs(options: argparse.Namespace) -> int:
    """Plan the gangs, replay the schedulers, print what is asked for, and return the exit status."""
    from dra_lab.pinning.gang_choices import gang_choices
    from dra_lab.pinning.pin_budget import budget_of
    from dra_lab.words.plan_json import answer_json, plain_value, plan_outcome

    for option, value in (("node", options.node), ("device", options.device), ("step", options.step)):
        if value:
            raise InputError(f"--{option} is for one pod; leave it out to explain a gang, or leave out --gang")
    given = asked_of(options)
    found: list[tuple[Workload, GangChoice]] = []
    with command_waits() as (show, cancel):
        plan = plan_asked(options, given, show, cancel, time_limit=_SECONDS)
        given = given.planned(plan)
        for one in given.gangs:
            common: dict[str, Any] = {"requests": one.requests, "budget": budget_of(_SECONDS, cancel)}
            choices = gang_choices(given.cluster, one.gang, one.hierarchy, release_of(options), plan, **common)
            by_name = dict(zip(("kube-scheduler", "kueue", "kai", "volcano"), choices, strict=True))
            names = [options.scheduler] if options.scheduler else _REPLAYED
            found += ((one.gang, by_name[name]) for name in names)
    outcome = plan_outcome(plan)
    findings = with_cluster_findings(options, (*given.findings, *plan.findings))
    rows = [{"gang": gang.name, **plain_value(choice)} for gang, choice in found]
    common = {"goals": map(plain_value, plan.goals), "schedulers": rows}
    answer = partial(answer_json, "GangExplanation", outcome, findings, **common)
    return print_answer(options, answer, _gang_parts(options, plan, found), findings, outcome)


def _gang_parts(
    options: argparse.Namespace, plan: Plan, found: Sequence[tuple[Workload, GangChoice]]
) -> Iterator[Part]:
    """Yield the answer of the planner, then what each scheduler does."""
    from dra_lab.words.answer_sentence import answer_sentence
    from dra_lab.words.document import Words
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
