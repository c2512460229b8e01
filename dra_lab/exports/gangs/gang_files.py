"""A gang as files for one scheduler, with example pods or a person's own, and what these cannot express."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import InputError, did_you_mean
from dra_lab.exports.gangs import kai, kueue, pod_group, volcano
from dra_lab.exports.gangs.gang_parts import Cannot, GangParts, Object, Places, gang_parts, priority_class
from dra_lab.exports.gangs.level_keys import (
    DRAWN_CHANNEL,
    NOT_DONE,
    compute_domain,
    draws_channel,
    needs_nvlink,
    pin_affinity,
    same_level,
)
from dra_lab.exports.manifests import ManifestFiles
from dra_lab.exports.workload import patch_copy
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.manifests.yaml_text import dump_all, load_yaml, value_at
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.queues import KUEUE_VERSION
from dra_lab.model.release import DEFAULT_RELEASE, KubernetesRelease, release_of
from dra_lab.model.workload import Workload
from dra_lab.sketch.claim_objects import Target

Pin = Sequence[str] | Mapping[int, Sequence[str]]
"""The path of a planned domain, or that of each copy of the gang by its number."""


class Scheduler(Struct, frozen=True):
    """A scheduler that gangs are written for.

    `objects` writes the objects of a gang by file, and `edit` its fields into a person's own workload. `cannot` yields
    what it cannot express, most important first, and `findings` what it refuses or needs. `shared_templates` says that
    it makes claims that pods share from templates.
    """

    title: str
    objects: Callable[[GangParts], dict[str, list[Object]]]
    edit: Callable[[Any, GangParts, Places], None]
    cannot: Callable[[GangParts], Iterator[Cannot]]
    findings: Callable[[GangParts], Iterator[Finding]]
    shared_templates: bool = False


SCHEDULERS: Mapping[str, Scheduler] = {
    "kueue": Scheduler(KUEUE_VERSION, kueue.objects, kueue.edit, kueue.cannot, kueue.findings),
    "kai": Scheduler("KAI 0.17", kai.objects, kai.edit, kai.cannot, kai.findings),
    "volcano": Scheduler("Volcano 1.15", volcano.objects, volcano.edit, volcano.cannot, volcano.findings),
    "kube-scheduler": Scheduler(
        "kube-scheduler", pod_group.objects, pod_group.edit, pod_group.cannot, pod_group.findings, shared_templates=True
    ),
}
"""The schedulers that a gang can be written for."""

_RESERVED = ("kustomization.yaml", "README.md", "plan.json")


def gang_files(
    gang: Workload,
    scheduler: str,
    hierarchy: Hierarchy | None = None,
    *,
    cluster: Cluster | None = None,
    namespace: str = "",
    queue: str = "",
    pin: Pin | None = None,
    release: KubernetesRelease | str | None = None,
    workload: WorkloadFile | None = None,
    has_claims: bool = False,
) -> ManifestFiles:
    """Return a gang as files for one scheduler, one of SCHEDULERS; the same gang gives the same bytes every time.

    `hierarchy` has the levels that the gang names; default: none, if it names no level but `host`. `cluster` has the
    DeviceClasses, those that it lacks are written. `queue` is the LocalQueue of Kueue, or the Queue of KAI or Volcano.
    `pin` is the path of the planned domain to which all pods are held, or by number that of each copy of the gang;
    default: the scheduler chooses. `workload` has the pods of the gang (`read_workload`) and gets the claims, unless it
    `has_claims` already, and the levels; it keeps its comments and names. Default: Jobs with example pods. Raises
    InputError for an unknown scheduler, level, domain or release, and for a gang that makes no sense.
    """
    if scheduler not in SCHEDULERS:
        similar = did_you_mean(scheduler, SCHEDULERS)
        raise InputError(f"scheduler {scheduler!r} is not known{similar}; use one of {', '.join(SCHEDULERS)}")
    if hierarchy is not None and gang.hierarchy not in ("", hierarchy.name):
        raise InputError(f"gang {gang.name!r} names the hierarchy {gang.hierarchy!r}; this is {hierarchy.name!r}")
    target = release_of(release, DEFAULT_RELEASE)
    if scheduler == "kube-scheduler":
        pod_group.pod_group_version(target)
    if isinstance(pin, str):
        raise InputError(f"the pin {pin!r} must be a path, such as ({pin!r},)")
    paths = [pin.get(number, ()) if isinstance(pin, Mapping) else pin or () for number in range(gang.replicas)]
    pins = [pin_affinity(hierarchy, path) if path else () for path in paths]
    once = SCHEDULERS[scheduler].shared_templates
    where = Target(target, namespace=namespace)
    parts = gang_parts(gang, hierarchy, where, cluster=cluster, queue=queue, pins=pins, shared_templates=once)
    found = _examples(scheduler, parts) if workload is None else _own(scheduler, parts, workload, has_claims=has_claims)
    free = [name for name, held in zip(parts.copies, pins, strict=True) if not held] if pin is not None else []
    if free:
        message = f"{len(free)} of {len(parts.copies)} gangs have no planned domain, so they are not pinned: {free[0]}"
        advice = "Plan more of them, or export fewer."
        own = Finding("gang-not-pinned", Severity.WARNING, gang.name, message, advice)
        found = replace(found, findings=(*found.findings, own))
    return replace(found, findings=sort_findings(found.findings))


def _examples(scheduler: str, parts: GangParts) -> ManifestFiles:
    """Return a gang with example pods."""
    made, found = SCHEDULERS[scheduler].objects(parts), list[Finding]()
    if parts.channels:
        made = {"computedomain.yaml": [compute_domain(one, parts.metadata(one)) for one in parts.copies], **made}
        subject = f"ComputeDomain/{parts.copies[0]}"
        found += (Finding(rule, Severity.WARNING, subject, *words) for rule, words in NOT_DONE.items())
    nvlink = [one for one in parts.gang.pods if needs_nvlink(parts.gang, one, parts.hierarchy)]
    if any(draws_channel(parts.gang, one) for one in nvlink):
        found.append(Finding("compute-domain-drawn", Severity.WARNING, parts.gang.name, *DRAWN_CHANNEL))
    return _written(scheduler, parts, made, found, {**parts.texts})


def _written(
    scheduler: str,
    parts: GangParts,
    made: Mapping[str, list[Object]],
    more: Iterable[Finding],
    texts: Mapping[str, str],
) -> ManifestFiles:
    """Return the objects of a gang as files, beside those of its claims, and what the scheduler makes of them."""
    chosen = SCHEDULERS[scheduler]
    if parts.priority_class:
        made = {"priorityclass.yaml": [priority_class(parts)], **made}
    joined = "of" if scheduler == "kube-scheduler" else "and"
    head = f"# Gang {parts.name}: for {chosen.title} {joined} Kubernetes {parts.target.release}, drawn with dra-lab.\n"
    cannot = tuple(chosen.cannot(parts))
    return ManifestFiles(
        {**texts, **{file: head + dump_all(items) for file, items in made.items()}},
        findings=(*parts.findings, *chosen.findings(parts), *_lost_levels(parts, cannot), *more),
        not_expressed=tuple(dict.fromkeys(one.sentence for one in cannot)),
    )


def _lost_levels(parts: GangParts, cannot: Sequence[Cannot]) -> Iterator[Finding]:
    """Yield required levels that the files lack and no pin keeps: then pods may start in several domains."""
    for level in dict.fromkeys(level for one in cannot for level in one.lost):
        if parts.pinned and same_level(parts.hierarchy, level, parts.required):
            continue
        message = f"the files do not keep the required level {level}: pods that need one {level} may get several"
        yield Finding(
            "gang-level-lost", Severity.ERROR, parts.gang.name, message, "Pin a planned domain, or change the gang."
        )


def title_of(scheduler: str) -> str:
    """Return the name of a scheduler as people write it, with its version: `Kueue 0.20`."""
    return SCHEDULERS[scheduler].title


# --------------------------------------------------------------------- a person's own workload

EXAMPLES = ("job.yaml", "jobset.yaml", "volcano-job.yaml", "computedomain.yaml")
"""Files with example pods, and what belongs to them, which a person's own workload replaces."""

_LEADER_SETS = "LeaderWorkerSet"
_ADMITTED = (
    "Job", "JobSet", _LEADER_SETS, "MPIJob", "PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "PaddleJob", "RayJob",
    "RayCluster", "RayService", "SparkApplication", "TrainJob", "Pod", "Deployment", "StatefulSet", "AppWrapper",
)  # fmt: skip
"""The kinds that Kueue 0.20 admits (`pkg/controller/jobs`)."""

_WITH_GROUP = ("Pod", "Job", "CronJob", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "JobSet", _LEADER_SETS)
"""The kinds whose pod templates have `schedulingGroup`: those of Kubernetes 1.36, JobSet 0.12, LeaderWorkerSet 0.10."""


def _own(scheduler: str, parts: GangParts, workload: WorkloadFile, *, has_claims: bool) -> ManifestFiles:
    """Return a gang as a person's own workload, the objects beside it, and what its kind cannot express.

    The gang has one copy or, for a LeaderWorkerSet, as many as it has replicas. The chosen templates of the file are
    those of the groups in their order, or all those of one group. `has_claims`: the pods have their claims already.
    Raises InputError for a file without the pods of the gang, or with a PodGroup of its own.
    """
    places, chosen, first = _places(parts, workload), SCHEDULERS[scheduler], parts.groups[0]
    _check(scheduler, parts, workload)
    named = [] if has_claims else [*parts.claims[first.name], *parts.every_shared(0)]

    def edit(value: Any) -> None:
        chosen.edit(value, parts, places)
        for field, _ in places if parts.priority_class else ():
            value_at(value, field.path)["priorityClassName"] = parts.priority_class

    claims, entries = [claim for claim, _ in named], [entry for _, entry in named]
    patched = patch_copy(workload, claims, affinity=parts.pins[0], entries=entries, edit=edit)
    objects = {file: items for file, items in chosen.objects(parts).items() if file not in EXAMPLES}
    for group in objects.get("podgroup.yaml", ()) if has_claims else ():
        group["spec"].pop("resourceClaims", None)  # the pods name what they share
    if scheduler == "kai":
        objects.pop("podgroup.yaml")  # KAI makes one for the owner of the pods
    if scheduler == "volcano" and not _is_volcano(workload):
        objects["podgroup.yaml"] = [volcano.own_group(parts)]
    texts = {file: text for file, text in parts.texts.items() if not has_claims or file.startswith("deviceclass-")}
    found = _written(scheduler, parts, objects, patched.findings, texts)
    name = patched.name if patched.name not in (*found.texts, *_RESERVED) else f"workload-{patched.name}"
    sentences = (*found.not_expressed, *_not_expressed(scheduler, parts, workload))
    return replace(found, texts={**found.texts, name: patched.text}, not_expressed=sentences, workload=name)


def _places(parts: GangParts, workload: WorkloadFile) -> Places:
    fields, groups = workload.templates, parts.groups
    if len(groups) > 1 and len(fields) != len(groups):
        message = (
            f"{workload.title} has {len(fields)} pod templates with devices, and the gang has {len(groups)} groups"
        )
        raise InputError(f"{message}; give --claim the same file")
    if workload.pods != parts.gang.size * parts.gang.replicas:
        wanted = f"{parts.gang.size:,}" + (f" in each of {parts.gang.replicas}" if parts.gang.replicas > 1 else "")
        message = f"{workload.title} runs {workload.pods:,} pods, and the gang has {wanted}"
        raise InputError(f"{message}; give --gang the number of its pods")
    return [(field, groups[at if len(groups) > 1 else 0]) for at, field in enumerate(fields)]


def _check(scheduler: str, parts: GangParts, workload: WorkloadFile) -> None:
    if workload.kind == "Workload":
        raise InputError(f"{workload.title} starts no pods, because Kueue makes it for a Job; give the file of the Job")
    several = parts.gang.replicas > 1
    if several and (workload.kind != _LEADER_SETS or scheduler not in ("kueue", "kai")):
        raise InputError(
            f"one pod template cannot name {parts.gang.replicas} PodGroups; write one object for each gang"
        )
    if several and any(parts.pins):
        raise InputError("the pods of all gangs have one template, so they cannot be held to several domains")
    kinds = [one.value.get("kind") for one in load_yaml(workload.text) if isinstance(one.value, Mapping)]
    if "PodGroup" in kinds and scheduler != "kueue":
        raise InputError(f"{workload.name} has a PodGroup of its own; change its level there, or remove it")


def _is_volcano(workload: WorkloadFile) -> bool:
    return any(
        one.value.get("apiVersion") == volcano.JOB for one in load_yaml(workload.text) if isinstance(one.value, Mapping)
    )


def _not_expressed(scheduler: str, parts: GangParts, workload: WorkloadFile) -> Iterator[str]:
    """Yield what the kind of a workload cannot express, besides what the scheduler cannot."""
    kind, elastic = workload.kind, parts.gang.least < parts.gang.size
    if scheduler == "kueue":
        if kind not in _ADMITTED:
            yield f"{KUEUE_VERSION} does not admit a {kind}."
        if elastic and kind != "Job":
            yield f"Kueue starts all pods of a {kind} or none."
    own_group = scheduler == "kai" or (scheduler == "volcano" and not _is_volcano(workload))
    for group in parts.groups if own_group else ():
        if group.slices:
            yield f"The pods of one template are in one PodGroup, so the slices of {group.name} are left out."
        if group.level and len(parts.groups) > 1:
            yield f"The pods of a {kind} are in one PodGroup, so {group.level} of {group.name} is left out."
    if scheduler == "kai" and elastic and kind != "Job":
        yield f"KAI takes the minimum of a {kind} from its own fields, so {parts.gang.least} pods are left out."
    if scheduler == "kube-scheduler" and (kind not in _WITH_GROUP or _is_volcano(workload)):
        yield f"dra-lab does not know that the schema of {kind} has schedulingGroup; without, the API server drops it."
    if parts.channels:
        yield f"dra-lab writes no ComputeDomain for a {kind} of yours; its pods need one to use NVLink between nodes."
