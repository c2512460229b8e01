"""Workloads that share a ResourceClaim by name: it is allocated once, so that they are answered together."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dra_lab.errors import Cancelled, CelError, DraLabError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.review import OUTCOME_WORDS, FitState, Reviewed
from dra_lab.gitops.workload_fit import Question, not_given_up
from dra_lab.index.not_read import not_read
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.node_filter import only_nodes
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.words.answer_sentence import answer_sentence

MOST_CLAIMS = 64
"""Claims of tied pods that are planned on one node; with more it is not decided."""

Answer = tuple[list[Reviewed], list[Finding]]


def tied_groups(questions: Sequence[Question]) -> list[list[Question]]:
    """Return workloads that a shared ResourceClaim ties to one another, and those that it ties to their own claims.

    A claim is one by its namespace and name. Pods that have nothing but shared claims are no group by themselves.
    """
    groups: list[tuple[set[tuple[str, str]], list[Question]]] = []
    for question in (question for question in questions if question.named):
        claims, members = set(question.named.values()), [question]
        for other in [group for group in groups if group[0] & claims]:
            groups.remove(other)
            claims, members = claims | other[0], [*other[1], *members]
        groups.append((claims, members))
    return [members for _, members in groups if len(members) > 1 or members[0].wanted > 1]


def answer_tied(
    group: Sequence[Question],
    cluster: Cluster,
    release: KubernetesRelease,
    seconds: float,
    cancel: threading.Event | None = None,
) -> Answer:
    """Return what the planner says to workloads that share claims: whether all their pods fit on one node.

    The allocation of a claim with devices of a node ties all its pods to that node (`allocation.nodeSelector`,
    docs/semantics.md 3.12.3). Where its devices may be seen from several nodes, that they do not all fit on one
    proves nothing. Raises Cancelled once `cancel` is set.
    """
    end = time.monotonic() + seconds
    nodes = [name for name in cluster.node_names if all(name in q.nodes(cluster) for q in group)]
    unread = not_read(cluster, (c for q in group for c in q.claims.values()), selects_nodes=not nodes)
    if unread is not None:
        return _all(group, FitState.NOT_CHECKED, "fit-not-decided", unread.message)
    if not nodes:
        message = (
            f"{_shares(group)}, and no node fits the node names, selectors, affinities and tolerations of "
            "all these pods"
        )
        return _all(
            group, FitState.DOES_NOT_FIT if _is_local(cluster) else FitState.NOT_DECIDED, "no-node-admitted", message
        )
    claims = _claims(group)
    if len(claims) > MOST_CLAIMS:
        message = (
            f"{_shares(group)}; they need {len(claims)} or more claims on one node, and dra-lab tries at "
            f"most {MOST_CLAIMS}"
        )
        return _all(group, FitState.NOT_DECIDED, "fit-not-decided", message)
    part = only_nodes(cluster, nodes)
    try:
        drawn: Any = next(iter(claims.values())) if len(claims) == 1 else claims
        plan = plan_pod(part, drawn, release=release, time_limit=seconds, cancel=cancel)
    except Cancelled:
        raise
    except (CelError, UnsupportedFeature) as error:
        return _all(group, FitState.NOT_CHECKED, "fit-not-decided", error.message)
    except DraLabError as error:
        return _all(group, FitState.NOT_CHECKED, "claim-not-planned", error.message)
    if cancel is not None and cancel.is_set():
        raise Cancelled(f"cancelled while {group[0].subject} was planned")
    reviewed, findings = _answer_of(group, plan, part)
    if plan.fits:
        for number, question in enumerate(group):
            left = end - time.monotonic()
            reviewed[number], more = not_given_up(question, reviewed[number], cluster, release, left, cancel)
            findings += more
    return reviewed, findings


def _answer_of(group: Sequence[Question], plan: Plan, cluster: Cluster) -> Answer:
    sentence = answer_sentence(plan, cluster)
    if plan.fits:
        words = f"{_shares(group)}, which is allocated once, and all their pods fit on one node. {sentence}"
        reviewed = [_reviewed(question, FitState.FITS, words, plan) for question in group]
        return reviewed, list(_elsewhere(group, plan, cluster))
    if plan.status is not PlanStatus.INFEASIBLE:
        return _all(group, FitState.NOT_DECIDED, "fit-not-decided", f"{_shares(group)}. {sentence}", plan)
    reason = plan.shortfalls[0].message if plan.shortfalls else "no node can serve them"
    message = f"{_shares(group)}, and no node has the devices for all their pods: {reason}"
    if _is_local(cluster):
        return _all(group, FitState.DOES_NOT_FIT, "tied-pods-do-not-fit", message, plan)
    message += (
        "; they may fit on several nodes, because several nodes can use some devices, but dra-lab does not try that"
    )
    return _all(group, FitState.NOT_DECIDED, "fit-not-decided", message, plan)


def _claims(group: Sequence[Question]) -> Mapping[str, ClaimSketch]:
    """Return every claim that the pods need: a shared one once, those from templates once a pod."""
    shared: dict[tuple[str, str], ClaimSketch] = {}
    for question in group:
        for name, claim in question.named.items():
            shared.setdefault(claim, question.claims[name])
    found = {f"{namespace}.{name}".lstrip("."): sketch for (namespace, name), sketch in shared.items()}
    for at, question in enumerate(group):
        own = {name: sketch for name, sketch in question.claims.items() if name not in question.named}
        for number in range(min(question.wanted, MOST_CLAIMS + 1) if own else 0):
            pod = f"{at}-{question.subject.partition('/')[2]}-{number}"
            found |= {f"{pod}.{name}": sketch for name, sketch in own.items()}
    return found


def _is_local(cluster: Cluster) -> bool:
    """Return whether every device belongs to one node only, so that all pods that share one run on that node."""
    return not any(published.spec.devices and published.spec.node_name is None for published in cluster.slices)


def _shares(group: Sequence[Question]) -> str:
    names = sorted({name for question in group for _, name in question.named.values()})
    claims = f"the claim{'s' if len(names) > 1 else ''} {', '.join(names)}"
    if len(group) > 1:
        return f"{', '.join(question.subject for question in group)} share {claims}"
    return f"The {group[0].replicas} pods of {group[0].subject} share {claims}"


def _elsewhere(group: Sequence[Question], plan: Plan, cluster: Cluster) -> Iterator[Finding]:
    """Yield a warning for each DaemonSet, whose pods on other nodes cannot use the claim."""
    pools = {placement.device[:2] for placement in plan.placements}
    own = [published.spec for published in cluster.slices if published.spec.node_name]
    local = any((spec.driver, spec.pool.name) in pools for spec in own)
    for question in group:
        if question.per_node and local and len(question.nodes(cluster)) > 1:
            message = "its pods share a claim whose devices are on one node, so they wait forever on all other nodes"
            advice = "Use a ResourceClaimTemplate, so that each pod has its own claim."
            place = question.origin
            yield Finding("daemonset-not-everywhere", Severity.WARNING, question.subject, message, advice, place)


def _all(group: Sequence[Question], fit: FitState, rule: str, message: str, plan: Plan | None = None) -> Answer:
    """Return the same answer for all workloads of a group, and one finding."""
    sentence = f"{OUTCOME_WORDS[fit].capitalize()}: {message}"
    severity = Severity.WARNING if fit.is_open else Severity.ERROR
    subject = ", ".join(question.subject for question in group)
    found = Finding(rule, severity, subject, message, "", group[0].origin)
    return [_reviewed(question, fit, sentence, plan) for question in group], [found]


def _reviewed(question: Question, fit: FitState, sentence: str, plan: Plan | None) -> Reviewed:
    nodes = plan.fitting_nodes if plan is not None else ()
    times = 0 if fit is FitState.DOES_NOT_FIT else None
    proven = fit is FitState.DOES_NOT_FIT
    return Reviewed(question.subject, question.origin, fit, sentence, question.wanted, times, proven, nodes, plan)
