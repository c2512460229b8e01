"""Why a pod is pending: the tests of kube-scheduler in their order, and the first one that keeps the pod away."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import overload

import msgspec

from dra_lab.errors import InputError, did_you_mean
from dra_lab.findings import sentence_case
from dra_lab.gitops.extended_resources import EXTENDED, extended_spec
from dra_lab.gitops.folder import Manifests
from dra_lab.gitops.object_pods import PodTemplate, namespace_of, pod_named, template_of
from dra_lab.gitops.pending_devices import AskedDevices, DeviceAnswer, device_answer
from dra_lab.gitops.references import HeldClaims, WrittenObjects, check_references
from dra_lab.gitops.taint_rule import read_rule, rule_explanation
from dra_lab.index.documented_classes import class_of_resource
from dra_lab.manifests.device_asks import IMPLICIT, containers, extended_resources
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import GangVerdicts
from dra_lab.model.pod_reason import Explanation, PodReason
from dra_lab.model.pods import Pod
from dra_lab.model.quantity import QuantityText
from dra_lab.model.queues import LocalQueue
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.model.slices import DeviceTaintRule
from dra_lab.model.workload import Workload
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


@overload
def explain(
    cluster: Cluster,
    what: None = ...,
    *,
    pod: str = ...,
    rule: DeviceTaintRule | str | Path | None = ...,
    release: KubernetesRelease | str | None = ...,
    node: str = ...,
    time_limit: float = ...,
    cancel: threading.Event | None = ...,
) -> Explanation: ...
@overload
def explain(
    cluster: Cluster,
    what: Workload,
    *,
    queue: str = ...,
    requests: Requests | None = ...,
    release: KubernetesRelease | str | None = ...,
    time_limit: float = ...,
    cancel: threading.Event | None = ...,
) -> GangVerdicts: ...
def explain(
    cluster: Cluster,
    what: Workload | None = None,
    *,
    pod: str = "",
    rule: DeviceTaintRule | str | Path | None = None,
    queue: str = "",
    requests: Requests | None = None,
    release: KubernetesRelease | str | None = None,
    node: str = "",
    time_limit: float = _SECONDS,
    cancel: threading.Event | None = None,
) -> Explanation | GangVerdicts:
    """Return why pods are pending, what a taint rule would do, or what stops a workload in Kueue.

    The claims come from the cluster: `spec.resourceClaims`, `status.resourceClaimStatuses`, templates, and extended
    resources that a DeviceClass serves. Pods that are equal apart from their names get the same reason.

    Args:
        cluster: The cluster with its pods, and with the queues of Kueue as far as they were read.
        what: A workload of Kueue, whose quota, topology counts and devices are explained. Default None: pods or a rule.
        pod: `NAMESPACE/NAME`, or a name that one pod has; default "": every pending pod that waits for devices.
        rule: A DeviceTaintRule, or the path of a file with one: explain which devices it taints, which pods it evicts,
            and where these can go. Default None: explain pending pods.
        queue: The LocalQueue of the workload, `NAME` or `NAMESPACE/NAME`, or the ClusterQueue. Default: the only one.
        requests: What a pod of each group of the workload requests of its node, such as
            `{"worker": {"cpu": "8", "memory": "64Gi"}}`. Default: not known.
        release: The release of Kubernetes; default: that of the cluster.
        node: Explain why the pod does not start on this node; default "": on any node.
        time_limit: Seconds for each pod, or for the places of all evicted pods.
        cancel: Ends the search when it is set.

    Returns:
        The pods with one reason each, or `rule` and `moves`. For a workload, three answers with their reasons: is the
        quota of the queue enough, does Kueue count enough in a domain, and are devices free.

    Raises:
        InputError: There is no such pod, node or queue, or several pods of that name, or two questions are asked.
        ManifestError: The file of `rule` contains something else, or the API server would refuse the rule.

    Example:
        >>> from dra_lab import explain, load_cluster
        >>> explain(load_cluster("sample:eks-p4d")).sentence
        'No pod is pending for devices.'
    """
    target = cluster.target_release(release)
    if what is not None:
        if pod or node or rule is not None:
            raise InputError("a workload is explained alone; leave out `pod`, `node` and `rule`")
        from dra_lab.planner.gangs import gang_verdicts, plan_gangs

        plan = plan_gangs(cluster, [what], release=target, time_limit=time_limit, cancel=cancel)
        return gang_verdicts(cluster, what, plan, queue=queue, requests=requests, release=target)
    if queue or requests:
        raise InputError("`queue` and `requests` are for a workload; give it, or leave them out")
    if rule is not None:
        if pod or node:
            raise InputError("`rule` is explained for the whole cluster; leave out `pod` and `node`")
        return rule_explanation(cluster, read_rule(rule, target), target, time_limit=time_limit, cancel=cancel)
    if node:
        cluster.node_named(node)
    chosen = [pod_named(cluster, pod)] if pod else [one for one in cluster.pods if waits_for_devices(one)]
    objects = WrittenObjects.read(Manifests(), cluster, target)
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
    return Explanation(cluster.name, tuple(found))


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
    here = {one.name: one for one in queues if (one.metadata.namespace or "default") == namespace}
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
