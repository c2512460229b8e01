"""Why a pod is pending: the tests of kube-scheduler in their order, and the first one that keeps the pod away."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec

from dra_lab.errors import did_you_mean
from dra_lab.findings import sentence_case
from dra_lab.gitops.extended_resources import EXTENDED, extended_spec
from dra_lab.gitops.folder import Manifests
from dra_lab.gitops.object_pods import PodTemplate, namespace_of, pod_named, template_of
from dra_lab.gitops.pending_devices import AskedDevices, DeviceAnswer, device_answer
from dra_lab.gitops.references import HeldClaims, WrittenObjects, check_references
from dra_lab.index.documented_classes import class_of_resource
from dra_lab.manifests.device_asks import IMPLICIT, containers, extended_resources
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.pod_reason import PodReason
from dra_lab.model.pods import Pod
from dra_lab.model.quantity import QuantityText
from dra_lab.model.queues import LocalQueue
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.planner.allowed_nodes import allowed_nodes, not_checked, reported
from dra_lab.sketch.links import listed
from dra_lab.sketch.read_back import sketch_of
from dra_lab.topology.hierarchy_findings import some
from dra_lab.words.document import printable

_KUEUE_GATE, _KUEUE_QUEUE = "kueue.x-k8s.io/admission", "kueue.x-k8s.io/queue-name"
_MOST_RESERVED = 256
_SECONDS = 60.0

Requests = Mapping[str, Mapping[str, QuantityText]]


@dataclass(frozen=True)
class WaitingPod:
    """A pod whose reason is wanted, with the claims that it may name."""

    pod: PodTemplate
    objects: WrittenObjects

    @property
    def name(self) -> str:
        """Return `namespace/name`."""
        return f"{namespace_of(self.pod)}/{self.pod.document.name}"

    @property
    def held(self) -> list[tuple[str, ResourceClaim | None]]:
        """Return the claim of the cluster for each entry, by the entry's name."""
        return [(entry.name, self.objects.held.of(self.pod, entry)) for entry in self.pod.claims]

    @property
    def queue(self) -> str:
        """Return the name of the queue of Kueue that the pod names, "" for none."""
        return str(self.pod.document.value.get("metadata", {}).get("labels", {}).get(_KUEUE_QUEUE, ""))

    @property
    def there(self) -> bool:
        """Say whether the pod is in a cluster, so that it has a status."""
        return bool(value_at(self.pod.document.value, "status.phase"))


def pending_reasons(
    cluster: Cluster, pod: str, node: str, release: KubernetesRelease, time_limit: float, cancel: threading.Event | None
) -> tuple[PodReason, ...]:
    """Return why pods are pending: one by its name, or every one that waits for devices."""
    chosen = [pod_named(cluster, pod)] if pod else [one for one in cluster.pods if waits_for_devices(one)]
    objects = WrittenObjects.read(Manifests(), cluster, release)
    known: dict[bytes, PodReason] = {}
    found = []
    for one in sorted(chosen, key=lambda one: (one.metadata.namespace, one.metadata.name)):
        waiting = WaitingPod(template_of(one, cluster), objects)
        key = _alike(waiting)
        if key not in known:
            known[key] = reason_of(waiting, node=node, time_limit=time_limit, cancel=cancel)
        reason = known[key]
        sentence = f"{waiting.name}{reason.sentence.removeprefix(reason.pod)}"
        found.append(replace(reason, pod=waiting.name, sentence=sentence))
    return tuple(found)


def waits_for_devices(pod: Pod) -> bool:
    """Say whether a pod is pending and asks for devices."""
    resources = [
        {**c.resources.limits, **c.resources.requests} for c in (*pod.spec.containers, *pod.spec.init_containers)
    ]
    extended = any(extended_resources({"resources": {"requests": one}}) for one in resources)
    return pod.status.phase in ("", "Pending") and (pod.uses_claims or extended)


def _alike(waiting: WaitingPod) -> bytes:
    """Return the same bytes for pods that differ only in their names and in those of the claims made for them."""
    value = waiting.pod.document.value
    parts = [
        (claim.spec, claim.status, claim.metadata.deletion_timestamp) if claim else None for _, claim in waiting.held
    ]
    spec = {key: part for key, part in waiting.pod.spec.items() if key != "volumes"}
    own = (spec, waiting.queue, value_at(value, "status.phase"), value_at(value, "metadata.deletionTimestamp"))
    return msgspec.json.encode((namespace_of(waiting.pod), own, parts, [*not_checked(waiting.pod.spec)]))


def reason_of(
    waiting: WaitingPod, *, node: str = "", time_limit: float = _SECONDS, cancel: threading.Event | None = None
) -> PodReason:
    """Return why a pod is pending, or its state if it is not. `node` is the only node that is examined ("": all)."""
    end = time.monotonic() + time_limit
    state = _state(waiting)
    if state:
        return PodReason(waiting.name, printable(f"{waiting.name} {state}."))
    before = [*_before(waiting)]
    is_read = not any(rule in ("template", "claim", "class") for rule, _ in before)
    answer = _placed(waiting, node, end, cancel) if is_read else DeviceAnswer()
    found = [*before, *answer.reasons]
    also = [text for _, text in found[1:]]
    verb = "is pending" if waiting.there else "would stay pending"
    if found:
        rule, words = found[0]
        if rule in ("gate", "queue") and is_read and not answer.reasons:
            also.append(f"without it: {answer.fits}")
        sentence = f"{waiting.name} {verb}: {_sentence(words, start=False)}"
    elif answer.open:
        rule, sentence = "unknown", f"{waiting.name} {verb}, and it is not known why: {answer.fits}."
    else:
        start = "is pending, and dra-lab found no reason" if waiting.there else "can start"
        rule, sentence = "none", f"{waiting.name} {start}: {answer.fits}."
    return PodReason(
        waiting.name,
        printable(sentence),
        rule,
        tuple(printable(_sentence(text)) for text in (*also, *answer.also)),
        tuple(map(printable, (*not_checked(waiting.pod.spec), *answer.not_checked))),
        printable(reported(waiting.pod.document.value)),
        answer.plan,
    )


def blocked_before(waiting: WaitingPod, *, node: str = "") -> bool:
    """Say whether something other than devices keeps a pod pending, or its claims are allocated already."""
    if _state(waiting) or any(_before(waiting)):
        return True
    there = tuple(claim for _, claim in waiting.held if claim is not None and claim.status.allocation is not None)
    nodes = allowed_nodes(waiting.objects.cluster, waiting.pod.spec, there, node, waiting.objects.release)
    return bool(nodes.why) or len(there) == len(waiting.pod.claims) > 0


def _sentence(text: str, *, start: bool = True) -> str:
    end = "" if text.endswith("?") else "."
    return f"{(sentence_case(text) if start else text).rstrip('.')}{end}"


def _placed(waiting: WaitingPod, node: str, end: float, cancel: threading.Event | None) -> DeviceAnswer:
    cluster, release = waiting.objects.cluster, waiting.objects.release
    asked, allocated = waiting.objects.asked(waiting.pod)
    there = {claim.metadata.name: claim for claim in allocated}
    wanted = {entry.name: sketch_of(claim.spec, entry.name) for entry, claim in asked.items() if claim is not None}
    wanted = {name: sketch for name, sketch in wanted.items() if sketch.requests}
    extended = extended_spec(waiting.pod, cluster, release)
    made_name = value_at(waiting.pod.document.value, "status.extendedResourceClaimStatus.resourceClaimName")
    made = waiting.objects.held.by_name.get((namespace_of(waiting.pod), str(made_name)))
    if made is not None and made.status.allocation is not None:
        there[made.metadata.name] = made
    elif extended is not None:
        wanted[EXTENDED] = sketch_of(extended, EXTENDED)
    nodes = allowed_nodes(cluster, waiting.pod.spec, tuple(there.values()), node, release)
    devices = AskedDevices(cluster, release, wanted, tuple(there.values()), node, end, cancel)
    return device_answer(devices, nodes)


# ---------------------------------------------------------------- before a node is looked for


def _state(waiting: WaitingPod) -> str:
    """Return the state of a pod that does not wait for kube-scheduler, "" for one that does."""
    value = waiting.pod.document.value
    phase, node = value_at(value, "status.phase"), waiting.pod.spec.get("nodeName")
    if not waiting.there:
        return ""
    if value_at(value, "metadata.deletionTimestamp"):
        return "is being deleted"
    if phase not in ("Pending", ""):
        where = f" on {node}" if node else ""
        return {"Running": f"is not pending: it runs{where}"}.get(str(phase), f"is not pending: it is {phase}{where}")
    if not node:
        return ""
    without = [name for name, claim in waiting.held if claim is not None and claim.status.allocation is None]
    if without:
        return (
            f"is pending on {node}: its nodeName was set without kube-scheduler, which alone allocates its claim "
            f"{listed(without)}"
        )
    return f"is pending on {node}: kube-scheduler chose this node, and the kubelet there has not started it yet"


def _before(waiting: WaitingPod) -> Iterator[tuple[str, str]]:
    """Yield what keeps a pod from being scheduled at all: gates, queues, claims and classes that do not exist."""
    yield from _gates(waiting)
    yield from _references(waiting)
    yield from _classes(waiting)


def _gates(waiting: WaitingPod) -> Iterator[tuple[str, str]]:
    gates = waiting.pod.spec.get("schedulingGates")
    names = [str(one.get("name")) for one in gates if isinstance(one, Mapping)] if isinstance(gates, list) else []
    if _KUEUE_GATE in names:
        yield "queue", _queue_words(waiting, waiting.queue)
    others = [name for name in names if name != _KUEUE_GATE]
    if others:
        gate = "scheduling gate" if len(others) == 1 else "scheduling gates"
        verb = "keeps" if len(others) == 1 else "keep"
        yield "gate", f"its {gate} {listed(others)} {verb} kube-scheduler away until a controller or person removes it"


def _queue_words(waiting: WaitingPod, queue: str) -> str:
    namespace = namespace_of(waiting.pod)
    queues = [one for one in waiting.objects.cluster.queues if isinstance(one, LocalQueue)]
    here = {one.name: one for one in queues if one.metadata.key[0] == namespace}
    gate = f"its scheduling gate {_KUEUE_GATE} stays until then"
    if queue and queues and queue not in here:
        hint = did_you_mean(queue, here)
        return f"Kueue's LocalQueue {queue} does not exist in the namespace {namespace}{hint} ({gate})"
    if queue in here and here[queue].spec.stop_policy not in ("", "None"):
        return (
            f"Kueue's queue {queue} has the stop policy {here[queue].spec.stop_policy}, so it admits nothing ({gate})"
        )
    of = f" (ClusterQueue {here[queue].spec.cluster_queue})" if queue in here else ""
    return f"Kueue's queue {queue or '(no label names it)'}{of} has not admitted it; {gate}"


def _references(waiting: WaitingPod) -> Iterator[tuple[str, str]]:
    """Yield the claims and templates that do not exist, are being deleted or have no place for another pod."""
    objects = waiting.objects
    for entry in waiting.pod.claims:
        written, own = objects.claim_of(waiting.pod, entry), objects.held.of(waiting.pod, entry)
        if own is None and written is None:
            yield from _missing(objects.held, namespace_of(waiting.pod), entry.template, entry.claim)
        elif own is not None and own.metadata.deletion_timestamp and not written:
            yield "claim", f"its ResourceClaim {own.metadata.name} is being deleted"
        elif own is not None and len(own.status.reserved_for) >= _MOST_RESERVED:
            yield (
                "claim",
                f"its ResourceClaim {own.metadata.name} is reserved for {_MOST_RESERVED} pods, the most there may be",
            )
    for finding in check_references(objects, waiting.pod):
        if finding.rule in (
            "pod-claim-source",
            "pod-claim-twice",
            "container-claim-unknown",
            "container-request-unknown",
        ):
            yield "claim", finding.message


def _missing(held: HeldClaims, namespace: str, template: str, claim: str) -> Iterator[tuple[str, str]]:
    kind, name = ("ResourceClaimTemplate", template) if template else ("ResourceClaim", claim)
    there = held.templates if template else held.by_name
    elsewhere = sorted(space for space, other in there if other == name and space != namespace)
    if not name:
        return
    rule = "template" if template else "claim"
    if template and not held.templates_known:
        words = "was not read, and no claim was made from it; it does not exist, or it has to be read too"
        yield rule, f"its {kind} {name} (namespace {namespace}) {words}"
        return
    hint = f"; one of this name is in the namespace {listed(elsewhere)}" if elsewhere else ""
    hint = hint or did_you_mean(name, [other for space, other in there if space == namespace]).replace("'", "")
    yield rule, f"its {kind} {name} does not exist in the namespace {namespace}{hint}"


def _classes(waiting: WaitingPod) -> Iterator[tuple[str, str]]:
    """Yield the DeviceClasses that claims name and the cluster lacks, if its classes were read."""
    objects, known = waiting.objects, waiting.objects.cluster.class_by_name
    if not known:
        return
    for entry in waiting.pod.claims:
        written, own = objects.claim_of(waiting.pod, entry), objects.held.of(waiting.pod, entry)
        if own is not None and own.status.allocation is not None:
            continue
        spec = written.spec if written is not None else own.spec if own is not None else None
        for request in spec.devices.requests if spec is not None else ():
            for ask in asks(request):
                if ask.device_class_name not in known:
                    hint = (
                        did_you_mean(ask.device_class_name, known).replace("'", "")
                        or f"; there are {some(sorted(known))}"
                    )
                    words = (
                        f"request {ask.reference} names the DeviceClass {ask.device_class_name}, which does not exist"
                    )
                    yield "class", f"{words}{hint}"
    for _, container in containers(waiting.pod.spec):
        for name in extended_resources(container):
            if name.startswith(IMPLICIT) and class_of_resource(objects.cluster, name) is None:
                yield "class", f"it requests {name}, and there is no such DeviceClass"
