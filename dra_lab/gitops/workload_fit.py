"""Does a workload fit, how many times, with what alignment: answered by the planner, in one sentence."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dra_lab.errors import Cancelled, CelError, DraLabError, UnsupportedFeature
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.extended_resources import EXTENDED, unserved_words
from dra_lab.gitops.review import OUTCOME_WORDS, FitState, Reviewed
from dra_lab.index.not_read import not_read
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import UNPLACED
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.pinning.node_search import start_findings
from dra_lab.pinning.pod_start import OPEN, never_starts, with_start
from dra_lab.planner.allowed_nodes import allowed_nodes
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.node_filter import admitted_nodes, only_nodes
from dra_lab.planner.node_tests import node_tests, why_no_node
from dra_lab.planner.plan_pod import plan_pod
from dra_lab.planner.pod_claims import PodClaims
from dra_lab.planner.questions import how_many_more
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.facts import COUNTING_ENDS, counted


@dataclass(frozen=True)
class Question:
    """One workload to be planned: the claims of a pod by their name in the pod, how many pods, where they may go.

    `named` are the claims that all pods share (`resourceClaimName`), each with the namespace and name of the
    ResourceClaim: they are allocated once. `spec` is the pod's spec as written, empty for a claim that no pod uses.
    `without` are nodes on which a device plugin serves it. `unserved` are extended resources that no DeviceClass
    serves. `allocated` are claims of the pod that the cluster has, with the devices that they hold. `copies` are the
    places of the same question in other files, and `told_apart` says that another workload has the same name.
    """

    subject: str
    origin: Origin
    claims: Mapping[str, ClaimSketch]
    replicas: int = 1
    named: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    per_node: bool = False
    without: frozenset[str] = frozenset()
    unserved: tuple[str, ...] = ()
    allocated: tuple[ResourceClaim, ...] = ()
    copies: tuple[Origin, ...] = ()
    told_apart: bool = False

    @property
    def places(self) -> tuple[Origin, ...]:
        """Return every place of the question."""
        return self.origin, *self.copies

    @property
    def shared(self) -> frozenset[str]:
        """Return the names in the pod of the claims that all pods share."""
        return frozenset(self.named)

    def nodes(self, cluster: Cluster) -> tuple[str, ...]:
        """Return the nodes on which its devices would be claimed."""
        admitted = admitted_nodes(cluster, self.spec, per_node=self.per_node)
        allowed = PodClaims(self.claims, allocated=self.allocated, nodes=frozenset(admitted)).allowed(cluster)
        return tuple(n for n in admitted if n not in self.without and (allowed is None or n in allowed))

    def why_nowhere(self, cluster: Cluster, release: KubernetesRelease) -> str:
        """Return why no node admits it."""
        why = why_no_node(cluster, [*node_tests(cluster, self.spec, per_node=self.per_node)])
        return why or allowed_nodes(cluster, self.spec, self.allocated, "", release).why or "no node admits the pod"

    @property
    def wanted(self) -> int:
        """Return how many times its devices are needed: once where every claim is shared."""
        return 1 if len(self.shared) == len(self.claims) else self.replicas

    @property
    def workload(self) -> Workload:
        """Return it as the planner's workload."""
        return Workload(self.subject, tuple(self.claims.values()), replicas=self.wanted)


def answer_question(
    question: Question,
    cluster: Cluster,
    release: KubernetesRelease,
    seconds: float,
    cancel: threading.Event | None = None,
) -> tuple[Reviewed, tuple[Finding, ...]]:
    """Return what the planner says to a workload, and as Findings what makes it fail; never raises for its content.

    A workload fits only if kube-scheduler does not give up its pods either. Raises Cancelled once `cancel` is set.
    """
    end = time.monotonic() + seconds
    reviewed, findings = _planned(question, cluster, release, seconds, cancel)
    if reviewed.fit is FitState.FITS and question.claims:
        reviewed, more = not_given_up(question, reviewed, cluster, release, end - time.monotonic(), cancel)
        findings += more
    if reviewed.fit is FitState.DOES_NOT_FIT and question.without:
        reviewed, findings = _not_here(question, reviewed), ()
    return _with_unserved(question, reviewed, release), findings


def not_given_up(
    question: Question,
    reviewed: Reviewed,
    cluster: Cluster,
    release: KubernetesRelease,
    seconds: float,
    cancel: threading.Event | None = None,
) -> tuple[Reviewed, tuple[Finding, ...]]:
    """Return the answer after kube-scheduler's search for its claims as written, on every admitted node.

    A pod that no node gives devices, or that kube-scheduler gives up, fits nowhere (`sentences.start_of`). The answer
    is open if a search did not end.
    """
    part, claims = only_nodes(cluster, question.nodes(cluster)), tuple(question.claims.values())
    raw = start_findings(claims, part, release, "", written=True, time_limit=max(seconds, 0.0), cancel=cancel)
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
    against = never_starts(findings)
    if against is not None:
        sentence = f"Does not start: {against.message}."
        refused = replace(reviewed, fit=FitState.DOES_NOT_FIT, sentence=sentence, times=None, proven=False, plan=plan)
        return refused, (against,)
    unknown = next((f for f in findings if f.rule in OPEN), None)
    if unknown is not None:
        message = f"an allocation exists, but whether kube-scheduler finds one is not known: {unknown.message}"
        found = Finding("fit-not-decided", Severity.WARNING, question.subject, message, "", question.origin)
        sentence = f"Not decided: {message}"
        return replace(reviewed, fit=FitState.NOT_DECIDED, sentence=sentence, times=None, proven=False, plan=plan), (
            found,
        )
    return reviewed, tuple(findings)


def _not_here(question: Question, reviewed: Reviewed) -> Reviewed:
    """Return the answer if only the nodes of a device plugin are left, which are not judged here."""
    nodes = ", ".join(sorted(question.without)[:3])
    sentence = f"Not checked: device plugins on other nodes ({nodes}) serve it too, and dra-lab checks only DRA."
    return replace(reviewed, fit=FitState.NOT_CHECKED, sentence=sentence, times=None, proven=False)


def _with_unserved(question: Question, reviewed: Reviewed, release: KubernetesRelease) -> Reviewed:
    if not question.unserved or reviewed.fit is not FitState.FITS:
        return reviewed
    sentence = f"Not checked: {unserved_words(question.unserved, release)} Its claims alone: {reviewed.sentence}"
    return replace(reviewed, fit=FitState.NOT_CHECKED, sentence=sentence)


def _planned(
    question: Question,
    cluster: Cluster,
    release: KubernetesRelease,
    seconds: float,
    cancel: threading.Event | None = None,
) -> tuple[Reviewed, tuple[Finding, ...]]:
    nodes = question.nodes(cluster)
    unread = not_read(cluster, question.claims.values(), selects_nodes=not nodes)
    if unread is not None and (question.claims or not nodes):
        return _refused(question, FitState.NOT_CHECKED, "fit-not-decided", unread.message)
    if not nodes:
        message = question.why_nowhere(cluster, release)
        return _refused(question, FitState.DOES_NOT_FIT, "no-node-admitted", message)
    if not question.claims:
        sentence = f"Its claims are allocated already; the pod may run on {counted(len(nodes), 'node')}."
        return Reviewed(question.subject, question.origin, FitState.FITS, sentence, nodes=nodes), ()
    part = only_nodes(cluster, nodes)
    sketches = question.claims
    drawn: Any = next(iter(sketches.values())) if len(sketches) == 1 else dict(sketches)
    try:
        plan = plan_pod(part, drawn, release=release, time_limit=seconds, cancel=cancel)
        if cancel is not None and cancel.is_set():
            raise Cancelled(f"cancelled while {question.subject} was planned")
        if plan.status is PlanStatus.INFEASIBLE:
            return _misfit(question, plan, part)
        if not plan.fits:
            return _refused(question, FitState.NOT_DECIDED, "fit-not-decided", answer_sentence(plan, part), plan)
        return _fits(question, plan, part, release, seconds, cancel)
    except Cancelled:
        raise
    except (CelError, UnsupportedFeature) as error:
        return _refused(question, FitState.NOT_CHECKED, "fit-not-decided", error.message)
    except DraLabError as error:
        return _refused(question, FitState.NOT_CHECKED, "claim-not-planned", error.message)


def _fits(
    question: Question,
    plan: Plan,
    cluster: Cluster,
    release: KubernetesRelease,
    seconds: float,
    cancel: threading.Event | None,
) -> tuple[Reviewed, tuple[Finding, ...]]:
    sentence = answer_sentence(plan, cluster)
    nodes = plan.fitting_nodes
    if question.per_node:
        missing = sorted(set(cluster.node_names) - set(nodes))
        return _per_node(question, plan, sentence, missing)
    if question.shared:
        sentence = f"{_sharing(question)} {sentence}"
        return _reviewed(question, FitState.FITS, sentence, plan, None if question.wanted > 1 else 1), ()
    more = how_many_more(cluster, question.workload, release=release, time_limit=seconds, cancel=cancel)
    count, capped = more.count.value, more.count.bound is None
    times = counted(count, "time") if more.proven else f"at least {counted(count, 'time')}"
    ends = f" ({COUNTING_ENDS})" if capped else ""
    sentence = f"Fits {times}{ends}, {question.wanted} wanted. {sentence}"
    if count >= question.wanted:
        fits = _reviewed(question, FitState.FITS, sentence, plan, count, proven=more.proven)
        return replace(fits, capped=capped), ()
    if not more.proven:
        open_fit, findings = _refused(question, FitState.NOT_DECIDED, "fit-not-decided", sentence, plan, count)
        return replace(open_fit, capped=capped), findings
    message = f"{question.wanted} replicas are wanted, but only {count} fit"
    found = Finding("replicas-do-not-fit", Severity.ERROR, question.subject, message, "", question.origin)
    return _reviewed(question, FitState.DOES_NOT_FIT, sentence, plan, count, proven=True), (found,)


def _per_node(
    question: Question, plan: Plan, sentence: str, missing: Sequence[str]
) -> tuple[Reviewed, tuple[Finding, ...]]:
    nodes = plan.fitting_nodes
    total = len(nodes) + len(missing)
    sentence = f"One pod per node: fits on {len(nodes)} of {total} admitted nodes. {sentence}"
    if not missing:
        return _reviewed(question, FitState.FITS, sentence, plan, len(nodes), proven=True), ()
    some = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
    message = f"its pod does not fit on {some}: it waits there forever"
    advice = "Exclude these nodes with a node selector or affinity."
    found = Finding("daemonset-not-everywhere", Severity.WARNING, question.subject, message, advice, question.origin)
    return _reviewed(question, FitState.FITS, sentence, plan, len(nodes), proven=True), (found,)


def _sharing(question: Question) -> str:
    names = ", ".join(sorted(question.shared))
    claims = f"The claims {names} are" if len(question.shared) > 1 else f"The claim {names} is"
    pods = f" and shared by {question.replicas} pods" if question.replicas > 1 else ""
    return f"{claims} allocated once{pods}."


def _misfit(question: Question, plan: Plan, cluster: Cluster) -> tuple[Reviewed, tuple[Finding, ...]]:
    sentence = answer_sentence(plan, cluster)
    reason = plan.shortfalls[0] if plan.shortfalls else None
    if reason is not None and reason.rule == "class" and EXTENDED not in question.claims:
        # reported once, at the line of the class; a resource of a container has no such line
        sentence = f"Does not fit. There is no device of the class that request {reason.subject} names."
        return _reviewed(question, FitState.DOES_NOT_FIT, sentence, plan, 0, proven=True), ()
    message = reason.message if reason else "no node can serve it"
    advice = reason.advice if reason else ""
    found = Finding("does-not-fit", Severity.ERROR, question.subject, message, advice, question.origin)
    return _reviewed(question, FitState.DOES_NOT_FIT, sentence, plan, 0, proven=True), (found,)


def _refused(
    question: Question, fit: FitState, rule: str, message: str, plan: Plan | None = None, times: int | None = None
) -> tuple[Reviewed, tuple[Finding, ...]]:
    severity = Severity.WARNING if fit.is_open else Severity.ERROR
    found = Finding(rule, severity, question.subject, message, "", question.origin)
    sentence = f"{OUTCOME_WORDS[fit].capitalize()}: {message}"
    return _reviewed(question, fit, sentence, plan, times), (found,)


def _reviewed(
    question: Question, fit: FitState, sentence: str, plan: Plan | None, times: int | None, *, proven: bool = False
) -> Reviewed:
    nodes = plan.fitting_nodes if plan is not None else ()
    return Reviewed(question.subject, question.origin, fit, sentence, question.wanted, times, proven, nodes, plan)


def plan_together(
    questions: Sequence[Question],
    cluster: Cluster,
    release: KubernetesRelease,
    seconds: float,
    cancel: threading.Event | None = None,
) -> Plan | None:
    """Return the plan of all workloads at once, None where they cannot be planned as one.

    Workloads that run on every node, share claims, have the same name in several files or have pods with different
    admitted nodes are not planned together. They get an answer for each workload alone. Claims that no pod uses do not
    count. Raises Cancelled once `cancel` is set.
    """
    questions = [q for q in questions if q.spec]
    if len(questions) < 2:
        return None
    alone = [q for q in questions if q.per_node or q.shared or q.allocated or q.told_apart]
    places = {q.nodes(cluster) for q in questions}
    if alone or len(places) != 1 or len({q.subject for q in questions}) < len(questions):
        return None
    part = only_nodes(cluster, next(iter(places)))
    try:
        return plan_fleet(
            part, [q.workload for q in questions], release=release, time_limit=seconds, cancel=cancel, first_fit=False
        )
    except Cancelled:
        raise
    except DraLabError:
        return None


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
