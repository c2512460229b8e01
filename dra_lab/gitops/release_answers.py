"""Every answer about a cluster and manifests in one release, so that two releases can be compared."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import msgspec
from msgspec.structs import replace as changed

from dra_lab.checks.cluster_checks import check_cluster
from dra_lab.checks.in_use_audit import audit_claims
from dra_lab.errors import Cancelled, DraLabError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.claims_of_file import WrittenWorkload, questions_of
from dra_lab.gitops.compare import fit_words, states
from dra_lab.gitops.explain import explain
from dra_lab.gitops.folder import Manifests, written_rules
from dra_lab.gitops.object_pods import PodTemplate, namespace_of, template_of
from dra_lab.gitops.references import HeldClaims, WrittenObjects
from dra_lab.gitops.review import OUTCOME_WORDS, FitState, Reviewed
from dra_lab.gitops.taint_rule import rule_effect
from dra_lab.gitops.workload_fit import WorkloadFit
from dra_lab.index.pools import pools_of
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.headroom import NodeFit
from dra_lab.model.names import DeviceID
from dra_lab.model.release import MINORS, RELEASES, KubernetesRelease, gates_of
from dra_lab.model.running import RunningPod
from dra_lab.model.running_pods import running_pods
from dra_lab.model.sketch import Ask, asks
from dra_lab.model.what_if import when_idle
from dra_lab.planner.node.device_tests import hiding_gate
from dra_lab.sketch.cluster_candidates import candidates, keeps_away
from dra_lab.sketch.read_back import sketch_of
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.facts import counted

HARDWARE, RULES, SELECTORS = "pools and slices", "taint rules", "selectors"
ALLOCATED, PENDING, STARTS = "allocated claims", "pending pods", "the next start of claims and running pods"
FILES = "manifests"
"""The parts of the check."""

_OF_POOLS = ("pool-incomplete", "pool-invalid")
_CHANGES = "docs/semantics.md 1.2 and 5.2"

Key = tuple[str, ...]
"""The part of the check, the kind and the name of what an answer is about, and what tells several of them apart."""


@dataclass(frozen=True)
class ReleaseAnswer:
    """One answer in one release.

    `value` has the parts that are compared; a part that is None is unknown and equals every other one. `works` is None
    if it is not checked, and `ended` says that time, or a search, ended before it was decided.
    """

    words: str
    value: tuple[Any, ...] = ()
    works: bool | None = True
    ended: bool = False
    rule: str = ""
    source: str = _CHANGES
    advice: str = ""
    origin: Origin | None = None


Found = Iterator[tuple[Key, ReleaseAnswer]]
_UNDECIDED = ReleaseAnswer("not decided", works=None, ended=True)


@dataclass(frozen=True)
class Compared:
    """What is compared in several releases, and the release of these answers.

    `progress` is called with the name of each part before it begins. `deadline` (`time.monotonic`) ends all planning
    together. The answers are those of all keys, or at least of `only` these.
    """

    cluster: Cluster
    manifests: Manifests
    release: KubernetesRelease
    now: bool
    allow_worse: bool
    progress: Callable[[str], None]
    cancel: threading.Event | None
    deadline: float = 0.0
    only: frozenset[Key] | None = None

    def answers(
        self, release: KubernetesRelease, deadline: float, only: Iterable[Key] | None = None
    ) -> Mapping[Key, ReleaseAnswer]:
        """Return the answers in a release. Raises Cancelled once `cancel` is set, between two parts."""
        keys = None if only is None else frozenset(only)
        return replace(self, release=release, deadline=deadline, only=keys).every()

    def every(self) -> Mapping[Key, ReleaseAnswer]:
        """Return the answers in the release."""
        parts: Mapping[str, Callable[[], Found]] = {
            HARDWARE: self._hardware,
            RULES: self._taint_rules,
            SELECTORS: self._selectors,
            ALLOCATED: self._audit,
            PENDING: self._pending,
            STARTS: self._starts,
            FILES: self._files,
        }
        found: dict[Key, ReleaseAnswer] = {}
        for name, part in parts.items():
            if self.only is None or any(key[0] == name for key in self.only):
                if self.cancel is not None and self.cancel.is_set():
                    raise Cancelled("the upgrade check was cancelled")
                self.progress(f"Kubernetes {self.release.version}: {name}")
                found |= {(name, *key): answer for key, answer in part()}
        return found

    def _is_wanted(self, *key: str) -> bool:
        return self.only is None or key in self.only

    @property
    def _left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    @cached_property
    def _at(self) -> Cluster:
        """Return the cluster as if it had the release, for answers that take the release from it."""
        release = self.release
        return self.cluster.with_objects(server_version=f"v{release.version}", feature_gates=release.gates)

    # ---------------------------------------------------------------- pools, slices and other objects

    def _hardware(self) -> Found:
        """Yield what kube-scheduler sees of each pool, and the findings about the cluster."""
        findings, audited = check_cluster(self._at), {row.rule for row in audit_claims(self._at)}
        yield from self._pools({f.subject: f for f in findings if f.rule in _OF_POOLS})
        others = (f for f in findings if f.rule not in _OF_POOLS and f.rule not in audited)
        yield from self._findings(others, fails=(Severity.ERROR, Severity.WARNING))

    def _pools(self, broken: Mapping[str, Finding]) -> Found:
        """Yield how many devices of each pool kube-scheduler may allocate, or why it skips the pool."""
        gates, seen = gates_of(self.release), set[int]()
        devices: dict[tuple[str, str], dict[DeviceID, Device]] = {key: {} for key in self.cluster.slices_by_pool}
        for node in self.cluster.node_names:
            for pool in pools_of(self.cluster, node, gates):
                if id(pool) not in seen:  # nodes share pools
                    seen.add(id(pool))
                    own = devices[pool.driver, pool.name]
                    # what the gates of a release let kube-scheduler allocate (docs/semantics.md 3.5.2, 3.10)
                    seen_here = (item for item in pool.here if not hiding_gate(gates, item.device))
                    parts = gates.partitionable_devices
                    own |= {item.id: item.device for item in seen_here if parts or not item.device.consumes_counters}
        for (driver, name), own in devices.items():
            subject, finding = f"{driver}/{name}", broken.get(f"{driver}/{name}")
            if finding is not None and not own:
                value = 0, 0, _masked(finding.message)
                yield ("pool", subject), _of_finding(finding, finding.message, value, works=False)
                continue
            tainted = sum(gates.device_taints and any(map(keeps_away, device.taints)) for device in own.values())
            words = f"kube-scheduler uses {counted(len(own), 'device')}" + (f", {tainted:,} tainted" if tainted else "")
            answer = ReleaseAnswer(words, (len(own), tainted, ""), bool(own), source="docs/semantics.md 3.2 and 3.8")
            yield ("pool", subject), answer

    def _findings(self, findings: Iterable[Finding], *, fails: Collection[Severity]) -> Found:
        """Yield findings as answers; one of a severity of `fails` says that something does not work."""
        for finding in findings:
            origin = finding.origin or Origin()
            kind = "slice" if origin.path and not origin.source else "object"
            place = (origin.source, str(origin.document), origin.object, origin.path)
            message = _masked(finding.message)
            key = (kind, finding.subject or origin.object or finding.rule, finding.rule, *place)
            yield key, _of_finding(finding, finding.message, (message,), works=finding.severity not in fails)

    # ---------------------------------------------------------------- taint rules and selectors

    def _taint_rules(self) -> Found:
        written = {rule.metadata.name: rule for rule in written_rules(self.manifests)}
        for rule in ({rule.metadata.name: rule for rule in self.cluster.taint_rules} | written).values():
            effect = rule_effect(self.cluster, rule, self.release)
            evicted = tuple(pod.pod for pod in effect.pods if pod.evicted)
            words = f"taints {counted(effect.devices, 'device')}, evicts {counted(len(evicted), 'pod')}"
            if effect.gate:
                words = f"does nothing, because {effect.gate.replace(',', ' and ')} is off"
            shows = f"dra-lab check CLUSTER --rule FILE --release {self.release.version} shows where these pods can go."
            value = effect.devices, effect.claims, evicted
            answer = ReleaseAnswer(
                words, value, not evicted, source="docs/semantics.md 1.9 and 3.8", advice=shows if evicted else ""
            )
            yield ("taint rule", rule.metadata.name), answer

    def _selectors(self) -> Found:
        """Yield how many devices each class matches, and each request that has selectors of its own."""
        any_of = {name: ExactDeviceRequest(device_class_name=name) for name in self.cluster.class_by_name}
        classes = [(f"class {name}", asks(DeviceRequest("any", exactly))[0]) for name, exactly in any_of.items()]
        claims = [(f"claim {claim.metadata.full_name}", claim.spec) for claim in self.cluster.claims]
        claims += [(f"template {one.metadata.full_name}", one.spec.spec) for one in self.cluster.templates or ()]
        requests = [
            (f"{name}, request {ask.reference}", ask)
            for name, spec in claims
            for request in spec.devices.requests
            for ask in asks(request)
            if ask.selectors
        ]
        seen: set[tuple[str, tuple[str, ...]]] = set()
        for name, ask in (*classes, *requests):
            if (ask.device_class_name, ask.selectors) not in seen:
                seen.add((ask.device_class_name, ask.selectors))
                if self._is_wanted(SELECTORS, "selector", name):
                    yield ("selector", name), self._selected(ask)

    def _selected(self, ask: Ask) -> ReleaseAnswer:
        if not self._left:
            return _UNDECIDED
        found = candidates(self.cluster, ask, self.release)
        words = f"matches {counted(len(found.devices), 'device')}"
        if found.failed:
            device, why = next(iter(found.failed.items()))
            words = f"{words} and fails on {counted(len(found.failed), 'device')} ({device}: {why.rstrip('.')})"
        words = found.error.rstrip(".") or words
        value = hash(tuple(item.id for item in found.devices)), len(found.failed), _masked(found.error)
        works = bool(found.devices) and not found.failed
        return ReleaseAnswer(words, value, works, source="docs/semantics.md 1.6 and 4")

    # ---------------------------------------------------------------- claims and pods of the cluster

    def _audit(self) -> Found:
        """Yield why an allocated claim would not be allocated again."""
        for row in audit_claims(self._at):
            words = f"would not be allocated again: {row.why}"
            value = (_masked(row.why),)
            key = ("claim", row.claim, row.rule, row.request, str(row.device or ""))
            yield key, ReleaseAnswer(words, value, False, rule=row.rule, advice=row.advice)

    def _pending(self) -> Found:
        if not self.cluster.pods:
            return
        for reason in explain(self.cluster, release=self.release, time_limit=max(1.0, self._left)).pods:
            ended = reason.rule == "unknown"
            words = reason.sentence.removeprefix(reason.pod).strip().rstrip(".")
            works = None if ended else not reason.blocked
            yield ("pod", reason.pod), ReleaseAnswer(words, (reason.rule,), works, ended)

    def _starts(self) -> Found:
        """Yield whether each kind of running pod, and each other kind of claim, fits if nothing is in use."""
        held = HeldClaims(self.cluster, idle=True)
        objects = WrittenObjects.read(Manifests(), when_idle(self.cluster), self.release, held)
        running = [pod for pod in running_pods(self.cluster) if pod.known]
        used = {msgspec.json.encode(claim.spec) for pod in running for _, claim in pod.claims}
        questions = [*self._of_running(running, objects), *_of_claims(used, objects)]
        fit = WorkloadFit(objects.cluster, self.release, self.deadline)
        for question in questions:
            key = ("pod" if question.spec else "claim", question.subject)
            if not self._left:
                yield key, _UNDECIDED
            elif self._is_wanted(STARTS, *key):
                (reviewed,), findings = fit.answers([question])
                yield key, replace(self._fit(reviewed, findings), origin=None)

    def _of_running(self, running: Iterable[RunningPod], objects: WrittenObjects) -> Iterator[WrittenWorkload]:
        """Yield a question for each kind of running pod: pods that differ in their names and nodes are one kind."""
        kinds: dict[bytes, list[PodTemplate]] = {}
        for one in running:
            pod = template_of(one.pod, self.cluster)
            spec = {key: part for key, part in pod.spec.items() if key not in ("nodeName", "volumes")}
            claims = [claim.spec for _, claim in one.claims]
            kinds.setdefault(msgspec.json.encode((namespace_of(pod), spec, claims)), []).append(changed(pod, spec=spec))
        for pods in kinds.values():
            subject = some([f"{namespace_of(pod)}/{pod.document.name}" for pod in pods])
            for question in questions_of(objects, pods[:1], []):
                yield replace(question, subject=subject)

    # ---------------------------------------------------------------- manifests

    def _files(self) -> Found:
        if not self.manifests.texts:
            return
        review = check_manifests(
            self.cluster,
            self.manifests,
            release=self.release,
            now=self.now,
            allow_worse=self.allow_worse,
            time_limit=self._left,
        )
        of_workloads = {(item.origin, item.subject) for item in review.reviewed}
        planned = {item.subject for item in review.reviewed}
        own = [f for f in review.findings if any((f.origin, one) in of_workloads for one in f.subject.split(", "))]
        for (subject, number), state in states(review):
            if subject in planned or state.fit.is_open:
                about = [f for f in own if f.origin == state.origin and subject in f.subject.split(", ")]
                yield ("workload", subject, str(number)), self._fit(state, about)
        others = (f for f in review.findings if f not in own and f.rule != "nothing-to-check")
        yield from self._findings(others, fails=(Severity.ERROR,))

    def _fit(self, state: Reviewed, findings: Iterable[Finding]) -> ReleaseAnswer:
        """Return whether a workload or claim fits, how many times, and on which nodes, as far as that is proven."""
        plan, fits = state.plan, state.fit is FitState.FITS
        known = plan is not None and not plan.not_examined
        known = known and plan is not None and all(fit.verdict is not NodeFit.UNKNOWN for fit in plan.node_classes)
        times = state.times if state.proven and not state.capped else None
        finding = next(iter(sorted(findings, key=lambda f: f.severity is not Severity.ERROR)), None)
        rule = finding.rule if finding is not None else ""
        value = (state.fit, times if fits else None, state.nodes if fits and known else None, "" if fits else rule)
        words = f"fits {fit_words(state)}" if state.times is not None else "fits"
        if not fits:
            outcome = OUTCOME_WORDS[state.fit]
            why = re.sub(rf"(?i)^{outcome}[.:] ", "", state.sentence if finding is None else finding.message)
            words = f"{outcome}: {why.rstrip('.')}"
        works, ended = None if state.fit.is_open else fits, state.fit is FitState.NOT_DECIDED
        if finding is None:
            return ReleaseAnswer(words, value, works, ended, origin=state.origin)
        return ReleaseAnswer(words, value, works, ended, rule, _CHANGES, finding.advice, state.origin)


def _of_claims(used: Collection[bytes], objects: WrittenObjects) -> Iterator[WrittenWorkload]:
    """Yield a question for each kind of claim and template of the cluster that no running pod uses."""
    kinds: dict[bytes, tuple[ResourceClaimSpec, list[str]]] = {}
    held = objects.held
    named = [(f"{space}/{name}", one.spec) for (space, name), one in held.by_name.items()]
    named += [(f"template {space}/{name}", one.spec.spec) for (space, name), one in held.templates.items()]
    for name, spec in named:
        kinds.setdefault(msgspec.json.encode(spec), (spec, []))[1].append(name)
    for encoded, (spec, names) in kinds.items():
        if spec.devices.requests and encoded not in used:
            with suppress(DraLabError):  # it cannot be planned in any release
                sketch = sketch_of(spec, "claim")
                yield WrittenWorkload(some(names), Origin(), {"claim": sketch}, objects.cluster, objects.release)


_RELEASE = re.compile(
    rf"(?<![\d.])(?:{'|'.join(re.escape(one) for one in sorted((*RELEASES, *MINORS), key=len, reverse=True))})"
    r"(?!\.?\d)(?: \([\w=,]+\))*"
)


def _masked(text: str) -> str:
    """Return a text without the releases that it names: a sentence about its own release is equal in each."""
    return _RELEASE.sub("RELEASE", text)


def _of_finding(finding: Finding, words: str, value: tuple[Any, ...], *, works: bool) -> ReleaseAnswer:
    return ReleaseAnswer(words, value, works, rule=finding.rule, advice=finding.advice, origin=finding.origin)
