"""The workloads in a file: a Deployment or Pod, and gangs such as a Job, JobSet or LeaderWorkerSet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import ceil
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.claims_of_file import WrittenWorkload, pods_with_claims
from dra_lab.gitops.folder import Document, read_manifests, with_topologies
from dra_lab.gitops.gang_fields import (
    SUBGROUP,
    LevelConstraint,
    WrittenGang,
    WrittenGroup,
    subgroup_groups,
    with_least,
    written_gang,
)
from dra_lab.gitops.object_pods import PodTemplate, pod_templates
from dra_lab.manifests.pod_templates import typed_spec
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.pods import Pod
from dra_lab.model.quantity import unsigned_number
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import PodGroup, Workload
from dra_lab.planner.node_tests import only_nodes
from dra_lab.scheduler.kueue.assignment import pod_requests
from dra_lab.topology.hierarchies import hierarchies

_NAMES = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "pod-group-name")
"""Annotations of pods that name a PodGroup of Volcano or KAI."""

_KUEUE_GROUP = "kueue.x-k8s.io/pod-group-name"
"""Label of plain pods that Kueue admits together."""

_TOTAL = "kueue.x-k8s.io/pod-group-total-count"
"""Annotation of such pods with their number."""

_GANG_GROUPS = ("batch.volcano.sh/", "kueue.x-k8s.io/")
"""API groups whose workloads start together."""


_TOGETHER = ("JobSet", "LeaderWorkerSet")
"""Kinds that are no Job and whose pods work together."""


class ReadWorkload(Struct, frozen=True):
    """A workload as its file asks for it, with the nodes that its pods' own selectors admit and the file's classes.

    Levels are label keys as in the file, or names of levels. `subject` is the object (`Job/train`), and `queue` the
    LocalQueue of Kueue. `requests` is by group what a pod requests of its node: CPUs, memory and extended resources
    that no DeviceClass provides.
    """

    workload: Workload
    cluster: Cluster
    subject: str
    queue: str = ""
    findings: tuple[Finding, ...] = ()
    requests: Mapping[str, Mapping[str, str | int | float]] = {}


def asks_for_gang(source: str | Path, *, named: bool = False) -> bool:
    """Return whether a workload in a file or folder asks for a gang: by its kind, a PodGroup, a minimum or a level.

    With `named`, a person names a level or a queue for it, and the pods of each Job, JobSet or LeaderWorkerSet are one
    gang. Raises SourceError for what cannot be read.
    """
    manifests = read_manifests([source])
    groups = {item.name for item in manifests.documents if item.kind == "PodGroup"}
    every = ((document, tuple(pod_templates(document))) for document in manifests.documents)
    return any(_starts_together(document, pods, groups, named=named) for document, pods in every if pods)


def _starts_together(document: Document, pods: Sequence[PodTemplate], groups: Collection[str], *, named: bool) -> bool:
    version = str(document.value.get("apiVersion") or "")
    if named and (document.kind in _TOGETHER or document.kind.endswith("Job")):
        return True
    if version.startswith(_GANG_GROUPS) or any(_group_name(pod) in groups or _kueue_group(pod) for pod in pods):
        return True
    written = written_gang(document, pods)
    levels = (written.constraint, *(group.constraint for group in written.groups))
    return bool(written.least) or any(one.required or one.preferred or one.slices for one in levels)


def read_workloads(
    source: str | Path, cluster: Cluster, release: KubernetesRelease | str | None = None
) -> tuple[ReadWorkload, ...]:
    """Return the workloads in a file or folder whose pods request devices.

    Gangs are Job, JobSet, LeaderWorkerSet, MPIJob, Volcano Job, Workload of Kueue, and the pods that name a PodGroup
    of Kubernetes, Volcano or KAI. The pods of a Deployment, or of any other kind, are replicas of one pod. Pods of a
    gang without devices are not planned; a Finding names them.

    Args:
        source: The file or folder.
        cluster: The cluster, whose Topology objects those of the file join.
        release: The release of Kubernetes to plan for; default: that of the cluster.

    Returns:
        The workloads in the order of the file.

    Raises:
        SourceError: The file cannot be read, or a claim is nowhere.
        ManifestError: The API server would refuse an object of the file.
        InputError: No workload requests devices, or only some pods of a gang share a ResourceClaim.

    Example:
        >>> from pathlib import Path
        >>> from dra_lab import PodGroup, Workload, load_cluster
        >>> from dra_lab.exports.gangs.gang_files import gang_files
        >>> from dra_lab import read_workloads, read_sketch

        Both workers start together or not at all.

        >>> worker = PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=2)

        The files are those that Kueue reads.

        >>> files = gang_files(Workload("train", [worker], level="host"), "kueue", queue="team-a")
        >>> _ = [Path(name).write_text(text) for name, text in files.texts.items()]

        They are read as the gang that was written.

        >>> [read] = read_workloads(".", load_cluster("sample:two-sockets"))
        >>> read.workload.size, read.workload.level, read.queue
        (2, 'kubernetes.io/hostname', 'team-a')
    """
    manifests, release = read_manifests([source]), cluster.target_release(release)
    cluster = with_topologies(cluster, manifests)
    groups = {item.name: item for item in manifests.documents if item.kind == "PodGroup"}
    every = pods_with_claims(manifests, cluster, release)
    read_pods = {_place(pod): found for pod, found in every}
    members: dict[tuple[str, object], list[PodTemplate]] = {}
    for pod, _ in every:
        name, plain = _group_name(pod), _kueue_group(pod)
        key = ("PodGroup", name) if name in groups else ("", plain) if plain else (pod.subject, pod.document.at(""))
        members.setdefault(key, []).append(pod)
    found: list[ReadWorkload] = []
    for (kind, which), pods in members.items():
        group = groups[str(which)] if kind == "PodGroup" else None
        if any(read_pods[_place(pod)] is not None for pod in pods):
            alone = not _starts_together(pods[0].document, pods, groups, named=True)
            read = _read(cluster, pods, read_pods, release, group, "" if kind else str(which))
            found.append(replace(read, workload=_as_replicas(read.workload)) if alone else read)
    if not found:
        raise InputError(f"no workload in {str(source)!r} requests devices")
    return tuple(found)


def _as_replicas(workload: Workload) -> Workload:
    """Return pods that start one by one as replicas of one pod; pods that share a claim stay as they are."""
    if len(workload.pods) > 1 or workload.every_shared_claim:
        return workload
    return Workload(workload.name, workload.claims, replicas=workload.size)


def _place(pod: PodTemplate) -> tuple[object, str]:
    return pod.document.at(""), pod.path


def _group_name(pod: PodTemplate) -> str:
    """Return the PodGroup that a pod names, "" for none."""
    named = value_at(pod.spec, "schedulingGroup.podGroupName")
    annotations = pod.annotations
    return str(named or next((annotations[name] for name in _NAMES if annotations.get(name)), ""))


def _kueue_group(pod: PodTemplate) -> str:
    """Return the name of the pods that Kueue admits together with a plain pod, "" for none."""
    return str(pod.labels.get(_KUEUE_GROUP) or "") if pod.document.kind == "Pod" else ""


def _plain_pods(pods: Sequence[PodTemplate], name: str) -> WrittenGang:
    """Return plain pods that Kueue admits together as one gang, as many as their annotation says."""
    parts = [written_gang(pod.document, [pod]) for pod in pods]
    own = [replace(one, constraint=part.constraint) for part in parts for one in part.groups]
    constraint = parts[0].constraint
    if all(one.constraint == constraint for one in own):
        parts = [
            replace(part, groups=tuple(replace(one, constraint=LevelConstraint()) for one in part.groups))
            for part in parts
        ]
    gang = replace(_joined(parts, None), name=name)
    total = max(unsigned_number(str(pod.annotations.get(_TOTAL))) or 0 for pod in pods)
    if len(gang.groups) == 1 and total > gang.groups[0].pods:
        message = f"the file has {gang.groups[0].pods} of its {total} pods; dra-lab plans {total} that are alike"
        finding = Finding("gang-pods-missing", Severity.NOTE, name, message)
        groups = (replace(gang.groups[0], pods=total, least=total),)
        gang = replace(gang, groups=groups, findings=(*gang.findings, finding))
    return gang


def _read(
    cluster: Cluster,
    pods: Sequence[PodTemplate],
    read_pods: Mapping[tuple[object, str], WrittenWorkload | None],
    release: KubernetesRelease,
    group: Document | None,
    plain: str = "",
) -> ReadWorkload:
    written = _joined([written_gang(pod.document, [pod], group) for pod in pods], group) if group else None
    written = _plain_pods(pods, plain) if plain else written
    written = with_least(written or written_gang(pods[0].document, pods))
    found: list[tuple[WrittenGroup, WrittenWorkload]] = []
    findings = [*written.findings]
    if written.claims and not release.enabled("DRAWorkloadResourceClaims"):
        message = "the gate DRAWorkloadResourceClaims is off, so each pod gets a claim of its own; dra-lab plans one"
        advice = "Enable it, or let the pods name a ResourceClaim."
        findings.append(Finding("pod-group-claims-gate", Severity.WARNING, written.name, message, advice))
    for one in written.groups:
        pod = read_pods[_place(one.pod)]
        if pod is None:
            message = f"its {one.name} pods request no devices, so they are not planned"
            findings.append(Finding("gang-without-devices", Severity.NOTE, written.name, message))
            continue
        if pod.allocated:
            names = ", ".join(claim.metadata.name for claim in pod.allocated)
            raise InputError(f"{pod.subject}: {names} is already allocated; plan claims that have no devices yet")
        findings += pod.findings
        found.append((one, pod))
    nodes = {pod.admitted for _, pod in found}
    if len(nodes) > 1:
        raise InputError(f"{written.name}: the node selectors of its groups admit different nodes")
    [admitted] = nodes
    base = found[0][1].cluster
    on = base if admitted is None else only_nodes(base, sorted(admitted))
    subject = f"PodGroup/{group.name}" if group else plain or pods[0].subject
    requests = {one.name: _requests(one.pod, on) for one, _ in found}
    gang = _gang(written, found, cluster)
    return ReadWorkload(gang, on, subject, written.queue, tuple(dict.fromkeys(findings)), requests)


def _requests(pod: PodTemplate, cluster: Cluster) -> dict[str, str | int | float]:
    """Return what a pod requests of its node, without extended resources that DeviceClasses provide."""
    spec = typed_spec(pod.spec)
    try:
        amounts = pod_requests(Pod(ObjectMeta(), spec=spec)) if spec is not None else {}
    except InputError:
        return {}
    provided = {one.spec.extended_resource_name for one in cluster.classes}
    return {name: f"{ceil(amount * 1000)}m" for name, amount in amounts.items() if name not in provided}


def _joined(parts: Sequence[WrittenGang], document: Document | None) -> WrittenGang:
    """Return the pods of a PodGroup, or plain pods of Kueue, as one gang.

    Single pods with the same claims are one group.
    """
    merged: dict[object, WrittenGroup] = {}
    for part in parts:
        for group in part.groups:
            claims = tuple((claim.name, claim.template, claim.claim) for claim in group.pod.claims)
            content = (claims, group.constraint, group.pod.labels.get(SUBGROUP))
            key = content if group.pod.path == "spec" else _place(group.pod)
            known = merged.get(key)
            pods = group.pods + (known.pods if known else 0)
            merged[key] = replace(known or group, pods=pods, least=pods)
    findings = [finding for part in parts for finding in part.findings]
    found = list(merged.values())
    found = found if document is None else subgroup_groups(document, found, findings)
    names, objects = [group.name for group in found], [group.pod.document.name for group in found]
    if len(set(names)) < len(found) == len({*filter(None, objects)}):
        names = objects  # a Job for each group
    groups = tuple(
        replace(group, name=name if names.count(name) == 1 else f"{name}-{number}")
        for number, (group, name) in enumerate(zip(found, names, strict=True))
    )
    return replace(parts[0], groups=groups, findings=tuple(dict.fromkeys(findings)))


def _shared(written: WrittenGang, group: WrittenGroup) -> dict[tuple[str, ...], str]:
    """Return the claims that pods of a group share, each with its name in the pods.

    They are ResourceClaims that the pods name, and claims that the PodGroup has under the same name (KEP-5729).
    """
    return {
        (entry.claim,) if entry.claim else (entry.name, entry.template): entry.name
        for entry in group.pod.claims
        if entry.claim or (entry.name, entry.template, "") in written.claims
    }


def _gang(written: WrittenGang, found: Sequence[tuple[WrittenGroup, WrittenWorkload]], cluster: Cluster) -> Workload:
    shares = [_shared(written, one) for one, _ in found]
    times = Counter(key for each in shares for key in each)
    if any(1 < count < len(found) for count in times.values()):
        raise InputError(f"{written.name}: only some of its groups share a claim, which dra-lab does not plan")
    if written.replicas > 1 and any(len(key) == 1 for key in times):
        raise InputError(f"{written.name}: its {written.replicas} gangs share a claim, which dra-lab does not plan")
    of_gang = {name: found[0][1].claims[name] for key, name in shares[0].items() if times[key] == len(found)}
    tiers = {
        level.source: (tree.name, level.name)
        for tree in hierarchies(cluster)
        for level in tree.levels
        if level.source.startswith("HyperNode tier ")
    }
    groups = []
    for (one, pod), each in zip(found, shares, strict=True):
        names = {*each.values()}
        own = tuple(sketch for name, sketch in pod.claims.items() if name not in names)
        of_group = tuple(pod.claims[name] for key, name in each.items() if times[key] < len(found))
        levels = _named(one.constraint, tiers)
        groups.append(
            PodGroup(
                one.name,
                own,
                count=one.pods,
                minimum=None if one.least == one.pods else one.least,
                level=levels.required,
                prefer_level=levels.preferred,
                slices=levels.slices,
                leader=one.leader,
                shared_claims=of_group,
            )
        )
    levels = _named(written.constraint, tiers)
    return Workload(
        written.name,
        groups,
        level=levels.required,
        prefer_level=levels.preferred,
        hierarchy=levels.hierarchy,
        replicas=written.replicas,
        shared_claims=tuple(of_gang.values()),
    )


def _named(constraint: LevelConstraint, tiers: Mapping[str, tuple[str, str]]) -> LevelConstraint:
    """Return a constraint with the names of the levels of HyperNodes instead of the numbers of their tiers."""

    def name(level: str) -> str:
        return tiers.get(f"HyperNode {level}", ("", level))[1]

    slices = tuple((size, name(level)) for size, level in constraint.slices)
    return replace(constraint, required=name(constraint.required), slices=slices)
