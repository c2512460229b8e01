"""Does a workload fit, how many times, with what alignment: answered by the planner, in one sentence."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dra_lab.errors import CelError, DraLabError, UnsupportedFeature
from dra_lab.findings import Finding, Rule, Severity
from dra_lab.gitops.claims_of_file import WrittenWorkload
from dra_lab.gitops.extended_resources import EXTENDED, unserved_words
from dra_lab.gitops.review import OUTCOME_WORDS, FitState, Reviewed
from dra_lab.index.not_read import not_read
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import UNPLACED
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.node_search import start_findings
from dra_lab.pinning.pod_start import OPEN, never_starts, with_start
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.node_tests import only_nodes
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.planner.questions import how_many_more
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.facts import COUNTING_ENDS, counted

MOST_CLAIMS = 64
"""Claims of pods that share one which are planned on one node; with more it is not decided."""

Answer = tuple[list[Reviewed], list[Finding]]


@dataclass(frozen=True)
class WorkloadFit:
    """Answers questions about workloads on a cluster. `deadline` (`time.monotonic`) bounds all planning together."""

    cluster: Cluster
    release: KubernetesRelease
    deadline: float

    @property
    def left(self) -> float:
        """Return the seconds that are left."""
        return max(0.0, self.deadline - time.monotonic())

    def answers(self, questions: Sequence[WrittenWorkload]) -> Answer:
        """Return the answer to each question, and as Findings what makes it fail; never raises for its content.

        Workloads that share claims are answered together. A workload fits only if kube-scheduler does not give up its
        pods either.
        """
        answered: dict[int, Reviewed] = {}
        findings: list[Finding] = []
        groups = {id(member): group for group in _sharing(questions) for member in group}
        for question in questions:
            if id(question) not in answered:
                group = groups.get(id(question), [question])
                reviewed, more = self._answer(group, sharing=id(question) in groups)
                answered |= {id(member): one for member, one in zip(group, reviewed, strict=True)}
                findings += more
        return [answered[id(question)] for question in questions], findings

    def together(self, questions: Sequence[WrittenWorkload]) -> Plan | None:
        """Return the plan of all workloads at once, None where they cannot be planned as one.

        Workloads that run on every node, share claims, have the same name in several files or have pods with different
        admitted nodes are not planned together. Claims that no pod uses do not count.
        """
        questions = [q for q in questions if q.spec]
        if len(questions) < 2:
            return None
        alone = [q for q in questions if q.per_node or q.named or q.allocated or q.told_apart]
        places = {q.nodes for q in questions}
        if alone or len(places) != 1 or len({q.subject for q in questions}) < len(questions):
            return None
        part, workloads = only_nodes(self.cluster, next(iter(places))), [q.workload for q in questions]
        try:
            return plan_fleet(part, workloads, release=self.release, time_limit=self.left, first_fit=False)
        except DraLabError:
            return None

    def _answer(self, group: Sequence[WrittenWorkload], *, sharing: bool) -> Answer:
        try:
            reviewed, findings = self._planned(group, sharing=sharing)
        except DraLabError as error:
            open_rule = isinstance(error, CelError | UnsupportedFeature)
            rule: Rule = "fit-not-decided" if open_rule else "claim-not-planned"
            reviewed, findings = _refused(group, FitState.NOT_CHECKED, rule, error.message)
        for number, question in enumerate(group):
            if reviewed[number].fit is FitState.FITS and question.claims:
                reviewed[number], more = self._searched(question, reviewed[number])
                findings += more
        if sharing:
            return reviewed, findings
        return _without_plugins(group[0], reviewed[0], findings, self.release)

    def _planned(self, group: Sequence[WrittenWorkload], *, sharing: bool) -> Answer:
        """Return the answer of the planner, for workloads that share claims whether all their pods fit on one node.

        The allocation of a claim with devices of a node ties all its pods to that node (`allocation.nodeSelector`,
        docs/semantics.md 3.12.3).
        """
        question = group[0]
        others = [frozenset(other.nodes) for other in group[1:]]
        nodes = tuple(name for name in question.nodes if all(name in other for other in others))
        claims = _claims_of(group) if sharing else question.claims
        unread = not_read(self.cluster, (c for q in group for c in q.claims.values()), selects_nodes=not nodes)
        if unread is not None and (claims or not nodes):
            return _refused(group, FitState.NOT_CHECKED, "fit-not-decided", unread.message)
        if not nodes:
            return self._nowhere(group, sharing=sharing)
        if not claims:
            sentence = f"Its claims are allocated already; the pod may run on {counted(len(nodes), 'node')}."
            return [Reviewed(question.subject, question.origin, FitState.FITS, sentence, nodes=nodes)], []
        if sharing and len(claims) > MOST_CLAIMS:
            needed = f"they need {len(claims)} or more claims on one node, and dra-lab tries at most {MOST_CLAIMS}"
            return _refused(group, FitState.NOT_DECIDED, "fit-not-decided", f"{_shares(group)}; {needed}")
        part = only_nodes(self.cluster, nodes)
        drawn: Any = next(iter(claims.values())) if len(claims) == 1 else dict(claims)
        plan = plan_pod(part, drawn, release=self.release, time_limit=self.left)
        if sharing:
            return _of_sharing(group, plan, part)
        if plan.status is PlanStatus.INFEASIBLE:
            return _misfit(question, plan, part)
        if not plan.fits:
            return _refused(group, FitState.NOT_DECIDED, "fit-not-decided", answer_sentence(plan, part), plan)
        return self._counted(question, plan, part)

    def _nowhere(self, group: Sequence[WrittenWorkload], *, sharing: bool) -> Answer:
        """Return the answer for pods that no node admits."""
        if not sharing:
            why = group[0].why_nowhere
            return _refused(group, FitState.DOES_NOT_FIT, "no-node-admitted", why)
        tests = "no node fits the node names, selectors, affinities and tolerations of all these pods"
        fit = FitState.DOES_NOT_FIT if _is_local(self.cluster) else FitState.NOT_DECIDED
        return _refused(group, fit, "no-node-admitted", f"{_shares(group)}, and {tests}", times=0)

    def _counted(self, question: WrittenWorkload, plan: Plan, part: Cluster) -> Answer:
        """Return the answer for a plan that fits: how many times, on how many nodes, or once for all pods."""
        sentence = answer_sentence(plan, part)
        if question.per_node:
            return _per_node(question, plan, sentence, sorted(set(part.node_names) - set(plan.fitting_nodes)))
        if question.named:
            names = ", ".join(sorted(question.named))
            claims = f"The claims {names} are" if len(question.named) > 1 else f"The claim {names} is"
            pods = f" and shared by {question.replicas} pods" if question.replicas > 1 else ""
            sentence = f"{claims} allocated once{pods}. {sentence}"
            return [_reviewed(question, FitState.FITS, sentence, plan, None if question.wanted > 1 else 1)], []
        more = how_many_more(part, question.workload, release=self.release, time_limit=self.left)
        count, capped, wanted = more.count.value, more.count.bound is None, question.wanted
        times = counted(count, "time") if more.proven else f"at least {counted(count, 'time')}"
        ends = f" ({COUNTING_ENDS})" if capped else ""
        sentence = f"Fits {times}{ends}, {wanted} wanted. {sentence}"
        if count >= wanted:
            fits = _reviewed(question, FitState.FITS, sentence, plan, count, proven=more.proven)
            return [replace(fits, capped=capped)], []
        if not more.proven:
            open_fit, findings = _refused([question], FitState.NOT_DECIDED, "fit-not-decided", sentence, plan, count)
            return [replace(open_fit[0], capped=capped)], findings
        message = f"{wanted} replicas are wanted, but only {count} fit"
        found = Finding("replicas-do-not-fit", Severity.ERROR, question.subject, message, "", question.origin)
        return [_reviewed(question, FitState.DOES_NOT_FIT, sentence, plan, count, proven=True)], [found]

    def _searched(self, question: WrittenWorkload, reviewed: Reviewed) -> tuple[Reviewed, tuple[Finding, ...]]:
        """Return the answer after kube-scheduler's search for its claims as written, on every admitted node.

        A pod that no node gives devices, or that kube-scheduler gives up, fits nowhere (`pod_start.start_of`). The
        answer is open if a search did not end.
        """
        part = only_nodes(self.cluster, question.nodes)
        claims, left = tuple(question.claims.values()), self.left
        raw = start_findings(claims, part, self.release, "", written=True, time_limit=left)
        findings = [
            replace(
                f,
                message=f"on {f.subject} {f.message}" if f.subject else f.message,
                subject=question.subject,
                origin=question.origin,
            )
            for f in raw
        ]
        plan = with_start(reviewed.plan, raw) if reviewed.plan is not None else None
        changed = replace(reviewed, times=None, proven=False, plan=plan)
        against = never_starts(findings)
        if against is not None:
            sentence = f"Does not start: {against.message}."
            return replace(changed, fit=FitState.DOES_NOT_FIT, sentence=sentence), (against,)
        unknown = next((f for f in findings if f.rule in OPEN), None)
        if unknown is not None:
            message = f"an allocation exists, but whether kube-scheduler finds one is not known: {unknown.message}"
            found = Finding("fit-not-decided", Severity.WARNING, question.subject, message, "", question.origin)
            return replace(changed, fit=FitState.NOT_DECIDED, sentence=f"Not decided: {message}"), (found,)
        return reviewed, tuple(findings)


def _without_plugins(
    question: WrittenWorkload, reviewed: Reviewed, findings: list[Finding], release: KubernetesRelease
) -> Answer:
    """Return the answer, not checked if device plugins serve the pod on other nodes, or a resource that it requests."""
    if reviewed.fit is FitState.DOES_NOT_FIT and question.without:
        nodes = ", ".join(sorted(question.without)[:3])
        sentence = f"Not checked: device plugins on other nodes ({nodes}) serve it too, and dra-lab checks only DRA."
        reviewed = replace(reviewed, fit=FitState.NOT_CHECKED, sentence=sentence, times=None, proven=False)
        return [reviewed], []
    if question.unserved and reviewed.fit is FitState.FITS:
        words = unserved_words(question.unserved, release)
        sentence = f"Not checked: {words} Its claims alone: {reviewed.sentence}"
        reviewed = replace(reviewed, fit=FitState.NOT_CHECKED, sentence=sentence)
    return [reviewed], findings


def _per_node(question: WrittenWorkload, plan: Plan, sentence: str, missing: Sequence[str]) -> Answer:
    nodes = plan.fitting_nodes
    total = len(nodes) + len(missing)
    sentence = f"One pod per node: fits on {len(nodes)} of {total} admitted nodes. {sentence}"
    reviewed = [_reviewed(question, FitState.FITS, sentence, plan, len(nodes), proven=True)]
    if not missing:
        return reviewed, []
    some = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    message = f"its pod does not fit on {some}: it waits there forever"
    advice = "Exclude these nodes with a node selector or affinity."
    found = Finding("daemonset-not-everywhere", Severity.WARNING, question.subject, message, advice, question.origin)
    return reviewed, [found]


def _misfit(question: WrittenWorkload, plan: Plan, cluster: Cluster) -> Answer:
    reason = plan.shortfalls[0] if plan.shortfalls else None
    if reason is not None and reason.rule == "class" and EXTENDED not in question.claims:
        # reported once, at the line of the class; a resource of a container has no such line
        sentence = f"Does not fit. There is no device of the class that request {reason.subject} names."
        return [_reviewed(question, FitState.DOES_NOT_FIT, sentence, plan, 0, proven=True)], []
    message = reason.message if reason else "no node can serve it"
    advice = reason.advice if reason else ""
    found = Finding("does-not-fit", Severity.ERROR, question.subject, message, advice, question.origin)
    sentence = answer_sentence(plan, cluster)
    return [_reviewed(question, FitState.DOES_NOT_FIT, sentence, plan, 0, proven=True)], [found]


def _refused(
    group: Sequence[WrittenWorkload],
    fit: FitState,
    rule: Rule,
    message: str,
    plan: Plan | None = None,
    times: int | None = None,
) -> Answer:
    """Return the same answer for all workloads of a group, and one finding."""
    severity = Severity.WARNING if fit.is_open else Severity.ERROR
    found = Finding(rule, severity, ", ".join(q.subject for q in group), message, "", group[0].origin)
    sentence = f"{OUTCOME_WORDS[fit].capitalize()}: {message}"
    misfit = fit is FitState.DOES_NOT_FIT and times is not None
    return [_reviewed(question, fit, sentence, plan, times, proven=misfit) for question in group], [found]


def _reviewed(
    question: WrittenWorkload,
    fit: FitState,
    sentence: str,
    plan: Plan | None,
    times: int | None,
    *,
    proven: bool = False,
) -> Reviewed:
    nodes = plan.fitting_nodes if plan is not None else ()
    return Reviewed(question.subject, question.origin, fit, sentence, question.wanted, times, proven, nodes, plan)


# ---------------------------------------------------------------- workloads that share claims


def _sharing(questions: Sequence[WrittenWorkload]) -> list[list[WrittenWorkload]]:
    """Return workloads that a shared ResourceClaim connects with one another or with their own claims.

    A claim is one by its namespace and name. Pods that have nothing but shared claims are no group by themselves.
    """
    groups: list[tuple[set[tuple[str, str]], list[WrittenWorkload]]] = []
    for question in (question for question in questions if question.named):
        claims, members = set(question.named.values()), [question]
        for other in [group for group in groups if group[0] & claims]:
            groups.remove(other)
            claims, members = claims | other[0], [*other[1], *members]
        groups.append((claims, members))
    return [members for _, members in groups if len(members) > 1 or members[0].wanted > 1]


def _of_sharing(group: Sequence[WrittenWorkload], plan: Plan, cluster: Cluster) -> Answer:
    """Return the answer of a plan for all pods of workloads that share claims, on one node."""
    sentence = answer_sentence(plan, cluster)
    if plan.fits:
        words = f"{_shares(group)}, which is allocated once, and all their pods fit on one node. {sentence}"
        reviewed = [_reviewed(question, FitState.FITS, words, plan, None) for question in group]
        return reviewed, list(_elsewhere(group, plan, cluster))
    if plan.status is not PlanStatus.INFEASIBLE:
        return _refused(group, FitState.NOT_DECIDED, "fit-not-decided", f"{_shares(group)}. {sentence}", plan)
    reason = plan.shortfalls[0].message if plan.shortfalls else "no node can serve them"
    message = f"{_shares(group)}, and no node has the devices for all their pods: {reason}"
    if _is_local(cluster):
        return _refused(group, FitState.DOES_NOT_FIT, "tied-pods-do-not-fit", message, plan, 0)
    more = "they may fit on several nodes, because several nodes can use some devices, but dra-lab does not try that"
    return _refused(group, FitState.NOT_DECIDED, "fit-not-decided", f"{message}; {more}", plan)


def _claims_of(group: Sequence[WrittenWorkload]) -> Mapping[str, ClaimSketch]:
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


def _shares(group: Sequence[WrittenWorkload]) -> str:
    names = sorted({name for question in group for _, name in question.named.values()})
    claims = f"the claim{'s' if len(names) > 1 else ''} {', '.join(names)}"
    if len(group) > 1:
        return f"{', '.join(question.subject for question in group)} share {claims}"
    return f"The {group[0].replicas} pods of {group[0].subject} share {claims}"


def _elsewhere(group: Sequence[WrittenWorkload], plan: Plan, cluster: Cluster) -> Iterator[Finding]:
    """Yield a warning for each DaemonSet, whose pods on other nodes cannot use the claim."""
    pools = {placement.device[:2] for placement in plan.placements}
    own = [published.spec for published in cluster.slices if published.spec.node_name]
    local = any((spec.driver, spec.pool.name) in pools for spec in own)
    for question in group:
        if question.per_node and local and len(question.nodes) > 1:
            message = "its pods share a claim whose devices are on one node, so they wait forever on all other nodes"
            advice = "Use a ResourceClaimTemplate, so that each pod has its own claim."
            place = question.origin
            yield Finding("daemonset-not-everywhere", Severity.WARNING, question.subject, message, advice, place)


# ---------------------------------------------------------------- all workloads at once


def with_together(reviewed: Sequence[Reviewed], plan: Plan) -> list[Reviewed]:
    """Return the answers, open for each workload that fits alone if the plan of all at once leaves that undecided."""
    if short_of(plan):
        return list(reviewed)
    short = {w.name for w in plan.workloads if plan.placed.get(w.name, 0) < w.replicas}
    return [
        replace(
            item, fit=FitState.NOT_DECIDED, sentence=f"Alone: {item.sentence} It is not known whether all fit at once."
        )
        if item.subject in short and item.fit is FitState.FITS
        else item
        for item in reviewed
    ]


def short_of(plan: Plan | None) -> frozenset[str]:
    """Return the workloads that are short of replicas in a plan of all at once, if it is proven that not all fit."""
    if plan is None or not any(together_findings(plan)):
        return frozenset()
    return frozenset(w.name for w in plan.workloads if plan.placed.get(w.name, 0) < w.replicas)


def together_findings(plan: Plan) -> Iterator[Finding]:
    """Yield an error where the workloads fit alone and not all at once."""
    short = [w for w in plan.workloads if plan.placed.get(w.name, 0) < w.replicas]
    unplaced = plan.goal(UNPLACED)
    if short and (plan.proven or (unplaced is not None and bool(unplaced.bound))):
        placed = ", ".join(f"{plan.placed.get(w.name, 0)} of {w.replicas} {w.name}" for w in short)
        message = f"the workloads do not all fit at once: {placed}"
        yield Finding("workloads-do-not-fit-together", Severity.ERROR, "", message)
