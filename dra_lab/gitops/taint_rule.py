"""What a DeviceTaintRule would do: the devices that it taints, the pods that it evicts, and where these can go."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
from msgspec.structs import replace as changed

from dra_lab.checks.document_checks import check_object, check_text
from dra_lab.checks.taint_validation import excludes
from dra_lab.errors import ManifestError
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.folder import read_manifests
from dra_lab.manifests.documents import decode_object, encode, hub_document
from dra_lab.model.claims import DeviceRequest, DeviceRequestAllocationResult, DeviceToleration, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.device import DeviceTaint
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.pod_reason import Explanation, RuleEffect, TaintedPod
from dra_lab.model.release import CountedRules, KubernetesRelease
from dra_lab.model.running import Move, RunningPod
from dra_lab.model.running_pods import running_pods
from dra_lab.model.sketch import asks
from dra_lab.model.slices import DeviceTaintRule, newest
from dra_lab.model.what_if import freed_claims
from dra_lab.planner.leaving import settled
from dra_lab.words.explain_document import NO_EVICTION, rule_sentence
from dra_lab.words.facts import sentence

KIND = "DeviceTaintRule"
_OF_THE_NODE = ("DaemonSet", "Node")
_Tolerations = tuple[DeviceToleration, ...]


def read_rule(source: str | Path | DeviceTaintRule, release: KubernetesRelease) -> DeviceTaintRule:
    """Return the only DeviceTaintRule of a file, or a rule that was given.

    Raises SourceError for a file that cannot be read, ManifestError with its place for another kind of document, for
    several documents, and for what the API server of the release would refuse.
    """
    if isinstance(source, DeviceTaintRule):
        _refuse(check_object(encode(source), release))
        return source
    manifests = read_manifests([source])
    _refuse(manifests.findings)
    if not manifests.documents:
        raise ManifestError(f"{source} contains no object. Give a file with one {KIND}")
    for document in manifests.documents:
        if document.kind != KIND:
            found = document.kind or "an object without kind"
            raise ManifestError(f"this is {found}, not a {KIND}. Give a file with one {KIND}", origin=document.at(""))
    first, *others = manifests.documents
    if others:
        raise ManifestError(f"this is a second {KIND}. Give a file with one of them", origin=others[0].at(""))
    for name, text in manifests.texts.items():
        _refuse(check_text(text, name, release))
    rule: DeviceTaintRule = decode_object(hub_document(dict(first.value), KIND), DeviceTaintRule, first.origin)
    return rule


def _refuse(findings: Iterable[Finding]) -> None:
    """Raise the first error among findings, with what to do next."""
    for finding in findings:
        if finding.severity is Severity.ERROR:
            message = f"{sentence(finding.message)} {finding.advice}".rstrip()
            raise ManifestError(f"{message} Correct the rule.", origin=finding.origin)


def rule_explanation(
    cluster: Cluster,
    rule: DeviceTaintRule,
    release: KubernetesRelease,
    *,
    time_limit: float,
    cancel: threading.Event | None = None,
) -> Explanation:
    """Return what a rule would do in a cluster; one of its name that is there already is replaced."""
    effect = rule_effect(cluster, rule, release)
    running = {pod.name: pod for pod in running_pods(cluster)}
    seconds = {one.pod: one.toleration_seconds for one in effect.pods if one.evicted and not one.why}
    moves: Sequence[Move] = ()
    if seconds:
        tainting, leaving = _Tainting(rule, release), [running[name] for name in seconds]
        planned = settled(tainting.without(cluster, leaving), release, time_limit=time_limit, cancel=cancel)
        mine = (move for move in planned.moves if move.pod in seconds)
        moves = [tainting.with_notes(move, running[move.pod], seconds[move.pod]) for move in mine]
    effect = replace(effect, sentence=rule_sentence(effect, moves))
    return Explanation(cluster.name, rule=effect, moves=tuple(moves))


def rule_effect(cluster: Cluster, rule: DeviceTaintRule, release: KubernetesRelease) -> RuleEffect:
    """Return which devices and pods a rule concerns in a release, without the sentence and the places of the pods."""
    gates = [gate for gate in ("DRADeviceTaints", "DRADeviceTaintRules") if not release.enabled(gate)]
    if gates:
        return RuleEffect(rule, str(release), gate=",".join(gates))
    tainting, (claims_by_pool, pods_by_pool) = _Tainting(rule, release), _in_use(cluster)
    pods = {id(pod): pod for key in tainting.pools(pods_by_pool) for pod in pods_by_pool[key]}
    tainted = [found for pod in pods.values() if (found := tainting.pod(pod)) is not None]
    held = {id(claim): claim for key in tainting.pools(claims_by_pool) for claim in claims_by_pool[key]}
    claims = [claim for claim in held.values() if any(tainting.selects(one.id) for one in _results(claim))]
    published = (
        DeviceID(*pool, device.name)
        for pool in tainting.pools(cluster.slices_by_pool)
        for slice_ in newest(cluster.slices_by_pool[pool])
        for device in slice_.spec.devices or ()
    )
    return RuleEffect(
        rule,
        str(release),
        sum(map(tainting.selects, published)),
        len({one.id for claim in claims for one in _results(claim) if tainting.selects(one.id)}),
        tuple(sorted(claim.metadata.full_name for claim in claims)),
        tuple(sorted(tainted, key=lambda one: (not one.evicted, one.pod))),
    )


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    """Return the devices that a claim has, those with admin access too: a taint counts for them as well."""
    return claim.status.allocation.devices.results if claim.status.allocation else ()


_Pool = tuple[str, str]
"""Driver and name of a pool."""


@once_per_snapshot
def _in_use(cluster: Cluster) -> tuple[Mapping[_Pool, list[ResourceClaim]], Mapping[_Pool, list[RunningPod]]]:
    """Return the claims and the running pods that have devices of each pool."""
    claims, pods = defaultdict[_Pool, list[ResourceClaim]](list), defaultdict[_Pool, list[RunningPod]](list)
    for claim in cluster.claims:
        for key in {one.id[:2] for one in _results(claim)}:
            claims[key].append(claim)
    for pod in running_pods(cluster):
        for key in {one.id[:2] for _, claim in pod.claims for one in _results(claim)}:
            pods[key].append(pod)
    return claims, pods


@dataclass(frozen=True)
class _Tainting:
    """A rule that counts in a release (docs/semantics.md 1.9, 3.8)."""

    rule: DeviceTaintRule
    release: KubernetesRelease

    @property
    def taint(self) -> DeviceTaint:
        """Return the taint that the rule adds."""
        return self.rule.spec.taint

    @property
    def evicts(self) -> bool:
        """Say whether it can evict pods: the eviction controller selects no device without a selector (1.9.3)."""
        return self.taint.effect == "NoExecute" and self.rule.spec.device_selector is not None

    def pools(self, known: Mapping[_Pool, object]) -> Iterable[_Pool]:
        """Return the pools that may have devices which the rule selects."""
        wanted = self.rule.spec.device_selector
        if wanted is None:
            return known
        if wanted.driver is not None and wanted.pool is not None:
            return {(wanted.driver, wanted.pool)} & known.keys()
        return [key for key in known if wanted.driver in (None, key[0]) and wanted.pool in (None, key[1])]

    def selects(self, device: DeviceID) -> bool:
        """Say whether kube-scheduler sees the taint on a device."""
        wanted = self.rule.spec.device_selector
        if wanted is None:
            return self.release.counted_rules is CountedRules.EVERY
        named = (wanted.driver, wanted.pool, wanted.device)
        return all(part in (None, own) for part, own in zip(named, device, strict=True))

    def pod(self, pod: RunningPod) -> TaintedPod | None:
        """Return what the taint does to a running pod, None for one without tainted devices."""
        extended = pod.pod.status.extended_resource_claim_status
        of_extended = extended.resource_claim_name if extended is not None else ""
        held = [(claim, one) for _, claim in pod.claims for one in _results(claim) if self.selects(one.id)]
        if not held:
            return None
        # to 1.37 the eviction controller does not know claims of extended resources (docs/semantics.md 3.8.6)
        of_extended = "" if self.release.is_at_least("1.38") else of_extended
        counting = [(claim, one) for claim, one in held if claim.metadata.name != of_extended]
        limits = [self._seconds(claim, one) for claim, one in counting] if self.evicts else []
        seconds = min((limit for limit in limits if limit is not None), default=None)
        kind = pod.owner[0]
        if pod.known and not pod.pod.spec.node_name:
            seconds, why = None, "it is not bound to a node yet"
        elif seconds is not None:
            why = f"pods of a {kind} start again on their own node only" if kind in _OF_THE_NODE else ""
        elif not self.evicts:
            why = NO_EVICTION
        else:
            why = "its claim tolerates the taint" if counting else "pods with extended resources are not evicted"
        devices = tuple(dict.fromkeys(one.id for _, one in held))
        return TaintedPod(pod.name, pod.node, devices, seconds is not None, seconds or 0, why)

    def _seconds(self, claim: ResourceClaim, result: DeviceRequestAllocationResult) -> int | None:
        """Return how long a pod may keep a device, None for as long as it likes.

        Only tolerations with the effect NoExecute count here, unlike for kube-scheduler (3.8.5).
        """
        matching = [one for one in _tolerations(claim, result) if one.effect and self._is_tolerated(one)]
        if any(one.toleration_seconds is None for one in matching):
            return None
        return max(0, min((one.toleration_seconds or 0 for one in matching), default=0))

    def _is_tolerated(self, toleration: DeviceToleration) -> bool:
        return not excludes(self.taint, (toleration,))

    def without(self, cluster: Cluster, leaving: Sequence[RunningPod]) -> Cluster:
        """Return the cluster with the rule, in which some pods leave and are planned again.

        A toleration that does not keep a pod on a device does not lead it to a tainted one either: it would be
        evicted again.
        """
        freed = freed_claims(cluster, leaving)
        own = {id(claim): claim for pod in leaving for _, claim in pod.claims}
        again = {number: self._intolerant(claim) if number in freed else claim for number, claim in own.items()}
        pods = {id(pod.pod) for pod in leaving}
        others = (rule for rule in cluster.taint_rules if rule.metadata.name != self.rule.metadata.name)
        moving = (replace(pod, claims=tuple((name, again[id(claim)]) for name, claim in pod.claims)) for pod in leaving)
        return cluster.with_objects(
            taint_rules=(*others, self.rule),
            claims=tuple(claim for claim in cluster.claims if id(claim) not in freed),
            pods=tuple(pod for pod in cluster.pods if id(pod) not in pods),
            leaving=(*cluster.leaving, *moving),
        )

    def _intolerant(self, claim: ResourceClaim) -> ResourceClaim:
        """Return a claim without the tolerations of this taint that end, or that do not prevent an eviction."""

        def kept(tolerations: _Tolerations) -> _Tolerations:
            matching = [one for one in tolerations if self._is_tolerated(one)]
            stays = any(one.effect and one.toleration_seconds is None for one in matching)
            return tolerations if stays else tuple(one for one in tolerations if one not in matching)

        def narrowed(request: DeviceRequest) -> DeviceRequest:
            if request.exactly is not None:
                return changed(request, exactly=changed(request.exactly, tolerations=kept(request.exactly.tolerations)))
            ways = tuple(changed(way, tolerations=kept(way.tolerations)) for way in request.first_available)
            return changed(request, first_available=ways)

        devices = claim.spec.devices
        spec = changed(claim.spec, devices=changed(devices, requests=tuple(map(narrowed, devices.requests))))
        return claim if spec == claim.spec else changed(claim, spec=spec)

    def with_notes(self, move: Move, pod: RunningPod, seconds: int) -> Move:
        """Return a move with what tolerations mean for it."""
        notes = [f"it stays {seconds:,} s after the taint, by tolerationSeconds"] if seconds else []
        if any(self._intolerant(claim) is not claim for _, claim in pod.claims):
            notes.append("kube-scheduler may give its next pod tainted devices, because its claim tolerates the taint")
        return changed(move, notes=(*notes, *move.notes))


def _tolerations(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> _Tolerations:
    """Return the tolerations of an allocated device, those of its request if the allocation has none."""
    if result.tolerations:
        return from_builtins(msgspec.to_builtins(result.tolerations), _Tolerations)
    every: Mapping[str, _Tolerations] = {
        ask.reference: ask.tolerations for request in claim.spec.devices.requests for ask in asks(request)
    }
    return every.get(result.request, ())
